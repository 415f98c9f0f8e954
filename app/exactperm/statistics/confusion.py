"""Scores of the whole confusion matrix of labels: Matthews' correlation, Cohen's kappa, balanced accuracy, and of a
positive class against all others specificity, negative predictive value and geometric mean.

What they mean is scikit-learn's (`matthews_corrcoef`, Gorodkin 2004; `cohen_kappa_score` with replace_undefined_by=0;
`balanced_accuracy_score`) and imbalanced-learn's (`specificity_score`, `geometric_mean_score`, of average binary); 0/0 is 0.
Gold is the same of both systems, so that whatever is linear given gold is additive.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from ..errors import InvalidTest
from . import formula
from .additive_problem import Additive
from .classes import ClassScore, by_class, by_item, gold_sizes
from .expression import parse
from .joint_problem import Joint
from .paired import Predictions, StatisticSpec
from .reduction import difference_of_scores
from .tokens import CodedLabels, coded

_NAMES = ("tp", "tn", "negative", "gold_positive", "gold_negative")
_OF_A_CLASS = {
    "specificity": "tn / gold_negative",
    "npv": "tn / negative",
    # Roots of whole numbers one by one are sure to doubles at 0, too; the root of a rounded product is not.
    "g_mean": "sqrt(tp) * sqrt(tn) / (sqrt(max(1, gold_positive)) * sqrt(max(1, gold_negative)))",
}


def reduce_confusion(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """The test of mcc, kappa or balanced_accuracy; raises InvalidTest."""
    score = _OF_ALL[spec.name](coded(data))
    return difference_of_scores(spec.name, score.node, score.u, score.v, data.pairing)


def reduce_one_class(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """The test of specificity, npv or g_mean of the positive class against all others; raises InvalidTest."""
    codes = coded(data)
    score = _of_a_class(codes, spec.name, _positive(codes, spec))
    return difference_of_scores(spec.name, score.node, score.u, score.v, data.pairing)


def _positive(codes: CodedLabels, spec: StatisticSpec) -> int:
    positive = spec.parameters.get("positive")
    if positive is None and len(codes.labels) > 2:
        detail = (
            f"There are {len(codes.labels)} classes: name the positive one; all others are taken as negative."
        )
        raise InvalidTest.at("/statistic/positive", "not_binary", detail)
    label = 1 if positive is None else positive
    if label not in codes.labels:
        detail = "The positive class does not occur in gold, u or v: name it as positive (the default is 1)."
        raise InvalidTest.at("/statistic/positive", "unknown_label", detail)
    return codes.labels.index(label)


def _of_a_class(codes: CodedLabels, name: str, positive: int) -> ClassScore:
    truth = codes.gold == positive

    def counts(system: Integers) -> Integers:
        said = system == positive
        masks: tuple[NDArray[np.bool_], ...] = (truth & said, ~truth & ~said, ~said, truth, ~truth)
        return np.stack([by_item(codes, mask) for mask in masks], axis=1)

    return ClassScore(parse(_OF_A_CLASS[name], _NAMES), counts(codes.u), counts(codes.v))


def _mcc(codes: CodedLabels) -> ClassScore:
    """(c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2)(s^2 - sum t_k^2)): Gorodkin 2004, eq. 8 in counts.

    c labels right of s; p_k and t_k how often class k is predicted and true. 0 where the root is.
    """
    classes = range(len(codes.labels))
    truth = gold_sizes(codes)
    size = len(codes.gold)
    right = formula.variable(0)
    predicted = [formula.variable(1 + k) for k in classes]
    square = Fraction(size) ** 2
    above = formula.add(
        formula.scale(right, Fraction(size)),
        *(formula.scale(predicted[k], Fraction(-truth[k])) for k in classes),
    )
    spread = formula.subtract(
        formula.number(square), formula.add(*(formula.multiply(p, p) for p in predicted))
    )
    spread_of_gold = formula.number(square - sum(Fraction(t) ** 2 for t in truth))
    node = formula.divide(above, formula.call("sqrt", [formula.multiply(spread_of_gold, spread)]))
    everywhere = np.ones(size, dtype=bool)

    def counts(system: Integers) -> Integers:
        correct = by_item(codes, system == codes.gold)
        return np.column_stack([correct, by_class(codes, system, everywhere, classes)])

    return ClassScore(node, counts(codes.u), counts(codes.v))


def _kappa(codes: CodedLabels) -> ClassScore:
    """(s c - e) / (s^2 - e), e = sum p_k t_k (Cohen 1960): two sums, however many classes there are.

    A label that is predicted adds to e how often gold has it. The names are those of `_mcc`.
    """
    size, truth = len(codes.gold), np.array(gold_sizes(codes), dtype=np.int64)
    right, chance = formula.variable(0), formula.variable(1)
    above = formula.subtract(formula.scale(right, Fraction(size)), chance)
    node = formula.divide(above, formula.subtract(formula.number(size * size), chance))

    def counts(system: Integers) -> Integers:
        expected = np.zeros(codes.items, dtype=np.int64)
        np.add.at(expected, codes.unit, truth[system])
        return np.column_stack([by_item(codes, system == codes.gold), expected])

    return ClassScore(node, counts(codes.u), counts(codes.v))


def _balanced_accuracy(codes: CodedLabels) -> ClassScore:
    """The mean of the recalls of gold's classes; a class that gold never has does not count.

    Classes of one size share a sum, and weigh 1 / size.
    """
    truth = gold_sizes(codes)
    sizes = sorted({size for size in truth if size})
    present = sum(size > 0 for size in truth)
    parts = [formula.scale_variable(at, Fraction(1, size * present)) for at, size in enumerate(sizes)]
    size_of_class = np.searchsorted(np.array(sizes), np.array(truth))[codes.gold].astype(np.int64)

    def counts(system: Integers) -> Integers:
        return by_class(codes, size_of_class, system == codes.gold, range(len(sizes)))

    return ClassScore(formula.add(*parts), counts(codes.u), counts(codes.v))


_OF_ALL = {"mcc": _mcc, "kappa": _kappa, "balanced_accuracy": _balanced_accuracy}
