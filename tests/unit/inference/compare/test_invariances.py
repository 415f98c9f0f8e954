"""Test invariances of a comparison, and decisions at alpha alone."""

import pickle
from dataclasses import fields, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise, product
from typing import Any

import numpy as np
import pytest

from exactperm.answers.board import BoardRecord, CompareRecord
from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.pair_tests import PairTests, concatenated, exact_alpha
from exactperm.inference.compare.systems import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import Pairing, StatisticSpec, Systems
from tests.refusals import refused
from tests.unit.inference.compare import definitions

from .compare_shorthands import board, of_counts, of_fractions
from .test_adjustment import BY_RANK, adjust

# What a comparison does not depend on: the order of systems, sets and items, copies, and scale; and how it is split.


MEAN = StatisticSpec("mean_difference")
RNG = np.random.default_rng(7)
RIGHT = {name: RNG.integers(0, 2, 40) for name in "abcde"}
GRADES = {name: RNG.integers(0, 9, 40) for name in "abcd"}
REALS = {name: RNG.random(40) for name in "abc"}
MANY = {f"s{i:02}": RNG.integers(0, 6, 200) + (RNG.random(200) < i / 60) for i in range(26)}
KINDS: dict[str, dict[str, Any]] = {"right": RIGHT, "grades": GRADES, "reals": REALS}


def compared(
    columns: Any, spec: StatisticSpec = MEAN, pairing: Pairing | None = None, **choices: Any
) -> CompareRecord:
    options = Options(higher_is_better=choices.pop("higher_is_better", True), **choices.pop("options", {}))
    systems = Systems("scores", dict(sorted(columns.items())), pairing=pairing or Pairing())
    comparison = Comparison({None: systems}, spec, options, **choices)
    return finish_compare(prepare_compare(comparison, Budget()))


def board_of(record: CompareRecord) -> BoardRecord:
    assert record.datasets is None
    return record.main_board


def p_values(record: CompareRecord) -> dict[frozenset[str], float]:
    return {frozenset((pair.u, pair.v)): pair.p_value for pair in board_of(record).pairs}


def require_equal(one: PairTests, other: PairTests) -> None:
    for field in fields(PairTests):
        if field.name in {"fraction", "attained", "null_key", "support"}:
            continue
        assert np.array_equal(getattr(one, field.name), getattr(other, field.name)), field.name
    assert [one.fraction(i) for i in range(len(one))] == [other.fraction(i) for i in range(len(other))]


@pytest.mark.parametrize("of", KINDS)
def test_the_order_of_keyed_items_changes_nothing(of: str) -> None:
    ids = [f"q{i}" for i in range(40)]
    order = RNG.permutation(40)
    codes = np.arange(40) // 3
    plain = compared(KINDS[of], pairing=Pairing(codes, 14, by_id=True, ids=ids))
    _, first, where = np.unique(codes[order], return_index=True, return_inverse=True)
    renamed = np.argsort(np.argsort(first))[where]
    moved = compared(
        {name: column[order] for name, column in KINDS[of].items()},
        pairing=Pairing(renamed, 14, by_id=True, ids=[ids[i] for i in order]),
    )
    assert moved == plain


@pytest.mark.parametrize("of", KINDS)
def test_names_decide_nothing_but_the_order_of_equals(of: str) -> None:
    columns = KINDS[of]
    renamed = dict(zip("zyxwvu", columns, strict=False))
    again = compared({new: columns[old] for new, old in renamed.items()})
    expected = {frozenset(renamed[name] for name in pair): p for pair, p in p_values(again).items()}
    assert expected == p_values(compared(columns))


@pytest.mark.parametrize("of", KINDS)
def test_a_copy_ties_with_its_original_and_changes_no_other_test(of: str) -> None:
    plain, more = compared(KINDS[of]), compared({**KINDS[of], "zz": KINDS[of]["a"]})
    assert {pair: p for pair, p in p_values(more).items() if "zz" not in pair} == p_values(plain)
    assert p_values(more)[frozenset(("a", "zz"))] == 1.0
    ranks = {system.name: system.rank for system in board_of(more).systems}
    assert ranks["a"] == ranks["zz"]


@pytest.mark.parametrize("of", ["right", "grades"])
def test_ten_times_the_scores_are_ten_times_the_differences(of: str) -> None:
    plain, tenfold = compared(KINDS[of]), compared({name: 10 * column for name, column in KINDS[of].items()})
    assert p_values(plain) == p_values(tenfold)
    for one, other in zip(board_of(plain).pairs, board_of(tenfold).pairs, strict=True):
        assert other.difference == pytest.approx(10 * one.difference)


