"""Test expressions: their meaning, refusals, and exact comparisons, ties included."""

import itertools
import math
from fractions import Fraction
from random import Random
from typing import Any

import numpy as np
import pytest
from flint import arb, ctx
from hypothesis import given, settings, strategies as st

from exactperm.engine.lattice import Integers
from exactperm.engine.probability import Alternative
from exactperm.errors import InvalidTest
from exactperm.statistics import formula
from exactperm.statistics.decisions import exact_value
from exactperm.statistics.effects import Additive, Joint
from exactperm.statistics.evaluation import UnresolvedError, approximate, ball, ratios, ratios_on, value_at
from exactperm.statistics.expression import MAX_CHARS, parse
from exactperm.statistics.paired import Counts, Effects, StatisticSpec
from exactperm.statistics.quantity import Formula, ratio_at
from exactperm.statistics.reducers import reduce
from exactperm.statistics.reduction import in_linear_forms
from exactperm.statistics.sum_function import FunctionOf, range_of
from tests.fuzz.test_expressions import small
from tests.refusals import refused

SIDES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
NAMES = ("a", "b", "c")


def reaches(value: Fraction | None, target: Fraction, side: Alternative) -> bool:
    if value is None:
        return True
    if side == "greater":
        return value >= target
    return value <= target if side == "less" else abs(value) >= abs(target)


def function_of(text: str, names: tuple[str, ...] = NAMES) -> FunctionOf:
    return FunctionOf(Formula(parse(text, names)))


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("1 + 2 * 3", 7),
        ("(1 + 2) * 3", 9),
        ("8 / 4 / 2", 1),
        ("8 - 4 - 2", 2),
        ("--a", 5),
        ("-a * -b", 15),
        ("2 - -a", 7),
        ("min(a, b, c) + max(a, b, 9)", 9),
        ("abs(b - a)", 2),
        ("1.5e1 * .5", Fraction(15, 2)),
        ("c / c", 0),
        ("c / 3", 0),
        ("sqrt(4 * (a + b + 1))", 6),
        ("log(1) + exp(c)", 1),
        ("a / b - b / a", Fraction(5, 3) - Fraction(3, 5)),
    ],
)
def test_arithmetic_follows_the_usual_rules(text: str, wanted: Fraction | int) -> None:
    assert value_at(parse(text, NAMES), (5, 3, 0)) == wanted


@pytest.mark.parametrize(
    ("text", "code", "detail"),
    [
        ("a + d", "unknown_name", "Character 5 of the expression: unknown name; the names are a, b, c."),
        ("a +", "syntax_error", "The expression ends too early"),
        ("", "syntax_error", "The expression ends too early"),
        ("(a", "syntax_error", "ends too early: expected a closing parenthesis"),
        ("a b", "syntax_error", "At character 3 of the expression: expected an operator or the end"),
        ("  a $ b", "syntax_error", "Character 5 of the expression is not understood"),
        ("a ** 2", "syntax_error", "At character 4"),
        ("pow(a)", "unknown_function", "Character 1 of the expression: the functions are abs, min"),
        ("b + sqrt(a, b)", "wrong_arguments", "Character 5 of the expression: sqrt takes one argument"),
        ("max(a)", "wrong_arguments", "max takes two or more"),
        ("1e999", "number_too_large", "Character 1"),
        ("(" * 50 + "a" + ")" * 50, "expression_too_deep", "40 deep"),
        ("a" + "+a" * 300, "expression_too_long", "at most"),
        ("a" * (MAX_CHARS + 1), "expression_too_long", "at most"),
        ("__import__(a)", "unknown_function", "Character 1"),
        ("a.real", "syntax_error", "Character 2"),
    ],
)
def test_a_wrong_expression_is_refused_with_its_position(text: str, code: str, detail: str) -> None:
    with pytest.raises(InvalidTest) as refused:
        parse(text, NAMES)
    (flaw,) = refused.value.flaws
    assert (flaw.pointer, flaw.code) == ("/statistic/expression", code)
    assert detail in flaw.detail


def test_a_refusal_does_not_repeat_the_request() -> None:
    with pytest.raises(InvalidTest) as refused:
        parse("a + supersecretname", NAMES)
    assert "supersecretname" not in refused.value.detail


Tree = Any  # an index of NAMES, a Fraction, or (sign, Tree, ...)

trees = st.recursive(
    st.integers(0, 2)
    | st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(3), Fraction(-7, 4), Fraction(0)]),
    lambda inner: (
        st.tuples(st.sampled_from("+-*/"), inner, inner)
        | st.tuples(st.sampled_from(["min", "max"]), inner, inner)
        | st.tuples(st.just("abs"), inner)
    ),
    max_leaves=8,
)


