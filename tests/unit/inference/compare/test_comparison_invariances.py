"""What a comparison does not depend on: the order of systems, sets and items, copies, and scale; and how it is split."""

from __future__ import annotations

import pickle
from dataclasses import fields, replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from exactperm.answers.board import BoardRecord, CompareRecord
from exactperm.engine.plan import Budget
from exactperm.errors import InvalidTest
from exactperm.inference.compare.columns import concatenated
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.comparison import Comparison
from exactperm.inference.compare.pair_tests import PairTests
from exactperm.inference.options import Options
from exactperm.statistics.paired import Pairing, StatisticSpec
from exactperm.statistics.systems import Systems
from tests.refusals import refused

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
    assert record.board is not None
    return record.board


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
    assert compared(GRADES).digest == compared(floats).digest


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
    assert compared(GRADES, **change).digest != compared(GRADES).digest


def test_another_value_or_name_has_another_identity() -> None:
    digests = {compared(GRADES).digest}
    digests.add(compared({**GRADES, "a": GRADES["a"] + (np.arange(40) == 3)}).digest)
    digests.add(compared({**{name: GRADES[name] for name in "abc"}, "e": GRADES["d"]}).digest)
    assert len(digests) == 3


def test_sets_are_boards_of_their_own_or_one_family() -> None:
    sets = {"one": Systems("scores", GRADES), "two": Systems("scores", RIGHT)}
    comparison = Comparison(sets, MEAN, Options(higher_is_better=True))  # type: ignore[arg-type]
    apart = finish_compare(prepare_compare(comparison, Budget()))
    turned = replace(comparison, datasets=dict(reversed(sets.items())))
    together = finish_compare(prepare_compare(replace(comparison, family="all"), Budget()))
    assert apart.datasets is not None
    assert together.datasets is not None
    assert apart.datasets["one"] == compared(GRADES).board
    assert finish_compare(prepare_compare(turned, Budget())).digest == apart.digest
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


def test_dust_is_said_once_for_a_board() -> None:
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
