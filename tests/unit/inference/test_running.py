"""How a test is run: control of workers, budgets, patience, digests, wide effects."""

import itertools
import random
import tracemalloc
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sacrebleu.metrics.bleu import BLEU

from exactperm.answers.test import MonteCarloRecord, TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference import joint
from exactperm.inference.compare.pairs import GeneralPairs
from exactperm.inference.options import Options, request_digest
from exactperm.inference.paired import finish, plan_record, prepare, run_test
from exactperm.reports.html import groups
from exactperm.reports.markdown import markdown
from exactperm.reports.sentences import of_the_p_value
from exactperm.reports.text import line
from exactperm.statistics.paired import (
    Counts,
    Effects,
    Paired,
    Pairing,
    Predictions,
    Scores,
    StatisticSpec,
    Systems,
)

from .run_shorthands import effects, score

# Tests that are sampled with a control variate: what the answer says, and when there is none.


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
    monkeypatch.setattr(joint, "planned_control", lambda *_: None)
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


def test_a_statistic_other_than_a_difference_has_its_midpoint_in_the_linear_part() -> None:
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


def test_a_negligible_linear_part_is_not_a_control() -> None:
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
    assert isinstance(roomy.test, joint.JointTest)
    assert roomy.test.control is not None
    assert roomy.test.plan.chosen.operations > roomy.test.control.cost.operations
    more = int(1e9 * roomy.test.control.cost.seconds)
    tight = Budget(roomy.test.plan.chosen.operations - more + 1_000)
    record: Any = finish(prepare(labels(), MACRO, options, tight))
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


# The budget holds for all that a test computes: p-value, null distribution and smallest attainable p.


# Enough for meeting in the middle and far too little for an array as long as the lattice.
SMALL = Budget(operations=50_000_000, bytes=4_000_000)
SLACK = 1_000_000


