"""Tests that are sampled with a control variate: what the answer says, and when there is none."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from exactperm.answers.test import MonteCarloRecord, TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference import joint_test
from exactperm.inference.options import Options
from exactperm.inference.paired_test import finish, plan_record, prepare, run_test
from exactperm.reports.html import groups
from exactperm.reports.markdown import markdown
from exactperm.reports.sentences import of_the_p_value
from exactperm.reports.text import line
from exactperm.statistics.paired import Counts, Effects, Predictions, StatisticSpec

MACRO = StatisticSpec("f1", {"average": "macro"})


def labels(items: int = 300, classes: int = 5, seed: int = 1) -> Predictions:
    draw = np.random.default_rng(seed)
    gold = draw.integers(0, classes, items)
    u, v = (
        np.where(draw.random(items) < right, gold, draw.integers(0, classes, items)) for right in (0.6, 0.57)
    )
    return Predictions(gold.tolist(), u.tolist(), v.tolist())


def sampled(data: Any, spec: StatisticSpec, **given: Any) -> tuple[TestRecord, MonteCarloRecord]:
    record = run_test(data, spec, Options(**{"method": "monte_carlo", "pmf": "none", **given}), Budget())
    assert record.method.monte_carlo is not None
    return record, record.method.monte_carlo


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_without_the_control_the_same_samples_give_the_plain_p_value(
    monkeypatch: pytest.MonkeyPatch, alternative: str
) -> None:
    record, drawn = sampled(labels(), MACRO, alternative=alternative)
    assert drawn.control == "midpoint"
    monkeypatch.setattr(joint_test, "planned_control", lambda *_: None)
    plain, without = sampled(labels(), MACRO, alternative=alternative)
    assert without.control is None
    assert plain.p_value == drawn.p_value_plain
    assert without.exceedances == drawn.exceedances
    low, high = record.p_value_bounds
    assert plain.p_value_bounds[0] <= low <= record.p_value <= high <= plain.p_value_bounds[1]
    assert (high - low) * 3.0 < plain.p_value_bounds[1] - plain.p_value_bounds[0]


@pytest.mark.slow
def test_many_samples_land_inside_the_interval_of_few() -> None:
    record, _ = sampled(labels(), MACRO, samples=4_000)
    many, drawn = sampled(labels(), MACRO, samples=400_000, seed=9)
    low, high = record.p_value_bounds
    assert low <= many.p_value <= high
    assert abs((drawn.p_value_plain or 0.0) - many.p_value) < 0.004


def test_the_same_request_gives_the_same_answer() -> None:
    assert sampled(labels(), MACRO) == sampled(labels(), MACRO)


def test_significance_is_that_of_the_whole_interval() -> None:
    record, _ = sampled(labels(), MACRO)
    low, high = record.p_value_bounds
    for alpha, decided in ((low * 0.9, False), (0.5 * (low + high), False), (high, True), (high * 1.1, True)):
        found, _ = sampled(labels(), MACRO, alpha=alpha)
        assert found.significant == decided
        codes = {warning.code for warning in found.warnings}
        assert ("alpha_within_bounds" in codes) == (low <= alpha < high)


def test_a_statistic_that_is_flat_at_its_midpoint_is_sampled_plainly() -> None:
    draw = np.random.default_rng(2)
    data = Effects(draw.integers(-9, 9, (60, 2)))
    _, drawn = sampled(data, StatisticSpec("expression", {"expression": "x1 * x2"}))
    assert (drawn.control, drawn.control_p_value, drawn.p_value_plain) == (None, None, None)


def test_a_statistic_that_is_no_difference_has_the_value_at_the_midpoint_in_its_line() -> None:
    draw = np.random.default_rng(3)
    data = Effects(draw.integers(5, 30, (200, 2)), draw.integers(5, 30, (200, 2)))
    spec = StatisticSpec("expression", {"expression": "x1 / x2 - 99 / 100"})
    for alternative in ("two-sided", "greater", "less"):
        record, drawn = sampled(data, spec, alternative=alternative)
        assert drawn.control == "midpoint"
        assert (drawn.gained or 0) + (drawn.lost or 0) < 0.02 * drawn.samples
        exact = run_test(data, spec, Options(alternative=alternative, pmf="none"), Budget())
        assert exact.method.exact
        low, high = record.p_value_bounds
        assert low <= exact.p_value <= high


def test_a_line_that_is_nothing_beside_what_stays_is_no_control() -> None:
    draw = np.random.default_rng(3)
    data = Effects(draw.integers(5, 30, (200, 2)), draw.integers(5, 30, (200, 2)))
    spec = StatisticSpec("expression", {"expression": f"x1 / x2 + {10**25}"})
    _, drawn = sampled(data, spec, samples=100)
    assert drawn.control is None


def test_no_differences_need_no_control() -> None:
    counts = {"a": np.array([3, 4]), "b": np.array([5, 9])}
    record, drawn = sampled(
        Counts(counts, counts), StatisticSpec("ratio", {"numerator": "a", "denominator": "b"})
    )
    assert (record.p_value, drawn.control) == (1.0, None)


def test_the_control_is_planned_and_left_out_over_the_budget() -> None:
    options = Options(method="monte_carlo", pmf="none")
    roomy = prepare(labels(), MACRO, options, Budget())
    assert isinstance(roomy.test, joint_test.JointTest)
    assert roomy.test.control is not None
    assert roomy.test.plan.chosen.operations > roomy.test.control.cost.operations
    more = int(1e9 * roomy.test.control.cost.seconds)
    tight = Budget(roomy.test.plan.chosen.operations - more + 1_000)
    record = finish(prepare(labels(), MACRO, options, tight))
    assert record.method.monte_carlo is not None
    assert record.method.monte_carlo.control is None
    auto = prepare(labels(600, 40), MACRO, Options(pmf="none"), Budget())
    assert plan_record(auto).reason.endswith("sampled, with a control variate")


def test_reports_say_that_there_is_a_control() -> None:
    record, drawn = sampled(labels(), MACRO)
    sentence = of_the_p_value(record)
    assert sentence.startswith("Sampled, with a control variate")
    assert f"{drawn.gained:,} were at least as extreme where the linear part was not" in sentence
    assert "(sampled, with a control variate, monte_carlo) p99=[" in line(record, "t_1")
    written = markdown(record, "t_1")
    assert "sampled, with a control variate)" in written
    assert "samples with seed 0 and a control variate" in written
    assert {fact.label for group in groups(record) for fact in group.facts} >= {
        "Control variate",
        "p without it",
    }
