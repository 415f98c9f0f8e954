"""A hypothesised difference other than zero: every unit's effect less its share of it."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import numpy as np

from ..engine.lattice import MAX_TOTAL, Integers, exact_total
from .additive_problem import Additive, Rounding
from .numbers import effects_on


class NotShiftableError(ValueError):
    """The statistic has no shift: its effects are not differences of means or sums."""


def shifted(problem: Additive, difference: Fraction) -> Additive:
    """The test of the hypothesis that the statistic's true value is `difference`.

    Under the shift model U = V + constant, the effects less their shares of the constant are exchangeable in
    sign, so that the paired-permutation test of them is exact (Lehmann 1975, *Nonparametrics*, section 2.5 on
    the shift model; Tritchler 1984 inverts it). A unit of `sizes[i]` items has the share sizes[i] / sum(sizes).
    The lattice becomes finer by the denominator of the shift.

    Raises
    ------
        NotShiftableError: effects that are not symmetric (`swap` is given, or |S| is tested), or that are signs or
            ranks; or the finer lattice overflows 2**62.
    """
    if problem.swap is not None or problem.absolute or not problem.shiftable:
        raise NotShiftableError(f"{problem.name} has no shift")
    sizes = np.ones(len(problem.stay), dtype=np.int64) if problem.sizes is None else problem.sizes
    if problem.rounding is not None:
        return _shifted_exactly(problem, problem.rounding, sizes, Fraction(difference))
    step = Fraction(difference) / (problem.unit * exact_total(sizes))
    most = int(np.abs(problem.stay).max(initial=0)) * step.denominator + int(sizes.max()) * abs(
        step.numerator
    )
    if most * len(sizes) >= MAX_TOTAL:
        raise NotShiftableError("the shifted effects cannot be summed exactly")
    stay: Integers = problem.stay * step.denominator - sizes * step.numerator
    return replace(problem, stay=stay, unit=problem.unit / step.denominator)


def _shifted_exactly(
    problem: Additive, rounding: Rounding, sizes: Integers, difference: Fraction
) -> Additive:
    """The same of effects that outgrow 60 bits; they may no longer do so when shifted."""
    if rounding.exact is None:
        raise NotShiftableError("the shifted effects cannot be summed exactly")
    step = difference / (rounding.exact_unit * exact_total(sizes))
    wide = rounding.exact[0] * step.denominator - sizes.astype(object) * step.numerator
    unit, (stay,), left = effects_on(rounding.exact_unit / step.denominator, wide)
    return replace(problem, stay=stay, unit=unit, rounding=left)
