"""Test counts, scores and effects of the caller, and remainders of sums."""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from scipy import stats

from exactperm.engine.probability import Alternative
from exactperm.engine.rademacher import reach, reach_of_squares
from exactperm.errors import InvalidTest
from exactperm.statistics.catalogue import STATISTICS
from exactperm.statistics.effects import Additive, Joint, on_lattice
from exactperm.statistics.expression import parse
from exactperm.statistics.local_effects import reduce_effects
from exactperm.statistics.paired import Counts, Effects, Pairing, Predictions, Scores, StatisticSpec
from exactperm.statistics.reducers import reduce as reduce_problem
from exactperm.statistics.reduction import difference_of_scores
from exactperm.statistics.remainder import Midpoint, midpoint_of
from exactperm.statistics.scores import doubled_midranks, reduce_scores
from tests.enumeration import share, swaps
from tests.refusals import refused, refused_alone

from .of_sums import reduce

# Statistics of named counts: what they are, what they need, and that their tests are those of the definition.


SIDES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
Row = Mapping[str, int]


def counts(
    u: Mapping[str, Sequence[float]], v: Mapping[str, Sequence[float]], pairing: Pairing | None = None
) -> Counts:
    columns = [{name: np.array(values) for name, values in system.items()} for system in (u, v)]
    return Counts(columns[0], columns[1], pairing or Pairing())


def over(above: Fraction | int, below: Fraction | int) -> Fraction:
    return Fraction(above) / below if below else Fraction(0)


def f_of(beta: Fraction | int) -> Callable[[int, int, int], Fraction]:
    return lambda tp, fp, fn: over((1 + beta**2) * tp, (1 + beta**2) * tp + beta**2 * fn + fp)


DEFINITIONS: list[tuple[str, dict[str, Any], tuple[str, ...], Callable[..., Fraction]]] = [
    ("f1", {}, ("tp", "incorrect"), lambda tp, wrong: over(tp, tp + Fraction(wrong, 2))),
    ("f1", {}, ("tp", "fp", "fn"), f_of(1)),
    ("fbeta", {"beta": 0.5}, ("tp", "fp", "fn"), f_of(Fraction(1, 2))),
    ("fbeta", {"beta": 2}, ("tp", "fp", "fn"), f_of(2)),
    ("precision", {}, ("tp", "fp"), lambda tp, fp: over(tp, tp + fp)),
    ("recall", {}, ("tp", "fn"), lambda tp, fn: over(tp, tp + fn)),
    ("accuracy", {}, ("correct", "incorrect"), lambda right, wrong: over(right, right + wrong)),
    ("jaccard", {}, ("tp", "incorrect"), lambda tp, wrong: over(tp, tp + wrong)),
    ("jaccard", {}, ("tp", "fp", "fn"), lambda tp, fp, fn: over(tp, tp + fp + fn)),
    (
        "expression",
        {"expression": "(tp - fp) / (tp + 2*fn)"},
        ("tp", "fp", "fn"),
        lambda tp, fp, fn: over(tp - fp, tp + 2 * fn),
    ),
]


def p_values(problem: Additive | Joint) -> dict[Alternative, Fraction]:
    """Every swap, compared by the problem's function: the count of the engine."""
    swap = -problem.stay if problem.swap is None else problem.swap
    pairs = list(zip(problem.stay.tolist(), swap.tolist(), strict=True))
    sums = np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*pairs)])
    observed = problem.stay.sum(axis=0)
    if isinstance(problem, Joint):
        extreme = {side: problem.function.extreme(list(sums.T), observed, side) for side in SIDES}
    else:
        tails = np.abs(sums) >= abs(observed)
        extreme = {"greater": sums >= observed, "less": sums <= observed, "two-sided": tails}
    return {side: Fraction(int(mask.sum()), len(sums)) for side, mask in extreme.items()}


def p_values_by_definition(
    u: Sequence[Sequence[int]], v: Sequence[Sequence[int]], score: Callable[..., Fraction]
) -> dict[Alternative, Fraction]:
    """Algorithm of the definition: exchange items, sum, score, compare in fractions."""
    values = []
    for sides in swaps(u, v):
        one, other = ([sum(column) for column in zip(*side, strict=True)] for side in sides)
        values.append(score(*one) - score(*other))
    return {side: share(values, side) for side in SIDES}


