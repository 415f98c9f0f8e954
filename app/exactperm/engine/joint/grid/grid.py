"""`grid`: the law of a vector of sums on a window of an r-dimensional lattice, and regions of it.

This is the transform of `fft` in more dimensions: the characteristic function at the frequencies of a box, one inverse
FFT, and the sum over the cells where the statistic is extreme. The state of F1 under swaps has rank two (see
`joint_form`), where Zmigrod, Vieira & Cotterell 2022 (appendix B) convolve in four dimensions.

Certificate: the mass outside the box (Bernstein per axis), and the rounding of the transform in the l2 norm against the
l2 norm of the summand.
"""

from __future__ import annotations

import math

from ...probability import CERTAIN, Probability
from ..form import JointForm
from ..tilt import untilted
from . import dp
from .box import Box, Extreme, bounding_box
from .price import is_deep, plain_allowance
from .small import region_of, small_probability
from .sum import run_sum
from .tiles import Tiles

# The mass that the box of the untilted law may miss.
_OUTSIDE = 1e-17
_GOOD = 1e-10
# Nine certified digits of a p-value are enough on large boxes, where more would take much longer.
_LARGE_BOX = 1 << 20
_GOOD_ENOUGH = 1e-9
# The relative error where the plan has only the plain transform.
_GOOD_UNPLANNED = 2e-9
# Up to this many additions, `dp` answers instead of the tilt.
_DIRECT = 400_000_000
# Up to this many additions, `dp` costs less than a transform.
_TINY = 200_000


def probability(form: JointForm, extreme: Extreme, tiles: Tiles | None = None) -> Probability:
    """Return P(S is extreme); an infinite error bound proves nothing.

    `tiles` decides whether all states of a box are extreme, or none is, which allows tails of any depth.
    """
    if form.rank == 0:
        return CERTAIN
    direct = form.nonzero <= dp.MAX_ITEMS
    if direct and dp.operations(form) <= _TINY:
        return dp.probability(form, extreme)
    box = bounding_box(form, untilted(form), _OUTSIDE)
    plain = _untilted(form, box, extreme, tiles)
    deep = is_deep(form)
    good = (_GOOD if box.cells <= _LARGE_BOX else _GOOD_ENOUGH) if deep else _GOOD_UNPLANNED
    if plain.relative_error_bound <= good:
        return plain
    if deep and direct and dp.operations(form) <= _DIRECT:
        return dp.probability(form, extreme)
    # More additions would exceed the plan; where nothing is proven, its next method answers.
    small = small_probability(form, extreme, plain.log_p, tiles)
    return min(plain, small, key=lambda part: part.relative_error_bound)


def share(form: JointForm, states: Extreme) -> Probability:
    """Return P(S in states), to an absolute error of about 1e-16; the bound is infinite where it is smaller."""
    return _untilted(form, bounding_box(form, untilted(form), _OUTSIDE), states, None)


def _untilted(form: JointForm, box: Box, extreme: Extreme, tiles: Tiles | None) -> Probability:
    """Return the untilted sum over the box, to an absolute error of about 1e-16, or an upper bound if it is smaller."""
    runs = region_of(form, box, extreme, tiles, plain_allowance(box))
    if runs is None or len(runs) == 0:
        return Probability(math.log(box.outside or _OUTSIDE), math.inf)
    total, error, _ = run_sum(form, untilted(form), box, runs)
    bound = error + box.outside
    if total <= bound:
        return Probability(math.log(bound), math.inf)
    return Probability(math.log(min(total, 1.0)), bound / total)
