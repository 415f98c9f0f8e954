"""The plan for a statistic of several sums: enumerate, use the line or the grid, or sample.

Operations are nanoseconds of one ordinary core; `work` is the number that deciding about one state takes. The
constants are fitted to measured times: `python -m loadtest.bench --section plan` prints predicted and measured time
and memory. Run it after changing a method or a constant.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Reals
from ..one_sum.methods import fft_cost
from ..plan import Budget, Cost, FractionOverBudget, Plan, choose
from . import enumeration, monte_carlo
from .form import JointForm
from .grid import dp
from .grid.dp import support
from .grid.price import MOST_CELLS, box_of, grid_cost

# A lattice of rank one is a line, which `one_sum.fft` solves interval by interval.
LINE_CELLS = 1 << 24
# With more states, `enumeration` fits no budget and is not a candidate.
_MOST_STATES = 1 << 40
FRACTION_METHODS = ("enumeration", "dp")
# Nanoseconds of a call of the statistic, even for few states.
_CALL = 200_000


def plan(
    form: JointForm,
    budget: Budget,
    *,
    method: str,
    samples: int,
    work: float,
    bracket: Callable[[], Cost | None] = lambda: None,
) -> Plan:
    """Plan `method`, or the best one when it is `auto`.

    `bracket` prices a rigorous bracket where there is one; it is called only on request, or where no exact method
    fits. Raises the errors of `choose`.
    """
    candidates = costs(form, samples, work)
    if method == "bounds" or (
        method == "auto" and not any(cost.exact and cost.fits(budget) for cost in candidates)
    ):
        priced = bracket()
        candidates = candidates if priced is None else (*candidates, priced)
    names = {cost.method for cost in candidates}
    large = {
        "enumeration": f"takes a step for every choice of units, of which {form.nonzero} differ",
        "grid": f"takes a cell for every point of a lattice of rank {form.dimension}",
        "dp": f"takes all points of a lattice of rank {form.dimension} and at most {dp.MAX_ITEMS} units",
    }
    return choose(
        candidates,
        budget,
        method="grid" if method == "fft" and form.rank > 1 else method,
        where=f"the sums move on a lattice of rank {form.dimension}",
        endless={
            name: f"{name} {why}: too many here."
            for name, why in large.items()
            if name not in names and form.rank
        },
    )


def costs(form: JointForm, samples: int, work: float) -> tuple[Cost, ...]:
    """Return the costs of all applicable methods: exact ones, cheapest first, then Monte Carlo."""
    exact: list[Cost] = []
    if form.rank == 1:
        exact.append(_line(form, work))
    if form.rank >= 1:
        if box_of(form).cells <= MOST_CELLS:
            exact.append(Cost("grid", *grid_cost(form, work)))
        if form.nonzero <= dp.MAX_ITEMS and dp.support(form).cells <= MOST_CELLS:
            exact.append(_dp(form, work))
    if enumeration.states_count(form) <= _MOST_STATES:
        exact.append(_enumeration(form, work))
    exact.sort(key=lambda cost: cost.seconds)
    return (*exact, sampling(form, samples, work))


def gives_fraction(form: JointForm, method: str) -> bool:
    """Return whether the method's answer is an exact fraction."""
    return method == "enumeration" or (method == "dp" and form.nonzero <= dp.EXACT_ITEMS)


def cheapest_fraction(form: JointForm, budget: Budget, work: float) -> Cost:
    """Return the cheapest method that gives the exact fraction, or raise FractionOverBudget."""
    counting: list[Cost] = []
    if form.rank and dp.support(form).cells <= MOST_CELLS:
        counting.append(_integer_dp(form, work))
    if enumeration.states_count(form) <= _MOST_STATES:
        counting.append(_enumeration(form, work))
    for cost in sorted(counting, key=lambda cost: cost.seconds):
        if cost.fits(budget):
            return cost
    raise FractionOverBudget(FRACTION_METHODS, tuple(counting), budget)