def written(tree: Tree) -> str:
    if isinstance(tree, Fraction):
        return f"({float(tree)})"
    if isinstance(tree, int):
        return NAMES[tree]
    sign, *inner = tree
    if len(sign) == 1:
        return f"({written(inner[0])} {sign} {written(inner[1])})"
    return f"{sign}({', '.join(map(written, inner))})"


def worked_out(tree: Tree, row: tuple[int, ...]) -> Fraction | None:
    """Schoolbook arithmetic in fractions: the oracle."""
    if isinstance(tree, Fraction):
        return tree
    if isinstance(tree, int):
        return Fraction(row[tree])
    values = [worked_out(part, row) for part in tree[1:]]
    if any(value is None for value in values):
        return None
    numbers = [value for value in values if value is not None]
    if tree[0] in {"min", "max", "abs"}:
        return {"min": min, "max": max}[tree[0]](numbers) if len(numbers) > 1 else abs(numbers[0])
    x, y = numbers
    if tree[0] == "/":
        return x / y if y else (Fraction(0) if x == 0 else None)
    return x + y if tree[0] == "+" else x - y if tree[0] == "-" else x * y


GRID: Integers = np.array(list(itertools.product(range(-1, 4), range(4), range(4))), dtype=np.int64)


@pytest.mark.slow
@given(trees, st.integers(0, len(GRID) - 1))
@settings(deadline=None, max_examples=200)
def test_every_tree_compares_as_schoolbook_fractions_do(tree: Tree, start: int) -> None:
    function = function_of(written(tree))
    truth = [worked_out(tree, tuple(row)) for row in GRID.tolist()]
    target = truth[start]
    values = function.values(list(GRID.T))
    assert np.isfinite(values).all()
    for value, exact in zip(values.tolist(), truth, strict=True):
        assert value == pytest.approx(0.0 if exact is None else float(exact), rel=1e-12, abs=1e-13)
    for side in SIDES:
        extreme = function.extreme(list(GRID.T), GRID[start], side).tolist()
        if target is None:
            assert all(extreme)
        else:
            assert extreme == [reaches(value, target, side) for value in truth]


irrational_trees = st.recursive(
    st.integers(0, 2) | st.sampled_from([Fraction(1, 2), Fraction(3), Fraction(-7, 4)]),
    lambda inner: (
        st.tuples(st.sampled_from("+-*/"), inner, inner)
        | st.tuples(st.sampled_from(["min", "max"]), inner, inner)
        | st.tuples(st.sampled_from(["abs", "sqrt", "log", "exp"]), inner)
    ),
    max_leaves=10,
)


@pytest.mark.slow
@given(irrational_trees)
@settings(deadline=None, max_examples=300)
def test_every_error_bound_holds(tree: Tree) -> None:
    node = parse(written(tree), NAMES)
    sums = list(GRID[::7].T)
    found = approximate(node, sums)
    errors = np.broadcast_to(found.error, found.value.shape)
    with ctx.workprec(512):
        for index, row in enumerate(GRID[::7].tolist()):
            try:
                exact = value_at(node, row)
            except UnresolvedError:
                assert not np.isfinite(errors[index])
                continue
            if exact is None:
                certain = found.undefined is not None and bool(found.undefined[index])
                assert certain or not np.isfinite(errors[index])
            elif np.isfinite(errors[index]):
                assert found.undefined is None or not found.undefined[index]
                gap = abs(arb(float(found.value[index])) - ball(exact))
                assert not gap > arb(float(errors[index])), (written(tree), row)


@given(st.text(alphabet="ab019.+-*/(), eEminmaxsqrtlog", max_size=40))
@settings(deadline=None, max_examples=500)
def test_any_text_is_an_expression_or_refused(text: str) -> None:
    try:
        parse(text, NAMES)
    except InvalidTest as refused:
        assert [flaw.pointer for flaw in refused.flaws] == ["/statistic/expression"]  # noqa: PT017 -- some texts are fine


@pytest.mark.parametrize(
    "text", ["1/" * 199 + "a", "-" * 399 + "a", "abs(" * 38 + "a" + ")" * 38, "*".join(["a"] * 200)]
)
def test_the_largest_expressions_are_worked_out(text: str) -> None:
    function = function_of(text)
    states = list(np.array([[1], [2], [3]]))
    assert np.isfinite(function.values(states)).all()
    assert function.extreme(states, np.array([1, 2, 3]), "greater").all()


