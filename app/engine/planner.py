"""The planner: what each method would cost, in exact integers and before any array exists.

Operations are counted in each method's own elementary step; `seconds` turns them into time with
the rates below, measured once on an ordinary core. The cheapest exact method within the budget is
chosen; Monte Carlo only where nothing exact fits.
"""

from __future__ import annotations

from dataclasses import dataclass

from app.engine.bounds_price import steps_and_bytes
from app.engine.lattice import CanonicalForm
from app.engine.monte_carlo import COUNTED_BITS
from app.engine.null import Region
from app.engine.peeling import best_split, screening
from app.engine.real_form import from_lattice
from app.errors import Flaw, InvalidTest, PlanTooLarge

EXACT_METHODS = ("fft", "dp", "rational", "enumeration", "meet_in_the_middle")
FRACTION_METHODS = ("enumeration", "meet_in_the_middle", "rational")
METHODS = (*EXACT_METHODS, "bounds", "monte_carlo")
INEXACT_METHODS = ("bounds", "monte_carlo")

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


@dataclass(frozen=True, slots=True)
class Budget:
    """What one test may cost: elementary operations, and bytes of arrays at its peak."""

    operations: int = 60_000_000_000
    bytes: int = 1 << 30


@dataclass(frozen=True, slots=True)
class Cost:
    """A method's predicted cost."""

    method: str
    operations: int
    bytes: int

    @property
    def exact(self) -> bool:
        """Whether the method gives the p-value itself and neither a bracket nor an estimate."""
        return self.method not in INEXACT_METHODS

    @property
    def seconds(self) -> float:
        """Predicted time on one ordinary core."""
        return self.operations * _RATES[self.method] * 1e-9

    def fits(self, budget: Budget) -> bool:
        """Whether both operations and bytes are within the budget."""
        return self.operations <= budget.operations and self.bytes <= budget.bytes


@dataclass(frozen=True, slots=True)
class Plan:
    """The method that will run, why, and what the others would have cost (cheapest first)."""

    chosen: Cost
    reason: str
    others: tuple[Cost, ...]


def costs(form: CanonicalForm, region: Region, samples: int, precision: float = 1e-3) -> tuple[Cost, ...]:
    """The cost of every method that could run at all: exact ones, cheapest first, bounds, Monte Carlo."""
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
    """The plan for `method`, or for the best one when it is `auto`.

    Raises PlanTooLarge when the method asked for does not fit, InvalidTest when it does not apply.
    """
    candidates = costs(form, region, samples)
    if method == "bounds" or not any(cost.fits(budget) for cost in candidates[:-1]):
        # Predicting a bracket takes a look at the law, so only where one may be needed.
        candidates = (*candidates[:-1], _bounds(form, region, precision), candidates[-1])
    if method == "auto":
        fitting = next((cost for cost in candidates if cost.fits(budget)), None)
        if fitting is None:
            detail = _too_large(candidates[-1], (), budget)
            raise PlanTooLarge(detail, flaws=(Flaw("/samples", "plan_too_large", detail),))
        others = tuple(cost for cost in candidates if cost is not fitting)
        return Plan(fitting, _why(fitting, others, budget), others)
    chosen = _asked_for(method, form, candidates)
    others = tuple(cost for cost in candidates if cost is not chosen)
    if not chosen.fits(budget):
        detail = _too_large(chosen, others, budget)
        raise PlanTooLarge(detail, flaws=(Flaw("/method", "plan_too_large", detail),))
    return Plan(chosen, "asked for", others)


def cheapest_fraction(form: CanonicalForm, region: Region, budget: Budget) -> Cost:
    """The cheapest method that gives the exact fraction; raises PlanTooLarge when none fits."""
    candidates = [cost for cost in costs(form, region, 0) if cost.method in FRACTION_METHODS]
    for cost in candidates:
        if cost.fits(budget):
            return cost
    detail = _too_large(candidates[0], (), budget)
    raise PlanTooLarge(
        f"An exact fraction does not fit: {detail}",
        flaws=(Flaw("/exact_fraction", "plan_too_large", detail),),
    )


