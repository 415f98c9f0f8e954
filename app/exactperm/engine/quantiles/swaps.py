"""The statistic under all swaps or random ones, for any order statistics, interpolated or not."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers, Whole
from ..one_sum.monte_carlo import SAMPLES_PER_BLOCK, Estimate, blocks, stream
from ..probability import Alternative, Probability, from_fraction
from .form import QuantileForm, swapping

# Values to order at once.
_AT_ONCE = 1 << 20
# The largest quantile, in parts of its denominator, whose differences fit 64 bits.
_ROOM = 1 << 61
Swaps = NDArray[np.bool_]


def extreme(values: Whole, observed: int, side: Alternative) -> NDArray[np.bool_]:
    """Return which `values` of t, shape (P,), are at least as extreme as the observed one."""
    if side == "greater":
        return np.asarray(values >= observed, dtype=bool)
    if side == "less":
        return np.asarray(values <= observed, dtype=bool)
    return np.asarray(np.abs(values) >= abs(observed), dtype=bool)


def coins(form: QuantileForm) -> tuple[int, Integers]:
    """Return the number of units that a swap changes, and each item's index among them (the number for none)."""
    changing = swapping(form)
    by_unit = np.full(form.units, len(changing))
    by_unit[changing] = np.arange(len(changing))
    return len(changing), np.asarray(by_unit[form.unit])


def statistic(form: QuantileForm, of_item: Integers, swaps: Swaps) -> Whole:
    """Return t, shape (P,), for swaps of the units of `coins`, shape (P, units)."""
    kept = np.concatenate([swaps, np.zeros((len(swaps), 1), dtype=bool)], axis=1)
    each = kept[:, of_item]
    kind = np.int16 if len(form.values) < 1 << 15 else np.int32
    ranks_u, ranks_v = form.ranks_u.astype(kind), form.ranks_v.astype(kind)
    first, second = np.where(each, ranks_v, ranks_u), np.where(each, ranks_u, ranks_v)
    difference: Whole = _quantiles(form, first) - _quantiles(form, second)
    return difference


def _quantiles(form: QuantileForm, ranks: NDArray[np.signedinteger]) -> Whole:
    place, share = form.place, form.share
    if not share:
        chosen: Whole = form.values[np.partition(ranks, place - 1, axis=1)[:, place - 1]]
        return chosen
    ordered = np.partition(ranks, (place - 1, place), axis=1)
    values = form.values
    if max(abs(int(values[0])), abs(int(values[-1]))) * share.denominator >= _ROOM:
        values = values.astype(object)
    low, high = values[ordered[:, place - 1]], values[ordered[:, place]]
    between: Whole = low * (share.denominator - share.numerator) + high * share.numerator
    return between


def rows_at_once(form: QuantileForm) -> int:
    """Return the number of swaps tried at once, a power of two."""
    return int(1 << (max(min(_AT_ONCE // form.items, SAMPLES_PER_BLOCK), 1).bit_length() - 1))


def every(form: QuantileForm) -> Iterator[Whole]:
    """Yield t, in parts, for all choices of the units of `coins`."""
    units, of_item = coins(form)
    for swaps in all_swaps(units, rows_at_once(form)):
        yield statistic(form, of_item, swaps)


def all_swaps(units: int, most: int) -> Iterator[Swaps]:
    """Yield all choices of `units` units, at most `most` (a power of two) at once; shape (P, units)."""
    rows = min(most, 1 << units)
    for start in range(0, 1 << units, rows):
        number = np.arange(start, start + rows, dtype=np.int64)[:, None]
        yield (number >> np.arange(units)) & 1 == 1


def enumerated(form: QuantileForm, side: Alternative) -> Probability:
    """Return P(t is at least as extreme as observed), by all swaps."""
    observed = form.observed
    inside = sum(int(np.count_nonzero(extreme(values, observed, side))) for values in every(form))
    return from_fraction(inside, len(swapping(form)))


def most_extreme(form: QuantileForm) -> Probability:
    """Return P(t is the largest attainable), by all swaps."""
    largest, times = None, 0
    for values in every(form):
        most = values.max()
        if largest is None or most > largest:
            largest, times = most, 0
        times += int(np.count_nonzero(values == largest))
    return from_fraction(times, len(swapping(form)))


def draws(form: QuantileForm, samples: int, seed: int) -> Iterator[Whole]:
    """Yield `samples` independent values of t, in parts, with one stream per block as in `one_sum.monte_carlo`."""
    units, of_item = coins(form)
    for swaps in random_swaps(units, rows_at_once(form), samples, seed):
        yield statistic(form, of_item, swaps)


def random_swaps(units: int, rows: int, samples: int, seed: int) -> Iterator[Swaps]:
    """Yield `samples` random choices of `units` units, `rows` (a power of two) at once; shape (P, units)."""
    words = -(-units // 64)
    for block, size in blocks(samples):
        bits = stream(seed, block)
        for start in range(0, size, rows):
            raw = bits.random_raw(rows * words).astype("<u8").view(np.uint8)
            swaps = np.unpackbits(raw.reshape(rows, -1), axis=1, count=units, bitorder="little")
            yield swaps[: size - start].view(bool)


def sampled(
    form: QuantileForm, side: Alternative, *, samples: int, seed: int, kept: int = 0
) -> tuple[Estimate, Whole]:
    """Estimate P(t is at least as extreme as observed) by Monte Carlo; also return the first `kept` values."""
    observed = form.observed
    inside, held = 0, 0
    first: list[Any] = [form.values[:0]]
    for values in draws(form, samples, seed):
        inside += int(np.count_nonzero(extreme(values, observed, side)))
        if held < kept:
            first.append(values[: kept - held])
            held += len(first[-1])
    values_kept: Whole = np.concatenate(first)
    return Estimate(samples, seed, inside), values_kept
