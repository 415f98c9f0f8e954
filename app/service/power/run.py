"""Prepare and answer a question about power; errors point into what the client sent."""

from __future__ import annotations

from dataclasses import dataclass

from ...engine.one_sum.planner import window_cost
from ...engine.plan import Budget
from ...errors import InvalidTest, PlanTooLarge, relocated
from ...inference.paired_test import planned_test
from ...inference.power.answer import answer
from ...inference.power.design import Design
from ...inference.power.pilot import PilotDesign
from ...inference.power.record import PowerRecord
from ...inference.power.sizes import rounded, sizes_of
from ..messages import Job
from .parse import REQUEST, ParsedPower

# Of a sum over the discordant items: each, and each of them.
_SECONDS_OF_SUM, _SECONDS_OF_TERM = 2e-4, 5e-7
# Transforms for a number of items, and for a curve.
_SOLVED, _CURVE, _SEARCHED = 8, 18, 40


@dataclass(frozen=True, slots=True)
class PreparedPower:
    """A question with its design, and what answering it is predicted to take."""

    parsed: ParsedPower
    design: Design
    seconds: float

    @property
    def longest_seconds(self) -> float:
        """A search may take as long as it takes: only single numbers are certain to be quick."""
        return float("inf") if self.parsed.question.solve == "n" else self.seconds


def prepare_power(job: Job, parsed: ParsedPower) -> PreparedPower:
    """Reduce the pilot, if there is one; raises InputError."""
    numbers = max(len(parsed.question.n), 1)
    if parsed.design is not None:
        most = max(parsed.question.n, default=10_000)
        each = _SECONDS_OF_SUM + _SECONDS_OF_TERM * 20.0 * most**0.5
        sums = _SEARCHED * 10 if parsed.question.solve == "n" else _SEARCHED * numbers
        return PreparedPower(parsed, parsed.design, each * (sums + _CURVE))
    assert parsed.pilot is not None
    pilot, limits = parsed.pilot, job.limits
    budget = Budget(limits.engine_budget_operations, limits.engine_budget_bytes)
    with relocated(pilot.pointer_map):
        test = planned_test(pilot.data, pilot.spec, pilot.options, budget)
    sizes = sizes_of(test.problem)
    design = PilotDesign(sizes, parsed.question.level, parsed.question.alternative)
    cost, rough = window_cost(sizes.form), window_cost(rounded(sizes).form)
    if not cost.fits(budget):
        detail = "The pilot's differences take too many digits or items for so many transforms: round them (`decimals`)."
        raise PlanTooLarge(detail, flaws=())
    times = _SOLVED * (numbers if parsed.question.solve != "n" else 4)
    searched = _SEARCHED if parsed.question.solve == "n" else 0
    return PreparedPower(parsed, design, times * cost.seconds + (2 * _CURVE + searched) * rough.seconds)


def run_power(prepared: PreparedPower) -> PowerRecord:
    """Answer it; raises InvalidTest."""
    parsed = prepared.parsed
    if parsed.pilot is not None and prepared.design.own_n is None:
        raise InvalidTest.at(REQUEST, "empty", "The pilot has no items.")
    return answer(parsed.question, prepared.design, parsed.digest)