@pytest.mark.parametrize("of", KINDS)
def test_lower_is_better_for_negated_scores(of: str) -> None:
    plain = compared(KINDS[of])
    negated = compared({name: -column for name, column in KINDS[of].items()}, higher_is_better=False)
    for one, other in zip(board_of(plain).pairs, board_of(negated).pairs, strict=True):
        assert (one.u, one.v, one.wins, one.losses, one.relation) == (
            other.u,
            other.v,
            other.wins,
            other.losses,
            other.relation,
        )
        assert one.difference == pytest.approx(-other.difference)


@pytest.mark.parametrize("statistic", ["mean_difference", "sign"])
@pytest.mark.parametrize("of", KINDS)
def test_parts_of_a_board_go_through_other_processes(of: str, statistic: str) -> None:
    systems = Systems("scores", KINDS[of])
    prepared = prepare_compare(
        Comparison({None: systems}, StatisticSpec(statistic), Options(higher_is_better=True)), Budget()
    )
    planned = pickle.loads(pickle.dumps(prepared.boards[0].planned))
    whole = planned.solve()
    ends = [0, 2, 2, 5, len(whole)]
    parts = [pickle.loads(pickle.dumps(planned.solve(start, stop))) for start, stop in pairwise(ends)]
    joined = concatenated(parts)
    require_equal(joined, whole)
    assert finish_compare(prepared, [joined]) == finish_compare(prepared)
    if whole.attained is not None:
        assert joined.attained is not None
        for i in range(len(whole)):
            x = whole.fraction(i)
            assert x is not None
            assert joined.attained(i, x) == x


def test_parts_of_many_pairs_are_the_same_numbers() -> None:
    prepared = prepare_compare(
        Comparison({None: Systems("scores", MANY)}, MEAN, Options(higher_is_better=True)), Budget()
    )
    planned = prepared.boards[0].planned
    whole = planned.solve()
    assert len(whole) == 325
    require_equal(concatenated([planned.solve(0, 100), planned.solve(100, 300), planned.solve(300)]), whole)


def test_numbers_that_are_equal_have_one_identity() -> None:
    floats = {name: column.astype(np.float64) for name, column in GRADES.items()}
    assert compared(GRADES).id == compared(floats).id


