"""What questions about power cost, before any of them is computed: counted in laws, of nanoseconds each."""

from __future__ import annotations

import math

from ..lattice import CanonicalForm
from ..one_sum.planner import fft_cost
from ..plan import Cost
from .parts import LOOKS, parts_of
from .tilted_sum import CERTIFIED_BELOW, LONGEST_CERTIFIED_S, LevelTest, is_attainable

# Laws of a search for a tilt.
SEARCH = 12
# A tail that a critical value is found from, besides its states.
_PER_LOOK = 20_000
# Certified tails: of a level that p may meet exactly, so that doubles do not tell; of a small one, and of one of which they tell nothing.
_NEAR, _BITS = 2, 40
_SMALL, _SMALL_LEVEL, _LEAST, _LEAST_LEVEL = 4, CERTIFIED_BELOW, 150, 1e-10
# Means on the way to a tilt.
_MEANS, _PER_MEAN, _PER_SIZE = 80, 20_000, 30


def laws_cost(form: CanonicalForm, test: LevelTest, laws: int, *, meets: bool = True) -> Cost:
    """The cost of a critical value, and of `laws` other laws; the level decides how many tails have to be certified.

    `meets`: whether it is to be expected that a p-value meets a level of few bits.
    """
    if not is_attainable(form, test):
        return Cost("fft", _PER_LOOK, 0)
    parts = parts_of(form)
    looked = LOOKS * (_PER_LOOK + 2 * parts.look_operations)
    operations = (laws + 2) * parts.operations + parts.list_operations + looked
    if parts.window:
        operations += math.ceil(1e9 * _certified(form, test.alpha, meets=meets))
    operations += _MEANS * (_PER_MEAN + _PER_SIZE * len(form.weights))
    return Cost("fft", operations, parts.bytes)


def _certified(form: CanonicalForm, alpha: float, *, meets: bool) -> float:
    """Seconds of tails that are certified: at most, but for an alpha that is made to be a p-value."""
    each = fft_cost(form).seconds
    if alpha < _SMALL_LEVEL:
        return each * (_LEAST if alpha < _LEAST_LEVEL else _SMALL)
    exact = meets and alpha.as_integer_ratio()[1] <= 1 << _BITS
    return _NEAR * each if exact and each <= LONGEST_CERTIFIED_S else 0.0
