"""Names of metrics and statistics: their common titles, and which direction is better."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ..answers.test import OF_SEVERAL
from .catalogue import ENTRIES, Kind, statistic_of

if TYPE_CHECKING:
    from .paired import StatisticSpec

# Common titles of metrics that files name otherwise


class Metric(NamedTuple):
    """`title` is its name in a sentence, `hint` says what it measures."""

    title: str
    hint: str


_ACCURACY = Metric("accuracy", "The share that is right.")
_CUTOFFS = (5, 10, 15, 20, 30, 100, 200, 500, 1000)  # those of trec_eval


def _at(name: str, title: str, hint: str, cutoffs: tuple[int, ...] = _CUTOFFS) -> dict[str, Metric]:
    """Return a measure of the first documents of a ranking, by trec_eval's names."""
    return {f"{name}_{cutoff}": Metric(f"{title}@{cutoff}", hint) for cutoff in cutoffs}


METRICS: Mapping[str, Metric] = {
    "acc": _ACCURACY,
    "correct": _ACCURACY,
    "is_correct": _ACCURACY,
    "wer": Metric("WER", "Word error rate: errors over reference words, summed first; less is better."),
    "utterance_accuracy": Metric("utterance accuracy", "The share of utterances that are wholly right."),
    "upos": Metric("UPOS", "The share of universal part-of-speech tags that are right."),
    "xpos": Metric("XPOS", "The share of language-specific tags that are right."),
    "lemma": Metric("lemma accuracy", "The share of lemmas that are right."),
    "uas": Metric("UAS", "The share of heads that are right."),
    "las": Metric("LAS", "The share of heads and relations that are right, without subtypes."),
    "las_full": Metric("LAS with subtypes", "The share of heads and full relations that are right."),
    "cer": Metric("CER", "Character error rate; less is better."),
    "bleu": Metric("BLEU", "The share of n-grams that match a reference."),
    "chrf": Metric("chrF", "The overlap of character n-grams with a reference."),
    "chrf2": Metric("chrF2", "chrF with recall weighing twice as much."),
    "ter": Metric("TER", "Edits to the reference over its length; less is better."),
    "f1": Metric("F1", "The harmonic mean of precision and recall."),
    "map": Metric("MAP", "The mean of average precision over the queries."),
    "recip_rank": Metric("MRR", "The mean reciprocal rank of the first relevant document."),
    "Rprec": Metric("R-precision", "Precision at the number of relevant documents."),
    "ndcg": Metric("nDCG", "Gain of the whole ranking, discounted by rank, over the best possible."),
    **_at("ndcg_cut", "nDCG", "Gain of the first documents, discounted by rank, over the best possible."),
    **_at("P", "P", "The share of the first documents that are relevant."),
    **_at("recall", "R", "The share of the relevant documents that are among the first."),
    **_at("map_cut", "MAP", "The mean of average precision at a cutoff."),
    **_at("success", "Success", "The share of queries with a relevant document among the first.", (1, 5, 10)),
}
# Metrics that also exist by whole sentences.
_OF_WORDS = ("upos", "xpos", "lemma", "uas", "las", "las_full")


def title_of(name: str) -> str | None:
    """Return the common title of a metric, by its name in files; None where there is no other.

    >>> title_of("ndcg_cut_10"), title_of("wer"), title_of("las_sentence"), title_of("helpfulness")
    ('nDCG@10', 'WER', 'LAS, whole sentences', None)
    """
    metric = METRICS.get(name)
    if metric is not None:
        return metric.title
    stem = name.removesuffix("_sentence")
    return f"{METRICS[stem].title}, whole sentences" if stem != name and stem in _OF_WORDS else None


def described() -> list[dict[str, str]]:
    """Return the metrics as `GET /v1/meta` shows them; each metric of CoNLL-U is also listed by whole sentences."""
    words = {name: (_label(metric.title), metric.hint) for name, metric in METRICS.items()}
    for stem in _OF_WORDS:
        name = f"{stem}_sentence"
        words[name] = (_label(title_of(name) or name), "The share of sentences that are wholly right.")
    return [{"name": name, "title": title, "hint": hint} for name, (title, hint) in words.items()]


