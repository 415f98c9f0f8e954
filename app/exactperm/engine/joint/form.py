"""Vectors of sums on the lattice that their differences span: the canonical form of m additive functions.

A swap changes the k sums by the difference d_n = stay_n - swap_n, so they move on the lattice that the differences
span, of rank r <= k: the paper's four functions for F1 need rank two, WER with shared references rank one (Zmigrod,
Vieira & Cotterell 2022, appendix B, with a reduced basis).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ..lattice import MAX_TOTAL, CanonicalForm, Integers, LatticeOverflowError, Reals, exact_total

# A basis of the lattice that the difference vectors span, and their coordinates in it, in exact integers. The cost of a
# grid grows with the number and the length of its axes. So the basis is reduced (Lenstra, Lenstra & Lovász 1982) in the
# metric of the coordinates' covariance: they are then nearly uncorrelated, and their box is nearly minimal. Where the
# result would not fit an int64, there is no basis.


# Grids with more axes hold more cells than any budget allows; wider tables get no basis.
MAX_AXES = 16
_MAX_COLUMNS = 64
# Numbers below this, with their sums and products, fit an int64.
_ROOM = 2**62
_ROWS_AT_ONCE = 64
# A Mersenne prime whose residues have products that fit an int64.
_PRIME = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Lattice:
    """The differences are vectors @ basis: `vectors` (U, r), `basis` (r, m)."""

    vectors: Integers
    basis: Integers


@dataclass(frozen=True, slots=True)
class Columns:
    """The m columns that differ by more than their sign: `table` (U, m).

    Original column k is sign[k] times column index[k] of the table; a column of zeros has sign 0.
    """

    table: Integers
    index: Integers
    sign: Integers


def columns_of(differences: Integers) -> Columns:
    """Return the distinct columns of a table, shape (U, k)."""
    if len(differences) == 0:
        nothing = np.zeros(differences.shape[1], dtype=np.int64)
        return Columns(differences[:, :0], nothing, nothing)
    table = np.ascontiguousarray(differences.T)
    sign = np.sign(table[np.arange(len(table)), (table != 0).argmax(axis=1)])
    table *= sign[:, None]
    known: dict[bytes, int] = {}
    index = np.zeros(len(table), dtype=np.int64)
    first: list[int] = []
    for at in np.flatnonzero(sign).tolist():
        index[at] = known.setdefault(table[at].tobytes(), len(known))
        if index[at] == len(first):
            first.append(at)
    return Columns(np.ascontiguousarray(table[first].T), index, sign)


def lattice_of(table: Integers, counts: Integers) -> Lattice | None:
    """Return the lattice of distinct rows, shape (U, m), that occur `counts` times.

    None when its rank is too large for any grid, or when the sums in its box would not fit an int64; the
    coordinates are then the columns.
    """
    rows, width = table.shape
    if rows <= MAX_AXES and (width > _MAX_COLUMNS or (rows <= width and _rank(table, rows) == rows)):
        # Independent vectors are a basis: each coordinate counts one of them.
        return Lattice(np.eye(rows, dtype=np.int64), table)
    if width > _MAX_COLUMNS or _too_wide(table[:: -(-rows // (8 * MAX_AXES))]):
        return None
    basis = _hermite(table)
    if basis is None:
        return None
    coordinates, rest = _substituted(table, basis)
    lattice = None if rest.any() else _uncorrelated(coordinates, basis, counts)
    return lattice if lattice is not None and _holds(lattice, table, counts) else None


def rank_of(table: Integers) -> int:
    """Return the rank of a table, shape (U, m), modulo a prime; for very large tables, their smaller side."""
    rows, width = table.shape
    smaller = int(min(rows, width))
    if smaller == 0 or table.size * smaller > 1 << 28:
        return smaller
    return int(flint.nmod_mat(rows, width, (table % _PRIME).reshape(-1).tolist(), _PRIME).rank())


def _rank(table: Integers, most: int) -> int:
    """Return the rank modulo a prime; the elimination stops at `most`."""
    rest = table % _PRIME
    for rank in range(most):
        rest = rest[rest.any(axis=1)]
        if len(rest) == 0:
            return rank
        row = rest[0]
        pivot = int(row.argmax())
        row = row * pow(int(row[pivot]), -1, _PRIME) % _PRIME
        rest = (rest[1:] - rest[1:, pivot : pivot + 1] * row % _PRIME) % _PRIME
    return most


def _too_wide(table: Integers) -> bool:
    """Return whether the rank modulo the prime is above MAX_AXES."""
    return table.shape[1] > MAX_AXES and _rank(table, MAX_AXES + 1) > MAX_AXES


def _hermite(table: Integers) -> list[list[int]] | None:
    """Return the Hermite normal form of the rows' lattice; None when its rank is above MAX_AXES."""
    basis: list[list[int]] = []
    rest = table
    while len(rest):
        # The lattice grows in every round, so a few rounds are enough.
        stacked = flint.fmpz_mat(basis + rest[:_ROWS_AT_ONCE].tolist())
        if stacked.ncols() > MAX_AXES:
            residues = [int(entry) % _PRIME for entry in stacked.entries()]
            if _too_wide(np.array(residues, dtype=np.int64).reshape(stacked.nrows(), -1)):
                return None
        basis = [row for row in _integers(stacked.hnf()) if any(row)]
        rest = rest[_ROWS_AT_ONCE:]
        if len(rest) == 0:
            break
        rest = rest[np.asarray(_substituted(rest, basis)[1].any(axis=1), dtype=bool)]
    return basis


