"""Comparisons of several data sets for tests, and overall p-values from all 2**n exchanges, in fractions."""

import math
from bisect import bisect_left
from collections.abc import Mapping, Sequence
from fractions import Fraction
from itertools import accumulate, product
from typing import Any

import numpy as np
import pytest

from exactperm.answers.board import BoardRecord, CompareRecord, PairRecord
from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.systems import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import Pairing, StatisticSpec, Systems, Weights
from tests.enumeration import share, signed_sums
from tests.refusals import refused

Numbers = Sequence[float]
# By data set: the columns of each system.
DataSets = Mapping[str, Mapping[str, Numbers]]


def column(values: Numbers) -> Any:
    return np.array(values, dtype=np.int64 if all(isinstance(x, int) for x in values) else np.float64)


def systems_of(
    columns: Mapping[str, Numbers],
    clusters: Sequence[int] | None = None,
    weights: Sequence[int] | None = None,
) -> Systems:
    pairing = Pairing()
    if clusters is not None:
        pairing = Pairing(clusters=np.array(clusters, dtype=np.int64), n_clusters=len(set(clusters)))
    own = None if weights is None else Weights(Fraction(1), np.array(weights, dtype=np.int64))
    return Systems(
        "scores", {name: column(columns[name]) for name in sorted(columns)}, pairing=pairing, weights=own
    )


def compared(
    datasets: Mapping[str, Systems], statistic: str = "mean_difference", **given: Any
) -> CompareRecord:
    own = {name: given.pop(name) for name in tuple(given) if name in Comparison.__slots__}
    options = Options(**{"higher_is_better": True, **given})
    sets: dict[str | None, Systems] = {name: datasets[name] for name in sorted(datasets)}
    comparison = Comparison(sets, StatisticSpec(statistic), options, **own)
    return finish_compare(prepare_compare(comparison, Budget()))


def overall_of(datasets: DataSets, **given: Any) -> BoardRecord:
    board = compared({name: systems_of(columns) for name, columns in datasets.items()}, **given).overall
    assert board is not None
    return board


def pair_of(board: BoardRecord, u: str, v: str) -> PairRecord:
    """The test of two systems, in either order."""
    return next(pair for pair in board.pairs if {pair.u, pair.v} == {u, v})


def exact(value: float) -> Fraction:
    """A decimal as written."""
    return Fraction(repr(value))


def effects(
    datasets: DataSets, u: str, v: str, *, macro: bool, clusters: Mapping[str, Sequence[int]] | None = None
) -> list[Fraction]:
    """The contribution of each unit to the statistic: an item's difference over D n of its data set, or over N."""
    items = sum(len(columns[u]) for columns in datasets.values())
    units: list[Fraction] = []
    for name, columns in datasets.items():
        share = Fraction(1, len(datasets) * len(columns[u])) if macro else Fraction(1, items)
        codes = range(len(columns[u])) if clusters is None else clusters[name]
        own: dict[int, Fraction] = {}
        for code, one, other in zip(codes, columns[u], columns[v], strict=True):
            own[code] = own.get(code, Fraction(0)) + share * (exact(one) - exact(other))
        units += own.values()
    return units


def brute_force(units: Sequence[Fraction], alternative: str = "two-sided") -> Fraction:
    """The exact p-value of the sum, over all exchanges."""
    return share(signed_sums(units), alternative)


# Overall boards over data sets are exact tests of all items: against all exchanges, in fractions.


BINARY: DataSets = {
    "mmlu": {"A": [1, 0, 1, 1], "B": [0, 0, 1, 0], "C": [0, 1, 1, 1]},
    "gsm": {"A": [1, 1, 0, 1, 0], "B": [0, 1, 0, 0, 1], "C": [1, 1, 1, 1, 0]},
    "code": {"A": [1, 1, 0], "B": [1, 0, 0], "C": [0, 1, 0]},
}
GRADES: DataSets = {
    "mmlu": {"A": [5, 0, 3, 1], "B": [4, 0, 2, 7], "C": [0, 1, 3, 3]},
    "gsm": {"A": [2, 2, 0, 9, 0], "B": [0, 1, 0, 0, 1], "C": [1, 1, 8, 1, 0]},
}
TENTHS: DataSets = {
    "mmlu": {"A": [0.1, 0.3, 0.25, 0.7], "B": [0.2, 0.1, 0.5, 0.7]},
    "gsm": {"A": [0.3, 1, 0.1], "B": [0.1, 0.9, 0.3]},
    "whole": {"A": [1, 0, 2], "B": [0, 0, 1]},
}