@given(st.data(), st.sampled_from(DEFINITIONS))
@settings(deadline=None, max_examples=150)
def test_named_scores_give_the_p_values_of_their_definition(
    data: st.DataObject, case: tuple[Any, ...]
) -> None:
    name, parameters, names, score = case
    n = data.draw(st.integers(1, 7))
    rows = st.lists(
        st.lists(st.integers(0, 3), min_size=len(names), max_size=len(names)), min_size=n, max_size=n
    )
    u, v = data.draw(rows), data.draw(rows)
    columns = [dict(zip(names, zip(*system, strict=True), strict=True)) for system in (u, v)]
    sums = [[sum(column) for column in zip(*system, strict=True)] for system in (u, v)]
    try:
        problem = reduce(counts(columns[0], columns[1]), StatisticSpec(name, parameters))
    except InvalidTest as refused:
        code = refused.flaws[0].code
        assert (code, name) == ("undefined_statistic", "expression")
        assert any(tp + 2 * fn == 0 != tp - fp for tp, fp, fn in sums)
        return
    assert (problem.score_u, problem.score_v) == (score(*sums[0]), score(*sums[1]))
    if name != "expression":
        assert p_values(problem) == p_values_by_definition(u, v, score)


def test_the_paper_s_incorrect_and_the_three_counts_are_the_same_f1() -> None:
    tp, fp, fn = [3, 0, 2], [1, 1, 0], [0, 2, 2]
    other = {"tp": [1, 1, 2], "fp": [0, 1, 1], "fn": [2, 1, 2]}
    three = reduce(counts({"tp": tp, "fp": fp, "fn": fn}, other), StatisticSpec("f1"))
    two = reduce(
        counts({"tp": tp, "incorrect": [1, 3, 2]}, {"tp": other["tp"], "incorrect": [2, 2, 3]}),
        StatisticSpec("f1"),
    )
    gold = reduce(
        counts(
            {"tp": tp, "predicted": [4, 1, 2], "gold": [3, 2, 4]},
            {"tp": other["tp"], "predicted": [1, 2, 3], "gold": [3, 2, 4]},
        ),
        StatisticSpec("f1"),
    )
    assert three.score_u == two.score_u == gold.score_u == Fraction(10, 16)
    assert p_values(three) == p_values(two) == p_values(gold)


def test_a_ratio_over_a_shared_denominator_is_additive() -> None:
    words = [20, 30, 10]
    data = counts({"errors": [8, 3, 7], "ref words": words}, {"errors": [6, 5, 7], "ref words": words})
    spec = StatisticSpec("ratio", {"numerator": "errors", "denominator": "ref words"})
    problem = reduce(data, spec)
    assert isinstance(problem, Additive)
    assert problem.stay.tolist() == [2, -2, 0]
    assert (problem.unit, problem.score_u) == (Fraction(1, 60), Fraction(18, 60))


def test_recall_with_shared_gold_is_additive_and_precision_is_not() -> None:
    data = counts(
        {"tp": [2, 1], "predicted": [3, 1], "gold": [2, 2]},
        {"tp": [1, 2], "predicted": [1, 3], "gold": [2, 2]},
    )
    assert isinstance(reduce(data, StatisticSpec("recall")), Additive)
    assert isinstance(reduce(data, StatisticSpec("precision")), Joint)


def test_a_denominator_shared_inside_every_cluster_is_enough() -> None:
    pairing = Pairing(clusters=np.array([0, 0, 1]), n_clusters=2)
    data = counts(
        {"correct": [1, 2, 3], "total": [2, 3, 4]}, {"correct": [2, 1, 1], "total": [3, 2, 4]}, pairing
    )
    problem = reduce(data, StatisticSpec("accuracy"))
    assert isinstance(problem, Additive)
    assert problem.stay.tolist() == [0, 2]
    assert (problem.items, problem.clusters, problem.unit) == (3, 2, Fraction(1, 9))


def test_the_items_of_a_cluster_swap_together() -> None:
    pairing = Pairing(clusters=np.array([0, 1, 0]), n_clusters=2)
    data = counts(
        {"tp": [1, 2, 3], "incorrect": [1, 0, 2]}, {"tp": [2, 2, 1], "incorrect": [0, 1, 2]}, pairing
    )
    problem = reduce(data, StatisticSpec("f1"))
    assert isinstance(problem, Joint)
    assert problem.stay.tolist() == [[4, 3, 3, 2], [2, 0, 2, 1]]
    assert problem.swap.tolist() == [[3, 2, 4, 3], [2, 1, 2, 0]]


