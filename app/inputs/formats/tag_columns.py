"""Files of one token a line: columns between tabs or blanks, an empty line after each sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from app.inputs.formats.reading import ReaderOptions
from app.inputs.formats.source import Source
from app.inputs.pairing import shown

DOCSTART = "-DOCSTART-"
COMMENT = re.compile(r"#\s*(?:newdoc\b|newpar\b|[\w.]+\s*=)")
NEWDOC = re.compile(r"#\s*newdoc\b(?:\s*id\s*=\s*(?P<id>.*))?")
BLANKS = re.compile(r"[ \t]+")
TAG = re.compile(r"O|[BIESLU](?:-.+)?")


@dataclass(slots=True)
class Tokens:
    """Sentences of rows with their lines, and the document each sentence is in."""

    source: Source
    width: int = 0
    sentences: list[list[list[str]]] = field(default_factory=list)
    lines: list[list[int]] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)

    def column(self, place: int) -> list[list[str]]:
        """One column of every sentence."""
        return [[row[place] for row in sentence] for sentence in self.sentences]


def tokens(source: Source, notes: list[str]) -> Tokens:
    """Read a file of columns.

    A token may be `#`: a line is a comment only if it looks like one (`# newdoc`, `# text = …`), or, in a file of
    tabs, if it has none.

    Raises
    ------
    InvalidTest
        A line has not as many columns as the others.
    """
    lines = source.lines(notes)
    by_tab = _separated_by_tabs(lines)
    found = Tokens(source)
    document: str | None = None
    rows: list[list[str]] = []
    numbers: list[int] = []
    comments = docstarts = 0
    for number, line in enumerate([*lines, ""], 1):
        if _is_comment(line, by_tab=by_tab):
            comments += 1
            if match := NEWDOC.match(line):
                document = (match["id"] or "").strip() or f"document at line {number}"
        elif line.startswith(DOCSTART):
            docstarts += 1
            document = f"document at line {number}"
        elif line.strip(" \t"):
            rows.append(_row(found, number, line, by_tab=by_tab))
            numbers.append(number)
        elif rows:
            found.sentences.append(rows)
            found.lines.append(numbers)
            found.documents.append(document)
            rows, numbers = [], []
    if not found.sentences:
        raise source.empty()
    skipped = (
        f"; {comments:,} comments and {docstarts:,} {DOCSTART} lines are no tokens"
        if comments + docstarts
        else ""
    )
    notes.append(f"{source.role}: {len(found.sentences):,} sentences read from {source.label}{skipped}.")
    return found


def _separated_by_tabs(lines: list[str]) -> bool:
    first = next((line for line in lines if line.strip() and not line.startswith(("#", DOCSTART))), "")
    return "\t" in first


def _is_comment(line: str, *, by_tab: bool) -> bool:
    if not line.startswith("#"):
        return False
    return "\t" not in line if by_tab else COMMENT.match(line) is not None


def _row(found: Tokens, number: int, line: str, *, by_tab: bool) -> list[str]:
    row = [value.strip(" ") for value in line.split("\t")] if by_tab else BLANKS.split(line.strip(" "))
    if not found.width:
        found.width = len(row)
    if len(row) != found.width:
        detail = f"there are {len(row)} columns; the first token has {found.width}."
        raise found.source.refused(number, "wrong_field_count", detail)
    return row


def token_column(found: Tokens, options: ReaderOptions) -> int:
    """The first column; the second where the first counts the tokens of a sentence from 1, as UNER's does."""
    if options.token_column is not None:
        return _chosen(found, options.token_column)
    first = found.sentences[0]
    counted = found.width > 2 and all(
        row[0] == str(place) for sentence in found.sentences for place, row in enumerate(sentence, 1)
    )
    return 1 if counted and len(first[0]) > 1 else 0


def tag_columns(found: Tokens, token: int, options: ReaderOptions, wanted: int) -> list[int]:
    """The last `wanted` columns in which every value is a BIO tag; or the one that was chosen."""
    if options.tag_column is not None and wanted == 1:
        return [_chosen(found, options.tag_column)]
    there = [
        place
        for place in range(token + 1, found.width)
        if all(TAG.fullmatch(row[place]) for sentence in found.sentences for row in sentence)
    ]
    if len(there) >= wanted:
        return there[-wanted:]
    place = min(token + 1, found.width - 1) if wanted == 1 else found.width - 1
    number, value = next(
        (
            (number, row[place])
            for sentence, numbers in zip(found.sentences, found.lines, strict=True)
            for row, number in zip(sentence, numbers, strict=True)
            if not TAG.fullmatch(row[place])
        ),
        (found.lines[0][0], found.sentences[0][0][place]),
    )
    detail = f"{wanted} column{'s' * (wanted != 1)} of BIO tags {'are' if wanted != 1 else 'is'} needed after the token "
    detail += f"and {len(there)} {'is' if len(there) == 1 else 'are'} there; column {place + 1} here is {shown(value)}. "
    raise found.source.refused(
        number, "no_tags", detail + "tag_column= chooses one, counted from 1.", place + 1
    )


def _chosen(found: Tokens, column: int) -> int:
    if column > found.width:
        detail = f"there are {found.width} columns, and no column {column}."
        raise found.source.refused(found.lines[0][0], "wrong_field_count", detail)
    return column - 1