# As many items in each: the mean over data sets is that over items.
AS_MANY: DataSets = {
    "mmlu": {"A": [1, 0, 1, 1], "B": [0, 0, 1, 0]},
    "percent": {"A": [100, 100, 0, 100], "B": [0, 100, 0, 0]},
    "grades": {"A": [5, 0, 3, 1], "B": [4, 0, 2, 7]},
}


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("aggregate", ["macro", "micro"])
@pytest.mark.parametrize(
    "data", [BINARY, GRADES, TENTHS, AS_MANY], ids=["binary", "grades", "tenths", "as_many"]
)
def test_exact_p_values_of_all_items(data: DataSets, aggregate: str, alternative: str) -> None:
    named = (("A", "B"), ("B", "A"))
    board = overall_of(data, aggregate=aggregate, alternative=alternative, design="pairs", pairs=named)
    assert [(pair.u, pair.v) for pair in board.pairs] == list(named)
    for pair in board.pairs:
        units = effects(data, pair.u, pair.v, macro=aggregate == "macro")
        known = brute_force(units, alternative)
        assert pair.exact
        assert Fraction(pair.p_value_bounds[0]) <= known <= Fraction(pair.p_value_bounds[1])
        assert pair.p_value == pytest.approx(float(known), rel=1e-12)
        assert pair.difference == pytest.approx(float(sum(units)), rel=1e-14, abs=1e-300)
        assert pair.n == sum(len(columns["A"]) for columns in data.values())


@pytest.mark.parametrize("aggregate", ["macro", "micro"])
def test_scores_are_means_over_data_sets_or_over_items(aggregate: str) -> None:
    board = overall_of(GRADES, aggregate=aggregate)
    for system in board.systems:
        own = [[exact(x) for x in columns[system.name]] for columns in GRADES.values()]
        means = [sum(values, Fraction(0)) / len(values) for values in own]
        micro = sum((x for values in own for x in values), Fraction(0)) / sum(map(len, own))
        assert system.score == float(sum(means) / len(means) if aggregate == "macro" else micro)
        assert system.n == 9
    assert [system.rank for system in board.systems] == [1, 2, 3]


def test_opposite_differences_cancel() -> None:
    """The result of combining two-sided p-values without signs."""
    better = {"A": [1] * 30, "B": [0] * 30}
    data: DataSets = {"one": better, "other": {"A": better["B"], "B": better["A"]}}
    for given in (
        {"aggregate": "macro"},
        {"aggregate": "micro"},
        {"combine": "fisher"},
        {"combine": "stouffer"},
    ):
        record: Any = compared({name: systems_of(columns) for name, columns in data.items()}, **given)
        assert all(board.pairs[0].p_value < 1e-8 for board in record.datasets.values())
        (pair,) = record.overall.pairs
        assert (pair.p_value, pair.difference, pair.relation) == (1.0, 0.0, "tied")


@pytest.mark.parametrize("aggregate", ["macro", "micro"])
def test_clusters_stay_in_their_data_set(aggregate: str) -> None:
    """The same key in two data sets is two clusters."""
    clusters = {"mmlu": [0, 0, 1, 2], "gsm": [0, 1, 1, 2, 2]}
    sets = {name: systems_of(columns, clusters[name]) for name, columns in GRADES.items()}
    record: Any = compared(sets, aggregate=aggregate)
    for pair in record.overall.pairs:
        units = effects(GRADES, pair.u, pair.v, macro=aggregate == "macro", clusters=clusters)
        assert len(units) == 6
        assert pair.p_value == pytest.approx(float(brute_force(units)), rel=1e-12)


def test_one_data_set_with_clusters() -> None:
    sets = {"mmlu": systems_of(GRADES["mmlu"], [0, 0, 1, 1]), "gsm": systems_of(GRADES["gsm"])}
    codes = {"mmlu": [0, 0, 1, 1], "gsm": list(range(5))}
    for aggregate in ("macro", "micro"):
        record = compared(sets, aggregate=aggregate)
        assert record.overall is not None
        pair = pair_of(record.overall, "A", "B")
        units = effects(GRADES, pair.u, pair.v, macro=aggregate == "macro", clusters=codes)
        assert pair.p_value == pytest.approx(float(brute_force(units)), rel=1e-12)