def test_empty_counts_score_0() -> None:
    problem = reduce(
        counts({"tp": [0, 0], "incorrect": [0, 0]}, {"tp": [0, 0], "incorrect": [0, 0]}), StatisticSpec("f1")
    )
    assert (problem.score_u, problem.score_v) == (0, 0)
    assert p_values(problem) == dict.fromkeys(SIDES, 1)


def test_whole_numbers_may_come_as_doubles() -> None:
    problem = reduce(
        counts({"tp": [2.0, 1.0], "fn": [1, 0]}, {"tp": [1.0, 1.0], "fn": [0, 3]}), StatisticSpec("recall")
    )
    assert problem.score_u == Fraction(3, 4)


OK = {"tp": [1, 2], "incorrect": [1, 0]}


@pytest.mark.parametrize(
    ("u", "v", "spec", "pointer", "code"),
    [
        ({"tp": [1, 2]}, {"tp": [1, 2]}, ("f1", {}), "/u", "missing_counts"),
        (OK, {"tp": [1, 2]}, ("f1", {}), "/v", "different_counts"),
        (OK, {"tp": [1, 2], "incorrect": [1]}, ("f1", {}), "/v/incorrect", "length_mismatch"),
        ({"tp": [], "incorrect": []}, {"tp": [], "incorrect": []}, ("f1", {}), "/u", "empty"),
        ({}, {}, ("f1", {}), "/u", "empty"),
        ({"tp": [1, 2.5], "incorrect": [1, 0]}, OK, ("f1", {}), "/u/tp/1", "not_a_count"),
        (OK, {"tp": [1, 2], "incorrect": [-1, 0]}, ("f1", {}), "/v/incorrect/0", "not_a_count"),
        (
            {"a/b": [1, -1], "c": [1, 1]},
            {"a/b": [1, 1], "c": [1, 1]},
            ("ratio", {"numerator": "a/b", "denominator": "c"}),
            "/u/a~1b/1",
            "not_a_count",
        ),
        (
            {"tp": [3, 2], "predicted": [2, 2]}, {"tp": [1, 1], "predicted": [2, 2]}, ("precision", {}),
            "/u/tp/0", "inconsistent_counts",
        ),
        (
            {"tp": [1], "fp": [1], "predicted": [1]},
            {"tp": [1], "fp": [1], "predicted": [2]},
            ("precision", {}),
            "/u",
            "ambiguous_counts",
        ),
        (OK, OK, ("fbeta", {"beta": 0}), "/statistic/beta", "out_of_range"),
        (OK, OK, ("ratio", {"numerator": "tp"}), "/statistic/denominator", "unknown_name"),
        (OK, OK, ("ratio", {"numerator": "tp", "denominator": "tp"}), "/statistic/denominator", "same_count"),
        (OK, OK, ("expression", {"expression": "tp + fp"}), "/statistic/expression", "unknown_name"),
        (OK, OK, ("expression", {}), "/statistic/expression", "missing"),
        (
            OK,
            OK,
            ("expression", {"expression": "log(tp - 3)"}),
            "/statistic/expression",
            "undefined_statistic",
        ),
        (
            {"e": [1], "w": [0]},
            {"e": [0], "w": [1]},
            ("ratio", {"numerator": "e", "denominator": "w"}),
            "/u",
            "undefined_statistic",
        ),
        (OK, OK, ("bleurt", {}), "/statistic/name", "unknown_statistic"),
        (OK, OK, ("f1", {"beta": 2}), "/statistic/beta", "unknown_parameter"),
        (
            {"tp": [2**58] * 5, "fn": [1] * 5},
            {"tp": [1] * 5, "fn": [1] * 5},
            ("recall", {}),
            "",
            "integer_too_large",
        ),
    ],
)  # fmt: skip
def test_counts_that_make_no_test_are_refused_where_they_are_wrong(
    u: dict[str, list[float]],
    v: dict[str, list[float]],
    spec: tuple[str, dict[str, Any]],
    pointer: str,
    code: str,
) -> None:
    with refused(code, pointer):
        reduce(counts(u, v), StatisticSpec(*spec))


def test_missing_parts_are_named() -> None:
    with pytest.raises(
        InvalidTest, match="f1 needs the counts tp, incorrect; or tp, fp, fn; or tp, predicted, gold"
    ):
        reduce(counts({"x": [1]}, {"x": [1]}), StatisticSpec("f1"))


def test_every_kind_of_the_catalogue_describes_its_statistics() -> None:
    for kind, entries in STATISTICS.items():
        assert len({entry.name for entry in entries}) == len(entries)
        assert all(entry.kind == kind and entry.meaning for entry in entries)


