"""What each method for one sum would cost, in exact integers and before any array exists.

Operations are counted in each method's own elementary step; `seconds` turns them into time with
the rates below, measured once on an ordinary core.
"""

from __future__ import annotations

from app.engine import dp
from app.engine.bounds_price import steps_and_bytes
from app.engine.lattice import CanonicalForm
from app.engine.monte_carlo import COUNTED_BITS
from app.engine.null import Region
from app.engine.peeling import best_split, screening
from app.engine.planner import INEXACT_METHODS, Budget, Cost, Plan, choose, planned_against_allowed
from app.engine.real_form import from_lattice
from app.errors import Flaw, PlanTooLarge

EXACT_METHODS = ("fft", "dp", "rational", "enumeration", "meet_in_the_middle")
FRACTION_METHODS = ("enumeration", "meet_in_the_middle", "rational")
METHODS = (*EXACT_METHODS, *INEXACT_METHODS)

# Nanoseconds per operation.
_RATES = {
    "fft": 1.0,
    "dp": 1.0,
    "rational": 0.6,
    "enumeration": 2.0,
    "meet_in_the_middle": 12.0,
    "bounds": 20.0,
    "monte_carlo": 2.0,
}
_MAX_ENUMERATED = 28
# Cells of `dp` that stay close to the processor; more cost several times as much each.
_CACHED_CELLS = 1 << 13
_MAX_MET = 52


def costs(form: CanonicalForm, region: Region, samples: int) -> tuple[Cost, ...]:
    """The cost of every method that could run at all but `bounds`: exact ones, cheapest first, Monte Carlo."""
    found = [_fft(form), _dp(form, region), _rational(form)]
    if form.nonzero <= _MAX_ENUMERATED:
        found.append(_enumeration(form))
    if 2 <= form.nonzero <= _MAX_MET:
        found.append(_meet_in_the_middle(form))
    found.sort(key=lambda cost: cost.seconds)
    return (*found, _monte_carlo(form, samples))


def plan(
    form: CanonicalForm, region: Region, budget: Budget, *, method: str, samples: int, precision: float = 1e-3
) -> Plan:
    """The plan for `method`, or for the best one when it is `auto`; `precision` is what `bounds` aims at.

    Raises PlanTooLarge when it does not fit, InvalidTest when it does not apply.
    """
    candidates = costs(form, region, samples)
    if _bracket_matters(candidates, budget, method):
        candidates = (*candidates, bounds_cost(form, region, precision))
    listed = {cost.method for cost in candidates}
    endless = {
        name: f"{name} takes 2**n steps in n non-zero effects, and there are {form.nonzero}."
        for name in ("enumeration", "meet_in_the_middle")
        if name not in listed
    }
    return choose(candidates, budget, method=method, endless=endless)


def _bracket_matters(candidates: tuple[Cost, ...], budget: Budget, method: str) -> bool:
    """Whether `bounds` may run, or be advised: predicting it takes a look at the law."""
    if method == "auto":
        return not any(cost.exact and cost.fits(budget) for cost in candidates)
    return not any(cost.method == method and cost.fits(budget) for cost in candidates)


def cheapest_fraction(form: CanonicalForm, region: Region, budget: Budget) -> Cost:
    """The cheapest method that gives the exact fraction; raises PlanTooLarge when none fits."""
    candidates = [cost for cost in costs(form, region, 0) if cost.method in FRACTION_METHODS]
    for cost in candidates:
        if cost.fits(budget):
            return cost
    detail = f"An exact fraction does not fit: {planned_against_allowed(candidates[0], budget)}"
    raise PlanTooLarge(detail, flaws=(Flaw("/exact_fraction", "plan_too_large", detail),))


def _fft(form: CanonicalForm) -> Cost:
    split = best_split(form)
    screened, retained = screening(form)
    groups = len(form.weights) - split.heavy
    each = 130_000 + 2 * split.length + 8 * screened + 120 * groups * retained
    held = 64 * min(split.length, 1 << 18) + 40 * split.length + 160 * min(groups * retained, 1 << 19)
    return _cost("fft", split.combinations * each, held)


def _dp(form: CanonicalForm, region: Region) -> Cost:
    cells = dp.cells_of(form, region)
    added = dp.additions(form, cells)
    # Next to the processor an addition costs a quarter of one in memory.
    each = added // 2 if cells <= _CACHED_CELLS else 2 * added
    pieces = form.nonzero * (2 + cells // dp.TILE)
    return _cost("dp", each + 3_000 * pieces + 2 * cells + 60_000, 16 * cells + 64 * dp.TILE)


def _rational(form: CanonicalForm) -> Cost:
    limbs = form.nonzero // 64 + 1
    doublings = max(form.nonzero, 2).bit_length()
    coefficients = form.range + 1
    return _cost(
        "rational",
        coefficients * limbs * doublings * 16 + 100 * coefficients + 3_000 * len(form.weights) + 20_000,
        coefficients * (limbs * 8 + 32) * 3,
    )


def _enumeration(form: CanonicalForm) -> Cost:
    return _cost("enumeration", 3 * (1 << form.nonzero) + 10_000, 24 << form.nonzero)


def _meet_in_the_middle(form: CanonicalForm) -> Cost:
    half = (form.nonzero + 1) // 2
    return _cost("meet_in_the_middle", (1 << half) * (half + 4) + 5_000, 48 << half)


def bounds_cost(form: CanonicalForm, region: Region, precision: float) -> Cost:
    """The cost of a bracket `precision` wide; finding it takes a look at the law."""
    steps, held = steps_and_bytes(*from_lattice(form, region), precision)
    return _cost("bounds", steps, held)


def _monte_carlo(form: CanonicalForm, samples: int) -> Cost:
    counted = int(form.counts[form.counts <= COUNTED_BITS].sum())
    drawn = int((form.counts > COUNTED_BITS).sum())
    draws = 3 * len(form.weights) + 2 * (counted // 64 + 1) + 40 * drawn
    return _cost("monte_carlo", (samples + 4096) * draws + 30_000, 4096 * 64)


def _cost(method: str, operations: int, held: int) -> Cost:
    return Cost(method, operations, held, _RATES[method])
