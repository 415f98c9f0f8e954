"""Tags in columns: CoNLL, BIOES and BILOU, and CoNLL-U."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from typing import Any

import conllu
import numpy as np
import pytest
from seqeval.metrics import f1_score
from seqeval.scheme import BILOU, IOBES

from exactperm.inputs.formats.conll import METRICS
from exactperm.inputs.reader import Reading
from exactperm.statistics.paired import Counts, Predictions, Scores
from tests.unit.statistics.of_sums import reduce

from .reading import EXCERPTS, noted, read_files, refusal, refuses, refuses_alone

Files = Mapping[str, Path]


def predictions(reading: Reading) -> Predictions:
    assert isinstance(reading.data, Predictions)
    return reading.data


def tags(path: Path, column: int) -> list[list[str]]:
    """One column, by splitting only at tabs or blanks and empty lines."""
    text = path.read_text().replace("\r\n", "\n")
    sentences = [block for block in text.split("\n\n") if block.strip()]
    lines = [
        [line for line in block.split("\n") if line and not line.startswith("# ")] for block in sentences
    ]
    return [[line.split("\t" if "\t" in line else " ")[column] for line in block] for block in lines]


@pytest.fixture
def wnut() -> dict[str, Path]:
    names = {"gold": "gold.annotated", "u": "uh_ritual", "v": "spinningbytes.txt"}
    return {role: EXCERPTS / "wnut17" / name for role, name in names.items()}


@pytest.fixture
def uner() -> dict[str, Path]:
    names = {"gold": "gold.iob2", "u": "crf_small.pred.tsv", "v": "crf_large.pred.tsv"}
    return {role: EXCERPTS / "uner" / name for role, name in names.items()}


def test_gold_with_lf_and_submissions_with_crlf(wnut: Files) -> None:
    reading = read_files("conll", wnut)
    data = predictions(reading)
    assert (data.gold, data.u, data.v) == tuple(tags(wnut[role], 1) for role in ("gold", "u", "v"))
    assert reading.default_statistic.name == "span_f1"
    assert reading.default_statistic.parameters == {"scheme": "BIO"}


def test_a_token_that_is_a_hash_is_not_a_comment(wnut: Files) -> None:
    assert "\n#\tO" in wnut["gold"].read_text()
    n = sum(line.strip() != "" for line in wnut["gold"].read_text().split("\n"))
    assert noted(read_files("conll", wnut), f" {n} tokens")
    text = "# O O\n# text = a b\nB B-X B-X\n"
    assert predictions(read_files("conll", {"u": text, "v": text})).gold == [["O", "B-X"]]


def test_stray_inside_tags_are_kept_as_they_are(wnut: Files) -> None:
    text = wnut["v"].read_bytes()
    assert b"\tO\r\n" in text
    data = predictions(read_files("conll", wnut))
    strays = [(before, tag) for sentence in tags(wnut["v"], 1) for before, tag in pairwise(["O", *sentence])]
    assert any(before == "O" and tag.startswith("I-") for before, tag in strays)
    assert data.v == tags(wnut["v"], 1)


def test_an_index_column_before_and_annotators_after_are_understood(uner: Files) -> None:
    reading = read_files("conll", uner)
    assert predictions(reading).gold == tags(uner["gold"], 2)
    assert noted(reading, "the tags are column 3 of 5")


def test_columns_can_be_chosen() -> None:
    text = "B-X\tB-PER\tAnn\tI-ORG\n"
    files = dict.fromkeys(("gold", "u", "v"), text)
    refuses("choose_tag_column", "/files/gold", "conll", files, '"2 (B-PER)", "4 (I-ORG)"')
    assert predictions(read_files("conll", files, tag_column=4)).gold == [["I-ORG"]]
    assert predictions(read_files("conll", files, token_column=3, tag_column=2)).gold == [["B-PER"]]
    refuses("wrong_field_count", None, "conll", files, tag_column=5)


def test_documents_are_clusters_from_marks_or_from_a_table(uner: Files) -> None:
    marked: Any = predictions(read_files("conll", uner, clusters="document"))
    folder = EXCERPTS / "uner"
    files = {
        "u": folder / "crf_small.token-gold-pred.conll",
        "v": folder / "crf_large.token-gold-pred.conll",
        "documents": folder / "documents.tsv",
    }
    tabled: Any = predictions(read_files("conll", files, clusters="document"))
    assert (marked.gold, marked.u, marked.v) == (tabled.gold, tabled.u, tabled.v)
    assert marked.pairing.clusters.tolist() == tabled.pairing.clusters.tolist()
    rows = folder.joinpath("documents.tsv").read_text().splitlines()[1:]
    assert marked.pairing.n_clusters == tabled.pairing.n_clusters == len({row.split("\t")[1] for row in rows})


def test_docstart_lines_open_documents_and_are_not_tokens() -> None:
    text = "-DOCSTART- -X- O O\n\nAnn NNP B-PER B-PER\n\nhi UH O O\n\n-DOCSTART- -X- O O\n\nBob NNP B-PER O\n"
    data: Any = predictions(read_files("conll", {"u": text, "v": text}, clusters="document"))
    assert data.gold == [["B-PER"], ["O"], ["B-PER"]]
    assert data.pairing.clusters.tolist() == [0, 0, 1]


def test_one_file_of_gold_and_both_predictions() -> None:
    data = predictions(read_files("conll", {"file": "Ann\tB-PER\tO\tB-PER\nLee\tI-PER\tB-PER\tI-PER\n"}))
    assert (data.gold, data.u, data.v) == ([["B-PER", "I-PER"]], [["O", "B-PER"]], [["B-PER", "I-PER"]])


def test_strict_mode_is_scheme_iob2(wnut: Files) -> None:
    for options in ({"ner_mode": "strict"}, {"scheme": "IOB2"}):
        assert read_files("conll", wnut, **options).default_statistic.parameters == {"scheme": "IOB2"}


@pytest.mark.parametrize(
    ("u", "pointer", "code"),
    [
        ("Ann B-PER\nLi O\n\nhi O\n", "/files/u/line/2/1", "token_mismatch"),
        ("Ann B-PER\n\nhi O\n", "/files/u/line/1", "length_mismatch"),
        ("Ann B-PER\nLee O\n", "/files/u", "length_mismatch"),
        ("Ann B-PER\nLee\n\nhi O\n", "/files/u/line/2", "wrong_field_count"),
        ("Ann B-PER\nLee PER\n\nhi O\n", "/files/u/line/2/2", "no_tags"),
        ("\n\n", "/files/u", "no_items"),
    ],
)
def test_differences_from_gold_are_named_by_line(u: str, pointer: str, code: str) -> None:
    gold = "Ann B-PER\nLee I-PER\n\nhi O\n"
    refuses_alone(code, pointer, "conll", {"gold": gold, "u": u, "v": gold})


def test_gold_columns_that_differ_between_two_files_are_refused() -> None:
    refuses_alone("tag_mismatch", "/files/v/line/1/2", "conll", {"u": "Ann B-PER O\n", "v": "Ann O O\n"})


def test_documents_that_are_not_there_are_refused(wnut: Files) -> None:
    refuses("no_documents", None, "conll", wnut, clusters="document")
    table = "sentence\tdocument\n1\ta\n"
    refuses("length_mismatch", "/files/documents", "conll", {**wnut, "documents": table}, clusters="document")
    refuses("unused_file", None, "conll", {**wnut, "documents": table})


# BIOES and BILOU tags in columns: flair's, spaCy's and seqeval's own; and which column of tags is meant.


# The predictions of a tagger that forgets an ending, and one that is right.
GOLD = "George S-PER\nWashington E-PER\n\nGeorge B-PER\nWashington E-PER\nvisited O\nNew B-LOC\nYork I-LOC\nCity E-LOC\n. O\n"
U = GOLD.replace("City E-LOC", "City I-LOC")
V = GOLD.replace("George S-PER", "George O")


def bilou(text: str) -> str:
    return text.replace(" E-", " L-").replace(" S-", " U-")


def tags_of_bioes(text: str) -> list[list[str]]:
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
            wanted = [
                f1_score(tags_of_bioes(gold), tags_of_bioes(side), mode="strict", scheme=scheme)
                for side in (u, v)
            ]
        else:
            wanted = [f1_score(tags_of_bioes(GOLD), tags_of_bioes(side)) for side in (U, V)]
        assert [float(problem.score_u or 0), float(problem.score_v or 0)] == pytest.approx(wanted)
        assert noted(reading, "of entities' last or only tokens")


def test_one_side_may_be_bio_and_the_other_bioes() -> None:
    bio = GOLD.replace(" E-", " I-").replace(" S-", " B-")
    reading = read_files("conll", {"gold": GOLD, "u": bio, "v": bilou(GOLD)})
    assert isinstance(reading.data, Predictions)
    problem = reduce(reading.data, reading.default_statistic)
    assert problem.score_v == 1


def test_invalid_tags_are_named_with_file_and_line() -> None:
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
def test_labels_of_another_set_are_refused_instead_of_scored_0(metric: str) -> None:
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
