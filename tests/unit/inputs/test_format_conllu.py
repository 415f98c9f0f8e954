from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import conllu
import numpy as np
import pytest

from exactperm.inputs.formats.conll import METRICS
from exactperm.statistics.paired import Counts, Scores

from .reading import EXCERPTS, read_files, refusal, refuses, refuses_alone

Files = Mapping[str, Path]

COLUMN = {"upos": "upos", "xpos": "xpos", "lemma": "lemma", "uas": "head"}


@pytest.fixture
def taggers() -> dict[str, Path]:
    names = {"gold": "gold", "u": "perceptron", "v": "crf"}
    return {role: EXCERPTS / "conllu" / f"{name}.conllu" for role, name in names.items()}


def words(path: Path) -> list[list[conllu.Token]]:
    """The words of every sentence by the conllu package, which reads what our reader reads."""
    return [[t for t in sentence if isinstance(t["id"], int)] for sentence in conllu.parse(path.read_text())]


def right(gold: conllu.Token, system: conllu.Token, metric: str) -> bool:
    if metric in COLUMN:
        return bool(gold[COLUMN[metric]] == system[COLUMN[metric]])
    cut = (lambda label: label.split(":")[0]) if metric == "las" else str
    return bool(gold["head"] == system["head"] and cut(gold["deprel"]) == cut(system["deprel"]))


@pytest.mark.parametrize("metric", ["upos", "uas", "las", "las_full"])
def test_counts_per_sentence_are_those_of_the_conllu_package(metric: str, taggers: Files) -> None:
    data = read_files("conllu", taggers, metric=metric).data
    assert isinstance(data, Counts)
    gold = words(taggers["gold"])
    for role, counts in (("u", data.u), ("v", data.v)):
        pairs = zip(gold, words(taggers[role]), strict=True)
        wanted = [sum(right(a, b, metric) for a, b in zip(s, t, strict=True)) for s, t in pairs]
        assert counts["correct"].tolist() == wanted
        assert counts["total"].tolist() == [len(sentence) for sentence in gold]


def test_las_compares_the_universal_relation_and_las_full_all_of_it(taggers: Files) -> None:
    text = taggers["gold"].read_text()
    assert (
        "nsubj:pass" in text
        or "obl:tmod" in text
        or ":" in "".join(w["deprel"] for s in words(taggers["gold"]) for w in s)
    )
    stripped = "\n".join(
        "\t".join(
            field.partition(":")[0] if place == 7 else field for place, field in enumerate(line.split("\t"))
        )
        for line in text.split("\n")
    )
    files = {"gold": text, "u": stripped, "v": text}
    las, full = (read_files("conllu", files, metric=metric).data for metric in ("las", "las_full"))
    assert isinstance(las, Counts)
    assert isinstance(full, Counts)
    assert las.u["correct"].sum() == las.u["total"].sum()
    assert full.u["correct"].sum() < full.v["correct"].sum() == full.u["total"].sum()


def test_multiword_tokens_and_empty_nodes_are_skipped_and_counted(taggers: Files) -> None:
    reading = read_files("conllu", taggers, metric="upos")
    text = taggers["gold"].read_text().split("\n")
    multiword = sum("-" in line.split("\t")[0] for line in text if "\t" in line)
    assert multiword > 0
    assert any(
        f"gold.conllu); skipped {multiword} multiword tokens and 1 empty nodes" in n for n in reading.notes
    )
    assert any("perceptron.conllu)" in note and "0 empty nodes" in note for note in reading.notes)


def test_documents_are_clusters_of_sentences_and_of_words(taggers: Files) -> None:
    by_sentence = read_files("conllu", taggers, metric="upos", clusters="document").data
    by_word = read_files("conllu", taggers, metric="upos", clusters="document", items="word").data
    assert isinstance(by_sentence, Counts)
    assert isinstance(by_word, Counts)
    assert by_sentence.pairing.n_clusters == by_word.pairing.n_clusters == 3
    for system in ("u", "v"):
        assert document_sums(by_sentence, system) == document_sums(by_word, system)


def document_sums(data: Counts, system: str) -> list[float]:
    assert data.pairing.clusters is not None
    sums: list[float] = np.bincount(data.pairing.clusters, weights=getattr(data, system)["correct"]).tolist()
    return sums


def test_words_can_be_items_and_sentences_their_clusters(taggers: Files) -> None:
    data = read_files("conllu", taggers, metric="las", items="word", clusters="sentence").data
    assert isinstance(data, Counts)
    assert len(data.u["correct"]) == data.u["total"].sum()
    assert data.pairing.n_clusters == len(words(taggers["gold"]))


def test_whole_sentences_can_be_scored(taggers: Files) -> None:
    reading = read_files("conllu", taggers, statistic="upos_sentence")
    counts = read_files("conllu", taggers, metric="upos").data
    assert isinstance(reading.data, Scores)
    assert isinstance(counts, Counts)
    assert reading.statistic_read
    assert isinstance(reading.data.u, np.ndarray)
    assert reading.data.u.tolist() == (counts.u["correct"] == counts.u["total"]).tolist()
    refuses(None, "/options/items", "conllu", taggers, metric="upos_sentence", items="word")


