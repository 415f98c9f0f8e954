"""Statistics of several sums: F1 and expressions over sums, rank correlations."""

import itertools
import json
import warnings
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exactperm.answers.test import Alternative, TestRecord
from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import enumeration
from exactperm.engine.plan import Budget
from exactperm.engine.probability import region
from exactperm.engine.quantiles.swaps import random_swaps
from exactperm.errors import InvalidTest, PlanTooLarge
from exactperm.inference.joint import JointTest
from exactperm.inference.options import Options
from exactperm.inference.paired import finish, prepare, run_test
from exactperm.statistics.paired import Counts, Effects, Pairing, Predictions, StatisticSpec
from tests.enumeration import share, swaps
from tests.refusals import refused

# Statistics of several sums through `run_test`: right whatever the counts' size, or refused; and what they cost.


BUDGET = Budget(20_000_000_000, 512 << 20)
F1 = StatisticSpec("f1")
Score = Callable[[Sequence[int]], Fraction]


def systems(sides: Iterable[dict[str, Any]]) -> Counts:
    u, v = sides
    return Counts(u, v)


def over(above: int | Fraction, below: int | Fraction) -> Fraction:
    return Fraction(above) / Fraction(below) if below else Fraction(0)


def f1(sums: Sequence[int]) -> Fraction:
    return over(2 * sums[0], 2 * sums[0] + sums[1] + sums[2])


def brute_force(stay: list[list[int]], swap: list[list[int]], t: Score) -> Fraction:
    """The two-sided p-value over all assignments, in fractions."""
    return share([t([sum(column) for column in zip(*rows, strict=True)]) for rows, _ in swaps(stay, swap)])


def counts_of(body: str) -> Counts:
    read = json.loads(body)
    return systems({name: np.array(column) for name, column in read[side].items()} for side in "uv")


def f1_by_brute_force(data: Counts) -> Fraction:
    u, v = ([[int(x) for x in row] for row in zip(*side.values(), strict=True)] for side in (data.u, data.v))
    stay, swap = ([a + b for a, b in zip(*pair, strict=True)] for pair in ((u, v), (v, u)))
    return brute_force(stay, swap, lambda sums: f1(sums[:3]) - f1(sums[3:]))


# Findings A1 of the numerics: answers of another lattice, or no answer at all, where an int64 overflowed.
OVERFLOWED = {
    '{"u":{"tp":[34600,64311,63377],"fp":[77058,2060,14486],"fn":[33078,20887,28785]},"v":{"tp":[19932,7443,12428],'
    '"fp":[14802,22621,61399],"fn":[50380,8935,71986]}}': Fraction(1, 2),
    '{"u":{"tp":[6951036,9207316],"fp":[2902583,6286474],"fn":[6159316,1450686]},"v":{"tp":[7364555,2746402],"fp":'
    '[8529982,8739897],"fn":[1810787,6597726]}}': Fraction(1, 2),
    '{"u":{"tp":[97236,37911,95267],"fp":[56696,12600,21113],"fn":[51326,10604,92537]},"v":{"tp":[44193,56284,16136],'
    '"fp":[47888,92447,49338],"fn":[74506,50071,6808]}}': Fraction(1, 4),
}


@pytest.mark.parametrize(("body", "truth"), OVERFLOWED.items())
def test_f1_of_large_counts_is_that_of_all_swaps(body: str, truth: Fraction) -> None:
    data = counts_of(body)
    assert f1_by_brute_force(data) == truth
    for method in ("auto", "enumeration"):
        found = run_test(data, F1, Options(method=method, exact_fraction=True), BUDGET)
        assert found.method.exact
        assert found.p_value_fraction is not None
        fraction = found.p_value_fraction
        assert fraction.value == truth