@given(trees)
@settings(deadline=None, max_examples=150)
def test_int64_and_python_integers_give_the_same_fractions(tree: Tree) -> None:
    node = parse(written(tree), NAMES)
    for states in (GRID, GRID * 10**12):
        found = ratios(node, states)
        for row, above, below in zip(
            states.tolist(), found.numerator.tolist(), found.denominator.tolist(), strict=True
        ):
            exact = worked_out(tree, tuple(row))
            assert (Fraction(above, below) if below else None) == exact
            alone = ratio_at(node, row)
            assert alone[1] >= 0
            assert (Fraction(*alone) if alone[1] else None) == exact


@given(trees)
@settings(deadline=None, max_examples=150)
def test_sums_that_broadcast_give_the_same_fractions(tree: Tree) -> None:
    node = parse(written(tree), NAMES)
    one, other, third = np.arange(-2, 4), np.array([-1, 0, 3]), np.array([2])
    found = ratios_on(node, [one.reshape(-1, 1), other.reshape(1, -1), third.reshape(1, 1)], 1)
    if found is None:
        return  # beyond int64
    assert found.numerator.dtype == found.denominator.dtype == np.int64
    for (i, x), (j, y) in itertools.product(enumerate(one.tolist()), enumerate(other.tolist())):
        above, below = int(found.numerator[i, j]), int(found.denominator[i, j])
        assert (Fraction(above, below) if below else None) == worked_out(tree, (x, y, 2))


@pytest.mark.parametrize("scale", [1, 10**5, 10**9])
def test_f1_differences_tie_exactly_by_different_counts(scale: int) -> None:
    names = ("tp_u", "in_u", "tp_v", "in_v")
    function = function_of("tp_u/(tp_u+in_u/2) - tp_v/(tp_v+in_v/2)", names)
    generator = np.random.default_rng(scale)
    base = generator.integers(0, 3, size=(4000, 4))
    # Each system's counts times its own factor: the same F1, other counts.
    states = base * np.repeat(generator.integers(1, scale + 1, size=(4000, 2)), 2, axis=1)

    def exact(row: list[int]) -> Fraction:
        scores = [
            Fraction(2 * tp, 2 * tp + wrong) if tp or wrong else Fraction(0)
            for tp, wrong in (row[:2], row[2:])
        ]
        return scores[0] - scores[1]

    truth = [exact(row) for row in states.tolist()]
    assert sum(truth.count(value) > 20 for value in truth[:5]) == 5, "the promise is about ties"
    for start in range(5):
        for side in SIDES:
            got = function.extreme(list(states.T), states[start], side).tolist()
            assert got == [reaches(value, truth[start], side) for value in truth]


def test_irrational_values_compare_as_they_do_with_fifty_digits() -> None:
    function = function_of("sqrt(a) * sqrt(b) / log(a + b + 2) - exp(-c / 3)")
    states = np.array(list(itertools.product(range(6), range(6), range(4))), dtype=np.int64)
    with ctx.workdps(60):
        truth = [
            arb(a).sqrt() * arb(b).sqrt() / arb(a + b + 2).log() - (-arb(c) / 3).exp()
            for a, b, c in states.tolist()
        ]
        for start in (0, 37, 100, 143):
            gaps = [value - truth[start] for value in truth]
            tied = [abs(float(gap.mid())) < 1e-40 for gap in gaps]
            extreme = function.extreme(list(states.T), states[start], "greater").tolist()
            assert extreme == [same or bool(gap > 0) for same, gap in zip(tied, gaps, strict=True)]
            # sqrt(2) sqrt(3) is sqrt(3) sqrt(2): other states, the same value.
            assert sum(tied) >= (2 if states[start][0] != states[start][1] else 1)


def test_values_are_doubles_of_the_truth_and_never_nan() -> None:
    states = np.array([[0, 0, 0], [1, 0, 0], [4, 1, 1], [10**6, 10, 700]], dtype=np.int64)
    assert function_of("a / b").values(list(states.T)).tolist() == [0.0, 0.0, 4.0, 1e5]
    assert function_of("log(b)").values(list(states.T)).tolist() == [0.0, 0.0, 0.0, math.log(10)]
    assert np.isfinite(function_of("exp(a)").values(list(states.T))).all()
    assert np.isfinite(function_of("exp(a) - exp(a)").values(list(states.T))).all()


def test_an_undefined_state_counts_as_extreme_on_every_side() -> None:
    states = np.array([[1, 0, 0], [0, 0, 0], [1, 2, 0]], dtype=np.int64)
    for side in SIDES:
        assert function_of("a / b").extreme(list(states.T), np.array([5, 1, 0]), side)[0]
    assert not function_of("a / b").extreme(list(states.T), np.array([5, 1, 0]), "greater")[1:].any()