def test_the_statistic_may_name_the_metric(taggers: Files) -> None:
    reading = read_files("conllu", taggers, statistic="upos")
    assert reading.statistic_read
    assert reading.default_statistic.name == "accuracy"
    error = refusal("conllu", taggers)
    assert error.flaws[0].code == "choose_metric"
    assert error.flaws[0].pointer == "/options/statistic"
    assert error.detail.startswith("Choose the statistic (`statistic`); there are: ")
    assert all(f'"{metric}"' in error.detail for metric in METRICS)
    wrong = refusal("conllu", taggers, metric="lass")
    assert wrong.flaws[0].pointer == "/options/metric"
    assert wrong.detail.startswith("Choose the metric (`metric`); ")


def test_a_column_that_was_never_filled_in_is_refused(taggers: Files) -> None:
    refuses("not_annotated", None, "conllu", taggers, metric="lemma")


def test_tokens_that_differ_are_named_by_line(taggers: Files) -> None:
    lines = taggers["v"].read_text().split("\n")
    place = next(n for n, line in enumerate(lines) if line.startswith("2\t"))
    fields = lines[place].split("\t")
    changed = [*lines[:place], "\t".join(["2", "unlike", *fields[2:]]), *lines[place + 1 :]]
    refuses_alone(
        "token_mismatch",
        f"/files/v/line/{place + 1}/FORM",
        "conllu",
        {**taggers, "v": "\n".join(changed)},
        '"unlike"',
        f'"{fields[1]}"',
        metric="upos",
    )


def test_sentences_that_are_missing_or_in_another_order_are_named(taggers: Files) -> None:
    blocks = taggers["v"].read_text().split("\n\n")
    fewer = "\n\n".join([*blocks[:-2], ""])
    refuses("length_mismatch", None, "conllu", {**taggers, "v": fewer}, metric="upos")
    turned = "\n\n".join([blocks[1], blocks[0], *blocks[2:]])
    refuses("sentence_mismatch", None, "conllu", {**taggers, "v": turned}, metric="upos")


WORD = "{}\tw\t_\tX\t_\t_\t0\troot\t_\t_\n"


@pytest.mark.parametrize(
    ("bad", "pointer", "code"),
    [
        ("2\tw\t_\tX\n", "/files/u/line/2", "wrong_field_count"),
        ("2 w _ X _ _ 0 root _ _\n", "/files/u/line/2", "wrong_field_count"),
        (WORD.format(3), "/files/u/line/2/ID", "wrong_word_id"),
        (WORD.format("x"), "/files/u/line/2/ID", "wrong_word_id"),
        ("", "/files/u/line/1", "length_mismatch"),
    ],
    ids=["short", "blanks", "gap", "no-id", "shorter"],
)
def test_a_bad_line_is_named(bad: str, pointer: str, code: str) -> None:
    good = WORD.format(1) + WORD.format(2) + "\n"
    refuses_alone(
        code, pointer, "conllu", {"gold": good, "u": WORD.format(1) + bad + "\n", "v": good}, metric="upos"
    )


def test_windows_lines_and_a_last_line_without_an_end_are_read() -> None:
    text = (WORD.format(1) + WORD.format(2)).rstrip("\n")
    data = read_files("conllu", {"gold": text.replace("\n", "\r\n"), "u": text, "v": text}, metric="uas").data
    assert isinstance(data, Counts)
    assert data.u["correct"].tolist() == [2]


def test_documents_that_are_not_marked_cannot_be_clusters() -> None:
    text = WORD.format(1) + "\n# newdoc\n" + WORD.format(1) + "\n"
    files = dict.fromkeys(("gold", "u", "v"), text)
    refuses("no_documents", None, "conllu", files, metric="upos", clusters="document")


@pytest.mark.parametrize("metric", ["upos", "xpos", "lemma", "las", "las_full"])
def test_labels_of_another_set_are_no_score_of_nought(metric: str) -> None:
    """A LAS of 0 it was where DEPREL was never filled in, and a UPOS of 0 where tags were in small letters."""
    gold = ["1", "Hi", "hi", "INTJ", "UH", "_", "0", "root:x", "_", "_"]
    column = {"upos": 3, "xpos": 4, "lemma": 2}.get(metric, 7)
    files = {"gold": "\t".join(gold) + "\n\n"} | {"u": "\t".join(gold) + "\n\n"}
    for value, code in (("_", "not_annotated"), ("other", "labels_never_match")):
        v = "\t".join([*gold[:column], value, *gold[column + 1 :]]) + "\n\n"
        error = refusal("conllu", {**files, "v": v}, metric=metric)
        assert (error.flaws[0].pointer.rpartition("/")[0], error.flaws[0].code) == ("/files/v/line/1", code)
    subtype = "\t".join([*gold[:7], "root:y", *gold[8:]]) + "\n\n"
    if metric == "las":
        read_files("conllu", {**files, "v": subtype}, metric=metric)