def test_an_expression_over_six_sums_is_that_of_all_swaps() -> None:
    stay = [[982, 208, 642, 283, 916, 651], [224, 184, 27, 749, 29, 768], [968, 288, 620, 426, 299, 727]]
    stay += [[226, 780, 656, 521, 765, 631], [174, 762, 971, 150, 818, 428], [97, 643, 572, 820, 982, 70]]
    swap = [[642, 290, 528, 63, 613, 545], [802, 993, 660, 510, 804, 930], [454, 587, 595, 474, 646, 804]]
    swap += [[575, 463, 363, 116, 614, 418], [986, 200, 838, 901, 294, 790], [211, 864, 686, 640, 305, 943]]
    spec = StatisticSpec("expression", {"expression": "x1/x2-x3/x4+x5/x6"})
    found = run_test(Effects(np.array(stay), np.array(swap)), spec, Options(), BUDGET)
    truth = brute_force(stay, swap, lambda x: over(x[0], x[1]) - over(x[2], x[3]) + over(x[4], x[5]))
    assert truth == Fraction(11, 32)
    assert found.p_value == float(truth)


@pytest.mark.parametrize("size", [10, 10**3, 10**5, 10**7, 10**9])
def test_counts_of_every_size_agree_with_all_swaps_by_every_method(size: int) -> None:
    draw = np.random.default_rng(size)
    answered = 0
    for _ in range(12):
        units = int(draw.integers(2, 7))
        data = systems({name: draw.integers(0, size, units) for name in ("tp", "fp", "fn")} for _ in "uv")
        truth = f1_by_brute_force(data)
        for method in ("auto", "dp", "grid"):
            try:
                found: Any = run_test(data, F1, Options(method=method, pmf="none"), Budget(10**9, 1 << 28))
            except (InvalidTest, PlanTooLarge):
                assert method != "auto"
                continue
            answered += 1
            assert found.method.exact
            assert abs(Fraction(found.p_value) / truth - 1) <= found.method.relative_error_bound + 2.0**-52
    assert answered >= 12


def drawn_f1(items: int, top: int, seed: int) -> tuple[Counts, Counts]:
    """F1 from tp, fp, fn; and from the two sums that it depends on."""
    draw = np.random.default_rng(seed)
    drawn = [{name: draw.integers(0, top + 1, items) for name in ("tp", "fp", "fn")} for _ in "uv"]
    pairs = [{"tp": 2 * one["tp"], "incorrect": 2 * (one["fp"] + one["fn"])} for one in drawn]
    return systems(drawn), systems(pairs)


@pytest.mark.slow
@pytest.mark.parametrize(("items", "top"), [(9, 40), (40, 40), (200, 40), (1000, 5), (3000, 40)])
def test_f1_of_tp_fp_fn_is_f1_of_two_sums(items: int, top: int) -> None:
    for one, other in (drawn_f1(items, top, seed) for seed in range(2 if items < 3000 else 1)):
        found, expected = (run_test(data, F1, Options(), BUDGET) for data in (one, other))
        assert found.method.exact
        assert found.method.lattice is not None
        assert found.method.lattice.rank == 2
        assert found.p_value == pytest.approx(expected.p_value, rel=1e-8)
        assert found.statistic.observed == expected.statistic.observed
        assert (found.items.wins, found.items.losses) == (expected.items.wins, expected.items.losses)


def test_units_are_counted_as_sent() -> None:
    # A false positive for a false negative: the counts differ, and F1 does not.
    data = Counts(
        {"tp": np.array([5, 4, 3]), "fp": np.array([1, 2, 0]), "fn": np.array([0, 2, 4])},
        {"tp": np.array([5, 2, 3]), "fp": np.array([0, 2, 1]), "fn": np.array([1, 3, 3])},
    )
    found = run_test(data, F1, Options(), BUDGET)
    assert found.items.nonzero == 3
    assert found.p_value == 1.0 == float(f1_by_brute_force(data))


def test_counts_that_differ_where_f1_does_not_are_certain() -> None:
    counts = [
        {"tp": np.array([5, 4]), "fp": np.array(fp), "fn": np.array(fn)}
        for fp, fn in (([1, 2], [3, 0]), ([2, 1], [2, 1]))
    ]
    for method in ("auto", "enumeration", "monte_carlo"):
        found = run_test(systems(counts), F1, Options(method=method), BUDGET)
        assert found.items.nonzero == 2
        assert found.p_value == 1.0


