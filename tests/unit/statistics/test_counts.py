"""Statistics of named counts: what they are, what they need, and that their tests are those of the definition."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.probability import Alternative
from exactperm.errors import InvalidTest
from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.catalogue import STATISTICS
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.paired import Counts, Pairing, StatisticSpec
from tests.refusals import refused
from tests.unit.statistics.of_sums import reduce

SIDES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
Row = Mapping[str, int]


def counts(
    u: Mapping[str, Sequence[float]], v: Mapping[str, Sequence[float]], pairing: Pairing | None = None
) -> Counts:
    columns = [{name: np.array(values) for name, values in system.items()} for system in (u, v)]
    return Counts(columns[0], columns[1], pairing or Pairing())


def over(above: Fraction | int, below: Fraction | int) -> Fraction:
    return Fraction(above) / below if below else Fraction(0)


def f_of(beta: Fraction | int) -> Callable[[int, int, int], Fraction]:
    return lambda tp, fp, fn: over((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)


DEFINITIONS: list[tuple[str, dict[str, Any], tuple[str, ...], Callable[..., Fraction]]] = [
    ("f1", {}, ("tp", "incorrect"), lambda tp, wrong: over(tp, tp + Fraction(wrong, 2))),
    ("f1", {}, ("tp", "fp", "fn"), f_of(1)),
    ("fbeta", {"beta": 0.5}, ("tp", "fp", "fn"), f_of(Fraction(1, 2))),
    ("fbeta", {"beta": 2}, ("tp", "fp", "fn"), f_of(2)),
    ("precision", {}, ("tp", "fp"), lambda tp, fp: over(tp, tp + fp)),
    ("recall", {}, ("tp", "fn"), lambda tp, fn: over(tp, tp + fn)),
    ("accuracy", {}, ("correct", "incorrect"), lambda right, wrong: over(right, right + wrong)),
    ("jaccard", {}, ("tp", "incorrect"), lambda tp, wrong: over(tp, tp + wrong)),
    ("jaccard", {}, ("tp", "fp", "fn"), lambda tp, fp, fn: over(tp, tp + fp + fn)),
    (
        "expression",
        {"expression": "(tp - fp) / (tp + 2*fn)"},
        ("tp", "fp", "fn"),
        lambda tp, fp, fn: over(tp - fp, tp + 2 * fn),
    ),
]


def p_values(problem: Additive | Joint) -> dict[Alternative, Fraction]:
    """Every swap, compared by the problem's own function: what the engine will count."""
    swap = -problem.stay if problem.swap is None else problem.swap
    pairs = list(zip(problem.stay.tolist(), swap.tolist(), strict=True))
    sums = np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*pairs)])
    observed = problem.stay.sum(axis=0)
    if isinstance(problem, Joint):
        extreme = {side: problem.function.extreme(list(sums.T), observed, side) for side in SIDES}
    else:
        tests = {"greater": sums >= observed, "less": sums <= observed}
        extreme = {**tests, "two-sided": np.abs(sums) >= abs(observed)}  # type: ignore[dict-item]
    return {side: Fraction(int(mask.sum()), len(sums)) for side, mask in extreme.items()}


def p_values_by_definition(
    u: Sequence[Sequence[int]], v: Sequence[Sequence[int]], score: Callable[..., Fraction]
) -> dict[Alternative, Fraction]:
    """Algorithm of the definition: exchange items, sum, score, compare in fractions."""
    values = []
    for swaps in itertools.product([False, True], repeat=len(u)):
        sides = [(b, a) if swapped else (a, b) for a, b, swapped in zip(u, v, swaps, strict=True)]
        sums = [[sum(column) for column in zip(*rows, strict=True)] for rows in zip(*sides, strict=True)]
        values.append(score(*sums[0]) - score(*sums[1]))
    first = values[0]
    return {
        "greater": Fraction(sum(x >= first for x in values), len(values)),
        "less": Fraction(sum(x <= first for x in values), len(values)),
        "two-sided": Fraction(sum(abs(x) >= abs(first) for x in values), len(values)),
    }