def _label(title: str) -> str:
    """Capitalise a title that stands alone; names such as chrF and nDCG keep their form."""
    return title if any(char.isupper() for char in title) else title[0].upper() + title[1:]


# The subject of a test, in words


Say = Callable[[str], str]  # escapes a label for the output

# Scores are named after their metric, and an expression is a label.
_TITLES = {
    entry.name: entry.title
    for entry in ENTRIES
    if entry.kind not in {"effects", "scores"} and entry.name != "expression"
}
# The form of each statistic of scores; a mean needs no word.
_OF_SCORES = {
    "mean_difference": "{}",
    "sum_difference": "total {}",
    "sign": "{}, wins and losses",
    "signed_rank": "{}, signed ranks",
    "median_difference": "median {}",
    "quantile_difference": "quantile of {}",
}
NO_NAME = "score"  # for scores without a name


def statistic_title(name: str, say: Say) -> str:
    """Return the title of a known metric or statistic, or any other name as a label."""
    return title_of(name) or _TITLES.get(name) or say(name)


def metric_title(statistic: str, metric: str | None, say: Say) -> str:
    """Return the title of the measure: the metric of the files, else the statistic; `score` where neither is a name.

    >>> metric_title("ratio", "wer", str), metric_title("span_f1", None, str), metric_title("sign", None, str)
    ('WER', 'entity F1', 'score')
    """
    if metric is not None:
        return statistic_title(metric, say)
    if statistic in OF_SEVERAL:
        return OF_SEVERAL[statistic].removeprefix("the ")
    return NO_NAME if statistic in _OF_SCORES else statistic_title(statistic, say).removeprefix("the ")


def measured(statistic: str, metric: str | None, say: Say) -> str:
    """Return the name of the quantity whose difference is tested.

    >>> measured("mean_difference", "ndcg_cut_10", str), measured("mean_difference", None, str)
    ('nDCG@10', 'mean score')
    >>> measured("sum_difference", "cost", str), measured("accuracy", "las", str)
    ('total cost', 'LAS')
    """
    if statistic == "mean_difference" and metric is None:
        return f"mean {NO_NAME}"
    return _OF_SCORES.get(statistic, "{}").replace("{}", metric_title(statistic, metric, say))


def direction(higher_is_better: bool | None) -> str:
    """Say which direction is better; empty where unknown."""
    if higher_is_better is None:
        return ""
    return "higher is better" if higher_is_better else "lower is better"


def directed(name: str, higher_is_better: bool | None) -> str:
    """Return a metric's name with its direction where known: WER (lower is better)."""
    better = direction(higher_is_better)
    return f"{name} ({better})" if better else name


# Which direction is better: the words in names of metrics


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


