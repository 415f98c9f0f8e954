"""Step-down max T by its definition: all 2**n common exchanges, statistics squared as fractions."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from exactperm.answers.board import BoardRecord, PairRecord
from exactperm.engine.plan import Budget
from exactperm.errors import PlanTooLarge
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.systems import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import Pairing, Repeated, StatisticSpec, Systems
from tests.refusals import refused

Table = Sequence[Sequence[int]]


def squared(total: int, square: int) -> Fraction:
    """T**2 with T's sign; a sum without effects has T = 0."""
    return Fraction(total * abs(total), square) if square else Fraction(0)


def adjusted_by_enumeration(effects: Table, *, two_sided: bool = True) -> list[Fraction]:
    """The adjusted p-value of each row of effects, shape (m, n): one sign for each unit, common to all rows."""
    squares = [sum(d * d for d in row) for row in effects]

    def statistics(signs: Sequence[int]) -> list[Fraction]:
        sums = [sum(e * d for e, d in zip(signs, row, strict=True)) for row in effects]
        return [
            squared(abs(total) if two_sided else total, square)
            for total, square in zip(sums, squares, strict=True)
        ]

    units = len(effects[0])
    observed = statistics([1] * units)
    under_null = [statistics(signs) for signs in product((1, -1), repeat=units)]
    adjusted: dict[Fraction, Fraction] = {}
    largest = Fraction(0)
    for height in sorted(set(observed), reverse=True):
        behind = [k for k, own in enumerate(observed) if own <= height]
        reached = sum(any(sample[k] >= height for k in behind) for sample in under_null)
        largest = max(largest, Fraction(reached, len(under_null)))
        adjusted[height] = largest
    return [adjusted[own] for own in observed]


def systems(
    scores: Any, *, clusters: Sequence[int] | None = None, present: dict[str, list[int]] | None = None
) -> Systems:
    """Systems s0, s1, ... from rows of scores; those in `present` have some items alone."""
    pairing = Pairing()
    if clusters is not None:
        pairing = Pairing(np.array(clusters, dtype=np.int64), len(set(clusters)))
    own = {name: np.array(items, dtype=np.int64) for name, items in (present or {}).items()}
    columns = {}
    for at, row in enumerate(scores):
        name, values = f"s{at}", np.array(row)
        columns[name] = values[own[name]] if name in own else values
    return Systems("scores", columns, pairing=pairing, present=own)


def compared(
    data: Systems | dict[str | None, Systems],
    statistic: str = "mean_difference",
    *,
    budget: Budget | None = None,
    design: dict[str, Any] | None = None,
    adjust: Any = "max_t",
    **options: Any,
) -> dict[str | None, BoardRecord]:
    """The boards of a comparison with max_t."""
    datasets: dict[str | None, Systems] = {None: data} if isinstance(data, Systems) else data
    given = Options(**{"higher_is_better": True, **options})
    comparison = Comparison(
        datasets, StatisticSpec(statistic), given, adjust=adjust, **{"aggregate": None, **(design or {})}
    )
    return dict(finish_compare(prepare_compare(comparison, budget or Budget())).boards)


def by_names(pairs: Sequence[PairRecord]) -> dict[tuple[str, str], PairRecord]:
    """Pairs by the names of u and v, in both orders."""
    return {names: pair for pair in pairs for names in ((pair.u, pair.v), (pair.v, pair.u))}


def inside(value: Fraction, pair: PairRecord) -> bool:
    """Whether an adjusted p-value is within its bounds, compared exactly."""
    low, high = pair.p_adjusted_bounds
    return Fraction(low) <= value <= Fraction(high)


# max_t against all 2**n common exchanges in fractions: exact in small families, inside its bounds in others.


def differences(scores: Any, pairs: list[tuple[int, int]]) -> list[list[int]]:
    return [[int(a - b) for a, b in zip(scores[u], scores[v], strict=True)] for u, v in pairs]


def random_rows(seed: int, *, most: int = 5, units: int = 10) -> Any:
    """Rows of small integers: many ties, in a quarter of the cases two systems that are the same."""
    rng = np.random.default_rng(seed)
    k, n, top = int(rng.integers(2, most + 1)), int(rng.integers(1, units + 1)), int(rng.integers(1, 5))
    scores = rng.integers(0, top + 1, (k, n)) + rng.integers(0, 2, (k, 1)) * rng.integers(0, 2)
    if rng.random() < 0.25:
        scores[0] = scores[-1]
    return scores