def test_systems_that_a_data_set_lacks_are_left_out() -> None:
    data = {"mmlu": BINARY["mmlu"], "gsm": {name: BINARY["gsm"][name] for name in "AB"}}
    board = overall_of(data)
    assert sorted(system.name for system in board.systems) == ["A", "B"]
    (warning,) = (warning for warning in board.warnings if warning.code == "not_in_all_datasets")
    assert '"C"' in warning.detail
    units = effects(data, "A", "B", macro=True)
    assert board.pairs[0].p_value == pytest.approx(float(brute_force(units)), rel=1e-12)


def test_one_common_system_gives_no_overall_board() -> None:
    sets = {
        "mmlu": systems_of({name: BINARY["mmlu"][name] for name in "AB"}),
        "gsm": systems_of({name: BINARY["gsm"][name] for name in "AC"}),
    }
    record = compared(sets)
    assert record.overall is None
    assert record.datasets is not None
    assert [warning.code for warning in record.warnings] == ["not_in_all_datasets"]


def test_baseline_on_all_boards() -> None:
    board = overall_of(BINARY, design="baseline", baseline="B")
    assert [(pair.u, pair.v) for pair in board.pairs] == [("A", "B"), ("C", "B")]
    for pair in board.pairs:
        units = effects(BINARY, pair.u, pair.v, macro=True)
        assert pair.p_value == pytest.approx(float(brute_force(units)), rel=1e-12)
        assert pair.difference == pytest.approx(float(sum(units)))


def test_the_overall_board_is_a_family_of_its_own() -> None:
    sets = {name: systems_of(columns) for name, columns in BINARY.items()}
    record: Any = compared(sets, family="all", adjust="bonferroni")
    assert record.overall.family.size == 3
    assert {board.family.size for board in record.datasets.values()} == {9}


def test_items_that_both_have() -> None:
    """Pairwise: the weight of an item is 1 / (D n) for the n items that both systems have."""
    full = systems_of(GRADES["mmlu"])
    lacking = Systems(
        "scores",
        {**full.columns, "B": np.array([4, 2, 7], dtype=np.int64)},
        present={"B": np.array([0, 2, 3], dtype=np.int64)},
    )
    seen = {
        "mmlu": {name: [values[i] for i in (0, 2, 3)] for name, values in GRADES["mmlu"].items()},
        "gsm": GRADES["gsm"],
    }
    for aggregate in ("macro", "micro"):
        record = compared({"mmlu": lacking, "gsm": systems_of(GRADES["gsm"])}, aggregate=aggregate)
        assert record.overall is not None
        pair = pair_of(record.overall, "A", "B")
        assert pair.n == 8
        units = effects(seen, pair.u, pair.v, macro=aggregate == "macro")
        assert pair.p_value == pytest.approx(float(brute_force(units)), rel=1e-12)
        pair = pair_of(record.overall, "A", "C")
        assert pair.p_value == pytest.approx(
            float(brute_force(effects(GRADES, "A", "C", macro=aggregate == "macro"))), rel=1e-12
        )


def test_no_common_items_in_one_data_set() -> None:
    columns = {"A": np.array([1, 1], dtype=np.int64), "B": np.array([0], dtype=np.int64)}
    present = {"A": np.array([0, 1], dtype=np.int64), "B": np.array([2], dtype=np.int64)}
    apart = Systems("scores", columns, present=present)
    record: Any = compared({"apart": apart, "gsm": systems_of({name: GRADES["gsm"][name] for name in "AB"})})
    (pair,) = record.overall.pairs
    assert (pair.p_value, pair.n, pair.relation) == (1.0, 0, "untestable")


F1 = {
    "news": {"A": ([3, 0, 2, 1], [1, 2, 0, 1]), "B": ([2, 1, 1, 1], [2, 0, 1, 3])},
    "web": {"A": ([1, 4, 2], [0, 1, 2]), "B": ([0, 3, 2], [2, 1, 3])},
}


