"""The midpoint linearisation: gradients against differences of exact values, and the rounded effects against them."""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Sequence
from fractions import Fraction

import numpy as np
import pytest

from exactperm.statistics.corpus_scores import Bleu, Chrf, Difference
from exactperm.statistics.expression import parse
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.midpoint import Linearisation, linearise, rounded_line
from exactperm.statistics.paired import Pairing
from exactperm.statistics.quantity import Formula, Quantity
from exactperm.statistics.reduction import difference_of_scores
from exactperm.statistics.sum_function import FunctionOf

Score = Callable[[Sequence[float]], float]


def bleu(sums: Sequence[float]) -> float:
    system, reference, *counts = sums
    logs = [math.log(c / t) for c, t in zip(counts[:4], counts[4:], strict=True)]
    return 100.0 * min(1.0, math.exp(1.0 - reference / system)) * math.exp(sum(logs) / 4.0)


def chrf(sums: Sequence[float]) -> float:
    precision = sum(m / h for h, m in zip(sums[:2], sums[4:], strict=True)) / 2.0
    recall = sum(m / r for r, m in zip(sums[2:4], sums[4:], strict=True)) / 2.0
    return 100.0 * 5.0 * precision * recall / (4.0 * precision + recall)


def macro(sums: Sequence[float]) -> float:
    return sum(2.0 * sums[k] / (sums[3 + k] + 40.0) for k in range(3)) / (1.0 + min(1.0, sums[6]) / 3.0)


MACRO = "(2*x1/(x4+40) + 2*x2/(x5+40) + 2*x3/(x6+40)) / (1 + min(1, x7)/3)"
WILD = "sqrt(x1 + 1) * exp(x2 / 100) - log(x3) / max(x1, x2) + abs(x2 - x3)"
CASES: list[tuple[str, Quantity, Score, list[int], list[int]]] = [
    ("bleu, shorter", Bleu(), bleu, [900, 1000, 620, 400, 300, 200, 900, 850, 800, 750], [1] * 10),
    ("bleu, longer", Bleu(), bleu, [1100, 1000, 620, 400, 300, 200, 900, 850, 800, 750], [1] * 10),
    ("chrf", Chrf(2), chrf, [700, 600, 720, 590, 500, 300], [1] * 6),
    (
        "macro",
        Formula(parse(MACRO, [f"x{i}" for i in range(1, 8)])),
        macro,
        [30, 20, 25, 41, 39, 45, 5],
        [1] * 7,
    ),
    (
        "wild",
        Formula(parse(WILD, ["x1", "x2", "x3"])),
        lambda s: (
            math.sqrt(s[0] + 1) * math.exp(s[1] / 100) - math.log(s[2]) / max(s[0], s[1]) + abs(s[1] - s[2])
        ),
        [30, 20, 25],
        [1, 1, 1],
    ),
]


def linearised(quantity: Quantity, start: list[int], step: list[int]) -> Linearisation:
    """Of h itself: two units, so that the midpoint is start + step / 2."""
    stay = np.array([start, step], dtype=np.int64)
    swap = np.array([start, [0] * len(step)], dtype=np.int64)
    found = linearise(Joint("h", stay, swap, FunctionOf(quantity), 2))
    assert found is not None
    return found


@pytest.mark.parametrize(("name", "quantity", "score", "start", "step"), CASES, ids=[c[0] for c in CASES])
def test_gradients_are_those_of_the_definition(
    name: str, quantity: Quantity, score: Score, start: list[int], step: list[int]
) -> None:
    found = linearised(quantity, start, step)
    middle = [total / 2 for total in found.twice_m]
    assert middle == [a + b / 2 for a, b in zip(start, step, strict=True)]
    assert float(found.value) == pytest.approx(score(middle), rel=1e-12)
    for index, slope in enumerate(found.gradient):
        up, down = list(middle), list(middle)
        up[index] += 1e-3
        down[index] -= 1e-3
        assert float(slope) == pytest.approx((score(up) - score(down)) / 2e-3, rel=1e-5, abs=1e-9)


def test_a_difference_of_scores_has_value_zero_and_opposite_slopes() -> None:
    rows = np.array([[7, 3, 9, 2], [4, 4, 8, 3]], dtype=np.int64)
    found = linearise(
        Joint("d", rows, rows[:, [2, 3, 0, 1]], FunctionOf(Difference(_Ratio())), 2, mirrored=True)
    )
    assert found is not None
    assert found.value == 0
    assert found.gradient[0] == -found.gradient[2] != 0
    assert found.gradient[1] == -found.gradient[3] != 0


