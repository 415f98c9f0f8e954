"""What the numbers of a file measure, by the names of its columns or fields."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.errors import InvalidTest
from app.inputs.pairing import shown
from app.statistics.direction import GENERIC, of_name


def metric_of(name: str) -> str | None:
    """A column's or field's name as that of a metric; None for `score` and its like, which name none."""
    return None if name.strip().lower() in GENERIC else name.strip()


def metric_of_both(u: str, v: str, pointer: str) -> str | None:
    """What the columns or fields of two files measure; None where no metric is named, or each is called by its system.

    Raises
    ------
    InvalidTest
        More of the one and less of the other is better: these are two metrics.
    """
    if u.strip().lower() == v.strip().lower():
        return metric_of(u)
    directions = of_name(u), of_name(v)
    if None not in directions and directions[0] != directions[1]:
        detail = f"u is scored by {shown(u)} and v by {shown(v)}, of which one is better when higher and one when lower: "
        raise InvalidTest.at(pointer, "metric_mismatch", detail + "choose the same metric of both (metric=).")
    shared = metric_of_columns((u, v))
    named = [
        name.strip() for name, direction in zip((u, v), directions, strict=True) if direction is not None
    ]
    return shared or "/".join(named) or None


def metric_of_columns(names: Sequence[str]) -> str | None:
    """What two columns of one table both measure: wer, of `wer_new` and `wer_old`; None where no known metric is shared."""
    parts = [[part for part in re.split(r"[\W_]+", name) if part] for name in names]
    common = [part for part in parts[0] if all(part in other for other in parts[1:])]
    shared = "_".join(common)
    return shared if shared and of_name(shared) is not None else None
