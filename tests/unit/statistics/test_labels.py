"""Predictions against gold: what counts as right, by item and by token."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, strategies as st
from sklearn.metrics import accuracy_score

from exactperm.errors import InvalidTest
from exactperm.statistics.label_match import reduce_predictions
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec
from tests.refusals import refused_alone

tags = st.sampled_from(["N", "V", "ADJ"])
sentences = st.lists(
    st.integers(0, 6).flatmap(lambda n: st.tuples(*[st.lists(tags, min_size=n, max_size=n)] * 3)),
    min_size=1,
    max_size=10,
)
ACCURACY = StatisticSpec("accuracy")
Triples = list[tuple[list[str], list[str], list[str]]]


@given(st.lists(st.tuples(tags, tags, tags), min_size=1, max_size=30))
def test_accuracy_of_labels_is_scikit_learns(rows: list[tuple[str, str, str]]) -> None:
    gold, u, v = (list(column) for column in zip(*rows, strict=True))
    problem = reduce_predictions(Predictions(gold, u, v), ACCURACY)
    assert problem.score_u is not None
    assert problem.score_v is not None
    assert float(problem.score_u) == pytest.approx(accuracy_score(gold, u), rel=1e-15)
    assert float(problem.score_v) == pytest.approx(accuracy_score(gold, v), rel=1e-15)
    assert problem.stay.tolist() == [(a == g) - (b == g) for g, a, b in rows]
    assert problem.unit == Fraction(1, len(rows))


@pytest.mark.parametrize("name", ["accuracy", "token_accuracy"])
@given(rows=sentences)
def test_accuracy_of_sequences_is_that_of_their_tokens(name: str, rows: Triples) -> None:
    gold, u, v = (list(column) for column in zip(*rows, strict=True))
    tokens = sum(map(len, gold))
    if tokens == 0:
        with pytest.raises(InvalidTest):
            reduce_predictions(Predictions(gold, u, v), StatisticSpec(name))
        return
    problem = reduce_predictions(Predictions(gold, u, v), StatisticSpec(name))
    flat = [[tag for item in column for tag in item] for column in (gold, u, v)]
    assert problem.score_u == Fraction(sum(g == s for g, s in zip(flat[0], flat[1], strict=True)), tokens)
    assert problem.score_v == Fraction(sum(g == s for g, s in zip(flat[0], flat[2], strict=True)), tokens)
    for index, (truth, one, other) in enumerate(rows):
        right = [sum(g == s for g, s in zip(truth, said, strict=True)) for said in (one, other)]
        assert problem.stay[index] == right[0] - right[1]
    assert (problem.items, problem.unit) == (len(rows), Fraction(1, tokens))


@given(sentences)
def test_exact_match_asks_for_the_whole_sequence(rows: Triples) -> None:
    gold, u, v = (list(column) for column in zip(*rows, strict=True))
    problem = reduce_predictions(Predictions(gold, u, v), StatisticSpec("exact_match"))
    assert problem.stay.tolist() == [int(a == g) - int(b == g) for g, a, b in rows]
    assert problem.unit == Fraction(1, len(rows))


def test_documents_are_clusters_of_sentences() -> None:
    gold = [("N", "V"), ("N",), ("V", "V")]
    data = Predictions(gold, gold, [("N", "N"), ("V",), ("V", "N")], Pairing(np.array([0, 1, 0]), 2))
    problem = reduce_predictions(data, ACCURACY)
    assert problem.stay.tolist() == [2, 1]
    assert (problem.items, problem.clusters) == (3, 2)


@pytest.mark.parametrize(
    ("gold", "u", "v", "pointer"),
    [
        ([], [], [], "/gold"),
        (["N"], ["N", "V"], ["N"], "/u"),
        (["N"], ["N"], [], "/v"),
        ([["N", "V"]], [["N"]], [["N", "V"]], "/u/0"),
        ([["N"], ["N", "V"]], [["N"], ["N", "V"]], [["N"], ["N"]], "/v/1"),
        ([[], []], [[], []], [[], []], "/gold"),
    ],
)
def test_predictions_that_do_not_line_up_are_refused_where_they_stand(
    gold: list[object], u: list[object], v: list[object], pointer: str
) -> None:
    with refused_alone(None, pointer):
        reduce_predictions(Predictions(gold, u, v), ACCURACY)
