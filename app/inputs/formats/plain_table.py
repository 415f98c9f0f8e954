"""The usual table with a header, cut into columns at C speed: nothing quoted, no comment, no empty line.

What it reads, `table` reads alike; everything else, and everything that is wrong, is left to that: it names the line.
"""

from __future__ import annotations

import math

import numpy as np
from pydantic_core import from_json

from ..delimited import MAX_COLUMNS, NEWLINE, is_grid
from ..tiny_numbers import may_hold
from .number_looks import are_data
from .number_text import MAX_NUMBER_CHARS, Number
from .reader import DELIMITERS, ReaderOptions
from .separators import LOOKED_AT, guessed_delimiter, told
from .source import OTHER_BOMS, UTF8_BOM, Source

# Longer lines may have a field that the csv module refuses.
_LONGEST_LINE = 100_000


def plain_columns(source: Source, options: ReaderOptions) -> dict[str, list[str]] | None:
    """The fields of each column below the header, by its name; None where `table` is to read."""
    content = source.content
    if content.startswith((UTF8_BOM, *OTHER_BOMS, b"#")):
        return None
    flat = content.replace(b"\r\n", b"\n").removesuffix(b"\n")
    first, _, rest = flat.partition(b"\n")
    if not rest or len(first) > _LONGEST_LINE or _longest_line(rest) > _LONGEST_LINE:
        return None
    try:
        header, text = first.decode(), rest.decode()
    except UnicodeDecodeError:
        return None
    if options.delimiter:
        delimiter = DELIMITERS[options.delimiter]
    else:
        delimiter = guessed_delimiter([header, *text.split("\n", LOOKED_AT)[: LOOKED_AT - 1]])
    names = [name.strip() for name in header.split(delimiter)]
    if told(header) or not _is_header(names) or delimiter == " " or not is_grid(flat, names, delimiter):
        return None
    fields = text.replace("\n", delimiter).split(delimiter)
    columns = [fields[index :: len(names)] for index in range(len(names))]
    # Lines without anything in them begin with nothing.
    return dict(zip(names, columns, strict=True)) if all(map(str.strip, columns[0])) else None


def _longest_line(text: bytes) -> int:
    ends = np.flatnonzero(np.frombuffer(text, dtype=np.uint8) == NEWLINE)
    return int(np.diff(ends, prepend=-1, append=len(text)).max())


def _is_header(names: list[str]) -> bool:
    """Whether these are the names of two or more columns: different ones, and no numbers."""
    return (
        1 < len(names) <= MAX_COLUMNS
        and len({name.lower() for name in names}) == len(names)
        and any(names)
        and not are_data(names)
    )


def plain_numbers(fields: list[str]) -> list[Number] | None:
    """Numbers as JSON writes them, which `parsed` reads alike; None where any field is something else."""
    if not fields or max(map(len, fields)) > MAX_NUMBER_CHARS:
        return None
    text = "[" + ",".join(fields) + "]"
    try:
        values: list[Number] = from_json(text, allow_inf_nan=False)
    except ValueError:
        return None
    if may_hold(text):
        return None
    # As many numbers as fields, and nothing else: then each field is one.
    if len(values) != len(fields) or not set(map(type, values)) <= {int, float}:
        return None
    return None if math.inf in values or -math.inf in values else values