def peak_bytes(n: int, top: int, expression: str, options: dict[str, Any]) -> int:
    rng = random.Random(f"{n} {top}")
    stay = np.array([rng.choice([-1, 1]) * rng.randint(top // 2, top) for _ in range(n)], dtype=np.int64)
    spec = StatisticSpec("expression", {"expression": expression})
    tracemalloc.start()
    try:
        run_test(Effects(stay), spec, Options(**options), SMALL)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("pmf", ["none", "summary"])
@pytest.mark.parametrize("expression", ["x1", "abs(x1)"])
def test_the_null_distribution_of_few_items_on_a_fine_lattice_stays_within_the_bytes(
    expression: str, pmf: str
) -> None:
    """Scores of five decimals: the lattice has a million points, the p-value needs none of them."""
    assert peak_bytes(24, 50_000, expression, {"pmf": pmf}) <= SMALL.bytes + SLACK


def test_the_smallest_attainable_p_of_a_middle_stays_within_the_bytes() -> None:
    options = {"pmf": "none", "alternative": "less"}
    assert peak_bytes(14, 30_000, "abs(x1)", options) <= SMALL.bytes + SLACK


# Exact methods that take long give way to a bracket or to controlled samples, which say so; by name they are exact.


OF_TWO_CLASSES = ("tp", "fp", "fn", "tn")
ORDERS = range(1, 5)
QUIET = Options(pmf="none")


def against_a_gold_of_its_own(seed: int, items: int) -> dict[str, Any]:
    """Counts of one system on items whose gold differs from system to system."""
    draw = np.random.default_rng(seed)
    return {name: draw.integers(0, 4, items) for name in OF_TWO_CLASSES}


def two(items: int) -> Counts:
    return Counts(against_a_gold_of_its_own(1, items), against_a_gold_of_its_own(2, items))


@pytest.mark.parametrize("statistic", ["kappa", "mcc"])
def test_a_method_of_seconds_gives_way_to_samples_that_name_it(statistic: str) -> None:
    spec, budget = StatisticSpec(statistic), Budget(patience_s=0.2)
    record: Any = run_test(two(30), spec, QUIET, budget)
    assert record.method.monte_carlo.control == "midpoint"
    assert record.p_value_bounds_kind == "confidence"
    assert "sampled" in {warning.code for warning in record.warnings}
    named = record.method.reason.partition(": ")[2].partition(",")[0]
    assert "exact if requested by name" in record.method.reason
    exact = run_test(two(30), spec, replace(QUIET, method=named), budget)
    assert exact.method.exact
    assert record.p_value_bounds[0] <= exact.p_value <= record.p_value_bounds[1]
    fraction = prepare(two(30), spec, replace(QUIET, exact_fraction=True), budget)
    assert fraction.test.plan.chosen.exact
    patient = run_test(two(30), spec, QUIET, Budget())
    assert (patient.method.exact, patient.p_value) == (True, exact.p_value)


def test_default_plans_never_take_long_where_samples_do_not() -> None:
    for statistic in ("kappa", "mcc", "balanced_accuracy", "f1"):
        for items in (20, 40, 50, 60, 80):
            plan = plan_record(prepare(two(items), StatisticSpec(statistic), QUIET, Budget()))
            assert plan.seconds < 10.5, (statistic, items, plan)


def segments(draw: np.random.Generator, reference: Any, share: float) -> dict[str, Any]:
    """The counts of BLEU: few trigrams match, and hardly any 4-gram."""
    length = np.maximum(reference + draw.integers(-2, 3, len(reference)), 5)
    counts = {"sys_len": length, "ref_len": reference}
    matched = length
    for n in ORDERS:
        matched = np.minimum(matched, draw.binomial(length - n + 1, share**n))
        counts[f"correct_{n}"], counts[f"total_{n}"] = matched, length - n + 1
    return counts


def bleu(rows: Any) -> float:
    length, reference, *counts = (int(total) for total in rows.sum(axis=0))
    correct, total = counts[0::2], counts[1::2]
    found: float = BLEU.compute_bleu(correct, total, length, reference, smooth_method="exp").score
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_the_test_of_clusters_is_not_held_up_by_the_one_by_item(seed: int) -> None:
    """230 segments in 10 clusters: all swaps take milliseconds, the exact p-value by item took 13 seconds."""
    draw = np.random.default_rng(seed)
    reference = draw.integers(8, 41, 230)
    u, v = segments(draw, reference, 0.102), segments(draw, reference, 0.1)
    codes = np.arange(230) * 10 // 230
    data, spec = Counts(u, v, Pairing(codes, 10)), StatisticSpec("bleu")
    prepared = prepare(data, spec, QUIET, Budget())
    assert prepared.seconds < 2.0
    record = run_test(data, spec, QUIET, Budget())
    assert record.item_level is not None
    assert record.method.exact
    mine, yours = (np.array(list(side.values())).T for side in (u, v))
    reached, observed = 0, abs(bleu(mine) - bleu(yours))
    for coins in product([False, True], repeat=10):
        swapped = np.array(coins)[codes][:, None]
        difference = bleu(np.where(swapped, yours, mine)) - bleu(np.where(swapped, mine, yours))
        reached += abs(difference) >= observed * (1.0 - 1e-12)
    assert record.p_value == pytest.approx(reached / 2**10, rel=1e-12)


@pytest.mark.parametrize(("systems", "exact"), [(3, True), (9, False)])
def test_the_pairs_of_a_board_share_their_patience(systems: int, exact: bool) -> None:
    columns = {f"s{k}": against_a_gold_of_its_own(k, 36) for k in range(systems)}
    pairs = np.array([(u, v) for u in range(systems) for v in range(u)], dtype=np.int64)
    board = GeneralPairs(Systems("counts", columns), StatisticSpec("kappa"), Options(), pairs, Budget())
    assert board.seconds < 25.0
    planned: Any = board.planned(0, 1)
    assert planned.plan.chosen.exact == exact


# The identity of a request: equal for what is equal, different for everything that may change the answer.


MEAN = StatisticSpec("mean_difference")
U, V = np.array([3, 1, 2]), np.array([1, 1, 0])
PLAIN = Scores(U, V)


def digest(
    data: Paired, spec: StatisticSpec = MEAN, options: Options | None = None, algorithm: str = "1"
) -> str:
    return request_digest(data, spec, options or Options(), algorithm)


def grouped(*codes: int) -> Pairing:
    return Pairing(np.array(codes, dtype=np.int64), max(codes) + 1)


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, max_size=20))
def test_integers_and_equal_floats_are_the_same_request(values: list[int]) -> None:
    whole, real = np.array(values, dtype=np.int64), np.array(values, dtype=np.float64)
    assert digest(Scores(whole, whole)) == digest(Scores(real, real)) == digest(Scores(whole, real))
    assert digest(Effects(whole)) == digest(Effects(real))


def test_minus_zero_is_zero() -> None:
    assert digest(Effects(np.array([0.0, 1.0]))) == digest(Effects(np.array([-0.0, 1.0])))
    half = Effects(np.array([0.0, 0.5])), Effects(np.array([-0.0, 0.5]))
    assert digest(half[0]) == digest(half[1])


def test_the_digest_does_not_depend_on_memory_layout_or_width() -> None:
    wide = np.array([[3, 9], [1, 9], [2, 9]], dtype=np.int64)
    assert digest(Scores(wide[:, 0], V)) == digest(PLAIN)
    swapped = U.astype(">i8")
    assert digest(Scores(swapped, V)) == digest(PLAIN)


DIFFERENT_OPTIONS: list[dict[str, Any]] = [
    {"alternative": "greater"}, {"alternative": "less"}, {"method": "fft"}, {"method": "monte_carlo"},
    {"test": "bootstrap"}, {"samples": 20_001}, {"seed": 1}, {"precision": 1e-4}, {"alpha": 0.01},
    {"confidence_level": 0.95}, {"pmf": "none"}, {"exact_fraction": True}, {"name_u": "A"}, {"name_v": "A"},
]  # fmt: skip
DIFFERENT_DATA: list[Paired] = [
    Scores(V, U),
    Scores(np.array([3, 1, 3]), V),
    Scores(U[:2], V[:2]),
    Scores(np.array([3, 2, 1]), np.array([1, 0, 1])),
    Scores(np.array([3.5, 1.5, 2.5]), np.array([1.5, 1.5, 0.5])),
    Scores(U * 1000, V * 1000),
    Scores(U * 10**6, V * 10**6),
    Scores(U * 10**12, V * 10**12),
    replace(PLAIN, pairing=grouped(0, 0, 1)),
    replace(PLAIN, pairing=grouped(0, 1, 1)),
    replace(PLAIN, pairing=grouped(0, 1, 2)),
    Effects(U),
    Effects(U, V),
    Effects(U, -U),
    Predictions([3, 1, 2], [1, 1, 0], [1, 1, 0]),
    Predictions(["3", "1", "2"], ["1", "1", "0"], ["1", "1", "0"]),
    Predictions([("3",), ("1",), ("2",)], [("1",), ("1",), ("0",)], [("1",), ("1",), ("0",)]),
]


def test_everything_that_may_change_the_answer_changes_the_digest() -> None:
    found = [digest(PLAIN)]
    found += [digest(PLAIN, options=Options(**options)) for options in DIFFERENT_OPTIONS]
    found += [digest(data) for data in DIFFERENT_DATA]
    found += [
        digest(PLAIN, StatisticSpec("sum_difference")),
        digest(PLAIN, StatisticSpec("signed_rank", {"zero_method": "pratt"})),
        digest(PLAIN, StatisticSpec("signed_rank", {"zero_method": "zsplit"})),
        digest(PLAIN, StatisticSpec("signed_rank")),
        digest(PLAIN, algorithm="2"),
    ]
    assert all(len(one) == 64 and set(one) <= set("0123456789abcdef") for one in found)
    for one, other in itertools.combinations(range(len(found)), 2):
        assert found[one] != found[other], (one, other)


@pytest.mark.parametrize("pairing", [Pairing(by_id=True), Pairing(matched=3), Pairing(only_u=3)])
def test_the_identity_does_not_include_the_pairing(pairing: Pairing) -> None:
    """Ids only pair: after that, the same numbers are the same test."""
    assert digest(replace(PLAIN, pairing=pairing)) == digest(PLAIN)


def test_the_order_of_parameters_is_not_the_caller_s_business() -> None:
    one = StatisticSpec("signed_rank", {"zero_method": "pratt", "other": 1})
    other = StatisticSpec("signed_rank", {"other": 1, "zero_method": "pratt"})
    assert digest(PLAIN, one) == digest(PLAIN, other)


# Effects of mixed magnitude, given as such: ties are those of the decimals, against brute force in fractions.


TEXTS = [
    "1e12", "1e-12", "0.1", "0.2", "0.3", "-0.3", "7e9", "1e22", "2e22", "-1e22", "5e-324", "0", "3",
    "1e-300",
]  # fmt: skip


@pytest.mark.parametrize("seed", range(150))
def test_effects_tie_as_written(seed: int) -> None:
    rng = random.Random(seed)
    n = rng.randint(2, 9)
    stay = [rng.choice(TEXTS) for _ in range(n)]
    swap = [rng.choice([text, rng.choice(TEXTS)]) for text in stay] if rng.random() < 0.5 else None
    expression, factor, absolute = rng.choice(
        [("x1", Fraction(1), False), ("-2*x1/3", Fraction(-2, 3), False), ("abs(x1)", Fraction(1), True)]
    )
    alternative = rng.choice(["two-sided", "greater", "less"])
    own = [factor * Fraction(text) for text in stay]
    other = [-x for x in own] if swap is None else [factor * Fraction(text) for text in swap]
    sums = [Fraction(0)]
    for a, b in zip(own, other, strict=True):
        sums = [s + x for s in sums for x in (a, b)]
    seen = sum(own, Fraction(0))
    if absolute:
        sums, seen = [abs(s) for s in sums], abs(seen)
    inside = {
        "greater": [s >= seen for s in sums],
        "less": [s <= seen for s in sums],
        "two-sided": [abs(s) >= abs(seen) for s in sums],
    }[alternative]
    record = effects(
        [float(text) for text in stay],
        None if swap is None else [float(text) for text in swap],
        expression,
        alternative=alternative,
    )
    assert record.p_value == sum(inside) / len(inside)
    assert record.method.exact
    assert record.statistic.observed == pytest.approx(float(seen), rel=1e-12, abs=1e-320)


def test_scores_of_systems_are_exact_sums_beyond_doubles() -> None:
    u = [2**53 + 1, -(2**53) + 2, 2**58 + 3, 0]
    v = [-(2**58) - 3, 1, 2**53 - 1, -1]
    answer = score(u, v)
    assert answer.statistic.u == float(Fraction(sum(u), 4))
    assert answer.statistic.v == float(Fraction(sum(v), 4))
