"""What each method for several sums would cost: enumerate, use the line, the grid, or sample.

Operations are nanoseconds of one ordinary core.
"""

from __future__ import annotations

from app.engine import grid_dp, vector_enumeration
from app.engine.grid_box import bounding_box
from app.engine.planner import Budget, Cost, Plan, choose
from app.engine.vector_form import VectorForm
from app.engine.vector_tilt import untilted

# A sum on a line is the grid of rank one, solved interval by interval by the one-dimensional engine.
LINE_CELLS = 1 << 24
_MAX_STATES = 1 << 26
_OUTSIDE = 1e-17


def plan(form: VectorForm, budget: Budget, *, method: str, samples: int) -> Plan:
    """The plan for `method`, or for the best one when it is `auto`.

    Raises PlanTooLarge when it does not fit, InvalidTest when it does not apply.
    """
    candidates = costs(form, samples)
    endless = {}
    if all(cost.method != "enumeration" for cost in candidates):
        endless["enumeration"] = (
            f"enumeration takes a step for every choice of units, of which {form.nonzero} differ: too many here."
        )
    return choose(
        candidates,
        budget,
        method="grid" if method == "fft" and form.rank > 1 else method,
        where=f"the sums move on a lattice of rank {form.rank}",
        endless=endless,
    )


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
        found.append(Cost("enumeration", 40 * states * width + 30_000, 16 * states * width + 32 * states))
    found.sort(key=lambda cost: cost.seconds)
    return (*found, sampling(form, samples))


def _line(form: VectorForm) -> Cost:
    cells = int(form.high[0] - form.low[0]) + 1
    return Cost("fft", 40 * cells + 600_000, 80 * cells if cells <= LINE_CELLS else 1 << 62)


def _grid(form: VectorForm) -> Cost:
    box = bounding_box(form, untilted(form), _OUTSIDE)
    # Cells are decided slab by slab; what is held are a few hundred lines along the leading axes.
    lines = box.cells // box.shape[-1]
    # A small box is transformed whole, of a large one only what is not negligible.
    steps = 1_000_000 + min(90 * box.cells, 18 * box.cells + 8_000_000)
    return Cost("grid", steps, 6_000 * lines + (1 << 24))


def _dp(form: VectorForm) -> Cost:
    cells = grid_dp.support(form).cells
    return Cost("dp", 3 * form.nonzero * cells + 20 * cells + 300_000, 40 * cells)


def sampling(form: VectorForm, samples: int) -> Cost:
    """The cost of Monte Carlo."""
    each = min(6 * len(form.counts), form.nonzero) * max(form.rank, 1) // 2 + 200 + 20 * len(form.origin)
    return Cost("monte_carlo", (samples + 4096) * each + 100_000, 512 * form.nonzero * 8 + (1 << 22))
