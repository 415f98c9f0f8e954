"""The named statistics of each kind of data, and the one way from data to a problem."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from ..errors import InvalidTest
from .additive_problem import Additive
from .classes import AVERAGES, reduce_classes
from .corpus import TOKENIZERS, reduce_corpus_counts, reduce_segments
from .counts import reduce_counts
from .joint_problem import Joint
from .labels import reduce_predictions
from .local_effects import reduce_effects
from .paired import (
    Counts,
    Effects,
    Paired,
    Predictions,
    Scores,
    Segments,
    StatisticSpec,
)
from .scores import reduce_scores
from .spans import SCHEMES, reduce_spans


@dataclass(frozen=True, slots=True)
class Parameter:
    """A parameter of a statistic; `choices` is empty when it takes any value its meaning allows."""

    name: str
    meaning: str
    choices: tuple[str, ...] = ()
    default: str | None = None


@dataclass(frozen=True, slots=True)
class Statistic:
    """A statistic of one kind of data, as `GET /v1/meta` and the README describe it.

    `higher_is_better` is None where that depends on what was measured: of scores, ratios and expressions.
    """

    name: str
    kind: str
    meaning: str
    parameters: tuple[Parameter, ...] = ()
    higher_is_better: bool | None = True


_EXPRESSION = "arithmetic: + - * / ( ) and abs min max sqrt log exp; 0/0 is 0"
_UNIT = Parameter("unit", 'what printed scores are rounded multiples of, such as "1/30" for thirds of tenths')
_AVERAGED = (
    Parameter("average", "over classes, in scikit-learn's meaning", AVERAGES, AVERAGES[0]),
    Parameter("positive", "the positive class of average binary", default="1"),
    Parameter("labels", "the classes that micro and macro take, instead of all"),
)
_SPANS = (
    Parameter(
        "scheme", "BIO as conlleval and seqeval read it, IOB2 as seqeval's strict mode", SCHEMES, SCHEMES[0]
    ),
    Parameter("labels", "the entity types that count, instead of all"),
)
_CHRF_BETA = Parameter("beta", "how many times as much recall weighs as precision", default="2")
_LOWERCASE = Parameter("lowercase", "ignore upper and lower case", default="false")
_ENTRIES = (
    Statistic(
        "expression",
        "effects",
        "h of the sums x1..xm of the effects",
        (Parameter("expression", f"over x1..xm; {_EXPRESSION}", default="x1"),),
        None,
    ),
    Statistic("mean_difference", "scores", "mean of U minus mean of V", (_UNIT,), None),
    Statistic("sum_difference", "scores", "sum of U minus sum of V", (_UNIT,), None),
    Statistic(
        "sign",
        "scores",
        "wins minus losses of U: the sign test; McNemar's exact test on 0/1 scores",
        (_UNIT,),
        None,
    ),
    Statistic(
        "signed_rank",
        "scores",
        "Wilcoxon's W+ - W-, ties and zeros included",
        (
            Parameter(
                "zero_method", "zero differences, in SciPy's meaning", ("wilcox", "pratt", "zsplit"), "wilcox"
            ),
            _UNIT,
        ),
        None,
    ),
    Statistic("f1", "counts", "F1 from tp, incorrect; or tp, fp, fn; or tp, predicted, gold"),
    Statistic(
        "fbeta",
        "counts",
        "F-beta from tp, fp, fn; or tp, predicted, gold",
        (Parameter("beta", "how many times as much recall weighs as precision", default="1"),),
    ),
    Statistic("precision", "counts", "precision from tp, fp; or tp, predicted"),
    Statistic("recall", "counts", "recall from tp, fn; or tp, gold"),
    Statistic("accuracy", "counts", "accuracy from correct, total; or correct, incorrect"),
    Statistic("jaccard", "counts", "Jaccard index from tp, incorrect; or tp, fp, fn; or tp, predicted, gold"),
    Statistic(
        "ratio",
        "counts",
        "the sum of one count over the sum of another: WER, CER",
        (
            Parameter("numerator", "the name of a count, such as errors"),
            Parameter("denominator", "the name of a count, such as ref_words"),
        ),
        None,
    ),
    Statistic(
        "expression",
        "counts",
        "f(sums of U's counts) - f(sums of V's)",
        (Parameter("expression", f"over the names of the counts; {_EXPRESSION}"),),
        None,
    ),
    Statistic(
        "bleu", "counts", "corpus BLEU from sys_len, ref_len, correct_1..4, total_1..4 of each segment"
    ),
    Statistic(
        "chrf", "counts", "corpus chrF from hyp_1.., ref_1.., match_1.. of each segment", (_CHRF_BETA,)
    ),
    Statistic("ter", "counts", "corpus TER from edits, ref_len of each segment; less is better", (), False),
    Statistic("accuracy", "predictions", "labels that equal gold; of sequences, their tokens"),
    Statistic("exact_match", "predictions", "items that equal gold as a whole"),
    Statistic("token_accuracy", "predictions", "tokens that equal gold"),
    Statistic("f1", "predictions", "F1 of classes, zero_division=0", _AVERAGED),
    Statistic("precision", "predictions", "precision of classes, zero_division=0", _AVERAGED),
    Statistic("recall", "predictions", "recall of classes, zero_division=0", _AVERAGED),
    Statistic("mcc", "predictions", "Matthews' correlation coefficient, of any number of classes"),
    Statistic("span_f1", "predictions", "F1 of entities in sequences of tags", _SPANS),
    Statistic("span_precision", "predictions", "precision of entities in sequences of tags", _SPANS),
    Statistic("span_recall", "predictions", "recall of entities in sequences of tags", _SPANS),
    Statistic(
        "bleu",
        "segments",
        "corpus BLEU, as sacrebleu counts it",
        (Parameter("tokenize", "sacrebleu's tokenizer", TOKENIZERS, TOKENIZERS[0]), _LOWERCASE),
    ),
    Statistic(
        "chrf",
        "segments",
        "corpus chrF, as sacrebleu counts it",
        (
            Parameter("word_order", "word n-grams besides characters; 2 is chrF++", default="0"),
            _CHRF_BETA,
            _LOWERCASE,
        ),
    ),
    Statistic(
        "ter",
        "segments",
        "corpus TER, as sacrebleu counts it; less is better",
        (
            Parameter("normalized", "Tercom's normalisation first", default="false"),
            Parameter("case_sensitive", "keep upper and lower case apart", default="false"),
        ),
        False,
    ),
)
STATISTICS: Mapping[str, tuple[Statistic, ...]] = {
    kind: tuple(entry for entry in _ENTRIES if entry.kind == kind)
    for kind in dict.fromkeys(entry.kind for entry in _ENTRIES)
}
_KINDS: Mapping[type[Paired], str] = {
    Effects: "effects",
    Scores: "scores",
    Counts: "counts",
    Predictions: "predictions",
    Segments: "segments",
}


_CORPUS_SCORES = frozenset({"bleu", "chrf", "ter"})
_CLASSES = dict.fromkeys(("f1", "precision", "recall", "mcc"), reduce_classes)
_SPAN_SCORES = dict.fromkeys(("span_f1", "span_precision", "span_recall"), reduce_spans)
_PREDICTIONS: Mapping[str, Callable[[Predictions, StatisticSpec], Additive | Joint]] = {
    **_CLASSES,
    **_SPAN_SCORES,
}


def kind_of(data: Paired) -> str:
    """What kind of data it is: effects, scores, counts, predictions or segments."""
    return _KINDS[type(data)]


def statistic_of(kind: str, name: str) -> Statistic | None:
    """The entry of a statistic; None where there is no such statistic of this kind of data."""
    return next((entry for entry in STATISTICS[kind] if entry.name == name), None)


def reduce(data: Paired, spec: StatisticSpec) -> Additive | Joint:
    """The problem to solve for this statistic of this data; raises InvalidTest."""
    _described(_KINDS[type(data)], spec)
    if isinstance(data, Effects):
        return reduce_effects(data, spec)
    if isinstance(data, Scores):
        return reduce_scores(data, spec)
    if isinstance(data, Counts):
        return reduce_corpus_counts(data, spec) if spec.name in _CORPUS_SCORES else reduce_counts(data, spec)
    if isinstance(data, Predictions):
        return _PREDICTIONS.get(spec.name, reduce_predictions)(data, spec)
    return reduce_segments(data, spec)


def _described(kind: str, spec: StatisticSpec) -> Statistic:
    """The catalogue's entry for what was asked; refuses other names and parameters of other statistics."""
    named = {entry.name: entry for entry in STATISTICS[kind]}
    if spec.name not in named:
        detail = f"The statistic must be one of: {', '.join(named)}."
        raise InvalidTest.at("/statistic/name", "unknown_statistic", detail)
    entry = named[spec.name]
    known = {parameter.name for parameter in entry.parameters}
    for name, value in spec.parameters.items():
        if value is not None and name not in known:
            takes = f"it takes {', '.join(sorted(known))}" if known else "it takes none"
            detail = f"{name} is no parameter of {spec.name}: {takes}."
            raise InvalidTest.at(f"/statistic/{name}", "unknown_parameter", detail)
    return entry
