"""The registry of statistics: the wire, `/v1/meta`, the page, the command line and the reports follow from it.

To add one, write its reducer and an entry here. The first of a kind is the default. Nothing here imports numpy.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, get_args

from ..errors import InvalidTest
from .statistic import Kind, Parameter, Statistic

DEFAULT_EXPRESSION = "x1"
_OPERATORS = "arithmetic: + - * / ( ) and abs min max sqrt log exp; 0/0 is 0"
_UNIT = Parameter(
    "unit", 'what printed scores are rounded multiples of, such as "1/30" for thirds of tenths', "unit"
)
_ZERO_METHOD = Parameter(
    "zero_method", "zero differences, in SciPy's meaning", "text", ("wilcox", "pratt", "zsplit"), "wilcox"
)
_REPEATS = Parameter(
    "repeats",
    "of repeated samples: their mean; all: right every time (pass^k); any: right at least once (pass@k)",
    "text", ("mean", "all", "any"), "mean",
)  # fmt: skip
_BETA = "how many times as much recall weighs as precision"
_CHRF_BETA = Parameter("beta", _BETA, "number", default="2")
_LOWERCASE = Parameter("lowercase", "ignore upper and lower case", "boolean", default="false")
_AVERAGED = (
    Parameter(
        "average", "over classes, in scikit-learn's meaning", "text", ("binary", "micro", "macro"), "binary"
    ),
    Parameter("positive", "the positive class of average binary", "label", default="1"),
    Parameter("labels", "the classes that micro and macro take, instead of all", "labels"),
)
_SCHEME = "BIO as conlleval and seqeval read it, IOB2 as seqeval's strict mode"
_TYPED = (
    Parameter("scheme", _SCHEME, "text", ("BIO", "IOB2"), "BIO"),
    Parameter("labels", "the entity types that count, instead of all", "labels"),
)
_HARMONIC = "Harmonic mean of precision and recall, from the sums over all items."
_PRECISE, _RECALLED = "How much of what was predicted is right.", "How much of what is right was predicted."
_BLEU, _CHRF = "Corpus BLEU, not the average of sentences.", "Corpus chrF: character n-grams."
_TER = "Translation edit rate; less is better."

_score = partial(Statistic, kind="scores", reducer="scores:reduce_scores", higher_is_better=None)
_count = partial(Statistic, kind="counts", reducer="counts:reduce_counts")
_segment_count = partial(Statistic, kind="counts", reducer="corpus:reduce_corpus_counts")
_label = partial(Statistic, kind="predictions", reducer="labels:reduce_predictions")
_class = partial(Statistic, kind="predictions", reducer="classes:reduce_classes")
_span = partial(Statistic, kind="predictions", reducer="spans:reduce_spans")
_segment = partial(Statistic, kind="segments", reducer="corpus:reduce_segments", needs="sacrebleu")

ENTRIES = (
    Statistic(
        "expression", "the formula", "Your own formula of the sums of the effects.", "h of the sums x1..xm of the effects",
        (Parameter("expression", f"over x1..xm; {_OPERATORS}", "formula", default=DEFAULT_EXPRESSION),),
        kind="effects", reducer="local_effects:reduce_effects", higher_is_better=None,
    ),
    _score(
        "mean_difference", "mean score",
        "Compares the averages. For right or wrong as 1 and 0 this is accuracy, and McNemar’s exact test.",
        "mean of U minus mean of V", (_UNIT, _REPEATS),
    ),
    _score(
        "sum_difference", "total", "Compares the totals; the same p-value as the mean.", "sum of U minus sum of V", (_UNIT, _REPEATS)
    ),
    _score(
        "sign", "wins and losses", "Counts only on how many items each system is ahead: the sign test.",
        "wins minus losses of U: the sign test; McNemar's exact test on 0/1 scores", (_UNIT, _REPEATS),
    ),
    _score(
        "signed_rank", "signed ranks", "Wilcoxon’s test: trusts the order of the differences, not their size.",
        "Wilcoxon's W+ - W-, ties and zeros included", (_ZERO_METHOD, _UNIT, _REPEATS),
    ),
    _count("f1", "F1", _HARMONIC, "F1 from tp, incorrect; or tp, fp, fn; or tp, predicted, gold"),
    _count(
        "fbeta", "F-beta", "F1 with recall weighing beta times as much as precision.",
        "F-beta from tp, fp, fn; or tp, predicted, gold", (Parameter("beta", _BETA, "number", default="1"),),
    ),
    _count("precision", "precision", _PRECISE, "precision from tp, fp; or tp, predicted"),
    _count("recall", "recall", _RECALLED, "recall from tp, fn; or tp, gold"),
    _count(
        "accuracy", "accuracy", "How much is right, over all units.", "accuracy from correct, total; or correct, incorrect"
    ),
    _count(
        "jaccard", "the Jaccard index", "Overlap over union, from the sums over all items.",
        "Jaccard index from tp, incorrect; or tp, fp, fn; or tp, predicted, gold",
    ),
    _count(
        "ratio", "the ratio of sums",
        "One count over another, summed first: word error rate, for example. Name the two columns.",
        "the sum of one count over the sum of another: WER, CER",
        (
            Parameter("numerator", "the name of a count, such as errors"),
            Parameter("denominator", "the name of a count, such as ref_words"),
        ),
        higher_is_better=None,
    ),
    _count(
        "expression", "the formula", "Your own formula of the sums of the counts.", "f(sums of U's counts) - f(sums of V's)",
        (Parameter("expression", f"over the names of the counts; {_OPERATORS}", "formula"),),
        higher_is_better=None,
    ),
    _segment_count(
        "bleu", "BLEU", _BLEU, "corpus BLEU from sys_len, ref_len, correct_1..4, total_1..4 of each segment"
    ),
    _segment_count(
        "chrf", "chrF", _CHRF, "corpus chrF from hyp_1.., ref_1.., match_1.. of each segment", (_CHRF_BETA,)
    ),
    _segment_count(
        "ter", "TER", _TER, "corpus TER from edits, ref_len of each segment; less is better", higher_is_better=False
    ),
    _label(
        "accuracy", "accuracy", "How much is right, over all labels or tokens.",
        "labels that equal gold; of sequences, their tokens",
    ),
    _label("exact_match", "exact match", "Items that are right as a whole.", "items that equal gold as a whole"),
    _label(
        "token_accuracy", "token accuracy", "How many tokens are right; the items swap as a whole.", "tokens that equal gold"
    ),
    _class("f1", "F1", _HARMONIC, "F1 of classes, zero_division=0", _AVERAGED),
    _class("precision", "precision", _PRECISE, "precision of classes, zero_division=0", _AVERAGED),
    _class("recall", "recall", _RECALLED, "recall of classes, zero_division=0", _AVERAGED),
    _class(
        "mcc", "Matthews' correlation", "A score of classes that is fair to rare ones.",
        "Matthews' correlation coefficient, of any number of classes",
    ),
    _span("span_f1", "entity F1", "Entities that are wholly right: F1.", "F1 of entities in sequences of tags", _TYPED),
    _span(
        "span_precision", "entity precision", "Of the entities that were predicted, how many are wholly right.",
        "precision of entities in sequences of tags", _TYPED,
    ),
    _span(
        "span_recall", "entity recall", "Of the entities there are, how many were wholly found.",
        "recall of entities in sequences of tags", _TYPED,
    ),
    _segment(
        "bleu", "BLEU", _BLEU, "corpus BLEU, as sacrebleu counts it",
        (Parameter("tokenize", "sacrebleu's tokenizer", "text", ("13a", "intl", "char", "none", "zh"), "13a"), _LOWERCASE),
    ),
    _segment(
        "chrf", "chrF", _CHRF, "corpus chrF, as sacrebleu counts it",
        (
            Parameter("word_order", "word n-grams besides characters; 2 is chrF++", "integer", default="0"),
            _CHRF_BETA,
            _LOWERCASE,
        ),
    ),
    _segment(
        "ter", "TER", _TER, "corpus TER, as sacrebleu counts it; less is better",
        (
            Parameter("normalized", "Tercom's normalisation first", "boolean", default="false"),
            Parameter("case_sensitive", "keep upper and lower case apart", "boolean", default="false"),
        ),
        higher_is_better=False,
    ),
)  # fmt: skip
STATISTICS: Mapping[Kind, tuple[Statistic, ...]] = {
    kind: tuple(entry for entry in ENTRIES if entry.kind == kind) for kind in get_args(Kind)
}


def statistic_of(kind: Kind, name: str) -> Statistic | None:
    """The entry of a statistic; None where there is no such statistic of this kind of data."""
    return next((entry for entry in STATISTICS[kind] if entry.name == name), None)


def require_known(kind: Kind, name: str, parameters: Mapping[str, Any]) -> Statistic:
    """The entry of a statistic; refuses an unknown one, parameters of others, and what is none of the choices."""
    entry = statistic_of(kind, name)
    if entry is None:
        detail = f"The statistic must be one of: {', '.join(entry.name for entry in STATISTICS[kind])}."
        raise InvalidTest.at("/statistic/name", "unknown_statistic", detail)
    known = {parameter.name: parameter for parameter in entry.parameters}
    for key, value in parameters.items():
        if value is None:
            continue
        pointer = f"/statistic/{key}"
        if key not in known:
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            raise InvalidTest.at(pointer, "unknown_parameter", f"{key} is no parameter of {name}: {takes}.")
        choices = known[key].choices
        if choices and value not in choices:
            raise InvalidTest.at(pointer, f"unknown_{key}", f"{key} must be one of: {', '.join(choices)}.")
        if known[key].type == "boolean" and not isinstance(value, bool):
            raise InvalidTest.at(pointer, "not_a_boolean", f"{key} must be true or false.")
    return entry
