"""What an answer says of the data of its test: which ids were paired, repeated samples, missing outcomes.

A part of the record in `record.py`; everything said there holds here.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal


@dataclass(frozen=True, slots=True)
class PairingRecord:
    """Numbers of items that both systems have, or only one; null for items paired by their order, of which none was left out."""

    matched: int
    only_u: int
    only_v: int


@dataclass(frozen=True, slots=True)
class SpreadRecord:
    """How one system's repeated samples vary within the items; null where no item has two.

    `within_item_variance` is pooled over the items (ddof 1 in each); `flip_rate` is the share of the items with at least
    two samples whose samples are not all the same.
    """

    samples: int
    within_item_variance: float | None
    flip_rate: float | None


@dataclass(frozen=True, slots=True)
class RepeatsRecord:
    """Repeated samples: what became of them (`repeats`), and each system's spread; null for one score per item."""

    repeats: Literal["mean", "all", "any"]
    u: SpreadRecord | None
    v: SpreadRecord | None


@dataclass(frozen=True, slots=True)
class MissingRecord:
    """Missing outcomes (`on_missing` bounds), which may be anything in the range.

    Whatever the `n` of them are, the difference over all items and its p-value lie between these ends.
    """

    n: Annotated[int, "Missing outcomes; an item that neither system has counts twice."]
    difference: Annotated[tuple[float, float], "Worst and best for U."]
    p_value: Annotated[tuple[float, float], "Least and greatest."]
