"""What files call their metrics, in words, where that is not the name of a statistic: sentences and the page use it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Metric(NamedTuple):
    """`title` is what a sentence calls it, `hint` what it measures."""

    title: str
    hint: str


_ACCURACY = Metric("accuracy", "How much is right.")
METRICS: Mapping[str, Metric] = {
    "acc": _ACCURACY,
    "correct": _ACCURACY,
    "is_correct": _ACCURACY,
    "wer": Metric("word error rate", "Errors over reference words, summed first; less is better."),
    "utterance_accuracy": Metric("utterances without error", "How many utterances are wholly right."),
    "upos": Metric("UPOS accuracy", "Universal part-of-speech tags that are right."),
    "xpos": Metric("XPOS accuracy", "Language-specific tags that are right."),
    "lemma": Metric("lemma accuracy", "Lemmas that are right."),
    "uas": Metric("UAS", "Heads that are right."),
    "las": Metric("LAS", "Heads and relations that are right, without subtypes."),
    "las_full": Metric("LAS with subtypes", "Heads and whole relations that are right."),
}


def described() -> list[dict[str, str]]:
    """As `GET /v1/meta` shows them; CoNLL-U has each of its metrics by whole sentences, too."""
    words = {name: (_label(metric.title), metric.hint) for name, metric in METRICS.items()}
    for name in ("upos", "xpos", "lemma", "uas", "las", "las_full"):
        words[f"{name}_sentence"] = (
            f"{words[name][0]}, whole sentences",
            "Counts sentences that are wholly right.",
        )
    return [{"name": name, "title": title, "hint": hint} for name, (title, hint) in words.items()]


def _label(title: str) -> str:
    """With a capital, by itself."""
    return title[0].upper() + title[1:]
