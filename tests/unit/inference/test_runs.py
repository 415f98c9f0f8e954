"""Tests that exchange runs, against every way to deal them, and against SciPy and R."""

import itertools
import json
import math
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exactperm.answers.gate import GateTerms
from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest
from exactperm.inference.gate import Metric, finish_gate, prepare_metric
from exactperm.inference.options import Options
from exactperm.inference.paired import planned_test, run_test
from exactperm.statistics.effects import weights_of
from exactperm.statistics.paired import Pairing, Repeated, Scores, StatisticSpec

TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
CASES = 2_100 * TIMES
Rows = list[list[Any]]


def column(rows: Rows) -> Repeated:
    return Repeated(np.array([run for row in rows for run in row]), np.array([len(row) for row in rows]))


def record(u: Rows, v: Rows, spec: dict[str, Any] | None = None, **options: Any) -> TestRecord:
    data = options.pop("data", None) or Scores(column(u), column(v))
    parameters = dict(spec or {})
    name = parameters.pop("name", "mean_difference")
    chosen = Options(**{"exchange": "runs", "pmf": "none", **options})
    return run_test(data, StatisticSpec(name, parameters), chosen, Budget())


def passing(row: list[Any], rule: str, k: int | None) -> Fraction:
    n, c = len(row), sum(map(bool, row))
    k = k or n
    if rule == "all":
        return Fraction(math.comb(c, k), math.comb(n, k))
    return 1 - Fraction(math.comb(n - c, k), math.comb(n, k))


def statistic(u: Rows, v: Rows, spec: dict[str, Any], weights: list[int]) -> Fraction:
    name, rule = spec.get("name", "mean_difference"), spec.get("repeats", "mean")
    if spec.get("average") == "runs":
        sums = [sum((Fraction(str(run)) for row in rows for run in row), Fraction(0)) for rows in (u, v)]
        counts = [sum(map(len, rows)) if name == "mean_difference" else 1 for rows in (u, v)]
        return sums[0] / counts[0] - sums[1] / counts[1]

    def value(row: list[Any]) -> Fraction:
        if rule != "mean":
            return passing(row, rule, spec.get("k"))
        return sum((Fraction(str(run)) for run in row), Fraction(0)) / len(row)

    total = sum((w * (value(a) - value(b)) for a, b, w in zip(u, v, weights, strict=True)), Fraction(0))
    return total / sum(weights) if name == "mean_difference" else total


def dealt(u: Rows, v: Rows, codes: list[int]) -> Any:
    """Every way to deal the runs, those of a cluster together, each as the runs of U and of V."""
    ways = []
    for code in dict.fromkeys(codes):
        items = [at for at, other in enumerate(codes) if other == code]
        n, m = len(u[items[0]]), len(v[items[0]])
        of_cluster = []
        for chosen in itertools.combinations(range(n + m), n):
            rest = [at for at in range(n + m) if at not in chosen]
            runs = {item: u[item] + v[item] for item in items}
            of_cluster.append(
                {item: ([own[at] for at in chosen], [own[at] for at in rest]) for item, own in runs.items()}
            )
        ways.append(of_cluster)
    for pick in itertools.product(*ways):
        every = {item: pair for part in pick for item, pair in part.items()}
        yield [every[item][0] for item in range(len(u))], [every[item][1] for item in range(len(u))]


def enumerated(
    u: Rows, v: Rows, spec: dict[str, Any], weights: list[int], codes: list[int]
) -> tuple[Fraction, list[Fraction]]:
    values = [statistic(one, other, spec, weights) for one, other in dealt(u, v, codes)]
    return statistic(u, v, spec, weights), values


def p_values(seen: Fraction, values: list[Fraction], alternative: str) -> tuple[Fraction, Fraction]:
    """The p-value and the mid-p-value."""
    mean = sum(values, Fraction(0)) / len(values)
    if alternative == "two-sided":
        distances, seen = [abs(value - mean) for value in values], abs(seen - mean)
    else:
        sign = 1 if alternative == "greater" else -1
        distances, seen = [sign * value for value in values], sign * seen
    more, ties = sum(d >= seen for d in distances), sum(d == seen for d in distances)
    return Fraction(more, len(values)), Fraction(2 * more - ties, 2 * len(values))