def f1_systems(columns: Mapping[str, tuple[Sequence[int], Sequence[int]]]) -> Systems:
    counts: dict[str, Any] = {
        name: {"tp": column_of(tp), "incorrect": column_of(incorrect)}
        for name, (tp, incorrect) in columns.items()
    }
    return Systems("counts", counts, pairing=Pairing())


def column_of(values: Sequence[int]) -> Any:
    return np.array(values, dtype=np.int64)


def f1(rows: Sequence[tuple[int, int]]) -> Fraction:
    tp, incorrect = (sum(row[k] for row in rows) for k in (0, 1))
    return Fraction(2 * tp, 2 * tp + incorrect) if 2 * tp + incorrect else Fraction(0)


def macro_f1(exchanged: Sequence[bool]) -> Fraction:
    flags, total = iter(exchanged), Fraction(0)
    for columns in F1.values():
        one, other = (list(zip(*columns[name], strict=True)) for name in "AB")
        rows = [(v, u) if next(flags) else (u, v) for u, v in zip(one, other, strict=True)]
        total += f1([u for u, _ in rows]) - f1([v for _, v in rows])
    return total / len(F1)


def test_the_mean_of_f1_over_data_sets() -> None:
    """A function of the sums of all data sets: exact while there are few items."""
    record: Any = compared({name: f1_systems(columns) for name, columns in F1.items()}, "f1")
    (pair,) = record.overall.pairs
    observed = macro_f1([False] * 7)
    all_of_them = [macro_f1(flags) for flags in product((False, True), repeat=7)]
    known = Fraction(sum(abs(each) >= abs(observed) for each in all_of_them), len(all_of_them))
    assert pair.exact
    assert pair.p_value == pytest.approx(float(known), rel=1e-12)
    assert abs(pair.difference) == pytest.approx(float(abs(observed)), rel=1e-12)


def test_the_mean_of_f1_over_large_data_sets_is_sampled_and_says_so() -> None:
    rng = np.random.default_rng(5)
    sets = {
        name: f1_systems(
            {one: (rng.integers(0, 9, 70).tolist(), rng.integers(0, 9, 70).tolist()) for one in "AB"}
        )
        for name in ("x", "y", "z")
    }
    record: Any = compared(sets, "f1")
    (pair,) = record.overall.pairs
    assert (pair.method, pair.exact, pair.p_value_bounds_kind) == ("monte_carlo", False, "confidence")


@pytest.mark.parametrize("statistic", ["sign", "signed_rank", "median_difference"])
def test_signs_and_ranks_have_no_mean_over_data_sets(statistic: str) -> None:
    sets = {name: systems_of(columns) for name, columns in GRADES.items()}
    with refused(None, "/aggregate"):
        compared(sets, statistic)
    assert compared(sets, statistic, aggregate="micro").overall is not None
    assert compared(sets, statistic, aggregate=None).overall is None


def test_weights_within_a_data_set() -> None:
    """Macro means of weighted means: shares of an item w / (D sum w)."""
    weights = {"mmlu": [1, 5, 2, 2], "gsm": [3, 1, 1, 1, 4]}
    sets = {name: systems_of(columns, weights=weights[name]) for name, columns in GRADES.items()}
    record: Any = compared(sets)
    for pair in record.overall.pairs:
        units = [
            Fraction(w, 2 * sum(weights[name])) * (exact(one) - exact(other))
            for name, columns in GRADES.items()
            for w, one, other in zip(weights[name], columns[pair.u], columns[pair.v], strict=True)
        ]
        assert pair.p_value == pytest.approx(float(brute_force(units)), rel=1e-12)
        assert pair.difference == pytest.approx(float(sum(units)))


def test_intervals_of_means_hold_the_differences_that_the_test_does_not_reject() -> None:
    """Every data set shifted by the same difference: p at the ends, in fractions, around 1 - level."""
    board = overall_of(GRADES, confidence_level=0.8)
    for pair in board.pairs:
        interval: Any = pair.confidence_interval
        units = effects(GRADES, pair.u, pair.v, macro=True)
        shares = [Fraction(1, 2 * len(columns["A"])) for columns in GRADES.values() for _ in columns["A"]]

        def p(difference: float, units: list[Fraction] = units, shares: list[Fraction] = shares) -> Fraction:
            shifted = [unit - Fraction(difference) * share for unit, share in zip(units, shares, strict=True)]
            return brute_force(shifted)

        assert p(interval.low - 1e-6) <= Fraction(1, 5) < p(interval.low + 1e-6)
        assert p(interval.high + 1e-6) <= Fraction(1, 5) < p(interval.high - 1e-6)


