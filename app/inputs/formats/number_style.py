"""How a table writes its numbers: with points or decimal commas, with percent signs or without, true and false.

Looked at over all of the columns that are compared, so that they are read alike. A guess is made only where the numbers
can mean nothing else, and is noted; what is left is refused by `number_faults`, field by field.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from ..missing_texts import is_missing
from .number_faults import COMMA, EITHER, PERCENT, THOUSANDS
from .number_text import TRUTH, NumberReader, parsed, plain_numbers
from .reader import ReaderOptions


def number_reader(
    columns: Iterable[Sequence[str]], options: ReaderOptions, label: str, notes: list[str]
) -> NumberReader:
    """The reader of the numbers in these columns of text; what it makes of them is added to `notes`."""
    reader = NumberReader.of(options)
    odd: set[str] = set()
    points = False
    for column in columns:
        if plain_numbers(list(column)) is not None and not reader.comma:
            points = points or any("." in text for text in column)
            continue
        for text in set(map(str.strip, column)):
            if parsed(text) is not None:
                points = points or "." in text
            elif not is_missing(text):
                odd.add(text)
    percents = {text for text in odd if PERCENT.fullmatch(text)}
    bodies = (odd - percents) | {text[:-1].rstrip() for text in percents}
    points = points or any("." in text for text in bodies if any(map(str.isdigit, text)))
    commas = {text for text in bodies if COMMA.fullmatch(text)}
    certain = any(not EITHER.fullmatch(text) for text in commas)
    comma = reader.comma
    if options.decimal is None and certain and not points and not any(map(_has_thousands, bodies)):
        comma = True
        example = min(text for text in commas if not EITHER.fullmatch(text))
        notes.append(f"{label}: commas were read as decimal points ({example[:40]}).")
    if percents:
        notes.append(f"{label}: percent signs were left out: 85% is 85.")
    if any(text.lower() in TRUTH for text in odd):
        notes.append(f"{label}: true is 1 and false is 0.")
    return replace(reader, comma=comma, percent=bool(percents))


def _has_thousands(text: str) -> bool:
    """Whether a text can only be a number with thousands separators."""
    return THOUSANDS.fullmatch(text) is not None and EITHER.fullmatch(text) is None