def _substituted(table: Integers, basis: list[list[int]]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return c and d with c @ basis + d = table, by forward substitution over the pivots; d is 0 on the lattice.

    Python integers are used where a bound on the intermediate results does not fit an int64.
    """
    if [entry for row in basis for entry in row] == _identity(table.shape[1]):
        return table, np.zeros_like(table)
    peaks: list[int] = np.abs(table).max(axis=0, initial=0).tolist()
    pivots = [next(at for at, entry in enumerate(row) if entry) for row in basis]
    largest = max(peaks)
    for row, pivot in zip(basis, pivots, strict=True):
        quotient = peaks[pivot] // row[pivot] + 1
        peaks = [peak + quotient * abs(entry) for peak, entry in zip(peaks, row, strict=True)]
        largest = max(largest, *peaks, *map(abs, row))
    kind: type = np.int64 if largest < _ROOM else object
    rest: NDArray[Any] = table.astype(kind)
    coefficients: NDArray[Any] = np.zeros((len(table), len(basis)), dtype=kind)
    for at, (row, pivot) in enumerate(zip(basis, pivots, strict=True)):
        coefficients[:, at] = rest[:, pivot] // row[pivot]
        rest = rest - np.multiply.outer(coefficients[:, at], np.array(row, dtype=kind))
    return coefficients, rest


def _uncorrelated(coordinates: NDArray[Any], basis: list[list[int]], counts: Integers) -> Lattice | None:
    """Change to a basis with short and nearly uncorrelated coordinates; None when it does not fit."""
    gram = _gram(coordinates, counts)
    _, turned = flint.fmpz_mat(gram).lll(True, 0.99, 0.51, "gram")
    # c @ basis = (c @ turned.T) @ (the inverse of turned.T @ basis); the determinant is 1 or -1, and python-flint
    # 0.9 gives the inverse times that.
    across = turned.transpose()
    vectors = _integers(flint.fmpz_mat(coordinates.tolist()) * across)
    back = across.inv(True) * turned.det()
    rows = _integers(back * flint.fmpz_mat(basis))
    if across * back != flint.fmpz_mat(len(basis), len(basis), _identity(len(basis))):
        return None
    if any(max(*row, -min(row)) >= MAX_TOTAL for row in (*vectors, *rows)):
        return None
    short = np.array(vectors, dtype=np.int64)
    # The longest axis comes last, because a region is stored as runs along it.
    order = np.argsort(counts @ np.abs(short).astype(np.float64), kind="stable")
    signs = np.sign(short[0]) + (short[0] == 0)
    reduced = np.array(rows, dtype=np.int64)
    return Lattice((short * signs)[:, order], (reduced * signs[:, None])[order])


def _integers(matrix: flint.fmpz_mat) -> list[list[int]]:
    return [[int(entry) for entry in row] for row in matrix.tolist()]


def _identity(size: int) -> list[int]:
    return [int(row == column) for row in range(size) for column in range(size)]


def _gram(coordinates: NDArray[Any], counts: Integers) -> list[list[int]]:
    """Return four times the coordinates' covariance, exactly, so that the reduction terminates."""
    peak = max(int(abs(coordinates).max(initial=0)), 1)
    if peak * peak * int(counts.sum()) < _ROOM:
        small: Integers = coordinates.astype(np.int64)
        return [[int(x) for x in row] for row in (small.T @ (counts[:, None] * small)).tolist()]
    table = coordinates.astype(object)
    weighted = np.array(counts.tolist(), dtype=object)[:, None] * table
    return [[int(x) for x in row] for row in (table.T @ weighted).tolist()]


def _holds(lattice: Lattice, table: Integers, counts: Integers) -> bool:
    """Return whether all sums in the box of the coordinates fit, and vectors @ basis is the table."""
    number = counts.tolist()
    spans = [
        sum(abs(c) * n for c, n in zip(axis, number, strict=True)) for axis in lattice.vectors.T.tolist()
    ]
    for column in lattice.basis.T.tolist():
        if sum(span * abs(step) for span, step in zip(spans, column, strict=True)) >= MAX_TOTAL:
            return False
    return max(spans) < MAX_TOTAL and np.array_equal(lattice.vectors @ lattice.basis, table)


# Vectors of sums on the lattice that their differences span: the canonical form of m additive functions


# Coordinates are packed into an int64 of this many bits to find equal vectors.
_PACKED_BITS = 62


@dataclass(frozen=True, eq=False)
class JointForm:
    """S = origin + sign * (T @ basis)[index] with T = sum_j vectors[j] * Binomial(counts[j], 1/2).

    `index` and `sign` (k,) locate each of the k sums among the m distinct ones; `origin` is (k,). `basis` (r, m) is
    None for the identity; `vectors` (U, r) and `table` = vectors @ basis (U, m) have distinct rows; `counts` is (U,).
    `heads` (U,) are the numbers of each vector in the observed sums. Every sum in the box of all T fits an int64.
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
        """r, the number of axes: the dimension of the lattice where that is small enough for a grid."""
        return int(self.vectors.shape[1])

    @cached_property
    def dimension(self) -> int:
        """The rank of the differences: the dimension of the space of the sums."""
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
        """The covariance of T, shape (r, r)."""
        steps = self.vectors.astype(np.float64)
        return np.asarray((steps * self.counts[:, None]).T @ steps / 4.0)

    @cached_property
    def observed(self) -> Integers:
        """The observed T, shape (r,)."""
        return np.asarray(self.heads @ self.vectors, dtype=np.int64)

    def states(self, coordinates: Integers) -> Integers:
        """Return the sums S at lattice points T, shape (P, r) -> (P, k)."""
        return self.sums(coordinates if self.basis is None else coordinates @ self.basis)

    def sums(self, distinct: Integers) -> Integers:
        """Return the sums S after moving the distinct ones by `distinct`, shape (P, m) -> (P, k)."""
        if distinct.shape[1] == 0:
            return np.broadcast_to(self.origin, (len(distinct), len(self.origin)))
        return np.asarray(self.origin + self.sign * distinct[:, self.index], dtype=np.int64)

    @cached_property
    def steps(self) -> Integers:
        """The change of each of the k sums for a step along each axis of T, shape (r, k)."""
        basis = np.eye(self.rank, dtype=np.int64) if self.basis is None else self.basis
        if basis.shape[1] == 0:
            return np.zeros((self.rank, len(self.origin)), dtype=np.int64)
        return np.asarray(self.sign * basis[:, self.index], dtype=np.int64)

    def line(self) -> CanonicalForm:
        """Return the form of T, a sum of positive weights, when the rank is at most one."""
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
    """Return the form of sum_j vectors[j] * Binomial(counts[j], 1/2), shape (U, r), in these coordinates."""
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
    # Python integers, because |-2**63| does not fit int64.
    return max(-int(effects.min(initial=0)), int(effects.max(initial=0)))


def _leading(rows: Integers) -> Integers:
    """Return the first non-zero entry of each row."""
    first = (rows != 0).argmax(axis=1)
    return np.asarray(rows[np.arange(len(rows)), first], dtype=np.int64)


def _distinct(rows: Integers, staying: np.ndarray[tuple[int], np.dtype[np.bool_]]) -> tuple[Integers, ...]:
    """Return the distinct rows, their counts, and the counts of those marked as staying."""
    if len(rows) == 0:
        nothing = np.zeros(0, dtype=np.int64)
        return rows, nothing, nothing
    low = rows.min(axis=0)
    spans = [int(x) + 1 for x in (rows.max(axis=0) - low)]
    bits = sum(span.bit_length() for span in spans)
    if bits > _PACKED_BITS:
        # Compare wide rows as strings of bytes, some ten times faster than number by number.
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
    """Return the first position of each distinct number, ascending, and the index of each entry: a faster `np.unique`."""
    order = np.argsort(key, kind="stable")
    ascending = key[order]
    new = np.ones(len(key), dtype=bool)
    np.not_equal(ascending[1:], ascending[:-1], out=new[1:])
    where = np.empty(len(key), dtype=np.int64)
    where[order] = np.cumsum(new) - 1
    return order[new], where


def means(form: JointForm, tau: Reals | None = None) -> Reals:
    """Return the mean of T, untilted or with tilted swaps of probability (1 + tau_j) / 2; shape (r,)."""
    expected = form.counts * (0.5 if tau is None else 0.5 * (1.0 + tau))
    return np.asarray(expected @ form.vectors, dtype=np.float64)
