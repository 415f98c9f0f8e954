"""One-sided p-values of data sets, combined: against SciPy, and conservative by enumeration."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy import stats

from app.errors import InvalidTest
from app.inference.compare.record import Combine

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
    side = "greater" if pair.difference > 0 else "less"
    assert pair.p_value == pytest.approx(min(2 * known[side], 1.0), rel=1e-9)
    assert pair.p_value >= min(2 * min(known.values()), 1.0) * (1 - 1e-9)


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


def test_it_never_claims_against_the_observed_difference() -> None:
    """Both directions may be significant where data sets disagree; the mean difference decides which may be claimed."""
    data = {"x": columns_of(60, 0, 0), "y": columns_of(0, 50, 0)}
    (pair,) = overall_of(data, combine="fisher", design="pairs", pairs=(("A", "B"),)).pairs
    assert (pair.difference, pair.p_value, pair.relation) == (0.0, 1.0, "tied")
    data = {"x": columns_of(60, 0, 0), "y": columns_of(5, 50, 0)}
    (pair,) = overall_of(data, combine="stouffer", design="pairs", pairs=(("A", "B"),)).pairs
    assert pair.difference > 0
    assert pair.relation != "worse"


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
    with pytest.raises(InvalidTest) as refusal:
        overall_of({"x": columns_of(3, 1), "y": columns_of(2, 1)}, combine="fisher", **given)
    assert refusal.value.flaws[0].pointer == "/combine"
