"""What each method for finite laws would cost, and the choice (see `engine.planner`)."""

from __future__ import annotations

import math

from ..plan import Budget, Cost, FractionOverBudget, Plan
from ..planner import choose
from ..tilting import bernstein_reach
from .form import FiniteLaws

EXACT_METHODS = ("fft", "rational")
METHODS = (*EXACT_METHODS, "monte_carlo")

# Nanoseconds: of a tail, of a frequency screened by a gap, of a value of a law at a frequency, of a law at one.
_PER_TAIL, _PER_SCREENED, _PER_VALUE, _PER_FACTOR = 600_000, 4, 30, 80
# Frequencies that matter, of windows of any length.
_RETAINED = 250
# log of the mass outside a window, as `fft` has it.
_LOG_ODDS = 43.0
# Nanoseconds of a word of a coefficient for each doubling, and of a coefficient; of a sample of a law, and of its value.
_PER_WORD, _PER_COEFFICIENT, _PER_DRAW, _PER_DRAWN = 12, 300, 60, 16


def window_length(form: FiniteLaws) -> int:
    """The number of points of the untilted window."""
    reach = bernstein_reach(_LOG_ODDS, float(form.tops.max(initial=0.0)), form.variance)
    return min(form.range, 2 * math.ceil(reach)) + 1


def fft_cost(form: FiniteLaws) -> Cost:
    """The cost of both tails by `fft`."""
    length, size, groups = window_length(form), form.values.size, len(form.laws)
    retained = min(_RETAINED, length // 2 + 1)
    gaps = min(form.values.shape[1], 64)
    each = (
        _PER_TAIL + _PER_SCREENED * length * gaps // 2 + retained * (_PER_VALUE * size + _PER_FACTOR * groups)
    )
    return Cost("fft", 2 * each, 64 * min(length, 1 << 16) + 8 * length + 64 * min(size * retained, 1 << 19))


def rational_cost(form: FiniteLaws) -> Cost:
    """The cost of the exact fraction."""
    bits = sum(
        count * law.total.bit_length() for law, count in zip(form.laws, form.counts.tolist(), strict=True)
    )
    words, doublings = bits // 64 + 1, max(int(form.counts.sum()), 2).bit_length()
    coefficients = form.range + 1
    operations = coefficients * (words * doublings * _PER_WORD + _PER_COEFFICIENT) + 50_000
    return Cost("rational", operations, 3 * coefficients * (8 * words + 32))


def monte_carlo_cost(form: FiniteLaws, samples: int) -> Cost:
    """The cost of sampling."""
    each = _PER_DRAW * len(form.laws) + _PER_DRAWN * form.values.size
    return Cost("monte_carlo", (samples + 4096) * each + 100_000, 4096 * 16 * form.values.shape[1])


def plan(form: FiniteLaws, budget: Budget, *, method: str, samples: int) -> Plan:
    """The plan for `method`, or for the best one when it is `auto`. Raises what `choose` raises."""
    candidates = (fft_cost(form), rational_cost(form), monte_carlo_cost(form, samples))
    return choose(candidates, budget, method=method)


def fraction_cost(form: FiniteLaws, budget: Budget) -> Cost:
    """The cost of the exact fraction; raises FractionOverBudget."""
    cost = rational_cost(form)
    if not cost.fits(budget):
        raise FractionOverBudget(("rational",), (cost,), budget)
    return cost
