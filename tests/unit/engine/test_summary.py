"""The null distribution as it is shown: probabilities, moments, quantiles and bins against brute force."""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from exactperm.engine.lattice import CanonicalForm, canonical_form
from exactperm.engine.one_sum import summary
from exactperm.engine.one_sum.bins import binned, trimmed
from exactperm.engine.one_sum.summary import MAX_BINS, Law, law, law_of_sum
from tests.unit.engine.cases import cases, posed
from tests.unit.engine.exact_null import Case

CLOSE = 1e-14
QUANTILES = (0.005, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.995)


def exact_law(case: Case, *, absolute: bool = False) -> dict[int, Fraction]:
    """P(S = s), or P(|S| = s), by adding items one by one in integers."""
    ways = Counter({0: 1})
    for stay, swap in case.pairs:
        after: Counter[int] = Counter()
        for total, number in ways.items():
            after[total + stay] += number
            after[total + swap] += number
        ways = after
    if absolute:
        folded: Counter[int] = Counter()
        for total, number in ways.items():
            folded[abs(total)] += number
        ways = folded
    return {total: Fraction(ways[total], 2 ** len(case.stay)) for total in sorted(ways)}


def assert_same_law(result: Law | None, truth: Mapping[int, Fraction]) -> None:
    assert result is not None
    assert result.width == 1
    values = result.values.tolist()
    assert values == sorted(set(values))
    masses = dict(zip(values, result.masses.tolist(), strict=True))
    for value in masses.keys() | truth.keys():
        assert abs(masses.get(value, 0.0) - float(truth.get(value, 0))) <= CLOSE
    assert math.fsum(masses.values()) == pytest.approx(1.0, abs=1e-13)


@pytest.mark.parametrize("absolute", [False, True])
@settings(max_examples=120)
@given(case=cases(max_items=11))
def test_probabilities_sum_to_one_and_are_those_of_brute_force(absolute: bool, case: Case) -> None:
    form, _ = posed(case)
    assert_same_law(law_of_sum(form, absolute=absolute), exact_law(case, absolute=absolute))


@pytest.mark.parametrize("absolute", [False, True])
@settings(max_examples=120)
@given(case=cases(max_items=10))
def test_moments_and_quantiles_are_those_of_brute_force(absolute: bool, case: Case) -> None:
    form, _ = posed(case)
    result, truth = law_of_sum(form, absolute=absolute), exact_law(case, absolute=absolute)
    assert result is not None
    mean = sum((value * p for value, p in truth.items()), Fraction(0))
    variance = sum((value * value * p for value, p in truth.items()), Fraction(0)) - mean * mean
    size = max(abs(value) for value in truth) or 1
    assert result.mean() == pytest.approx(float(mean), abs=1e-12 * size)
    assert result.sd() == pytest.approx(math.sqrt(variance), rel=1e-6, abs=1e-7 * size)
    for q in QUANTILES:
        assert result.quantile(q) == exact_quantile(truth, Fraction(str(q)))


def exact_quantile(truth: Mapping[int, Fraction], q: Fraction) -> Fraction:
    """The mean of the smallest value that reaches q and the smallest that exceeds it."""
    ends, reached = [], Fraction(0)
    for value, p in truth.items():
        before, reached = reached, reached + p
        ends += [value] * ((before < q <= reached) + (before <= q < reached))
    return Fraction(sum(ends), 2)


@pytest.mark.slow
@pytest.mark.parametrize("n", [40, 400, 4000])
def test_a_long_null_has_the_binomial_law(n: int) -> None:
    form = canonical_form(np.ones(n, dtype=np.int64))
    result = law_of_sum(form)
    assert result is not None
    truth = {2 * k - n: Fraction(math.comb(n, k), 2**n) for k in range(n + 1)}
    shown = dict(zip(result.values.tolist(), result.masses.tolist(), strict=True))
    for value, p in truth.items():
        assert abs(shown.get(value, 0.0) - float(p)) <= CLOSE
    assert result.mean() == pytest.approx(0.0, abs=1e-9)
    assert result.sd() == pytest.approx(math.sqrt(n), rel=1e-9)
    assert [result.quantile(q) for q in QUANTILES] == [
        exact_quantile(truth, Fraction(str(q))) for q in QUANTILES
    ]


