"""Wide files: refused at their first wide line, before it is split, and searched in one pass over their values."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from typing import Any

import pytest

from exactperm.inputs import delimited, frame, json_text
from exactperm.inputs.columns import MAX_COLUMNS
from exactperm.inputs.formats import json_records
from exactperm.inputs.formats.reader import ReaderOptions, Source
from tests.refusals import refused

from .reading import read_files, refuses

TOO_WIDE = ",".join(["1"] * (MAX_COLUMNS + 1))
WIDEST = ",".join(f"c{i}" for i in range(MAX_COLUMNS - 2))


@pytest.fixture
def rows_parsed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The rows that the csv module hands out."""
    rows: list[list[str]] = []
    reader = csv.reader

    class Counting:
        def __init__(self, lines: Iterator[str], **options: Any) -> None:
            self.inner = reader(lines, **options)

        @property
        def line_num(self) -> int:
            return self.inner.line_num

        def __iter__(self) -> Iterator[list[str]]:
            for row in self.inner:
                rows.append(row)
                yield row

    monkeypatch.setattr(csv, "reader", Counting)
    return rows


def test_a_wide_first_line_is_refused_before_anything_is_split(rows_parsed: list[list[str]]) -> None:
    refuses("too_many_columns", "/files/u/line/1", "csv", {"u": f"{TOO_WIDE}\n" * 50, "v": "1\n"})
    assert rows_parsed == []


def test_a_wide_line_further_down_is_refused_before_it_is_split(rows_parsed: list[list[str]]) -> None:
    refuses(
        "too_many_columns",
        "/files/file/line/3",
        "csv",
        {"file": f"id,u,v\na,1,2\n{TOO_WIDE}\nb,1,2\n"},
        on_missing="drop",
    )
    assert rows_parsed == [["id", "u", "v"], ["a", "1", "2"]]


def test_rows_of_another_width_end_the_reading_at_once(rows_parsed: list[list[str]]) -> None:
    refuses("wrong_field_count", "/files/file/line/2", "csv", {"file": "id,u,v\na,1\n" + "b,1,2\n" * 50})
    assert len(rows_parsed) == 2


def test_a_wide_line_with_quotes_is_the_last_that_is_split(rows_parsed: list[list[str]]) -> None:
    refuses("too_many_columns", None, "csv", {"u": f'"a",{TOO_WIDE}\n' * 50, "v": "1\n"})
    assert len(rows_parsed) == 1


@pytest.mark.parametrize("delimiter", ["tab", "blank"])
def test_wide_lines_without_quoting_are_not_split_to_their_end(delimiter: str) -> None:
    text = TOO_WIDE.replace(",", "\t" if delimiter == "tab" else "  ")
    refuses(
        "too_many_columns", "/files/u/line/1", "csv", {"u": f"{text}\n1\n", "v": "1\n"}, delimiter=delimiter
    )
    with pytest.raises(delimited.TooWide):
        list(frame._split([text], 0, "\t" if delimiter == "tab" else " "))


def test_commas_inside_a_quoted_field_of_several_lines_are_text() -> None:
    text = 'id,u,v,text\na,1,2,"one\n' + "," * (2 * MAX_COLUMNS) + '\nthree"\nb,2,1,four\n'
    assert len(read_files("csv", {"file": text}, system_u="u", system_v="v").data.u) == 2  # type: ignore[union-attr]


def test_a_table_as_wide_as_may_be_is_read() -> None:
    row = ",x" * (MAX_COLUMNS - 2)
    reading = read_files("csv", {"file": f"u,v,{WIDEST}\n1,2{row}\n2,1{row}\n"})
    assert reading.kind == "scores"
    refuses("too_many_columns", None, "csv", {"file": f"u,v,more,{WIDEST}\n1,2,x{row}\n"})


def test_a_body_of_csv_has_the_same_limit(rows_parsed: list[list[str]]) -> None:
    body = Source("file", "", f"{TOO_WIDE}\n1,2\n".encode(), is_body=True)
    with refused("too_many_columns", "/line/1"):
        frame.table(body, ReaderOptions(), [])
    assert rows_parsed == []


def test_a_wide_record_is_refused_before_the_next_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    decoded = json_text.decoded

    def counting(text: str, *arguments: Any) -> Any:
        lines.append(text)
        return decoded(text, *arguments)

    monkeypatch.setattr(json_text, "decoded", counting)
    members = ",".join(f'"c{i}":1' for i in range(MAX_COLUMNS + 1))
    refuses("too_many_fields", "/files/u/line/1", "jsonl", {"u": f"{{{members}}}\n" * 3, "v": '{"score":1}'})
    assert len(lines) == 1


def test_records_with_other_fields_each_are_counted_together() -> None:
    lines = "\n".join(f'{{"score":1,"c{i}":2}}' for i in range(MAX_COLUMNS))
    refuses("too_many_fields", "/files/u", "jsonl", {"u": lines, "v": lines})


def test_fields_that_few_records_have_are_not_looked_up_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1_000
    names = {f"c{i}": "mean" for i in range(n)}
    text = "\n".join(
        str(record).replace("'", '"')
        for record in ({"score": 1, **names}, *[{"score": 1}] * n, {"score": 1, **names})
    )
    looked_up = 0
    column = json_records.Records.column

    def counting(file: json_records.Records, field: str) -> list[Any]:
        nonlocal looked_up
        looked_up += len(file.records)
        return column(file, field)

    monkeypatch.setattr(json_records.Records, "column", counting)
    assert len(read_files("jsonl", {"u": text, "v": text}).data.u) == n + 2  # type: ignore[union-attr]
    assert looked_up <= 2 * 2 * (n + 2)  # the scores of both files, and not a thousand fields


def test_a_row_of_averages_is_one_whose_name_occurs_once() -> None:
    rows = [f"q{i},{i % 2}" for i in range(300)]
    refuses(
        "summary_row",
        "/files/u/line/302/1",
        "csv",
        {role: "name,score\n" + "\n".join([*rows, "mean,0.5"]) for role in ("u", "v")},
    )
    twice = [*rows[:150], "mean,1", *rows[150:], "mean,0.5"]
    reading = read_files("csv", {role: "name,score\n" + "\n".join(twice) for role in ("u", "v")})
    assert len(reading.data.u) == 302  # type: ignore[union-attr]
