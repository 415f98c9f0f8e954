"""Brackets of smooth statistics about their midpoint, against every swap, with scores written down once more in plain floats."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from random import Random
from typing import Any

import numpy as np
from hypothesis import given, strategies as st
from numpy.typing import NDArray

from exactperm.answers.test import Alternative
from exactperm.engine.plan import Budget, EngineError
from exactperm.errors import InvalidTest
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.effects import Joint
from exactperm.statistics.midpoint import Strip
from exactperm.statistics.paired import Counts, StatisticSpec
from exactperm.statistics.reducers import reduce
from exactperm.statistics.remainder import Remainder, midpoint_of
from tests.fuzz.asgi import GENERATED, examples

Score = Callable[[Sequence[float]], float]


@dataclass(frozen=True)
class MidpointCase:
    """Rows of counts of both systems under their names, the statistic, and the score of a system's sums."""

    names: tuple[str, ...]
    u: list[list[int]]
    v: list[list[int]]
    spec: StatisticSpec
    score: Score

    @property
    def data(self) -> Counts:
        u, v = (
            {
                name: np.array(column, dtype=np.int64)
                for name, column in zip(self.names, zip(*rows, strict=True), strict=True)
            }
            for rows in (self.u, self.v)
        )
        return Counts(u, v)

    def differences(self) -> tuple[float, list[float]]:
        """t as observed, and under every swap of the items that differ."""
        moving = [
            index for index, (one, other) in enumerate(zip(self.u, self.v, strict=True)) if one != other
        ]
        first, second = (np.array(rows, dtype=np.int64).sum(axis=0) for rows in (self.u, self.v))
        d = np.array([np.subtract(self.v[i], self.u[i]) for i in moving], dtype=np.int64).reshape(
            len(moving), -1
        )
        values = []
        for swaps in product((0, 1), repeat=len(moving)):
            shift = np.array(swaps, dtype=np.int64) @ d
            values.append(self.score((first + shift).tolist()) - self.score((second - shift).tolist()))
        return values[0], values


def p_values(observed: float, values: Sequence[float], side: str) -> tuple[float, float]:
    """The least and the greatest p-value that rounding of floats leaves open."""
    close = 1e-9 * max(abs(observed), 1e-3)
    # How far each t is beyond the observed one, on the side of the test.
    if side == "two-sided":
        beyond = [abs(t) - abs(observed) for t in values]
    else:
        beyond = [t - observed if side == "greater" else observed - t for t in values]
    inside, around = (sum(far >= off for far in beyond) / len(values) for off in (close, -close))
    return inside, around


def midpoint_case(chance: Random) -> MidpointCase:
    return chance.choice((_expression, _expression, _bleu, _chrf))(chance)


def _rows(
    chance: Random, row: Callable[[float], list[int]], shared: list[int]
) -> tuple[list[list[int]], list[list[int]]]:
    """Two to ten items of which each may be better in one system, and one that is the same in both."""
    better = chance.choice((0.0, 0.1, 0.3))
    u, v = [shared], [shared]
    for _ in range(chance.randint(2, 10)):
        u.append(row(0.5 + better))
        v.append(row(0.5 - better))
    return u, v


def _expression(chance: Random) -> MidpointCase:
    text, score = chance.choice(_EXPRESSIONS)
    most, base = chance.choice((2, 5, 20)), round(10 ** chance.uniform(0.5, 4.5))

    def row(share: float) -> list[int]:
        return [
            sum(chance.random() < share for _ in range(most)),
            chance.randint(0, most),
            chance.randint(0, most),
        ]

    shared = [base, round(base * chance.uniform(0.2, 2.0)) + 1, round(base * chance.uniform(0.2, 2.0)) + 1]
    return MidpointCase(
        ("a", "b", "c"), *_rows(chance, row, shared), StatisticSpec("expression", {"expression": text}), score
    )


