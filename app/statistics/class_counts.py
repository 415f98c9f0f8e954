"""Counts of labels by item and class, and the score that a formula makes of their sums."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..engine.lattice import Integers
from ..errors import InvalidTest
from .formula import Node
from .tokens import CodedLabels

# Items times counts of both systems: half a gigabyte each for stay and swap.
MAX_CELLS = 2**26


@dataclass(frozen=True, slots=True)
class ClassScore:
    """A formula over the sums of counts, and the counts of each item, shape (N, m), for both systems."""

    node: Node
    u: Integers
    v: Integers


def by_item(codes: CodedLabels, mask: NDArray[np.bool_]) -> Integers:
    """How many labels of each item are in the mask, shape (N,)."""
    return np.bincount(codes.unit[mask], minlength=codes.items).astype(np.int64)


def by_class(
    codes: CodedLabels, labels: Integers, mask: NDArray[np.bool_], columns: Sequence[int]
) -> Integers:
    """How often each item has each of the classes `columns` where `mask`, shape (N, len(columns)); may raise InvalidTest."""
    if codes.items * len(columns) * 4 > MAX_CELLS:
        raise InvalidTest.at(
            "/gold",
            "too_many_classes",
            f"{codes.items:,} items times {len(columns):,} classes are more counts than fit into memory: "
            "restrict the classes by labels.",
        )
    position = np.full(len(codes.labels), -1, dtype=np.int64)
    position[list(columns)] = np.arange(len(columns))
    column = position[labels]
    kept = mask & (column >= 0)
    flat = np.bincount(codes.unit[kept] * len(columns) + column[kept], minlength=codes.items * len(columns))
    return flat.reshape(codes.items, len(columns)).astype(np.int64)


def gold_sizes(codes: CodedLabels) -> list[int]:
    """How often gold has each class."""
    sizes: list[int] = np.bincount(codes.gold, minlength=len(codes.labels)).tolist()
    return sizes
