"""Brackets of plain doubles, for tests: the form and the region of effects that were never on a lattice.

The service goes by integers (`from_lattice`, `rounded_form.real_problem`); this is a second way to the same brackets.
"""

import math
from dataclasses import dataclass

import numpy as np

from exactperm.engine.lattice import Integers, Reals
from exactperm.engine.probability import UNIT_ROUNDOFF, Alternative
from exactperm.engine.real.form import CERTAIN, RealForm, RealRegion, Tail

# Weights smaller than this against the largest effect are raised to it, so that squares do not underflow.
_NEGLIGIBLE = 2.0**-200


@dataclass(frozen=True, slots=True)
class Observation:
    """The observed assignment: its X and S, the mean of S, and the coins of each group that are up."""

    x: float
    total: float
    centre: float
    chosen: Integers


def real_form(stay: Reals, swap: Reals | None = None) -> tuple[RealForm, Observation]:
    """Reduce finite local effects, shape (N,) each, to their form; `swap` None means -stay.

    S = centre + X with X as in the form, everything in the form's unit.
    """
    other = -stay if swap is None else swap
    unit = _unit(stay, other)
    stay, other = stay / unit, other / unit
    halves = np.abs(stay) if swap is None else np.abs(stay - other) / 2.0
    moving = halves > 0.0
    least = float(halves[moving].min(initial=1.0))
    exact = least >= _NEGLIGIBLE and (swap is None or not _rounding(stay, other).any())
    halves[moving] = np.maximum(halves[moving], _NEGLIGIBLE)
    distinct, group, counts = np.unique(halves[moving], return_inverse=True, return_counts=True)
    up = np.asarray((stay > other)[moving])
    x = math.fsum(np.where(up, halves[moving], -halves[moving]).tolist())
    total = math.fsum(stay.tolist())
    centre = 0.0 if swap is None else math.fsum([*stay.tolist(), *other.tolist()]) / 2.0
    sharp = exact and _on_a_grid(stay, other)
    slack = 0.0 if sharp else 2.0 * UNIT_ROUNDOFF * abs(x)
    if least < _NEGLIGIBLE:
        slack += 4.0 * _NEGLIGIBLE * len(halves)
    if swap is not None and not sharp:
        slack += 4.0 * UNIT_ROUNDOFF * (abs(total) + abs(centre) + (0.0 if exact else float(halves.sum())))
    chosen = np.bincount(group[up], minlength=len(distinct)).astype(np.int64)
    form = RealForm(distinct, counts.astype(np.int64), len(stay), unit, slack, exact, sharp)
    return form, Observation(x, total, centre, chosen)


def _unit(stay: Reals, other: Reals) -> float:
    """A power of two near the largest effect."""
    largest = max(float(np.abs(stay).max(initial=0.0)), float(np.abs(other).max(initial=0.0)))
    return math.ldexp(1.0, max(math.frexp(largest)[1], -1000)) if largest else 1.0


def _on_a_grid(stay: Reals, other: Reals) -> bool:
    """Whether doubles add up without rounding: single-precision scores do, for one.

    Sums of multiples of 2**e, halved, have 53 bits while the sum of them all is below 2**(e + 52).
    """
    total = float(np.abs(stay).sum() + np.abs(other).sum())
    grid = math.ldexp(1.0, max(math.frexp(total)[1] - 51, -1000))
    return not (np.remainder(stay, grid).any() or np.remainder(other, grid).any())


def _rounding(stay: Reals, other: Reals) -> Reals:
    """What stay - other loses to rounding, exactly (Knuth's two-sum)."""
    difference = stay - other
    back = difference - stay
    return np.asarray((stay - (difference - back)) - (other + back))


def real_region(
    form: RealForm, seen: Observation, alternative: Alternative, *, absolute: bool = False
) -> RealRegion:
    """The assignments at least as extreme as the observed one; the alternatives are those of `probability.region`."""
    if absolute and alternative == "less":
        outside = _both_sides(form, seen, strict=True)
        return RealRegion(outside.tails, complement=True)
    if absolute or alternative == "two-sided":
        return CERTAIN if seen.total == 0.0 else _both_sides(form, seen, strict=False)
    return RealRegion((_observed_tail(form, seen, upwards=alternative == "greater"),))


def _observed_tail(form: RealForm, seen: Observation, *, upwards: bool, strict: bool = False) -> Tail:
    x = seen.x if upwards else -seen.x
    chosen = seen.chosen if upwards else form.counts - seen.chosen
    return Tail(x - form.slack, x + form.slack, chosen, strict)


def _both_sides(form: RealForm, seen: Observation, *, strict: bool) -> RealRegion:
    """|S| >= |xi|, or |S| > |xi|: the tail beyond the observed sum, and the one opposite."""
    here = _observed_tail(form, seen, upwards=seen.total >= 0.0, strict=strict)
    if seen.centre == 0.0:
        return RealRegion((here, here))
    opposite = abs(seen.total) + (seen.centre if seen.total >= 0.0 else -seen.centre)
    return RealRegion((here, Tail(opposite - form.slack, opposite + form.slack, strict=strict)))
