"""Classification: confusion matrices and F1 of classes."""

import itertools
import warnings
from collections.abc import Callable, Sequence
from decimal import Decimal, getcontext
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from sklearn import metrics

from exactperm.engine.plan import Budget
from exactperm.engine.probability import Alternative
from exactperm.inference.joint import JointTest
from exactperm.inference.options import Options
from exactperm.inference.paired import prepare, run_test
from exactperm.statistics.effects import Additive, Joint
from exactperm.statistics.paired import Counts, Paired, Pairing, Predictions, StatisticSpec
from exactperm.statistics.reducers import reduce
from tests.enumeration import swaps
from tests.refusals import refused

from .of_sums import reduce as reduce_sums

# Scores of the confusion matrix, of labels and of counts: every swap is scored by scikit-learn, or by the definition.


getcontext().prec = 60
SIDES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
# Far more than 60 digits round, far less than two different values of a dozen items differ by.
TIE = Decimal(10) ** -40
Value = Callable[[Sequence[Any], Sequence[Any]], Decimal]


def decimal(value: Fraction) -> Decimal:
    return Decimal(value.numerator) / Decimal(value.denominator)


def over(above: int | Fraction, below: int | Fraction) -> Fraction:
    return Fraction(above) / below if below else Fraction(0)


def of_counts(name: str, tp: int, fp: int, fn: int, tn: int) -> Decimal:
    """Textbook definitions of two classes; 0/0 is 0, and a class that gold never has does not count."""
    sensitivity, specificity = over(tp, tp + fn), over(tn, tn + fp)
    if name == "specificity":
        return decimal(specificity)
    if name == "npv":
        return decimal(over(tn, tn + fn))
    if name == "g_mean":
        return decimal(sensitivity * specificity).sqrt()
    if name == "balanced_accuracy":
        return decimal(over(sensitivity + specificity, (tp + fn > 0) + (tn + fp > 0)))
    if name == "kappa":
        n = tp + fp + fn + tn
        agreed = over(tp + tn, n)
        chance = over((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn), n * n)
        return decimal(over(agreed - chance, 1 - chance))
    below = Decimal((tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)).sqrt()
    return Decimal(tp * tn - fp * fn) / below if below else Decimal(0)


NAMES = ("mcc", "kappa", "balanced_accuracy", "g_mean", "specificity", "npv")


def of_labels(name: str, positive: int | str) -> Value:
    def value(gold: Sequence[Any], said: Sequence[Any]) -> Decimal:
        cells = [(g == positive, s == positive) for g, s in zip(gold, said, strict=True)]
        kinds = ((True, True), (False, True), (True, False), (False, False))
        return of_counts(name, *(cells.count(kind) for kind in kinds))

    return value


def kappa_of_classes(gold: Sequence[Any], said: Sequence[Any]) -> Decimal:
    n = len(gold)
    agreed = Fraction(sum(g == s for g, s in zip(gold, said, strict=True)), n)
    chance = Fraction(sum(gold.count(k) * said.count(k) for k in set(gold)), n * n)
    return decimal(over(agreed - chance, 1 - chance))


def recall_of_classes(gold: Sequence[Any], said: Sequence[Any]) -> Decimal:
    recalls = [
        Fraction(sum(g == s == k for g, s in zip(gold, said, strict=True)), gold.count(k)) for k in set(gold)
    ]
    return decimal(sum(recalls, Fraction(0)) / len(recalls))


def weighted_f1(gold: Sequence[Any], said: Sequence[Any]) -> Decimal:
    total = Fraction(0)
    for k in set(gold):
        right = sum(g == s == k for g, s in zip(gold, said, strict=True))
        total += gold.count(k) * Fraction(2 * right, gold.count(k) + said.count(k))
    return decimal(total / len(gold))


def p_values(differences: Sequence[Decimal]) -> dict[Alternative, float]:
    """The shares of all swaps, the first of which is the data as observed."""
    first, n = differences[0], len(differences)
    return {
        "greater": sum(t >= first - TIE for t in differences) / n,
        "less": sum(t <= first + TIE for t in differences) / n,
        "two-sided": sum(abs(t) >= abs(first) - TIE for t in differences) / n,
    }