@given(st.data(), st.sampled_from(DEFINITIONS))
@settings(deadline=None, max_examples=150)
def test_named_scores_give_the_p_values_of_their_definition(
    data: st.DataObject, case: tuple[Any, ...]
) -> None:
    name, parameters, names, score = case
    n = data.draw(st.integers(1, 7))
    rows = st.lists(
        st.lists(st.integers(0, 3), min_size=len(names), max_size=len(names)), min_size=n, max_size=n
    )
    u, v = data.draw(rows), data.draw(rows)
    columns = [dict(zip(names, zip(*system, strict=True), strict=True)) for system in (u, v)]
    sums = [[sum(column) for column in zip(*system, strict=True)] for system in (u, v)]
    try:
        problem = reduce(counts(columns[0], columns[1]), StatisticSpec(name, parameters))
    except InvalidTest as refused:
        code = refused.flaws[0].code
        assert (code, name) == ("undefined_statistic", "expression")
        assert any(tp + 2 * fn == 0 != tp - fp for tp, fp, fn in sums)
        return
    assert (problem.score_u, problem.score_v) == (score(*sums[0]), score(*sums[1]))
    if name != "expression":
        assert p_values(problem) == p_values_by_definition(u, v, score)


def test_the_paper_s_incorrect_and_the_three_counts_are_the_same_f1() -> None:
    tp, fp, fn = [3, 0, 2], [1, 1, 0], [0, 2, 2]
    other = {"tp": [1, 1, 2], "fp": [0, 1, 1], "fn": [2, 1, 2]}
    three = reduce(counts({"tp": tp, "fp": fp, "fn": fn}, other), StatisticSpec("f1"))
    two = reduce(
        counts({"tp": tp, "incorrect": [1, 3, 2]}, {"tp": other["tp"], "incorrect": [2, 2, 3]}),
        StatisticSpec("f1"),
    )
    gold = reduce(
        counts(
            {"tp": tp, "predicted": [4, 1, 2], "gold": [3, 2, 4]},
            {"tp": other["tp"], "predicted": [1, 2, 3], "gold": [3, 2, 4]},
        ),
        StatisticSpec("f1"),
    )
    assert three.score_u == two.score_u == gold.score_u == Fraction(10, 16)
    assert p_values(three) == p_values(two) == p_values(gold)


def test_a_ratio_over_a_shared_denominator_is_additive() -> None:
    words = [20, 30, 10]
    data = counts({"errors": [8, 3, 7], "ref words": words}, {"errors": [6, 5, 7], "ref words": words})
    spec = StatisticSpec("ratio", {"numerator": "errors", "denominator": "ref words"})
    problem = reduce(data, spec)
    assert isinstance(problem, Additive)
    assert problem.stay.tolist() == [2, -2, 0]
    assert (problem.unit, problem.score_u) == (Fraction(1, 60), Fraction(18, 60))


def test_recall_with_shared_gold_is_additive_and_precision_is_not() -> None:
    data = counts(
        {"tp": [2, 1], "predicted": [3, 1], "gold": [2, 2]},
        {"tp": [1, 2], "predicted": [1, 3], "gold": [2, 2]},
    )
    assert isinstance(reduce(data, StatisticSpec("recall")), Additive)
    assert isinstance(reduce(data, StatisticSpec("precision")), Joint)


def test_a_denominator_shared_inside_every_cluster_is_enough() -> None:
    pairing = Pairing(clusters=np.array([0, 0, 1]), n_clusters=2)
    data = counts(
        {"correct": [1, 2, 3], "total": [2, 3, 4]}, {"correct": [2, 1, 1], "total": [3, 2, 4]}, pairing
    )
    problem = reduce(data, StatisticSpec("accuracy"))
    assert isinstance(problem, Additive)
    assert problem.stay.tolist() == [0, 2]
    assert (problem.items, problem.clusters, problem.unit) == (3, 2, Fraction(1, 9))


def test_the_items_of_a_cluster_swap_together() -> None:
    pairing = Pairing(clusters=np.array([0, 1, 0]), n_clusters=2)
    data = counts(
        {"tp": [1, 2, 3], "incorrect": [1, 0, 2]}, {"tp": [2, 2, 1], "incorrect": [0, 1, 2]}, pairing
    )
    problem = reduce(data, StatisticSpec("f1"))
    assert isinstance(problem, Joint)
    assert problem.stay.tolist() == [[4, 3, 3, 2], [2, 0, 2, 1]]
    assert problem.swap.tolist() == [[3, 2, 4, 3], [2, 1, 2, 0]]


def test_nothing_anywhere_scores_nought() -> None:
    problem = reduce(
        counts({"tp": [0, 0], "incorrect": [0, 0]}, {"tp": [0, 0], "incorrect": [0, 0]}), StatisticSpec("f1")
    )
    assert (problem.score_u, problem.score_v) == (0, 0)
    assert p_values(problem) == dict.fromkeys(SIDES, 1)


