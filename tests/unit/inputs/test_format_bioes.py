"""BIOES and BILOU tags in columns: flair's, spaCy's and seqeval's own; and which column of tags is meant."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import BILOU, IOBES

from exactperm.statistics.paired import Predictions
from tests.unit.statistics.of_sums import reduce

from .reading import noted, read_files, refusal, refuses, refuses_alone

# The predictions of a tagger that forgets an ending, and one that is right.
GOLD = "George S-PER\nWashington E-PER\n\nGeorge B-PER\nWashington E-PER\nvisited O\nNew B-LOC\nYork I-LOC\nCity E-LOC\n. O\n"
U = GOLD.replace("City E-LOC", "City I-LOC")
V = GOLD.replace("George S-PER", "George O")


def bilou(text: str) -> str:
    return text.replace(" E-", " L-").replace(" S-", " U-")


def tags(text: str) -> list[list[str]]:
    return [[line.split()[1] for line in block.splitlines()] for block in text.strip().split("\n\n")]


@pytest.mark.parametrize("mode", ["lenient", "strict"])
@pytest.mark.parametrize(("written", "scheme"), [(str, IOBES), (bilou, BILOU)])
def test_scores_are_seqeval_s(mode: str, written: Callable[[str], str], scheme: type) -> None:
    gold, u, v = map(written, (GOLD, U, V))
    for format_ in ("conll", "auto"):
        reading = read_files(format_, {"gold": gold, "u": u, "v": v}, ner_mode=mode)
        problem = reduce(reading.data, reading.default_statistic)
        if mode == "strict":
            assert reading.default_statistic.parameters == {"scheme": scheme.__name__}
            wanted = [f1_score(tags(gold), tags(side), mode="strict", scheme=scheme) for side in (u, v)]
        else:
            wanted = [f1_score(tags(GOLD), tags(side)) for side in (U, V)]
        assert [float(problem.score_u or 0), float(problem.score_v or 0)] == pytest.approx(wanted)
        assert noted(reading, "of entities' last or only tokens")


def test_one_side_may_be_bio_and_the_other_bioes() -> None:
    bio = GOLD.replace(" E-", " I-").replace(" S-", " B-")
    reading = read_files("conll", {"gold": GOLD, "u": bio, "v": bilou(GOLD)})
    assert isinstance(reading.data, Predictions)
    problem = reduce(reading.data, reading.default_statistic)
    assert problem.score_v == 1


def test_what_is_no_tag_is_named_with_file_and_line() -> None:
    files = {"gold": GOLD, "u": U.replace("York I-LOC", "York PLACE"), "v": V}
    error = refusal("conll", files, tag_column=2)
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [("/files/u/line/8/2", "not_a_tag")]
    assert error.detail.startswith('u (u.txt), line 8: "PLACE" is not a tag')
    refuses_alone(
        None, "/files/gold/line/1/2", "conll", {"gold": GOLD, "u": U, "v": V}, "scheme IOB2", scheme="IOB2"
    )


def test_other_statistics_take_any_tags() -> None:
    files = {
        role: text.replace("PER", "x").replace("B-", "?")
        for role, text in (("gold", GOLD), ("u", U), ("v", V))
    }
    reading = read_files("conll", files, tag_column=2, statistic="token_accuracy")
    assert isinstance(reading.data, Predictions)
    assert reading.data.gold[0] == ["S-x", "E-x"]


def test_several_columns_that_may_be_gold_are_a_choice() -> None:
    two_layers = "Ann B-PER B-ORG B-PER\nran O O O\n"
    refuses(
        "choose_tag_column",
        None,
        "conll",
        {"u": two_layers, "v": two_layers},
        "`tag_column_gold` and `tag_column_u`",
    )
    chosen = read_files(
        "conll", {"u": two_layers, "v": two_layers}, tag_column_gold=2, tag_column_u=4, tag_column_v=4
    )
    assert isinstance(chosen.data, Predictions)
    assert (chosen.data.gold, chosen.data.u) == ([["B-PER", "O"]], [["B-PER", "O"]])
    chunks = "Ann NNP B-NP B-PER B-PER\nran VBD B-VP O O\n"
    twice = read_files("conll", {"u": chunks, "v": chunks}).data
    assert isinstance(twice, Predictions)
    assert twice.gold == [["B-PER", "O"]]