@pytest.mark.parametrize(
    "change",
    [
        {"adjust": "bh"},
        {"design": "baseline", "baseline": "a"},
        {"listed": "none"},
        {"spec": StatisticSpec("sign")},
        {"options": {"alpha": 0.01}},
        {"higher_is_better": False},
        {"pairing": Pairing(np.arange(40) // 2, 20)},
    ],
    ids=str,
)
def test_another_request_has_another_identity(change: Any) -> None:
    assert compared(GRADES, **change).id != compared(GRADES).id


def test_another_value_or_name_has_another_identity() -> None:
    digests = {compared(GRADES).id}
    digests.add(compared({**GRADES, "a": GRADES["a"] + (np.arange(40) == 3)}).id)
    digests.add(compared({**{name: GRADES[name] for name in "abc"}, "e": GRADES["d"]}).id)
    assert len(digests) == 3


def test_sets_are_boards_of_their_own_or_one_family() -> None:
    sets: Any = {"one": Systems("scores", GRADES), "two": Systems("scores", RIGHT)}
    comparison = Comparison(sets, MEAN, Options(higher_is_better=True))
    apart: Any = finish_compare(prepare_compare(comparison, Budget()))
    turned = replace(comparison, datasets=dict(reversed(sets.items())))
    together: Any = finish_compare(prepare_compare(replace(comparison, family="all"), Budget()))
    assert apart.datasets["one"] == compared(GRADES).main_board
    assert finish_compare(prepare_compare(turned, Budget())).id == apart.id
    assert [board.family.size for board in together.datasets.values()] == [16, 16]
    for name in sets:
        for alone, joint in zip(apart.datasets[name].pairs, together.datasets[name].pairs, strict=True):
            assert alone.p_value == joint.p_value
            assert alone.p_adjusted <= joint.p_adjusted


def test_a_baseline_or_a_pair_that_is_not_there_is_refused() -> None:
    for choices, pointer in (
        ({"design": "baseline", "baseline": "q"}, "/baseline"),
        ({"design": "pairs", "pairs": (("a", "b"), ("a", "q"))}, "/compare/1/1"),
    ):
        with refused(None, pointer):
            compared(GRADES, **choices)


def test_a_flaw_of_a_system_points_at_it() -> None:
    ratio = StatisticSpec("ratio", {"numerator": "e", "denominator": "w"})
    columns = {
        "good": {"e": np.array([1, 2]), "w": np.array([3, 3])},
        "odd/one": {"e": np.array([1, 2]), "w": np.array([0, 0])},
    }
    comparison = Comparison({"s/1": Systems("counts", columns)}, ratio, Options(higher_is_better=False))
    with refused(None, "/datasets/s~11/systems/odd~1one"):
        prepare_compare(comparison, Budget())


def test_a_board_warns_of_dust_once() -> None:
    columns = {name: column / 10 + 0.2 for name, column in GRADES.items()}
    codes = [warning.code for warning in board_of(compared(columns)).warnings]
    assert codes.count("float_dust") == 1
    assert "float_dust" not in [warning.code for warning in board_of(compared(GRADES)).warnings]


@pytest.mark.parametrize("of", ["right", "grades"])
def test_holm_with_attainable_p_values_is_never_larger(of: str) -> None:
    holm, discrete = compared(KINDS[of]), compared(KINDS[of], adjust="holm_discrete")
    for one, other in zip(board_of(holm).pairs, board_of(discrete).pairs, strict=True):
        assert one.p_value == pytest.approx(other.p_value, rel=1e-12)
        assert other.p_value <= other.p_adjusted <= one.p_adjusted


def test_holm_with_attainable_p_values_needs_them_listed() -> None:
    with pytest.raises(InvalidTest, match="can attain"):
        compared(REALS, adjust="holm_discrete")


# p_adjusted <= alpha is decided as the exact numbers are, at equality and next to it; what cannot be told stays open.


TINY = Fraction(1, 2**90)


def wide(tests: PairTests, factor: float) -> PairTests:
    """The same tests with bounds that are wider."""
    return replace(
        tests,
        p_low=tests.p_low / factor,
        p_high=np.minimum(tests.p_high * factor, 1.0),
        log10_low=tests.log10_low - np.log10(factor),
    )


def at_the_edge(rng: np.random.Generator, m: int, how: str) -> list[Fraction]:
    """p-values whose terms are at alpha = 1/20, or one part in 2**90 next to it, where any rounding would decide."""
    factors: Any = {
        "none": [1], "bonferroni": [m], "holm": range(1, m + 1), "hochberg": range(1, m + 1),
        "bh": [Fraction(m, k) for k in range(1, m + 1)], "by": [1],
    }[how]  # fmt: skip
    edge = [Fraction(1, 20) / factor for factor in factors]
    p = [edge[int(rng.integers(len(edge)))] * (1 + int(rng.integers(-1, 2)) * TINY) for _ in range(m)]
    for i in range(m):
        if rng.random() < 0.3:
            p[i] = Fraction(int(rng.integers(1, 1000)), 1000)
    return p


@pytest.mark.parametrize("how", [how for how in BY_RANK if how != "by"])
def test_decisions_at_the_edge_are_those_of_the_fractions(how: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment.FEW", 0)  # the way of large families
    rng = np.random.default_rng(5)
    decided = 0
    for _ in range(150):
        p = at_the_edge(rng, int(rng.integers(1, 14)), how)
        truth = [value <= Fraction(1, 20) for value in definitions.adjusted(p, how)]
        tests = wide(of_fractions(p), 1.0 + 1e-9) if rng.random() < 0.3 else of_fractions(p)
        found = adjust(tests, how)
        assert found.rejected.tolist() == truth
        assert not found.open.any()
        blind = adjust(of_fractions(p, know="bounds"), how)
        assert (~blind.rejected | np.array(truth)).all()
        assert (blind.rejected | blind.open | ~np.array(truth)).all()
        decided += int(blind.open.sum())
    assert decided > 50  # or this test does not get to the edge


def test_the_harmonic_sum_is_exact_at_the_edge(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment.FEW", 0)
    every = sum((Fraction(1, k) for k in range(1, 8)), Fraction(0))
    for side in (-1, 0, 1):
        p = [Fraction(1, 20) / (every * 7) * (1 + side * TINY)] + [Fraction(1)] * 6
        assert adjust(of_fractions(p), "by").rejected.tolist() == [side <= 0] + [False] * 6


def test_only_fractions_that_matter_are_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment.FEW", 0)
    asked: list[int] = []
    p = [Fraction(k, 40_000) for k in range(1, 401)] + [
        Fraction(1, 20) / Fraction(3),
        Fraction(1, 2),
        Fraction(3, 4),
    ]
    # Holm: 403 tests; the terms of the first are far from alpha.
    tests = of_fractions(p)
    exact = tests.fraction

    def fraction(i: int) -> Fraction | None:
        asked.append(i)
        return exact(i)

    adjust(replace(tests, fraction=fraction), "none")
    assert not asked
    adjust(replace(tests, fraction=fraction), "bonferroni", Fraction(403, 40_000) * 7)
    assert asked == [6]


def _if_known(p: list[Fraction], known: list[bool], i: int) -> Fraction | None:
    return p[i] if known[i] else None


def test_a_family_with_brackets_and_fractions_claims_only_certain_relations() -> None:
    """By brute force over where the true p-values may be."""
    rng = np.random.default_rng(9)
    seen = set()
    for _ in range(200):
        m = int(rng.integers(2, 5))
        p = [Fraction(int(value), 200) for value in rng.integers(1, 12, m)]
        known = rng.random(m) < 0.5
        tests = of_fractions(p)
        low, high = np.where(known, tests.p_low, 0.8 * tests.p), np.where(known, tests.p_high, 1.25 * tests.p)
        tests = replace(
            tests, p_low=low, p_high=high, log10_low=np.log10(low),
            fraction=partial(_if_known, p, known.tolist()),
        )  # fmt: skip
        found = adjust(tests, "holm")
        ends = [
            (p[i],) if known[i] else (Fraction(float(low[i])), Fraction(float(high[i]))) for i in range(m)
        ]
        worlds = [definitions.adjusted(world, "holm") for world in product(*ends)]
        for i in range(m):
            outcomes = {world[i] <= Fraction(1, 20) for world in worlds}
            assert (bool(found.rejected[i]), bool(found.open[i])) == (
                outcomes == {True},
                outcomes == {True, False},
            )
            seen.add((bool(found.rejected[i]), bool(found.open[i])))
    assert len(seen) == 3


def relation(tests: PairTests, alpha: float, **given: Any) -> str:
    scores = np.array([[1, 0], [0, 0]])
    return board(scores, tests=tests, alpha=alpha, **given).pairs[0].relation


def test_alpha_is_the_decimal_as_written() -> None:
    assert exact_alpha(0.05) == Fraction(1, 20) != Fraction(0.05)
    assert exact_alpha(1e-5) == Fraction(1, 100_000)


@pytest.mark.parametrize(
    ("n", "alpha", "expected"),
    [
        (5, 0.0625, "better"),  # five wins: p = 1/16
        (5, 0.06249, "untestable"),
        (5, 0.06249999999999999, "untestable"),
        (4, 0.0625, "untestable"),
        (6, 0.0625, "better"),
    ],
)
def test_a_test_at_its_smallest_p_value(n: int, alpha: float, expected: str) -> None:
    assert relation(of_counts([(0, 1)], [(n, 3, 0)]), alpha) == expected


def test_testable_and_not_significant_is_tied() -> None:
    assert relation(of_counts([(0, 1)], [(4, 0, 1)]), 0.0625) == "tied"
    assert relation(of_counts([(0, 1)], [(4, 0, 1)]), 0.06) == "untestable"


def test_a_smallest_p_value_that_is_not_a_power_of_two() -> None:
    three = Fraction(3, 64)
    given: dict[str, Any] = {
        "attainable": [three],
        "attained": lambda i, x: three if three <= x else Fraction(0),
    }
    assert relation(of_fractions([Fraction(1, 2)], **given), 0.046875) == "tied"
    assert relation(of_fractions([Fraction(1, 2)], **given), 0.046874999999999) == "untestable"


def test_a_sampled_test_is_decided_by_its_interval() -> None:
    tests = replace(of_fractions([Fraction(1, 25)], know="bounds"), sampled=np.array([True]))
    for low, high, expected in ((0.03, 0.04999, "better"), (0.03, 0.06, "undecided"), (0.051, 0.06, "tied")):
        there = replace(
            tests, p_low=np.array([low]), p_high=np.array([high]), p=np.array([(low + high) / 2]),
            log10_low=np.log10([low]),
        )  # fmt: skip
        found = board(np.array([[1, 0], [0, 0]]), tests=there)
        assert found.pairs[0].relation == expected
        assert found.pairs[0].p_value_bounds_kind == "confidence"
        assert [warning.code for warning in found.warnings] == [
            "sampled",
            *(["alpha_within_bounds"] if expected == "undecided" else []),
        ]


@pytest.mark.parametrize(("alternative", "expected"), [("greater", "better"), ("less", "worse")])
def test_a_one_sided_test_knows_its_side(alternative: str, expected: str) -> None:
    tests = of_fractions([Fraction(1, 100)])
    assert relation(tests, 0.05, alternative=alternative, design="pairs") == expected


def test_a_pair_without_a_common_item_is_untestable() -> None:
    tests = of_counts([(0, 1)], [(0, 0, 0)])
    found = board(np.array([[1, 0], [0, 0]]), tests=tests).pairs[0]
    assert (found.relation, found.p_adjusted, found.n, found.min_attainable_p) == ("untestable", 1.0, 0, 1.0)