def test_whole_numbers_may_come_as_doubles() -> None:
    problem = reduce(
        counts({"tp": [2.0, 1.0], "fn": [1, 0]}, {"tp": [1.0, 1.0], "fn": [0, 3]}), StatisticSpec("recall")
    )
    assert problem.score_u == Fraction(3, 4)


OK = {"tp": [1, 2], "incorrect": [1, 0]}


@pytest.mark.parametrize(
    ("u", "v", "spec", "pointer", "code"),
    [
        ({"tp": [1, 2]}, {"tp": [1, 2]}, ("f1", {}), "/u", "missing_counts"),
        (OK, {"tp": [1, 2]}, ("f1", {}), "/v", "different_counts"),
        (OK, {"tp": [1, 2], "incorrect": [1]}, ("f1", {}), "/v/incorrect", "length_mismatch"),
        ({"tp": [], "incorrect": []}, {"tp": [], "incorrect": []}, ("f1", {}), "/u", "empty"),
        ({}, {}, ("f1", {}), "/u", "empty"),
        ({"tp": [1, 2.5], "incorrect": [1, 0]}, OK, ("f1", {}), "/u/tp/1", "not_a_count"),
        (OK, {"tp": [1, 2], "incorrect": [-1, 0]}, ("f1", {}), "/v/incorrect/0", "not_a_count"),
        (
            {"a/b": [1, -1], "c": [1, 1]},
            {"a/b": [1, 1], "c": [1, 1]},
            ("ratio", {"numerator": "a/b", "denominator": "c"}),
            "/u/a~1b/1",
            "not_a_count",
        ),
        (
            {"tp": [3, 2], "predicted": [2, 2]},
            {"tp": [1, 1], "predicted": [2, 2]},
            ("precision", {}),
            "/u/tp/0",
            "inconsistent_counts",
        ),
        (
            {"tp": [1], "fp": [1], "predicted": [1]},
            {"tp": [1], "fp": [1], "predicted": [2]},
            ("precision", {}),
            "/u",
            "ambiguous_counts",
        ),
        (OK, OK, ("fbeta", {"beta": 0}), "/statistic/beta", "out_of_range"),
        (OK, OK, ("ratio", {"numerator": "tp"}), "/statistic/denominator", "unknown_name"),
        (OK, OK, ("ratio", {"numerator": "tp", "denominator": "tp"}), "/statistic/denominator", "same_count"),
        (OK, OK, ("expression", {"expression": "tp + fp"}), "/statistic/expression", "unknown_name"),
        (OK, OK, ("expression", {}), "/statistic/expression", "missing"),
        (
            OK,
            OK,
            ("expression", {"expression": "log(tp - 3)"}),
            "/statistic/expression",
            "undefined_statistic",
        ),
        (
            {"e": [1], "w": [0]},
            {"e": [0], "w": [1]},
            ("ratio", {"numerator": "e", "denominator": "w"}),
            "/u",
            "undefined_statistic",
        ),
        (OK, OK, ("bleurt", {}), "/statistic/name", "unknown_statistic"),
        (OK, OK, ("f1", {"beta": 2}), "/statistic/beta", "unknown_parameter"),
        (
            {"tp": [2**58] * 5, "fn": [1] * 5},
            {"tp": [1] * 5, "fn": [1] * 5},
            ("recall", {}),
            "",
            "integer_too_large",
        ),
    ],
)
def test_counts_that_make_no_test_are_refused_where_they_are_wrong(
    u: dict[str, list[float]],
    v: dict[str, list[float]],
    spec: tuple[str, dict[str, Any]],
    pointer: str,
    code: str,
) -> None:
    with refused(code, pointer):
        reduce(counts(u, v), StatisticSpec(*spec))


def test_what_is_missing_is_named() -> None:
    with pytest.raises(
        InvalidTest, match="f1 needs the counts tp, incorrect; or tp, fp, fn; or tp, predicted, gold"
    ):
        reduce(counts({"x": [1]}, {"x": [1]}), StatisticSpec("f1"))


def test_every_kind_of_the_catalogue_describes_its_statistics() -> None:
    for kind, entries in STATISTICS.items():
        assert len({entry.name for entry in entries}) == len(entries)
        assert all(entry.kind == kind and entry.meaning for entry in entries)
