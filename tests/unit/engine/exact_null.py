"""The null distribution by other means than the engine's: the oracle of these tests.

Two of them. `enumerated` is the definition: every assignment, itertools.product, the statistic, the
comparison. `counted` is for more items: the number of assignments that reach each sum are the digits of
one big Python integer, prod_n (1 + 2**(digit w_n)), built by shifts and additions.
"""

import itertools
import math
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import flint

from exactperm.engine.probability import Alternative, Probability

BALL_BITS = 400
SMALLEST_NORMAL = Fraction(1, 2**1022)
# Bits of the big integer; heavier items are conditioned upon, one by one.
MAX_BITS = 25_000_000


@dataclass(frozen=True)
class Case:
    """A test as the data has it: local effects, and the tail of their sum that is tested."""

    stay: tuple[int, ...]
    swap: tuple[int, ...] | None = None
    alternative: Alternative = "two-sided"
    absolute: bool = False

    @property
    def pairs(self) -> list[tuple[int, int]]:
        swap = [-x for x in self.stay] if self.swap is None else self.swap
        return list(zip(self.stay, swap, strict=True))

    @property
    def observed(self) -> int:
        return sum(self.stay)

    def extreme(self, total: int) -> bool:
        """Whether a sum counts as at least as extreme as the observed one, by the definition."""
        t, xi = (abs(total), abs(self.observed)) if self.absolute else (total, self.observed)
        if self.alternative == "two-sided":
            return abs(t) >= abs(xi)
        return t >= xi if self.alternative == "greater" else t <= xi


def exact_p(case: Case) -> Fraction:
    return enumerated(case) if len(case.stay) <= 12 else counted(case)


def enumerated(case: Case) -> Fraction:
    inside = sum(case.extreme(sum(chosen)) for chosen in itertools.product(*case.pairs))
    return Fraction(inside, 2 ** len(case.stay))


def counted(case: Case) -> Fraction:
    sums = Sums(case.pairs)
    size, observed = abs(case.observed), case.observed
    if case.absolute and case.alternative == "less":
        ways = sums.at_least(-size) - sums.at_least(size + 1)
    elif case.absolute or case.alternative == "two-sided":
        ways = sums.all if size == 0 else sums.at_least(size) + sums.all - sums.at_least(1 - size)
    elif case.alternative == "greater":
        ways = sums.at_least(observed)
    else:
        ways = sums.all - sums.at_least(observed + 1)
    return Fraction(ways, sums.all)


class Sums:
    """How many of the 2**n assignments give a sum of at least so much."""

    def __init__(self, pairs: Sequence[tuple[int, int]]) -> None:
        self.base = sum(min(pair) for pair in pairs)
        weights = sorted(abs(stay - swap) for stay, swap in pairs)
        self.digit = len(weights) + 1
        self.all = 1 << len(weights)
        light = len(weights)
        while light and sum(weights[:light]) * self.digit > MAX_BITS:
            light -= 1
        self.heavy = subset_sums(weights[light:])
        assert len(self.heavy) <= 1 << 16, "too heavy for this oracle"
        self.top = sum(weights[:light])
        self.ways = 1
        for weight in weights[:light]:
            self.ways += self.ways << (weight * self.digit)
        self.light_all = 1 << light

    def at_least(self, total: int) -> int:
        return sum(count * self._light(total - self.base - sum_) for sum_, count in self.heavy.items())

    def _light(self, reach: int) -> int:
        if reach <= 0:
            return self.light_all
        if reach > self.top:
            return 0
        # The digits of a number add up to it modulo the base minus one, and 2**n is below that.
        return int((self.ways >> (reach * self.digit)) % ((1 << self.digit) - 1))


def subset_sums(weights: Iterable[int]) -> Counter[int]:
    sums = Counter({0: 1})
    for weight in weights:
        moved = Counter({total + weight: count for total, count in sums.items()})
        sums.update(moved)
    return sums


@dataclass(frozen=True)
class Miss:
    """How far a reported probability is from the truth; every figure is an upper bound of a ball."""

    relative: float
    log10: float


def miss(result: Probability, truth: Fraction) -> Miss:
    """|p / truth - 1|, p the double that is reported unless it underflows, and |log10 p - log10 truth|."""
    before = flint.ctx.prec
    flint.ctx.prec = BALL_BITS
    try:
        p = flint.arb(truth.numerator) / flint.arb(truth.denominator)
        reported = flint.arb(result.p) if truth >= SMALLEST_NORMAL else flint.arb(result.log_p).exp()
        off = flint.arb(result.log10_p) - p.log() / flint.arb(10).log()
        return Miss(_upper(reported / p - 1), _upper(off))
    finally:
        flint.ctx.prec = before


def _upper(ball: flint.arb) -> float:
    value = float(abs(ball).upper())
    assert math.isfinite(value)
    return value


def log10(truth: Fraction) -> float:
    return (math.log2(truth.numerator) - math.log2(truth.denominator)) * math.log10(2)


def check(result: Probability, truth: Fraction, *, within: float) -> None:
    """Check one exact answer: close to the truth, and within its certificate."""
    assert math.isfinite(result.relative_error_bound)
    assert math.isfinite(result.log_p)
    off = miss(result, truth)
    assert off.relative <= result.relative_error_bound, (off, result.relative_error_bound)
    # A logarithm of size x is a double: it cannot tell p from p (1 + x 2**-53).
    grain = abs(log10(truth)) * 2.0**-51
    assert off.relative <= within + (grain * 3 if truth < SMALLEST_NORMAL else 0.0)
    assert off.log10 <= within / math.log(10) + grain
    assert 0.0 < result.p <= 1.0
    if result.fraction is not None:
        numerator, log2_denominator = result.fraction
        assert Fraction(numerator, 2**log2_denominator) == truth
