"""Which direction is better: of a statistic in the registry, and of a metric that is known by its name."""

from __future__ import annotations

import re

from .known import statistic_of
from .paired import Paired, StatisticSpec, kind_of
from .statistic import Kind

LOWER = frozenset(
    (
        "brier", "cer", "cost", "costs", "duration", "ece", "edits", "eer", "err", "error", "errors", "failed", "failures",
        "hter", "incorrect", "latency", "loss", "losses", "mae", "mape", "mer", "milliseconds", "mistakes", "ms", "mse",
        "nll", "perplexity", "ppl", "price", "rmse", "runtime", "seconds", "secs", "ter", "time", "wer", "wil", "wrong",
    )
)  # fmt: skip
HIGHER = frozenset(
    (
        "acc", "accuracy", "ap", "auc", "auprc", "auroc", "bertscore", "bleu", "bleurt", "chrf", "chrf++", "cider",
        "comet", "correct", "dice", "em", "f1", "fbeta", "iou", "jaccard", "kappa", "kendall", "las", "lemma", "map",
        "match", "matthews", "mcc", "meteor", "mrr", "ndcg", "pass", "passed", "pearson", "precision", "psnr", "recall",
        "right", "rouge", "rougel", "sacrebleu", "sensitivity", "spearman", "specificity", "ssim", "success", "uas",
        "upos", "win", "wins", "xpos",
    )
)  # fmt: skip
# Whole names whose words do not decide.
WHOLE = {
    "bits_per_byte": False,
    "bits_per_character": False,
    "bpb": False,
    "bpc": False,
    "log_likelihood": True,
    "loglikelihood": True,
    "neg_log_likelihood": False,
    "negative_log_likelihood": False,
    "likelihood_diff": False,  # lm-evaluation-harness: CrowS-Pairs
    "mc1": True,
    "mc2": True,
}
# With one of these a word may mean its opposite (error_reduction, tokens_per_second, time_saved), or nothing.
TURNED = frozenset(
    (
        "decrease", "delta", "diff", "difference", "drop", "false", "free", "gain", "improvement", "increase", "inv",
        "inverse", "minus", "neg", "negative", "no", "non", "not", "per", "reduction", "saved", "saving", "savings",
        "without",
    )
)  # fmt: skip
# 1-wer, 100 - error rate, 1/ppl, -loss, exp(-nll); 1-shot and 1-gram are no sums.
NEGATED = re.compile(
    r"(?:^|[\s_(,*])(?:1|100)(?:\.0+)?\s*[-\u2212\u2013/](?!\s*(?:shot|gram|best|hop|way|nn)\b)"
    r"|(?:^|[\s_(,*])[-\u2212\u2013](?=\w)"
    r"|^\s*[-\u2212\u2013]",
    re.IGNORECASE,
)
# What a score is called when its meaning is not given.
GENERIC = frozenset(("score", "scores", "value", "values", "u", "v"))
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")


def negated(name: str) -> bool:
    """Whether a name is written as a difference, a quotient or a negative, which reverses its metric."""
    return NEGATED.search(name) is not None


def of_name(name: str) -> bool | None:
    """Whether more of the metric of this name is better; None where the name does not tell.

    >>> of_name("word_perplexity"), of_name("acc_norm"), of_name("rougeL"), of_name("error_reduction")
    (False, True, True, None)
    >>> of_name("1-wer"), of_name("-loss"), of_name("1-shot acc"), of_name("rouge-1")
    (None, None, True, True)
    """
    if negated(name):
        return None
    parts = [part for part in re.split(r"[^\w+]+|_", name.lower()) if part]
    whole = "_".join(parts)
    if whole in WHOLE:
        return WHOLE[whole]
    known = {part for part in parts if part in LOWER or part in HIGHER}
    if not known:  # errorRate, rouge1, f1score
        parts = [word.lower() for word in WORD.findall(name)]
        known = set(parts)
    if TURNED.intersection(parts):
        return None
    lower, higher = bool(known & LOWER), bool(known & HIGHER)
    return None if lower == higher else higher


def of_test(data: Paired, spec: StatisticSpec, metric: str | None) -> bool | None:
    """Whether a larger statistic is better for the system that has it; None where nothing tells.

    `metric` is what the items' scores measure, where that is known. The direction of a ratio follows from the name of its numerator.
    """
    return of_kind(kind_of(data), spec, metric)


def of_kind(kind: Kind, spec: StatisticSpec, metric: str | None) -> bool | None:
    """The same of any data of a kind."""
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
