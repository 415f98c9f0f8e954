"""E-values of reassigned runs, against every way to deal them."""

import itertools
import math
import os
import random
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from exactperm.engine.e_value import GRID, reaches
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options, Sequential
from exactperm.inference.paired import run_test
from exactperm.inference.sequential import SequentialTest, runs_sequential_test
from exactperm.statistics.paired import Pairing, Scores, StatisticSpec
from exactperm.statistics.runs import reduce_runs
from tests.unit.inference.test_runs import Rows, column, dealt, statistic

CASES = 520 * int(os.environ.get("FUZZ_TIMES", "1"))
SIDES = {"greater": (1,), "less": (-1,), "two-sided": (1, -1)}
SPECS: list[dict[str, Any]] = [
    {},
    {},
    {"name": "sum_difference"},
    {"name": "sum_difference", "average": "runs"},
]


def data_of(u: Rows, v: Rows, codes: list[int] | None = None) -> Scores:
    clustered = codes is not None and len(set(codes)) < len(codes)
    pairing = Pairing(clusters=np.array(codes), n_clusters=len(set(codes or []))) if clustered else Pairing()
    return Scores(column(u), column(v), pairing)


def spec_of(spec: dict[str, Any]) -> StatisticSpec:
    rest = {name: value for name, value in spec.items() if name != "name"}
    return StatisticSpec(spec.get("name", "mean_difference"), rest)


def planned(data: Scores, spec: StatisticSpec, terms: Sequential, side: Any) -> SequentialTest:
    return runs_sequential_test(reduce_runs(data, spec), data, spec, terms, side)


def log_e_of(u: Rows, v: Rows, spec: dict[str, Any], side: Any, codes: list[int] | None = None) -> float:
    return planned(data_of(u, v, codes), spec_of(spec), Sequential(scale=0.75), side).e_value().log_e


def oracle(u: Rows, v: Rows, spec: dict[str, Any], side: str, codes: list[int]) -> float:
    """The mean of exp(lambda S) over the product of E exp(lambda T) of all units, by every way to deal the unit."""

    def difference(u: Rows, v: Rows) -> float:
        return float(sum((statistic([a], [b], spec, [1]) for a, b in zip(u, v, strict=True)), Fraction(0)))

    seen, laws = difference(u, v), []
    for code in set(codes):
        at = [item for item, other in enumerate(codes) if other == code]
        ways = dealt([u[item] for item in at], [v[item] for item in at], [0] * len(at))
        laws.append([difference(a, b) for a, b in ways])
    terms = []
    for tilt, sign in itertools.product(GRID, SIDES[side]):
        rate = sign * tilt / 0.75
        moments = [math.fsum(math.exp(rate * value) for value in law) / len(law) for law in laws]
        terms.append(math.exp(rate * seen) / math.prod(moments))
    return math.fsum(terms) / len(terms)


def case(draw: random.Random) -> tuple[Rows, Rows, dict[str, Any], list[int]]:
    values: list[Any] = draw.choice([[0, 1], [0, 1], [0, 1, 2], [0.1, 0.25, 0.5, 1]])
    spec = draw.choice(SPECS)
    items = draw.choice([1, 2, 2, 3])
    numbers = [(draw.randint(1, 3), draw.randint(1, 2)) for _ in range(items)]
    codes = list(range(items))
    if items > 1 and draw.random() < 0.2:
        numbers[1], codes = numbers[0], [0, 0, 1][:items]
    if draw.random() < 0.15:
        spec, numbers = {"average": "runs"}, [(n, n) for n, _ in numbers[:2]]
        codes = codes[:2]
        spec = spec if sum(n for n, _ in numbers) > len(numbers) else {}
    elif min(values) == 0 == max(values) - 1 and set(codes) == set(range(len(codes))) and draw.random() < 0.3:
        numbers = [(n + 1, m + 1) for n, m in numbers[:2]]
        codes, spec = codes[:2], {"repeats": draw.choice(["any", "all"]), "k": 2}
    u: Rows
    v: Rows
    u, v = ([[draw.choice(values) for _ in range(pair[at])] for pair in numbers] for at in (0, 1))
    return u, v, spec, codes


def test_the_mean_over_all_ways_to_deal_the_runs_is_one() -> None:
    draw = random.Random(37)
    for _ in range(CASES):
        u, v, spec, codes = case(draw)
        side = draw.choice(list(SIDES))
        known: dict[str, float] = {}
        logs = []
        for a, b in dealt(u, v, codes):
            key = repr([sorted(row) for row in a] if len(set(codes)) == len(codes) else (a, b))
            if key not in known:
                known[key] = log_e_of(a, b, spec, side, codes)
            logs.append(known[key])
        assert math.fsum(map(math.exp, logs)) / len(logs) == pytest.approx(1.0, abs=1e-12), (
            u,
            v,
            spec,
            codes,
        )
        if spec == {"average": "runs"}:  # of equal numbers: the sums of the runs
            spec = SPECS[-1]
        expected = oracle(u, v, spec, side, codes)
        assert math.exp(log_e_of(u, v, spec, side, codes)) == pytest.approx(expected, rel=1e-12)


