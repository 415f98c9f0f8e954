"""A sum in two parts: the listed states of its heaviest sizes, and a window of the others.

A window is some dozen times as wide as the largest size, even if few values are reachable: three sizes, one of them
enormous, have eight sums. So T under a tilt is H + R, with the values of H listed and the law of R on a window, as in
`one_sum.heavy_weights`, whichever split costs least. If all sizes are listed, there is no window.

Numbers of ways are stored as logarithms, so that one list serves every tilt: P(H = h) is proportional to ways(h)
exp(theta h).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..lattice import CanonicalForm, Integers, Reals, once_per_form
from ..one_sum.enumeration import binomials
from ..one_sum.heavy_weights import bernstein_window, best_split
from ..one_sum.methods import window_cost
from ..plan import Cost

# Limits of states, of sums on the way to them, and of items of the listed sizes, for logarithms right to 1e-12.
MOST_STATES, MOST_LISTED, _MOST_ITEMS = 1 << 20, 1 << 21, 4_096
# Nanoseconds of a law, one of its states, a sum on the way to them, and a point of the window's cumulative law.
_PER_LAW, _PER_STATE, _PER_LISTED, _PER_POINT = 100_000, 40, 250, 60
# Nanoseconds for a state to look up the window of the others.
_PER_LOOK = 60
# The numbers of laws from a list, and of tails for a critical value, in a search.
_LAWS, LOOKS = 12, 40
# A split must shorten the window by this factor.
_SHORTER = 0.5


@dataclass(frozen=True, slots=True)
class Parts:
    """The `heavy` largest distinct sizes are listed: at most `states` sums, from `listed` sums on the way.

    `window` is the number of points of the others' window, 0 without others. `operations` are nanoseconds of a law.
    """

    heavy: int
    states: int
    listed: int
    window: int
    operations: int
    bytes: int

    @property
    def list_operations(self) -> int:
        """Nanoseconds of the list, which is computed once."""
        return _PER_LISTED * self.listed if self.heavy else 0

    @property
    def look_operations(self) -> int:
        """Nanoseconds of one tail of a law."""
        return _PER_LOOK * self.states if self.window and self.heavy else 0

    @property
    def cost(self) -> Cost:
        """The cost of a search for a tilt: some laws, tails of the null, and the list."""
        operations = _LAWS * self.operations + LOOKS * self.look_operations + self.list_operations
        return Cost("fft", operations, self.bytes)


@dataclass(frozen=True, slots=True)
class States:
    """The values of a sum, ascending, shape (H,), and the logarithms of the numbers of ways to reach them."""

    sums: Integers
    log_ways: Reals


@once_per_form
def parts_of(form: CanonicalForm) -> Parts:
    """Choose the cheapest split, without listing or transforming anything."""
    best = _parts(form, 0, 1, 0)
    sizes, counts = form.weights.astype(np.float64), form.counts.astype(np.float64)
    variances = np.concatenate([[0.0], np.cumsum(counts * sizes * sizes) / 4.0])
    ranges = np.concatenate([[0.0], np.cumsum(counts * sizes)])
    states, listed, items, span, divisor = 1, 0, 0, 0, 0
    for heavy in range(1, len(form.weights) + 1):
        size, count = int(form.weights[-heavy]), int(form.counts[-heavy])
        items += count
        listed += states * (count + 1)
        span, divisor = span + size * count, math.gcd(divisor, size)
        states = min(states * (count + 1), span // divisor + 1)
        left = len(form.weights) - heavy
        listing = _LAWS * _PER_STATE * states + _PER_LISTED * listed
        if left:
            listing += LOOKS * _PER_LOOK * states
        if max(states, 1) > MOST_STATES or listed > MOST_LISTED or items > _MOST_ITEMS:
            break
        if listing > best.cost.operations:
            break
        if left:
            length = bernstein_window(float(sizes[left - 1]), float(variances[left]), float(ranges[left]))
            if length > _SHORTER * best.window:
                continue
        split = _parts(form, heavy, states, listed)
        if split.cost.operations < best.cost.operations:
            best = split
    return best


def _parts(form: CanonicalForm, heavy: int, states: int, listed: int) -> Parts:
    light = form.without(heavy)
    operations, held, length = _PER_LAW + _PER_STATE * states, 64 * listed, 0
    if len(light.weights):
        window = window_cost(light)
        length = bernstein_window(float(light.weights[-1]), light.variance, float(light.range))
        operations += window.operations + _PER_POINT * length + (2 * _PER_LOOK * states if heavy else 0)
        held += window.bytes + 48 * length
    return Parts(heavy, states, listed, length, operations, held)


@once_per_form
def states_of(form: CanonicalForm) -> States:
    """List the states of the sizes that `parts_of` chooses; only 0 if it chooses none."""
    sums, logs = np.zeros(1, dtype=np.int64), np.zeros(1)
    heavy = parts_of(form).heavy
    if heavy == 0:
        return States(sums, logs)
    # The heaviest come first, as in the count: equidistant sums coincide early.
    for size, count in zip(
        form.weights[-heavy:][::-1].tolist(), form.counts[-heavy:][::-1].tolist(), strict=True
    ):
        chosen = np.arange(count + 1)
        ways = np.array([math.log(number) for number in binomials(count)])
        sums, logs = _merged(
            np.add.outer(sums, size * chosen).reshape(-1), np.add.outer(logs, ways).reshape(-1)
        )
    return States(sums, logs)


def _merged(sums: Integers, logs: Reals) -> tuple[Integers, Reals]:
    """Merge equal sums, ascending, with the logarithm of their total number of ways."""
    order = np.argsort(sums, kind="stable")
    sums, logs = sums[order], logs[order]
    first = np.flatnonzero(np.concatenate([[True], sums[1:] != sums[:-1]]))
    if len(first) == len(sums):
        return sums, logs
    peaks = np.maximum.reduceat(logs, first)
    where = np.repeat(np.arange(len(first)), np.diff(np.append(first, len(sums))))
    totals = np.add.reduceat(np.exp(logs - peaks[where]), first)
    return sums[first], peaks + np.log(totals)


# Forms of other numbers of items, and of rounded sizes.


# Up to this many sizes, largest remainders keep the mixture.
_FEW_SIZES = 64
# Up to this many items that round to zero count as the least size: negligible in the sum, but not among its values.
_CACHE_SIZE = 4_096


def resized(form: CanonicalForm, items: int) -> CanonicalForm:
    """Return the form of `items` items with the same mixture of sizes.

    Few sizes go by largest remainders, ties to the smaller. With many sizes, where most counts become 0 or 1, the
    remaining items go to evenly spaced sizes, so that small and large ones stay in proportion.
    """
    zeros = form.items - form.nonzero
    shares = np.concatenate([[zeros], form.counts]).astype(np.float64) * (items / form.items)
    counts = np.floor(shares).astype(np.int64)
    left = items - int(counts.sum())
    if len(shares) <= _FEW_SIZES:
        counts[np.argsort(-(shares - counts), kind="stable")[:left]] += 1
    else:
        reached = np.cumsum(shares - counts)
        reached *= left / max(float(reached[-1]), 1e-300)
        extra = np.floor(reached + 0.5).astype(np.int64)
        counts[0] += extra[0]
        counts[1:] += extra[1:] - extra[:-1]
    kept = np.flatnonzero(counts[1:])
    return centred(form.weights[kept], counts[1:][kept], form.step, items)


def coarser(form: CanonicalForm, steps_per_sd: int) -> CanonicalForm:
    """Round sizes to the standard deviation of their sum over `steps_per_sd`, unless that is at most a step.

    Sizes far above the others (`heavy_weights`) make separate humps, and do not count in that deviation, which
    would round the others to zero.
    """
    light = form.without(best_split(form).heavy)
    step = math.isqrt(int(light.variance)) // steps_per_sd
    if step <= 1:
        return form
    rough = np.rint(form.weights / step).astype(np.int64)
    if int(form.counts[rough == 0].sum()) <= _CACHE_SIZE:
        rough = np.maximum(rough, 1)
    weights, where = np.unique(rough, return_inverse=True)
    counts = np.bincount(where, weights=form.counts).astype(np.int64)
    weights, counts = weights[weights > 0], counts[weights > 0]
    divisor = int(np.gcd.reduce(weights))
    return centred(weights // divisor, counts, form.step * step * divisor, form.items)


def centred(weights: Integers, counts: Integers, step: int, items: int) -> CanonicalForm:
    """Return the form of sums of signed sizes, `step` w_j / 2 each, shape (U,)."""
    total = sum(weight * count for weight, count in zip(weights.tolist(), counts.tolist(), strict=True))
    return CanonicalForm(-step * total // 2, step, weights, counts, items)