def require_p_values(data: Paired, spec: StatisticSpec, differences: Sequence[Decimal]) -> None:
    for side, wanted in p_values(differences).items():
        said = run_test(data, spec, Options(alternative=side, pmf="none"), Budget())
        assert said.method.exact
        assert said.p_value == pytest.approx(wanted, rel=1e-12), side
        assert said.statistic.observed == pytest.approx(float(differences[0]), abs=1e-12)


def drawn(data: st.DataObject, classes: Sequence[Any], most: int) -> tuple[list[Any], list[Any], list[Any]]:
    n = data.draw(st.integers(2, most))
    gold, u, v = (data.draw(st.lists(st.sampled_from(classes), min_size=n, max_size=n)) for _ in range(3))
    return gold, u, v


@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(deadline=None, max_examples=25)
def test_labels_of_two_classes_have_the_p_values_of_all_swaps(name: str, data: st.DataObject) -> None:
    gold, u, v = drawn(data, [0, 1], 8)
    gold[0], gold[1] = 0, 1
    parameters = {"positive": 1} if name in ("g_mean", "specificity", "npv") else {}
    value = of_labels(name, 1)
    require_p_values(
        Predictions(gold, u, v),
        StatisticSpec(name, parameters),
        [value(gold, first) - value(gold, second) for first, second in swaps(u, v)],
    )


@pytest.mark.parametrize(
    ("spec", "value"),
    [
        (StatisticSpec("kappa"), kappa_of_classes),
        (StatisticSpec("balanced_accuracy"), recall_of_classes),
        (StatisticSpec("f1", {"average": "weighted"}), weighted_f1),
        *(
            (StatisticSpec(name, {"positive": "a"}), of_labels(name, "a"))
            for name in ("g_mean", "specificity", "npv")
        ),
    ],
    ids=lambda each: each.name if isinstance(each, StatisticSpec) else "",
)
@given(st.data())
@settings(deadline=None, max_examples=25)
def test_labels_of_several_classes_have_the_p_values_of_all_swaps(
    spec: StatisticSpec, value: Value, data: st.DataObject
) -> None:
    gold, u, v = drawn(data, ["a", "b", "c"], 7)
    gold[0] = "a"
    require_p_values(
        Predictions(gold, u, v),
        spec,
        [value(gold, first) - value(gold, second) for first, second in swaps(u, v)],
    )


@pytest.mark.parametrize("same_gold", [True, False])
@pytest.mark.parametrize("name", NAMES)
@given(st.data())
@settings(deadline=None, max_examples=15)
def test_counts_have_the_p_values_of_all_swaps(name: str, same_gold: bool, data: st.DataObject) -> None:
    n = data.draw(st.integers(1, 6))
    cell = st.integers(0, 4)
    u, v = (data.draw(st.lists(st.tuples(cell, cell, cell, cell), min_size=n, max_size=n)) for _ in range(2))
    if same_gold:  # what v calls positive of the positive and the negative ones of u
        sizes = [(tp + fn, fp + tn) for tp, fp, fn, tn in u]
        said = [(data.draw(st.integers(0, p)), data.draw(st.integers(0, q))) for p, q in sizes]
        v = [(tp, fp, p - tp, q - fp) for (tp, fp), (p, q) in zip(said, sizes, strict=True)]
    names = ("tp", "fp", "fn", "tn")
    columns = [
        {key: np.array(values) for key, values in zip(names, zip(*rows, strict=True), strict=True)}
        for rows in (u, v)
    ]

    def score(rows: Sequence[Sequence[int]]) -> Decimal:
        return of_counts(name, *(sum(column) for column in zip(*rows, strict=True)))

    require_p_values(
        Counts(columns[0], columns[1], Pairing()),
        StatisticSpec(name),
        [score(first) - score(second) for first, second in swaps(u, v)],
    )


