"""The test of data with missing outcomes: complete items, and the fillings that are worst and best for U."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from ..answers.test import MissingRecord, WarningRecord
from ..errors import InvalidTest
from ..presentation.numbers import number
from ..statistics.columns import filled, missing_outcomes, require_bounded
from ..statistics.paired import Paired, Scores, StatisticSpec
from .certificate import require
from .options import Options
from .result import PlannedTest, Result, significant

Plan = Callable[[Paired, StatisticSpec, Options], PlannedTest]


@dataclass(frozen=True, slots=True)
class Fillings:
    """The planned tests of the two fillings, and how many outcomes are missing."""

    n: int
    worst: PlannedTest
    best: PlannedTest

    @property
    def seconds(self) -> float:
        """Predicted time of both."""
        return self.worst.seconds + self.best.seconds

    def solve(self, options: Options) -> tuple[MissingRecord, bool]:
        """The bounds, and whether p is at most alpha under every filling."""
        results = solved(self.worst), solved(self.best)
        differences = tuple(result.statistic.observed for result in results)
        lows, highs = zip(*(_ends(result) for result in results), strict=True)
        certain = all(significant(result.answer, options.alpha, options.significance) for result in results)
        low, high = min(lows), max(highs)
        if options.alternative == "two-sided" and differences[0] < 0.0 < differences[1]:
            high, certain = 1.0, False
        return MissingRecord(self.n, (differences[0], differences[1]), (low, high)), certain


def solved(test: PlannedTest) -> Result:
    """Run a test; what is not certified does not leave."""
    result = test.solve()
    require(result.answer, exact=result.exact, attainable=result.attainable_between[0])
    return result


def _ends(result: Result) -> tuple[float, float]:
    """The p-value twice where it is exact, else its bounds."""
    p = result.answer.p_value
    return (p, p) if result.exact else result.answer.bounds


def planned_fillings(data: Paired, spec: StatisticSpec, options: Options, plan: Plan) -> Fillings | None:
    """Plan both tests; None where nothing is missing. Raises InvalidTest where there are no bounds."""
    if not isinstance(data, Scores) or data.gaps is None:
        return None
    if options.test == "bootstrap":
        detail = "Missing outcomes have bounds in the permutation test: leave `test` out, or set `on_missing=drop`."
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    require_bounded(data, spec)
    alone = replace(options, pmf="none", exact_fraction=False, confidence_level=None)
    worst, best = (plan(filled(data, best=one), spec, alone) for one in (False, True))
    return Fillings(missing_outcomes(data), worst, best)


def missing_warning(missing: MissingRecord, complete: int, alpha: float) -> WarningRecord:
    """That the p-value beside it is not of all items."""
    low, high = missing.p_value
    detail = (
        f"{missing.n:,} outcomes are missing: everything but `missing` is of the {complete:,} items that both systems have. "
        f"Whatever the missing ones are, p lies in "
        f"[{number(low, alpha, 1.0)}, {number(high, alpha, 1.0)}], and `significant` holds for all of it."
    )
    return WarningRecord("missing_outcomes", detail)


# The test of data with missing outcomes: complete items, and the fillings that are worst and best