def test_the_fraction_of_f1_of_clusters_comes_with_any_method() -> None:
    draw = np.random.default_rng(3)
    codes = np.concatenate([np.arange(31), draw.integers(0, 31, 90)])
    data, _ = drawn_f1(len(codes), 4, 11)
    data = replace(data, pairing=Pairing(codes, 31))
    fractions = set()
    for method in ("auto", "dp", "grid"):
        found = run_test(data, F1, Options(method=method, exact_fraction=True), BUDGET)
        assert found.p_value_fraction is not None
        fraction = found.p_value_fraction
        fractions.add(fraction.value)
        assert found.p_value == pytest.approx(float(max(fractions)), rel=1e-9)
    assert len(fractions) == 1


def test_a_fraction_that_would_take_too_long_is_refused_with_its_price() -> None:
    data, _ = drawn_f1(3000, 40, 1)
    with refused(None, "/exact_fraction", "enumeration or dp", error=PlanTooLarge):
        prepare(data, F1, Options(exact_fraction=True), BUDGET)


def planned(data: Any, spec: StatisticSpec, **options: Any) -> JointTest:
    test = prepare(data, spec, Options(**options), BUDGET).test
    assert isinstance(test, JointTest)
    return test


def test_many_classes_are_planned_without_a_basis() -> None:
    draw = np.random.default_rng(4)
    gold, u, v = (draw.integers(0, 200, 400).tolist() for _ in range(3))
    test = planned(Predictions(gold, u, v), StatisticSpec("f1", {"average": "macro"}))
    assert test.form.basis is None
    assert test.plan.chosen.method == "monte_carlo"


def test_the_picture_costs_no_more_than_the_p_value_and_a_little() -> None:
    for items, top in ((40, 40), (200, 40), (3000, 40), (20_000, 2)):
        for pmf in ("none", "summary"):
            test = planned(drawn_f1(items, top, 5)[0], F1, pmf=pmf)
            assert test.look.seconds <= max(0.2, 1.1 * test.plan.chosen.seconds)


def test_a_sampled_null_is_labelled_as_sampled() -> None:
    data, _ = drawn_f1(3000, 40, 6)
    found = run_test(data, F1, Options(), BUDGET)
    assert found.method.exact
    assert "null_sampled" in {warning.code for warning in found.warnings}


def bootstrap_of(counts: list[int], **options: Any) -> Any:
    u = {"tp": np.array(counts), "fp": np.array([1] * len(counts)), "fn": np.array([2] * len(counts))}
    v = {"tp": np.array(counts[::-1]), "fp": np.array([2] * len(counts)), "fn": np.array([3] * len(counts))}
    return prepare(Counts(u, v), F1, Options(test="bootstrap", **options), BUDGET)


def test_the_bootstrap_of_sums_that_a_double_cannot_hold_adds_integers() -> None:
    # 2**53 + 1 is no double: with one unit every resample is the data themselves.
    data = [2**53 - 1, 2**53 - 3, 2**52 + 1]
    found = finish(bootstrap_of(data, samples=2000))
    assert 0.0 < found.p_value <= 1.0
    assert found.method.monte_carlo is not None


def test_a_bootstrap_beyond_integers_is_refused() -> None:
    with pytest.raises(InvalidTest) as refused:
        bootstrap_of([2**52] * 400 + [1], samples=100)
    assert refused.value.flaws[0].code in {"integer_too_large", "not_a_count"}


def test_the_price_of_a_bootstrap_grows_with_its_samples_for_any_units() -> None:
    few, many = (bootstrap_of([3, 5], samples=samples) for samples in (10_000, 10_000_000))
    assert many.seconds > 300 * few.seconds
    assert many.test.plan.chosen.operations > 50 * 10_000_000
    assert many.test.plan.chosen.bytes > 24 * 10_000_000


# Expressions whose intermediate results are below the smallest double, and how they order states by two sums.
UNDERFLOWING: dict[str, Score] = {
    "sqrt(exp(-x1))": lambda sums: Fraction(-sums[0]),
    "exp(-x1)*exp(600)": lambda sums: Fraction(-sums[0]),
    "exp(-x1)/exp(-x2)": lambda sums: Fraction(sums[1] - sums[0]),
    "exp(-x1)/(exp(-x1)+exp(-x2))": lambda sums: Fraction(sums[1] - sums[0]),
    "(x1/1e200)*(x2/1e200)*(x1*1e150)": lambda sums: Fraction(sums[0] ** 2 * sums[1]),
    "sqrt((x1/1e200)*(x2/1e200))": lambda sums: Fraction(sums[0] * sums[1]),
}