@pytest.mark.parametrize(
    ("name", "by_scikit_learn"),
    [
        ("mcc", metrics.matthews_corrcoef),
        ("kappa", lambda gold, said: metrics.cohen_kappa_score(gold, said, replace_undefined_by=0.0)),
        ("balanced_accuracy", metrics.balanced_accuracy_score),
        ("specificity", lambda gold, said: metrics.recall_score(gold, said, pos_label=0, zero_division=0)),
        ("npv", lambda gold, said: metrics.precision_score(gold, said, pos_label=0, zero_division=0)),
    ],
)
def test_scores_are_scikit_learns_where_a_class_is_missing_too(
    name: str, by_scikit_learn: Callable[..., float]
) -> None:
    for gold in itertools.product((0, 1), repeat=3):
        for u in itertools.product((0, 1), repeat=3):
            columns = [*gold, *u]
            if len(set(columns)) < 2:
                continue
            parameters = {"positive": 1} if name in ("specificity", "npv") else {}
            problem = reduce(Predictions(list(gold), list(u), list(gold)), StatisticSpec(name, parameters))
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                wanted = [by_scikit_learn(gold, u), by_scikit_learn(gold, gold)]
            found = [float(problem.score_u or 0), float(problem.score_v or 0)]
            assert found == pytest.approx(wanted, abs=1e-14), (gold, u)


@pytest.mark.slow
def test_roots_that_tie_are_tied() -> None:
    """Twelve items that all move: sqrt(tp tn) is that of (tn, tp), and of (2, 6) that of (3, 4), and no double tells."""
    generator = np.random.default_rng(5)
    gold, value, ties = [1] * 6 + [0] * 6, of_labels("g_mean", 1), 0
    for _ in range(6):
        u = generator.integers(0, 2, 12).tolist()
        states = {
            (value(gold, first) - value(gold, second), tuple(np.add.reduceat(first, [0, 6]).tolist()))
            for first, second in swaps(u, [1 - said for said in u])
        }
        aim = abs(value(gold, u) - value(gold, [1 - said for said in u]))
        ties += sum(abs(abs(size) - aim) < TIE for size, _ in states) > 2 and aim**2 % 1 > TIE
        require_p_values(
            Predictions(gold, u, [1 - said for said in u]),
            StatisticSpec("g_mean"),
            [value(gold, a) - value(gold, b) for a, b in swaps(u, [1 - said for said in u])],
        )
    assert ties > 1


@pytest.mark.parametrize(
    "spec",
    [
        StatisticSpec("balanced_accuracy"),
        StatisticSpec("specificity", {"positive": 1}),
        StatisticSpec("recall", {"average": "weighted"}),
    ],
    ids=lambda spec: spec.name,
)
def test_statistics_linear_given_gold_are_one_sum(spec: StatisticSpec) -> None:
    gold, u, v = ([0, 1, 2, 1, 0, 2, 2], [0, 1, 1, 1, 2, 2, 2], [1, 1, 2, 0, 0, 2, 0])
    assert isinstance(reduce(Predictions(gold, u, v), spec), Additive)


@pytest.mark.parametrize(
    ("name", "counts"),
    [
        ("recall", {"tp": ([3, 1], [2, 2]), "fn": ([1, 1], [2, 0])}),
        ("specificity", {"tn": ([3, 1], [2, 2]), "fp": ([1, 1], [2, 0])}),
        (
            "balanced_accuracy",
            {"tp": ([3, 1], [2, 2]), "fn": ([1, 1], [2, 0]), "tn": ([5, 0], [4, 1]), "fp": ([0, 2], [1, 1])},
        ),
    ],
)
def test_counts_against_the_same_gold_are_one_sum(name: str, counts: dict[str, Any]) -> None:
    u, v = ({key: np.array(pair[side]) for key, pair in counts.items()} for side in (0, 1))
    assert isinstance(reduce(Counts(u, v, Pairing()), StatisticSpec(name)), Additive)


