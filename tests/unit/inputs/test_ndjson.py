from __future__ import annotations

import pytest

from exactperm.errors import InputError, InvalidTest, MalformedBody
from exactperm.inputs.json_text import records
from tests.refusals import refused_alone


def test_lines_are_counted_from_one_and_empty_ones_too() -> None:
    found = list(records(['{"id": 1}', "", '{"id": 2.50}']))
    assert [(record.line, record.value) for record in found] == [(1, {"id": 1}), (3, {"id": 2.5})]


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("{", MalformedBody),
        ("nonsense", MalformedBody),
        ('{"id": 1} {"id": 2}', MalformedBody),
        ("[" * 100_000, MalformedBody),
        ('{"id": ' + "1" * 10_000 + "}", MalformedBody),
        ("[1, 2]", InvalidTest),
        ("3", InvalidTest),
        ('{"id": 1, "id": 2}', InvalidTest),
        ('{"id": 1, "doc": {"a": 1, "a": 1}}', InvalidTest),
    ],
    ids=["cut", "text", "two", "deep", "long-integer", "array", "number", "key-twice", "inner-key-twice"],
)
def test_a_bad_line_is_named(line: str, error: type[InputError]) -> None:
    with refused_alone(None, "/files/u/line/2", error=error):
        list(records(['{"id": 0}', line], "/files/u"))