# What each statistic of scores adds up, in exact units, and what the systems' own scores are.


pairs = st.lists(st.tuples(st.integers(-50, 50), st.integers(-50, 50)), min_size=1, max_size=30)
Rows = list[tuple[int, int]]


def reduced(rows: Rows, name: str, places: int = 0, **parameters: str) -> Additive:
    u, v = ([float(f"{row[side]}e-{places}") for row in rows] for side in (0, 1))
    return reduce_scores(Scores(np.array(u), np.array(v)), StatisticSpec(name, parameters))


@pytest.mark.parametrize("name", ["mean_difference", "sum_difference"])
@given(rows=pairs, places=st.integers(0, 4))
def test_a_difference_is_that_of_the_exact_decimals(name: str, rows: Rows, places: int) -> None:
    problem: Any = reduced(rows, name, places)
    divisor = 10**places * (len(rows) if name == "mean_difference" else 1)
    for side, reported in ((0, problem.score_u), (1, problem.score_v)):
        assert reported == Fraction(sum(row[side] for row in rows), divisor)
    assert problem.unit * int(problem.stay.sum()) == problem.score_u - problem.score_v
    assert [problem.unit * int(x) for x in problem.stay] == [Fraction(a - b, divisor) for a, b in rows]
    assert problem.swap is None


@given(pairs)
def test_the_sign_test_counts_wins_and_losses(rows: Rows) -> None:
    problem = reduced(rows, "sign")
    assert problem.stay.tolist() == [(a > b) - (a < b) for a, b in rows]
    assert problem.score_u == Fraction(sum(a > b for a, b in rows))
    assert problem.score_v == Fraction(sum(a < b for a, b in rows))


@given(st.lists(st.integers(0, 8), max_size=40))
def test_doubled_midranks_are_twice_scipys_average_ranks(values: list[int]) -> None:
    ours = doubled_midranks(np.array(values, dtype=np.int64))
    assert ours.tolist() == (2 * stats.rankdata(values, method="average")).tolist()


@pytest.mark.parametrize("zero_method", ["wilcox", "pratt", "zsplit"])
@given(rows=pairs)
def test_rank_sums_follow_their_definition(zero_method: str, rows: Rows) -> None:
    d = [a - b for a, b in rows]
    kept = [x for x in d if x != 0 or zero_method != "wilcox"]
    ranks = stats.rankdata(np.abs(kept)).tolist() if kept else []
    plus = sum(Fraction(r) for r, x in zip(ranks, kept, strict=True) if x > 0)
    minus = sum(Fraction(r) for r, x in zip(ranks, kept, strict=True) if x < 0)
    zeros = sum(Fraction(r) for r, x in zip(ranks, kept, strict=True) if x == 0)
    shared = zeros / 2 if zero_method == "zsplit" else Fraction(0)
    problem = reduced(rows, "signed_rank", zero_method=zero_method)
    assert (problem.score_u, problem.score_v) == (plus + shared, minus + shared)
    assert problem.unit * int(problem.stay.sum()) == plus - minus


def test_decimals_that_differ_by_as_much_share_a_rank() -> None:
    """0.3 - 0.2 and 0.2 - 0.1 differ in doubles and not on paper."""
    data = Scores(np.array([0.3, 0.2, 0.9]), np.array([0.2, 0.1, 0.1]))
    problem = reduce_scores(data, StatisticSpec("signed_rank"))
    assert problem.stay.tolist() == [3, 3, 6]


@settings(max_examples=60)
@given(rows=pairs, codes=st.lists(st.integers(0, 3), min_size=30, max_size=30))
@pytest.mark.parametrize("name", STATISTICS["scores"])
def test_clusters_add_up_the_effects_of_their_items(name: str, rows: Rows, codes: list[int]) -> None:
    used = np.array(codes[: len(rows)], dtype=np.int64)
    columns = [np.array([row[side] for row in rows], dtype=np.int64) for side in (0, 1)]
    single = reduce_scores(Scores(columns[0], columns[1]), StatisticSpec(name))
    joined = reduce_scores(Scores(columns[0], columns[1], Pairing(used, 4)), StatisticSpec(name))
    assert joined.stay.tolist() == [int(single.stay[used == code].sum()) for code in range(4)]
    assert (joined.score_u, joined.score_v, joined.unit) == (single.score_u, single.score_v, single.unit)
    assert (joined.items, joined.clusters) == (len(rows), 4)