def test_recall_of_misses_is_the_problem_of_recall_of_gold() -> None:
    """Margins and intervals take the sizes of the items: tp + fn where both systems have the same gold."""
    tp = [np.array([3, 1, 0]), np.array([2, 2, 1])]
    gold = np.array([4, 2, 1])
    by_gold, by_misses = (
        reduce(Counts(*columns), StatisticSpec("recall"))
        for columns in (
            [{"tp": each, "gold": gold} for each in tp],
            [{"tp": each, "fn": gold - each} for each in tp],
        )
    )
    assert isinstance(by_gold, Additive)
    assert isinstance(by_misses, Additive)
    assert by_misses.stay.tolist() == by_gold.stay.tolist()
    assert (by_misses.unit, by_misses.score_u, by_misses.score_v) == (
        by_gold.unit,
        by_gold.score_u,
        by_gold.score_v,
    )
    assert by_gold.sizes is not None
    assert by_misses.sizes is not None
    assert by_misses.sizes.tolist() == by_gold.sizes.tolist() == gold.tolist()
    assert by_misses.shiftable == by_gold.shiftable


def test_kappa_depends_on_two_sums_however_many_classes_there_are() -> None:
    generator = np.random.default_rng(2)
    gold, u, v = (generator.integers(0, 20, 400).tolist() for _ in range(3))
    test = prepare(Predictions(gold, u, v), StatisticSpec("kappa"), Options(), Budget()).test
    assert isinstance(test, JointTest)
    assert test.problem.stay.shape[1] == 4  # two of each system
    assert test.form.dimension == 2


@pytest.mark.parametrize(
    ("gold", "parameters", "code"),
    [
        (["a", "b", "c"], {}, "not_binary"),
        (["a", "b", "c"], {"positive": "x"}, "unknown_label"),
        (["a", "b", "a"], {}, "unknown_label"),
    ],
)
@pytest.mark.parametrize("name", ["g_mean", "specificity", "npv"])
def test_the_positive_class_must_be_there(
    name: str, gold: list[str], parameters: dict[str, Any], code: str
) -> None:
    with refused(code, "/statistic/positive"):
        reduce(Predictions(gold, ["a", "b", "b"], ["b", "b", "a"]), StatisticSpec(name, parameters))


# Scores of classes are scikit-learn's, and every swap is scored as scikit-learn would score it.


def predictions(gold: Any, u: Any, v: Any, pairing: Pairing | None = None) -> Predictions:
    return Predictions(gold, u, v, pairing or Pairing())


TIE_OF_CLASSES = 1e-12
CASES: list[tuple[str, dict[str, Any]]] = [
    *(
        (name, {"average": average})
        for name in ("f1", "precision", "recall")
        for average in ("micro", "macro", "weighted")
    ),
    *(
        (name, {"average": average, "labels": ["a", "c", "x"]})
        for name in ("f1", "precision", "recall")
        for average in ("micro", "macro", "weighted")
    ),
    ("mcc", {}),
    ("kappa", {}),
    ("balanced_accuracy", {}),
]


def by_scikit_learn(name: str, parameters: dict[str, Any], gold: Sequence[Any], said: Sequence[Any]) -> float:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if name == "mcc":
            return float(metrics.matthews_corrcoef(gold, said))
        if name == "kappa":
            return float(metrics.cohen_kappa_score(gold, said, replace_undefined_by=0.0))
        if name == "balanced_accuracy":
            return float(metrics.balanced_accuracy_score(gold, said))
        score = {
            "f1": metrics.f1_score,
            "precision": metrics.precision_score,
            "recall": metrics.recall_score,
        }[name]
        options = dict(parameters)
        if "positive" in options:
            options["pos_label"] = options.pop("positive")
        return float(score(gold, said, zero_division=0, **options))


def swapped_values(problem: Additive | Joint) -> np.ndarray[Any, Any]:
    """The statistic's value after every swap, in the order of itertools.product, by the problem's own function."""
    swap = -problem.stay if problem.swap is None else problem.swap
    pairs = list(zip(problem.stay, swap, strict=True))
    sums = np.array([np.sum(chosen, axis=0) for chosen in itertools.product(*pairs)])
    if isinstance(problem, Joint):
        return np.asarray(problem.function.values(list(sums.T)))
    return np.array([float(int(total) * problem.unit) for total in sums])


def extremes(problem: Additive | Joint, side: Alternative) -> list[bool]:
    swap = -problem.stay if problem.swap is None else problem.swap
    sums = np.array([np.sum(c, axis=0) for c in itertools.product(*zip(problem.stay, swap, strict=True))])
    first = sums[0]
    if isinstance(problem, Joint):
        found: list[bool] = problem.function.extreme(list(sums.T), first, side).tolist()
        return found
    exact = {"greater": sums >= first, "less": sums <= first, "two-sided": np.abs(sums) >= abs(first)}
    return list(exact[side].tolist())


