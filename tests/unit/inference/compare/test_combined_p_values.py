"""One-sided p-values of data sets, combined: against SciPy, and conservative by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from exactperm.answers.board import Combine
from tests.refusals import refused

from .overall_shorthands import compared, overall_of, systems_of

METHODS: tuple[Combine, ...] = ("fisher", "stouffer")


def columns_of(wins: int, losses: int, ties: int = 1) -> dict[str, list[int]]:
    return {"A": [1] * wins + [0] * losses + [1] * ties, "B": [0] * wins + [1] * losses + [1] * ties}


def one_sided(wins: int, losses: int) -> float:
    return float(stats.binom.sf(wins - 1, wins + losses, 0.5))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "counts", [((7, 2), (9, 4), (5, 6)), ((40, 1), (33, 2)), ((3, 1), (0, 4), (8, 1), (2, 2))]
)
def test_against_scipy(counts: tuple[tuple[int, int], ...], method: Combine) -> None:
    data = {f"d{at}": columns_of(*each) for at, each in enumerate(counts)}
    named = {"design": "pairs", "pairs": (("A", "B"),)}
    above = [one_sided(wins, losses) for wins, losses in counts]
    below = [one_sided(losses, wins) for wins, losses in counts]
    known = {
        side: float(stats.combine_pvalues(p, method=method).pvalue)
        for side, p in (("greater", above), ("less", below))
    }
    for side, p in known.items():
        (pair,) = overall_of(data, combine=method, alternative=side, **named).pairs
        assert pair.p_value == pytest.approx(p, rel=1e-9)
        assert pair.p_value_bounds[0] <= p * (1 + 1e-9)
        assert p <= pair.p_value_bounds[1] * (1 + 1e-9)
        assert (pair.method, pair.exact, pair.p_value_bounds_kind) == (method, False, "certified")
    (pair,) = overall_of(data, combine=method, **named).pairs
    assert pair.p_value == pytest.approx(min(2 * min(known.values()), 1.0), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_combination_is_conservative(method: Combine) -> None:
    """Over all outcomes of two sign tests, p <= x has at most the probability x, on one side and on both."""
    n = (4, 5)
    found: list[tuple[float, float, float]] = []
    for wins in product(*(range(size + 1) for size in n)):
        data = {
            f"d{at}": columns_of(k, size - k, 0) for at, (k, size) in enumerate(zip(wins, n, strict=True))
        }
        mass = np.prod([stats.binom.pmf(k, size, 0.5) for k, size in zip(wins, n, strict=True)])
        above, both = (
            overall_of(data, alternative=side, design="pairs", pairs=(("A", "B"),), combine=method)
            .pairs[0]
            .p_value
            for side in ("greater", "two-sided")
        )
        found.append((float(mass), above, both))
    for column in (1, 2):
        for x in {row[column] for row in found}:
            assert sum(row[0] for row in found if row[column] <= x * (1 + 1e-9)) <= x * (1 + 1e-6)


def test_p_values_that_no_double_holds() -> None:
    data = {"x": columns_of(900, 0), "y": columns_of(800, 0)}
    for method in METHODS:
        (pair,) = overall_of(data, combine=method).pairs
        assert pair.log10_p_value < -400
        assert pair.relation == "better"
        assert 0.0 < pair.p_value < 1e-300


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_one_large_number_does_not_hide_what_the_others_show(method: Combine, higher_is_better: bool) -> None:
    """Three data sets are for B, one item of A's outweighs them all in the mean: twice the smaller combination, for B."""
    data = {"big": {"A": [1000], "B": [0]}, **{f"d{k}": {"A": [1] * 12, "B": [2] * 12} for k in range(3)}}
    record = compared(
        {name: systems_of(columns) for name, columns in data.items()},
        combine=method,
        higher_is_better=higher_is_better,
    )
    assert record.overall is not None
    (pair,) = record.overall.pairs
    smaller = float(stats.combine_pvalues([1.0, *[2.0**-12] * 3], method=method).pvalue)
    if method == "stouffer":
        smaller = 1.0  # a p-value of 1 has an infinite z
    larger = float(stats.combine_pvalues([0.5, 1.0, 1.0, 1.0], method="fisher").pvalue)
    if method == "fisher":
        assert smaller < larger
        assert pair.p_value == pytest.approx(2 * smaller, rel=1e-9)
        better = pair.u if pair.relation == "better" else pair.v
        assert pair.relation != "tied"
        assert better == ("B" if higher_is_better else "A")
        assert [warning.code for warning in record.overall.warnings] == ["combined_against_scores"]
    else:
        assert (pair.p_value, pair.relation) == (1.0, "tied")


@pytest.mark.parametrize("method", METHODS)
def test_no_side_is_claimed_where_both_have_as_much(method: Combine) -> None:
    for data in (
        {"x": columns_of(60, 0, 0), "y": columns_of(0, 60, 0)},
        {"x": columns_of(60, 0, 0), "y": columns_of(0, 60, 0), "z": columns_of(7, 7)},
    ):
        for names in (list(data), list(data)[::-1]):
            ordered = {name: data[name] for name in names}
            (pair,) = overall_of(ordered, combine=method, design="pairs", pairs=(("A", "B"),)).pairs
            assert (pair.p_value, pair.relation) == (1.0, "tied")


def test_the_side_is_that_of_the_smaller_combination() -> None:
    data = {"x": columns_of(60, 0, 0), "y": columns_of(5, 50, 0)}
    (pair,) = overall_of(data, combine="fisher", design="pairs", pairs=(("A", "B"),)).pairs
    above, below = (
        float(stats.combine_pvalues(p, method="fisher").pvalue)
        for p in ([one_sided(60, 0), one_sided(5, 50)], [one_sided(0, 60), one_sided(50, 5)])
    )
    assert above < below
    assert pair.p_value == pytest.approx(2 * above, rel=1e-6)
    assert pair.relation == "better"


@pytest.mark.parametrize("method", METHODS)
def test_lower_is_better(method: Combine) -> None:
    data = {"x": columns_of(9, 2), "y": columns_of(7, 1)}
    named = {"design": "pairs", "pairs": (("A", "B"),), "combine": method}
    (more,) = overall_of(data, alternative="greater", **named).pairs
    (less,) = overall_of(data, alternative="less", higher_is_better=False, **named).pairs
    assert less.p_value == more.p_value
    (pair,) = overall_of(data, higher_is_better=False, **named).pairs
    assert pair.relation == "worse"
    assert pair.difference > 0


@pytest.mark.parametrize("statistic", ["sign", "signed_rank"])
def test_signs_and_ranks_can_be_combined(statistic: str) -> None:
    data = {"x": columns_of(7, 2), "y": columns_of(9, 4)}
    record = compared(
        {name: systems_of(columns) for name, columns in data.items()}, statistic, combine="stouffer"
    )
    assert record.overall is not None
    known = stats.combine_pvalues([one_sided(7, 2), one_sided(9, 4)], method="stouffer").pvalue
    assert record.overall.pairs[0].p_value == pytest.approx(2 * float(known), rel=1e-9)


@pytest.mark.parametrize(
    "given", [{"aggregate": "micro"}, {"adjust": "holm_discrete"}], ids=["micro", "holm_discrete"]
)
def test_refusals(given: dict[str, str]) -> None:
    with refused(None, "/combine"):
        overall_of({"x": columns_of(3, 1), "y": columns_of(2, 1)}, combine="fisher", **given)
