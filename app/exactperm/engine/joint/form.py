"""Vectors of sums on the lattice that their differences span: the canonical form of m additive functions.

Under a swap only the difference d_n = stay_n - swap_n enters, so the state of k sums moves on the lattice
that the differences span, of rank r <= k: F1 of the paper's four functions needs rank two, WER with shared
references rank one (Zmigrod, Vieira & Cotterell 2022, appendix B, with a reduced basis).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..lattice import MAX_TOTAL, CanonicalForm, Integers, LatticeOverflowError, Reals, exact_total
from .lattice import columns_of, lattice_of, rank_of

# Coordinates are packed into one int64 to find equal vectors.
_PACKED_BITS = 62


@dataclass(frozen=True, eq=False)
class JointForm:
    """S = origin + sign * (T @ basis)[index] with T = sum_j vectors[j] * Binomial(counts[j], 1/2).

    `origin`, `index` and `sign` (k,): which of the m distinct sums each of the k is, and with which sign.
    `basis` (r, m), None for the identity; `vectors` (U, r) and `table` = vectors @ basis (U, m), distinct
    rows; `counts` (U,). `heads` (U,): how many of each vector make up the observed sums. Every sum inside
    the box of all T fits an int64.
    """

    origin: Integers
    index: Integers
    sign: Integers
    basis: Integers | None
    vectors: Integers
    table: Integers
    counts: Integers
    heads: Integers
    items: int

    @property
    def rank(self) -> int:
        """r, the number of axes; the dimension of the lattice wherever that is small enough for a grid."""
        return int(self.vectors.shape[1])

    @cached_property
    def dimension(self) -> int:
        """The rank of the differences, which is the dimension of the space that the sums vary in."""
        return self.rank if self.basis is not None else rank_of(self.table)

    @cached_property
    def nonzero(self) -> int:
        """n, the number of items whose swap changes some sum."""
        return int(self.counts.sum())

    @cached_property
    def low(self) -> Integers:
        """The smallest value of each coordinate of T, shape (r,)."""
        return np.asarray((np.minimum(self.vectors, 0) * self.counts[:, None]).sum(axis=0), dtype=np.int64)

    @cached_property
    def high(self) -> Integers:
        """The largest value of each coordinate of T, shape (r,)."""
        return np.asarray((np.maximum(self.vectors, 0) * self.counts[:, None]).sum(axis=0), dtype=np.int64)

    @cached_property
    def covariance(self) -> Reals:
        """Covariance of T, shape (r, r)."""
        steps = self.vectors.astype(np.float64)
        return np.asarray((steps * self.counts[:, None]).T @ steps / 4.0)

    @cached_property
    def observed(self) -> Integers:
        """T of the data as observed, shape (r,)."""
        return np.asarray(self.heads @ self.vectors, dtype=np.int64)

    def states(self, coordinates: Integers) -> Integers:
        """The sums S at lattice points T, shape (P, r) -> (P, k)."""
        return self.sums(coordinates if self.basis is None else coordinates @ self.basis)

    def sums(self, distinct: Integers) -> Integers:
        """The sums S where the distinct ones have moved by `distinct`, shape (P, m) -> (P, k)."""
        if distinct.shape[1] == 0:
            return np.broadcast_to(self.origin, (len(distinct), len(self.origin)))
        return np.asarray(self.origin + self.sign * distinct[:, self.index], dtype=np.int64)

    @cached_property
    def steps(self) -> Integers:
        """How much each of the k sums changes for a step along each axis of T, shape (r, k)."""
        basis = np.eye(self.rank, dtype=np.int64) if self.basis is None else self.basis
        if basis.shape[1] == 0:
            return np.zeros((self.rank, len(self.origin)), dtype=np.int64)
        return np.asarray(self.sign * basis[:, self.index], dtype=np.int64)

    def line(self) -> CanonicalForm:
        """The form of T when the rank is at most one: a sum of positive weights."""
        order = np.argsort(self.vectors[:, 0]) if self.rank else slice(None)
        weights = self.vectors[order, 0] if self.rank else np.zeros(0, dtype=np.int64)
        return CanonicalForm(0, 1, weights, self.counts[order], self.items)


def joint_form(stay: Integers, swap: Integers) -> JointForm:
    """Reduce stay and swap effects, shape (N, k) each, to the lattice that their differences span.

    Raises LatticeOverflowError when a sum of absolute effects is 2**60 or more.
    """
    _require_room(stay, swap)
    difference = stay - swap
    moving = np.asarray((difference != 0).any(axis=1))
    fixed = np.asarray(np.where(moving[:, None], swap, stay).sum(axis=0), dtype=np.int64)
    difference = difference[moving]
    # Z = swap + B d = (swap + d) - (1 - B) d: a vector and its negative are one up to a shift of the origin.
    negative = _leading(difference) < 0
    origin = fixed + difference[negative].sum(axis=0)
    rows, counts, heads = _distinct(np.where(negative[:, None], -difference, difference), ~negative)
    columns = columns_of(rows)
    table = columns.table
    lattice = lattice_of(table, counts) if len(table) else None
    basis, vectors = (None, table) if lattice is None else (lattice.basis, lattice.vectors)
    form = JointForm(origin, columns.index, columns.sign, basis, vectors, table, counts, heads, len(stay))
    if not np.array_equal(form.states(form.observed[None, :])[0], stay.sum(axis=0)):
        raise ArithmeticError("the sums as observed are not on the lattice of the differences")
    return form


def axes_form(vectors: Integers, counts: Integers) -> JointForm:
    """The form of sum_j vectors[j] * Binomial(counts[j], 1/2) itself, shape (U, r), in these coordinates."""
    axes, zero = np.arange(vectors.shape[1]), np.zeros(vectors.shape[1], dtype=np.int64)
    return JointForm(
        zero, axes, np.ones_like(axes), None, vectors, vectors, counts, counts, int(counts.sum())
    )


def _require_room(stay: Integers, swap: Integers) -> None:
    if len(stay) * max(_largest(stay), _largest(swap)) < MAX_TOTAL // 2:
        return
    for column in (*stay.T, *swap.T):
        largest = _largest(column)
        if largest * len(column) >= MAX_TOTAL // 2 and (
            largest >= MAX_TOTAL // 2 or exact_total(np.abs(column)) >= MAX_TOTAL // 2
        ):
            raise LatticeOverflowError("the sum of the absolute effects is 2**60 or more")


def _largest(effects: Integers) -> int:
    # Python integers: |-2**63| has no int64.
    return max(-int(effects.min(initial=0)), int(effects.max(initial=0)))


def _leading(rows: Integers) -> Integers:
    """The first non-zero entry of each row."""
    first = (rows != 0).argmax(axis=1)
    return np.asarray(rows[np.arange(len(rows)), first], dtype=np.int64)


def _distinct(rows: Integers, staying: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Integers, ...]:
    """Distinct rows, how often each occurs, and how many of those are marked as staying."""
    if len(rows) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return rows, nothing, nothing
    low = rows.min(axis=0)
    spans = [int(x) + 1 for x in (rows.max(axis=0) - low)]
    bits = sum(span.bit_length() for span in spans)
    if bits > _PACKED_BITS:
        # Rows as strings of bytes: wide ones are compared some ten times faster than number by number.
        strings = np.ascontiguousarray(rows).view(f"V{rows.dtype.itemsize * rows.shape[1]}").reshape(-1)
        _, first, where = np.unique(strings, return_index=True, return_inverse=True)
    else:
        key = np.zeros(len(rows), dtype=np.int64)
        for axis, span in enumerate(spans):
            key = key * span + (rows[:, axis] - low[axis])
        first, where = _first_and_where(key)
    distinct = rows[first]
    counts = np.bincount(where).astype(np.int64)
    heads = np.bincount(where[staying], minlength=len(counts)).astype(np.int64)
    return distinct, counts, heads


def _first_and_where(key: Integers) -> tuple[Integers, Integers]:
    """Where each distinct number comes first, ascending, and for each entry which of them it is: `np.unique`, quicker."""
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    new = np.ones(len(key), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    where = np.empty(len(key), dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    return order[new], where


def means(form: JointForm, tau: Reals | None = None) -> Reals:
    """Mean of T, untilted or with tilted swaps of probability (1 + tau_j) / 2; shape (r,)."""
    expected = form.counts * (0.5 if tau is None else 0.5 * (1.0 + tau))
    return np.asarray(expected @ form.vectors, dtype=np.float64)
