"""Random tests of several sums with their answer in fractions: every swap listed, every score a Fraction."""

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from tests.enumeration import SIDES, share

Value = Fraction | None  # None: undefined, extreme on every side
Score = Callable[[Sequence[int]], Value]


def over(numerator: int | Fraction, denominator: int | Fraction) -> Value:
    """0/0 is 0, x/0 has no value."""
    if denominator:
        return Fraction(numerator) / Fraction(denominator)
    return Fraction(0) if numerator == 0 else None


@dataclass(frozen=True)
class Case:
    """A request body, and what is needed to work it out by hand: each unit's counts of U and of V."""

    kind: str
    request: dict[str, Any]
    units: list[tuple[list[int], list[int]]]
    score: Score

    def statistic(self, chosen: Sequence[bool]) -> Value:
        """f(U) - f(V) after the swaps."""
        first, second = [0] * len(self.units[0][0]), [0] * len(self.units[0][0])
        for (u, v), swapped in zip(self.units, chosen, strict=True):
            for index, (a, b) in enumerate(zip(u, v, strict=True)):
                first[index] += b if swapped else a
                second[index] += a if swapped else b
        one, other = self.score(first), self.score(second)
        return None if one is None or other is None else one - other

    def p_value(self) -> Fraction | None:
        """The exact p-value; None when the statistic is undefined as observed."""
        values = [
            self.statistic(chosen) for chosen in itertools.product((False, True), repeat=len(self.units))
        ]
        return None if values[0] is None else share(values, self.request["alternative"])


def f_beta(square: Fraction) -> Score:
    return lambda c: over((1 + square) * c[0], (1 + square) * c[0] + square * c[2] + c[1])


NAMED: dict[str, tuple[tuple[str, ...], dict[str, Any], Score]] = {
    "f1 tp fp fn": (("tp", "fp", "fn"), {"name": "f1"}, f_beta(Fraction(1))),
    "f1 tp incorrect": (("tp", "incorrect"), {"name": "f1"}, lambda c: over(2 * c[0], 2 * c[0] + c[1])),
    "fbeta 2": (("tp", "fp", "fn"), {"name": "fbeta", "beta": 2}, f_beta(Fraction(4))),
    "fbeta 0.5": (("tp", "fp", "fn"), {"name": "fbeta", "beta": 0.5}, f_beta(Fraction(1, 4))),
    "jaccard": (("tp", "fp", "fn"), {"name": "jaccard"}, lambda c: over(c[0], c[0] + c[1] + c[2])),
    "precision": (("tp", "fp"), {"name": "precision"}, lambda c: over(c[0], c[0] + c[1])),
    "recall": (("tp", "fn"), {"name": "recall"}, lambda c: over(c[0], c[0] + c[1])),
    "ratio": (
        ("errors", "words"),
        {"name": "ratio", "numerator": "errors", "denominator": "words"},
        lambda c: over(c[0], c[1]),
    ),
}
EXPRESSIONS: list[tuple[tuple[str, ...], str, Score]] = [
    (("a", "b", "c"), "a/(a+b) - b/(b+c)", lambda c: minus(over(c[0], c[0] + c[1]), over(c[1], c[1] + c[2]))),
    (("a", "b", "c", "d"), "a*d - b*c", lambda c: Fraction(c[0] * c[3] - c[1] * c[2])),
    (
        ("a", "b", "c", "d", "e", "f"),
        "a/b - c/d + e/f",
        lambda c: plus(minus(over(c[0], c[1]), over(c[2], c[3])), over(c[4], c[5])),
    ),
    (
        ("a", "b", "c"),
        "max(a, b) / (a + 2*b + c) + abs(a - c)/7",
        lambda c: plus(over(max(c[0], c[1]), c[0] + 2 * c[1] + c[2]), Fraction(abs(c[0] - c[2]), 7)),
    ),
]


def plus(one: Value, other: Value) -> Value:
    return None if one is None or other is None else one + other


def minus(one: Value, other: Value) -> Value:
    return None if one is None or other is None else one - other


def joint_case(random: Random) -> Case:
    """Two to six swapping units with counts of 1 to 10^9: few vectors, large determinants."""
    if random.random() < 0.7:
        names, statistic, score = NAMED[random.choice(sorted(NAMED))]
    else:
        names, text, score = random.choice(EXPRESSIONS)
        statistic = {"name": "expression", "expression": text}
    units = random.randint(2, 6)
    clustered = random.random() < 0.3
    items = units * random.randint(1, 3) if clustered else units
    u, v = _counts(random, items, len(names)), _counts(random, items, len(names))
    for item in range(items):
        if random.random() < 0.1:
            v[item] = list(u[item])  # nothing moves
        if item and random.random() < 0.15:
            u[item], v[item] = list(u[0]), list(v[0])  # the same coin twice
        if random.random() < 0.2:
            column = random.randrange(len(names))
            v[item][column] = u[item][column]
    keys = [index % units for index in range(items)] if clustered else list(range(items))
    summed: dict[int, tuple[list[int], list[int]]] = {}
    for key, one, other in zip(keys, u, v, strict=True):
        before = summed.get(key, ([0] * len(names), [0] * len(names)))
        summed[key] = (
            [a + b for a, b in zip(before[0], one, strict=True)],
            [a + b for a, b in zip(before[1], other, strict=True)],
        )
    request: dict[str, Any] = {
        "u": {name: [row[index] for row in u] for index, name in enumerate(names)},
        "v": {name: [row[index] for row in v] for index, name in enumerate(names)},
        "statistic": statistic,
        "alternative": random.choice(SIDES),
        "method": random.choice(["auto"] * 6 + ["enumeration", "dp", "fft"]),
        "pmf": random.choice(["none", "none", "summary"]),
    }
    if clustered:
        request["clusters"] = keys
    return Case("counts", request, list(summed.values()), score)


def _counts(random: Random, items: int, columns: int) -> list[list[int]]:
    largest = 10 ** random.randint(1, 9)
    spread = random.random() < 0.3
    return [
        [
            random.randint(0, max(largest // (10 ** random.randint(0, 8) if spread else 1), 1))
            for _ in range(columns)
        ]
        for _ in range(items)
    ]
