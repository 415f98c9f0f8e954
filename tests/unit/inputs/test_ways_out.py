"""Test tables and records that are nearly readable: a sufficient choice, a finding or a note."""

import json
from typing import Any

import pytest

from exactperm.errors import InvalidTest
from exactperm.inputs.formats import catalogue, many_systems
from exactperm.inputs.reader import ReaderOptions, Reading, Source, UploadedFile

LONG = [(engine, item, item / 10 + (engine == "a") / 20) for engine in "ab" for item in range(1, 7)]
CSV = "engine,id,score\n" + "".join(f"{engine},{item},{score}\n" for engine, item, score in LONG)
LINES = "".join(
    json.dumps({"engine": engine, "id": item, "score": score}) + "\n" for engine, item, score in LONG
)


def read(files: dict[str, str], **options: str) -> Reading:
    uploaded = {role: UploadedFile("x", text.encode()) for role, text in files.items()}
    return catalogue.read(uploaded, "auto", ReaderOptions.of_form(options))


@pytest.mark.parametrize("text", [CSV, LINES], ids=["csv", "lines"])
def test_a_long_table_asks_for_its_column_of_systems_in_either_form(text: str) -> None:
    with pytest.raises(InvalidTest, match="Choose the column of systems") as found:
        read({"file": text})
    (choice,) = found.value.flaws[0].choices
    assert choice.fields == {"system_column": "engine"}
    data: Any = read({"file": text}, **choice.fields).data
    assert len(data.u) == 6
    with pytest.raises(InvalidTest, match="Choose the column of systems"):  # a board asks as a test does
        many_systems.read(
            Source("file", "x", text.encode()), "csv" if text is CSV else "jsonl", ReaderOptions(), None
        )


def test_a_board_counts_the_values_that_there_are() -> None:
    board = many_systems.read(Source("file", "x", b"id,a,b\nx,1,0\ny,1,\n"), "csv", ReaderOptions(), None)
    assert any(str(note).startswith("3 values of 2 systems") for note in board.notes)


def test_quoted_numbers_are_refused_with_a_remedy() -> None:
    lines = "".join(json.dumps({"id": item, "score": f"0.{item}"}) + "\n" for item in range(1, 7))
    with pytest.raises(InvalidTest, match=r"Write the number without quotes: 0\.1\."):
        read({"u": lines, "v": lines})


def test_a_key_beside_ids_is_named_by_an_option() -> None:
    rows = "".join(f"q{item},0.{item}\n" for item in range(1, 7))
    files = {"u": "key,score\n" + rows, "v": "id,score\n" + rows}
    with pytest.raises(InvalidTest, match="both need them") as found:
        read(files)
    (flaw,) = found.value.flaws
    assert (flaw.code, flaw.pointer) == ("mixed_forms", "/files/u")
    assert [choice.fields for choice in flaw.choices] == [{"id_column": "key"}]
    assert read(files, id_column="key").data.pairing.by_id


@pytest.mark.parametrize("roles", [("file",), ("u", "v")], ids=["a table", "two files"])
def test_an_id_column_that_no_file_has_is_refused_before_scores_are_asked_about(
    roles: tuple[str, ...],
) -> None:
    table = "name,m1,m2\n" + "".join(f"q{row},0.{row}1,0.{row}2\n" for row in range(1, 9))
    with pytest.raises(InvalidTest, match='There is no column "key"') as found:
        read(dict.fromkeys(roles, table), id_column="key")
    assert found.value.flaws[0].code == "choose_id_column"


def test_runs_without_a_key_are_a_finding() -> None:
    table = "seed,new,old\n" + "".join(f"{row % 3},0.{row}1,0.{row}2\n" for row in range(1, 9))
    (finding,) = read({"file": table}).findings
    assert finding.code == "choose_runs"
    assert [choice.fields for choice in finding.choices] == [{"clusters": "seed"}]
    assert read({"file": table}, clusters="seed").findings == ()


def test_a_board_says_that_a_column_of_whole_numbers_is_a_system() -> None:
    table = "id,a,b,zork\n" + "".join(f"q{row},0.{row}1,0.{row}2,{row * 7 % 5}\n" for row in range(1, 9))
    board = many_systems.read(Source("file", "x", table.encode()), "csv", ReaderOptions(), None)
    assert any("zork" in str(note) and "`systems`" in str(note) for note in board.notes)


def test_items_without_repeats_are_read_as_those_with() -> None:
    scores = {f"q{item}": [item, item + 1] if item % 2 else item for item in range(9)}
    data: Any = read({"u": json.dumps(scores), "v": json.dumps(scores)}).data
    assert data.u.lengths.tolist() == [1, 2, 1, 2, 1, 2, 1, 2, 1]
