"""Floating-point dust in the scores of a board: looked for once, in the scores of all systems together."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...engine.plan import Budget, Cost, Plan as MethodPlan
from ...statistics.paired import Paired, Repeated, Scores, StatisticSpec
from ...statistics.systems import Systems
from ..float_dust import planned_dust
from ..options import Options
from ..prepared import Result
from ..record import WarningRecord


@dataclass(frozen=True, slots=True)
class _Endless:
    """A test that is never run: which p-values dust hides differs from pair to pair."""

    plan: MethodPlan
    seconds: float = math.inf

    def solve(self) -> Result:
        """Not run."""
        raise NotImplementedError


_NO_PLAN = MethodPlan(Cost("enumeration", 0, 0), "", (), Budget())


def board_dust(systems: Systems, spec: StatisticSpec, options: Options) -> tuple[WarningRecord, ...]:
    """The warning about dust in the scores, as single tests have it; nothing for other data."""
    if systems.kind != "scores":
        return ()
    sides = [column.values if isinstance(column, Repeated) else column for column in systems.columns.values()]
    columns = [side for side in sides if isinstance(side, np.ndarray)]
    if len(columns) < len(sides) or all(column.dtype == np.int64 for column in columns):
        return ()
    values = np.concatenate([column.astype(np.float64) for column in columns])
    dust = planned_dust(Scores(values, values[:0]), spec, options, _never_run)
    if dust is None:
        return ()
    likely = "" if dust.likely is None else f" {dust.likely} ties may be others."
    return (WarningRecord("float_dust", f"{dust.seen}.{likely}"),)


def _never_run(data: Paired, spec: StatisticSpec, options: Options) -> _Endless:
    return _Endless(_NO_PLAN)
