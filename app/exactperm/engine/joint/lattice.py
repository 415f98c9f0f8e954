"""A basis of the lattice that vectors of differences span, and their coordinates in it, in exact integers.

The cost of a grid grows with the number and the length of its axes. So the basis is reduced (Lenstra, Lenstra &
Lovász 1982) in the metric of the coordinates' covariance: they are then nearly uncorrelated, and the box that holds
them is nearly as small as possible. Where the result would not fit an int64, there is no basis.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import flint
import numpy as np
from numpy.typing import NDArray

from ..lattice import MAX_TOTAL, Integers

# Grids of more axes than this hold more cells than any budget allows; for wider tables no basis is computed.
MAX_AXES = 16
_MAX_COLUMNS = 64
# Everything below stays an int64, sums and products included.
_ROOM = 2**62
_ROWS_AT_ONCE = 64
# A Mersenne prime whose residues have products that fit an int64.
_PRIME = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Lattice:
    """vectors @ basis are the differences: `vectors` (U, r), `basis` (r, m)."""

    vectors: Integers
    basis: Integers


@dataclass(frozen=True, slots=True)
class Columns:
    """The m columns that differ by more than their sign: `table` (U, m).

    Column k of the whole is sign[k] times column index[k] of the table; the sign of a column of zeros is 0.
    """

    table: Integers
    index: Integers
    sign: Integers


def columns_of(differences: Integers) -> Columns:
    """The distinct columns of a table, shape (U, k)."""
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
    """The lattice of distinct rows, shape (U, m), that occur `counts` times.

    None when its rank is too large for any grid, or when the sums in its box would not fit an int64: then the
    columns themselves are the coordinates.
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
    """The rank of a table, shape (U, m), modulo a prime; for very large tables the smaller of their sides."""
    rows, width = table.shape
    smaller = int(min(rows, width))
    if smaller == 0 or table.size * smaller > 1 << 28:
        return smaller
    return int(flint.nmod_mat(rows, width, (table % _PRIME).reshape(-1).tolist(), _PRIME).rank())


def _rank(table: Integers, most: int) -> int:
    """The rank modulo a prime, at most `most`, where the elimination stops."""
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
    """Whether the rank modulo the prime is above MAX_AXES."""
    return table.shape[1] > MAX_AXES and _rank(table, MAX_AXES + 1) > MAX_AXES


def _hermite(table: Integers) -> list[list[int]] | None:
    """The Hermite normal form of the rows' lattice; None when its rank is above MAX_AXES."""
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
    """c and d with c @ basis + d = table, by forward substitution over the pivots; d is 0 on the lattice.

    In Python integers where a bound on the intermediate results does not fit an int64.
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
    """The same lattice in a basis whose coordinates are short and nearly uncorrelated; None when it does not fit."""
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
    # The longest axis last: a region is stored as runs along it.
    order = np.argsort(counts @ np.abs(short).astype(np.float64), kind="stable")
    signs = np.sign(short[0]) + (short[0] == 0)
    reduced = np.array(rows, dtype=np.int64)
    return Lattice((short * signs)[:, order], (reduced * signs[:, None])[order])


def _integers(matrix: flint.fmpz_mat) -> list[list[int]]:
    return [[int(entry) for entry in row] for row in matrix.tolist()]


def _identity(size: int) -> list[int]:
    return [int(row == column) for row in range(size) for column in range(size)]


def _gram(coordinates: NDArray[Any], counts: Integers) -> list[list[int]]:
    """The coordinates' covariance, times four: exact, so that the reduction terminates."""
    peak = max(int(abs(coordinates).max(initial=0)), 1)
    if peak * peak * int(counts.sum()) < _ROOM:
        small: Integers = coordinates.astype(np.int64)
        return [[int(x) for x in row] for row in (small.T @ (counts[:, None] * small)).tolist()]
    table = coordinates.astype(object)
    weighted = np.array(counts.tolist(), dtype=object)[:, None] * table
    return [[int(x) for x in row] for row in (table.T @ weighted).tolist()]


def _holds(lattice: Lattice, table: Integers, counts: Integers) -> bool:
    """Whether the sums at every point of the box of all coordinates fit, and vectors @ basis is the table."""
    number = counts.tolist()
    spans = [
        sum(abs(c) * n for c, n in zip(axis, number, strict=True)) for axis in lattice.vectors.T.tolist()
    ]
    for column in lattice.basis.T.tolist():
        if sum(span * abs(step) for span, step in zip(spans, column, strict=True)) >= MAX_TOTAL:
            return False
    return max(spans) < MAX_TOTAL and np.array_equal(lattice.vectors @ lattice.basis, table)
