"""Test published answers, answers of other programs, and invariances."""

import functools
import itertools
import math
import operator
import random
from collections.abc import Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats as scipy_stats

from exactperm.answers.test import Method, TestRecord
from exactperm.engine.one_sum.methods import EXACT_METHODS
from exactperm.engine.plan import Budget
from exactperm.engine.probability import Alternative
from exactperm.inference.options import Options
from exactperm.inference.paired import plan_record, prepare, run_test
from exactperm.statistics.paired import Scores, StatisticSpec
from tests.refusals import refused_alone
from tests.unit.engine.cases import ALTERNATIVES, cases
from tests.unit.engine.exact_null import Case, exact_p

from .run_shorthands import check_record, column, effects, same_answer, score

# Answers that are known without a computer, and those of brute force, through the one entry.


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
    fraction: Any = record.p_value_fraction
    assert fraction.value == Fraction(1, 16)
    assert record.log10_p_value == pytest.approx(math.log10(1 / 16), rel=1e-14)
    assert record.p_value_bounds[0] <= 0.0625 <= record.p_value_bounds[1]
    assert record.min_attainable_p == 0.0625
    assert not record.significant
    assert [warning.code for warning in record.warnings] == ["alpha_unattainable"]
    observed, u, v = record.statistic.observed, record.statistic.u, record.statistic.v
    assert (observed, u, v) == (0.046, 0.866, 0.82)
    items = record.items
    assert (items.n, items.nonzero, items.wins, items.ties, items.losses) == (5, 5, 5, 0, 0)
    null: Any = record.null
    assert (null.mean, null.min, null.max) == (0.0, -0.046, 0.046)
    assert null.sd == pytest.approx(
        math.sqrt(sum((a - b) ** 2 for a, b in zip(U, V, strict=True))) / 5, rel=1e-12
    )
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
def test_underflow_is_given_by_its_logarithm_and_never_as_0(n: int) -> None:
    record = score([1] * n, [0] * n, alternative="greater")
    assert record.p_value == max(math.ldexp(1.0, -n), math.ulp(0.0))
    assert record.log10_p_value == pytest.approx(-n * math.log10(2), rel=1e-15)
    check_record(record, Fraction(1, 2**n))


def test_monte_carlo_is_reported_as_sampled() -> None:
    record = score(U, V, method="monte_carlo", samples=5000, seed=0)
    sampled: Any = record.method.monte_carlo
    assert (sampled.samples, sampled.seed) == (5000, 0)
    assert record.p_value == (sampled.exceedances + 1) / 5001
    assert record.log10_p_value == pytest.approx(math.log10(record.p_value), rel=1e-15)
    assert (record.method.exact, record.method.relative_error_bound) == (False, None)
    assert record.p_value_bounds_kind == "confidence"
    assert record.p_value_bounds[0] <= 0.0625 <= record.p_value_bounds[1]
    assert record == score(U, V, method="monte_carlo", samples=5000, seed=0)


@pytest.mark.parametrize("method", ["auto", *EXACT_METHODS, "monte_carlo"])
def test_the_plan_predicts_the_method_of_the_test(method: Method) -> None:
    data, spec = Scores(column(U), column(V)), StatisticSpec("mean_difference")
    options = Options(method=method)
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
def test_untestable_data_are_refused_with_a_pointer(arguments: dict[str, Any], pointer: str) -> None:
    with refused_alone(None, pointer):
        score(**arguments)


# SciPy's own tests, where SciPy is right: enumeration for small n, Wilcoxon without ties, the binomial.


stats: Any = scipy_stats  # its stubs know neither method="asymptotic" nor infinitely many resamples
ZERO_METHODS = ("wilcox", "pratt", "zsplit")
sides = st.sampled_from(ALTERNATIVES)


