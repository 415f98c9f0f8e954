"""The adjusted p-values of a family, as columns."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...engine.lattice import Reals

Flags = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Adjusted:
    """The m adjusted p-values of a family, or of one board of it; shape (m,) each.

    Attributes
    ----------
    p, low, high
        The adjusted p-value and certified bounds, doubles; with a sampled test in the family, at its confidence.
    log10_p
        Its logarithm, right where `p` underflows.
    rejected, open
        Whether it is at most alpha for certain; whether its bounds do not tell.
    hopeless
        Whether it would be above alpha whatever the outcomes of all tests.
    size
        The number of tests of the whole family.
    sampled
        Whether `low` and `high` hold with 99 % confidence; else they are certified. None: not told yet.
    """

    p: Reals
    low: Reals
    high: Reals
    log10_p: Reals
    rejected: Flags
    open: Flags
    hopeless: Flags
    size: int
    sampled: Flags | None = None

    def part(self, start: int, end: int) -> Adjusted:
        """Those of the tests start, ..., end - 1."""
        columns: dict[str, Any] = {field.name: getattr(self, field.name) for field in fields(self)}
        for name, value in columns.items():
            if isinstance(value, np.ndarray):
                columns[name] = value[start:end]
        return Adjusted(**columns)
