"""Scores of classes are scikit-learn's, and every swap is scored as scikit-learn would score it."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Sequence
from fractions import Fraction
from functools import cache, partial
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given, settings, strategies as st
from sklearn import metrics

from exactperm.engine.probability import Alternative
from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec
from tests.refusals import refused
from tests.unit.statistics.of_sums import reduce


def predictions(gold: Any, u: Any, v: Any, pairing: Pairing | None = None) -> Predictions:
    return Predictions(gold, u, v, pairing or Pairing())


SIDES: tuple[Alternative, ...] = ("greater", "less", "two-sided")
TIE = 1e-12
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
    problem = reduce(predictions(gold, u, v), StatisticSpec(name, parameters))
    truth = []
    scored = cache(partial(by_scikit_learn, name, parameters, gold))  # V of a swap is U of the opposite one
    for swaps in itertools.product([False, True], repeat=n):
        sides = [(b, a) if swapped else (a, b) for a, b, swapped in zip(u, v, swaps, strict=True)]
        first, second = zip(*sides, strict=True)
        truth.append(scored(first) - scored(second))
    assert problem.score_u is not None
    assert problem.score_v is not None
    assert float(problem.score_u) == pytest.approx(scored(tuple(u)), abs=1e-14)
    assert float(problem.score_v) == pytest.approx(scored(tuple(v)), abs=1e-14)
    assert swapped_values(problem) == pytest.approx(np.array(truth), abs=1e-13)
    for side in SIDES:
        sign = -1 if side == "less" else 1
        values = [abs(t) if side == "two-sided" else sign * t for t in truth]
        assert extremes(problem, side) == [value >= values[0] - TIE for value in values]


@given(st.data(), st.sampled_from(["f1", "precision", "recall"]), st.sampled_from([0, 1]))
@settings(deadline=None, max_examples=60)
def test_binary_scores_are_those_of_the_positive_class(data: st.DataObject, name: str, positive: int) -> None:
    rows = st.lists(st.integers(0, 1), min_size=6, max_size=6)
    gold, u, v = [0, 1, *data.draw(rows)], [1, 0, *data.draw(rows)], [0, 1, *data.draw(rows)]
    problem = reduce(predictions(gold, u, v), StatisticSpec(name, {"positive": positive}))
    truth = [by_scikit_learn(name, {"positive": positive}, gold, said) for said in (u, v)]
    assert [float(problem.score_u or 0), float(problem.score_v or 0)] == pytest.approx(truth, abs=1e-14)


def test_the_positive_class_is_one_when_not_named() -> None:
    data = predictions([1, 0, 1], [1, 1, 1], [0, 0, 1])
    assert (
        reduce(data, StatisticSpec("f1")).score_u
        == reduce(data, StatisticSpec("f1", {"positive": 1})).score_u
    )


def test_micro_f1_over_all_classes_is_accuracy_and_additive() -> None:
    data = predictions(["a", "b", "c"], ["a", "b", "b"], ["c", "b", "c"])
    micro = reduce(data, StatisticSpec("f1", {"average": "micro"}))
    accuracy = reduce(data, StatisticSpec("accuracy"))
    assert isinstance(micro, Additive)
    assert isinstance(accuracy, Additive)
    assert [x * micro.unit for x in micro.stay.tolist()] == [
        x * accuracy.unit for x in accuracy.stay.tolist()
    ]


def test_macro_recall_is_additive_because_gold_is_shared() -> None:
    data = predictions(["a", "b", "b", "c"], ["a", "b", "a", "b"], ["c", "b", "b", "c"])
    assert isinstance(
        reduce(data, StatisticSpec("recall", {"average": "macro", "labels": ["a", "b", "c"]})), Additive
    )


def test_sequences_swap_as_a_whole_and_are_scored_by_token() -> None:
    gold, u, v = [["a", "b"], ["c"], []], [["a", "a"], ["c"], []], [["b", "b"], ["a"], []]
    problem = reduce(predictions(gold, u, v), StatisticSpec("f1", {"average": "macro"}))
    assert len(problem.stay) == 3
    assert float(problem.score_u or 0) == pytest.approx(
        metrics.f1_score(["a", "b", "c"], ["a", "a", "c"], average="macro", zero_division=0)
    )


def test_the_items_of_a_cluster_swap_together() -> None:
    pairing = Pairing(clusters=np.array([0, 1, 0]), n_clusters=2)
    problem = reduce(predictions([1, 0, 1], [1, 1, 1], [0, 0, 1], pairing), StatisticSpec("mcc"))
    assert (len(problem.stay), problem.items, problem.clusters) == (2, 3, 2)


def test_tokens_of_ragged_sequences_are_right_one_by_one() -> None:
    gold, u, v = [["a", "b", "c"], ["a"], []], [["a", "b", "b"], ["a"], []], [["a", "c", "c"], ["b"], []]
    tokens = reduce(predictions(gold, u, v), StatisticSpec("token_accuracy"))
    whole = reduce(predictions(gold, u, v), StatisticSpec("exact_match"))
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
        problem = reduce(data, StatisticSpec(name, parameters))
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
def test_what_makes_no_test_is_refused_where_it_is_wrong(
    data: Predictions, parameters: dict[str, Any], pointer: str, code: str
) -> None:
    with refused(code, pointer):
        reduce(data, StatisticSpec("f1", parameters))
