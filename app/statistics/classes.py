"""Classification of labels: precision, recall and F1 by class, averaged, and Matthews' correlation.

What the scores mean is scikit-learn's: `precision_recall_fscore_support` with zero_division=0 and
`matthews_corrcoef` (Gorodkin 2004 for more than two classes). Items may be sequences of labels, which then
swap as a whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from ..errors import InvalidTest
from . import formula
from .additive_problem import Additive
from .expression import parse
from .formula import Node
from .joint_problem import Joint
from .paired import Label, Predictions, StatisticSpec
from .reduction import difference_of_scores
from .tokens import CodedLabels, coded

# Items times counts of both systems: half a gigabyte each for stay and swap.
MAX_CELLS = 2**26
_POOLED = {
    "f1": "2 * tp / (predicted + gold)",
    "precision": "tp / predicted",
    "recall": "tp / gold",
}


def reduce_classes(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """The test of f1, precision or recall (binary, micro or macro) or mcc; raises InvalidTest."""
    codes = coded(data)
    if spec.name == "mcc":
        score = _mcc(codes)
    elif _average(spec) == "macro":
        score = _macro(codes, spec.name, _chosen(codes, spec))
    else:
        binary = _average(spec) == "binary"
        score = _pooled(codes, spec.name, _positive(codes, spec) if binary else _chosen(codes, spec))
    return difference_of_scores(spec.name, score.node, score.u, score.v, data.pairing)


@dataclass(frozen=True, slots=True)
class _Score:
    """A formula over the sums of counts, and the counts of each item, shape (N, m), for both systems."""

    node: Node
    u: Integers
    v: Integers


def _average(spec: StatisticSpec) -> str:
    average = spec.parameters.get("average") or "binary"
    if average != "binary" and spec.parameters.get("positive") is not None:
        detail = f"positive belongs to average binary; with {average}, restrict the classes by labels."
        raise InvalidTest.at("/statistic/positive", "unknown_parameter", detail)
    if average == "binary" and spec.parameters.get("labels") is not None:
        detail = "labels belongs to the averages micro and macro; with binary, name the positive class."
        raise InvalidTest.at("/statistic/labels", "unknown_parameter", detail)
    return str(average)


def _chosen(codes: CodedLabels, spec: StatisticSpec) -> list[int] | None:
    """Codes of `labels`, -1 for one that never occurs; None when all classes are meant."""
    labels = spec.parameters.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, list | tuple) or not labels or len(set(labels)) < len(labels):
        detail = "labels must be a list of at least one class, each of them once."
        raise InvalidTest.at("/statistic/labels", "not_labels", detail)
    code_of: dict[Label, int] = {label: code for code, label in enumerate(codes.labels)}
    chosen = [code_of.get(label, -1) for label in labels]
    if max(chosen) < 0:
        detail = "None of these labels occurs in gold, u or v."
        raise InvalidTest.at("/statistic/labels", "unknown_label", detail)
    texts = {str(label) for label in codes.labels}
    for label, code in zip(labels, chosen, strict=True):
        if code < 0 and str(label) in texts:
            detail = "A label is text here and an integer in gold, u and v, or vice versa: they never match."
            raise InvalidTest.at("/statistic/labels", "other_label_type", detail)
    return chosen


def _positive(codes: CodedLabels, spec: StatisticSpec) -> list[int]:
    positive = spec.parameters.get("positive")
    if len(codes.labels) > 2:
        detail = (
            f"There are {len(codes.labels)} classes: average binary is for two of them. Choose micro or macro, or "
            "one class by micro and labels."
        )
        raise InvalidTest.at("/statistic/average", "not_binary", detail)
    label = 1 if positive is None else positive
    if label not in codes.labels:
        detail = "The positive class does not occur in gold, u or v: name it as positive (the default is 1)."
        raise InvalidTest.at("/statistic/positive", "unknown_label", detail)
    return [codes.labels.index(label)]


def _pooled(codes: CodedLabels, name: str, chosen: list[int] | None) -> _Score:
    """Counts of the chosen classes added up, then one score."""
    every = list(range(len(codes.labels))) if chosen is None else chosen
    gold = np.isin(codes.gold, every)

    def counts(system: Integers) -> Integers:
        right, predicted = gold & (system == codes.gold), np.isin(system, every)
        return np.stack([_by_item(codes, mask) for mask in (right, predicted, gold)], axis=1)

    return _Score(parse(_POOLED[name], ("tp", "predicted", "gold")), counts(codes.u), counts(codes.v))


def _by_item(codes: CodedLabels, mask: NDArray[np.bool_]) -> Integers:
    return np.bincount(codes.unit[mask], minlength=codes.items).astype(np.int64)


def _by_class(
    codes: CodedLabels, labels: Integers, mask: NDArray[np.bool_], columns: Sequence[int]
) -> Integers:
    """How often each item has each of the classes `columns` where `mask`, shape (N, len(columns))."""
    if codes.items * len(columns) * 4 > MAX_CELLS:
        raise InvalidTest.at(
            "/gold",
            "too_many_classes",
            f"{codes.items:,} items times {len(columns):,} classes are more counts than fit into memory: "
            "restrict the classes by labels.",
        )
    position = np.full(len(codes.labels), -1, dtype=np.int64)
    position[list(columns)] = np.arange(len(columns))
    column = position[labels]
    kept = mask & (column >= 0)
    flat = np.bincount(codes.unit[kept] * len(columns) + column[kept], minlength=codes.items * len(columns))
    return flat.reshape(codes.items, len(columns)).astype(np.int64)


def _macro(codes: CodedLabels, name: str, chosen: list[int] | None) -> _Score:
    """The mean of each class's score. Without `labels`, over the classes of gold and of that system.

    A class that gold never has scores 0, and counts in the mean of a system as soon as it is predicted:
    min(1, predicted).
    """
    totals = np.bincount(codes.gold, minlength=len(codes.labels)).tolist()
    named = range(len(codes.labels)) if chosen is None else [code for code in chosen if code >= 0]
    inside = [code for code in named if totals[code]]
    outside = [code for code in named if not totals[code]] if chosen is None else []
    width = len(inside)
    scores = [
        _class_score(name, formula.variable(at), formula.variable(width + at), totals[code])
        for at, code in enumerate(inside)
    ]
    one = formula.number(1)
    extra = [formula.call("min", [one, formula.variable(2 * width + at)]) for at in range(len(outside))]
    divisor = formula.add(formula.number(width if chosen is None else len(chosen)), *extra)
    node = formula.divide(formula.add(formula.number(0), *scores), divisor)
    everywhere = np.ones(len(codes.gold), dtype=bool)

    def counts(system: Integers) -> Integers:
        right = _by_class(codes, system, system == codes.gold, inside)
        predicted = _by_class(codes, system, everywhere, [*inside, *outside])
        return np.concatenate([right, predicted], axis=1)

    return _Score(node, counts(codes.u), counts(codes.v))


def _class_score(name: str, right: Node, predicted: Node, gold: int) -> Node:
    if name == "recall":
        return formula.scale(right, Fraction(1, gold))
    if name == "precision":
        return formula.divide(right, predicted)
    return formula.divide(formula.scale(right, Fraction(2)), formula.add(predicted, formula.number(gold)))


def _mcc(codes: CodedLabels) -> _Score:
    """(c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2)(s^2 - sum t_k^2)): Gorodkin 2004, eq. 8 in counts.

    c labels right of s; p_k and t_k how often class k is predicted and true. 0 where the root is.
    """
    classes = range(len(codes.labels))
    truth = np.bincount(codes.gold, minlength=len(codes.labels)).tolist()
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
        correct = _by_item(codes, system == codes.gold)
        return np.column_stack([correct, _by_class(codes, system, everywhere, classes)])

    return _Score(node, counts(codes.u), counts(codes.v))
