"""Branch and bound over the heaviest items.

A few items far heavier than the others would stretch the circle, the sum of a handful of items is not smooth, and
near the end of the range hardly any assignment is left. In all three cases the heaviest items are decided one by
one (as `heavy_weights` does for one sum): a state that the lighter items can no longer bring over the threshold is
outside the tail, one that they can no longer bring back is inside, and few stay open.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..lattice import Reals
from ..probability import LN2, UNIT_ROUNDOFF
from .form import RealForm, Tail

MAX_OPEN = 1 << 21
# Up to this n, all 2**n sums are listed where polynomials fail, as for atoms very close to each other.
MOST_LISTED = 20
# Elementary steps of adding, comparing and keeping one state.
PER_STATE = 6
# Below this cost of the undivided problem, branching gains nothing.
_CHEAP = 150_000
# Elementary steps of predicting a cost: fixed, and per group, up to as many groups as `price` samples. These, PER_STATE
# and the constants of `price` are checked by `python -m loadtest.bench --section plan`.
_PER_PRICE, _PER_PRICED_GROUP, _MOST_PRICED = 40_000, 60, 2048
# The cost is predicted after each of the first items, and then ever less often.
_PRICED_ALL = 16
# The mass of a state of more items could underflow.
_MAX_ITEMS = 900


@dataclass(frozen=True, slots=True)
class Branches:
    """The open states of the heavy items, their sums and masses, shape (B,); and the mass of the decided ones.

    `light` is the form of the items left to decide; `path` is the open state of the observed assignment, if any;
    `inside` is the mass of the states decided to be in the tail. Masses are in units of exp(log_scale),
    and exact where no items are equal. The `sums` are off by at most `rounding`.
    """

    light: RealForm
    sums: Reals
    masses: Reals
    path: int | None
    inside: float = 0.0
    log_scale: float = 0.0
    rounding: float = 0.0
    steps: int = 0

    def tail(self, whole: Tail, state: int) -> Tail:
        """Return the tail of the light items' sum that leads from an open state into the `whole` tail."""
        known = whole.chosen is not None and state == self.path
        chosen = whole.chosen[: len(self.light.halves)] if known and whole.chosen is not None else None
        return whole.seen_from(float(self.sums[state]), self.rounding, chosen)


def branch(
    form: RealForm, tail: Tail, price: Callable[[RealForm], int], most_open: int = MAX_OPEN
) -> tuple[Branches, int]:
    """Decide as many of the heaviest items as minimise the total; `price(light)` is the cost of one tail of the rest.

    Stops before there are more than `most_open` states. Returns the branches and the total's predicted steps.
    """
    state = best = _forced(form, tail)
    if len(best.light.halves) == 0 or len(best.sums) == 0:
        return best, best.steps
    least, pricing = best.steps + price(best.light), _priced(best.light)
    spread = decided = 0
    while least > _CHEAP and len(state.light.halves) and 0 < len(state.sums) <= most_open // 2:
        count = int(state.light.counts[-1])
        spread += count
        next_steps = PER_STATE * len(state.sums) * (count + 1)
        if spread > _MAX_ITEMS or pricing + state.steps + next_steps > least:
            break
        state = _decide(form, state, tail)
        decided += 1
        cost = state.steps
        if len(state.light.halves) and len(state.sums):
            if decided % max(decided // _PRICED_ALL, 1):
                continue
            pricing += _priced(state.light)
            cost += len(state.sums) * price(state.light)
        if cost < least:
            best, least = state, cost
    return replace(best, steps=best.steps + pricing), least + pricing


def _priced(light: RealForm) -> int:
    """Return the elementary steps of predicting the cost of the rest."""
    return _PER_PRICE + _PER_PRICED_GROUP * min(len(light.halves), _MOST_PRICED)


def decide_all(form: RealForm, tail: Tail) -> Branches:
    """Decide every item; the states still open lie on the threshold, to within rounding."""
    state = _forced(form, tail)
    while len(state.light.halves) and len(state.sums):
        state = _decide(form, state, tail)
    return state


def _margin(form: RealForm, tail: Tail, decided: int) -> float:
    """Bound the rounding of a sum of `decided` groups, and of its distance from the tail."""
    if form.sharp:
        return 0.0
    return 4.0 * UNIT_ROUNDOFF * (decided + 4) * (form.reach + abs(tail.outer) + abs(tail.inner))


def _forced(form: RealForm, tail: Tail) -> Branches:
    """Return the first state: items so heavy that a single one down leaves the tail are all up."""
    rounding = _margin(form, tail, 0)
    reach = math.fsum((form.counts * form.halves).tolist())
    spare = reach - tail.outer + rounding
    light = int(np.searchsorted(2.0 * form.halves, spare, side="right"))
    if spare < 0.0:
        return Branches(form.lightest(0), np.zeros(0), np.zeros(0), None)
    if light == len(form.halves):
        return Branches(form, np.zeros(1), np.ones(1), 0)
    forced = form.counts[light:]
    sums = np.array([math.fsum((forced * form.halves[light:]).tolist())])
    path = 0 if tail.chosen is not None and bool((tail.chosen[light:] == forced).all()) else None
    log_scale = -LN2 * int(forced.sum())
    state = Branches(form.lightest(light), sums, np.ones(1), path, 0.0, log_scale, rounding, PER_STATE)
    return _sifted(state, tail)


def _decide(form: RealForm, state: Branches, tail: Tail) -> Branches:
    """Decide the heaviest remaining group of equal items."""
    group = len(state.light.halves) - 1
    half, count = float(state.light.halves[-1]), int(state.light.counts[-1])
    up = np.arange(count + 1)
    sums = np.add.outer(state.sums, half * (2 * up - count)).reshape(-1)
    masses = np.multiply.outer(state.masses, _binomial(count)).reshape(-1)
    path = None
    if state.path is not None and tail.chosen is not None:
        path = state.path * (count + 1) + int(tail.chosen[group])
    decided = replace(
        state,
        light=state.light.lightest(group),
        sums=sums,
        masses=masses,
        path=path,
        rounding=_margin(form, tail, len(form.halves) - group),
        steps=state.steps + PER_STATE * len(sums),
    )
    return _sifted(decided, tail)


def _sifted(state: Branches, tail: Tail) -> Branches:
    """Keep open the states that the light items can still bring to either side of the threshold."""
    groups = len(state.light.halves)
    reach = state.light.reach * (1.0 + 2.0 * UNIT_ROUNDOFF * (groups + 4)) + state.rounding
    inside = state.sums - reach > tail.inner
    still = ~inside & (state.sums + reach >= tail.outer)
    path = state.path
    if path is not None:
        path = int(np.count_nonzero(still[:path])) if still[path] else None
    return replace(
        state,
        sums=state.sums[still],
        masses=state.masses[still],
        path=path,
        inside=state.inside + float(state.masses[inside].sum()),
    )


def _binomial(count: int) -> Reals:
    """Return the masses of Binomial(count, 1/2)."""
    return np.array([math.comb(count, up) / (1 << count) for up in range(count + 1)])