LOWER = _words(
    """
    bpb bpc brier cer cost costs crossentropy der duration ece edits eer elapsed err error errorrate errors failed
    failures fid hter incorrect latencies latency logloss loss losses lpips mae mape mase mce medae mer metricx
    mistakes mse msle nll perplexities perplexity ppl price rmse rmsle runtime smape ter time times tpot ttft wer
    wil wmape wrong
    """
)
HIGHER = _words(
    """
    acc accuracies accuracy anls ap auc aucpr aucroc auprc auroc bertscore bleu bleurt bpref chrf cider codebleu
    comet concordance correct correctness dcg dice em exactmatch fbeta fmeasure fscore gleu hitrate iou jaccard
    kappa kendall las lcc lemma map match matches matthews mauve mcc meteor miou mrr ndcg npv pass passed passes
    passrate pearson pearsonr pesq precision psnr qwk r2 recall resolved rouge rougel rougelsum rprec sacrebleu
    sari solved spearman spearmanr specificity spice ssim stoi succeeded success successes tau throughput uas upos
    win winrate wins xcomet xpos
    """
)
# Higher is better only with words of COUNTING; prompt_sensitivity and length correlation differ.
CAUTIOUS = _words("corr corrcoef correlation sensitivity")
# Less time is better; with another such metric these words are its unit.
TIME_UNITS = _words(
    """
    hour hours microseconds millis milliseconds minute minutes ms msec nanoseconds ns sec second seconds secs us
    usec
    """
)
# Words for counting, averaging and scaling, which change neither a metric nor its direction.
COUNTING = _words(
    """
    absolute adjusted aggregate aggregated all at average averaged avg balanced best beta binary coef coeff
    coefficient cohen count counts cum cumulative curve cut cutoff exact expected extractive filtered final flexible
    fraction fractions full functional geometric global harmonic in info is k l lenient level local log logarithmic
    loose macro max maximum mean means measure median metric metrics micro min minimum multiclass multilabel mutual
    n none norm normalised normalized num number of official overall ovo ovr p partial pct percent percentage pooled
    pr proportion quadratic r rate rates ratio raw relative relaxed rho roc root score scores share soft squared
    strict sum summary symmetric the top total uniform unigram value values weighted zeroshot
    """
)
# Parts of data and of models that are measured. A path may begin with some of them (eval/loss).
PARTS = _words("data dev eval evaluation test tests train training val valid validation")
SCOPES = PARTS | _words(
    """
    answer answers api assertion assertions base baseline byte calibration call candidate case cases char character
    characters chars class classes classification code completion context corpus cpu dataset doc docs document
    documents entity example examples execution extract extraction field generation gpu gram grams h hamming hasans
    hinge huber inference inst instance instances instruction instructions item items label labels line linear list
    math model morph new noans node old output pair pairs paragraph phone phoneme pinball pixel pred predicted
    prediction predictions prefix problem problems prompt prompts qa quantile quasi query question questions ranked
    ranking reasoning record reg regression request requests response responses result results retrieval run s
    sample samples segment segments sentence sentences sequence set shot shots span spans split string subtask
    system tag tags task tasks text texts token tokens tool topic translation tree u unit utterance utterances v
    verified verify w wall word words zh
    """
)
DATA_SETS = _words(
    """
    aime arc asdiv bbh boolq cnn coco commonsenseqa copa flores gpqa gsm hellaswag hotpotqa humaneval ifeval lambada
    librispeech livecodebench mbpp mmlu mmmu mnli msmarco musr nq openbookqa piqa qnli qqp rte samsum sciq siqa
    squad sst svamp swebench triviaqa truthfulqa winogrande wmt wnli xnli xquad xsum
    """
)
CURRENCIES = _words("cent cents dollar dollars eur euro euros gbp usd")
# Names of several words, where # is a number, and whether more is better.
PHRASES = {
    False: """
        bits per byte, bits per char, bits per character, bits per token, bits per word, cross entropy, edit distance, hamming
        distance, levenshtein distance, match error rate, neg log likelihood, neg loglikelihood, negative log likelihood, time
        per output token, time to first token, word info lost, word information lost, zero one loss
    """,
    True: """
        bert score, exact match, explained variance, f #, f beta, f measure, f score, g mean, hit #, hit at #, hit rate, hits
        #, hits at #, jaccard index, log likelihood, loglikelihood, maj #, maj at #, mc #, p #, p at #, p at k, pairwise
        accuracy, peak signal noise ratio, peak signal to noise ratio, r at #, r at k, rr at #, r precision, r squared, rank
        correlation, recip rank, reciprocal rank, set f, set p, structural similarity, word info preserved, word information
        preserved
    """,
}


# 1-wer, 100 - error rate, 1/ppl, -loss, exp(-nll); 1-shot and 1-gram are not subtractions.
NEGATED = re.compile(
    r"(?:^|[\s_(,*])(?:1|100)(?:\.0+)?\s*[-\u2212\u2013/](?!\s*(?:shot|gram|best|hop|way|nn)\b)"
    r"|(?:^|[\s_(,*])[-\u2212\u2013](?=\w)"
    r"|^\s*[-\u2212\u2013]",
    re.IGNORECASE,
)
# Names of a score that do not state its meaning.
GENERIC = frozenset(("score", "scores", "value", "values", "u", "v"))
PIECE = re.compile(r"r2(?!\d)|[^\W\d_]+|\d+(?:\.\d+)?|[/@]", re.IGNORECASE)
CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
PERCENTILE = re.compile(r"(?<![^\W_])p\d+(?:\.\d+)?(?![^\W_])", re.IGNORECASE)
NUMBER, PER = "#", "/"
# A path to a metric begins with these (eval/loss); after any other word a slash means "per" (tokens/second).
FOLDERS = (
    PARTS
    | DATA_SETS
    | {"all", "final", "metric", "metrics", "overall", "result", "results", "score", "scores"}
)
_KNOWN = frozenset({NUMBER, PER}).union(
    LOWER, HIGHER, CAUTIOUS, TIME_UNITS, COUNTING, SCOPES, DATA_SETS, CURRENCIES
)
_PHRASES: dict[str, list[tuple[list[str], bool]]] = {}
for _higher, _listed in PHRASES.items():
    for _phrase in sorted((text.split() for text in _listed.split(",")), key=len, reverse=True):
        _PHRASES.setdefault(_phrase[0], []).append((_phrase, _higher))


