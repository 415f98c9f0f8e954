"""`enumeration`: every reachable vector of sums and the number of ways to reach it, where there are few.

Items with the same vector are counted together, so there are prod_j (c_j + 1) states instead of 2**n. The distinct
sums are added up directly, which needs no lattice and only the memory of a block of states.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lattice import Integers
from ..probability import Probability, from_fraction
from .form import JointForm

States = Callable[[Integers], NDArray[np.bool_]]
# The largest number of integers in a block of states.
_BLOCK = 1 << 18
# 2**n ways fit an int64 up to n = 62; beyond, they are Python integers.
_INT64_ITEMS = 62


def states_count(form: JointForm) -> int:
    """Return prod_j (c_j + 1), the number of combinations of heads, exactly."""
    return math.prod(count + 1 for count in form.counts.tolist())


def probability(form: JointForm, extreme: States) -> Probability:
    """Return P(S is extreme) as an exact fraction.

    An infinite error bound signals a fault: the ways do not add up to 2**n, or no state is extreme.
    """
    inside = total = 0
    for states, ways, times in _blocks(form):
        inside += times * int(ways[extreme(states)].sum())
        total += times * int(ways.sum())
    if total != 1 << form.nonzero or inside <= 0:
        return Probability(0.0, math.inf)
    return from_fraction(inside, form.nonzero)


def _blocks(form: JointForm) -> Iterator[tuple[Integers, NDArray[Any], int]]:
    """Yield (sums, ways, times) of each block: states, shape (P, k), ways to each, and its multiplicity."""
    order = np.argsort(-form.counts, kind="stable")
    table, counts = form.table[order], form.counts[order]
    held = _held(form)
    sums, ways = _listed(table[:held], counts[:held])
    rest = counts[held:].tolist()
    for chosen in itertools.product(*(range(count + 1) for count in rest)):
        times = math.prod(math.comb(count, heads) for count, heads in zip(rest, chosen, strict=True))
        shift = np.array(chosen, dtype=np.int64) @ table[held:]
        yield form.sums(sums + shift), ways, times


def _held(form: JointForm) -> int:
    """Return how many vectors, most frequent first, vary within a block."""
    counts = np.sort(form.counts)[::-1].tolist()
    sizes = itertools.accumulate((count + 1 for count in counts), operator.mul)
    width = len(form.origin) + form.table.shape[1]
    return max(sum(1 for _ in itertools.takewhile(lambda size: size * width <= _BLOCK, sizes)), 1)


def block_states(form: JointForm) -> int:
    """Return the number of states in a block."""
    return math.prod(count + 1 for count in np.sort(form.counts)[::-1][: _held(form)].tolist())


def listed(form: JointForm) -> tuple[Integers, NDArray[Any]]:
    """Return the lattice points T of all combinations, shape (P, r), and the numbers of ways to them, shape (P,)."""
    return _listed(form.vectors, form.counts)


def _listed(vectors: Integers, counts: Integers) -> tuple[Integers, NDArray[Any]]:
    points = np.zeros((1, vectors.shape[1]), dtype=np.int64)
    kind: type = np.int64 if int(counts.sum()) <= _INT64_ITEMS else object
    ways: NDArray[Any] = np.ones(1, dtype=kind)
    for vector, count in zip(vectors, counts.tolist(), strict=True):
        chosen: NDArray[Any] = np.array(_binomials(count), dtype=kind)
        steps = np.multiply.outer(np.arange(count + 1), vector)
        points = (points[None, :, :] + steps[:, None, :]).reshape(-1, vectors.shape[1])
        ways = np.multiply.outer(chosen, ways).reshape(-1)
    return points, ways


def _binomials(count: int) -> list[int]:
    """Return the binomial coefficients of 0 .. count heads, each from the last."""
    ways = [1]
    for heads in range(count):
        ways.append(ways[-1] * (count - heads) // (heads + 1))
    return ways


def counting_ns(form: JointForm) -> int:
    """Predict the nanoseconds of counting the ways: computed once, and added up for every block.

    Fitted to measured times for one to three frequent vectors; a digit of Python's integers has 30 bits.
    `python -m loadtest.bench --section plan` checks `enumeration` as a whole.
    """
    states, each = states_count(form), block_states(form)
    counts = np.sort(form.counts)[::-1][: _held(form)]
    if int(counts.sum()) <= _INT64_ITEMS:
        return 5 * states
    digits, largest = float(counts.sum()) / 30.0, float(counts[0]) / 30.0
    made = 250.0 + 8.0 * digits + 1.5 * largest * (digits - largest)
    return int(each * made + states * (30.0 + 0.6 * digits))


def counting_bytes(form: JointForm) -> int:
    """Predict the bytes of the ways to the states of a block."""
    return block_states(form) * (8 if form.nonzero <= _INT64_ITEMS else 40 + form.nonzero // 7)