def case(draw: random.Random) -> tuple[Rows, Rows, dict[str, Any], list[int], list[int]]:
    items = draw.randint(1, 3)
    kind = draw.choice(["binary", "binary", "whole", "decimal"])
    made: dict[str, Callable[[], float]] = {
        "binary": lambda: draw.randint(0, 1),
        "whole": lambda: draw.randint(-3, 6),
        "decimal": lambda: round(draw.random(), 2),
    }
    make = made[kind]
    spec: dict[str, Any] = {"name": draw.choice(["mean_difference", "sum_difference"])}
    codes = list(range(items))
    sizes = [(draw.randint(1, 3), draw.randint(1, 3)) for _ in codes]
    weights = [1] * items
    if kind == "binary" and draw.random() < 0.4:
        spec["repeats"] = draw.choice(["all", "any"])
        sizes = [(n, n) for n, _ in sizes]
    elif draw.random() < 0.4:
        spec["average"] = "runs"
    elif draw.random() < 0.3:
        weights = [draw.randint(1, 4) for _ in codes]
    if "repeats" not in spec and draw.random() < 0.3:
        codes = [0, *codes[: items - 1]]
        sizes = [sizes[code] for code in codes]
    rows = [[[make() for _ in range(pair[side])] for pair in sizes] for side in (0, 1)]
    return rows[0], rows[1], spec, weights, codes


def test_every_p_value_is_that_of_all_ways_to_deal_the_runs() -> None:
    draw, cases = random.Random(7), 0
    while cases < CASES:
        u, v, spec, weights, codes = case(draw)
        if math.prod(math.comb(len(a) + len(b), len(a)) for a, b in zip(u, v, strict=True)) > 400:
            continue
        seen, values = enumerated(u, v, spec, weights, codes)
        clustered = len(set(codes)) < len(codes)
        pairing = Pairing(np.array(codes), len(set(codes))) if clustered else Pairing()
        given = None if weights == [1] * len(u) else weights_of(weights)
        data = Scores(column(u), column(v), pairing, given)
        for alternative in ("two-sided", "greater", "less"):
            p, mid = p_values(seen, values, alternative)
            method = draw.choice(["auto", "rational", "fft"])
            found = record(u, v, spec, data=data, alternative=alternative, method=method, exact_fraction=True)
            assert found.p_value_fraction is not None
            assert found.p_value_fraction.value == p, (u, v, spec, weights, codes, alternative)
            assert found.p_value == pytest.approx(float(p), rel=1e-12)
            assert found.p_value_bounds[0] <= p <= found.p_value_bounds[1]
            assert found.mid_p_value == pytest.approx(float(mid), rel=1e-12)
            assert found.statistic.observed == pytest.approx(float(seen), abs=1e-12)
            assert found.null.mean == pytest.approx(float(sum(values, Fraction(0)) / len(values)), abs=1e-12)
            assert found.null.max == pytest.approx(float(max(values)), abs=1e-12)
            cases += 1


def test_the_least_p_value_is_that_of_the_most_extreme_ways() -> None:
    draw = random.Random(8)
    for _ in range(60 * TIMES):
        u, v, spec, weights, codes = case(draw)
        ways = math.prod(math.comb(len(a) + len(b), len(a)) for a, b in zip(u, v, strict=True))
        if set(weights) != {1} or len(set(codes)) < len(codes) or ways > 120:
            continue
        _, values = enumerated(u, v, spec, weights, codes)
        for alternative in ("two-sided", "greater", "less"):
            least = min(p_values(value, values, alternative)[0] for value in set(values))
            found = record(u, v, spec, alternative=alternative).min_attainable_p
            assert found == pytest.approx(float(least), rel=1e-12)


def test_the_worked_example() -> None:
    u: Rows = [[1]] * 4
    v: Rows = [[1, 0, 0], [1, 1, 0], [0, 0, 0], [1, 1, 1]]
    found = record(u, v, alternative="greater")
    assert found.p_value == 3 / 32
    assert (found.exchange, found.generalises_to) == ("runs", "new runs of these items")
    # An item whose runs are all equal changes no p.
    assert record(u[:3], v[:3], alternative="greater").p_value == 3 / 32


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_one_run_each_is_the_paired_test(alternative: Any) -> None:
    draw = random.Random(9)
    for _ in range(30):
        u, v = ([[draw.choice([0, 1, 2, 2.5])] for _ in range(9)] for _ in "uv")
        first, second = (np.array([row[0] for row in rows]) for rows in (u, v))
        singles = Scores(first, second)
        paired = record([], [], data=singles, exchange="items", alternative=alternative)
        runs = record([], [], data=singles, alternative=alternative)
        assert runs.p_value == pytest.approx(paired.p_value, rel=1e-13)
        assert runs.p_value_fraction == paired.p_value_fraction
        assert (paired.exchange, runs.exchange) == (None, "runs")


