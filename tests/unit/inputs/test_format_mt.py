from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from exactperm.statistics.paired import Counts, Scores, Segments

from .reading import EXCERPTS, noted, read_files, refusal, refuses


@pytest.fixture
def tables() -> dict[str, Path]:
    return {"u": EXCERPTS / "mt" / "sys1.tsv", "v": EXCERPTS / "mt" / "sys2.tsv"}


def column(path: Path, name: str) -> list[str]:
    rows = [line.split("\t") for line in path.read_text().splitlines()]
    return [row[rows[0].index(name)] for row in rows[1:]]


def test_lines_are_segments_and_unicode_line_marks_do_not_break_them() -> None:
    files = {"u": "a\u2028b\nc\x85d\n", "v": "a\r\nb\r\n", "ref": "a\nb", "ref2": "x\ny\n"}
    reading = read_files("mt", files)
    data = reading.data
    assert isinstance(data, Segments)
    assert data.u == ["a\u2028b", "c\x85d"]
    assert data.v == ["a", "b"]
    assert data.references == [["a", "x"], ["b", "y"]]
    assert reading.default_statistic.name == "bleu"


def test_empty_lines_are_segments_too() -> None:
    reading = read_files("mt", {"u": "a\n\nb\n", "v": "a\nx\n\n", "ref": "a\nx\nb\n"})
    assert isinstance(reading.data, Segments)
    assert reading.data.v == ["a", "x", ""]
    assert noted(reading, "u: 1 empty lines were kept")


def test_files_of_other_lengths_are_refused() -> None:
    refuses("length_mismatch", "/files/ref", "mt", {"u": "a\nb\n", "v": "a\nb\n", "ref": "a\n"})


def test_documents_come_from_a_table() -> None:
    files = {"u": "a\nb\nc\n", "v": "a\nb\nc\n", "ref": "a\nb\nc\n"}
    data = read_files("mt", {**files, "documents": "doc\nx\nx\ny\n"}, clusters="document").data
    assert data.pairing.clusters is not None
    assert data.pairing.clusters.tolist() == [0, 0, 1]
    refuses(None, "/options/clusters", "mt", files, clusters="document")
    refuses("length_mismatch", None, "mt", {**files, "documents": "doc\nx\n"}, clusters="document")


def test_bleu_and_ter_are_counts(tables: dict[str, Path]) -> None:
    bleu = read_files("mt-stats", tables, statistic="bleu")
    assert isinstance(bleu.data, Counts)
    assert bleu.statistic_read
    assert bleu.data.u["correct_4"].tolist() == [int(value) for value in column(tables["u"], "correct_4")]
    ter = read_files("mt-stats", tables, metric="ter")
    assert isinstance(ter.data, Counts)
    assert ter.data.v["ter_edits"].tolist() == [int(value) for value in column(tables["v"], "ter_edits")]
    assert ter.default_statistic.parameters == {"numerator": "ter_edits", "denominator": "ter_ref_len"}


def test_any_column_can_be_the_score(tables: dict[str, Path]) -> None:
    data = read_files("mt-stats", tables, metric="chrf2").data
    assert isinstance(data, Scores)
    assert isinstance(data.u, np.ndarray)
    assert data.u.tolist() == [float(value) for value in column(tables["u"], "chrf2")]
    rounded = read_files("mt-stats", tables, metric="chrF2", decimals=1).data
    assert isinstance(rounded, Scores)
    assert isinstance(rounded.u, np.ndarray)
    assert np.abs(rounded.u - data.u).max() <= 0.05
    assert all(len(repr(value).partition(".")[2]) == 1 for value in rounded.u.tolist())


def test_what_to_test_must_be_said_when_there_are_both(tables: dict[str, Path]) -> None:
    error = refusal("mt-stats", tables)
    assert error.flaws[0].code == "choose_metric"
    assert '"bleu", "ter", "sys_len"' in error.detail  # "document" is _ throughout, and no number
    assert '"chrf2"' in error.detail
    refuses("choose_metric", None, "mt-stats", tables, metric="comet")
    refuses("invalid_option", None, "mt-stats", tables, metric="ter", decimals=2)


def test_documents_that_are_none_cannot_be_clusters(tables: dict[str, Path]) -> None:
    refuses("no_cluster", None, "mt-stats", tables, metric="ter", clusters="document")


def test_a_count_that_is_none_is_named(tables: dict[str, Path]) -> None:
    text = tables["u"].read_text().split("\n")
    place = text[0].split("\t").index("ter_edits")
    fields = text[3].split("\t")
    fields[place] = "2.5"
    refuses(
        "not_a_count",
        "/files/u/line/4",
        "mt-stats",
        {**tables, "u": "\n".join([*text[:3], "\t".join(fields), *text[4:]])},
        metric="ter",
    )