@settings(max_examples=60)
@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), min_size=2, max_size=8), sides)
def test_enumeration_by_permutation_test_gives_our_p_value(
    rows: list[tuple[int, int]], alternative: Alternative
) -> None:
    u, v = [row[0] for row in rows], [row[1] for row in rows]

    def difference(x: Any, y: Any, axis: int = -1) -> Any:
        return (x - y).sum(axis=axis)

    theirs = stats.permutation_test(
        (np.array(u), np.array(v)),
        difference,
        permutation_type="samples",
        n_resamples=math.inf,
        vectorized=True,
        alternative=alternative,
    )
    ours = score(u, v, "sum_difference", alternative=alternative)
    assert ours.p_value == pytest.approx(float(theirs.pvalue), rel=1e-13)
    assert ours.statistic.observed == theirs.statistic


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("n", [1, 2, 5, 12, 25, 50])
def test_wilcoxon_without_ties_or_zeros_is_the_signed_rank_test(n: int, alternative: Alternative) -> None:
    rng = random.Random(f"wilcoxon {n}")
    for _ in range(8):
        ranks = rng.sample(range(1, 10 * n + 1), n)
        favoured = rng.choice([0.5, 0.7, 0.9])
        d = [r if rng.random() < favoured else -r for r in ranks]
        theirs = stats.wilcoxon(d, method="exact", alternative=alternative)
        ours: Any = score(
            [max(x, 0) for x in d], [max(-x, 0) for x in d], "signed_rank", alternative=alternative
        )
        assert ours.p_value == pytest.approx(float(theirs.pvalue), rel=1e-11)
        wanted = min(ours.statistic.u, ours.statistic.v) if alternative == "two-sided" else ours.statistic.u
        assert wanted == theirs.statistic


@pytest.mark.parametrize("zero_method", ZERO_METHODS)
@settings(max_examples=60)
@given(d=st.lists(st.integers(-4, 4), min_size=1, max_size=30).filter(any))
def test_the_rank_sums_with_ties_and_zeros_are_wilcoxons(zero_method: str, d: list[int]) -> None:
    pytest.importorskip("scipy", minversion="1.15")
    theirs = stats.wilcoxon(d, zero_method=zero_method, method="asymptotic", alternative="greater")
    ours = ranked(d, zero_method, "greater")
    assert ours.statistic.u == theirs.statistic
    mirrored = ranked([-x for x in d], zero_method, "greater")
    assert ours.statistic.v == mirrored.statistic.u


@pytest.mark.slow
@pytest.mark.parametrize("zero_method", ZERO_METHODS)
@settings(max_examples=25)
@given(d=st.lists(st.integers(-4, 4), min_size=2, max_size=9).filter(any), alternative=sides)
def test_with_ties_and_zeros_flipping_every_sign_of_wilcoxons_statistic_gives_our_p_value(
    zero_method: str, d: list[int], alternative: Alternative
) -> None:
    """The exact null of SciPy's own rank sum, by giving the differences every pattern of signs."""
    ours = ranked(d, zero_method, alternative)
    magnitudes = np.abs(d)
    patterns = np.array(np.meshgrid(*[[-1, 1]] * len(d))).reshape(len(d), -1).T
    sums = np.array([rank_sum(pattern * magnitudes, zero_method) for pattern in patterns])
    centre, observed = (sums.max() + sums.min()) / 2.0, rank_sum(np.array(d), zero_method)
    inside = {
        "two-sided": np.abs(sums - centre) >= abs(observed - centre),
        "greater": sums >= observed,
        "less": sums <= observed,
    }[alternative]
    assert ours.p_value == pytest.approx(float(inside.mean()), rel=1e-13)


def ranked(d: Sequence[int], zero_method: str, alternative: Alternative) -> TestRecord:
    u, v = [max(x, 0) for x in d], [max(-x, 0) for x in d]
    return score(u, v, "signed_rank", zero_method=zero_method, alternative=alternative)


def rank_sum(d: Any, zero_method: str) -> float:
    pytest.importorskip("scipy", minversion="1.15")
    found = stats.wilcoxon(d, zero_method=zero_method, method="asymptotic", alternative="greater")
    return float(found.statistic)