@given(st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=12))
def test_no_number_is_moved_by_more_than_2_to_the_minus_58_of_the_sum_of_all(values: list[float]) -> None:
    column = np.array(values)
    found = on_lattice(column)
    unit, whole = found.unit, found.columns[0]
    total = sum((abs(Fraction(x)) for x in values), Fraction(0))
    for x, top in zip(values, whole.tolist(), strict=True):
        moved = abs(unit * top - Fraction(x))
        # A decimal is what its double prints as, which is within half a unit of the double's last place.
        assert moved <= max(total / 2**58, Fraction(abs(x)) / 2**52)


@given(st.lists(st.integers(-(2**30), 2**30), min_size=1, max_size=20), st.integers(-60, 60))
def test_dyadic_numbers_are_taken_exactly(tops: list[int], power: int) -> None:
    column = np.ldexp(np.array(tops, dtype=np.float64), power)
    if any(
        Fraction(repr(x)) != Fraction(x) and len(repr(x).partition("e")[0]) <= 18 for x in column.tolist()
    ):
        return  # some print with so few digits that they are taken for decimals
    if float(np.abs(column).sum()) >= 2.0**59:
        return
    found = on_lattice(column)
    unit, whole = found.unit, found.columns[0]
    total = sum(abs(top) for top in tops)
    if total < 2**59:
        assert [unit * top for top in whole.tolist()] == [
            Fraction(top) * Fraction(2) ** power for top in tops
        ]


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (Scores(np.array([1]), np.array([2])), "accuracy"),
        (Effects(np.array([1])), "mean_difference"),
        (Predictions(["a"], ["a"], ["b"]), "sign"),
    ],
)
def test_a_statistic_of_another_kind_of_data_is_refused(
    data: Scores | Effects | Predictions, name: str
) -> None:
    with refused_alone(None, "/statistic/name"):
        reduce_problem(data, StatisticSpec(name))


# The paper's own form: stay and swap effects and h of their sum.


numbers = st.integers(-500, 500)


def additive(data: Effects, wanted: StatisticSpec) -> Additive:
    problem = reduce_effects(data, wanted)
    assert isinstance(problem, Additive)
    return problem


def spec(expression: str) -> StatisticSpec:
    return StatisticSpec("expression", {"expression": expression})


@given(st.lists(st.tuples(numbers, numbers), min_size=1, max_size=20), st.integers(0, 3))
def test_effects_keep_their_values_on_one_common_lattice(rows: list[tuple[int, int]], places: int) -> None:
    stay, swap = (np.array([float(f"{row[side]}e-{places}") for row in rows]) for side in (0, 1))
    problem = additive(Effects(stay, swap), spec("x1"))
    assert problem.swap is not None
    for column, side in ((problem.stay, 0), (problem.swap, 1)):
        assert [problem.unit * int(x) for x in column] == [Fraction(row[side], 10**places) for row in rows]


@pytest.mark.parametrize(
    ("expression", "absolute"), [("x1", False), ("abs(x1)", True), (" abs( x1 ) ", True), ("x1 ", False)]
)
def test_h_is_the_identity_or_the_absolute_value(expression: str, *, absolute: bool) -> None:
    problem = additive(Effects(np.array([1, -2])), spec(expression))
    assert problem.absolute is absolute
    assert problem.swap is None


def test_without_an_expression_h_is_the_identity() -> None:
    assert not additive(Effects(np.array([1])), StatisticSpec("expression")).absolute


def test_stay_and_swap_are_summed_inside_each_cluster() -> None:
    pairing = Pairing(np.array([0, 1, 0]), 2)
    data = Effects(np.array([1, 2, 3]), np.array([10, 20, 30]), pairing)
    problem: Any = additive(data, spec("x1"))
    assert (problem.stay.tolist(), problem.swap.tolist()) == ([4, 2], [40, 20])


@pytest.mark.parametrize(
    ("data", "expression", "pointer"),
    [
        (Effects(np.array([1])), "x2", "/statistic/expression"),
        (Effects(np.array([1])), "__import__('os')", "/statistic/expression"),
        (Effects(np.array([], dtype=np.int64)), "x1", "/stay"),
        (Effects(np.array([1, 2]), np.array([1])), "x1", "/swap"),
    ],
)
def test_invalid_effects_are_refused_with_a_pointer(data: Effects, expression: str, pointer: str) -> None:
    with refused_alone(None, pointer):
        additive(data, spec(expression))


# How far a difference of scores is from its linear part: sharp where it is known, and no bounds where there are none.


