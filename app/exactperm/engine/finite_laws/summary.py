"""The null distribution of a sum of finite laws for display, and the least p-value that any outcome has."""

from __future__ import annotations

import math
from functools import partial

import numpy as np

from ..one_sum.summary import Law, masses_on
from ..probability import SMALLEST, Alternative
from ..tilting import bernstein_reach
from .fft import of_the_top
from .form import FiniteLaws
from .rational import all_ways, ways_of
from .spectrum import centre, spectrum
from .tilt import tilt_at

# Tilted mass outside the window; shorter laws are counted in integers.
_OUTSIDE, _FEW = 1e-16, 1 << 12


def law(form: FiniteLaws) -> Law:
    """The law of T where it has mass; to about 1e-15 (see `one_sum.summary`)."""
    if form.range <= _FEW and form.counts.sum() <= 64:
        ways, total = ways_of(form), all_ways(form)
        masses = np.array([int(number) / total for number in ways.coeffs()])
        return Law(np.arange(form.range + 1, dtype=np.int64), masses)
    untilted = tilt_at(form, 0.0)
    reach = math.ceil(bernstein_reach(math.log(2.0 / _OUTSIDE), float(form.tops.max()), form.variance)) + 1
    middle = round(form.mean)
    low, high = max(0, middle - reach), min(form.range, middle + reach)
    return masses_on(low, high, 2 * centre(form, untilted), partial(spectrum, form, untilted))


def smallest_attainable(form: FiniteLaws, alternative: Alternative) -> float:
    """The least p-value of all outcomes: that of the end of the range farthest from the mean, and of the other where it is as far."""
    if form.range == 0:
        return 1.0
    top, bottom = of_the_top(form).p, of_the_top(form.reflected).p
    if alternative != "two-sided":
        return max(top if alternative == "greater" else bottom, SMALLEST)
    above, below = form.range - form.mean, form.mean
    return max(top + bottom if above == below else top if above > below else bottom, SMALLEST)