@pytest.mark.parametrize("alternative", ALTERNATIVES)
@settings(max_examples=60)
@given(wins=st.integers(0, 300), losses=st.integers(0, 300), ties=st.integers(0, 20))
def test_the_sign_test_and_mcnemars_exact_test_are_the_binomial_test(
    alternative: Alternative, wins: int, losses: int, ties: int
) -> None:
    if wins + losses + ties == 0:
        return
    u = [1] * wins + [0] * losses + [1] * ties
    v = [0] * wins + [1] * losses + [1] * ties
    wanted = 1.0
    if wins + losses:
        wanted = float(stats.binomtest(wins, wins + losses, alternative=alternative).pvalue)
    for statistic in ("sign", "mean_difference"):
        record = score(u, v, statistic, alternative=alternative)
        assert record.p_value == pytest.approx(wanted, rel=1e-11)
        assert (record.items.wins, record.items.ties, record.items.losses) == (wins, ties, losses)


def test_the_sign_test_does_not_look_at_sizes() -> None:
    u, v = [1000, 3, 5, 2, 9, 1], [0, 4, 4, 1, 8, 0]
    assert score(u, v, "sign").p_value == stats.binomtest(5, 6).pvalue
    assert score(u, v, "sum_difference").p_value != score(u, v, "sign").p_value


# What must not matter does not, bit for bit: which system is called U, constants, scales, the order.


MIRRORED = {"two-sided": "two-sided", "greater": "less", "less": "greater"}
METHODS = ("auto", "fft", "dp", "rational")
STATISTICS = ("mean_difference", "sum_difference", "sign", "signed_rank")

# From close to a half to far in the tail, and long enough that windows are windows.
rows = st.one_of(
    st.lists(st.tuples(st.integers(0, 100), st.integers(0, 100)), min_size=1, max_size=40),
    st.lists(st.tuples(st.integers(0, 5), st.integers(3, 9)), min_size=1, max_size=80),
    st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60).map(
        lambda pairs: [(int(a), int(b)) for a, b in pairs]
    ),
)
Rows = list[tuple[int, int]]
asked = st.sampled_from(ALTERNATIVES)


def columns(pairs: Rows) -> tuple[list[int], list[int]]:
    return [pair[0] for pair in pairs], [pair[1] for pair in pairs]


@pytest.mark.slow
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=25)
@given(pairs=rows)
def test_exchanging_u_and_v_keeps_the_two_sided_p_and_mirrors_the_one_sided(
    statistic: str, method: str, pairs: Rows
) -> None:
    u, v = columns(pairs)
    for alternative, mirrored in MIRRORED.items():
        one = score(u, v, statistic, alternative=alternative, method=method)
        other = score(v, u, statistic, alternative=mirrored, method=method)
        assert same_answer(one, other)
        assert one.statistic.observed == -other.statistic.observed
        assert (one.items.wins, one.items.losses) == (other.items.losses, other.items.wins)


@pytest.mark.parametrize("method", METHODS)
@settings(max_examples=50)
@given(pairs=rows, alternative=asked)
def test_effects_with_stay_and_swap_exchanged_are_mirrored_too(
    method: str, pairs: Rows, alternative: str
) -> None:
    """-S under exchanged systems: stay becomes -stay and swap -swap."""
    stay, swap = columns(pairs)
    one = effects(stay, swap, alternative=alternative, method=method)
    other = effects([-x for x in stay], [-x for x in swap], alternative=MIRRORED[alternative], method=method)
    assert same_answer(one, other)


@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=40)
@given(pairs=rows, constant=st.integers(-(10**6), 10**6), alternative=asked)
def test_a_constant_added_to_both_changes_nothing(
    statistic: str, pairs: Rows, constant: int, alternative: str
) -> None:
    u, v = columns(pairs)
    moved_u, moved_v = [x + constant for x in u], [x + constant for x in v]
    plain = score(u, v, statistic, alternative=alternative)
    assert same_answer(plain, score(moved_u, moved_v, statistic, alternative=alternative))


