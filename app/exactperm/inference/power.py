"""Power: the differences that a test of n items detects, and the items that a difference needs."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable
from dataclasses import dataclass, replace
from fractions import Fraction

from scipy import special

from ..answers.power import MOST_RUNS, PowerMethod, PowerPoint, PowerRecord, Solution, Solve
from ..answers.test import Alternative, WarningRecord
from ..engine.power.paired_binary import OutOfReachError, PairedBinary, detectable_difference, sample_size
from ..engine.root import root
from ..errors import InvalidTest
from ..statistics.run_variance import DifferenceVariance

# Designs: assumptions before a test, and the resulting power


@dataclass(frozen=True, slots=True)
class Question:
    """A question about a design. Effects are U - V; the `comparisons` share `alpha`.

    `n` are numbers of items, the first is the one that `solution` is about.
    """

    solve: Solve
    n: tuple[int, ...]
    power: float | None
    effect: float | None
    alpha: float = 0.05
    alternative: Alternative = "two-sided"
    comparisons: int = 1
    floor: float | None = None
    runs_per_item: int | None = None
    item_cost: float | None = None

    @property
    def level(self) -> float:
        """Bonferroni's share of alpha, the level of one test."""
        return self.alpha / self.comparisons


@dataclass(frozen=True, slots=True)
class Needed:
    """A number of items with the power, and the least one from which all have it; None if not proven."""

    n: int
    always: int | None


class Design(ABC):
    """The power of a design. Sizes of effects are at least 0, in the direction of the test."""

    __slots__ = ()

    @property
    def pilot_n(self) -> int | None:
        """The pilot's number of items, or None."""
        return None

    @property
    def stated_effect(self) -> float | None:
        """U - V, if the design states it."""
        return None

    @property
    def rough(self) -> Design:
        """A fast version for curves, accurate enough to draw."""
        return self

    @abstractmethod
    def method_at(self, n: int) -> PowerMethod:
        """The method for n items."""

    @abstractmethod
    def power(self, n: int, size: float) -> float:
        """The probability that the test of n items rejects when the true difference has this size."""

    @abstractmethod
    def detectable(self, n: int, power: float) -> float | None:
        """The size that n items detect with this power, or None."""

    @abstractmethod
    def needed(self, size: float, power: float) -> Needed | None:
        """The items that this size needs; None if more than can be searched."""

    @abstractmethod
    def critical(self, n: int) -> float | None:
        """The least significant observed |difference|, or None."""

    @abstractmethod
    def actual_alpha(self, n: int) -> float:
        """The probability that the test of n items rejects if there is no difference."""


# Nothing known but a standard deviation: the normal approximation


NORMAL = PowerMethod(
    "normal",
    False,
    "The standard deviation of an item's difference; the mean is taken as normal, so that this is approximate.",
)
MOST_ITEMS = 10**12


@dataclass(frozen=True, slots=True)
class NormalDesign(Design):
    """`sd` is the standard deviation of one item's difference.

    A permutation test estimates the variance under the null as sd^2 + `inflation` size^2, as the true difference of
    that size adds to all differences. No outcome of fewer than `least` items is significant.
    """

    sd: float
    alpha: float
    alternative: Alternative
    inflation: float = 0.0
    least: int = 1

    @property
    def _tails(self) -> float:
        return 2.0 if self.alternative == "two-sided" else 1.0

    @property
    def _z(self) -> float:
        return -float(special.ndtri(self.alpha / self._tails))

    def method_at(self, n: int) -> PowerMethod:
        """See `Design`."""
        return NORMAL

    def power(self, n: int, size: float) -> float:
        """See `Design`."""
        if n < self.least:
            return 0.0
        return self._power_at(size * math.sqrt(n) / self.sd, self._ratio(size / self.sd))

    def _ratio(self, size: float) -> float:
        """The standard deviation under the null, over the true one, for a size in units of `sd`."""
        return math.hypot(1.0, math.sqrt(self.inflation) * min(size, 1e100)) if self.inflation else 1.0

    def _power_at(self, shift: float, ratio: float) -> float:
        z = self._z * ratio
        power = float(special.ndtr(shift - z))
        return power + float(special.ndtr(-shift - z)) if self.alternative == "two-sided" else power

    def detectable(self, n: int, power: float) -> float | None:
        """See `Design`."""
        per_unit = self.sd / math.sqrt(n)

        def reached(shift: float) -> float:
            return self._power_at(shift, self._ratio(shift / math.sqrt(n))) - power

        if n < self.least or reached(100.0) < 0.0:
            return None
        return root(reached, 0.0, 100.0, tolerance=1e-13) * per_unit if reached(0.0) < 0.0 else 0.0

    def needed(self, size: float, power: float) -> Needed | None:
        """See `Design`."""
        if size == 0.0:
            return None
        ratio = self._ratio(size / self.sd)
        shift = 0.0
        if self._power_at(0.0, ratio) < power:
            shift = root(lambda at: self._power_at(at, ratio) - power, 0.0, 100.0 * ratio, tolerance=1e-13)
        root_n = shift * (self.sd / size)
        if root_n > math.sqrt(MOST_ITEMS):
            return None
        n = max(math.ceil(root_n**2 * (1.0 - 1e-12)), self.least)
        return Needed(n, n)

    def critical(self, n: int) -> float | None:
        """See `Design`."""
        return None if n < self.least else self._z * self.sd / math.sqrt(n)

    def actual_alpha(self, n: int) -> float:
        """See `Design`."""
        return 0.0 if n < self.least else self.alpha


