from __future__ import annotations

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path

import pytest

from exactperm.errors import InputError
from exactperm.inputs.formats.reader import Reading
from exactperm.statistics.paired import Predictions

from .conftest import Read

Refusal = Callable[..., InputError]
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
def wnut(excerpts: Path) -> dict[str, Path]:
    names = {"gold": "gold.annotated", "u": "uh_ritual", "v": "spinningbytes.txt"}
    return {role: excerpts / "wnut17" / name for role, name in names.items()}


@pytest.fixture
def uner(excerpts: Path) -> dict[str, Path]:
    names = {"gold": "gold.iob2", "u": "crf_small.pred.tsv", "v": "crf_large.pred.tsv"}
    return {role: excerpts / "uner" / name for role, name in names.items()}


def test_gold_with_lf_and_submissions_with_crlf(wnut: Files, read_files: Read) -> None:
    reading = read_files("conll", wnut)
    data = predictions(reading)
    assert (data.gold, data.u, data.v) == tuple(tags(wnut[role], 1) for role in ("gold", "u", "v"))
    assert reading.default_statistic.name == "span_f1"
    assert reading.default_statistic.parameters == {"scheme": "BIO"}


def test_a_token_that_is_a_hash_is_no_comment(wnut: Files, read_files: Read) -> None:
    assert "\n#\tO" in wnut["gold"].read_text()
    n = sum(line.strip() != "" for line in wnut["gold"].read_text().split("\n"))
    assert any(f" {n} tokens" in note for note in read_files("conll", wnut).notes)
    text = "# O O\n# text = a b\nB B-X B-X\n"
    assert predictions(read_files("conll", {"u": text, "v": text})).gold == [["O", "B-X"]]


def test_stray_inside_tags_are_kept_as_they_are(wnut: Files, read_files: Read) -> None:
    text = wnut["v"].read_bytes()
    assert b"\tO\r\n" in text
    data = predictions(read_files("conll", wnut))
    strays = [(before, tag) for sentence in tags(wnut["v"], 1) for before, tag in pairwise(["O", *sentence])]
    assert any(before == "O" and tag.startswith("I-") for before, tag in strays)
    assert data.v == tags(wnut["v"], 1)


def test_an_index_column_before_and_annotators_after_are_understood(uner: Files, read_files: Read) -> None:
    reading = read_files("conll", uner)
    assert predictions(reading).gold == tags(uner["gold"], 2)
    assert any("the tags are column 3 of 5" in note for note in reading.notes)


def test_columns_can_be_chosen(read_files: Read, refusal: Refusal) -> None:
    text = "B-X\tB-PER\tAnn\tI-ORG\n"
    files = dict.fromkeys(("gold", "u", "v"), text)
    error = refusal("conll", files).flaws[0]
    assert (error.pointer, error.code) == ("/files/gold", "choose_tag_column")
    assert '"2 (B-PER)", "4 (I-ORG)"' in error.detail
    assert predictions(read_files("conll", files, tag_column=4)).gold == [["I-ORG"]]
    assert predictions(read_files("conll", files, token_column=3, tag_column=2)).gold == [["B-PER"]]
    assert refusal("conll", files, tag_column=5).flaws[0].code == "wrong_field_count"


def test_documents_are_clusters_from_marks_or_from_a_table(
    uner: Files, read_files: Read, excerpts: Path
) -> None:
    marked = predictions(read_files("conll", uner, clusters="document"))
    folder = excerpts / "uner"
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


def test_docstart_lines_open_documents_and_are_no_tokens(read_files: Read) -> None:
    text = "-DOCSTART- -X- O O\n\nAnn NNP B-PER B-PER\n\nhi UH O O\n\n-DOCSTART- -X- O O\n\nBob NNP B-PER O\n"
    data = predictions(read_files("conll", {"u": text, "v": text}, clusters="document"))
    assert data.gold == [["B-PER"], ["O"], ["B-PER"]]
    assert data.pairing.clusters is not None
    assert data.pairing.clusters.tolist() == [0, 0, 1]


def test_one_file_of_gold_and_both_predictions(read_files: Read) -> None:
    data = predictions(read_files("conll", {"file": "Ann\tB-PER\tO\tB-PER\nLee\tI-PER\tB-PER\tI-PER\n"}))
    assert (data.gold, data.u, data.v) == ([["B-PER", "I-PER"]], [["O", "B-PER"]], [["B-PER", "I-PER"]])


def test_strict_mode_is_scheme_iob2(wnut: Files, read_files: Read) -> None:
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
def test_what_differs_from_gold_is_named_by_line(u: str, pointer: str, code: str, refusal: Refusal) -> None:
    gold = "Ann B-PER\nLee I-PER\n\nhi O\n"
    error = refusal("conll", {"gold": gold, "u": u, "v": gold})
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [(pointer, code)]


def test_gold_columns_that_differ_between_two_files_are_refused(refusal: Refusal) -> None:
    error = refusal("conll", {"u": "Ann B-PER O\n", "v": "Ann O O\n"})
    assert [(flaw.pointer, flaw.code) for flaw in error.flaws] == [("/files/v/line/1/2", "tag_mismatch")]


def test_documents_that_are_not_there_are_refused(refusal: Refusal, wnut: Files) -> None:
    assert refusal("conll", wnut, clusters="document").flaws[0].code == "no_documents"
    table = "sentence\tdocument\n1\ta\n"
    error = refusal("conll", {**wnut, "documents": table}, clusters="document")
    assert (error.flaws[0].pointer, error.flaws[0].code) == ("/files/documents", "length_mismatch")
    assert refusal("conll", {**wnut, "documents": table}).flaws[0].code == "unused_file"