@settings(max_examples=80)
@given(pairs=rows, constant=st.integers(-(10**6), 10**6), places=st.integers(1, 4), alternative=asked)
def test_a_decimal_constant_added_to_decimals_changes_nothing(
    pairs: Rows, constant: int, places: int, alternative: str
) -> None:
    """The constant has more decimals than the scores: the lattice is finer, the test the same."""
    plain = score(*decimals(pairs, 2), alternative=alternative)
    shift = Decimal(constant).scaleb(-places)
    u, v = ([float(Decimal(x).scaleb(-2) + shift) for x in side] for side in columns(pairs))
    assert same_answer(plain, score(u, v, alternative=alternative))


def decimals(pairs: Rows, places: int) -> tuple[list[float], list[float]]:
    u, v = columns(pairs)
    return [float(f"{x}e{-places}") for x in u], [float(f"{x}e{-places}") for x in v]


@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=40)
@given(pairs=rows, places=st.integers(-6, 12), alternative=asked)
def test_powers_of_ten_change_nothing(statistic: str, pairs: Rows, places: int, alternative: str) -> None:
    plain = score(*columns(pairs), statistic, alternative=alternative)
    assert same_answer(plain, score(*decimals(pairs, places), statistic, alternative=alternative))


@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=40)
@given(pairs=rows, power=st.integers(-40, 40), alternative=asked)
def test_powers_of_two_change_nothing(statistic: str, pairs: Rows, power: int, alternative: str) -> None:
    u, v = columns(pairs)
    scaled_u, scaled_v = [x * 2.0**power for x in u], [x * 2.0**power for x in v]
    plain = score(u, v, statistic, alternative=alternative)
    assert same_answer(plain, score(scaled_u, scaled_v, statistic, alternative=alternative))


@settings(max_examples=60)
@given(pairs=rows, factor=st.integers(2, 10**6), alternative=asked)
def test_any_whole_factor_changes_nothing(pairs: Rows, factor: int, alternative: str) -> None:
    u, v = columns(pairs)
    plain = score(u, v, alternative=alternative)
    assert same_answer(
        plain, score([x * factor for x in u], [x * factor for x in v], alternative=alternative)
    )


@pytest.mark.parametrize("method", [*METHODS, "monte_carlo"])
@pytest.mark.parametrize("statistic", STATISTICS)
@settings(max_examples=20)
@given(pairs=rows, seed=st.integers(0, 10**6), alternative=asked)
def test_the_order_of_the_items_changes_nothing(
    method: str, statistic: str, pairs: Rows, seed: int, alternative: str
) -> None:
    shuffled = list(pairs)
    random.Random(seed).shuffle(shuffled)
    options: dict[str, Any] = {"alternative": alternative, "method": method, "samples": 500}
    one = score(*columns(pairs), statistic, **options)
    other = score(*columns(shuffled), statistic, **options)
    assert same_answer(one, other)
    assert one.statistic == other.statistic


@settings(max_examples=60)
@given(pairs=rows, extra=st.integers(1, 30), alternative=asked)
def test_items_on_which_the_systems_agree_do_not_change_a_sum(
    pairs: Rows, extra: int, alternative: str
) -> None:
    u, v = columns(pairs)
    for statistic in ("sum_difference", "sign", "signed_rank"):
        plain = score(u, v, statistic, alternative=alternative)
        assert same_answer(plain, score(u + [7] * extra, v + [7] * extra, statistic, alternative=alternative))


@settings(max_examples=60)
@given(pairs=rows, alternative=asked)
def test_the_mean_and_the_sum_are_one_test(pairs: Rows, alternative: str) -> None:
    u, v = columns(pairs)
    mean, total = (score(u, v, name, alternative=alternative) for name in STATISTICS[:2])
    assert same_answer(mean, total)


@settings(max_examples=60)
@given(pairs=rows, alternative=asked)
def test_integers_and_equal_floats_are_one_request(pairs: Rows, alternative: str) -> None:
    u, v = columns(pairs)

    def ask(a: list[int] | list[float], b: list[int] | list[float]) -> TestRecord:
        return score(a, b, alternative=alternative, pmf="summary")

    assert ask(u, v) == ask([float(x) for x in u], [float(x) for x in v])


