from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from exactperm.inputs.formats.asr import word_errors
from exactperm.statistics.paired import Counts, Scores

from .reading import EXCERPTS, noted, read_files, refuses

HEADER = "utterance\tcall\tref_words\tsubstitutions\tdeletions\tinsertions\terrors\n"


@pytest.fixture
def tables() -> dict[str, Path]:
    return {"u": EXCERPTS / "asr" / "google.tsv", "v": EXCERPTS / "asr" / "amazon.tsv"}


@pytest.fixture
def transcripts() -> dict[str, Path]:
    return {
        "ref": EXCERPTS / "asr" / "ref.trn",
        "u": EXCERPTS / "asr" / "google.trn",
        "v": EXCERPTS / "asr" / "amazon.trn",
    }


def counts(data: object) -> Counts:
    assert isinstance(data, Counts)
    return data


def distance(a: list[str], b: list[str]) -> int:
    """Levenshtein's, by the textbook."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        previous, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            previous, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, previous + (x != y))
    return row[-1]


def test_counts_are_the_columns_of_the_table(tables: dict[str, Path]) -> None:
    reading = read_files("asr", tables)
    data = counts(reading.data)
    rows = [line.split("\t") for line in tables["u"].read_text().splitlines()]
    place = {name: n for n, name in enumerate(rows[0])}
    assert data.u["errors"].tolist() == [int(row[place["errors"]]) for row in rows[1:]]
    assert data.u["ref_words"].tolist() == [int(row[place["ref_words"]]) for row in rows[1:]]
    assert reading.default_statistic.parameters == {"numerator": "errors", "denominator": "ref_words"}
    assert noted(reading, '"call" has 2 values')


def test_transcripts_give_the_counts_of_the_tables(
    tables: dict[str, Path], transcripts: dict[str, Path]
) -> None:
    pytest.importorskip("jiwer")
    for clusters in (None, "call"):
        counted = counts(read_files("asr", tables, clusters=clusters).data)
        aligned = counts(read_files("asr", transcripts, clusters=clusters).data)
        for name in ("errors", "ref_words"):
            assert counted.u[name].tolist() == aligned.u[name].tolist()
            assert counted.v[name].tolist() == aligned.v[name].tolist()
        assert counted.pairing.n_clusters == aligned.pairing.n_clusters == (2 if clusters else None)


def test_word_errors_are_edit_distances() -> None:
    pytest.importorskip("jiwer")
    generator = np.random.default_rng(0)
    texts = [
        [[str(w) for w in generator.integers(0, 4, size=generator.integers(0, 9))] for _ in range(200)]
        for _ in "rh"
    ]
    assert word_errors(*texts) == [distance(a, b) for a, b in zip(*texts, strict=True)]


def test_an_empty_hypothesis_is_all_deletions() -> None:
    pytest.importorskip("jiwer")
    files = {"ref": "a b c (x-1)\n", "u": "(x-1)\n", "v": "a b c (x-1)\n"}
    reading = read_files("asr", files)
    assert counts(reading.data).u["errors"].tolist() == [3]
    assert noted(reading, "1 utterances have an empty hypothesis")


def test_whole_utterances_can_be_scored(tables: dict[str, Path]) -> None:
    reading = read_files("asr", tables, statistic="utterance_accuracy")
    errors = counts(read_files("asr", tables).data).u["errors"]
    assert isinstance(reading.data, Scores)
    assert reading.statistic_read
    assert isinstance(reading.data.u, np.ndarray)
    assert reading.data.u.tolist() == (errors == 0).tolist()


@pytest.mark.parametrize(
    ("row", "pointer", "code"),
    [
        ("x-1\tx\t5\t1\t0\t0\t2", "/files/u/line/2/errors", "inconsistent_counts"),
        ("x-1\tx\t5\t1.5\t0\t0\t1.5", "/files/u/line/2/errors", "not_a_count"),
        ("x-1\tx\t5\t-1\t0\t1\t0", "/files/u/line/2/substitutions", "not_a_count"),
        ("x-1\tx\t6\t1\t0\t0\t1", "/files/v/line/2/ref_words", "ref_words_mismatch"),
        ("x-1\tx\t5\t1\t0\t0\t", "/files/u/line/2", "missing_value"),
        ("x-2\tx\t5\t1\t0\t0\t1", "/files/u", "unmatched_ids"),
        ("x-1\tx\t5\t1\t0\t0", "/files/u/line/2", "wrong_field_count"),
    ],
)
def test_a_bad_row_is_named(row: str, pointer: str, code: str) -> None:
    refuses(code, pointer, "asr", {"u": HEADER + row + "\n", "v": HEADER + "x-1\tx\t5\t1\t0\t0\t1\n"})


@pytest.mark.parametrize(
    ("text", "pointer", "code"),
    [
        ("a b\n", "/files/u/line/1", "no_id"),
        ("a (x-1)\na (x-1)\n", "/files/u/line/2", "duplicate_id"),
        ("a (x-1)\nb (x-3)\n", "/files/u/line/2", "unmatched_ids"),
        ("a (x-1)\n", "/files/u/utterance/x-2", "missing_value"),
    ],
)
def test_a_bad_transcript_is_named(text: str, pointer: str, code: str) -> None:
    pytest.importorskip("jiwer")
    good = "a (x-1)\nb (x-2)\n"
    refuses(code, pointer, "asr", {"ref": good, "u": text, "v": good})


def test_a_table_without_the_columns_is_refused() -> None:
    refuses("missing_column", None, "asr", {"u": "utterance\twer\na\t0.5\n", "v": "x"})


def test_without_jiwer_the_extra_is_named(
    transcripts: dict[str, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jiwer", None)
    refuses("missing_extra", None, "asr", transcripts)
