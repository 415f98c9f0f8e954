"""The parts of max T against enumeration: thresholds, laws of one and two sums, inequalities, brackets and samples."""

import math
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest
from scipy.sparse import csgraph

from exactperm.engine.max_t import sampling
from exactperm.engine.max_t.family import Family, signed_sums
from exactperm.engine.max_t.step_down import dawson_sankoff, heaviest_forest, hunter_worsley, step_down
from exactperm.engine.max_t.unions import marginals, pair_bounds
from exactperm.engine.plan import Budget


def alone(base: Any) -> Any:
    """Each column is a separate sum."""
    base = np.array(base, dtype=np.int64)
    return signed_sums(base, np.arange(base.shape[1]), np.full(base.shape[1], -1))


def all_pairs(scores: Any) -> Any:
    """The differences of all pairs of columns."""
    u, v = np.triu_indices(scores.shape[1], 1)
    return signed_sums(np.array(scores, dtype=np.int64), u, v)


def effects(part: Any) -> Any:
    return np.column_stack([part.effects(k) for k in range(len(part))])


class Enumerated:
    """Which steps each of the 2**n samples of a family of one data set reaches: reached[sample, step, test]."""

    def __init__(self, family: Family) -> None:
        d = effects(family.parts[0])
        signs = np.array(list(product((1, -1), repeat=len(d))), dtype=np.int64).reshape(2 ** len(d), -1)
        sums = signs @ d
        observed = d.sum(axis=0)
        if family.two_sided:
            sums, observed = np.abs(sums), np.abs(observed)
        squares = (d * d).sum(axis=0)
        heights = sorted({self.key(s, q) for s, q in zip(observed, squares, strict=True)}, reverse=True)
        self.reached = np.zeros((len(sums), len(heights), d.shape[1]), bool)
        for k in range(d.shape[1]):
            values, where = np.unique(sums[:, k], return_inverse=True)
            keys = [self.key(value, squares[k]) for value in values]
            table = np.array([[key >= height for height in heights] for key in keys])
            self.reached[:, :, k] = table[where]
        self.step = [heights.index(self.key(s, q)) for s, q in zip(observed, squares, strict=True)]

    @staticmethod
    def key(total: Any, square: Any) -> Fraction:
        return Fraction(int(total) * abs(int(total)), int(square)) if square else Fraction(0)

    def share(self, samples: Any) -> Fraction:
        return Fraction(int(np.count_nonzero(samples)), len(samples))

    def unions(self) -> list[Fraction]:
        """P(max over R_i >= t_i), not yet made monotone."""
        return [
            self.share(self.reached[:, i, [k for k, step in enumerate(self.step) if step >= i]].any(axis=1))
            for i in range(self.reached.shape[1])
        ]

    def adjusted(self) -> list[Fraction]:
        unions = self.unions()
        return [max(unions[: i + 1]) for i in range(len(unions))]