# A pilot whose items have several runs: more items, or more runs of each?


@dataclass(frozen=True, slots=True)
class RunsPlan(NormalDesign):
    """So many `runs` of each item by each system, which vary as those of a pilot of `items` items do."""

    runs: int = 1
    items: int = 1
    given: str = ""

    @classmethod
    def of(cls, parts: DifferenceVariance | None, question: Question, *, fixed: bool) -> RunsPlan:
        """The planned number of runs, the best one for `item_cost`, or the pilot's; raises InvalidTest.

        (cost + runs) (between + within / runs) is least at runs^2 = cost within / between (Cochran 1977, chapter 10).
        """
        cost = question.item_cost
        if cost is not None and (fixed or question.runs_per_item is not None):
            detail = "item_cost gives the best number of runs, of new items: leave it out with runs_per_item, or if runs are exchanged."
            raise InvalidTest.at("/item_cost", "superfluous", detail)
        if parts is None or not 1e-300 < parts.between + parts.within < 1e300:
            detail = (
                "A plan of runs needs a pilot with a difference of means, without weights and clusters, and several runs that vary, "
                "by less than 1e150."
            )
            raise InvalidTest.at("/design/request", "no_runs", detail)
        between, within = float(parts.between), float(parts.within)
        runs = question.runs_per_item or round(parts.within / parts.runs if parts.runs else 1)
        if cost is not None:
            best = math.sqrt(within / between) * math.sqrt(cost) if between else math.inf
            best = min(max(best, 1), MOST_RUNS)
            tried = math.floor(best), math.ceil(best)
            runs = min(tried, key=lambda run: (cost + run) * (between + within / run))
        ways = math.comb(2 * runs, runs) if fixed else 2
        tails = 2.0 if question.alternative == "two-sided" else 1.0
        return cls(
            math.sqrt(between + within / runs),
            question.level,
            question.alternative,
            inflation=1.0 / (2 * runs - 1) if fixed else 1.0,
            least=math.ceil(math.log(tails / question.level) / math.log(ways) - 1e-9),
            runs=runs,
            items=parts.items,
            given=(
                f"{_runs_each(runs)} of each item by each system. As in the pilot, the items' true differences have the variance "
                f"{between:.6g} and single runs, of both systems together, {within:.6g}; the mean is taken as normal, so that this is "
                "approximate."
            ),
        )

    @property
    def pilot_n(self) -> int:
        """The pilot's items."""
        return self.items

    def method_at(self, n: int) -> PowerMethod:
        """See `Design`."""
        return PowerMethod("normal", False, self.given)


def _runs_each(runs: int) -> str:
    return f"{runs:,} {'run' if runs == 1 else 'runs'}"


# Right or wrong items before there are any: unconditional power of the exact paired test (McNemar's)