_EXPRESSIONS: tuple[tuple[str, Score], ...] = (
    ("2*a / (2*a + b + c)", lambda x: 2 * x[0] / (2 * x[0] + x[1] + x[2])),
    ("a/b + b/c", lambda x: x[0] / x[1] + x[1] / x[2]),
    ("a/(a+b) * (b/(b+c))", lambda x: x[0] / (x[0] + x[1]) * x[1] / (x[1] + x[2])),
    ("sqrt(a*b) / c", lambda x: math.sqrt(x[0] * x[1]) / x[2]),
    ("exp(a/(a+b)) - log(c)", lambda x: math.exp(x[0] / (x[0] + x[1])) - math.log(x[2])),
    ("min(a/b, 1) * max(b/c, 1/2)", lambda x: min(x[0] / x[1], 1.0) * max(x[1] / x[2], 0.5)),
    ("abs(a - b) / c", lambda x: abs(x[0] - x[1]) / x[2]),
    (
        "(a*c - b*b) / sqrt((a+b)*(b+c)*(a+c+1))",
        lambda x: (x[0] * x[2] - x[1] ** 2) / math.sqrt((x[0] + x[1]) * (x[1] + x[2]) * (x[0] + x[2] + 1)),
    ),
    ("1 / (3*b/a + c/(a+b))", lambda x: 1.0 / (3 * x[1] / x[0] + x[2] / (x[0] + x[1]))),
)


BLEU = ("sys_len", "ref_len", *(f"{kind}_{n}" for kind in ("correct", "total") for n in range(1, 5)))