@pytest.mark.parametrize("heavy", [[10**6], [10**9, 3 * 10**9], [10**7, 10**7, 10**7]])
def test_a_null_with_outliers_is_listed_around_each_of_their_sums(heavy: list[int]) -> None:
    rng = random.Random("outliers")
    case = Case((*(rng.randint(1, 9) for _ in range(25)), *heavy))
    form, _ = posed(case)
    for absolute in (False, True):
        assert_same_law(law_of_sum(form, absolute=absolute), exact_law(case, absolute=absolute))


@pytest.mark.slow
@pytest.mark.parametrize("n", [12, 18])
def test_a_few_enormous_weights_are_listed_sum_by_sum(n: int) -> None:
    rng = random.Random("enormous")
    case = Case(tuple(rng.randint(10**8, 10**9) for _ in range(n)))
    form, _ = posed(case)
    assert_same_law(law_of_sum(form), exact_law(case))


def test_a_window_that_is_far_too_long_is_pictured_on_a_rounded_lattice() -> None:
    rng = random.Random("too long")
    weights = [rng.randint(10**11, 10**12) for _ in range(60)]
    form = canonical_form(np.array(weights, dtype=np.int64))
    result = law(form)
    assert result is not None
    sd = math.sqrt(sum(weight * weight for weight in weights) / form.step**2)
    assert abs(result.masses.sum() - 1.0) < 1e-9
    assert abs(result.mean() - form.range / 2) < 0.01 * sd
    assert abs(result.sd() / sd - 1.0) < 0.01
    # Sixty coins are near enough to normal for its quantile.
    assert abs((form.range / 2 - result.quantile(0.025)) / sd - 1.96) < 0.05


def drawn(name: str, n: int, most: int) -> list[int]:
    rng = random.Random(name)
    return [rng.randint(1, most) for _ in range(n)]


def fine_and_coarse(form: CanonicalForm, monkeypatch: pytest.MonkeyPatch) -> tuple[Law, Law]:
    monkeypatch.setattr(summary, "FINE_POINTS", 1 << 24)
    monkeypatch.setattr(summary, "MAX_POINTS", 1 << 24)
    fine = law(form)
    monkeypatch.setattr(summary, "FINE_POINTS", 1 << 14)
    monkeypatch.setattr(summary, "GRID_CELLS", 1 << 12)
    coarse = law(form)
    assert fine is not None
    assert coarse is not None
    assert fine.width == 1
    assert coarse.width > 1
    return fine, coarse