METHOD = PowerMethod(
    "unconditional_binomial",
    True,
    "The probabilities that only one of the systems is right on an item; how many such items there will be is averaged over.",
)
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class BinaryDesign(Design):
    """`discordant` is the probability that exactly one system is right; it is held fixed when the difference varies."""

    discordant: float
    difference: float
    alpha: float
    alternative: Alternative

    @property
    def stated_effect(self) -> float:
        """p10 - p01."""
        return self.difference

    def method_at(self, n: int) -> PowerMethod:
        """See `Design`."""
        return METHOD

    def power(self, n: int, size: float) -> float:
        """See `Design`."""
        return self._of(size).power(n)

    def detectable(self, n: int, power: float) -> float | None:
        """See `Design`."""
        try:
            return detectable_difference(
                self.discordant, n, power, alpha=self.alpha, alternative=self.alternative
            )
        except OutOfReachError:
            return None

    def needed(self, size: float, power: float) -> Needed | None:
        """See `Design`."""
        try:
            sizes = sample_size(self._of(size), power)
        except OutOfReachError:
            return None
        return Needed(sizes.smallest, sizes.always)

    def critical(self, n: int) -> float | None:
        """With the number of discordant items that is expected of n."""
        wins = self._of(0.0).critical_wins(n)
        return None if wins is None else wins / n

    def actual_alpha(self, n: int) -> float:
        """See `Design`."""
        return self._of(0.0).level(n)

    def _of(self, size: float) -> PairedBinary:
        if size > self.discordant * (1.0 + _ROUNDING):
            raise InvalidTest.at(
                "/effect",
                "effect_too_large",
                f"The systems differ on {self.discordant:g} of the items, so that the difference is at most that.",
            )
        p01 = max((self.discordant - size) / 2.0, 0.0)
        side: Alternative = "two-sided" if self.alternative == "two-sided" else "greater"
        return PairedBinary(self.discordant - p01, p01, self.alpha, side)


def as_written(first: float, second: float, sign: int) -> float:
    """The sum or the difference of two decimals: 0.83 - 0.8 is 0.03."""
    return float(Fraction(repr(first)) + sign * Fraction(repr(second)))


def from_accuracies(
    u: float, v: float, discordance: float | None, correlation: float | None
) -> tuple[float, float]:
    """(p10, p01) of two accuracies and the discordance, or the correlation of being right.

    Raises InvalidTest where no two systems can be so.
    """
    difference = as_written(u, v, -1)
    if discordance is None:
        assert correlation is not None
        both = u * v + correlation * math.sqrt(u * (1.0 - u) * v * (1.0 - v))
        pointer, detail = "/design/correlation", "No two systems with these accuracies are so correlated."
        p10, p01 = u - both, v - both
        neither = 1.0 - u - v + both
    else:
        pointer = "/design/discordance"
        detail = "Two systems with these accuracies cannot differ on so many items, or on so few."
        p10, p01 = (discordance + difference) / 2.0, (discordance - difference) / 2.0
        both, neither = u - p10, 1.0 - u - p01
    if min(p10, p01, both, neither) < -_ROUNDING:
        raise InvalidTest.at(pointer, "not_attainable", detail)
    return max(p10, 0.0), max(p01, 0.0)


# The answer in one sentence, for people


def sentence_of(question: Question, solution: Solution, method: PowerMethod) -> str:
    """The solution in a sentence, with its certainty."""
    at = f"at alpha {question.alpha:g}, {question.alternative}"
    if question.comparisons > 1:
        at += f", {question.comparisons} comparisons"
    about = "" if method.exact else " (approximate)"
    items = "items" if solution.runs is None else f"items with {_runs_each(solution.runs)} each"
    if question.solve == "n":
        if solution.n is None:
            return (
                f"No number of items within the search finds a difference of {solution.effect:g} so "
                f"often ({at})."
            )
        after = ""
        if solution.n_always is not None and solution.n_always != solution.n:
            after = f", and every number from {solution.n_always:,} on has it"
        return (
            f"{solution.n:,} {items} find a true difference of {solution.effect:g} with probability "
            f"{question.power:g}{after}; {at}{about}."
        )
    assert solution.n is not None
    if solution.effect is None:
        return f"{solution.n:,} {items} find no true difference with probability {question.power:g} ({at})."
    return (
        f"{solution.n:,} {items} find a true difference of {solution.effect:.4g} with probability "
        f"{solution.power:.4g}; {at}{about}."
    )


