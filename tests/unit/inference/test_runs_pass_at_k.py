"""pass@k and pass^k with `k` below the number of runs, against every way to exchange, in fractions, and against draws of k runs."""

import itertools
import math
import random
from fractions import Fraction
from typing import Any

import pytest

import exactperm
from exactperm.errors import InvalidTest
from exactperm.statistics.effects import weights_of
from exactperm.statistics.paired import Scores
from tests.unit.inference.test_runs import TIMES, Rows, column, enumerated, p_values, passing, record

CASES = 2_000 * TIMES
SIDES = ("two-sided", "greater", "less")


def case(draw: random.Random, *, as_many: bool) -> tuple[Rows, Rows, dict[str, Any], list[int]]:
    items = draw.randint(1, 5 if as_many else 3)
    sizes = [(draw.randint(1, 4), draw.randint(1, 4)) for _ in range(items)]
    if as_many:
        sizes = [(n, n) for n, _ in sizes]
    k = draw.randint(1, min(map(min, sizes)))
    right = draw.choice([1, 1, 100])
    u, v = ([[right * draw.randint(0, 1) for _ in range(pair[side])] for pair in sizes] for side in (0, 1))
    spec = {
        "name": draw.choice(["mean_difference", "sum_difference"]),
        "repeats": draw.choice(["all", "any"]),
        "k": k,
    }
    weights = [draw.randint(1, 3) for _ in sizes] if draw.random() < 0.3 else [1] * items
    return u, v, spec, weights


def score(rows: Rows, spec: dict[str, Any], weights: list[int]) -> Fraction:
    right = max(*map(max, rows), 1)
    rates = [
        w * right * passing(row, spec["repeats"], spec["k"]) for row, w in zip(rows, weights, strict=True)
    ]
    return sum(rates, Fraction(0)) / (sum(weights) if spec["name"] == "mean_difference" else 1)


def checked(found: Any, seen: Fraction, values: list[Fraction], alternative: str) -> None:
    p, mid = p_values(seen, values, alternative)
    assert found.p_value_fraction is not None
    assert found.p_value_fraction.value == p
    assert found.p_value == pytest.approx(float(p), rel=1e-12)
    assert found.mid_p_value == pytest.approx(float(mid), rel=1e-12)
    assert found.statistic.observed == pytest.approx(float(seen), abs=1e-11)
    assert found.null.mean == pytest.approx(0, abs=1e-12)


def test_exchanged_runs_have_the_p_value_of_all_ways_to_deal_them() -> None:
    """For unequal numbers of runs as well, of which the mean under the null is zero."""
    draw, cases = random.Random(31), 0
    while cases < CASES:
        u, v, spec, weights = case(draw, as_many=False)
        if math.prod(math.comb(len(a) + len(b), len(a)) for a, b in zip(u, v, strict=True)) > 400:
            continue
        right = max(*map(max, u + v), 1)
        seen, values = enumerated(u, v, spec, weights, list(range(len(u))))
        seen, values = right * seen, [right * value for value in values]
        assert sum(values) == 0
        data = Scores(column(u), column(v), weights=None if set(weights) == {1} else weights_of(weights))
        for alternative in SIDES:
            found = record(u, v, spec, data=data, alternative=alternative, exact_fraction=True)
            checked(found, seen, values, alternative)
            cases += 1
        assert (
            (found.repeats.k, found.repeats.repeats) == (spec["k"], spec["repeats"])
            if found.repeats
            else True
        )
        assert found.exchange == "runs"