@pytest.mark.slow
@pytest.mark.parametrize("n", [60, 900])
def test_cells_of_a_long_window_add_up_the_points_of_a_fine_one(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    form = canonical_form(np.array(drawn("coarse", n, 10_000), dtype=np.int64))
    fine, coarse = fine_and_coarse(form, monkeypatch)
    edges = np.append(coarse.values, coarse.values[-1] + coarse.width)
    reached = np.append(0.0, np.cumsum(fine.masses))
    expected = np.diff(reached[np.searchsorted(fine.values, edges)])
    # Every fine point below 1e-15 is shown as nothing, and a cell holds `width` of them.
    assert np.abs(coarse.masses - expected).max() <= 1e-13 + 1e-15 * coarse.width


@pytest.mark.slow
@pytest.mark.parametrize("outliers", [[], [3_000_000], [3_000_001, 7_000_003]])
def test_a_coarse_picture_has_the_quantiles_and_moments_of_the_fine_one_to_its_width(
    outliers: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    form = canonical_form(np.array(drawn("moments", 300, 10_000) + outliers, dtype=np.int64))
    fine, coarse = fine_and_coarse(form, monkeypatch)
    assert coarse.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert coarse.sd() == pytest.approx(fine.sd(), rel=1e-3)
    assert abs(coarse.mean() - fine.mean()) <= coarse.width
    for q in QUANTILES:
        if outliers and q in {0.25, 0.5, 0.75}:
            continue  # between two humps, where next to no mass is, any value would do
        assert abs(coarse.quantile(q) - fine.quantile(q)) <= coarse.width


@pytest.mark.slow
def test_a_long_window_is_shown_in_cells_without_being_asked_to() -> None:
    rng = random.Random("long")
    stay = np.array([rng.randint(1, 200_000) for _ in range(200)], dtype=np.int64)
    result = law_of_sum(canonical_form(stay))
    assert result is not None
    assert result.width > 1
    assert result.masses.sum() == pytest.approx(1.0, abs=1e-12)
    assert result.sd() == pytest.approx(math.sqrt(float((stay.astype(float) ** 2).sum())), rel=1e-4)
    assert abs(result.quantile(0.5)) <= 2 * result.width


@settings(max_examples=60)
@given(
    st.dictionaries(st.integers(-5000, 5000), st.integers(1, 100), min_size=1, max_size=60),
    st.sampled_from([1, 2, 3, 10]),
    st.integers(1, MAX_BINS),
)
def test_bins_are_at_most_as_many_as_allowed_and_lose_nothing(
    weights: dict[int, int], spacing: int, most: int
) -> None:
    values = np.array(sorted(spacing * value for value in weights), dtype=np.int64)
    masses = np.array([weights[value // spacing] for value in values.tolist()], dtype=np.float64)
    masses /= masses.sum()
    bins = binned(Law(values, masses), spacing, most)
    assert 1 <= len(bins.first) <= most
    assert bins.width % spacing == 0
    for first, mass in zip(bins.first.tolist(), bins.masses.tolist(), strict=True):
        inside = (values >= first) & (values < first + bins.width)
        assert mass == pytest.approx(masses[inside].sum(), rel=1e-12)
        assert (first - int(bins.first[0])) % bins.width == 0
    # Empty bins are left out, so that what is over at either end is known to a bin.
    over = int(values[0]) - int(bins.first[0])
    assert (int(bins.first[-1]) + bins.width - spacing - int(values[-1]) - over) % bins.width == 0
    assert bins.masses.sum() == pytest.approx(1.0, rel=1e-12)


@pytest.mark.parametrize("n", [1, 5, 199, 200, 201, 402, 10_000])
def test_the_summary_has_at_most_201_bins_and_nearly_all_of_the_mass(n: int) -> None:
    form = canonical_form(np.ones(n, dtype=np.int64))
    result = law_of_sum(form)
    assert result is not None
    bins = binned(trimmed(result), form.step)
    assert len(bins.first) <= 201
    assert bins.masses.sum() == pytest.approx(1.0, abs=1e-11)
    if n <= 40:
        assert len(bins.first) == n + 1


def test_trimming_takes_next_to_nothing_off_either_end() -> None:
    form = canonical_form(np.ones(2000, dtype=np.int64))
    result = law_of_sum(form)
    assert result is not None
    kept = trimmed(result)
    assert len(kept.values) < len(result.values)
    outside = (result.values < kept.values[0]) | (result.values > kept.values[-1])
    assert result.masses[outside].sum() <= 3e-12
    assert (kept.masses > 0.0).all()


def test_identical_systems_have_all_their_mass_at_the_one_sum() -> None:
    form: CanonicalForm = canonical_form(np.array([4, -1], dtype=np.int64), np.array([4, -1], dtype=np.int64))
    assert_same_law(law_of_sum(form), {3: Fraction(1)})
