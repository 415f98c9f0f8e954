"""Differences of medians and quantiles against all swaps in fractions, numpy.quantile, and samples."""

import math
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactperm.answers.test import Alternative, TestRecord
from exactperm.engine.plan import Budget
from exactperm.errors import PlanTooLarge
from exactperm.inference.options import Options
from exactperm.inference.paired import plan_record, prepare, run_test
from exactperm.statistics.paired import Pairing, Repeated, Scores, StatisticSpec, Weights
from tests.enumeration import swaps
from tests.refusals import refused, refused_alone
from tests.unit.inference.run_shorthands import check_record, clusters, column

ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")
QS = (0.5, 0.95, 0.9, 0.333333, 0.1, 0.0, 1.0)


def answered(
    u: Sequence[float],
    v: Sequence[float],
    parameters: dict[str, Any],
    *,
    codes: Sequence[int] | None = None,
    **given: Any,
) -> TestRecord:
    """A quantile_difference, or median_difference where no q is given; a value of the data, unless it says otherwise."""
    name = "quantile_difference" if "q" in parameters else "median_difference"
    parameters = {"interpolation": "inverted_cdf", **parameters}
    data = Scores(column(u), column(v), Pairing() if codes is None else clusters(codes))
    return run_test(data, StatisticSpec(name, parameters), Options(**{"pmf": "none", **given}), Budget())


def by_definition(values: Sequence[Fraction], q: Fraction, interpolation: str) -> Fraction:
    """The definitions 1 and 7 of Hyndman and Fan 1996, in fractions."""
    ordered, n = sorted(values), len(values)
    if interpolation == "inverted_cdf":
        return next(x for count, x in enumerate(ordered, 1) if Fraction(count, n) >= q)
    above = (n - 1) * q
    at = math.floor(above)
    return ordered[at] if at == above else ordered[at] + (above - at) * (ordered[at + 1] - ordered[at])


def all_swaps(
    u: Sequence[float], v: Sequence[float], q: float, interpolation: str, codes: Sequence[int] | None
) -> list[Fraction]:
    """The statistic of all swaps; the first one is as observed."""
    first, second = ([Fraction(repr(x)) for x in side] for side in (u, v))

    def value(side: list[Fraction]) -> Fraction:
        return by_definition(side, Fraction(repr(q)), interpolation)

    return [value(one) - value(other) for one, other in swaps(first, second, codes)]


def share(values: Sequence[Fraction], alternative: Alternative) -> Fraction:
    seen = values[0]
    extreme = {
        "two-sided": [abs(t) >= abs(seen) for t in values],
        "greater": [t >= seen for t in values],
        "less": [t <= seen for t in values],
    }
    return Fraction(sum(extreme[alternative]), len(values))


def drawn(chance: random.Random, n: int) -> tuple[list[float], list[float]]:
    """Scores of few or many distinct values: with ties, and with items that do not differ."""
    steps = chance.choice((1, 3, 10, 1000))
    columns = [[chance.randint(-steps, steps) / 10 for _ in range(n)] for _ in range(2)]
    return columns[0], columns[1]


