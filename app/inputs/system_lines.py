"""Lines of JSON with one score each: `{"id": …, "system": …, "score": …}`, and perhaps `dataset` and `cluster`."""

from __future__ import annotations

from typing import Any

import numpy as np
from pydantic_core import from_json

from ..errors import Flaw, InvalidTest
from . import delimited, json_body, ndjson, nested, tiny_numbers
from .quoting import quoted
from .systems_rows import Keys, LongBoard, LongRows, boards_of, coded_keys

NEEDED = ("id", "system", "score")
OPTIONAL = ("dataset", "cluster")


def read(body: bytes | bytearray) -> tuple[dict[str | None, LongBoard], list[int] | None]:
    """The boards by data set, and the line of each row, counted from one; None where all lines are rows.

    Raises
    ------
    MalformedBody
        It is not UTF-8, or a line is not JSON.
    InvalidTest
        A line lacks a field, has another, or its score is no number; or two lines are about one item and system. Pointers
        are `/line/<n>[/<field>]`.
    """
    records, lines = _records(body)
    if not records:
        raise InvalidTest.at("", "no_items", "There is no line to compare; give at least one.")

    def line(row: int) -> int:
        return row + 1 if lines is None else lines[row]

    fields = set(records[0])
    if any(record.keys() != fields for record in records) or not set(NEEDED) <= fields <= {
        *NEEDED,
        *OPTIONAL,
    }:
        _refuse_fields(records, line)
    columns = {name: [record[name] for record in records] for name in records[0]}
    scores = columns["score"]
    missing = np.fromiter((score is None for score in scores), dtype=bool, count=len(scores))
    if missing.any():
        scores = [0 if score is None else score for score in scores]
        if any(type(score) is list for score in scores):
            row = int(missing.argmax())
            detail = "A line without a score among lines with several samples: leave it out."
            raise InvalidTest.at(f"/line/{line(row)}/score", "missing_value", detail)
    try:
        values = nested.samples(scores)
    except InvalidTest as error:
        flaws = []
        for flaw in error.flaws:
            _, place, *rest = flaw.pointer.split("/")
            flaws.append(
                Flaw("/".join(["/line", str(line(int(place))), "score", *rest]), flaw.code, flaw.detail)
            )
        raise InvalidTest(error.detail, flaws=tuple(flaws)) from None
    keys = {name: _keys(columns[name], name, line) for name in ("id", "system", *OPTIONAL) if name in columns}
    rows = LongRows(keys["id"], keys["system"], keys.get("dataset"), keys.get("cluster"), missing)
    return boards_of(rows, values, lambda row: f"/line/{line(row)}"), lines


def _records(body: bytes | bytearray) -> tuple[list[dict[str, Any]], list[int] | None]:
    """The objects: all at once where no key is certainly there twice, else line by line."""
    text = bytes(body).rstrip(b"\r\n")
    if b"\n\n" not in text and not json_body.may_hold_booleans(text):
        try:
            whole: list[Any] = from_json(b"[" + text.replace(b"\n", b",") + b"]", allow_inf_nan=False)
        except ValueError:
            whole = []
        one_each = (
            not tiny_numbers.may_hold(text)
            and len(whole) == text.count(b"\n") + 1
            and set(map(type, whole)) == {dict}
        )
        if one_each and sum(map(len, whole)) == text.count(b":"):
            return whole, None
    records = list(ndjson.records(delimited.text_of(body).split("\n")))
    return [record.value for record in records], [record.line for record in records]


def _keys(values: list[Any], name: str, line: Any) -> Keys:
    """Strings or integers; the number 7 and the text "7" are one key."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return coded_keys(values)
    if not kinds <= {str, int}:
        row = next(row for row, value in enumerate(values) if type(value) not in {str, int})
        detail = f"{name} must be a string or an integer."
        raise InvalidTest.at(f"/line/{line(row)}/{name}", "not_a_key", detail)
    return coded_keys(list(map(str, values)))


def _refuse_fields(records: list[dict[str, Any]], line: Any) -> None:
    known = (*NEEDED, *OPTIONAL)
    for row, record in enumerate(records):
        at = f"/line/{line(row)}"
        for name in record:
            if name not in known:
                detail = f"Line {line(row):,} has the field {quoted(name)}; there are {', '.join(known)}."
                raise InvalidTest.at(f"{at}/{name[:40]}", "unknown_field", detail)
            if name not in records[0]:
                detail = f"Line {line(row):,} has the field {name} and the first line does not; all lines need the same fields."
                raise InvalidTest.at(f"{at}/{name}", "different_fields", detail)
        for name in (*NEEDED, *records[0]):
            if name not in record:
                raise InvalidTest.at(f"{at}/{name}", "missing", f"Line {line(row):,} has no field {name}.")
