"""What the numbers of a file measure, by the names of its columns or fields."""

from __future__ import annotations

import re
from collections.abc import Sequence

from app.statistics.direction import GENERIC, of_name


def metric_of(name: str) -> str | None:
    """A column's or field's name as that of a metric; None for `score` and its like, which name none."""
    return None if name.strip().lower() in GENERIC else name.strip()


def metric_of_columns(names: Sequence[str]) -> str | None:
    """What two columns of one table both measure: wer, of `wer_new` and `wer_old`; None where no known metric is shared."""
    parts = [[part for part in re.split(r"[\W_]+", name) if part] for name in names]
    common = [part for part in parts[0] if all(part in other for other in parts[1:])]
    shared = "_".join(common)
    return shared if shared and of_name(shared) is not None else None