def test_p_of_any_time_is_valid_over_all_looks() -> None:
    """After each item, over every way to deal the runs: P(some p_anytime <= alpha) <= alpha."""
    draw, reached = random.Random(5), 0
    for _ in range(25):
        numbers = [draw.choice([(1, 2), (2, 1), (2, 2), (1, 3)]) for _ in range(4)]
        side = draw.choice(list(SIDES))
        u, v = ([[draw.choice([0, 1]) for _ in range(pair[at])] for pair in numbers] for at in (0, 1))
        known: dict[str, float] = {}
        least = []
        for a, b in dealt(u, v, [0, 1, 2, 3]):
            looks = []
            for n in range(1, 5):
                key = repr([sorted(row) for row in a[:n]])
                if key not in known:
                    known[key] = math.exp(-max(log_e_of(a[:n], b[:n], {}, side), 0.0))
                looks.append(known[key])
            least.append(min(looks))
        for p in set(least):
            if p < 1.0:
                reached += 1
                assert sum(other <= p for other in least) <= p * len(least) * (1 + 1e-12)
    assert reached > 50


@pytest.mark.parametrize("spec", [{}, {"repeats": "any", "k": 1}, {"repeats": "all", "k": 2}])
def test_swapping_the_systems_mirrors_greater_and_less(spec: dict[str, Any]) -> None:
    u, v = [[1, 1, 0], [1, 0], [1, 1]], [[0, 1], [0, 0, 0], [1, 0]]
    for side, other in (("greater", "less"), ("less", "greater"), ("two-sided", "two-sided")):
        assert log_e_of(u, v, spec, side) == pytest.approx(log_e_of(v, u, spec, other), rel=1e-12, abs=1e-14)


def test_items_whose_runs_are_all_equal_change_nothing() -> None:
    u, v = [[1, 1, 0], [1, 0]], [[0, 1], [0, 0, 0]]
    same = log_e_of([*u, [1, 1]], [*v, [1, 1, 1]], {}, "greater")
    assert same == pytest.approx(log_e_of(u, v, {}, "greater"), rel=1e-14)


@pytest.mark.parametrize("side", list(SIDES))
def test_the_verdict_at_the_e_value_itself_is_decided_in_ball_arithmetic(side: Any) -> None:
    """1 / alpha beside e by less than doubles can tell: alpha an exact fraction on either side."""
    u, v = [[1, 1, 0], [1, 0]] * 9, [[0, 1], [0, 0, 0]] * 9
    test = planned(data_of(u, v), spec_of({}), Sequential(scale=1), side)
    terms = []
    for tilt, sign in itertools.product(GRID, SIDES[side]):
        rate = Fraction(sign * tilt)
        moments = [sum(exp(rate * law) for law in ways) / len(ways) for ways in (FIRST, SECOND)]
        terms.append(exp(rate * 9 * Fraction(2, 3)) / (moments[0] * moments[1]) ** 9)
    level = Fraction(round(10**40 * len(terms) / sum(terms, Fraction(0))), 10**40)
    for off, reached in ((Fraction(1, 10**25), True), (Fraction(-1, 10**25), False)):
        asked = (test.form, test.observed, test.unit, side)
        assert reaches(*asked, level=level * (1 + off)) is reached


def exp(x: Fraction) -> Fraction:
    """exp(x) to 50 digits."""
    term, total, n = Fraction(1), Fraction(1), 1
    halved = x / 1024
    while n < 40:
        term = Fraction(round(term * halved / n * 10**90), 10**90)
        total, n = total + term, n + 1
    for _ in range(10):
        total = Fraction(round(total * total * 10**90), 10**90)
    return total


# All ways to deal [1, 1, 0] against [0, 1], and [1, 0] against [0, 0, 0]: differences of the means.
FIRST = [
    Fraction(sum(one), 3) - Fraction(3 - sum(one), 2) for one in itertools.combinations([1, 1, 0, 0, 1], 3)
]
SECOND = [
    Fraction(sum(one), 2) - Fraction(1 - sum(one), 3) for one in itertools.combinations([1, 0, 0, 0, 0], 2)
]


@pytest.mark.parametrize(
    ("average", "name"), list(itertools.product(["items", "runs"], ["mean_difference", "sum_difference"]))
)
def test_one_run_each_is_the_e_value_of_items(average: str, name: str) -> None:
    draw = random.Random(11)
    for _ in range(30):
        n = draw.randint(1, 9)
        u, v = ([[draw.choice([0, 0.3, 0.5, 1])] for _ in range(n)] for _ in "uv")
        terms = Sequential(planned_n=n + 3, max_difference=1, prior_log_e=0.1)
        records = [
            run_test(
                data_of(u, v),
                StatisticSpec(name, {"average": average}),
                Options(exchange=exchange, sequential=terms, pmf="none"),
                Budget(),
            )
            for exchange in ("items", "runs")
        ]
        for field in ("e_value", "log10_e_value", "p_anytime", "log10_p_anytime", "curtailed", "significant"):
            assert getattr(records[0], field) == getattr(records[1], field)


def test_thousands_of_items_with_hundreds_of_runs() -> None:
    """No overflow, and the logarithm of the largest term decides: of n items that U wins in every run."""
    u, v = [[1] * 150] * 2000, [[0] * 100] * 2000
    law = [(right, math.comb(150, right) * math.comb(100, 150 - right)) for right in range(50, 151)]
    whole = math.comb(250, 150)
    logs = []
    for tilt in GRID:
        rate = tilt / 0.75
        logs.append(
            2000
            * (rate - math.log(sum(w / whole * math.exp(rate * (c / 150 - (150 - c) / 100)) for c, w in law)))
        )
    expected = max(logs) + math.log(sum(math.exp(one - max(logs)) for one in logs) / len(logs))
    assert log_e_of(u, v, {}, "greater") == pytest.approx(expected, rel=1e-12)
    assert log_e_of(u, v, {}, "less") < -math.log(10)
