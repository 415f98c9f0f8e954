"""Values of a statistic that numbers hold: what is beyond is refused, and never becomes infinite or a wrong number."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..engine.lattice import Integers, Reals
from ..errors import InvalidTest
from .decisions import as_float
from .exact_value import Exact, magnitude
from .joint_problem import SumFunction

# Beyond this a difference, a mean or a spread of values would overflow.
LARGEST = 1e307
# Of values smaller than this, doubles keep no digits.
SMALLEST = 1e-290


def values_of(function: SumFunction, sums: Sequence[Integers]) -> Reals:
    """The statistic's values where the `sums` broadcast against each other; raises InvalidTest where one is too large."""
    values = np.asarray(function.values(sums))
    if values.size and float(np.abs(values).max()) > LARGEST:
        raise too_large("/statistic", "under some assignment of the items")
    return values


def require_representable(value: Exact, pointer: str) -> None:
    """Refuse a value that no double holds; raises InvalidTest."""
    size = as_float(magnitude(value))
    if size > LARGEST:
        raise too_large(pointer, "for the data as observed")
    if size < SMALLEST and (value > 0 or value < 0):
        detail = "The statistic is smaller than 1e-290 for the data as observed: multiply it by a constant, which changes no p-value."
        raise InvalidTest.at(pointer, "value_too_small", detail)


def too_large(pointer: str, where: str) -> InvalidTest:
    """The refusal of a value beyond `LARGEST`."""
    detail = f"The statistic is beyond 1e307 {where}: divide it by a constant, which changes no p-value."
    return InvalidTest.at(pointer, "value_too_large", detail)