def negated(name: str) -> bool:
    """Return whether a name is a difference, a quotient or a negative, which reverses its metric."""
    return NEGATED.search(name) is not None


def words_of(name: str) -> list[str]:
    """Split a name into words in lower case, with `#` for each number and `/` where there is one.

    >>> words_of("chrF2++"), words_of("wordErrorRate"), words_of("p95-latency")
    (['chrf', '#'], ['word', 'error', 'rate'], ['latency'])
    """
    words: list[str] = []
    for piece in PIECE.findall(PERCENTILE.sub(" ", name)):
        folded = "at" if piece == "@" else piece.lower()
        if folded[0].isdigit():
            words.append(NUMBER)
        elif folded in _KNOWN:
            words.append(folded)
        else:
            words += [part.lower() for part in CAMEL.findall(piece)]
    return words


def says_nothing(name: str) -> bool:
    """Return whether a name consists only of words that accompany metrics: `total`, `n_samples`."""
    words = set(words_of(name))
    return bool(words - {NUMBER}) and words <= _KNOWN and not words & (LOWER | HIGHER | CAUTIOUS)


def of_name(name: str) -> bool | None:
    """Return whether more of the metric of this name is better; None where the name does not determine it.

    Every word must be known, and all its metrics must agree.

    >>> of_name("word_perplexity"), of_name("acc_norm"), of_name("rougeL"), of_name("attack_success_rate")
    (False, True, True, None)
    >>> of_name("1-wer"), of_name("accuracy_gap"), of_name("1-shot acc"), of_name("rouge-1")
    (None, None, True, True)
    """
    if negated(name):
        return None
    words, signs = words_of(name), set[bool]()
    rest: list[str] = []
    at = 0
    while at < len(words):
        entries = _PHRASES.get(words[at], ())
        phrase, higher = next(
            (entry for entry in entries if words[at : at + len(entry[0])] == entry[0]), ((), False)
        )
        if phrase:
            signs.add(higher)
        elif words[at] in LOWER or words[at] in HIGHER:
            signs.add(words[at] in HIGHER)
        elif words[at] == PER and not signs and not TIME_UNITS & set(rest) and not FOLDERS.issuperset(rest):
            return None
        else:
            rest.append(words[at])
        at += max(1, len(phrase))
    left = set(rest)
    if left & CAUTIOUS:
        if not left <= CAUTIOUS | COUNTING:
            return None
        signs.add(True)
    if left & TIME_UNITS:
        signs.add(False)
    return signs.pop() if len(signs) == 1 and left <= _KNOWN else None


def of_kind(kind: Kind, spec: StatisticSpec, metric: str | None) -> bool | None:
    """Return whether a larger statistic is better for a system; None where that is unknown.

    `metric` names the measure of the items' scores, where known. The direction of a ratio follows from the name of
    its numerator.
    """
    if kind == "scores":
        return None if metric is None else of_name(metric)
    entry = statistic_of(kind, spec.name)
    if entry is not None and entry.higher_is_better is not None:
        return entry.higher_is_better
    if metric is not None and of_name(metric) is not None:
        return of_name(metric)
    if spec.name != "ratio":
        return None
    above, below = (of_name(str(spec.parameters.get(part, ""))) for part in ("numerator", "denominator"))
    return above if below is None else None