@pytest.mark.parametrize("expression", UNDERFLOWING)
def test_intermediate_underflow_is_decided_exactly(expression: str) -> None:
    """A product of doubles that is nought is not nought, and a state is not told from others by it."""
    stay = [[200, 150], [150, 300], [180, 160], [300, 130]]
    swap = [[190, 170], [260, 150], [170, 190], [120, 300]]
    order = UNDERFLOWING[expression]
    values = [
        order([sum(column) for column in zip(*rows, strict=True)])
        for rows in itertools.product(*zip(stay, swap, strict=True))
    ]
    data, spec = (
        Effects(np.array(stay), np.array(swap)),
        StatisticSpec("expression", {"expression": expression}),
    )
    for alternative in ("greater", "less"):
        record = run_test(data, spec, Options(alternative=alternative), BUDGET)
        assert record.method.exact
        assert record.p_value == share(values, alternative)


# Meeting in the middle against listing at n = 20.


def test_meeting_in_the_middle_equals_listing_at_20_items() -> None:
    effects = np.random.default_rng(20).integers(-(10**9), 10**9, 20)
    form = canonical_form(effects)
    tail = region(form, int(effects.sum()), "two-sided")
    assert enumeration.probability_by_halves(form, tail) == enumeration.probability(form, tail)


# Rank correlations of tied scores against SciPy's own functions under all swaps, and samples of them against all swaps.


ALTERNATIVES: tuple[Alternative, ...] = ("two-sided", "greater", "less")
SCORES: dict[str, tuple[dict[str, Any], Any]] = {
    "spearman": ({}, stats.spearmanr),
    "kendall": ({}, stats.kendalltau),
    "kendall c": ({"variant": "c"}, partial(stats.kendalltau, variant="c")),
}


def score_of_rank_correlations(name: str, system: Any, gold: Any) -> float:
    """SciPy's value; 0 if it has none because all scores tie."""
    return _score(name, tuple(np.asarray(system).tolist()), tuple(np.asarray(gold).tolist()))