def _line(form: JointForm, work: float) -> Cost:
    cells = int(form.high[0] - form.low[0]) + 1
    if cells > LINE_CELLS:
        return Cost("fft", int((20 + work) * cells) + 600_000, 1 << 62)
    solving = fft_cost(form.line())
    held = (80 + 8 * len(form.origin)) * cells + solving.bytes
    return Cost("fft", int((20 + work) * cells + 1e9 * solving.seconds) + 600_000, held)


def _dp(form: JointForm, work: float) -> Cost:
    cells = dp.support(form).cells
    return Cost("dp", int((1.6 * form.nonzero + work + 5) * cells) + 300_000, 20 * cells + (1 << 22))


def _integer_dp(form: JointForm, work: float) -> Cost:
    cells, passes = dp.support(form).cells, dp.passes(form)
    each = 1.6 if passes == 1 else 4.5
    steps = int((each * passes * form.nonzero + work + 5 * passes) * cells) + 300_000
    return Cost("dp", steps, 28 * cells + (1 << 22))


def _enumeration(form: JointForm, work: float) -> Cost:
    states = enumeration.states_count(form)
    width = form.table.shape[1] + len(form.origin)
    each = enumeration.block_states(form)
    counting = enumeration.counting_ns(form)
    steps = int((work + 6 * width) * states) + counting + _CALL * (states // each)
    held = 32 * width * each + enumeration.counting_bytes(form)
    return Cost("enumeration", steps, held + (1 << 22))


def sampling(form: JointForm, samples: int, work: float) -> Cost:
    """Return the cost of Monte Carlo."""
    width = form.table.shape[1]
    blocks = -(-samples // 4096)
    if monte_carlo.by_item(form):
        bits = form.nonzero
        each = bits * (1.5 + 0.1 * width)
        held = 9 * min(512 * bits, max(monte_carlo.BITS_AT_ONCE, bits)) + 8 * bits * width
    else:
        each, held = len(form.counts) * (6 + 2.0 * width), 0
    each += work + 8 * (width + len(form.origin))
    held += 64 * 4096 * (width + len(form.origin)) + (1 << 22)
    return Cost("monte_carlo", int((4096 * blocks) * each) + _CALL * blocks, held)


# The reachable states of several sums, for the range of a statistic where its law is sampled or cut.


# The largest box to search, in cells.
_MOST_LISTED = 1 << 18
# Nanoseconds per cell and shift.
_PER_CELL = 0.7


def can_list_states(form: JointForm) -> bool:
    """Return whether the box of all states is small enough to search."""
    return support(form).cells <= _MOST_LISTED


def listing_seconds(form: JointForm, value_ns: float) -> float:
    """Predict the time of `value_range`."""
    shifts = sum(count.bit_length() + 1 for count in form.counts.tolist())
    return float(1e-9 * support(form).cells * (_PER_CELL * shifts + value_ns))


def value_range(form: JointForm, values: Callable[[Sequence[Integers]], Reals]) -> tuple[float, float]:
    """Return the least and the largest value of a statistic over all states."""
    reached = np.argwhere(_reached(form)) + form.low
    attained = values(list(form.states(reached).T))
    return float(attained.min()), float(attained.max())


def _reached(form: JointForm) -> NDArray[np.bool_]:
    """Mark the cells of the box that some swaps reach."""
    shape = support(form).shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    reached = np.zeros(math.prod(shape), dtype=bool)
    reached[-int(np.dot(form.low, strides))] = True
    for vector, count in zip(form.vectors.tolist(), form.counts.tolist(), strict=True):
        step, done = sum(component * stride for component, stride in zip(vector, strides, strict=True)), 0
        # The cells already allow 0 to `done` steps of this vector; each shift adds up to as many again.
        while done < count:
            more = min(done + 1, count - done) * step
            before = reached.copy()
            # Every partial sum of vectors is in the box, so a shift along the flat array never crosses an edge.
            if more > 0:
                reached[more:] |= before[:-more]
            else:
                reached[:more] |= before[-more:]
            done = min(2 * done + 1, count)
    return reached.reshape(shape)
