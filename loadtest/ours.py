"""Call the engine for the benchmark: from effect arrays to p-value, including the canonical form."""

from collections.abc import Callable

from exactperm.engine.lattice import CanonicalForm, Integers, canonical_form
from exactperm.engine.one_sum import dp, fft, monte_carlo
from exactperm.engine.probability import Probability, Region, region

Method = Callable[[CanonicalForm, Region], Probability]


def p_value(stay: Integers, swap: Integers, method: Method) -> float:
    """Two-sided exact p-value by one of the engine's methods."""
    form = canonical_form(stay, swap)
    return method(form, region(form, int(stay.sum()), "two-sided")).p


def by_fft(stay: Integers, swap: Integers) -> float:
    """Run the default method."""
    return p_value(stay, swap, fft.probability)


def by_dp(stay: Integers, swap: Integers) -> float:
    """Run the shift algorithm."""
    return p_value(stay, swap, dp.probability)


def by_monte_carlo(stay: Integers, swap: Integers, samples: int, seed: int) -> float:
    """Sample by groups of equal weights."""
    form = canonical_form(stay, swap)
    tail = region(form, int(stay.sum()), "two-sided")
    return monte_carlo.estimate(form, tail, samples=samples, seed=seed).p
