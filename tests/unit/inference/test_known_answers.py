"""Answers that are known without a computer, and those of brute force, through the one entry."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.one_sum.planner import EXACT_METHODS
from exactperm.engine.plan import Budget
from exactperm.engine.probability import Alternative
from exactperm.inference.options import Options
from exactperm.inference.paired_test import plan_record, prepare, run_test
from exactperm.statistics.paired import Scores, StatisticSpec
from tests.refusals import refused_alone
from tests.unit.engine.cases import ALTERNATIVES, cases
from tests.unit.engine.exact_null import Case, exact_p
from tests.unit.inference.run_shorthands import check_record, column, effects, score

# The CS478 hand-out's example, which the evaluatio documentation shares.
U = [0.85, 0.90, 0.78, 0.92, 0.88]
V = [0.80, 0.85, 0.75, 0.88, 0.82]


@pytest.mark.parametrize("method", ["auto", *EXACT_METHODS])
def test_the_cs478_example_is_a_sixteenth_two_sided_and_a_thirty_second_one_sided(method: str) -> None:
    two, up, down = (score(U, V, alternative=a, method=method) for a in ALTERNATIVES)
    # The doubles nearest to the truth, whatever the method: all five differences are positive.
    assert two.p_value == pytest.approx(0.0625, rel=1e-14)
    assert up.p_value == pytest.approx(1 / 32, rel=1e-14)
    assert down.p_value == 1.0
    if method in {"auto", "rational", "enumeration", "meet_in_the_middle"}:
        assert (two.p_value, up.p_value) == (0.0625, 0.03125)


def test_the_cs478_example_is_reported_in_full() -> None:
    record = score(U, V, pmf="summary", exact_fraction=True)
    fraction = record.p_value_fraction
    assert fraction is not None
    assert Fraction(fraction.numerator, 2**fraction.log2_denominator) == Fraction(1, 16)
    assert record.log10_p_value == pytest.approx(math.log10(1 / 16), rel=1e-14)
    assert record.p_value_bounds[0] <= 0.0625 <= record.p_value_bounds[1]
    assert record.min_attainable_p == 0.0625
    assert not record.significant
    assert [warning.code for warning in record.warnings] == ["alpha_unattainable"]
    observed, u, v = record.statistic.observed, record.statistic.u, record.statistic.v
    assert (observed, u, v) == (0.046, 0.866, 0.82)
    items = record.items
    assert (items.n, items.nonzero, items.wins, items.ties, items.losses) == (5, 5, 5, 0, 0)
    null = record.null
    assert (null.mean, null.min, null.max) == (0.0, -0.046, 0.046)
    assert null.sd == pytest.approx(
        math.sqrt(sum((a - b) ** 2 for a, b in zip(U, V, strict=True))) / 5, rel=1e-12
    )
    assert null.pmf is not None
    assert math.fsum(p for _, p in null.pmf) == pytest.approx(1.0, abs=1e-14)


@pytest.mark.parametrize("statistic", ["mean_difference", "sum_difference", "sign", "signed_rank"])
def test_sixty_wins_of_sixty_are_exactly_two_to_the_minus_59(statistic: str) -> None:
    record = score([1] * 60, [0] * 60, statistic)
    assert record.p_value == 2.0**-59
    assert record.min_attainable_p == 2.0**-59


@pytest.mark.parametrize("statistic", ["mean_difference", "sum_difference", "sign", "signed_rank"])
def test_identical_systems_have_p_one_and_a_warning(statistic: str) -> None:
    for alternative in ALTERNATIVES:
        record = score([0.5, 1.0, 0.25], [0.5, 1.0, 0.25], statistic, alternative=alternative)
        assert (record.p_value, record.log10_p_value, record.min_attainable_p) == (1.0, 0.0, 1.0)
        assert [warning.code for warning in record.warnings] == ["no_differences"]


def test_one_differing_item_has_p_one_two_sided() -> None:
    assert score([1, 2, 3], [1, 2, 4]).p_value == 1.0
    assert score([1, 2, 3], [1, 2, 4], alternative="less").p_value == 0.5


@pytest.mark.slow
@settings(max_examples=250)
@given(cases(max_items=30))
def test_effects_get_the_exact_p_value_and_bounds_that_hold_it(case: Case) -> None:
    record = effects(case.stay, case.swap, "abs(x1)" if case.absolute else "x1", alternative=case.alternative)
    check_record(record, exact_p(case))
    assert record.method.exact


@pytest.mark.parametrize("method", ["fft", "dp", "rational"])
@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), min_size=1, max_size=60))
def test_scores_get_the_exact_p_value_by_every_method(method: str, rows: list[tuple[int, int]]) -> None:
    u, v = [row[0] for row in rows], [row[1] for row in rows]
    truth = exact_p(Case(tuple(a - b for a, b in rows)))
    check_record(score(u, v, method=method), truth)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 4)), min_size=1, max_size=25))
def test_clusters_swap_as_a_whole(rows: list[tuple[int, int, int]]) -> None:
    codes = [row[2] for row in rows]
    record = score([row[0] for row in rows], [row[1] for row in rows], codes=codes)
    together = tuple(sum(row[0] - row[1] for row in rows if row[2] == code) for code in sorted(set(codes)))
    check_record(record, exact_p(Case(together)))
    assert (record.items.n, record.items.clusters) == (len(rows), len(together))


@pytest.mark.parametrize("absolute", [False, True], ids=["x1", "abs(x1)"])
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@settings(max_examples=60)
@given(
    pairs=st.lists(st.tuples(st.integers(-6, 6), st.integers(-6, 6)), min_size=1, max_size=6),
    mirrored=st.booleans(),
)
def test_the_smallest_attainable_p_is_the_smallest_of_all_outcomes(
    alternative: Alternative, absolute: bool, pairs: list[tuple[int, int]], mirrored: bool
) -> None:
    stay = tuple(pair[0] for pair in pairs)
    swap = None if mirrored else tuple(pair[1] for pair in pairs)
    case = Case(stay, swap, alternative, absolute)
    record = effects(stay, swap, "abs(x1)" if absolute else "x1", alternative=alternative)
    assert record.min_attainable_p == pytest.approx(float(smallest_of_all_outcomes(case)), rel=1e-14)


def smallest_of_all_outcomes(case: Case) -> Fraction:
    best = Fraction(1)
    for outcome in itertools.product(*(((a, b), (b, a)) for a, b in case.pairs)):
        stay, swap = zip(*outcome, strict=True)
        best = min(best, exact_p(Case(stay, swap, case.alternative, case.absolute)))
    return best


@pytest.mark.parametrize("n", [20, 40, 100, 200])
def test_a_sum_of_exactly_zero_against_one_heavy_item_is_two_to_the_minus_n(n: int) -> None:
    """|S| <= 0 only when all n ones stand against the item of weight n, either way round."""
    record = effects([1] * n + [-n], expression="abs(x1)", alternative="less")
    check_record(record, Fraction(1, 2**n))


def test_next_to_no_mass_between_many_humps_is_not_mistaken_for_rounding() -> None:
    stay = (100,) * 40 + (-100,) * 39 + (-1,) * 95
    record = effects(stay, expression="abs(x1)", alternative="less")
    check_record(record, exact_p(Case(stay, None, "less", absolute=True)))


@pytest.mark.parametrize("n", [1073, 1074, 1075, 5000])
def test_what_underflows_is_given_by_its_logarithm_and_never_as_zero(n: int) -> None:
    record = score([1] * n, [0] * n, alternative="greater")
    assert record.p_value == max(math.ldexp(1.0, -n), math.ulp(0.0))
    assert record.log10_p_value == pytest.approx(-n * math.log10(2), rel=1e-15)
    check_record(record, Fraction(1, 2**n))


def test_monte_carlo_is_reported_as_what_it_is() -> None:
    record = score(U, V, method="monte_carlo", samples=5000, seed=0)
    sampled = record.method.monte_carlo
    assert sampled is not None
    assert (sampled.samples, sampled.seed) == (5000, 0)
    assert record.p_value == (sampled.exceedances + 1) / 5001
    assert record.log10_p_value == pytest.approx(math.log10(record.p_value), rel=1e-15)
    assert (record.method.exact, record.method.relative_error_bound) == (False, None)
    assert record.p_value_bounds_kind == "confidence"
    assert record.p_value_bounds[0] <= 0.0625 <= record.p_value_bounds[1]
    assert record == score(U, V, method="monte_carlo", samples=5000, seed=0)


@pytest.mark.parametrize("method", ["auto", *EXACT_METHODS, "monte_carlo"])
def test_the_plan_says_what_the_test_then_does(method: str) -> None:
    data, spec = Scores(column(U), column(V)), StatisticSpec("mean_difference")
    options = Options(method=method)  # type: ignore[arg-type]
    planned = plan_record(prepare(data, spec, options, Budget()))
    ran = run_test(data, spec, options, Budget())
    assert (planned.method, planned.exact, planned.reason) == (
        ran.method.name,
        ran.method.exact,
        ran.method.reason,
    )


@pytest.mark.parametrize(
    ("arguments", "pointer"),
    [
        ({"u": [], "v": []}, "/u"),
        ({"u": [1, 2], "v": [1]}, "/v"),
        ({"u": [1], "v": [2], "statistic": "median"}, "/statistic/name"),
        ({"u": [1], "v": [2], "statistic": "signed_rank", "zero_method": "drop"}, "/statistic/zero_method"),
        ({"u": [1], "v": [2], "method": "grid"}, "/method"),
        ({"u": [2**60], "v": [1]}, ""),
        ({"u": [1e301], "v": [0.5]}, ""),
        ({"u": [2**58] * 10, "v": [-(2**58)] * 10}, ""),
    ],
)
def test_what_cannot_be_tested_is_refused_with_a_pointer(arguments: dict[str, Any], pointer: str) -> None:
    with refused_alone(None, pointer):
        score(**arguments)
