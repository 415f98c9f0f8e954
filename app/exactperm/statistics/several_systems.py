"""Statistics of several systems at once: contrasts of means, Page's L, Cochran's Q, Friedman's test and an interaction.

The null is that on each item the K scores are exchangeable: all K! ways to assign them to the systems are equally likely, independently
between items.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from ..engine.lattice import Integers, Whole
from ..errors import InvalidTest, pointer_token
from .effects import Additive, effects_on, on_lattice, require_items, require_same_length
from .paired import Column, StatisticSpec
from .runs import Runs, sum_of_laws

# Steps of listing the laws of all distinct items.
_MOST_STEPS = 20_000_000


@dataclass(frozen=True, slots=True)
class Omnibus:
    """H = sum of the squares of the systems' totals of centred scores; the statistic is (K - 1) H / scale.

    `rows` counts the items by their centred scores, integers in ascending order; items whose scores are all equal are
    left out.
    """

    name: str
    rows: Mapping[tuple[int, ...], int]
    totals: tuple[int, ...]
    items: int
    systems: int
    clusters: None = None

    @property
    def observed(self) -> int:
        """H as observed."""
        return sum(total * total for total in self.totals)

    @property
    def scale(self) -> int:
        """The sum of the squares of all centred scores."""
        return sum(count * sum(value * value for value in row) for row, count in self.rows.items())

    @property
    def unit(self) -> Fraction:
        """The factor of H; 0 if no item has two different scores."""
        return Fraction(self.systems - 1, self.scale) if self.rows else Fraction(0)


def reduce_systems(columns: Mapping[str, Column], spec: StatisticSpec) -> Runs | Omnibus | Additive:
    """The problem behind a statistic of the columns, shape (N,) by system; raises InvalidTest."""
    sizes = {name: len(column) for name, column in columns.items()}
    first = next(iter(sizes))
    for name, size in sizes.items():
        require_same_length(sizes[first], size, _at(name), (first, name))
    require_items(sizes[first], _at(first))
    match spec.name:
        case "contrast":
            return _contrast(columns, spec.parameters["weights"])
        case "page":
            return _page(columns, spec.parameters["order"])
        case "interaction":
            return _interaction(columns, spec.parameters["pairs"])
    return _omnibus(columns, spec.name)


def _at(name: str) -> str:
    return f"/systems/{pointer_token(name)}"


def _known(columns: Mapping[str, Column], named: Mapping[str, str]) -> list[Column]:
    """The columns of the systems named at these pointers; raises InvalidTest."""
    for pointer, name in named.items():
        if name not in columns:
            detail = f"There is no system {name!r} here: the systems are {', '.join(map(repr, columns))}."
            raise InvalidTest.at(pointer, "unknown_system", detail)
    return [columns[name] for name in named.values()]


def _contrast(columns: Mapping[str, Column], weights: Mapping[str, float]) -> Runs | Additive:
    _known(columns, {f"/statistic/weights/{pointer_token(name)}": name for name in weights})
    by_system = [Fraction(repr(weights.get(name, 0))) for name in columns]
    if sum(by_system) != 0:
        detail = f"The weights of a contrast sum to 0; these sum to {float(sum(by_system)):g}."
        raise InvalidTest.at("/statistic/weights", "weights_not_zero_sum", detail)
    if not any(by_system):
        raise InvalidTest.at(
            "/statistic/weights", "empty", "At least two systems need a weight other than 0."
        )
    common = math.lcm(*(weight.denominator for weight in by_system))
    factors = [int(weight * common) for weight in by_system]
    lattice = on_lattice(*columns.values(), exactly=True)
    table = np.stack([np.asarray(column) for column in lattice.columns], axis=1)
    unit = lattice.unit / (common * len(table))
    if len(factors) == 2:  # the paired test
        return _of_effects("contrast", (table[:, 0] - table[:, 1]).astype(object) * factors[0], unit)
    return _of_factors("contrast", table, factors, unit)


def _page(columns: Mapping[str, Column], order: Sequence[str]) -> Runs:
    if sorted(order) != sorted(columns):
        _known(columns, {f"/statistic/order/{index}": name for index, name in enumerate(order)})
        detail = "The order names every system once, the lowest first."
        raise InvalidTest.at("/statistic/order", "incomplete", detail)
    ranks = twice_ranks(np.stack(_comparable([columns[name] for name in order]), axis=1))
    return _of_factors("page", ranks, list(range(1, len(order) + 1)), Fraction(1, 2))


def _interaction(columns: Mapping[str, Column], pairs: Sequence[Sequence[str]]) -> Additive:
    named = {f"/statistic/pairs/{at}/{index}": pairs[at][index] for at in (0, 1) for index in (0, 1)}
    lattice = on_lattice(*_known(columns, named), exactly=True)
    a1, a0, b1, b0 = (np.asarray(column).astype(object) for column in lattice.columns)
    unit = lattice.unit / len(a1)
    of_a, of_b = a1 - a0, b1 - b0
    scores = (unit * sum(each.tolist()) for each in (of_a, of_b))
    return _of_effects("interaction", of_a - of_b, unit, *scores)


def _of_effects(
    name: str, effects: Whole, unit: Fraction, u: Fraction | None = None, v: Fraction | None = None
) -> Additive:
    """The sum of effects whose signs flip, shape (N,)."""
    unit, (stay,), rounding = effects_on(unit, effects)
    return Additive(name, stay, None, unit, len(stay), score_u=u, score_v=v, rounding=rounding)


def _comparable(columns: Sequence[Column]) -> list[Integers]:
    """The columns as integers that compare as the scores do."""
    return [np.asarray(column) for column in on_lattice(*columns, exactly=True).columns]


def twice_ranks(table: Integers) -> Integers:
    """Twice the mid-ranks of each row, shape (N, K): 1 is the smallest.

    >>> twice_ranks(np.array([[5, 7, 5]])).tolist()
    [[3, 6, 3]]
    """
    below = (table[:, :, None] > table[:, None, :]).sum(axis=2)
    equal = (table[:, :, None] == table[:, None, :]).sum(axis=2)
    return np.asarray(2 * below + equal + 1)


def _of_factors(name: str, table: Integers, factors: Sequence[int], unit: Fraction) -> Runs:
    """The sum over items and systems of factor * score, whose law on an item is over all ways to assign its scores."""
    # Scores that all systems share only move the sum where the factors have one.
    base = table.min(axis=1) if sum(factors) == 0 else np.zeros(len(table), dtype=table.dtype)
    rows = Counter(map(tuple, np.sort(table - base[:, None], axis=1).tolist()))
    steps = sum(_steps_to_hand_out(row, factors) for row in rows)
    if steps > _MOST_STEPS:
        detail = (
            "Too many systems have too many different scores to list all ways to assign them: round "
            "the scores."
        )
        raise InvalidTest.at("/systems", "too_many_ways", detail)
    laws = ((handed_out(row, factors), count) for row, count in rows.items())
    form, coarse = sum_of_laws(laws, len(table), "/systems")
    each = (table - base[:, None]).astype(object) @ np.array(factors, dtype=object)
    means = table.astype(object).sum(axis=1) * sum(factors)
    ahead = np.sign(each * len(factors) - means).astype(np.int64)
    return Runs(name, form, sum(each.tolist()), unit, len(table), None, ahead, None, None, None, coarse)


def _steps_to_hand_out(scores: Sequence[int], factors: Sequence[int]) -> int:
    """Estimate the steps of `handed_out`: the scores that are left, times a share of the sums so far."""
    numbers = Counter(scores).values()
    sums = (max(scores) - min(scores)) * sum(map(abs, factors)) // 8 + 1
    same = max(math.prod(map(math.factorial, equal)) for equal in (numbers, Counter(factors).values()))
    orders = math.factorial(len(scores)) // same
    return len(numbers) * math.prod(number + 1 for number in numbers) * min(sums, orders)


def handed_out(scores: Sequence[int], factors: Sequence[int]) -> dict[int, int]:
    """{sum of factor * score: number of ways} over all ways to assign the scores, one to each factor.

    >>> handed_out((0, 1, 1), (-1, 0, 1))
    {1: 2, 0: 2, -1: 2}
    """
    values = sorted(Counter(scores).items())
    states: dict[tuple[int, ...], dict[int, int]] = {tuple(number for _, number in values): {0: 1}}
    for factor in factors:
        following: dict[tuple[int, ...], dict[int, int]] = {}
        for left, sums in states.items():
            for index, (value, _) in enumerate(values):
                if left[index]:
                    after = (*left[:index], left[index] - 1, *left[index + 1 :])
                    target = following.setdefault(after, {})
                    for part, ways in sums.items():
                        total = part + factor * value
                        target[total] = target.get(total, 0) + ways * left[index]
        states = following
    (law,) = states.values()
    return law


def _omnibus(columns: Mapping[str, Column], name: str) -> Omnibus:
    systems = len(columns)
    if systems < 3:
        detail = f"{name} compares three or more systems: test two by their scores."
        raise InvalidTest.at("/systems", "too_few_systems", detail)
    table = np.stack(_comparable(list(columns.values())), axis=1)
    if name == "cochran_q":
        for label, column in columns.items():
            wrong = ~np.isin(column, (0, 1))
            if wrong.any():
                detail = "Cochran's Q counts right and wrong items: give 1 and 0, or use friedman."
                raise InvalidTest.at(f"{_at(label)}/{int(wrong.argmax())}", "not_right_or_wrong", detail)
        table = (table != 0).astype(np.int64)
        centred = systems * table - table.sum(axis=1, keepdims=True)
    else:
        centred = twice_ranks(table) - (systems + 1)
    rows = Counter(map(tuple, np.sort(centred, axis=1).tolist()))
    rows.pop((0,) * systems, None)
    totals = tuple(int(total) for total in centred.sum(axis=0))
    return Omnibus(name, dict(sorted(rows.items())), totals, len(table), systems)
