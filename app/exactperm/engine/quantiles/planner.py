"""The plan for a difference of quantiles: count quadrants, or swaps, or sample.

Operations are nanoseconds of one ordinary core; `python -m loadtest.bench --section plan` prints predicted and measured
time. The cost of a quadrant is that of a few sampled ones.
"""

from __future__ import annotations

import numpy as np

from ..lattice import Integers
from ..plan import Budget, Cost, FractionOverBudget, Plan, choose
from ..probability import Alternative
from .form import Profile, QuantileForm, Staircase, swapping
from .methods import QuadrantLaw, between, law_of, region
from .swaps import rows_at_once

# No budget covers the enumeration of more units.
_MOST_UNITS = 40
# The largest number of items for quantiles between two values.
_MOST_BETWEEN = 20_000
FRACTION_METHODS = ("rational", "enumeration")
# Nanoseconds of a value of a sample, of a number beyond 64 bits, and of a block of samples.
_VALUE, _WIDE, _PART = 42, 400, 150_000
_TRIED = 8
# Steps with a log bound more than this below twice the largest log bound rarely matter.
_RARELY = 24.0


def plan(
    form: QuantileForm,
    known: Profile,
    side: Alternative,
    budget: Budget,
    *,
    method: str,
    samples: int,
    where: str = "",
) -> Plan:
    """Plan `method`, or the best one when it is `auto`; `where` begins its reason. Raises the errors of `choose`."""
    candidates = costs(form, known, side, samples)
    names = {cost.method for cost in candidates}
    endless = {}
    if "enumeration" not in names:
        why = f"enumeration takes a step for every choice of units, of which {len(swapping(form))} differ: too many here."
        endless["enumeration"] = why
    return choose(candidates, budget, method=method, where=where, endless=endless)


def costs(form: QuantileForm, known: Profile, side: Alternative, samples: int) -> tuple[Cost, ...]:
    """Return the costs of all applicable methods."""
    candidates = []
    if form.share == 0:
        candidates += _by_quadrants(form, known, region(form, known, side)[0])
    elif form.alone and form.items <= _MOST_BETWEEN:
        candidates += _by_places(form, side)
    units = len(swapping(form))
    if units <= _MOST_UNITS:
        candidates.append(Cost("enumeration", *_price(form, 1 << units)))
    return (*candidates, Cost("monte_carlo", *_price(form, samples)))


def cheapest_fraction(candidates: tuple[Cost, ...], budget: Budget) -> Cost:
    """Return the cheapest method that gives the exact fraction, or raise FractionOverBudget."""
    counting = tuple(
        sorted((c for c in candidates if c.method in FRACTION_METHODS), key=lambda cost: cost.seconds)
    )
    for cost in counting:
        if cost.fits(budget):
            return cost
    raise FractionOverBudget(FRACTION_METHODS, counting, budget)


def _price(form: QuantileForm, count: int) -> tuple[int, int]:
    """Predict the operations and bytes of `count` values of t."""
    rows = rows_at_once(form)
    each = _VALUE * form.items + (_WIDE if form.values.dtype == object or form.share.denominator > 1 else 0)
    parts = -(-count // rows)
    return count * each + _PART * parts, 24 * rows * form.items + 64 * form.items + (1 << 22)


def _by_places(form: QuantileForm, side: Alternative) -> list[Cost]:
    law, _ = between(form, side)
    if law is None:
        certain = 100_000 + 100 * form.items, 1 << 22
        return [Cost("dp", *certain), Cost("rational", *certain)]
    inexact, exact = law.price()
    held = (1 << 27) + 400 * form.items
    rational = [Cost("rational", int(exact), held)] if law.whole else []
    return [Cost("dp", int(inexact), held), *rational]


def _by_quadrants(form: QuantileForm, known: Profile, steps: Staircase | None) -> list[Cost]:
    if steps is None or len(steps) == 0:
        certain = 100_000 + 100 * form.items, 1 << 22
        return [Cost("dp", *certain), Cost("rational", *certain)]
    order = np.argsort(-steps.log_bound, kind="stable")
    bounds = steps.log_bound[order]
    looked = int(np.count_nonzero(bounds >= 2.0 * bounds[0] - _RARELY))
    law = law_of(form, known)
    inexact, _, held = _mean_price(law, steps, order[:looked])
    _, exact, held_exact = _mean_price(law, steps, order)
    fixed = 250_000 + 1_500 * form.items
    return [
        Cost("dp", fixed + int(2 * looked * inexact), (1 << 26) + int(held)),
        Cost("rational", fixed + int(2 * len(steps) * exact), (1 << 26) + int(form.units * held_exact / 16)),
    ]


def _mean_price(law: QuadrantLaw, steps: Staircase, order: Integers) -> tuple[float, float, float]:
    """Return the mean times of some quadrants, inexact and exact, and the most bytes."""
    some = np.unique(np.linspace(0, len(order) - 1, min(len(order), _TRIED)).astype(int))
    prices = [law.price(int(steps.at[step]), int(steps.below[step])) for step in order[some]]
    first, second, held = (list(column) for column in zip(*prices, strict=True))
    return sum(first) / len(first), sum(second) / len(second), max(held)
