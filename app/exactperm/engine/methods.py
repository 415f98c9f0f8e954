"""The methods for one sum, by name, on a canonical form and a region."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from .lattice import CanonicalForm, Integers
from .one_sum import dp, enumeration, fft, meet_in_the_middle, monte_carlo, rational
from .one_sum.monte_carlo import Estimate
from .probability import Probability, Region
from .real import bounds
from .real.bounds import Bracket
from .real.form import from_lattice

_EXACT: Mapping[str, Callable[[CanonicalForm, Region], Probability]] = {
    "fft": fft.probability,
    "dp": dp.probability,
    "rational": rational.probability,
    "enumeration": enumeration.probability,
    "meet_in_the_middle": meet_in_the_middle.probability,
}


_WITH_TIES: Mapping[
    str, Callable[[CanonicalForm, Region, tuple[int, ...]], tuple[Probability, Probability]]
] = {
    "fft": fft.with_ties,
    "dp": dp.with_ties,
    "rational": rational.with_ties,
    "enumeration": enumeration.with_ties,
    "meet_in_the_middle": meet_in_the_middle.with_ties,
}


def with_ties(
    method: str, form: CanonicalForm, region: Region, ties: tuple[int, ...]
) -> tuple[Probability, Probability]:
    """P(T in region) by an exact method, and the mass at `ties` (`probability.ties_of`), which costs little more."""
    return _WITH_TIES[method](form, region, ties)


def exactly(method: str, form: CanonicalForm, region: Region) -> Probability:
    """P(T in region) by one of `planner.EXACT_METHODS`."""
    return _EXACT[method](form, region)


def in_bounds(
    form: CanonicalForm,
    region: Region,
    precision: float,
    *,
    chosen: Integers | None = None,
    steps: int = bounds.MAX_STEPS,
) -> Bracket:
    """A rigorous bracket of P(T in region), as `real.bounds.bracket` computes it.

    `chosen`, shape (U,), is the observed assignment (`real.form.items_up`): what ties with it is then known to be in
    the region, however fine the lattice.
    """
    return bounds.bracket(*from_lattice(form, region, chosen), precision=precision, steps=steps)


def by_sampling(form: CanonicalForm, region: Region, *, samples: int, seed: int) -> Estimate:
    """P(T in region) by Monte Carlo."""
    return monte_carlo.estimate(form, region, samples=samples, seed=seed)
