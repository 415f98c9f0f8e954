"""Entities are seqeval's, in its lenient and its strict mode, and the counts of real systems are the published ones."""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterator
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from seqeval.metrics import f1_score, precision_score, recall_score
from seqeval.metrics.sequence_labeling import get_entities
from seqeval.scheme import BILOU, IOB2, IOBES, Entities

from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec
from exactperm.statistics.spans import entities
from tests.refusals import refused, refused_alone
from tests.unit.statistics.of_sums import reduce


def predictions(gold: Any, u: Any, v: Any, pairing: Pairing | None = None) -> Predictions:
    return Predictions(gold, u, v, pairing or Pairing())


PACK = Path(__file__).parents[4] / "shared" / "data"
TAGS = ["O", "B-X", "I-X", "B-Y", "I-Y", "B", "I", "B-A-B", "I-A-B"]
sequences = st.lists(st.sampled_from(TAGS), max_size=12)


@given(sequences)
@settings(deadline=None, max_examples=150)
def test_lenient_entities_are_seqeval_s(tags: list[str]) -> None:
    assert [(kind, start, end) for start, end, kind in entities(tags, "BIO")] == get_entities(list(tags))


@given(sequences)
@settings(deadline=None, max_examples=150)
def test_strict_entities_are_seqeval_s(tags: list[str]) -> None:
    strict = [(e.start, e.end - 1, e.tag) for e in Entities([tags], IOB2).entities[0]]
    assert entities(tags, "IOB2") == strict


def tagged(letters: str) -> st.SearchStrategy[list[str]]:
    tags = ["O", *(f"{letter}-{kind}" for letter in letters for kind in "XY"), *letters]
    return st.lists(st.sampled_from(tags), max_size=12)


@given(tagged("BIES"))
@settings(deadline=None, max_examples=150)
def test_lenient_entities_of_bioes_are_seqeval_s(tags: list[str]) -> None:
    assert [(kind, start, end) for start, end, kind in entities(tags, "BIO")] == get_entities(list(tags))


