"""Scores of labels by class: precision, recall and F1, averaged; Matthews' correlation, Cohen's kappa, balanced
accuracy; and, for a positive class against all others, specificity, negative predictive value and geometric mean.

They are defined as in scikit-learn (`precision_recall_fscore_support` with zero_division=0; `matthews_corrcoef`,
Gorodkin 2004; `cohen_kappa_score` with replace_undefined_by=0; `balanced_accuracy_score`) and imbalanced-learn's
(`specificity_score`, `geometric_mean_score` with average binary); 0/0 is 0. Both systems share gold, so that any score
that is linear for fixed gold is additive. Items may be sequences of labels, which then swap as a whole.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from ..errors import InvalidTest
from . import formula
from .effects import Additive, Joint
from .expression import parse
from .formula import Node
from .labels import RETRIEVAL, CodedLabels, coded
from .paired import Label, Predictions, StatisticSpec
from .reduction import difference_of_scores

# Items times counts of both systems: half a gigabyte each for stay and swap.
MAX_CELLS = 2**26


# A formula over the sums of counts, and the counts of each item, shape (N, m), from a system's codes.
Score = tuple[Node, Callable[[Integers], Integers]]


def reduce_classes(data: Predictions, spec: StatisticSpec) -> Additive | Joint:
    """Return the test of a score of labels by class; raises InvalidTest."""
    codes = coded(data)
    node, counts = _SCORES.get(spec.name, _averaged)(codes, spec)
    return difference_of_scores(spec.name, node, counts(codes.u), counts(codes.v), data.pairing)


def by_item(codes: CodedLabels, mask: NDArray[np.bool_]) -> Integers:
    """Count the labels of each item that are in the mask, shape (N,)."""
    return np.bincount(codes.unit[mask], minlength=codes.items).astype(np.int64)


def by_class(
    codes: CodedLabels, labels: Integers, mask: NDArray[np.bool_], columns: Sequence[int]
) -> Integers:
    """Count each of the classes `columns` in each item where `mask`, shape (N, len(columns)); may raise InvalidTest."""
    if codes.items * len(columns) * 4 > MAX_CELLS:
        raise InvalidTest.at(
            "/gold",
            "too_many_classes",
            f"{codes.items:,} items times {len(columns):,} classes are more counts than fit into memory: "
            "restrict the classes with labels.",
        )
    position = np.full(len(codes.labels), -1, dtype=np.int64)
    position[list(columns)] = np.arange(len(columns))
    column = position[labels]
    kept = mask & (column >= 0)
    flat = np.bincount(codes.unit[kept] * len(columns) + column[kept], minlength=codes.items * len(columns))
    return flat.reshape(codes.items, len(columns)).astype(np.int64)


def gold_sizes(codes: CodedLabels) -> list[int]:
    """Count each class in gold."""
    sizes: list[int] = np.bincount(codes.gold, minlength=len(codes.labels)).tolist()
    return sizes


# Averages over classes


def _averaged(codes: CodedLabels, spec: StatisticSpec) -> Score:
    """Return f1, precision or recall: binary, micro, macro or weighted."""
    average = _average(spec)
    if average == "macro":
        return _macro(codes, spec.name, _chosen(codes, spec))
    if average == "weighted":
        return _weighted(codes, spec.name, _chosen(codes, spec))
    if average == "micro":
        return _pooled(codes, spec.name, _chosen(codes, spec))
    detail = (
        f"There are {len(codes.labels)} classes, but average binary needs two. Choose micro, macro or "
        "weighted, or select one class with micro and labels."
    )
    return _pooled(codes, spec.name, [_positive(codes, spec, "average", detail)])


def _average(spec: StatisticSpec) -> str:
    average = spec.parameters.get("average") or "binary"
    if average != "binary" and spec.parameters.get("positive") is not None:
        detail = f"positive applies only to average binary; with {average}, restrict the classes with labels."
        raise InvalidTest.at("/statistic/positive", "unknown_parameter", detail)
    if average == "binary" and spec.parameters.get("labels") is not None:
        detail = (
            "labels applies only to the averages micro, macro and weighted; with binary, name the positive "
            "class."
        )
        raise InvalidTest.at("/statistic/labels", "unknown_parameter", detail)
    return str(average)


def _chosen(codes: CodedLabels, spec: StatisticSpec) -> list[int] | None:
    """Return the codes of `labels`, -1 for one that never occurs; None for all classes."""
    labels = spec.parameters.get("labels")
    if labels is None:
        return None
    if not isinstance(labels, list | tuple) or not labels or len(set(labels)) < len(labels):
        detail = "labels must be a list of at least one class, without repeats."
        raise InvalidTest.at("/statistic/labels", "not_labels", detail)
    code_of: dict[Label, int] = {label: code for code, label in enumerate(codes.labels)}
    chosen = [code_of.get(label, -1) for label in labels]
    if max(chosen) < 0:
        detail = "None of these labels occurs in gold, u or v."
        raise InvalidTest.at("/statistic/labels", "unknown_label", detail)
    texts = {str(label) for label in codes.labels}
    for label, code in zip(labels, chosen, strict=True):
        if code < 0 and str(label) in texts:
            detail = (
                "These labels and those of gold, u and v have different types (text and integer): "
                "they never match."
            )
            raise InvalidTest.at("/statistic/labels", "other_label_type", detail)
    return chosen


def _positive(codes: CodedLabels, spec: StatisticSpec, pointer: str, not_binary: str) -> int:
    """Return the code of the positive class; refuse more than two classes with `not_binary`."""
    positive = spec.parameters.get("positive")
    if len(codes.labels) > 2 and (positive is None or pointer == "average"):
        raise InvalidTest.at(f"/statistic/{pointer}", "not_binary", not_binary)
    label = 1 if positive is None else positive
    if label not in codes.labels:
        detail = "The positive class does not occur in gold, u or v: name it as positive (the default is 1)."
        raise InvalidTest.at("/statistic/positive", "unknown_label", detail)
    return codes.labels.index(label)


def _pooled(codes: CodedLabels, name: str, chosen: list[int] | None) -> Score:
    """Score the summed counts of the chosen classes."""
    every = list(range(len(codes.labels))) if chosen is None else chosen
    gold = np.isin(codes.gold, every)

    def counts(system: Integers) -> Integers:
        right, predicted = gold & (system == codes.gold), np.isin(system, every)
        return np.stack([by_item(codes, mask) for mask in (right, predicted, gold)], axis=1)

    return parse(RETRIEVAL[name], ("tp", "predicted", "gold")), counts


def _macro(codes: CodedLabels, name: str, chosen: list[int] | None) -> Score:
    """Average the scores of the classes.

    Without `labels`, the mean is over the classes of gold and of that system. A class absent from gold scores 0,
    and counts in the mean of a system once it is predicted: min(1, predicted).
    """
    totals = gold_sizes(codes)
    named = range(len(codes.labels)) if chosen is None else [code for code in chosen if code >= 0]
    inside = [code for code in named if totals[code]]
    outside = [code for code in named if not totals[code]] if chosen is None else []
    width = len(inside)
    scores = _class_scores(name, [totals[code] for code in inside])
    one = formula.number(1)
    extra = [formula.call("min", [one, formula.variable(2 * width + at)]) for at in range(len(outside))]
    divisor = formula.add(formula.number(width if chosen is None else len(chosen)), *extra)
    node = formula.divide(formula.add(formula.number(0), *scores), divisor)
    return _class_formula(codes, node, inside, outside)


def _weighted(codes: CodedLabels, name: str, chosen: list[int] | None) -> Score:
    """Average the scores of the classes, weighted by their frequency in gold: weighted recall is accuracy."""
    totals = gold_sizes(codes)
    named = range(len(codes.labels)) if chosen is None else chosen
    inside = [code for code in named if code >= 0 and totals[code]]
    sizes = [totals[code] for code in inside]
    scores = [
        formula.scale(score, Fraction(size, sum(sizes)))
        for score, size in zip(_class_scores(name, sizes), sizes, strict=True)
    ]
    return _class_formula(codes, formula.add(formula.number(0), *scores), inside, [])


def _class_formula(codes: CodedLabels, node: Node, inside: list[int], outside: list[int]) -> Score:
    """Build the formula over the counts of right labels of each class `inside`, then the counts of predictions of both
    lists.
    """
    everywhere = np.ones(len(codes.gold), dtype=bool)

    def counts(system: Integers) -> Integers:
        right = by_class(codes, system, system == codes.gold, inside)
        predicted = by_class(codes, system, everywhere, [*inside, *outside])
        return np.concatenate([right, predicted], axis=1)

    return node, counts


def _class_scores(name: str, sizes: list[int]) -> list[Node]:
    """Score each class, of frequency `sizes` in gold, over the sums of `_class_formula`."""
    width = len(sizes)
    return [
        _class_score(name, formula.variable(at), formula.variable(width + at), size)
        for at, size in enumerate(sizes)
    ]


def _class_score(name: str, right: Node, predicted: Node, gold: int) -> Node:
    if name == "recall":
        return formula.scale(right, Fraction(1, gold))
    if name == "precision":
        return formula.divide(right, predicted)
    return formula.divide(formula.scale(right, Fraction(2)), formula.add(predicted, formula.number(gold)))


# Scores of the whole confusion matrix


_NAMES = ("tp", "tn", "negative", "gold_positive", "gold_negative")
_SINGLE_CLASS = {
    "specificity": "tn / gold_negative",
    "npv": "tn / negative",
    # Roots of single whole numbers have bounded errors in doubles, even at 0; the root of a rounded product does not.
    "g_mean": "sqrt(tp) * sqrt(tn) / (sqrt(max(1, gold_positive)) * sqrt(max(1, gold_negative)))",
}


def _single_class_score(codes: CodedLabels, spec: StatisticSpec) -> Score:
    """Score the positive class against all others."""
    detail = (
        f"There are {len(codes.labels)} classes: name the positive one; all others are taken as negative."
    )
    code = _positive(codes, spec, "positive", detail)
    truth = codes.gold == code

    def counts(system: Integers) -> Integers:
        predicted = system == code
        masks = truth & predicted, ~truth & ~predicted, ~predicted, truth, ~truth
        return np.stack([by_item(codes, mask) for mask in masks], axis=1)

    return parse(_SINGLE_CLASS[spec.name], _NAMES), counts


def _mcc(codes: CodedLabels, _: StatisticSpec) -> Score:
    """Return (c s - sum p_k t_k) / sqrt((s^2 - sum p_k^2)(s^2 - sum t_k^2)) (Gorodkin 2004, eq. 8 in counts).

    Of s labels c are right; p_k and t_k count the predicted and true labels of class k. 0 where the root is 0.
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

    return node, counts