def test_exchanged_items_have_the_p_value_of_all_swaps() -> None:
    draw, cases = random.Random(32), 0
    while cases < CASES:
        u, v, spec, weights = case(draw, as_many=True)
        right = max(*map(max, u + v), 1)
        parts = [
            Fraction(w * right) * (passing(a, spec["repeats"], spec["k"]) - passing(b, spec["repeats"], spec["k"]))
            / (sum(weights) if spec["name"] == "mean_difference" else 1)
            for a, b, w in zip(u, v, weights, strict=True)
        ]  # fmt: skip
        values = [
            sum((sign * part for sign, part in zip(signs, parts, strict=True)), Fraction(0))
            for signs in itertools.product((1, -1), repeat=len(parts))
        ]
        data = Scores(column(u), column(v), weights=None if set(weights) == {1} else weights_of(weights))
        for alternative in SIDES:
            found = record(
                u, v, spec, data=data, alternative=alternative, exact_fraction=True, exchange="items"
            )
            checked(found, sum(parts, Fraction(0)), values, alternative)
            cases += 1
        if set(weights) == {1} and max(map(max, u + v)) == right:
            assert found.statistic.u == pytest.approx(
                float(score(u, spec, weights)) if max(map(max, u)) else 0
            )


@pytest.mark.parametrize("repeats", ["all", "any"])
@pytest.mark.parametrize("exchange", ["items", "runs"])
def test_all_of_the_runs_and_a_single_one(repeats: str, exchange: str) -> None:
    """k = n is the answer without k, and k = 1 the mean of the runs."""
    draw = random.Random(33)
    u, v = ([[draw.randint(0, 1) for _ in range(4)] for _ in range(12)] for _ in "uv")
    spec = {"repeats": repeats}
    every, whole = (record(u, v, {**spec, **more}, exchange=exchange) for more in ({}, {"k": 4}))
    assert (every.p_value, every.statistic) == (whole.p_value, whole.statistic)
    assert every.id != whole.id
    one, mean = record(u, v, {**spec, "k": 1}, exchange=exchange), record(u, v, {}, exchange=exchange)
    assert (one.p_value, one.statistic.u) == (mean.p_value, mean.statistic.u)


def test_the_pass_rate_is_the_share_of_draws_of_k_runs() -> None:
    u, v = [[1, 0, 0, 1, 0], [0, 0, 1, 0, 0]], [[0] * 5, [1] * 5]
    for rule, of in (("any", any), ("all", all)):
        for k in range(1, 6):
            shares = [[of(draw) for draw in itertools.combinations(row, k)] for row in u]
            expected = sum(Fraction(sum(share), len(share)) for share in shares) / 2
            found = exactperm.test(u, v, repeats=rule, k=k, exchange="both")
            assert found.statistic.u == pytest.approx(float(expected), rel=1e-15)
            assert found.repeats is not None
            assert found.repeats.k == k


def test_swapping_the_systems_mirrors_greater_and_less() -> None:
    draw = random.Random(34)
    u, v = ([[draw.randint(0, 1) for _ in range(n)] for _ in range(30)] for n in (5, 3))
    spec = {"repeats": "any", "k": 2}
    one, other = record(u, v, spec, alternative="greater"), record(v, u, spec, alternative="less")
    assert (one.p_value, one.mid_p_value) == (other.p_value, other.mid_p_value)
    assert record(u, v, spec) == record(u, v, spec)


@pytest.mark.parametrize(
    ("spec", "place", "code"),
    [
        ({"k": 2}, "/statistic/k", "k_needs_all_or_any"),
        ({"repeats": "mean", "k": 2}, "/statistic/k", "k_needs_all_or_any"),
        ({"repeats": "any", "k": 4}, "/statistic/k", "k_too_large"),
        ({"repeats": "all", "k": 0}, "/statistic/k", "out_of_range"),
    ],
    ids=str,
)
@pytest.mark.parametrize("exchange", ["items", "runs", "both"])
def test_refusals(spec: dict[str, Any], place: str, code: str, exchange: str) -> None:
    u, v = [[1, 0, 1, 1], [1, 0, 1]], [[0, 0, 1, 1], [1, 0, 0]]
    with pytest.raises(InvalidTest) as refused:
        record(u, v, spec, exchange=exchange)
    (flaw,) = refused.value.flaws
    assert (flaw.pointer, flaw.code) == (place, code)
