"""Prepare and answer a question about power; errors point into what the client sent."""

from __future__ import annotations

from dataclasses import dataclass

from ...engine.plan import Budget, Cost
from ...engine.power.tilted_sum import LevelTest
from ...errors import InvalidTest, PlanTooLarge, relocated
from ...inference.options import Alternative
from ...inference.paired_test import planned_test
from ...inference.power.answer import answer
from ...inference.power.design import Design, Question
from ...inference.power.pilot import PilotDesign
from ...inference.power.record import PowerRecord
from ...inference.power.sizes import sizes_of
from ..messages import Job
from .parse import REQUEST, ParsedPower

# Of a sum over the discordant items: each, and each of them.
_SECONDS_OF_SUM, _SECONDS_OF_TERM = 2e-4, 5e-7
# Sums of a search with a binary design; numbers of items of a curve; those that a search among pilots looks at with rounded sizes,
# and with the sizes themselves, which are no dearer than those of one of these multiples of the pilot's.
_SUMS, _CURVE, _SEARCHED, _GALLOPED, _MULTIPLES = 40, 18, 45, 20, (1, 16, 1_024)


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
        sums = _SUMS * 10 if parsed.question.solve == "n" else _SUMS * numbers
        return PreparedPower(parsed, parsed.design, each * (sums + _CURVE))
    assert parsed.pilot is not None
    pilot, limits = parsed.pilot, job.limits
    budget = Budget(limits.engine_budget_operations, limits.engine_budget_bytes)
    with relocated(pilot.pointer_map):
        test = planned_test(pilot.data, pilot.spec, pilot.options, budget)
    sizes = sizes_of(test.problem)
    side: Alternative = "two-sided" if parsed.question.alternative == "two-sided" else "greater"
    design = PilotDesign(sizes, LevelTest(parsed.question.level, side))
    if design.own_n == 0:
        raise InvalidTest.at(REQUEST, "empty", "The pilot has no items.")
    costs, seconds = _costs(parsed.question, design)
    if not all(cost.fits(budget) for cost in costs):
        detail = "The pilot's differences take too many digits or items for so many laws of their sum: round them (`decimals`)."
        raise PlanTooLarge(detail, flaws=())
    return PreparedPower(parsed, design, seconds)


def _costs(question: Question, design: PilotDesign) -> tuple[list[Cost], float]:
    """The cost of each number of items that is asked for, and the seconds of all, the curve included."""
    own, solved = design.own_n, question.solve == "effect"
    numbers = question.n or (own,)
    costs = [design.cost(n, solved=solved) for n in numbers]
    seconds = sum(cost.seconds for cost in costs)
    # A curve goes up to four times the items, where a level may be attainable that is not below.
    drawn = [own, 4 * numbers[0]] if design.sizes.grows else [own]
    rough = max(design.rough.cost(n, solved=False).seconds for n in drawn)
    if question.solve == "n":
        # How many items will be needed is not known yet.
        tried = _MULTIPLES if design.sizes.grows == "mean" else (1,)
        rough = max(design.rough.cost(own * times, solved=False).seconds for times in tried)
        costs = [design.cost(own * times, solved=False) for times in tried]
        seconds = _SEARCHED * rough + _GALLOPED * max(cost.seconds for cost in costs)
    return costs, seconds + (_CURVE * rough if len(numbers) == 1 else 0.0)


def run_power(prepared: PreparedPower) -> PowerRecord:
    """Answer it; raises InvalidTest."""
    parsed = prepared.parsed
    return answer(parsed.question, prepared.design, parsed.digest)
