"""What separates the columns of a table, by its first lines; and a line cut into fields, quotes and all."""

from __future__ import annotations

import csv
import re
from collections.abc import Sequence

from .number_text import COMMA, parsed

GUESSED_DELIMITERS = ("\t", ",", "|", ";", " ")
# Excel's: sep=; on the first line.
TOLD = re.compile(r'"?sep=(.)"?\s*', re.IGNORECASE)
QUOTED = re.compile(r'"[^"]*"')  # two quotes inside end one and begin another
LOOKED_AT = 20


def told(line: str) -> str | None:
    """The separator that a line `sep=;` names; None for any other line."""
    match = TOLD.fullmatch(line)
    return match[1] if match is not None and match[1] in GUESSED_DELIMITERS else None


def guessed_delimiter(lines: Sequence[str]) -> str:
    """What separates the fields of a table, by its first lines: what its first line has outside of quotes.

    Where that has semicolons and commas, commas may be decimal: the one counts of which all lines have as many.
    """
    first = [QUOTED.sub("", line.strip()) for line in lines[:LOOKED_AT] if line.strip()]
    if not first:
        return ","
    if "\t" not in first[0] and "," in first[0] and ";" in first[0]:
        return ";" if _semicolons(first) else ","
    found = next((delimiter for delimiter in GUESSED_DELIMITERS if delimiter in first[0]), ",")
    # A name of two words above one column of numbers is no table of two columns.
    return "," if found == " " and len(first) > 1 and not any(" " in line for line in first[1:]) else found


def _semicolons(lines: Sequence[str]) -> bool:
    """Whether semicolons, and not commas, separate the columns of lines that have both."""
    even = [len({line.count(mark) for line in lines}) == 1 for mark in ";,"]
    if even[0] != even[1]:
        return even[0]
    return all(_is_number(field.strip()) for line in lines for field in line.split(";"))


def _is_number(field: str) -> bool:
    return parsed(field) is not None or COMMA.fullmatch(field) is not None


def fields_of(line: str, delimiter: str) -> list[str]:
    """The fields of a line, as a table has them; a quoted field that ends on another line is cut off."""
    if '"' not in line:
        return line.split() if delimiter == " " else line.split(delimiter)
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return line.split(delimiter)


def is_quoted(line: str, delimiter: str) -> bool:
    """Whether the fields of a header are in quotes, all of them, as R's write.table has it."""
    names = [name.strip() for name in line.split(delimiter)]
    return all(len(name) > 1 and name[0] == name[-1] == '"' for name in names)
