"""What files call their metrics, in words, where that is not the name of a statistic: sentences and the page use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Metric(NamedTuple):
    """`title` is what a sentence calls it, `hint` what it measures."""

    title: str
    hint: str


_ACCURACY = Metric("accuracy", "How much is right.")
_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # those of trec_eval


def _at(name: str, title: str, hint: str, cutoffs: tuple[int, ...] = _CUTOFFS) -> dict[str, Metric]:
    """A measure of the first documents of a ranking, by trec_eval's names."""
    return {f"{name}_{cutoff}": Metric(f"{title}@{cutoff}", hint) for cutoff in cutoffs}


METRICS: Mapping[str, Metric] = {
    "acc": _ACCURACY,
    "correct": _ACCURACY,
    "is_correct": _ACCURACY,
    "wer": Metric("WER", "Word error rate: errors over reference words, summed first; less is better."),
    "utterance_accuracy": Metric("utterance accuracy", "How many utterances are wholly right."),
    "upos": Metric("UPOS", "Universal part-of-speech tags that are right."),
    "xpos": Metric("XPOS", "Language-specific tags that are right."),
    "lemma": Metric("lemma accuracy", "Lemmas that are right."),
    "uas": Metric("UAS", "Heads that are right."),
    "las": Metric("LAS", "Heads and relations that are right, without subtypes."),
    "las_full": Metric("LAS with subtypes", "Heads and whole relations that are right."),
    "cer": Metric("CER", "Character error rate; less is better."),
    "bleu": Metric("BLEU", "How many n-grams are those of a reference."),
    "chrf": Metric("chrF", "How many character n-grams are those of a reference."),
    "chrf2": Metric("chrF2", "chrF with recall weighing twice as much."),
    "ter": Metric("TER", "Edits to the reference over its length; less is better."),
    "f1": Metric("F1", "The harmonic mean of precision and recall."),
    "map": Metric("MAP", "The mean of average precision over the queries."),
    "recip_rank": Metric("MRR", "The mean of one over the rank of the first relevant document."),
    "Rprec": Metric("R-precision", "Precision at as many documents as are relevant."),
    "ndcg": Metric("nDCG", "Gain of the whole ranking, less the further down, over the best possible."),
    **_at("ndcg_cut", "nDCG", "Gain of the first documents, less the further down, over the best possible."),
    **_at("P", "P", "How many of the first documents are relevant."),
    **_at("recall", "R", "How many of the relevant documents are among the first."),
    **_at("map_cut", "MAP", "The mean of average precision at a cutoff."),
    **_at("success", "Success", "Queries with a relevant document among the first.", (1, 5, 10)),
}
# Each of these has a metric of whole sentences, too.
_OF_WORDS = ("upos", "xpos", "lemma", "uas", "las", "las_full")


def title_of(name: str) -> str | None:
    """What people call a metric, by its name in files; None where that is its name.

    >>> title_of("ndcg_cut_10"), title_of("wer"), title_of("las_sentence"), title_of("helpfulness")
    ('nDCG@10', 'WER', 'LAS, whole sentences', None)
    """
    metric = METRICS.get(name)
    if metric is not None:
        return metric.title
    stem = name.removesuffix("_sentence")
    return f"{METRICS[stem].title}, whole sentences" if stem != name and stem in _OF_WORDS else None


def described() -> list[dict[str, str]]:
    """As `GET /v1/meta` shows them; CoNLL-U has each of its metrics by whole sentences, too."""
    words = {name: (_label(metric.title), metric.hint) for name, metric in METRICS.items()}
    for stem in _OF_WORDS:
        name = f"{stem}_sentence"
        words[name] = (_label(title_of(name) or name), "Counts sentences that are wholly right.")
    return [{"name": name, "title": title, "hint": hint} for name, (title, hint) in words.items()]


def _label(title: str) -> str:
    """With a capital, by itself; names such as chrF and nDCG keep their own."""
    return title if any(char.isupper() for char in title) else title[0].upper() + title[1:]