def _bleu(chance: Random) -> MidpointCase:
    base = round(10 ** chance.uniform(1.5, 5.0))

    def counts(length: int, matches: list[int], reference: int, segments: int) -> list[int]:
        totals = [length - k * segments for k in range(4)]
        return [length, reference, *(min(m, t) for m, t in zip(matches, totals, strict=True)), *totals]

    def row(share: float) -> list[int]:
        length = chance.randint(6, 12)
        return counts(
            length, [round(length * chance.uniform(0.0, 2.0 * share) ** (k + 1)) for k in range(4)], 9, 1
        )

    reference = round(base * chance.choice((0.9, 1.0, 1.0, 1.1)))
    shared = counts(base, [round(base * 0.6 ** (k + 1)) for k in range(4)], reference, max(base // 20, 1))
    return MidpointCase(BLEU, *_rows(chance, row, shared), StatisticSpec("bleu"), bleu_score)


def bleu_score(sums: Sequence[float]) -> float:
    """Papineni et al. (2002), with exponential smoothing."""
    system, reference, *counts = sums
    if min(counts[4:]) <= 0 or not any(counts[:4]):
        return 0.0
    product_, smoothing = 1.0, 1.0
    for correct, total in zip(counts[:4], counts[4:], strict=True):
        smoothing *= 1.0 if correct else 2.0
        product_ *= (correct or 1.0 / smoothing) / total
    return 100.0 * min(1.0, math.exp(1.0 - reference / system)) * math.sqrt(math.sqrt(product_))


def _chrf(chance: Random) -> MidpointCase:
    names = tuple(f"{kind}_{n}" for kind in ("hyp", "ref", "match") for n in (1, 2))
    base = round(10 ** chance.uniform(1.0, 5.0))

    def row(share: float) -> list[int]:
        hyp = [chance.randint(3, 12), chance.randint(2, 8)]
        return [*hyp, 8, 7, *(min(sum(chance.random() < share for _ in range(h)), 7) for h in hyp)]

    shared = [base, base // 2 + 1, base + 3, base // 2 + 2, base // 2, base // 5 + 1]
    parameters: dict[str, Any] = {}
    return MidpointCase(names, *_rows(chance, row, shared), StatisticSpec("chrf", parameters), chrf_score)


def chrf_score(sums: Sequence[float]) -> float:
    """Popović (2015) with beta 2, of two orders."""
    orders = [k for k in range(2) if sums[k] > 0 and sums[2 + k] > 0]
    precision = sum(sums[4 + k] / sums[k] for k in orders)
    recall = sum(sums[4 + k] / sums[2 + k] for k in orders)
    below = (4.0 * precision + recall) * max(len(orders), 1)
    return 100.0 * 5.0 * precision * recall / below if below else 0.0


@examples(100)
@given(st.integers(0, 2**63))
def test_no_bracket_leaves_out_the_truth(seed: int) -> None:
    chance = Random(seed)
    case = midpoint_case(chance)
    side: Alternative = chance.choice(("two-sided", "greater", "less"))
    try:
        observed, values = case.differences()
    except (ZeroDivisionError, ValueError):
        return  # a swap without a value, which only the shared item prevents elsewhere
    GENERATED["midpoint cases"] += 1
    try:
        record = run_test(
            case.data, case.spec, Options(method="bounds", alternative=side, pmf="none"), Budget()
        )
    except (InvalidTest, EngineError):
        GENERATED["midpoint cases without a bracket"] += 1
        return
    least, greatest = p_values(observed, values, side)
    low, high = record.p_value_bounds
    if record.method.name == "bounds" and high < 0.9 and low > 0.0:
        GENERATED["midpoint cases with a bracket that says something"] += 1
    assert low <= greatest, (seed, low, greatest)
    assert high >= least, (seed, high, least)


@examples(100)
@given(st.integers(0, 2**63))
def test_no_more_swaps_than_proven_are_farther_from_the_linear_part(seed: int) -> None:
    """Bounds from almost nothing, which most swaps break, to those that none of these few can break."""
    chance = Random(seed)
    case = midpoint_case(chance)
    try:
        problem = reduce(case.data, case.spec)
    except InvalidTest:
        return
    midpoint = midpoint_of(problem) if isinstance(problem, Joint) else None
    log_odds = chance.choice((0.5, 1.0, 2.0, 3.0, 5.0, 8.0, 20.0))
    found = None if midpoint is None else midpoint.remainder(log_odds)
    if midpoint is None or found is None:
        return
    try:
        _, values = case.differences()
    except (ZeroDivisionError, ValueError):
        return
    GENERATED["remainders"] += 1
    moving = midpoint.differences[np.any(midpoint.differences, axis=1)]
    signs = 1 - 2 * np.array(np.meshgrid(*[[0, 1]] * len(moving), indexing="ij")).reshape(len(moving), -1)
    line = (found.slope @ moving.T @ signs) / 2.0
    t = np.array(values)
    off = _beyond(found, line, t)
    assert off.mean() <= math.exp(found.reaches.log_outside), (seed, off.mean(), found)
    if off.any():
        GENERATED["remainders that some swaps exceed"] += 1
    # Between two planes: any line, and of it those swaps that stay below one of its values.
    form = found.slope if chance.random() < 0.7 else np.array([chance.gauss(0.0, 1.0) for _ in found.slope])
    heights = np.abs(form @ moving.T @ signs) / 2.0
    most = float(chance.choice(np.unique(heights))) * chance.choice((1.0, 1.001))
    inside = midpoint.remainder(log_odds, Strip(form, most, midpoint.spread))
    if inside is None:
        return
    GENERATED["remainders in a strip"] += 1
    line = (inside.slope @ moving.T @ signs) / 2.0
    off = _beyond(inside, line, t) & (heights <= most)
    assert off.mean() <= math.exp(inside.reaches.log_outside), (seed, off.mean(), inside)
    if np.array_equal(inside.slope, found.slope) and inside.absolute < 0.5 * found.absolute:
        GENERATED["remainders that a strip halves"] += 1


def _beyond(found: Remainder, line: NDArray[np.float64], t: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Which swaps are farther from the line than they should be; floats of the test are a little off as well."""
    allowed = found.relative * np.abs(line) + found.absolute + 1e-12 * (1.0 + np.abs(t))
    return np.asarray(np.abs(t / 2.0 - line) > allowed)