@pytest.mark.parametrize("interpolation", ["inverted_cdf", "linear"])
@pytest.mark.parametrize("n", range(1, 12))
def test_p_is_that_of_all_swaps(n: int, interpolation: str) -> None:
    chance = random.Random(100 * n + len(interpolation))
    for case in range(6 if n < 10 else 2):
        q = chance.choice(QS)
        u, v = drawn(chance, n)
        codes = [chance.randint(0, max(n // 2, 1)) for _ in range(n)] if case % 2 else None
        values = all_swaps(u, v, q, interpolation, codes)
        for alternative in ALTERNATIVES:
            truth = share(values, alternative)
            record = answered(
                u,
                v,
                {"q": q, "interpolation": interpolation},
                codes=codes,
                alternative=alternative,
                exact_fraction=True,
            )
            assert record.method.exact
            check_record(record, truth)
            fraction: Any = record.p_value_fraction
            assert fraction.value == truth
            assert record.statistic.observed == float(values[0])


@pytest.mark.parametrize("method", ["dp", "rational", "enumeration"])
def test_methods_agree_with_all_swaps(method: str) -> None:
    """Each by its name; the planner would enumerate where there are few items."""
    chance = random.Random(len(method))
    for case in range(60):
        n = chance.randint(1, 9)
        u, v = drawn(chance, n)
        codes = [chance.randint(0, n // 2 + 1) for _ in range(n)] if case % 2 else None
        q, alternative = chance.choice(QS), chance.choice(ALTERNATIVES)
        record = answered(u, v, {"q": q}, codes=codes, alternative=alternative, method=method)
        assert record.method.name == method
        check_record(record, share(all_swaps(u, v, q, "inverted_cdf", codes), alternative))


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("shift", [0.0, 0.3, 2.0])
def test_doubles_are_within_their_bound_of_the_fraction(shift: float, clustered: bool) -> None:
    """Of 200 items, from p near one to the least that is attainable."""
    rng = np.random.default_rng(7)
    base = rng.normal(size=200)
    u, v = (np.round(base + rng.normal(size=200), 1) for _ in range(2))
    codes = (np.arange(200) // 4).tolist() if clustered else None
    for alternative in ALTERNATIVES:
        for q in (0.5, 0.95):
            asked: dict[str, Any] = {"codes": codes, "alternative": alternative}
            record = answered((u + shift).round(1).tolist(), v.tolist(), {"q": q}, method="dp", **asked)
            exact = answered((u + shift).round(1).tolist(), v.tolist(), {"q": q}, method="rational", **asked)
            fraction: Any = exact.p_value_fraction
            check_record(record, fraction.value, within=1e-10)


def test_deep_tails_keep_their_digits() -> None:
    """Every item of U is above all of V: p is that of the median of U at its largest, two in all swaps of enough items."""
    for n in (51, 3001):
        record = answered([float(n + i) for i in range(n)], [float(i) for i in range(n)], {}, method="dp")
        # t is largest where U has the larger value of each of the (n + 1) / 2 first items, and of the last ones too.
        exact = answered(
            [float(n + i) for i in range(n)], [float(i) for i in range(n)], {}, method="rational"
        )
        fraction: Any = exact.p_value_fraction
        assert record.log10_p_value == pytest.approx(
            math.log10(int(fraction.numerator)) - fraction.log2_denominator * math.log10(2), rel=1e-12
        )
        bound: Any = record.method.relative_error_bound
        assert bound < 1e-9


@pytest.mark.parametrize("interpolation", ["inverted_cdf", "linear"])
def test_observed_is_numpys(interpolation: Any) -> None:
    rng = np.random.default_rng(3)
    for n in (5, 8, 30, 101):
        u, v = np.round(rng.gamma(2.0, size=(2, n)), 3)
        for q in (0.5, 0.95, 0.9, 0.25):
            record = answered(u.tolist(), v.tolist(), {"q": q, "interpolation": interpolation}, samples=200)
            wanted = [float(np.quantile(side, q, method=interpolation)) for side in (u, v)]
            assert record.statistic.u == pytest.approx(wanted[0], rel=1e-13)
            assert record.statistic.v == pytest.approx(wanted[1], rel=1e-13)


def test_q_is_the_decimal_that_was_written() -> None:
    """0.95 of 20 is 19 exactly, though the double 0.95 is less; 0.07 of 100 is 7, though 100 * 0.07 is more than 7."""
    u = [float(i) for i in range(100)]
    assert answered(u, [0.0] * 100, {"q": 0.07}).statistic.u == 6.0
    assert answered(u[:20], [0.0] * 20, {"q": 0.95}).statistic.u == 18.0


def test_the_median_is_the_half_quantile_and_the_lower_of_two() -> None:
    u, v = [1.0, 2.0, 4.0, 9.0], [0.5, 0.25, 3.0, 1.0]
    median, half = answered(u, v, {}), answered(u, v, {"q": 0.5})
    assert (median.p_value, median.statistic.u) == (half.p_value, half.statistic.u) == (half.p_value, 2.0)
    assert "inverted_cdf" in median.method.reason
    assert answered(u, v, {"interpolation": "linear"}).statistic.u == 3.0


def test_the_default_is_numpy_s_middle() -> None:
    """Of data with two middle values, and by the name of every exact method."""
    chance = random.Random(5)
    for case in range(40):
        n = chance.randint(2, 9)
        u, v = drawn(chance, n)
        q = None if case % 2 else chance.choice((0.25, 0.9, 0.333333))
        parameters = {} if q is None else {"q": q}
        name = "median_difference" if q is None else "quantile_difference"
        alternative = chance.choice(ALTERNATIVES)
        truth = share(all_swaps(u, v, 0.5 if q is None else q, "linear", None), alternative)
        for method in ("auto", "dp", "rational", "enumeration"):
            options = Options(pmf="none", method=method, alternative=alternative)
            record = run_test(
                Scores(column(u), column(v)), StatisticSpec(name, parameters), options, Budget()
            )
            check_record(record, truth, within=1e-6)
            wanted = [float(np.quantile(side, 0.5 if q is None else q)) for side in (u, v)]
            assert (record.statistic.u, record.statistic.v) == pytest.approx(wanted, abs=1e-12)


@pytest.mark.parametrize("n", [128, 400])
def test_a_median_between_two_values_is_within_its_bound_of_the_fraction(n: int) -> None:
    """Of scores that follow each other closely, that do not, and of few values; beyond 128 items samples are the witness."""
    rng = np.random.default_rng(n)
    for spread, digits in ((1.0, 2), (0.05, 3), (1.0, 0)):
        base = rng.normal(size=n)
        u, v = (np.round(base + spread * rng.normal(size=n), digits).tolist() for _ in range(2))
        linear = {"interpolation": "linear"}
        record = answered(u, v, linear, method="dp")
        if n <= 128:
            fraction: Any = answered(u, v, linear, method="rational").p_value_fraction
            check_record(record, fraction.value, within=1e-6)
        low, high = answered(u, v, linear, method="monte_carlo", samples=4000).p_value_bounds
        assert low <= record.p_value <= high


@pytest.mark.slow
def test_samples_agree_at_a_thousand_items() -> None:
    rng = np.random.default_rng(11)
    base = rng.lognormal(size=1000)
    u, v = (np.round(base * rng.lognormal(sigma=0.4, size=1000), 2) for _ in range(2))
    for q, codes in ((0.5, None), (0.95, None), (0.5, (np.arange(1000) // 5).tolist())):
        exact = answered(u.tolist(), v.tolist(), {"q": q}, codes=codes)
        drawn_ = answered(u.tolist(), v.tolist(), {"q": q}, codes=codes, method="monte_carlo", samples=8000)
        assert exact.method.exact
        assert drawn_.method.monte_carlo is not None
        low, high = drawn_.p_value_bounds
        assert low <= exact.p_value <= high


def test_between_two_values_of_many_clusters_p_is_sampled_with_a_warning() -> None:
    rng = np.random.default_rng(5)
    u, v = np.round(rng.normal(size=(2, 100)), 2)
    pairs = (np.arange(100) // 2).tolist()
    record = answered(u.tolist(), v.tolist(), {"interpolation": "linear"}, samples=1000, codes=pairs)
    assert not record.method.exact
    assert "linear" in record.method.reason
    assert {"sampled", "null_sampled"} <= {warning.code for warning in record.warnings}
    # Of an odd number the median is a value itself.
    assert answered(u[:99].tolist(), v[:99].tolist(), {"interpolation": "linear"}).method.exact


def test_the_null_is_symmetric_and_its_ends_are_attained() -> None:
    rng = np.random.default_rng(2)
    for n in (6, 40):
        u, v = np.round(rng.normal(size=(2, n)), 1)
        null: Any = answered(u.tolist(), v.tolist(), {"q": 0.75}, pmf="summary").null
        masses = dict(null.pmf)
        assert null.mean == 0.0
        assert sum(masses.values()) == pytest.approx(1.0)
        assert all(masses[-value] == pytest.approx(mass) for value, mass in masses.items())
        assert -null.min == null.max
        high, low = np.maximum(u, v), np.minimum(u, v)
        ends = [np.quantile(side, 0.75, method="inverted_cdf") for side in (high, low)]
        assert null.max == pytest.approx(ends[0] - ends[1])


def test_the_least_p_is_attained_by_the_most_extreme_swap() -> None:
    chance = random.Random(9)
    for _ in range(20):
        u, v = drawn(chance, 8)
        values = all_swaps(u, v, 0.75, "inverted_cdf", None)
        record = answered(u, v, {"q": 0.75})
        most = max(values)
        least = 1 if most == 0 else Fraction(sum(abs(t) == most for t in values), len(values))
        assert record.min_attainable_p == pytest.approx(float(least), rel=1e-9)


def test_swapped_systems_have_the_mirrored_test() -> None:
    rng = np.random.default_rng(4)
    u, v = np.round(rng.normal(size=(2, 60)), 1).tolist()
    one, other = (
        answered(u, v, {"q": 0.9}, alternative="greater"),
        answered(v, u, {"q": 0.9}, alternative="less"),
    )
    assert one.p_value == other.p_value
    assert one.statistic.observed == -other.statistic.observed


def test_wins_and_units_that_differ() -> None:
    record = answered([1.0, 2.0, 3.0, 4.0], [2.0, 1.0, 3.0, 5.0], {}, codes=[0, 0, 1, 2])
    items = record.items
    # Cluster 0 has the values 1 and 2 in both: nothing differs.
    assert (items.n, items.clusters, items.nonzero, items.wins, items.ties, items.losses) == (
        4, 3, 1, 0, 2, 1,
    )  # fmt: skip


def test_repeated_samples_are_averaged_first() -> None:
    repeated = [
        Repeated(np.array(values, dtype=np.float64), np.array([2, 3], dtype=np.int64))
        for values in ([1, 2, 1, 1, 2], [0, 1, 1, 1, 1])
    ]
    record = run_test(
        Scores(repeated[0], repeated[1]),
        StatisticSpec("quantile_difference", {"q": 1.0}),
        Options(),
        Budget(),
    )
    assert record.statistic.u == 1.5
    assert record.statistic.v == 1.0


def test_numbers_beyond_64_bits_are_exact() -> None:
    u, v = [1e200, 1.0, 3e-200], [2e-200, 1e199, 0.5]
    record = answered(u, v, {})
    assert record.p_value == float(share(all_swaps(u, v, 0.5, "inverted_cdf", None), "two-sided"))


@pytest.mark.parametrize(
    ("name", "parameters", "pointer", "code"),
    [
        ("quantile_difference", {}, "/statistic/q", "missing"),
        ("quantile_difference", {"q": 1.5}, "/statistic/q", "out_of_range"),
        ("quantile_difference", {"q": float("nan")}, "/statistic/q", "out_of_range"),
        ("quantile_difference", {"q": True}, "/statistic/q", "out_of_range"),
        ("median_difference", {"q": 0.5}, "/statistic/q", "unknown_parameter"),
        (
            "median_difference",
            {"interpolation": "hazen"},
            "/statistic/interpolation",
            "unknown_interpolation",
        ),
    ],
)
def test_invalid_quantiles_are_refused(
    name: str, parameters: dict[str, Any], pointer: str, code: str
) -> None:
    data = Scores(column([1, 2]), column([2, 1]))
    with refused_alone(code, pointer):
        run_test(data, StatisticSpec(name, parameters), Options(), Budget())


def test_weights_and_the_bootstrap_are_refused() -> None:
    data = Scores(column([1, 2]), column([2, 1]))
    spec = StatisticSpec("median_difference")
    with refused("not_bootstrapped", "/test"):
        run_test(data, spec, Options(test="bootstrap"), Budget())
    weights = Weights(Fraction(1), np.array([1, 2], dtype=np.int64))
    with refused(None, "/weights"):
        run_test(Scores(column([1, 2]), column([2, 1]), weights=weights), spec, Options(), Budget())


def test_an_interval_is_not_available_and_says_so() -> None:
    record = answered([1.0, 2.0, 5.0], [0.0, 3.0, 1.0], {}, confidence_level=0.95)
    assert record.confidence_interval is None
    assert "interval_not_available" in [warning.code for warning in record.warnings]
    assert record.effect_size is not None


def test_plans_and_budgets() -> None:
    rng = np.random.default_rng(6)
    u, v = rng.normal(size=(2, 400)).round(2)
    data = Scores(u, v, clusters((np.arange(400) // 20).tolist()))
    spec = StatisticSpec("median_difference", {"interpolation": "inverted_cdf"})
    plan = plan_record(prepare(data, spec, Options(), Budget(), only_planned=True))
    assert plan.exact
    assert {"dp", "rational", "enumeration", "monte_carlo"} == {
        plan.method, *(other.method for other in plan.alternatives)
    }  # fmt: skip
    with pytest.raises(PlanTooLarge):
        prepare(data, spec, Options(), Budget(operations=1000))
    with refused("method_not_applicable"):
        prepare(data, spec, Options(method="fft"), Budget())
    many = Scores(u, v)
    with pytest.raises(PlanTooLarge):
        prepare(many, spec, Options(method="enumeration"), Budget())
    with pytest.raises(PlanTooLarge):
        prepare(
            many,
            StatisticSpec("median_difference", {"interpolation": "linear"}),
            Options(exact_fraction=True),
            Budget(),
        )