def test_swapping_the_systems_mirrors_greater_and_less_to_the_last_bit() -> None:
    draw = np.random.default_rng(3)
    sizes: list[tuple[int, int]] = [(3, 5), (1, 4), (4, 4)]
    for sides in sizes:
        u, v = ([draw.integers(0, 6, n).tolist() for _ in range(60)] for n in sides)
        one, other = record(u, v, alternative="greater"), record(v, u, alternative="less")
        assert (one.p_value, one.p_value_bounds, one.mid_p_value) == (
            other.p_value,
            other.p_value_bounds,
            other.mid_p_value,
        )
        assert record(u, v).p_value == record(v, u).p_value
        assert one.id != record(u, v, alternative="greater", exchange="items" if sides[0] == sides[1] else "runs",
                                seed=1).id  # fmt: skip


def strata(seed: int, most: int = 6) -> tuple[Rows, Rows]:
    draw = np.random.default_rng(seed)
    rates = draw.random(12)
    u, v = (
        [(draw.random(draw.integers(1, most)) < min(rate + more, 1)).astype(int).tolist() for rate in rates]
        for more in (0.2, 0.0)
    )
    return u, v


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_right_or_wrong_runs_are_mantel_and_haenszels_strata(seed: int, alternative: Any) -> None:
    """The number of U's right runs is a sum of hypergeometric numbers, and so convolved by SciPy."""
    u, v = strata(seed)
    masses, low, seen = np.ones(1), 0, sum(map(sum, u))
    for a, b in zip(u, v, strict=True):
        law = stats.hypergeom(len(a) + len(b), sum(a) + sum(b), len(a))
        first, last = (int(end) for end in law.support())
        masses, low = np.convolve(masses, law.pmf(np.arange(first, last + 1))), low + first
    expected = masses[seen - low :].sum() if alternative == "greater" else masses[: seen - low + 1].sum()
    found = record(u, v, {"average": "runs"}, alternative=alternative)
    assert found.p_value == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_a_single_item_is_fishers_test(alternative: Any) -> None:
    draw = np.random.default_rng(5)
    for _ in range(40):
        a, b = ((draw.random(draw.integers(1, 30)) < share).astype(int) for share in (0.6, 0.4))
        table = np.array([[a.sum(), len(a) - a.sum()], [b.sum(), len(b) - b.sum()]])
        found = record([a.tolist()], [b.tolist()], alternative=alternative)
        assert found.p_value == pytest.approx(stats.fisher_exact(table, alternative).pvalue, rel=1e-9)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_a_single_item_of_scores_is_the_two_sample_permutation_test(alternative: Any) -> None:
    draw = np.random.default_rng(6)
    a, b = draw.integers(0, 20, 6), draw.integers(3, 23, 5)
    expected = stats.permutation_test(
        (a, b), lambda x, y, axis: x.mean(axis) - y.mean(axis), alternative=alternative, vectorized=True
    )
    found = record([a.tolist()], [b.tolist()], alternative=alternative)
    if alternative == "two-sided":  # SciPy doubles the smaller tail
        sides = [record([a.tolist()], [b.tolist()], alternative=side).p_value for side in ("greater", "less")]
        assert expected.pvalue == pytest.approx(min(1.0, 2 * min(sides)), rel=1e-9)
    else:
        assert found.p_value == pytest.approx(expected.pvalue, rel=1e-9)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R")
@pytest.mark.parametrize("alternative", ["greater", "less"])
def test_r_agrees(alternative: Any) -> None:
    """`mantelhaen.test(exact=TRUE)` of R."""
    for seed in range(3):
        u, v = strata(seed)
        tables = [(sum(a), sum(b), len(a) - sum(a), len(b) - sum(b)) for a, b in zip(u, v, strict=True)]
        numbers = ",".join(str(number) for table in tables for number in table)
        code = (
            f"x <- array(c({numbers}), dim=c(2,2,{len(tables)})); keep <- apply(x, 3, sum) > 1;"
            f"cat(format(mantelhaen.test(x[,,keep], exact=TRUE, alternative='{alternative}')$p.value, digits=15))"
        )
        out = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout
        found = record(u, v, {"average": "runs"}, alternative=alternative)
        assert found.p_value == pytest.approx(float(out), rel=1e-8)


