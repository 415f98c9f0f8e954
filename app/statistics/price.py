"""What it costs to decide and to value states of a test, predicted before any method runs.

How many states double precision leaves open is looked up on a sample of states that swaps reach; a few of these are put
to balls of the first precision, to see whether they tie.
"""

from __future__ import annotations

import numpy as np

from ..engine.lattice import Integers
from ..engine.probability import Alternative
from .decisions import Decisions, settled
from .exact_value import UnresolvedError
from .joint_problem import Price
from .quantity import Quantity
from .state_cost import StateCost

_GROUPS = 64
_MOST_STATES = 4096
_LEAST_STATES = 256
_LOOK_NS = 1_500_000.0
_ENTRIES = 4_000_000
_CLOSER = 3
_FRACTION_NS = 1_500.0
# Doubles add these integers exactly, and by BLAS.
_EXACT = 2**53


def price_of(quantity: Quantity, stay: Integers, swap: Integers, side: Alternative) -> Price:
    """The price of a state of the test of `stay` against `swap`, shape (N, k) each."""
    cost = quantity.cost(peaks_of(stay, swap))
    if cost.undecided == 0.0:
        return Price()
    if cost.exact is not None and cost.exact < cost.filter + 1_000.0:
        # Integers of 64 bits, all at once: no look is worth its time.
        return Price(cost.call, cost.filter, 0.0, cost.filter)
    states = _sample(stay, swap, max(_LEAST_STATES, int(_LOOK_NS / cost.filter)))
    decisions = Decisions(quantity, stay.sum(axis=0).tolist(), side)
    if decisions.target is None:
        return Price(cost.call, cost.filter, 0.0, cost.filter, cost.undecided)
    value = quantity.approximate(list(states.T))
    yes, no = settled(value, decisions.target, side)
    undefined = np.zeros(len(states), dtype=bool) if value.undefined is None else value.undefined
    open_ = np.flatnonzero(np.broadcast_to(~(yes | no | undefined), (len(states),)))
    unknown = np.broadcast_to(~np.isfinite(value.error) & ~undefined, (len(states),))
    each = _each(decisions, states[open_[:_CLOSER]], cost)
    share, unvalued = len(open_) / len(states), float(np.count_nonzero(unknown)) / len(states)
    valued = unvalued * _valued(decisions, states[unknown][:_CLOSER], cost)
    return Price(cost.call, cost.filter, share * each, cost.filter + valued, cost.undecided)


def peaks_of(stay: Integers, swap: Integers) -> list[int]:
    """A bound on |x_i| under any assignment, shape (k,)."""
    largest = np.maximum(np.abs(stay), np.abs(swap))
    return [int(total) for total in largest.sum(axis=0).tolist()]


def _sample(stay: Integers, swap: Integers, most: int) -> Integers:
    """Sums under random assignments, shape (P, k): of at most 64 groups of units, each swapped as a whole."""
    units, width = stay.shape
    groups = min(units, _GROUPS)
    count = min(_MOST_STATES, most, max(_LEAST_STATES, _ENTRIES // (groups * width)))
    starts = np.arange(groups) * units // groups
    moved = np.add.reduceat(swap - stay, starts, axis=0)
    coins = np.random.default_rng(0).integers(0, 2, size=(count, groups))
    if float(np.abs(moved.astype(np.float64)).sum(axis=0).max()) < _EXACT:
        away = np.rint(coins.astype(np.float64) @ moved.astype(np.float64)).astype(np.int64)
    else:
        away = coins @ moved
    return np.asarray(stay.sum(axis=0) + away, dtype=np.int64)


def _each(decisions: Decisions, states: Integers, cost: StateCost) -> float:
    """Nanoseconds for a state that the filter leaves open: one precision, or all where a state does not tell."""
    if cost.exact is not None:
        return cost.exact
    climbs = 0
    for row in states.tolist():
        try:
            decisions.at_precision(row, 0)
        except UnresolvedError:
            climbs += row != decisions.observed
    share = climbs / max(len(states), 1)
    return cost.balls[0] + share * sum(cost.balls[1:])


def _valued(decisions: Decisions, states: Integers, cost: StateCost) -> float:
    """Nanoseconds for the exact value of a state that has no double."""
    if cost.exact is not None or not len(states):
        return cost.undecided + _FRACTION_NS
    return _each(decisions, states, cost)