def test_sums_broadcast_against_each_other() -> None:
    function = function_of("a / (b + 1) - c / 3")
    first, second, third = np.arange(5)[:, None, None], np.arange(3)[None, :, None], np.arange(4)
    observed = np.array([2, 1, 3])
    grid = np.stack([np.broadcast_to(part, (5, 3, 4)).reshape(-1) for part in (first, second, third)])
    for side in SIDES:
        flat = function.extreme(list(grid), observed, side)
        assert np.array_equal(function.extreme([first, second, third], observed, side), flat.reshape(5, 3, 4))
        point = [np.asarray(x) for x in (2, 1, 3)]
        assert function.extreme(point, observed, side).shape == ()
        assert function.extreme(point, observed, side)
    assert np.array_equal(
        function.values([first, second, third]), function.values(list(grid)).reshape(5, 3, 4)
    )


def test_sums_beyond_a_double_still_compare_exactly() -> None:
    big = 2**60
    states = np.array([[big, big - 1, 0], [big - 1, big, 0], [big, big, 0]], dtype=np.int64)
    extreme = function_of("a / b").extreme(list(states.T), states[2], "greater")
    assert extreme.tolist() == [True, False, True]


def test_the_normal_form_folds_linear_parts() -> None:
    assert parse("(2*a + 4*b)/6 - a/3", NAMES) == formula.linear([(1, Fraction(2, 3))], Fraction(0))
    ratio = parse("a / (a + b/2)", NAMES)
    assert isinstance(ratio, formula.Quotient)
    assert ratio.denominator == formula.Linear(((0, 2), (1, 1)))


# Expressions over the sums of effects become additive problems where they can, joint ones where not.


def effects(stay: object, swap: object = None) -> Effects:
    return Effects(np.array(stay), None if swap is None else np.array(swap))


def test_a_linear_expression_of_effects_is_additive() -> None:
    problem = reduce(
        effects([[0.1, 2], [0.3, 1]]), StatisticSpec("expression", {"expression": "x1 - x2 / 4"})
    )
    assert isinstance(problem, Additive)
    assert problem.swap is None
    assert [problem.unit * int(x) for x in problem.stay] == [Fraction(-2, 5), Fraction(1, 20)]


def test_the_absolute_value_of_a_linear_expression_is_additive_too() -> None:
    spec = StatisticSpec("expression", {"expression": "abs( 2*x1 )"})
    problem = reduce(effects([3, -1], [-3, 2]), spec)
    assert isinstance(problem, Additive)
    assert problem.swap is not None
    assert problem.absolute
    assert problem.swap.tolist() == [-6, 4]


def test_other_expressions_of_effects_are_joint_over_their_sums() -> None:
    spec = StatisticSpec("expression", {"expression": "x1/(x1+0.5*x2) - x3/(x3+0.5*x4)"})
    stay, swap = [[3, 1, 2, 2], [2, 2, 2, 0]], [[2, 2, 3, 1], [2, 0, 2, 2]]
    problem = reduce(effects(stay, swap), spec)
    assert isinstance(problem, Joint)
    assert (problem.stay.tolist(), problem.swap.tolist()) == (stay, swap)
    (value,) = problem.function.values(list(np.array([[5], [3], [4], [2]])))
    assert value == pytest.approx(10 / 13 - 8 / 10)


@pytest.mark.parametrize(
    ("data", "text", "pointer", "code"),
    [
        (effects([1, 2]), "x2", "/statistic/expression", "unknown_name"),
        (effects([1, -1]), "1/x1", "/statistic/expression", "undefined_statistic"),
        (effects([[1, 2]], [1]), "x1", "/swap", "width_mismatch"),
        (effects([], []), "x1", "/stay", "empty"),
    ],
)
def test_effects_that_make_no_test_are_refused(data: Effects, text: str, pointer: str, code: str) -> None:
    with refused(code, pointer):
        reduce(data, StatisticSpec("expression", {"expression": text}))


# Ranges of formulas over boxes of sums hold every value in the box, and nothing where one may be undefined.


@pytest.mark.parametrize(
    "text", ["min(1/a, 3) + b", "abs(1/a) + b", "max(log(a), 1) + b", "exp(sqrt(a)) + b", "exp(-1/a) + b"]
)
def test_possibly_undefined_statistics_have_no_bounds(text: str) -> None:
    node = parse(text, ("a", "b"))
    found = range_of(node, [np.array([-2.0]), np.array([50.0])], [np.array([2.0]), np.array([60.0])])
    assert (found.low[0], found.high[0]) == (-np.inf, np.inf)