def midpoint(text: str, u: list[list[int]], v: list[list[int]]) -> Midpoint:
    names = ("a", "b", "c")[: len(u[0])]
    problem = difference_of_scores("expression", parse(text, names), np.array(u), np.array(v), Pairing())
    assert isinstance(problem, Joint)
    found = midpoint_of(problem)
    assert found is not None
    return found


@pytest.mark.parametrize("items", [1, 2, 5, 12])
@pytest.mark.parametrize("log_odds", [0.1, 0.7, 1.5, 3.0, 6.0, 12.0])
def test_sums_of_signs_reach_no_farther_than_proven(items: int, log_odds: float) -> None:
    generator = np.random.default_rng(items)
    signs = 1 - 2 * np.array(np.meshgrid(*[[0, 1]] * items, indexing="ij")).reshape(items, -1)
    for effects in (np.ones(items), generator.random(items), 2.0 ** -np.arange(items)):
        sums = np.abs(effects @ signs)
        beyond = sums > reach(log_odds) * np.linalg.norm(effects)
        assert beyond.mean() <= math.exp(-log_odds)
        forms = np.stack([effects, np.roll(effects, 1) * generator.choice((-1.0, 1.0), items)])
        squares = ((forms @ signs) ** 2).sum(axis=0)
        assert (squares > reach_of_squares(forms @ forms.T, 0.0, log_odds)).mean() <= math.exp(-log_odds)


def test_the_reach_is_nearly_that_of_the_normal_law() -> None:
    """P(|Z| >= 4.06) is 5e-5: a third of what is allowed for, and at the most that."""
    assert reach(math.log(1 / 1.57e-4)) == pytest.approx(4.06, abs=0.01)


def test_the_remainder_of_a_ratio_is_sharp() -> None:
    """f(m + s) - f(m - s) of a / b is L / (1 - beta**2), beta the relative deviation of b: known in closed form."""
    u, v = [[500, 1000], [3, 7], [2, 5]], [[500, 1000], [1, 4], [4, 9]]
    about = midpoint("a / b", u, v)
    found: Any = about.remainder(math.log(100.0))
    half = 0.5 * np.array([[2, 3], [-2, -4]])
    most = reach(math.log(100.0)) * np.linalg.norm(half[:, 1]) / (1000 + (7 + 4 + 5 + 9) / 2)
    assert found.relative == pytest.approx(most**2 / (1 - most**2), rel=1e-5)
    assert found.absolute < 1e-12


@pytest.mark.parametrize(
    ("text", "u", "v"),
    [
        ("a / b", [[1, 2], [0, 3]], [[2, 1], [1, 0]]),  # b may be zero
        ("log(a) / b", [[1, 20], [0, 20]], [[2, 20], [3, 21]]),
        ("sqrt(a - 3) / b", [[1, 20], [3, 20]], [[2, 20], [3, 21]]),
    ],
)
def test_there_are_no_bounds_where_a_value_may_be_missing(
    text: str, u: list[list[int]], v: list[list[int]]
) -> None:
    assert midpoint(text, u, v).remainder(math.log(1e4)) is None


def test_a_corner_may_be_crossed_at_the_cost_of_its_error() -> None:
    rows = 4 * [[3, 0], [0, 2]]
    u, v = [[5_000, 5_000], *rows], [[5_000, 5_000], *[row[::-1] for row in rows]]
    about = midpoint("min(a / b, 1)", u, v)
    found: Any = about.remainder(math.log(100.0))
    plain: Any = midpoint("a / b", u, v).remainder(math.log(100.0))
    # Half of the line, as the corner is at the midpoint.
    np.testing.assert_allclose(found.slope, plain.slope / 2.0, rtol=1e-2)
    far: Any = midpoint("min(a / b, 2)", u, v).remainder(math.log(100.0))
    np.testing.assert_allclose(far.slope, plain.slope, rtol=1e-12)


def test_bleu_without_matches_has_no_bounds() -> None:
    names = (
        "sys_len",
        "ref_len",
        *(f"correct_{n}" for n in range(1, 5)),
        *(f"total_{n}" for n in range(1, 5)),
    )
    u, v = (
        {name: np.array([size]) for name, size in zip(names, row, strict=True)}
        for row in ((9, 9, 5, 3, 1, 0, 9, 8, 7, 6), (9, 9, 4, 3, 1, 0, 9, 8, 7, 6))
    )
    problem = reduce_problem(Counts(u, v), StatisticSpec("bleu"))
    assert isinstance(problem, Joint)
    assert midpoint_of(problem) is None
