"""The one way from data and a statistic to the problem to solve."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pkgutil import resolve_name
from typing import Any

from .catalogue import ENTRIES
from .measured import require_known
from .paired import Paired, StatisticSpec, kind_of
from .problem import Problem

Reducer = Callable[[Any, StatisticSpec], Problem]

# All of them at once: a wrong name fails at the start and not at a request.
_REDUCERS: Mapping[str, Reducer] = {
    entry.reducer: resolve_name(f"{__package__}.{entry.reducer}") for entry in ENTRIES
}


def reduce(data: Paired, spec: StatisticSpec) -> Problem:
    """The problem to solve for this statistic of this data; raises InvalidTest."""
    entry = require_known(kind_of(data), spec.name, spec.parameters)
    return _REDUCERS[entry.reducer](data, spec)