# Decimals tie as they are written: 0.1 + 0.2 is 0.3, whatever the doubles say.


# Differences in tenths; in doubles some reassigned sums that tie with the observed one fall short of it.
BROKEN_IN_FLOATS = [
    [8, 4, -8], [5, -7, 3, 2], [1, 3, -1, -1], [-6, 2, 3, 1, 4], [8, -6, 6, 4, -7], [3, 5, -5, -8, 5, 2],
]  # fmt: skip


def added(values: list[float]) -> float:
    """One addition after the other; from Python 3.12 on, sum() compensates its rounding."""
    return functools.reduce(operator.add, values)


def float_p(tenths: list[int], *, one_sided: bool) -> Fraction:
    """The result of adding doubles one by one and comparing with >=."""
    values = [t / 10 for t in tenths]
    observed = added(values)
    inside = 0
    for signs in itertools.product((1, -1), repeat=len(values)):
        total = added([s * x for s, x in zip(signs, values, strict=True)])
        inside += total >= observed if one_sided else abs(total) >= abs(observed)
    return Fraction(inside, 2 ** len(values))


@pytest.mark.parametrize("tenths", BROKEN_IN_FLOATS, ids=str)
@pytest.mark.parametrize("alternative", ALTERNATIVES)
@pytest.mark.parametrize("method", ["auto", "fft", "dp", "rational"])
def test_sums_that_tie_on_paper_tie(tenths: list[int], alternative: Alternative, method: str) -> None:
    u = [max(t, 0) / 10 for t in tenths]
    v = [max(-t, 0) / 10 for t in tenths]
    truth = exact_p(Case(tuple(tenths), None, alternative))
    check_record(score(u, v, alternative=alternative, method=method), truth)
    check_record(effects([t / 10 for t in tenths], alternative=alternative, method=method), truth)


@pytest.mark.parametrize("tenths", BROKEN_IN_FLOATS, ids=str)
def test_summing_doubles_would_have_missed_those_ties(tenths: list[int]) -> None:
    assert float_p(tenths, one_sided=True) != exact_p(Case(tuple(tenths), None, "greater"))
    assert float_p(tenths, one_sided=False) != exact_p(Case(tuple(tenths)))


def test_0_1_plus_0_2_ties_with_0_3() -> None:
    """Observed 0.3 - 0.1 - 0.2 is zero, so all but three of the eight sums reach it."""
    record = score([0.3, 0.0, 0.0], [0.0, 0.1, 0.2], alternative="greater", exact_fraction=True)
    assert record.p_value == 5 / 8
    assert record.statistic.observed == 0.0


@pytest.mark.slow
@settings(max_examples=150)
@given(
    places=st.integers(1, 6),
    rows=st.lists(st.tuples(st.integers(-40, 40), st.integers(-40, 40)), min_size=1, max_size=12),
    alternative=st.sampled_from(ALTERNATIVES),
)
def test_decimals_of_any_length_get_the_p_value_of_their_integers(
    places: int, rows: list[tuple[int, int]], alternative: Alternative
) -> None:
    u, v = ([float(f"{row[side]}e-{places}") for row in rows] for side in (0, 1))
    truth = exact_p(Case(tuple(a - b for a, b in rows), None, alternative))
    check_record(score(u, v, alternative=alternative), truth)


def test_real_valued_scores_get_the_p_value_of_the_doubles_as_they_are() -> None:
    """No decimal holds thirds; the doubles are integers over a power of two, and are taken at that."""
    u, v = [1 / 3, 2 / 3, 5 / 7, 1 / 9, 2 / 11], [1 / 7, 1 / 5, 3 / 4, 1 / 13, 1 / 17]
    d = [Fraction(a) - Fraction(b) for a, b in zip(u, v, strict=True)]
    observed = abs(sum(d, Fraction(0)))
    inside = sum(
        abs(sum((s * x for s, x in zip(signs, d, strict=True)), Fraction(0))) >= observed
        for signs in itertools.product((1, -1), repeat=5)
    )
    assert score(u, v).p_value == inside / 32