@pytest.mark.parametrize("items", [100, 400])
def test_deep_tails_are_certified(items: int) -> None:
    """Down to 1e-300 and below, by the transform against integers."""
    u: Rows = [[1] * 6 + [0]] * items
    v: Rows = [[0] * 6 + [1]] * items
    for alternative in ("greater", "two-sided"):
        found = record(u, v, alternative=alternative, method="fft")
        exact = record(u, v, alternative=alternative, method="rational", exact_fraction=True)
        assert exact.p_value_fraction is not None
        value = exact.p_value_fraction.value
        log10 = math.log10(value.numerator) - math.log10(value.denominator)
        assert found.log10_p_value == pytest.approx(log10, rel=1e-13)
        assert log10 < (-300 if items == 400 else -70)
        assert found.method.exact
        assert found.method.relative_error_bound is not None
        assert found.method.relative_error_bound < 1e-9


def test_samples_agree_and_repeat() -> None:
    draw = np.random.default_rng(11)
    u, v = ([draw.integers(0, 8, n).tolist() for _ in range(40)] for n in (4, 3))
    exact, sampled = record(u, v), record(u, v, method="monte_carlo", samples=40_000)
    low, high = sampled.p_value_bounds
    assert low <= exact.p_value <= high
    assert sampled == record(u, v, method="monte_carlo", samples=40_000)
    assert sampled.method.monte_carlo is not None


def test_both_is_the_larger_of_the_two() -> None:
    draw = np.random.default_rng(12)
    for seed in range(12):
        u, v = ([draw.integers(0, 3 + seed % 2, 3).tolist() for _ in range(7)] for _ in "uv")
        for alternative in ("two-sided", "greater", "less"):
            both = record(u, v, exchange="both", alternative=alternative)
            parts = [record(u, v, exchange=one, alternative=alternative) for one in ("items", "runs")]
            assert both.p_value == max(part.p_value for part in parts)
            assert both.exchanges is not None
            assert [both.exchanges.items.p_value, both.exchanges.runs.p_value] == [
                part.p_value for part in parts
            ]
            assert both.mid_p_value == max(part.mid_p_value or 0.0 for part in parts)
            assert both.generalises_to == "new runs and new items"
            assert both.method.exact


def test_both_with_samples_of_one() -> None:
    u, v = [[1, 0, 1, 1]] * 9, [[0, 0, 1, 0]] * 9
    both = record(u, v, exchange="both", method="monte_carlo", samples=2_000)
    assert both.p_value_bounds_kind == "confidence"
    assert not both.method.exact


def test_a_margin_is_taken_off_every_run() -> None:
    draw = random.Random(14)
    for _ in range(40):
        sizes = [(draw.randint(1, 3), draw.randint(1, 3)) for _ in range(2)]
        u, v = ([[draw.randint(0, 9) for _ in range(pair[side])] for pair in sizes] for side in (0, 1))
        for spec in (
            {"name": "mean_difference"},
            {"name": "sum_difference"},
            {"name": "mean_difference", "average": "runs"},
            {"name": "sum_difference", "average": "runs"},
        ):
            # By how much the statistic rises with every run of U.
            rise = statistic([[run + 1 for run in row] for row in u], v, spec, [1, 1]) - statistic(
                u, v, spec, [1, 1]
            )
            moved = [[Fraction(run) - 1 / (2 * rise) for run in row] for row in u]
            seen, values = enumerated(moved, v, spec, [1, 1], [0, 1])
            p, _ = p_values(seen, values, "greater")
            terms = GateTerms("improve", 0.5)
            parameters = {name: value for name, value in spec.items() if name != "name"}
            metric = Metric(
                "m", Scores(column(u), column(v)), StatisticSpec(spec["name"], parameters),
                Options(exchange="runs"), terms,
            )  # fmt: skip
            decided = finish_gate([prepare_metric(metric, Budget())], "pass", "3").metrics[0].decision
            assert decided.p_value == pytest.approx(float(p), rel=1e-12)


def test_clusters_need_as_many_runs() -> None:
    data = Scores(column([[1, 0], [1]]), column([[0], [0]]), Pairing(np.array([0, 0]), 1))
    with pytest.raises(InvalidTest) as refused:
        record([], [], data=data)
    assert refused.value.flaws[0].code == "cluster_runs_differ"