def _asked_for(method: str, form: CanonicalForm, candidates: tuple[Cost, ...]) -> Cost:
    for cost in candidates:
        if cost.method == method:
            return cost
    if method in METHODS:
        detail = f"{method} takes 2**n steps in n non-zero effects, and there are {form.nonzero}: use auto."
        raise PlanTooLarge(detail, flaws=(Flaw("/method", "plan_too_large", detail),))
    detail = f"The method {method} does not apply here: use auto or one of {', '.join(METHODS)}."
    raise InvalidTest.at("/method", "method_not_applicable", detail)


def _too_large(cost: Cost, others: tuple[Cost, ...], budget: Budget) -> str:
    fitting = [other.method for other in others if other.fits(budget)]
    advice = f" {', '.join(fitting)} would fit." if fitting else ""
    return (
        f"{cost.method} is planned at {cost.operations} operations and {cost.bytes} bytes; "
        f"{budget.operations} and {budget.bytes} are allowed.{advice}"
    )


def _why(cost: Cost, others: tuple[Cost, ...], budget: Budget) -> str:
    exact = [other for other in others if other.exact]
    if not cost.exact:
        nearest = min(exact, key=lambda other: other.seconds)
        instead = "a rigorous bracket" if cost.method == "bounds" else "sampled"
        return (
            f"no exact method fits the budget (the cheapest, {nearest.method}, would take "
            f"{nearest.operations} operations and {nearest.bytes} bytes): {instead}"
        )
    fitting = [other for other in exact if other.fits(budget)]
    if not fitting:
        return "the only exact method that fits the budget"
    return f"the cheapest exact method here; next best is {fitting[0].method} at about {_times(fitting[0], cost)} the cost"


def _times(other: Cost, cost: Cost) -> str:
    ratio = other.seconds / max(cost.seconds, 1e-12)
    return f"{ratio:.1f} times" if ratio < 10 else f"{ratio:.0f} times"


def _fft(form: CanonicalForm) -> Cost:
    split = best_split(form)
    screened, retained = screening(form)
    groups = len(form.weights) - split.heavy
    each = 130_000 + 2 * split.length + 8 * screened + 120 * groups * retained
    held = 64 * min(split.length, 1 << 18) + 40 * split.length + 160 * min(groups * retained, 1 << 19)
    return Cost("fft", split.combinations * each, held)


def _dp(form: CanonicalForm, region: Region) -> Cost:
    depth = 0
    for low, high in region.intervals:
        upper = max(low, form.range - high)
        depth = max(depth, form.range - upper if 2 * upper > form.range else upper)
    cells = min(depth, form.range) + 1
    each = cells // 2 if cells <= _CACHED_CELLS else 2 * cells
    return Cost("dp", form.nonzero * (each + 2_500) + 60_000, 64 * cells)


def _rational(form: CanonicalForm) -> Cost:
    limbs = form.nonzero // 64 + 1
    doublings = max(form.nonzero, 2).bit_length()
    coefficients = form.range + 1
    return Cost(
        "rational",
        coefficients * limbs * doublings * 16 + 100 * coefficients + 3_000 * len(form.weights) + 20_000,
        coefficients * (limbs * 8 + 32) * 3,
    )


def _enumeration(form: CanonicalForm) -> Cost:
    return Cost("enumeration", 3 * (1 << form.nonzero) + 10_000, 24 << form.nonzero)


def _meet_in_the_middle(form: CanonicalForm) -> Cost:
    half = (form.nonzero + 1) // 2
    return Cost("meet_in_the_middle", (1 << half) * (half + 4) + 5_000, 48 << half)


def _bounds(form: CanonicalForm, region: Region, precision: float) -> Cost:
    steps, held = steps_and_bytes(*from_lattice(form, region), precision)
    return Cost("bounds", steps, held)


def _monte_carlo(form: CanonicalForm, samples: int) -> Cost:
    counted = int(form.counts[form.counts <= COUNTED_BITS].sum())
    drawn = int((form.counts > COUNTED_BITS).sum())
    draws = 3 * len(form.weights) + 2 * (counted // 64 + 1) + 40 * drawn
    return Cost("monte_carlo", (samples + 4096) * draws + 30_000, 4096 * 64)