@given(tagged("BILU"))
@settings(deadline=None, max_examples=200)
def test_bilou_is_bioes_with_other_letters(tags: list[str]) -> None:
    bioes = [{"L": "E", "U": "S"}.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    assert entities(tags, "BIO") == entities(bioes, "BIO")
    assert entities(tags, "BILOU") == entities(bioes, "IOBES")


@pytest.mark.parametrize(("scheme", "known", "letters"), [("IOBES", IOBES, "BIES"), ("BILOU", BILOU, "BILU")])
def test_strict_entities_of_bioes_and_bilou_are_seqeval_s(scheme: Any, known: Any, letters: str) -> None:
    @given(tagged(letters))
    @settings(deadline=None, max_examples=150)
    def check(tags: list[str]) -> None:
        strict = [(e.start, e.end - 1, e.tag) for e in Entities([tags], known).entities[0]]
        assert entities(tags, scheme) == strict

    check()


@pytest.mark.parametrize(
    ("scheme", "tag"),
    [("IOB2", "S-X"), ("IOBES", "U-X"), ("BILOU", "E-X"), ("BIO", "X-B"), ("BIO", "BX"), ("BIO", "")],
)
def test_a_tag_of_another_scheme_is_refused(scheme: str, tag: str) -> None:
    with refused_alone("not_a_tag", "/u/0/0"):
        reduce(predictions([["O"]], [[tag]], [["O"]]), StatisticSpec("span_f1", {"scheme": scheme}))


@given(st.lists(st.integers(0, 6), min_size=1, max_size=6), st.data(), st.sampled_from(["BIO", "IOB2"]))
@settings(deadline=None, max_examples=100)
def test_scores_are_seqeval_s(lengths: list[int], data: st.DataObject, scheme: str) -> None:
    tag = st.sampled_from(TAGS[:5])
    gold, u, v = (
        [data.draw(st.lists(tag, min_size=length, max_size=length)) for length in lengths] for _ in range(3)
    )
    options = {"mode": "strict", "scheme": IOB2} if scheme == "IOB2" else {}
    for name, score in (
        ("span_f1", f1_score),
        ("span_precision", precision_score),
        ("span_recall", recall_score),
    ):
        problem = reduce(predictions(gold, u, v), StatisticSpec(name, {"scheme": scheme}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            truth = [score(gold, said, zero_division=0, **options) for said in (u, v)]
        assert [float(problem.score_u or 0), float(problem.score_v or 0)] == pytest.approx(truth, abs=1e-14)


def test_labels_restrict_the_types_that_count() -> None:
    gold = [["B-X", "O", "B-Y"]]
    problem = reduce(
        predictions(gold, [["B-X", "O", "O"]], [["O", "O", "B-Y"]]),
        StatisticSpec("span_f1", {"labels": ["X"]}),
    )
    assert (problem.score_u, problem.score_v) == (1, 0)


def test_span_recall_is_additive_because_gold_is_shared() -> None:
    data = predictions([["B-X", "O"]], [["B-X", "B-X"]], [["O", "O"]])
    assert isinstance(reduce(data, StatisticSpec("span_recall")), Additive)
    assert isinstance(reduce(data, StatisticSpec("span_f1")), Joint)


@pytest.mark.parametrize(
    ("data", "parameters", "pointer", "code"),
    [
        (predictions([["O"]], [["X"]], [["O"]]), {}, "/u/0/0", "not_a_tag"),
        (predictions([["O"]], [["O"]], [["X-X"]]), {}, "/v/0/0", "not_a_tag"),
        (predictions([["O"]], [["O"]], [["O"]]), {"labels": "PER"}, "/statistic/labels", "not_labels"),
        (predictions(["O"], ["O"], ["O"]), {}, "/gold/0", "not_a_sequence"),
        (predictions([["O"]], [["O", "O"]], [["O"]]), {}, "/u/0", "length_mismatch"),
        (predictions([["O"]], [["O"]], [["O"]]), {"scheme": "IOE2"}, "/statistic/scheme", "unknown_scheme"),
    ],
)
def test_what_makes_no_test_is_refused_where_it_is_wrong(
    data: Predictions, parameters: dict[str, Any], pointer: str, code: str
) -> None:
    with refused(code, pointer):
        reduce(data, StatisticSpec("span_f1", parameters))


def columns(path: Path) -> tuple[list[list[str]], list[list[str]]]:
    """(gold, predicted) tags of each sentence of a token-gold-pred file."""

    def sentences() -> Iterator[list[list[str]]]:
        for block in path.read_text(encoding="utf-8").split("\n\n"):
            rows = [line.split(" ") for line in block.split("\n") if line]
            if rows:
                yield rows

    found = list(sentences())
    return [[row[-2] for row in rows] for rows in found], [[row[-1] for row in rows] for rows in found]


REAL = [
    ("ner_wnut17.json", "wnut17/wnut17-test.{}.token-gold-pred.conll", ("uh_ritual", "spinningbytes")),
    (
        "ner_uner_en_ewt.json",
        "uner_en_ewt/uner_en_ewt-test.{}.token-gold-pred.conll",
        ("crf_small", "crf_large"),
    ),
]


@pytest.mark.pack
@pytest.mark.skipif(not PACK.is_dir(), reason="the evaluation data is not beside this checkout")
@pytest.mark.parametrize(("expected", "files", "systems"), REAL, ids=["wnut17", "uner"])
def test_real_taggers_have_their_published_f1(expected: str, files: str, systems: tuple[str, str]) -> None:
    truth = json.loads((PACK / "expected" / expected).read_text())["f1_tests"][0]
    gold, u = columns(PACK / "ner" / files.format(systems[0]))
    same, v = columns(PACK / "ner" / files.format(systems[1]))
    assert gold == same
    problem = reduce(predictions(gold, u, v), StatisticSpec("span_f1"))
    assert isinstance(problem, Joint)
    assert problem.stay.sum(axis=0).tolist() == [
        truth["tp_a"], truth["pred_a"], truth["gold"], truth["tp_b"], truth["pred_b"], truth["gold"],
    ]  # fmt: skip
    assert (problem.score_u, problem.score_v) == (
        Fraction(truth["f1_a"]["fraction"]),
        Fraction(truth["f1_b"]["fraction"]),
    )
    assert int((problem.stay != problem.swap).any(axis=1).sum()) == truth["n_nonzero_differences"]


@pytest.mark.pack
@pytest.mark.skipif(not PACK.is_dir(), reason="the evaluation data is not beside this checkout")
def test_documents_are_clusters_of_their_sentences() -> None:
    gold, u = columns(PACK / "ner" / REAL[1][1].format("crf_small"))
    _, v = columns(PACK / "ner" / REAL[1][1].format("crf_large"))
    lines = (PACK / "ner/uner_en_ewt/uner_en_ewt-test.sentence-documents.tsv").read_text().splitlines()[1:]
    documents = [line.split("\t")[1] for line in lines]
    codes = {name: code for code, name in enumerate(dict.fromkeys(documents))}
    pairing = Pairing(np.array([codes[name] for name in documents]), len(codes))
    problem = reduce(predictions(gold, u, v, pairing), StatisticSpec("span_f1"))
    truth = json.loads((PACK / "expected" / REAL[1][0]).read_text())["f1_tests"][1]
    assert len(problem.stay) == truth["n_units"]
    assert problem.swap is not None
    assert int((problem.stay != problem.swap).any(axis=1).sum()) == truth["n_nonzero_differences"]
