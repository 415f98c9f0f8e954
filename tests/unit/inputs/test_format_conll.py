from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from exactperm.inputs.formats.reader import Reading
from exactperm.statistics.paired import Predictions

from .reading import EXCERPTS, noted, read_files, refuses, refuses_alone

Files = Mapping[str, Path]


def predictions(reading: Reading) -> Predictions:
    assert isinstance(reading.data, Predictions)
    return reading.data


def tags(path: Path, column: int) -> list[list[str]]:
    """One column, by splitting at tabs or blanks and empty lines and nothing else."""
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


def test_a_token_that_is_a_hash_is_no_comment(wnut: Files) -> None:
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
    marked = predictions(read_files("conll", uner, clusters="document"))
    folder = EXCERPTS / "uner"
    files = {
        "u": folder / "crf_small.token-gold-pred.conll",
        "v": folder / "crf_large.token-gold-pred.conll",
        "documents": folder / "documents.tsv",
    }
    tabled = predictions(read_files("conll", files, clusters="document"))
    assert (marked.gold, marked.u, marked.v) == (tabled.gold, tabled.u, tabled.v)
    assert marked.pairing.clusters is not None
    assert tabled.pairing.clusters is not None
    assert marked.pairing.clusters.tolist() == tabled.pairing.clusters.tolist()
    rows = folder.joinpath("documents.tsv").read_text().splitlines()[1:]
    assert marked.pairing.n_clusters == tabled.pairing.n_clusters == len({row.split("\t")[1] for row in rows})


def test_docstart_lines_open_documents_and_are_no_tokens() -> None:
    text = "-DOCSTART- -X- O O\n\nAnn NNP B-PER B-PER\n\nhi UH O O\n\n-DOCSTART- -X- O O\n\nBob NNP B-PER O\n"
    data = predictions(read_files("conll", {"u": text, "v": text}, clusters="document"))
    assert data.gold == [["B-PER"], ["O"], ["B-PER"]]
    assert data.pairing.clusters is not None
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
def test_what_differs_from_gold_is_named_by_line(u: str, pointer: str, code: str) -> None:
    gold = "Ann B-PER\nLee I-PER\n\nhi O\n"
    refuses_alone(code, pointer, "conll", {"gold": gold, "u": u, "v": gold})


def test_gold_columns_that_differ_between_two_files_are_refused() -> None:
    refuses_alone("tag_mismatch", "/files/v/line/1/2", "conll", {"u": "Ann B-PER O\n", "v": "Ann O O\n"})


def test_documents_that_are_not_there_are_refused(wnut: Files) -> None:
    refuses("no_documents", None, "conll", wnut, clusters="document")
    table = "sentence\tdocument\n1\ta\n"
    refuses("length_mismatch", "/files/documents", "conll", {**wnut, "documents": table}, clusters="document")
    refuses("unused_file", None, "conll", {**wnut, "documents": table})
