"""What a bootstrap looks at besides its p-value is within its budget too: the law, its quantiles, its picture."""

from __future__ import annotations

import random
import tracemalloc
from collections.abc import Callable
from fractions import Fraction

import flint
import numpy as np
import pytest

from exactperm.engine.bootstrap.form import resample_form
from exactperm.engine.bootstrap.law import cost
from exactperm.engine.bootstrap.quantiles import bootstrap_law, evaluations_for, law_cost
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import prepare, run_test
from exactperm.statistics.paired import Effects, StatisticSpec

# What NumPy, the record and the interpreter take whatever the data are.
SLACK = 6_000_000
EXPRESSION = StatisticSpec("expression")


def spike(items: int, giant: int) -> list[int]:
    """Small effects and one far from all others: the lattice is as long as that one, and hardly any frequency retires."""
    generator = random.Random(items)
    return [*(generator.randint(-5, 9) for _ in range(items - 1)), giant]


def peak(work: Callable[[], object]) -> int:
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def cumulated(units: list[int]) -> dict[int, Fraction]:
    """P(S* <= x) for every x that can come about, from a power of a polynomial."""
    low = min(units)
    single = [0] * (max(units) - low + 1)
    for unit in units:
        single[unit - low] += 1
    power, below, found = flint.fmpz_poly(single) ** len(units), 0, {}
    for k in range(power.degree() + 1):
        if power[k] != 0:
            below += int(power[k])
            found[k + low * len(units)] = Fraction(below, len(units) ** len(units))
    return found


@pytest.mark.parametrize("pmf", ["none", "summary"])
@pytest.mark.parametrize("level", [None, 0.95])
@pytest.mark.parametrize("giant", [10**4, 10**6, 10**8])
def test_a_giant_among_small_effects_stays_within_the_bytes(
    giant: int, level: float | None, pmf: str
) -> None:
    """242 bytes of effects took all of a worker's memory: the p-value was sampled, its picture was not."""
    budget = Budget(bytes=40_000_000)
    data = Effects(np.array(spike(20, giant)))
    options = Options(test="bootstrap", pmf=pmf, confidence_level=level)  # type: ignore[arg-type]
    assert peak(lambda: run_test(data, EXPRESSION, options, budget)) <= budget.bytes + SLACK


@pytest.mark.parametrize(("items", "giant"), [(20, 10**4), (5, 300_000), (100, 30_000), (300, 1000)])
def test_the_law_holds_no_more_than_its_price_says(items: int, giant: int) -> None:
    form = resample_form(np.array(spike(items, giant)))
    looks = evaluations_for(form, 9) + 102
    assert peak(lambda: bootstrap_law(form, looks)) <= law_cost(form, looks)[1] + SLACK


def test_the_picture_is_part_of_the_predicted_time() -> None:
    effects, options = spike(40, 10**4), Options(test="bootstrap", pmf="summary", method="fft")
    planned = prepare(Effects(np.array(effects)), EXPRESSION, options, Budget())
    form = resample_form(np.array(effects))
    looks = evaluations_for(form, 9) + 102
    both = 1e-9 * (cost(form)[0] + law_cost(form, looks)[0])
    assert planned.seconds >= both * (1.0 - 1e-12)


def test_the_price_of_the_law_grows_with_the_looks_and_not_beyond_two_transforms() -> None:
    spread = resample_form(np.random.default_rng(1).integers(-50, 50, 2_000))
    assert law_cost(spread, 10_000)[0] > 5 * law_cost(spread, 10)[0]
    giant = resample_form(np.array(spike(20, 10**5)))
    assert law_cost(giant, 10_000) == law_cost(giant, 10)


def test_a_law_over_the_budget_is_sampled_and_the_answer_says_so() -> None:
    effects = spike(8, 3_000)
    data, options = Effects(np.array(effects)), Options(test="bootstrap", pmf="summary")
    whole = run_test(data, EXPRESSION, options, Budget())
    assert "null_sampled" not in {warning.code for warning in whole.warnings}
    found = run_test(data, EXPRESSION, options, Budget(bytes=1 << 25, operations=1_000_000))
    assert "null_sampled" in {warning.code for warning in found.warnings}
    assert (found.null.mean, found.null.sd, found.null.min, found.null.max) == (
        whole.null.mean,
        whole.null.sd,
        whole.null.min,
        whole.null.max,
    )
    below, total = cumulated(effects), sum(effects)
    points = np.array(sorted(below))
    assert found.null.quantiles is not None
    for name, shift in found.null.quantiles:
        # Five standard errors of 20,000 resamples, from the value itself and from the one before.
        slack = 5.0 * (float(name) * (1.0 - float(name)) / 20_000) ** 0.5
        place = int(np.searchsorted(points, shift + total, side="right")) - 1
        before = 0.0 if place == 0 else float(below[int(points[place - 1])])
        assert before - slack <= float(name) <= float(below[int(points[place])]) + slack


def test_quantiles_beside_a_giant_are_those_of_the_full_law() -> None:
    effects = spike(8, 3_000)
    options = Options(test="bootstrap", pmf="summary")
    found = run_test(Effects(np.array(effects)), EXPRESSION, options, Budget())
    assert found.null.quantiles is not None
    below, total = cumulated(effects), sum(effects)
    for name, shift in found.null.quantiles:
        first = next(at for at in sorted(below) if below[at] >= Fraction(name))
        assert shift == first - total