@pytest.mark.parametrize("seed", range(40))
def test_two_and_three_systems_are_exact(seed: int) -> None:
    scores = random_rows(seed, most=3)
    pairs = list(combinations(range(len(scores)), 2))
    known = adjusted_by_enumeration(differences(scores, pairs))
    found = by_names(compared(systems(scores))[None].pairs)
    for (u, v), value in zip(pairs, known, strict=True):
        pair = found[f"s{u}", f"s{v}"]
        assert pair.p_adjusted == float(value)
        assert inside(value, pair)
        assert pair.p_adjusted_bounds[1] - pair.p_adjusted_bounds[0] < 1e-15
        assert pair.p_adjusted_bounds_kind == "certified"


@pytest.mark.parametrize("seed", range(30))
def test_bounds_contain_what_all_exchanges_say(seed: int) -> None:
    scores = random_rows(1000 + seed, most=6)
    pairs = list(combinations(range(len(scores)), 2))
    known = adjusted_by_enumeration(differences(scores, pairs))
    found = by_names(compared(systems(scores), seed=seed)[None].pairs)
    for (u, v), value in zip(pairs, known, strict=True):
        assert inside(value, found[f"s{u}", f"s{v}"])


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("lower", [False, True])
@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
def test_against_a_baseline(seed: int, alternative: str, lower: bool, missing: bool) -> None:
    scores = random_rows(2000 + seed, most=4, units=8)
    k, n = scores.shape
    own = {0: sorted({0, *range(n // 2, n)})} if missing else {}
    data = systems(scores, present={f"s{at}": items for at, items in own.items()})
    pairs = [(u, k - 1) for u in range(k - 1)]
    effects = differences(scores, pairs)
    for row, (u, _) in zip(effects, pairs, strict=True):
        row[:] = [d if i in own.get(u, range(n)) else 0 for i, d in enumerate(row)]
    if (alternative == "less") != lower:
        effects = [[-d for d in row] for row in effects]
    known = adjusted_by_enumeration(effects, two_sided=alternative == "two-sided")
    board = compared(
        data,
        design={"design": "baseline", "baseline": f"s{k - 1}"},
        alternative=alternative,
        higher_is_better=not lower,
    )[None]
    found = by_names(board.pairs)
    for (u, v), value in zip(pairs, known, strict=True):
        pair = found[f"s{u}", f"s{v}"]
        assert inside(value, pair)
        if len(pairs) <= 3:
            assert pair.p_adjusted == float(value)


@pytest.mark.parametrize("seed", range(8))
def test_clusters_swap_together(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 4, (3, 12))
    clusters = [0, 0, 1, 2, 2, 2, 3, 4, 4, 5, 5, 6]
    pairs = list(combinations(range(3), 2))
    effects = [
        [sum(d for d, code in zip(row, clusters, strict=True) if code == own) for own in range(7)]
        for row in differences(scores, pairs)
    ]
    known = adjusted_by_enumeration(effects)
    found = by_names(compared(systems(scores, clusters=clusters))[None].pairs)
    for (u, v), value in zip(pairs, known, strict=True):
        assert found[f"s{u}", f"s{v}"].p_adjusted == float(value)


def test_clusters_of_pairs_with_missing_items() -> None:
    scores = np.random.default_rng(5).integers(0, 4, (3, 9))
    clusters = [0, 1, 0, 2, 2, 3, 1, 4, 3]
    own = {0: [1, 3, 4, 6, 7, 8], 1: [0, 1, 2, 3, 5, 6, 8], 2: list(range(9))}
    data = systems(scores, clusters=clusters, present={f"s{at}": own[at] for at in (0, 1)})
    pairs = list(combinations(range(3), 2))
    effects = []
    for (u, v), row in zip(pairs, differences(scores, pairs), strict=True):
        both = set(own[u]) & set(own[v])
        effects.append(
            [sum(d for i, d in enumerate(row) if i in both and clusters[i] == code) for code in range(5)]
        )
    known = adjusted_by_enumeration(effects)
    found = by_names(compared(data)[None].pairs)
    for (u, v), value in zip(pairs, known, strict=True):
        assert found[f"s{u}", f"s{v}"].p_adjusted == float(value)


@pytest.mark.parametrize("statistic", ["sign", "sum_difference"])
@pytest.mark.parametrize("seed", range(6))
def test_other_sums(seed: int, statistic: str) -> None:
    scores = random_rows(3000 + seed, most=4)
    pairs = list(combinations(range(len(scores)), 2))
    effects = differences(scores, pairs)
    if statistic == "sign":
        effects = [[(d > 0) - (d < 0) for d in row] for row in effects]
    known = adjusted_by_enumeration(effects)
    found = by_names(compared(systems(scores), statistic)[None].pairs)
    for (u, v), value in zip(pairs, known, strict=True):
        assert inside(value, found[f"s{u}", f"s{v}"])


def test_a_family_over_data_sets_has_signs_of_its_own_in_each() -> None:
    rng = np.random.default_rng(8)
    one, other = rng.integers(0, 3, (2, 5)), rng.integers(0, 3, (2, 4))
    effects = [[*differences(one, [(0, 1)])[0], *[0] * 4], [*[0] * 5, *differences(other, [(0, 1)])[0]]]
    known = adjusted_by_enumeration(effects)
    data: dict[str | None, Systems] = {"a": systems(one), "b": systems(other)}
    boards = compared(data, design={"family": "all"})
    assert [boards[name].pairs[0].p_adjusted for name in ("a", "b")] == [float(value) for value in known]
    assert {boards[name].family.size for name in ("a", "b")} == {2}
    alone = compared(data)
    for name in ("a", "b"):
        assert alone[name].pairs[0].p_adjusted == alone[name].pairs[0].p_value


def test_larger_families_over_data_sets() -> None:
    rng = np.random.default_rng(9)
    one, other = rng.integers(0, 3, (3, 6)), rng.integers(0, 2, (3, 5))
    pairs = list(combinations(range(3), 2))
    effects = [[*row, *[0] * 5] for row in differences(one, pairs)]
    effects += [[*[0] * 6, *row] for row in differences(other, pairs)]
    known = adjusted_by_enumeration(effects)
    boards = compared({"a": systems(one), "b": systems(other)}, design={"family": "all"})
    found = {name: by_names(boards[name].pairs) for name in ("a", "b")}
    for at, value in enumerate(known):
        u, v = pairs[at % 3]
        assert inside(value, found["ab"[at // 3]][f"s{u}", f"s{v}"])


def test_decimals_count_as_written() -> None:
    # 0.1 + 0.2 ties with 0.3: the three statistics are equal.
    scores = [[0.3, 0.1, 0.5], [0.2, 0.0, 0.4], [0.1, -0.1, 0.3]]
    found = compared(systems(scores))[None].pairs
    whole = np.rint(10 * np.array(scores)).astype(int)
    known = adjusted_by_enumeration(differences(whole, [(0, 1), (0, 2), (1, 2)]))
    assert [pair.p_adjusted for pair in found] == [float(value) for value in known]
    assert len({pair.p_adjusted for pair in found}) == 1


def test_repeated_samples_of_an_item_swap_together() -> None:
    rng = np.random.default_rng(11)
    samples = rng.integers(0, 3, (3, 6, 2))
    columns = {f"s{k}": Repeated(samples[k].reshape(-1), np.full(6, 2)) for k in range(3)}
    pairs = list(combinations(range(3), 2))
    known = adjusted_by_enumeration(differences(samples.sum(axis=2), pairs))
    found = by_names(compared(Systems("scores", columns))[None].pairs)
    for (u, v), value in zip(pairs, known, strict=True):
        assert found[f"s{u}", f"s{v}"].p_adjusted == float(value)


def test_alpha_itself_is_a_rejection() -> None:
    board = compared(systems([[1, 1, 1, 1, 1], [0, 0, 0, 0, 0]]), alpha=0.0625)[None]
    assert board.pairs[0].p_adjusted == 0.0625
    assert board.pairs[0].relation == "better"


@pytest.mark.parametrize("seed", range(10))
def test_adjusted_p_values_follow_the_statistics_and_stay_under_bonferroni(seed: int) -> None:
    rng = np.random.default_rng(seed)
    scores = (rng.random((3, 40)) < np.array([[0.3], [0.5], [0.8]])).astype(np.int64)
    board = compared(systems(scores))[None]
    heights = {}
    for pair in board.pairs:
        d = scores[int(pair.u[1])] - scores[int(pair.v[1])]
        heights[pair] = Fraction(int(d.sum()) ** 2, int((d * d).sum()) or 1)
        assert pair.p_adjusted >= pair.p_value
    ranked = sorted(board.pairs, key=heights.__getitem__, reverse=True)
    values = [pair.p_adjusted for pair in ranked]
    assert values == sorted(values)
    for pair in board.pairs:
        # Each of the three is reached with at most exp(-t**2 / 2) of each sign [Hoeffding 1963].
        assert pair.p_adjusted <= 6.0 * np.exp(-0.5 * float(heights[pair])) * (1.0 + 1e-12)


def test_equal_weights_stay_under_bonferroni() -> None:
    # All differences of the pairs with the baseline have the same size: every test has the same null.
    rng = np.random.default_rng(3)
    scores = np.vstack([rng.choice([-1, 1], (3, 30)), np.zeros((1, 30), np.int64)])
    board = compared(systems(scores), design={"design": "baseline", "baseline": "s3"})[None]
    for pair in board.pairs:
        assert pair.p_value <= pair.p_adjusted <= min(1.0, 3.0 * pair.p_value * (1.0 + 1e-9))


def test_sampled_bounds_are_marked_and_repeatable() -> None:
    scores = (np.random.default_rng(4).random((7, 60)) < 0.5).astype(np.int64)
    boards = [compared(systems(scores), seed=seed, samples=3000)[None] for seed in (1, 1, 2)]
    kinds = {pair.p_adjusted_bounds_kind for pair in boards[0].pairs}
    assert "confidence" in kinds
    assert "max_t_sampled" in {warning.code for warning in boards[0].warnings}
    assert boards[0] == boards[1]
    assert boards[0].pairs != boards[2].pairs
    assert {pair.p_value_bounds_kind for pair in boards[0].pairs} == {"certified"}


def test_far_from_alpha_nothing_needs_samples_to_be_decided() -> None:
    rng = np.random.default_rng(6)
    scores = rng.integers(0, 2, (5, 400)) + np.arange(5)[:, None] * 2
    board = compared(systems(scores), samples=100)[None]
    for pair in board.pairs:
        assert pair.relation == "better"
        assert pair.p_adjusted_bounds_kind == "certified"
        assert pair.p_value <= pair.p_adjusted_bounds[1] < 1e-40


def test_identical_systems_are_tied() -> None:
    board = compared(systems([[1, 0, 1, 1]] * 4))[None]
    assert {pair.p_adjusted for pair in board.pairs} == {1.0}
    assert {pair.p_adjusted_bounds for pair in board.pairs} == {(1.0, 1.0)}
    assert not board.warnings or "max_t_sampled" not in {warning.code for warning in board.warnings}


def test_no_common_item_and_one_unit() -> None:
    data = systems([[1, 0], [0, 1], [1, 1]], present={"s0": [0], "s1": [1]})
    found = by_names(compared(data)[None].pairs)
    assert found["s0", "s1"].p_adjusted == 1.0
    assert found["s1", "s2"].p_adjusted == 1.0


def test_the_family_names_its_guarantee() -> None:
    family = compared(systems([[1, 0], [0, 1]]))[None].family
    assert family.adjust == "max_t"
    assert "joint symmetry" in family.controls


def test_functions_of_several_sums_are_refused() -> None:
    counts = {f"s{k}": {name: np.array([1, 2, k]) for name in ("tp", "fp", "fn")} for k in range(3)}
    with refused(None, "/adjust", "holm"):
        compared(Systems("counts", counts), "f1")


def test_too_much_is_refused_before_anything_runs() -> None:
    scores = np.random.default_rng(0).integers(0, 2, (6, 50))
    with refused(None, "/adjust", error=PlanTooLarge):
        compared(systems(scores), budget=Budget(operations=60_000_000_000, bytes=10_000))
    with pytest.raises(PlanTooLarge):
        compared(systems(scores), samples=10**9)


def test_sampled_tests_make_intervals_of_all_adjusted_bounds() -> None:
    scores = np.random.default_rng(0).integers(0, 3, (3, 20))
    board = compared(systems(scores), adjust="holm", method="monte_carlo", samples=500)[None]
    assert {pair.p_adjusted_bounds_kind for pair in board.pairs} == {"confidence"}
    assert {pair.p_adjusted_bounds_kind for pair in compared(systems(scores), adjust="holm")[None].pairs} == {
        "certified"
    }