@cache
def _score(name: str, system: tuple[float, ...], gold: tuple[float, ...]) -> float:
    """Kept, as V of a swap is U of the opposite one, and swaps of ties are alike."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = float(SCORES[name][1](system, gold).statistic)
    return 0.0 if np.isnan(value) else value


def answered(name: str, gold: Any, u: Any, v: Any, codes: Any = None, **given: Any) -> TestRecord:
    pairing = Pairing() if codes is None else Pairing(clusters=codes, n_clusters=int(codes.max()) + 1)
    spec = StatisticSpec(name.split(maxsplit=1)[0], {**SCORES[name][0], "scale": given.pop("scale", "ranks")})
    return run_test(Predictions(gold, u, v, pairing), spec, Options(**{"pmf": "none", **given}), Budget())


def swapped_scores(name: str, gold: Any, u: Any, v: Any, codes: Any) -> list[float]:
    """The difference under all swaps; the first is as observed."""

    def value(side: list[Any]) -> float:
        return score_of_rank_correlations(name, np.array(side), gold)

    return [value(one) - value(other) for one, other in swaps(u, v, codes.tolist())]


@pytest.mark.parametrize("scale", ["ranks", "raw"])
@pytest.mark.parametrize("name", SCORES)
def test_p_is_that_of_scipy_s_function_under_all_swaps(name: str, scale: str) -> None:
    source = np.random.default_rng(len(name) + len(scale))
    for case in range(24):
        n = int(source.integers(4, 7))
        gold = np.append(source.integers(0, 5, n - 2), [0, 1])
        u, v = (source.integers(0, source.integers(2, n), n) for _ in range(2))
        codes = np.unique(source.integers(0, 5, n), return_inverse=True)[1] if case % 3 == 0 else np.arange(n)
        one, other = (u, v) if scale == "raw" else (stats.rankdata(u), stats.rankdata(v))
        values = np.array(swapped_scores(name, gold, one, other, codes))
        for side in ALTERNATIVES:
            extreme = {
                "two-sided": abs(values) >= abs(values[0]) - 1e-9,
                "greater": values >= values[0] - 1e-9,
            }
            share = extreme.get(side, values <= values[0] + 1e-9).mean()
            said = answered(name, gold, u, v, codes if case % 3 == 0 else None, scale=scale, alternative=side)
            assert said.method.exact
            assert said.p_value == pytest.approx(share, rel=1e-12)
            assert (said.statistic.u, said.statistic.v) == pytest.approx(
                (score_of_rank_correlations(name, u, gold), score_of_rank_correlations(name, v, gold)),
                abs=1e-12,
            )


@pytest.mark.parametrize("name", SCORES)
def test_the_interval_of_samples_holds_the_p_of_all_swaps(name: str) -> None:
    """Of systems with like ties, and of a judge of two grades beside a fine metric."""
    source = np.random.default_rng(3)
    for grades in (2, 5, 14):
        gold = np.arange(14) // (1 + grades % 2)
        fine = gold + source.integers(-4, 5, 14)
        coarse = (gold + source.integers(-4, 5, 14)) * grades // 14
        exact = answered(name, gold, fine, coarse, method="enumeration")
        sampled: Any = answered(name, gold, fine, coarse, method="monte_carlo", samples=2_000)
        low, high = sampled.p_value_bounds
        assert low <= exact.p_value <= high
        assert sampled.method.monte_carlo.control == "midpoint"
        assert exact.statistic == sampled.statistic


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_scores_without_ties_are_one_sum(name: str) -> None:
    source = np.random.default_rng(0)
    gold, u, v = source.integers(0, 9, 300), source.normal(size=300), source.normal(size=300)
    said = answered(name, gold, u, v, method="fft")
    assert said.method.exact
    assert (said.statistic.u, said.statistic.v) == pytest.approx(
        (score_of_rank_correlations(name, u, gold), score_of_rank_correlations(name, v, gold)), abs=1e-12
    )


def test_a_reversed_order_of_equal_size_ties_with_the_observed_one() -> None:
    """Roots of unlike ties that agree: swapping everything is as extreme, and no rounding may leave it out."""
    said = answered(
        "spearman", np.array([5, 4, 3, 2, 1]), np.array([1, 1, 1, 1, 2]), np.array([1, 2, 2, 2, 2])
    )
    assert said.statistic.observed == 0.0
    assert said.p_value == 1.0


def test_a_sum_over_groups_of_tau_c_is_refused() -> None:
    column: Any = np.array([1, 2, 1, 2])
    data = Predictions(column, column, column, Pairing(), np.array([0, 0, 1, 1]))
    spec = StatisticSpec("kendall", {"variant": "c", "group_average": "sum"})
    with pytest.raises(InvalidTest) as refused:
        run_test(data, spec, Options(), Budget())
    flaw = refused.value.flaws[0]
    assert (flaw.pointer, flaw.code) == ("/statistic/group_average", "not_available")


@pytest.mark.parametrize("name", SCORES)
@pytest.mark.parametrize("others", [False, True])
def test_scores_that_tie_throughout_count_as_zero_though_no_swap_changes_them(
    name: str, others: bool
) -> None:
    """A group where both systems are constant, by itself or beside one where they are not."""
    gold: Any = np.array([2, 1, 3, 1, 2, 3])
    u: Any = np.array([1, 1, 1, 2, 3, 4])
    v: Any = np.array([1, 1, 1, 6, 7, 5])
    groups = np.array([0, 0, 0, 1, 1, 1])
    if not others:
        gold, u, v, groups = gold[:3], u[:3], v[:3], groups[:3]
    spec = StatisticSpec(name.split(maxsplit=1)[0], {**SCORES[name][0], "scale": "raw"})
    said = run_test(Predictions(gold, u, v, Pairing(), groups), spec, Options(), Budget())
    own = [groups == code for code in np.unique(groups)]
    wanted = [
        np.mean([score_of_rank_correlations(name, system[part], gold[part]) for part in own])
        for system in (u, v)
    ]
    assert (said.statistic.u, said.statistic.v) == pytest.approx(wanted, abs=1e-15)
    assert said.p_value == (0.5 if others else 1.0)


@pytest.mark.parametrize("clustered", [False, True])
@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_sampled_swaps_are_counted_as_scipy_s_function_counts_them(name: str, clustered: bool) -> None:
    """Of fine scores, of grades, and of one beside the other, in three groups whose items come in turn."""
    source = np.random.default_rng(17)
    n, samples = 60, 100
    for grades, others in ((90, 70), (30, 4), (3, 4)):
        quality = source.normal(size=n)
        gold: Any = np.floor(4 * quality).astype(int)
        u: Any = np.argsort(np.argsort(quality + source.normal(size=n))) * grades // n
        v: Any = np.argsort(np.argsort(quality + source.normal(size=n))) * others // n
        v = v + (u == v)
        codes = np.unique(source.integers(0, 20, n), return_inverse=True)[1] if clustered else np.arange(n)
        count, groups = int(codes.max()) + 1, np.arange(n) % 3
        pairing = Pairing(clusters=codes, n_clusters=count) if clustered else Pairing()
        data = Predictions(gold, u, v, pairing, groups)
        options = Options(method="monte_carlo", samples=samples, seed=5, pmf="none")
        answer: Any = run_test(data, StatisticSpec(name, {"scale": "raw"}), options, Budget())
        drawn = np.concatenate(list(random_swaps(count, 64, samples, 5)))[:, codes]
        values = []
        for row in np.concatenate([np.zeros((1, n), dtype=bool), drawn]):
            first, second = np.where(row, v, u), np.where(row, u, v)
            parts = [(first[g::3], second[g::3], gold[g::3]) for g in range(3)]
            values.append(
                sum(
                    score_of_rank_correlations(name, one, y) - score_of_rank_correlations(name, other, y)
                    for one, other, y in parts
                )
            )
        extreme = sum(abs(value) >= abs(values[0]) - 1e-9 for value in values[1:])
        assert answer.items.nonzero == count
        assert answer.method.monte_carlo.exceedances == extreme


def test_tau_b_of_two_metrics_of_many_segments_is_planned_for_a_second() -> None:
    """Tables of all pairs of 13 systems would take long for every swap; sums decide on nearly all swaps."""
    source = np.random.default_rng(0)
    groups = np.repeat(np.arange(13), 529)
    quality = source.normal(size=len(groups))
    gold: Any = np.floor(6 * quality).astype(int)
    u: Any = np.round(quality + source.normal(size=len(groups)), 2)
    v: Any = np.round(quality + source.normal(size=len(groups)), 2)
    data = Predictions(gold, u, v, Pairing(), groups)
    answer: Any = run_test(
        data, StatisticSpec("kendall", {}), Options(samples=20_000), Budget(operations=10**9)
    )
    assert answer.method.monte_carlo.samples == 20_000


@pytest.mark.parametrize("name", ["spearman", "kendall"])
def test_p_of_small_groups_that_may_be_constant_is_that_of_all_swaps(name: str) -> None:
    """Swaps make all scores of a group tie in one system, whose value is 0 then."""
    source = np.random.default_rng(1)
    for _ in range(30):
        gold: Any = np.append(source.integers(0, 3, 3), [0, 1, 2])
        u: Any = source.integers(0, 2, 6)
        v: Any = source.integers(0, 3, 6)
        groups = np.array([0, 1, 0, 1, 0, 1])
        data = Predictions(gold, u, v, Pairing(), groups)
        answer = run_test(data, StatisticSpec(name, {"scale": "raw"}), Options(pmf="none"), Budget())
        values = []
        for choice in itertools.product((False, True), repeat=6):
            systems = np.where(choice, v, u), np.where(choice, u, v)
            one, other = (
                sum(score_of_rank_correlations(name, x[g::2], gold[g::2]) for g in range(2)) for x in systems
            )
            values.append(abs(one - other))
        assert answer.p_value == pytest.approx(np.mean(np.array(values) >= values[0] - 1e-9), rel=1e-12)
