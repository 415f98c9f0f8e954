"""Files of one token a line: columns between tabs or blanks, an empty line after each sentence."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from ...errors import InvalidTest
from ..quoting import quoted
from .reader import ReaderOptions, choose
from .source import Source

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
        return chosen(found, options.token_column)
    return 1 if _counts_tokens(found) else 0


def _counts_tokens(found: Tokens) -> bool:
    counted = found.width > 2 and all(
        row[0] == str(place) for sentence in found.sentences for place, row in enumerate(sentence, 1)
    )
    return counted and any(len(sentence) > 1 for sentence in found.sentences)


def tag_columns(found: Tokens, token: int, wanted: int, options: str) -> list[int]:
    """The columns of BIO tags after the token, when it is certain which they are.

    As many as are `wanted`; or all there are, if these agree; or the last ones of the file, where gold and predictions
    stand beside each other, as conlleval reads them. Behind an index and a token the tag follows (UNER).

    Raises
    ------
    InvalidTest
        There are too few, or others besides (`options` choose among them), or a column has tags but for some values.
    """
    there = []
    for place in range(token + 1, found.width):
        tags = sum(TAG.fullmatch(row[place]) is not None for sentence in found.sentences for row in sentence)
        if tags == sum(map(len, found.sentences)):
            there.append(place)
        elif tags * 2 > sum(map(len, found.sentences)) and _has_entities(found, place):
            raise _no_tags(found, place, "All others of this column are BIO tags", options)
    if len(there) < wanted:
        place = min(token + 1, found.width - 1) if wanted == 1 else found.width - 1
        needed = "1 column of BIO tags is" if wanted == 1 else f"{wanted} columns of BIO tags are"
        why = f"{needed} needed after the token and {len(there)} {'is' if len(there) == 1 else 'are'} there"
        raise _no_tags(found, place, why, options)
    if wanted == 1:
        if token and _counts_tokens(found) and there[0] == token + 1:
            return there[:1]
        if all(found.column(place) == found.column(there[0]) for place in there[1:]):
            return there[:1]
    elif len(there) == wanted or there[-wanted:] == list(range(found.width - wanted, found.width)):
        return there[-wanted:]
    columns = [f"{place + 1} ({_example(found, place)})" for place in there]
    why = f"There are {len(there)} columns of BIO tags after the token, and they differ. Give {options}, counted from one. "
    raise choose(found.source.pointer, "tag_column", "column of tags", columns, why)


def _has_entities(found: Tokens, place: int) -> bool:
    return any(row[place][:2] in {"B-", "I-"} for sentence in found.sentences for row in sentence)


def _example(found: Tokens, place: int) -> str:
    """A tag of the column that is not O, if it has one."""
    values = (row[place] for sentence in found.sentences for row in sentence)
    return next((value for value in values if value != "O"), "O")


def _no_tags(found: Tokens, place: int, why: str, options: str) -> InvalidTest:
    """The refusal that names the first value of a column which is no tag."""
    number, value = next(
        (
            (number, row[place])
            for sentence, numbers in zip(found.sentences, found.lines, strict=True)
            for row, number in zip(sentence, numbers, strict=True)
            if not TAG.fullmatch(row[place])
        ),
        (found.lines[0][0], found.sentences[0][0][place]),
    )
    detail = f"{why}; column {place + 1} here is {quoted(value)}. {options} chooses, counted from 1."
    return found.source.refused(number, "no_tags", detail, place + 1)


def chosen(found: Tokens, column: int) -> int:
    """Where the column of this number stands, which is counted from one; raises InvalidTest if there is none."""
    if column > found.width:
        detail = f"there are {found.width} columns, and no column {column}."
        raise found.source.refused(found.lines[0][0], "wrong_field_count", detail)
    return column - 1