labels = st.sampled_from(["a", "b", "c", "d"])


@pytest.mark.slow
@given(st.data(), st.sampled_from(CASES))
@settings(deadline=None, max_examples=120)
def test_every_swap_scores_as_scikit_learn_scores_it(
    data: st.DataObject, case: tuple[str, dict[str, Any]]
) -> None:
    name, parameters = case
    n = data.draw(st.integers(1, 5))
    gold, u, v = (data.draw(st.lists(labels, min_size=n, max_size=n)) for _ in range(3))
    if "labels" in parameters:
        assume({"a", "c"} & {*gold, *u, *v})
        # scikit-learn takes labels only when some of them is in the data of that very system.
        for said in itertools.product(*zip(u, v, strict=True)):
            assume({"a", "c"} & {*gold, *said})
    problem: Any = reduce_sums(predictions(gold, u, v), StatisticSpec(name, parameters))
    scored = cache(partial(by_scikit_learn, name, parameters, gold))  # V of a swap is U of the opposite one
    truth = [scored(tuple(first)) - scored(tuple(second)) for first, second in swaps(u, v)]
    assert float(problem.score_u) == pytest.approx(scored(tuple(u)), abs=1e-14)
    assert float(problem.score_v) == pytest.approx(scored(tuple(v)), abs=1e-14)
    assert swapped_values(problem) == pytest.approx(np.array(truth), abs=1e-13)
    for side in SIDES:
        sign = -1 if side == "less" else 1
        values = [abs(t) if side == "two-sided" else sign * t for t in truth]
        assert extremes(problem, side) == [value >= values[0] - TIE_OF_CLASSES for value in values]


@given(st.data(), st.sampled_from(["f1", "precision", "recall"]), st.sampled_from([0, 1]))
@settings(deadline=None, max_examples=60)
def test_binary_scores_are_those_of_the_positive_class(data: st.DataObject, name: str, positive: int) -> None:
    rows = st.lists(st.integers(0, 1), min_size=6, max_size=6)
    gold, u, v = [0, 1, *data.draw(rows)], [1, 0, *data.draw(rows)], [0, 1, *data.draw(rows)]
    problem = reduce_sums(predictions(gold, u, v), StatisticSpec(name, {"positive": positive}))
    truth = [by_scikit_learn(name, {"positive": positive}, gold, said) for said in (u, v)]
    assert [float(problem.score_u or 0), float(problem.score_v or 0)] == pytest.approx(truth, abs=1e-14)


def test_the_positive_class_is_one_when_not_named() -> None:
    data = predictions([1, 0, 1], [1, 1, 1], [0, 0, 1])
    assert (
        reduce_sums(data, StatisticSpec("f1")).score_u
        == reduce_sums(data, StatisticSpec("f1", {"positive": 1})).score_u
    )


def test_micro_f1_over_all_classes_is_accuracy_and_additive() -> None:
    data = predictions(["a", "b", "c"], ["a", "b", "b"], ["c", "b", "c"])
    micro = reduce_sums(data, StatisticSpec("f1", {"average": "micro"}))
    accuracy = reduce_sums(data, StatisticSpec("accuracy"))
    assert isinstance(micro, Additive)
    assert isinstance(accuracy, Additive)
    assert [x * micro.unit for x in micro.stay.tolist()] == [
        x * accuracy.unit for x in accuracy.stay.tolist()
    ]


def test_macro_recall_is_additive_because_gold_is_shared() -> None:
    data = predictions(["a", "b", "b", "c"], ["a", "b", "a", "b"], ["c", "b", "b", "c"])
    assert isinstance(
        reduce_sums(data, StatisticSpec("recall", {"average": "macro", "labels": ["a", "b", "c"]})), Additive
    )


