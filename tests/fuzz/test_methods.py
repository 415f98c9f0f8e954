"""Every method against every other, and all against counting, through the front door."""

from dataclasses import dataclass
from fractions import Fraction
from random import Random
from typing import Any

from hypothesis import given, strategies as st

from tests.enumeration import counted_sums, reaches
from tests.fuzz.asgi import GENERATED, InProcess, examples, judge_certified

METHODS = ("auto", "fft", "dp", "rational", "enumeration", "meet_in_the_middle", "bounds", "monte_carlo")


@dataclass(frozen=True)
class SumCase:
    """Effects, asked about as they are or by their absolute value."""

    stay: list[int]
    swap: list[int] | None
    absolute: bool
    side: str

    @property
    def request(self) -> dict[str, Any]:
        """The body, without a method."""
        body: dict[str, Any] = {"stay": self.stay, "alternative": self.side, "pmf": "none"}
        if self.swap is not None:
            body["swap"] = self.swap
        if self.absolute:
            body["statistic"] = {"expression": "abs(x1)"}
        return body

    def p_value(self) -> Fraction:
        """By counting in how many ways every sum comes about."""
        swap = [-effect for effect in self.stay] if self.swap is None else self.swap
        observed = sum(self.stay)
        sums = counted_sums(self.stay, swap)
        if self.absolute:
            observed, counts = abs(observed), [(abs(total), count) for total, count in sums.items()]
        else:
            counts = list(sums.items())
        extreme = sum(count for total, count in counts if reaches(total, observed, self.side))
        return Fraction(extreme, 2 ** len(self.stay))


def weights(random: Random, items: int) -> list[int]:
    """Magnitudes: small, in powers, one giant among dwarfs, nearly equal, with a common factor, huge and few."""
    kind = random.randrange(7)
    if kind == 0:
        return [random.randint(0, 5) for _ in range(items)]
    if kind == 1:
        return [2 ** random.randint(0, 7) for _ in range(items)]
    if kind == 2:
        return [random.choice([0, 1, 1, 2])] * (items - 1) + [random.randint(50, 500)]
    if kind == 3:
        return [random.randint(97, 103) for _ in range(min(items, 40))]
    if kind == 4:
        factor = random.randint(2, 10**6)
        return [factor * random.randint(0, 9) for _ in range(items)]
    if kind == 5:
        return [random.randint(1, 10**12) for _ in range(min(items, 12))]
    return [round(1.3**power) for power in range(min(items, 30))]


def sum_case(random: Random) -> SumCase:
    """One to 150 items."""
    items = random.choice([1, 2, 3, 5, 8, 13, 40, 150])
    sizes = weights(random, items)
    bias = random.choice([0.5, 0.5, 0.7, 0.95, 1.0])
    stay = [size if random.random() < bias else -size for size in sizes]
    swap = None
    if random.random() < 0.3:
        shift = [random.randint(-3, 3) for _ in stay]
        swap = [step - effect for step, effect in zip(shift, stay, strict=True)]
    return SumCase(stay, swap, random.random() < 0.25, random.choice(["two-sided", "greater", "less"]))


REFUSALS = {"plan_too_large", "method_not_applicable", "not_certified"}
# One answer in a hundred may lie outside of a 99 % interval: no more than so many standard errors outside.
SAMPLED_WITHIN = 7.0


@examples(60)
@given(st.integers(0, 2**63))
def test_every_method_holds_the_counted_p_value(service: InProcess, seed: int) -> None:
    case = sum_case(Random(seed))
    truth = case.p_value()
    for method in METHODS:
        status, result = service.post("/v1/tests/effects", {**case.request, "method": method})
        GENERATED["answers of one sum by every method"] += 1
        if status == 422 and method != "auto":
            assert {error["code"] for error in result["errors"]} <= REFUSALS, result
            continue
        assert status == 200, (result, case)
        p = Fraction(result["p_value"])
        if result["p_value_bounds_kind"] == "confidence":
            error = result["method"]["monte_carlo"]["standard_error"]
            assert abs(float(p - truth)) <= SAMPLED_WITHIN * max(error, 1e-4), (method, case)
            continue
        judge_certified(result, truth, (method, case))
