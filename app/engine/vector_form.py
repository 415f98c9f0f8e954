"""Vectors of sums on the lattice their differences span: the canonical form of m additive functions.

Under a swap only the difference d_n = stay_n - swap_n enters, so the state of k sums moves on the lattice
that the differences span, of rank r <= k: F1 of the paper's four functions needs rank two, WER with shared
references rank one (Zmigrod, Vieira & Cotterell 2022, appendix B, after Hermite normal form).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import flint
import numpy as np

from app.engine.lattice import CanonicalForm, Integers, Reals

# Coordinates are packed into one int64 to find equal vectors.
_PACKED_BITS = 62


@dataclass(frozen=True)
class VectorForm:
    """S = origin + T @ basis with T = sum_j vectors[j] * Binomial(counts[j], 1/2).

    `origin` (k,), `basis` (r, k), `vectors` (U, r) distinct and lexicographically positive, `counts` (U,).
    """

    origin: Integers
    basis: Integers
    vectors: Integers
    counts: Integers
    items: int

    @property
    def rank(self) -> int:
        """r, the dimension of the lattice."""
        return len(self.basis)

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
        weighted = self.vectors * self.counts[:, None].astype(np.float64)
        return np.asarray(weighted.T @ self.vectors / 4.0)

    def states(self, coordinates: Integers) -> Integers:
        """The sums S at lattice points T, shape (P, r) -> (P, k)."""
        return np.asarray(self.origin + coordinates @ self.basis, dtype=np.int64)

    def line(self) -> CanonicalForm:
        """The form of T when the rank is one (or nought): a sum of positive weights."""
        order = np.argsort(self.vectors[:, 0]) if self.rank else slice(None)
        weights = self.vectors[order, 0] if self.rank else np.zeros(0, dtype=np.int64)
        return CanonicalForm(0, 1, weights, self.counts[order], self.items)


def vector_form(stay: Integers, swap: Integers) -> VectorForm:
    """Reduce stay and swap effects, shape (N, k) each, to the lattice that their differences span."""
    difference = stay - swap
    moving = np.asarray((difference != 0).any(axis=1))
    fixed = np.asarray(np.where(moving[:, None], swap, stay).sum(axis=0), dtype=np.int64)
    difference = difference[moving]
    if len(difference) == 0:
        nothing = np.zeros((0, stay.shape[1]), dtype=np.int64)
        return VectorForm(fixed, nothing, nothing[:, :0], np.zeros(0, dtype=np.int64), len(stay))
    # Z = swap + B d = (swap + d) - (1 - B) d: a vector and its negative are the same coin.
    negative = _leading(difference) < 0
    origin = fixed + difference[negative].sum(axis=0)
    vectors, counts = _distinct(np.where(negative[:, None], -difference, difference))
    basis = _basis(vectors)
    return VectorForm(origin, basis, _coordinates(vectors, basis), counts, len(stay))


def _leading(coordinates: Integers) -> Integers:
    """The first non-zero coordinate of each row."""
    first = (coordinates != 0).argmax(axis=1)
    return np.asarray(coordinates[np.arange(len(coordinates)), first], dtype=np.int64)


def _basis(difference: Integers) -> Integers:
    """The Hermite normal form of the rows, zero rows dropped: a basis of the lattice they span."""
    basis: list[list[int]] = []
    for start in range(0, len(difference), 64):
        stacked = basis + difference[start : start + 64].tolist()
        reduced = flint.fmpz_mat(stacked).hnf().tolist()
        basis = [[int(x) for x in row] for row in reduced if any(row)]
    return np.array(basis, dtype=np.int64)


def _coordinates(difference: Integers, basis: Integers) -> Integers:
    """c with c @ basis = difference, by forward substitution over the pivots."""
    rest = difference.copy()
    coordinates = np.zeros((len(difference), len(basis)), dtype=np.int64)
    for row, vector in enumerate(basis):
        pivot = int(np.flatnonzero(vector)[0])
        coordinates[:, row] = rest[:, pivot] // vector[pivot]
        rest -= np.multiply.outer(coordinates[:, row], vector)
    return coordinates


def _distinct(coordinates: Integers) -> tuple[Integers, Integers]:
    """Distinct rows and how often each occurs."""
    low = coordinates.min(axis=0)
    spans = [int(x) + 1 for x in (coordinates.max(axis=0) - low)]
    bits = sum(span.bit_length() for span in spans)
    if bits > _PACKED_BITS:
        rows, counts = np.unique(coordinates, axis=0, return_counts=True)
        return rows, counts.astype(np.int64)
    key = np.zeros(len(coordinates), dtype=np.int64)
    for axis, span in enumerate(spans):
        key = key * span + (coordinates[:, axis] - low[axis])
    _, first, counts = np.unique(key, return_index=True, return_counts=True)
    return coordinates[first], counts.astype(np.int64)


def means(form: VectorForm, tau: Reals | None = None) -> Reals:
    """Mean of T, untilted or with tilted coins of mean (1 + tau_j) / 2; shape (r,)."""
    coins = form.counts * (0.5 if tau is None else 0.5 * (1.0 + tau))
    return np.asarray(coins @ form.vectors, dtype=np.float64)
