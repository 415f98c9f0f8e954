"""The shift algorithm on a grid: it adds positive numbers, so every cell keeps its digits.

The direct form of Algorithm 3 of Zmigrod, Vieira & Cotterell 2022 in r dimensions. It costs n passes over the whole
support, suits small problems with small p-values, and checks `grid`. Counting in integers, modulo a few primes
where the ways exceed 64 bits, gives the p-value as a fraction.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ...lattice import Integers, Reals
from ...probability import IMPOSSIBLE, LN2, UNIT_ROUNDOFF, Probability, from_fraction
from ..form import JointForm
from .box import Box, Extreme, mask_of

# The number of all ways, 2**n, must fit a double.
MAX_ITEMS = 1000
# The most items whose number of ways is exact as a double, and as an int64.
EXACT_ITEMS, _INT64_ITEMS = 53, 62
_PRIME_BITS = 62
_LISTED = 1 << 16


def support(form: JointForm) -> Box:
    """Return the box of all values of T."""
    return Box(form.low, tuple(size + 1 for size in (form.high - form.low).tolist()), 0.0)


def operations(form: JointForm) -> int:
    """Return the exact number of additions of cells."""
    return form.nonzero * support(form).cells


def probability(form: JointForm, extreme: Extreme) -> Probability:
    """Return P(S is extreme) for n <= MAX_ITEMS; relative error at most about n roundoffs, none for n <= 53.

    IMPOSSIBLE where no extreme state can be reached.
    """
    ways = counts(form)[mask_of(form, support(form), extreme)]
    if not ways.any():
        return IMPOSSIBLE
    if form.nonzero <= EXACT_ITEMS:
        return from_fraction(int(ways.astype(np.int64).sum()), form.nonzero)
    log_p = min(math.log(math.fsum(_python_floats(ways))) - form.nonzero * LN2, 0.0)
    return Probability(log_p, UNIT_ROUNDOFF * (8.0 + 1.01 * form.nonzero + 2.0 * abs(log_p)))


def fraction(form: JointForm, extreme: Extreme) -> Probability:
    """Return P(S is extreme) as an exact fraction, from ways in integers or modulo primes with a product above 2**n."""
    mask = mask_of(form, support(form), extreme)
    if form.nonzero <= _INT64_ITEMS:
        return from_fraction(int(_ways(form, np.zeros(mask.size, np.int64))[mask].sum()), form.nonzero)
    inside, product = 0, 1
    for prime in _primes(passes(form)):
        residue = _total(_ways(form, np.zeros(mask.size, np.uint64), prime)[mask]) % prime
        # Chinese remainders: the only number below the product with this residue and the earlier ones.
        inside += product * ((residue - inside) * pow(product, -1, prime) % prime)
        product *= prime
    return from_fraction(inside, form.nonzero)


def passes(form: JointForm) -> int:
    """Return the number of passes of `fraction` over the support, one per prime."""
    return 1 if form.nonzero <= _INT64_ITEMS else form.nonzero // _PRIME_BITS + 1


def counts(form: JointForm) -> Reals:
    """Return the number of ways to T = x on the whole support, shape support(form).shape."""
    return _ways(form, np.zeros(support(form).cells))


def _ways(form: JointForm, cells: NDArray[Any], modulus: int | None = None) -> NDArray[Any]:
    shape = support(form).shape
    strides = [math.prod(shape[axis + 1 :]) for axis in range(len(shape))]
    before, after = np.empty_like(cells), cells
    after[-int(np.dot(form.low, strides))] = 1
    for vector, count in zip(form.vectors.tolist(), form.counts.tolist(), strict=True):
        # Every partial sum is in the support, so a step along the flat array never takes mass across an edge.
        step = sum(component * stride for component, stride in zip(vector, strides, strict=True))
        size = len(cells) - abs(step)
        # The source and target cells of a swap, and the cells without a source.
        source, target, rest = (
            (slice(size), slice(step, None), slice(step))
            if step > 0
            else (slice(-step, None), slice(size), slice(size, None))
        )
        for _ in range(count):
            before, after = after, before
            np.add(before[target], before[source], after[target])
            after[rest] = before[rest]
            if modulus is not None:
                # Sums are below twice the modulus. Subtracting it wraps smaller ones to huge numbers; take the minimum.
                np.subtract(after, np.uint64(modulus), out=before)
                np.minimum(after, before, out=after)
    return after.reshape(shape)


def _python_floats(numbers: Reals) -> Iterator[float]:
    """Yield Python floats in chunks; a list of all would take five times the array's memory."""
    for start in range(0, len(numbers), _LISTED):
        yield from numbers[start : start + _LISTED].tolist()


def _total(residues: Integers) -> int:
    """Return the exact sum of numbers below 2**63, in two halves."""
    return (int((residues >> np.uint64(32)).sum()) << 32) + int((residues & np.uint64(0xFFFFFFFF)).sum())


def _primes(number: int) -> Iterator[int]:
    """Yield the largest primes below 2**63."""
    candidate = (1 << 63) - 1
    while number:
        if flint.fmpz(candidate).is_prime():
            number -= 1
            yield candidate
        candidate -= 2
