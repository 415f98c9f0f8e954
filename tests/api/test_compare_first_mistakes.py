"""What somebody sees who sends a first leaderboard, with the usual mistakes."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import problem

WIDE = "id,A,B\nq1,1,0\nq2,1,1\nq3,0,0\nq4,1,0\nq5,0,0\nq6,1,0\n"
LONG = "id,system,score\n1,A,1\n1,B,0\n2,A,1\n2,B,1\n"


def counted(first: int) -> str:
    """A table whose column of ids has a name that is not known, and only counts the rows."""
    lines = WIDE.splitlines()[1:]
    return "zeile,A,B\n" + "".join(f"{first + row},{line[3:]}\n" for row, line in enumerate(lines))


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_the_rows_is_no_system_of_a_file(service: Any, first: int) -> None:
    files = {"file": ("board.csv", counted(first))}
    said = problem(service.post("/v1/compare", files=files), 422)
    assert said["errors"][0]["code"] == "index_column"
    assert said["errors"][0]["pointer"] == "/files/file/line/1/1"
    chosen = service.post("/v1/compare", files=files, data={"systems": "A,B"})
    assert [one["name"] for one in chosen.json()["systems"]] == ["A", "B"]


@pytest.mark.parametrize(
    ("table", "phrase"),
    [
        (LONG.replace("system", "sytem"), '"sytem"'),
        (LONG.replace("system", "sytem"), "id, system and score"),
    ],
)
def test_a_column_without_numbers_is_named(service: Any, table: str, phrase: str) -> None:
    said = problem(service.body("/v1/compare", table.encode(), "text/csv"), 422)
    assert said["errors"][0]["code"] == "choose_systems"
    assert phrase in said["detail"]


def test_a_column_of_texts_beside_systems_is_left_out_with_a_note(service: Any) -> None:
    answer = service.body("/v1/compare", WIDE.replace("id,", "question,").encode(), "text/csv").json()
    assert [one["name"] for one in answer["systems"]] == ["A", "B"]
    assert 'Columns of texts are no systems and were left out: "question".' in answer["reading"]["notes"]


def test_what_was_read_names_the_files(service: Any) -> None:
    files = [("system", (f"{name}.csv", "id,score\n1,1\n2,0\n")) for name in ("new", "base")]
    notes = service.post("/v1/compare", files=files).json()["reading"]["notes"]
    assert {"new: 2 items read from new.csv.", "base: 2 items read from base.csv."} <= set(notes)


def test_a_missing_choice_says_what_there_is_to_choose(service: Any) -> None:
    said = problem(service.post("/v1/compare", json={"systems": {"A": [1, 0], "B": [0, 1]}}), 422)
    assert said["errors"][0]["pointer"] == "/kind"
    assert all(kind in said["detail"] for kind in ("scores", "counts", "predictions"))