def _kappa(codes: CodedLabels, _: StatisticSpec) -> Score:
    """Return (s c - e) / (s^2 - e), e = sum p_k t_k (Cohen 1960), from two sums for any number of classes.

    A predicted label adds its frequency in gold to e. The names are those of `_mcc`.
    """
    size, truth = len(codes.gold), np.array(gold_sizes(codes), dtype=np.int64)
    right, chance = formula.variable(0), formula.variable(1)
    above = formula.subtract(formula.scale(right, Fraction(size)), chance)
    node = formula.divide(above, formula.subtract(formula.number(size * size), chance))

    def counts(system: Integers) -> Integers:
        expected = np.zeros(codes.items, dtype=np.int64)
        np.add.at(expected, codes.unit, truth[system])
        return np.column_stack([by_item(codes, system == codes.gold), expected])

    return node, counts


def _balanced_accuracy(codes: CodedLabels, _: StatisticSpec) -> Score:
    """Average the recalls of gold's classes; a class absent from gold does not count.

    Classes of equal size share a sum, with weight 1 / size.
    """
    truth = gold_sizes(codes)
    sizes = sorted({size for size in truth if size})
    present = sum(size > 0 for size in truth)
    parts = [formula.scale_variable(at, Fraction(1, size * present)) for at, size in enumerate(sizes)]
    size_of_class = np.searchsorted(np.array(sizes), np.array(truth))[codes.gold].astype(np.int64)

    def counts(system: Integers) -> Integers:
        return by_class(codes, size_of_class, system == codes.gold, range(len(sizes)))

    return formula.add(*parts), counts


_SCORES: Mapping[str, Callable[[CodedLabels, StatisticSpec], Score]] = {
    "mcc": _mcc,
    "kappa": _kappa,
    "balanced_accuracy": _balanced_accuracy,
    **dict.fromkeys(_SINGLE_CLASS, _single_class_score),
}