def random_family(seed: int, *, systems: int = 6, units: int = 12) -> Family:
    rng = np.random.default_rng(seed)
    k, n, top = int(rng.integers(2, systems + 1)), int(rng.integers(1, units + 1)), int(rng.integers(1, 5))
    scores = rng.integers(0, top + 1, (n, k)) + (np.arange(k) // 2)[None, :] * rng.integers(0, 2)
    return Family((all_pairs(scores),), bool(rng.integers(0, 2)))


@pytest.mark.parametrize("two_sided", [True, False])
@pytest.mark.parametrize("scale", [1, 1000, 3_000_000, 2**50 + 1])
def test_thresholds_are_exact(scale: int, two_sided: bool) -> None:
    rng = np.random.default_rng(scale % 97)
    base = rng.integers(-4, 5, (7, 9)) * scale + rng.integers(0, 2, (7, 9)) * (scale > 1)
    base[:, 4] = 0
    family = Family((alone(base),), two_sided)
    representatives = {int(step): k for k, step in enumerate(family.step)}
    assert sorted(representatives) == list(range(family.steps))
    for i, j in representatives.items():
        for k, square in enumerate(family.squares):
            height = Enumerated.key(family.observed[j], family.squares[j])
            least = int(family.thresholds[i, k])
            if square:
                assert Enumerated.key(least, square) >= height
                assert Enumerated.key(least - 1, square) < height or (two_sided and least == 0)
            else:
                assert (least <= 0) == (height <= 0)


@pytest.mark.parametrize("seed", range(12))
def test_laws_of_one_and_of_two_sums(seed: int) -> None:
    family = random_family(seed, systems=4, units=9)
    known = Enumerated(family)
    low, high = marginals(family)
    for i, k in product(range(family.steps), range(len(family))):
        exact = known.share(known.reached[:, i, k])
        assert Fraction(low[i, k]) <= exact <= Fraction(high[i, k])
        assert high[i, k] - low[i, k] < 1e-12
    for j, k in combinations(range(len(family)), 2):
        found = pair_bounds(family, j, k, 1.0)
        if found is None:
            assert not family.squares[j]
            assert not family.squares[k]
            continue
        bounds = found[1]
        for i in range(family.steps):
            exact = known.share(known.reached[:, i, j] & known.reached[:, i, k])
            assert Fraction(bounds[0][i]) <= exact <= Fraction(bounds[1][i])
            assert bounds[1][i] - bounds[0][i] < 1e-12


def test_laws_of_wide_sums_against_exact_tails() -> None:
    rng = np.random.default_rng(2)
    base = rng.integers(-20, 21, (300, 2)) + np.array([0, 2])
    family = Family((alone(base),))
    low, high = marginals(family)
    for i, k in product(range(family.steps), range(2)):
        ways = {0: 1}
        for weight in np.abs(base[:, k]).tolist():
            following: dict[int, int] = {}
            for total, count in ways.items():
                for moved in (total - weight, total + weight):
                    following[moved] = following.get(moved, 0) + count
            ways = following
        least = int(family.thresholds[i, k])
        exact = Fraction(sum(count for total, count in ways.items() if abs(total) >= least), 2**300)
        assert Fraction(low[i, k]) <= exact <= Fraction(high[i, k])
        assert high[i, k] - low[i, k] < 1e-9


@pytest.mark.parametrize("seed", range(20))
def test_inequalities_hold_for_any_events(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m = int(rng.integers(1, 9))
    events = rng.random((1024, m)) < rng.random(m) * rng.choice([0.05, 0.3, 0.9])
    events[:, 0] |= events[:, -1]
    single = events.mean(axis=0)
    joint = (events[:, :, None] & events[:, None, :]).mean(axis=0)
    edges = np.array(list(combinations(range(m), 2)), dtype=np.int64).reshape(-1, 2)
    some = edges[rng.random(len(edges)) < 0.7]
    exact = float(events.any(axis=1).mean())
    upper = hunter_worsley(single, some, joint[some[:, 0], some[:, 1]])
    assert dawson_sankoff(single, joint) <= exact <= upper <= min(float(single.sum()) * (1.0 + 1e-12), 1.0)


@pytest.mark.parametrize("seed", range(20))
def test_no_forest_is_heavier(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 12))
    weights = np.triu(rng.integers(0, 5, (nodes, nodes)), 1).astype(np.float64)  # zeros: no edges
    edges = np.column_stack(np.triu_indices(nodes, 1))
    each = weights[edges[:, 0], edges[:, 1]]
    oracle = csgraph.minimum_spanning_tree(-weights)
    forest = heaviest_forest(nodes, edges, each)
    assert each[forest].sum() == -oracle.sum()
    assert len(forest) == oracle.nnz


def test_inequalities_are_equalities_where_their_papers_say_so() -> None:
    # One event inside another; disjoint events; a chain of which only neighbours meet.
    one_edge = np.array([[0, 1]])
    assert hunter_worsley(np.array([0.5, 0.25]), one_edge, np.array([0.25])) == pytest.approx(0.5, rel=1e-12)
    assert dawson_sankoff(np.array([0.25, 0.125]), np.zeros((2, 2))) == pytest.approx(0.375, rel=1e-12)
    chain = np.array([[0, 1], [1, 2]])
    assert hunter_worsley(np.full(3, 0.25), chain, np.full(2, 0.0625)) == pytest.approx(0.625, rel=1e-12)


@pytest.mark.parametrize("seed", range(25))
def test_brackets_without_samples_contain_the_truth(seed: int) -> None:
    family = random_family(100 + seed)
    known = Enumerated(family).adjusted()
    # One sample says next to nothing.
    found = step_down(family, Budget(), alpha=Fraction(1, 20), precision=1e-3, samples=1, seed=seed)
    assert len(known) == family.steps
    for low, value, high, p in zip(found.low, known, found.high, found.p, strict=True):
        assert Fraction(low) <= value <= Fraction(high)
        assert low <= p <= high


@pytest.mark.parametrize("seed", range(10))
def test_three_tests_without_a_budget_have_a_bracket(seed: int) -> None:
    scores = np.random.default_rng(seed).integers(0, 4, (11, 3))
    family = Family((all_pairs(scores),))
    options: dict[str, Any] = {"alpha": Fraction(1, 20), "precision": 1e-3, "samples": 1, "seed": 0}
    exact = step_down(family, Budget(), **options)
    assert exact.fractions == tuple(Enumerated(family).adjusted())
    found = step_down(family, Budget(operations=1), **options)
    assert found.fractions is None
    for low, value, high in zip(found.low, exact.fractions, found.high, strict=True):
        assert Fraction(low) <= value <= Fraction(high)


@pytest.mark.parametrize("columns", [2, 3])
def test_far_out_three_tests_keep_their_digits(columns: int) -> None:
    # Shifted scores: p-values of 1e-15 and less, which no transform without a tilt sees.
    scores = np.random.default_rng(1).integers(0, 6, (80, columns)) + np.array([0, 3, 6])[:columns]
    family = Family((all_pairs(scores),))
    options: dict[str, Any] = {"alpha": Fraction(1, 20), "precision": 1e-3, "samples": 1, "seed": 0}
    exact = step_down(family, Budget(), **options)
    bracket = step_down(family, Budget(operations=1), **options)
    assert exact.high[0] < 1e-14
    assert (exact.high <= 1.001 * exact.low).all()
    assert (bracket.low <= exact.high).all()
    assert (bracket.high >= exact.low).all()
    assert (bracket.high <= columns * 1.001 * bracket.low).all()


def test_brackets_are_narrower_than_single_tests_give() -> None:
    scores = (np.random.default_rng(0).random((60, 5)) < 0.5).astype(np.int64)
    family = Family((all_pairs(scores),))
    low, high = marginals(family)
    found = step_down(family, Budget(), alpha=Fraction(1, 20), precision=1e-3, samples=1, seed=0)
    assert found.low[0] > 1.05 * low[0].max()
    assert found.high[0] < 0.95 * high[0].sum()


@pytest.mark.parametrize(("rows", "repeat"), [(11, 1), (2, 7)])
def test_samples_have_the_law_that_is_enumerated(rows: int, repeat: int) -> None:
    # Units that are alike are drawn together.
    scores = np.repeat(np.random.default_rng(7).integers(0, 3, (rows, 4)), repeat, axis=0)
    family = Family((all_pairs(scores),))
    part = family.parts[0]
    assert (part.units > 6 * len(part.grouped[1])) == (repeat > 1)
    samples = 40_000
    counts = sampling.exceedances(family, samples, 3)
    for count, exact in zip(counts.tolist(), Enumerated(family).unions(), strict=True):
        spread = math.sqrt(float(exact * (1 - exact)) * samples)
        assert abs(count - float(exact) * samples) <= 4.5 * spread


def test_grouped_and_single_units_estimate_the_same() -> None:
    rng = np.random.default_rng(12)
    rows = rng.integers(0, 2, (8, 4))
    grouped = Family((all_pairs(np.repeat(rows, 20, axis=0)),))
    # A column that no pair looks at makes all rows different.
    part = grouped.parts[0]
    unlike = signed_sums(np.column_stack([part.base, np.arange(part.units) + 1]), part.first, part.second)
    single = Family((unlike,))
    assert grouped.parts[0].units > 6 * len(grouped.parts[0].grouped[1])
    assert single.parts[0].units == len(single.parts[0].grouped[1])
    samples = 30_000
    one, other = (sampling.exceedances(family, samples, 5) / samples for family in (grouped, single))
    assert np.abs(one - other).max() < 4.5 * math.sqrt(0.5 / samples)


def test_wide_thresholds_are_looked_up_the_same() -> None:
    # Scaled by a large number the family is the same, but no table holds its sums.
    scores = np.random.default_rng(4).integers(0, 5, (30, 5))
    few, wide = Family((all_pairs(scores),)), Family((all_pairs(scores * 10_000_019),))
    assert np.array_equal(sampling.exceedances(few, 3000, 9), sampling.exceedances(wide, 3000, 9))


def test_more_samples_begin_with_the_same_ones() -> None:
    family = Family((all_pairs(np.random.default_rng(1).integers(0, 2, (40, 4))),))
    few, more = (sampling.exceedances(family, samples, 2) for samples in (4096, 8192))
    assert (few <= more).all()
    assert (more - few <= 4096).all()
    assert (few < more).any()


@pytest.mark.parametrize("seed", range(20))
def test_sampled_intervals_contain_the_truth(seed: int) -> None:
    family = random_family(500 + seed, systems=5, units=10)
    known = Enumerated(family).adjusted()
    found = step_down(family, Budget(), alpha=Fraction(1, 20), precision=1e-3, samples=4000, seed=seed)
    for low, value, high in zip(found.low, known, found.high, strict=True):
        assert Fraction(low) <= value <= Fraction(high)
    assert list(found.p) == sorted(found.p)
    assert list(found.low) == sorted(found.low)
    assert list(found.high) == sorted(found.high)
