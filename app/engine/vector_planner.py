"""The plan for a statistic of several sums: enumerate, use the line, the grid, or sample."""

from __future__ import annotations

from dataclasses import dataclass

from app.engine import grid_dp, vector_enumeration
from app.engine.grid_box import bounding_box
from app.engine.planner import Budget, Cost, Plan
from app.engine.vector_form import VectorForm
from app.engine.vector_tilt import untilted
from app.errors import Flaw, InvalidTest, PlanTooLarge

METHODS = ("grid", "dp", "enumeration", "monte_carlo")
# A sum on a line is the grid of rank one, solved interval by interval by the one-dimensional engine.
LINE_CELLS = 1 << 24
_MAX_STATES = 1 << 26
_OUTSIDE = 1e-17


@dataclass(frozen=True, slots=True)
class VectorCost(Cost):
    """A cost whose operations are nanoseconds of one ordinary core."""

    @property
    def seconds(self) -> float:
        """Predicted time on one ordinary core."""
        return self.operations * 1e-9


def plan(form: VectorForm, budget: Budget, *, method: str, samples: int) -> Plan:
    """The plan for `method`, or for the best one when it is `auto`.

    Raises PlanTooLarge when the method asked for does not fit, InvalidTest when it does not apply.
    """
    candidates = costs(form, samples)
    if method == "auto":
        chosen = next((cost for cost in candidates if cost.fits(budget)), candidates[-1])
        others = tuple(cost for cost in candidates if cost is not chosen)
        return Plan(chosen, _why(form, chosen, candidates), others)
    chosen = _asked_for("grid" if method == "fft" and form.rank > 1 else method, candidates)
    others = tuple(cost for cost in candidates if cost is not chosen)
    if not chosen.fits(budget):
        fitting = ", ".join(cost.method for cost in others if cost.fits(budget))
        detail = (
            f"{chosen.method} is planned at {chosen.operations} operations and {chosen.bytes} bytes; "
            f"{budget.operations} and {budget.bytes} are allowed. {fitting} would fit."
        )
        raise PlanTooLarge(detail, flaws=(Flaw("/method", "plan_too_large", detail),))
    return Plan(chosen, "asked for", others)


def costs(form: VectorForm, samples: int) -> tuple[Cost, ...]:
    """The cost of every method that could run at all; exact ones first, cheapest first."""
    found: list[Cost] = []
    if form.rank == 1:
        found.append(_line(form))
    if form.rank >= 1:
        found.append(_grid(form))
        if form.nonzero <= grid_dp.MAX_ITEMS:
            found.append(_dp(form))
    states = vector_enumeration.states_count(form)
    if states <= _MAX_STATES:
        width = max(form.rank, 1) + len(form.origin)
        found.append(
            VectorCost("enumeration", 40 * states * width + 30_000, 16 * states * width + 32 * states)
        )
    found.sort(key=lambda cost: cost.seconds)
    return (*found, sampling(form, samples))


def _line(form: VectorForm) -> Cost:
    cells = int(form.high[0] - form.low[0]) + 1
    return VectorCost("fft", 40 * cells + 600_000, 80 * cells if cells <= LINE_CELLS else 1 << 62)


def _grid(form: VectorForm) -> Cost:
    box = bounding_box(form, untilted(form), _OUTSIDE)
    # Cells are decided slab by slab; what is held are a few hundred lines along the leading axes.
    lines = box.cells // box.shape[-1]
    # A small box is transformed whole, of a large one only what is not negligible.
    steps = 1_000_000 + min(90 * box.cells, 18 * box.cells + 8_000_000)
    return VectorCost("grid", steps, 6_000 * lines + (1 << 24))


def _dp(form: VectorForm) -> Cost:
    cells = grid_dp.support(form).cells
    return VectorCost("dp", 3 * form.nonzero * cells + 20 * cells + 300_000, 40 * cells)


def sampling(form: VectorForm, samples: int) -> Cost:
    """The cost of Monte Carlo."""
    each = min(6 * len(form.counts), form.nonzero) * max(form.rank, 1) // 2 + 200 + 20 * len(form.origin)
    return VectorCost("monte_carlo", (samples + 4096) * each + 100_000, 512 * form.nonzero * 8 + (1 << 22))


def _why(form: VectorForm, chosen: Cost, candidates: tuple[Cost, ...]) -> str:
    where = f"the sums move on a lattice of rank {form.rank}"
    if chosen.exact:
        return f"{where}: the cheapest exact method there"
    exact = [cost for cost in candidates if cost.exact]
    if not exact:
        return f"{where}, which no exact method here covers"
    nearest = min(exact, key=lambda cost: cost.operations)
    return (
        f"{where}, where no exact method fits the budget: the cheapest, {nearest.method}, would take "
        f"{nearest.operations} operations and {nearest.bytes} bytes"
    )


def _asked_for(method: str, candidates: tuple[Cost, ...]) -> Cost:
    for cost in candidates:
        if cost.method == method:
            return cost
    detail = (
        f"The method {method} does not apply to this statistic here: use auto or one of {', '.join(METHODS)}."
    )
    raise InvalidTest.at("/method", "method_not_applicable", detail)