def test_sequences_swap_as_a_whole_and_are_scored_by_token() -> None:
    gold, u, v = [["a", "b"], ["c"], []], [["a", "a"], ["c"], []], [["b", "b"], ["a"], []]
    problem = reduce_sums(predictions(gold, u, v), StatisticSpec("f1", {"average": "macro"}))
    assert len(problem.stay) == 3
    assert float(problem.score_u or 0) == pytest.approx(
        metrics.f1_score(["a", "b", "c"], ["a", "a", "c"], average="macro", zero_division=0)
    )


def test_the_items_of_a_cluster_swap_together() -> None:
    pairing = Pairing(clusters=np.array([0, 1, 0]), n_clusters=2)
    problem = reduce_sums(predictions([1, 0, 1], [1, 1, 1], [0, 0, 1], pairing), StatisticSpec("mcc"))
    assert (len(problem.stay), problem.items, problem.clusters) == (2, 3, 2)


def test_tokens_of_ragged_sequences_are_right_one_by_one() -> None:
    gold, u, v = [["a", "b", "c"], ["a"], []], [["a", "b", "b"], ["a"], []], [["a", "c", "c"], ["b"], []]
    tokens = reduce_sums(predictions(gold, u, v), StatisticSpec("token_accuracy"))
    whole = reduce_sums(predictions(gold, u, v), StatisticSpec("exact_match"))
    assert (tokens.score_u, tokens.score_v) == (Fraction(3, 4), Fraction(2, 4))
    assert tokens.stay.tolist() == [0, 1, 0]
    assert (whole.score_u, whole.score_v) == (Fraction(2, 3), Fraction(1, 3))


def test_large_samples_agree_with_scikit_learn() -> None:
    generator = np.random.default_rng(1)
    gold = generator.integers(0, 12, 5000)
    u, v = (
        np.where(generator.random(5000) < share, gold, generator.integers(0, 14, 5000))
        for share in (0.6, 0.5)
    )
    gold, u, v = gold.tolist(), u.tolist(), v.tolist()
    data = predictions(gold, u, v)
    for name, parameters in (("f1", {"average": "macro"}), ("mcc", {}), ("precision", {"average": "macro"})):
        problem = reduce_sums(data, StatisticSpec(name, parameters))
        assert isinstance(problem, Joint)
        assert float(problem.score_u or 0) == pytest.approx(
            by_scikit_learn(name, parameters, gold, u), abs=1e-13
        )
        assert float(problem.score_v or 0) == pytest.approx(
            by_scikit_learn(name, parameters, gold, v), abs=1e-13
        )


@pytest.mark.parametrize(
    ("data", "parameters", "pointer", "code"),
    [
        (predictions(["a"], ["b"], ["c"]), {}, "/statistic/average", "not_binary"),
        (predictions(["a"], ["b"], ["a"]), {}, "/statistic/positive", "unknown_label"),
        (predictions(["a"], ["b"], ["c"]), {"average": "samples"}, "/statistic/average", "unknown_average"),
        (
            predictions(["a"], ["b"], ["c"]),
            {"average": "micro", "labels": []},
            "/statistic/labels",
            "not_labels",
        ),
        (
            predictions(["a"], ["b"], ["c"]),
            {"average": "micro", "labels": ["a", "a"]},
            "/statistic/labels",
            "not_labels",
        ),
        (
            predictions(["a"], ["b"], ["c"]),
            {"average": "macro", "labels": ["x"]},
            "/statistic/labels",
            "unknown_label",
        ),
        (
            predictions(["a"], ["b"], ["c"]),
            {"average": "macro", "positive": "a"},
            "/statistic/positive",
            "unknown_parameter",
        ),
        (predictions([1], [0], [1]), {"labels": [1]}, "/statistic/labels", "unknown_parameter"),
        (predictions([1], [0, 1], [1]), {}, "/u", "length_mismatch"),
        (predictions([["a"]], [["a"]], [["a", "b"]]), {}, "/v/0", "length_mismatch"),
        (predictions([[]], [[]], [[]]), {}, "/gold", "empty"),
    ],
)
def test_invalid_tests_are_refused_at_their_place(
    data: Predictions, parameters: dict[str, Any], pointer: str, code: str
) -> None:
    with refused(code, pointer):
        reduce_sums(data, StatisticSpec("f1", parameters))