class _Ratio(Formula):
    def __init__(self) -> None:
        super().__init__(parse("a / (a + b)", ["a", "b"]))


@pytest.mark.parametrize(
    "text", ["sqrt(a - b)", "log(a - b)", "a / (b - b)", "1 / (a - b)", "exp(a * b * 1000000)"]
)
def test_without_a_gradient_there_is_no_linearisation(text: str) -> None:
    stay = np.array([[5, 5]], dtype=np.int64)
    problem = Joint("h", stay, stay * 3, FunctionOf(Formula(parse(text, ["a", "b"]))), 1)
    assert linearise(problem) is None


def test_zero_over_zero_is_flat_and_corners_have_the_mean_slope() -> None:
    stay = np.array([[5, 5]], dtype=np.int64)

    def slopes(text: str) -> list[object] | None:
        problem = Joint("h", stay, stay * 3, FunctionOf(Formula(parse(text, ["a", "b"]))), 1)
        found = linearise(problem)
        return None if found is None else [*found.gradient]

    assert slopes("a + (a - b) / (a - b)") == [1, 0]
    assert slopes("max(a, 3 * b - 20)") == [Fraction(1, 2), Fraction(3, 2)]
    assert slopes("abs(a - b)") is None
    assert slopes("b + abs(a - b)") == [0, 1]


def test_rounded_effects_are_the_slopes_times_the_vectors() -> None:
    chance = random.Random(5)
    for _ in range(50):
        width, units = chance.randint(1, 6), chance.randint(1, 40)
        size = 10 ** chance.randint(0, 6)
        vectors = np.array(
            [[chance.randint(-size, size) for _ in range(width)] for _ in range(units)], dtype=np.int64
        )
        counts = np.array([chance.randint(1, 5) for _ in range(units)], dtype=np.int64)
        slopes = [Fraction(chance.randint(-1000, 1000), chance.randint(1, 10**9)) for _ in range(width)]
        exact = [
            sum((slope * v for slope, v in zip(slopes, row, strict=True)), Fraction(0))
            for row in vectors.tolist()
        ]
        line = rounded_line(slopes, vectors, counts, spread=1000)
        if line is None:
            assert not any(exact)
            continue
        for effect, truth in zip(line.effects.tolist(), exact, strict=True):
            assert abs(effect * line.unit - truth) <= line.unit * Fraction(51, 100)
        spread = math.sqrt(
            sum(c * e * e for c, e in zip(counts.tolist(), line.effects.tolist(), strict=True))
        )
        assert 990 <= spread <= 2010


def test_what_moves_nothing_has_no_line() -> None:
    vectors = np.array([[1, -1], [2, -2]], dtype=np.int64)
    assert rounded_line([Fraction(1), Fraction(1)], vectors, np.array([3, 1]), 1000) is None
    assert (
        rounded_line([Fraction(1)], np.zeros((0, 1), dtype=np.int64), np.zeros(0, dtype=np.int64), 1000)
        is None
    )


def test_linear_counts_as_its_own_linearisation() -> None:
    """A ratio whose denominator hardly moves: t and its linear part agree to the third order."""
    chance = np.random.default_rng(1)
    u = np.column_stack([chance.integers(0, 5, 400), chance.integers(4, 7, 400)])
    v = np.column_stack([chance.integers(0, 5, 400), chance.integers(4, 7, 400)])
    problem = difference_of_scores("r", parse("a / b", ["a", "b"]), u, v, Pairing())
    assert isinstance(problem, Joint)
    found = linearise(problem)
    assert found is not None
    for _ in range(20):
        swapped = chance.integers(0, 2, 400).astype(bool)
        sums = np.where(swapped[:, None], problem.swap, problem.stay).sum(axis=0).tolist()
        t = Fraction(sums[0], sums[1]) - Fraction(sums[2], sums[3])
        line = sum(
            g * (s - Fraction(m, 2)) for g, s, m in zip(found.gradient, sums, found.twice_m, strict=True)
        )
        assert abs(t - line) < abs(t) * Fraction(1, 1000) + Fraction(1, 10**6)