@pytest.mark.parametrize("lengths", [(1, 1), (2, 2), (1, 3)])
def test_the_mean_accuracy_of_data_sets_is_that_of_their_tokens(lengths: tuple[int, int]) -> None:
    """Two items each, of as many tokens or not: every data set weighs the same, whatever tokens it has."""
    gold = {name: [["a"] * length, ["a"] * length] for name, length in zip("xy", lengths, strict=True)}
    wrong = {name: [["b"] * len(gold[name][0]), gold[name][1]] for name in gold}
    parts = {
        name: Systems("predictions", {"A": gold[name], "B": wrong[name]}, gold=gold[name]) for name in gold
    }
    board: Any = compared(parts, "accuracy").overall
    (pair,) = board.pairs
    assert abs(pair.difference) == pytest.approx(0.5, rel=1e-15)
    assert Fraction(pair.p_value) == brute_force([Fraction(1, 4), Fraction(1, 4)])
    unequal: Any = compared(
        {**parts, "y": Systems("predictions", {"A": gold["y"], "B": gold["y"]}, gold=gold["y"])}, "accuracy"
    ).overall
    assert abs(unequal.pairs[0].difference) == pytest.approx(0.25, rel=1e-15)


# Macro averages over many unequal data sets: brackets that hold the exact p-value, known from two halves of the sets.


# Primes: 1 / (8 n) of all of them have no common unit that 60 bits hold.
SIZES = [997, 991, 983, 977, 971, 967, 953, 947]


def comparison(discordant: Sequence[tuple[int, int]], scale: int = 1, **options: Any) -> Comparison:
    """Two systems: in data set d, u alone is right on the first number of items, and v on the second."""
    sets: dict[str | None, Systems] = {}
    for at, (size, (up, down)) in enumerate(zip(SIZES, discordant, strict=True)):
        u, v = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64)
        u[:up], v[up : up + down] = scale, scale
        sets[f"d{at}"] = Systems("scores", {"u": u, "v": v})
    given = Options(higher_is_better=True, **options)
    return Comparison(sets, StatisticSpec("mean_difference"), given, design="pairs", pairs=(("u", "v"),))


def law(weights: Sequence[int], counts: Sequence[int]) -> list[tuple[int, int]]:
    """The values of sum w (2 B - c), B of Binomial(c, 1/2), ascending, with their numbers of exchanges."""
    values = {0: 1}
    for w, c in zip(weights, counts, strict=True):
        more: dict[int, int] = {}
        for value, ways in values.items():
            for heads in range(c + 1):
                at = value + w * (2 * heads - c)
                more[at] = more.get(at, 0) + ways * math.comb(c, heads)
        values = more
    return sorted(values.items())


def upper_tail(weights: Sequence[int], counts: Sequence[int], least: int) -> Fraction:
    """P(sum >= least), exactly: for each value of one half, how many of the other are large enough."""
    middle = len(weights) // 2
    one, other = law(weights[:middle], counts[:middle]), law(weights[middle:], counts[middle:])
    values = [value for value, _ in other]
    above = list(accumulate((ways for _, ways in reversed(other)), initial=0))[::-1]
    extreme = sum(ways * above[bisect_left(values, least - value)] for value, ways in one)
    return Fraction(extreme, 2 ** sum(counts))


CASES = [
    [(9, 6), (7, 4), (5, 8), (9, 3), (6, 5), (4, 5), (7, 2), (8, 3)],
    [(13, 1), (11, 0), (12, 1), (10, 2), (11, 1), (12, 0), (13, 0), (11, 2)],
    [(5, 6), (6, 5), (7, 7), (4, 5), (6, 6), (5, 5), (6, 5), (5, 6)],
]