# Of a curve about one number of items.
_POINTS = 16


def answer(question: Question, design: Design, digest: str) -> PowerRecord:
    """Answer a question; raises InvalidTest if the design is incomplete, or there is nothing to find."""
    sign = -1.0 if question.alternative == "less" else 1.0
    size = _size(question, design)
    wanted = question.power
    needed: Needed | None = None
    numbers = question.n or (() if design.pilot_n is None else (design.pilot_n,))
    if question.solve == "n":
        assert size is not None
        assert wanted is not None
        needed = design.needed(size, wanted)
        numbers = () if needed is None else (needed.n,)
    elif not numbers:
        raise InvalidTest.at("/n", "missing", "Give the number of items: a number, or a list of numbers.")
    points = [_point(question, design, n, size) for n in numbers]
    first = points[0] if points else None
    solution = Solution(
        effect=_signed(sign, size if first is None else first[1]),
        n=None if first is None else first[0],
        n_always=None if needed is None else needed.always,
        power=None if first is None else first[2],
    )
    if isinstance(design, RunsPlan) and first is not None:
        solution = replace(solution, runs=design.runs, standard_error=design.sd / math.sqrt(first[0]))
    critical = None if first is None else design.critical(first[0])
    method = design.method_at(first[0] if first is not None else design.pilot_n or 1)
    curve = points if len(points) > 1 else [*_around(design.rough, first, needed)]
    return PowerRecord(
        id=f"w_{digest}",
        solve=question.solve,
        solution=solution,
        wanted_power=None if question.solve == "power" else wanted,
        alpha=question.alpha,
        comparisons=question.comparisons,
        alternative=question.alternative,
        critical_difference=critical,
        actual_alpha=None if first is None else design.actual_alpha(first[0]),
        curve=tuple(
            PowerPoint(n, sign * size, power)
            for n, size, power in curve
            if size is not None and power is not None
        ),
        method=method,
        sentence=sentence_of(question, solution, method),
        warnings=tuple(_warnings(solution, critical)),
    )


Point = tuple[int, float | None, float | None]


def _size(question: Question, design: Design) -> float | None:
    """The size of the effect, in the direction of the alternative; None if it is to be solved."""
    if question.solve == "effect":
        return None
    effect = design.stated_effect if question.effect is None else question.effect
    if effect is None:
        detail = "Give the true difference to find: the least that would matter to you."
        raise InvalidTest.at("/effect", "missing", detail)
    if question.alternative == "two-sided":
        return abs(effect)
    size = -effect if question.alternative == "less" else effect
    if size < 0.0:
        detail = f"A test for {question.alternative} does not look for a difference of {effect:g}: change its sign, or the alternative."
        raise InvalidTest.at("/effect", "wrong_direction", detail)
    return size


def _point(question: Question, design: Design, n: int, size: float | None) -> Point:
    if size is not None:
        return n, size, design.power(n, size)
    assert question.power is not None
    effect = design.detectable(n, question.power)
    return n, effect, None if effect is None else design.power(n, effect)


def _around(design: Design, first: Point | None, needed: Needed | None) -> Iterable[Point]:
    """The power of the same effect with fewer items and with more."""
    if first is None or first[1] is None:
        return
    n, size = first[0], first[1]
    numbers = {max(round(n * 2.0 ** (step / 4.0 - 2.0)), 1) for step in range(_POINTS + 1)} | {n}
    if needed is not None and needed.always is not None:
        numbers.add(needed.always)
    for number in sorted(numbers):
        try:
            yield number, size, design.power(number, size)
        except InvalidTest:
            continue  # only the pilot's own number of items has a power


def _signed(sign: float, size: float | None) -> float | None:
    return None if size is None else sign * size


def _warnings(solution: Solution, critical: float | None) -> Iterable[WarningRecord]:
    if solution.n is not None and critical is None:
        detail = "With so few items that differ, no outcome is significant at this alpha."
        yield WarningRecord("alpha_unattainable", detail)
    elif solution.effect is None or solution.n is None or solution.power is None:
        detail = (
            "No difference reaches this power with these items."
            if solution.effect is None
            else ("Such a small difference needs more items than the search covers.")
        )
        yield WarningRecord("out_of_reach", detail)