@pytest.mark.parametrize("start", range(40))
def test_boxes_are_settled_as_their_states_are(start: int) -> None:
    random = Random(start)
    for _ in range(10):
        case = small(random, rational=random.random() < 0.5)
        names = [f"x{index + 1}" for index in range(len(case.stay[0]))]
        try:
            function = FunctionOf(Formula(parse(case.expression, names)))
        except InvalidTest:
            continue
        low = [random.randint(-4, 3) for _ in names]
        high = [one + random.randint(0, 4) for one in low]
        states = np.array(list(itertools.product(*map(range, low, [one + 1 for one in high]))))
        observed = np.array([random.randint(-4, 8) for _ in names])
        box = [[np.array([float(end)]) for end in ends] for ends in (low, high)]
        for side in SIDES:
            yes, no = function.settled(box[0], box[1], observed, side)
            extreme = function.extreme(list(states.T), observed, side)
            assert not yes[0] or extreme.all(), (case.expression, low, high, observed, side)
            assert not no[0] or not extreme.any(), (case.expression, low, high, observed, side)


# A formula over the values of its linear forms: the same values, from fewer sums.


EXPRESSIONS = {
    "2 * x1 / (2 * x1 + x2 + x3)": 2,
    "(x1 + x2) * (x2 + x1) - 3 * (x1 + x2)": 1,
    "(x1 + x2 + x3) / (x4 + x5)": 2,
    "(x1 - x2) / (x2 - x1) + abs(2 * x2 - 2 * x1)": 1,
    "log(x1 + 2 * x2 + 1) / (3 + x3 - x4)": 2,
    "(x1 + x2) / 7 - x1 / (x1 + x2)": 2,
    "x1 / x2": 2,
    "(x1 + x2) * (x1 - x2)": 2,
}


def problem_of(text: str, rows: int = 6) -> Joint:
    draw = np.random.default_rng(len(text))
    width = max(int(part[0]) for part in text.split("x")[1:])
    stay, swap = draw.integers(1, 30, (2, rows, width))
    found = reduce(Effects(stay, swap), StatisticSpec("expression", {"expression": text}))
    if not isinstance(found, Joint):
        node = parse(text, [f"x{index + 1}" for index in range(width)])
        found = Joint(text, stay, swap, FunctionOf(Formula(node)), rows)
    return found


@pytest.mark.parametrize(("text", "sums"), EXPRESSIONS.items())
def test_a_formula_over_its_forms_has_the_same_exact_values(text: str, sums: int) -> None:
    problem = problem_of(text)
    reduced = in_linear_forms(problem)
    assert np.linalg.matrix_rank(reduced.stay) <= sums
    assert isinstance(problem.function, FunctionOf)
    assert isinstance(reduced.function, FunctionOf)
    for before, after in zip((problem.stay, problem.swap), (reduced.stay, reduced.swap), strict=True):
        for row, values in zip(before.tolist(), after.tolist(), strict=True):
            one, other = (
                exact_value(problem.function.quantity, row),
                exact_value(reduced.function.quantity, values),
            )
            assert str(one) == str(other)
            if isinstance(one, Fraction):
                assert one == other


def test_f1_of_tp_fp_fn_depends_on_two_sums_of_each_system() -> None:
    draw = np.random.default_rng(1)
    names = ("tp", "fp", "fn")
    u, v = ({name: draw.integers(0, 40, 9) for name in names} for _ in range(2))
    for name in ("f1", "jaccard", "fbeta"):
        problem = reduce(Counts(u, v), StatisticSpec(name, {"beta": 2.0} if name == "fbeta" else {}))
        assert isinstance(problem, Joint)
        assert problem.stay.shape == (9, 6)
        assert in_linear_forms(problem).stay.shape == (9, 4)


def test_sums_that_are_their_own_forms_are_left_alone() -> None:
    problem = problem_of("x1 / x2 - x3 * x4")
    assert in_linear_forms(problem) is problem


def test_forms_whose_sums_would_not_fit_are_left_alone() -> None:
    stay = np.full((2, 3), 2**50, dtype=np.int64)
    node = parse("(x1 + x2 + x3) * (1024 * (x1 + x2 + x3) + 1)", ["x1", "x2", "x3"])
    huge = parse("x1 / (1024 * x1 + 1023 * x2 + 1021 * x3)", ["x1", "x2", "x3"])
    assert in_linear_forms(Joint("", stay, -stay, FunctionOf(Formula(node)), 2)).stay.shape == (2, 1)
    problem = Joint("", stay, -stay, FunctionOf(Formula(huge)), 2)
    assert in_linear_forms(problem) is problem