@pytest.mark.parametrize("scale", [1, 3])
@pytest.mark.parametrize("discordant", CASES, ids=["plain", "deep", "near one"])
def test_brackets_hold_the_exact_p_value(discordant: list[tuple[int, int]], scale: int) -> None:
    common = math.lcm(*SIZES)
    weights, counts = [common // size for size in SIZES], [up + down for up, down in discordant]
    observed = sum(w * (up - down) for w, (up, down) in zip(weights, discordant, strict=True))
    known = min(2 * upper_tail(weights, counts, abs(observed)), Fraction(1))
    for alternative, truth in (
        ("two-sided", known),
        ("greater", upper_tail(weights, counts, observed)),
        ("less", upper_tail(weights, counts, -observed)),
    ):
        asked = comparison(discordant, scale, precision=5e-4, alternative=alternative)
        board = prepare_compare(asked, Budget()).boards[-1]
        assert board.planned.methods == ("bounds",)
        tests = board.solve()
        assert not tests.exact[0]
        assert tests.fraction(0) is None
        assert Fraction(float(tests.p_low[0])) <= truth <= Fraction(float(tests.p_high[0]))
        assert tests.p_high[0] <= tests.p_low[0] * (1 + 5e-4)
        assert tests.log10_low[0] <= math.log10(truth) <= tests.log10_high[0]
        assert tests.difference[0] == float(Fraction(scale * observed, len(SIZES) * common))
        assert (tests.wins[0], tests.losses[0]) == tuple(map(sum, zip(*discordant, strict=True)))
        assert tests.n[0] == sum(SIZES)
        assert tests.ties[0] == sum(SIZES) - sum(counts)
        assert tests.attainable[0] == pytest.approx(
            ((alternative == "two-sided") - sum(counts)) * math.log10(2.0)
        )


def test_lower_is_better_turns_sides_and_not_p_values() -> None:
    plain = prepare_compare(comparison(CASES[0]), Budget()).boards[-1].solve()
    asked = comparison(CASES[0])
    turned = Comparison(
        asked.datasets, asked.spec, Options(higher_is_better=False), design="pairs", pairs=asked.pairs
    )
    tests = prepare_compare(turned, Budget()).boards[-1].solve()
    assert (tests.wins[0], tests.losses[0]) == (plain.losses[0], plain.wins[0])
    assert (tests.sign[0], tests.difference[0], tests.p[0]) == (
        -plain.sign[0],
        plain.difference[0],
        plain.p[0],
    )


def test_equal_sizes_stay_exact() -> None:
    """The weights of data sets of one size are equal: macro and micro are one test, without a bracket."""
    rng = np.random.default_rng(8)
    sets: dict[str | None, Systems] = {
        f"d{at}": Systems("scores", {name: rng.integers(0, 2, 400) for name in "uv"}) for at in range(14)
    }
    found = []
    for aggregate in ("macro", "micro"):
        asked = Comparison(
            sets, StatisticSpec("mean_difference"), Options(higher_is_better=True), aggregate=aggregate
        )
        found.append(prepare_compare(asked, Budget()).boards[-1].solve())
    macro, micro = found
    assert macro.exact[0]
    assert micro.exact[0]
    assert macro.p[0] == pytest.approx(micro.p[0], rel=1e-11)
    assert macro.difference[0] == pytest.approx(micro.difference[0], rel=1e-14)


def test_grouped_effects_are_the_single_tests() -> None:
    """Pairs on lattices in groups match single tests item by item."""
    rng = np.random.default_rng(11)
    sets: dict[str | None, Systems] = {
        f"d{at}": Systems("scores", {name: rng.integers(0, 6, size) for name in "uv"})
        for at, size in enumerate(SIZES)
    }
    asked = Comparison(sets, StatisticSpec("mean_difference"), Options(higher_is_better=True))
    grouped = prepare_compare(asked, Budget()).boards[-1].solve()
    by_name = Options(higher_is_better=True, method="bounds")
    asked = Comparison(sets, StatisticSpec("mean_difference"), by_name)
    single = prepare_compare(asked, Budget()).boards[-1].solve()
    assert grouped.method == single.method == ("bounds",)
    for name in ("n", "wins", "ties", "losses", "sign", "difference", "attainable"):
        assert getattr(grouped, name)[0] == pytest.approx(getattr(single, name)[0]), name
    assert grouped.p_low[0] <= single.p_high[0]
    assert single.p_low[0] <= grouped.p_high[0]
    assert (
        [code for _, code, _ in grouped.notes]
        == [code for _, code, _ in single.notes]
        == ["weights_too_fine"]
    )