def test_runs_with_too_many_ways_to_list_are_rounded_within_a_bracket() -> None:
    """Against 40,000 samples of the original scores, whose p-value lies within five standard errors."""
    draw = np.random.default_rng(15)
    for items, n, m in ((6, 14, 14), (3, 6, 40)):
        u, v = (draw.normal(size=(items, size)) + shift for size, shift in ((n, 0.3), (m, 0)))
        found = record(u.tolist(), v.tolist(), alternative="greater")
        whole = np.concatenate([u, v], axis=1)
        dealt_anew = np.take_along_axis(
            np.broadcast_to(whole, (40_000, *whole.shape)),
            draw.random((40_000, *whole.shape)).argsort(axis=2),
            axis=2,
        )
        sums = (dealt_anew[:, :, :n].mean(axis=2) - dealt_anew[:, :, n:].mean(axis=2)).sum(axis=1)
        p = float((sums >= (u.mean(axis=1) - v.mean(axis=1)).sum()).mean())
        low, high = found.p_value_bounds
        room = 5 * math.sqrt(p * (1 - p) / 40_000)
        assert low - room <= p <= high + room
        assert high / low < 1.5
        assert (found.method.name, found.p_value_bounds_kind) == ("bounds", "certified")
        other = record(v.tolist(), u.tolist(), alternative="less")
        assert other.p_value_bounds == pytest.approx(found.p_value_bounds, rel=1e-12)


def test_too_many_ways_to_list_are_refused_with_a_choice() -> None:
    draw = np.random.default_rng(15)
    u, v = ([draw.random(14).tolist() for _ in range(200)] for _ in "uv")
    with pytest.raises(InvalidTest) as refused:
        record(u, v)
    assert refused.value.flaws[0].code == "effects_too_large"
    assert (
        json.dumps([dict(choice.fields) for choice in refused.value.flaws[0].choices])
        == '[{"decimals": "2"}]'
    )


def test_swapping_the_systems_mirrors_brackets() -> None:
    draw = np.random.default_rng(4)
    for n, m, exchange in ((3, 3, "both"), (2, 5, "runs"), (3, 3, "runs")):
        u, v = (draw.normal(size=(6, size)).tolist() for size in (n, m))
        for alternative, mirrored in (("greater", "less"), ("two-sided", "two-sided")):
            one = record(
                u,
                v,
                alternative=alternative,
                exchange=exchange,
                method="bounds" if exchange == "runs" else "auto",
            )
            other = record(
                v,
                u,
                alternative=mirrored,
                exchange=exchange,
                method="bounds" if exchange == "runs" else "auto",
            )
            assert one.p_value_bounds == pytest.approx(other.p_value_bounds, rel=1e-12)
            assert one.p_value == pytest.approx(other.p_value, rel=1e-12)


def test_a_bracket_holds_the_least_p_value_of_units_that_rounding_drops() -> None:
    u, v = [[1.0], [math.pi], [math.e], [1e-13]], [[0.0], [0.0], [0.0], [0.0]]
    found = record(u, v, alternative="greater", method="bounds")
    assert found.p_value_bounds[0] <= 1 / 16 <= found.p_value_bounds[1]


def test_few_items_with_long_scores_are_planned_as_they_take() -> None:
    """Where the characteristic function does not vanish, fft would evaluate all frequencies."""
    draw = np.random.default_rng(5)
    u, v = (Repeated(draw.integers(0, 10_000, 15), np.full(5, 3)) for _ in "uv")
    data = Scores(u, v)
    planned = planned_test(data, StatisticSpec("mean_difference"), Options(exchange="runs"), Budget())
    costs = {cost.method: cost.seconds for cost in planned.plan.attempts}
    assert planned.plan.chosen.method == "rational"
    assert costs["fft"] > 10 * costs["rational"]
    pictured = run_test(
        data, StatisticSpec("mean_difference"), Options(exchange="runs", pmf="summary"), Budget()
    )
    assert pictured.null.pmf is not None
    assert sum(p for _, p in pictured.null.pmf) == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_real_valued_runs_are_exact_where_few_and_bracketed_where_many(alternative: Any) -> None:
    draw = np.random.default_rng(16)
    for items, runs in ((2, 2), (5, 3)):
        u, v = (draw.normal(size=(items, runs)).tolist() for _ in "uv")
        found = record(u, v, alternative=alternative, method="auto" if items == 2 else "bounds")
        assert found.null.mean == 0.0  # though its picture is of rounded values
        doubles = [[[Fraction(run) for run in row] for row in rows] for rows in (u, v)]
        if items == 2:
            seen, values = enumerated(doubles[0], doubles[1], {}, [1] * items, list(range(items)))
            p, _ = p_values(seen, values, alternative)
            assert found.p_value == pytest.approx(float(p), rel=1e-12)
            assert found.method.exact
        else:
            fine = record(np.round(u, 3).tolist(), np.round(v, 3).tolist(), alternative=alternative)
            assert found.p_value_bounds[0] * 0.9 <= fine.p_value <= found.p_value_bounds[1] * 1.1
            assert not found.method.exact
