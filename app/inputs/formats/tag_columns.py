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
GOLD_HINT = (
    "Give the gold standard in a file of its own (`gold`), or put it into a column before the predictions. "
)
ENTITY = frozenset(("B-", "I-", "E-", "S-", "L-", "U-"))
TAG = re.compile(r"O|[BIESLU](?:-.+)?")


@dataclass(slots=True)
class Tokens:
    """Sentences of rows with their lines, and the document each sentence is in."""

    source: Source
    width: int = 0
    sentences: list[list[list[str]]] = field(default_factory=list)
    lines: list[list[int]] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)

    def column(self, column: int) -> list[list[str]]:
        """One column of every sentence."""
        return [[row[column] for row in sentence] for sentence in self.sentences]


def read_tokens(source: Source, notes: list[str]) -> Tokens:
    """Read a file of columns.

    A token may be `#`: a line is a comment only if it looks like one (`# newdoc`, `# text = …`), or, in a file of
    tabs, if it has none.

    Raises
    ------
    InvalidTest
        A line has more or fewer columns than the others.
    """
    lines = source.lines(notes)
    by_tab = _separated_by_tabs(lines)
    tokens = Tokens(source)
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
            rows.append(_row(tokens, number, line, by_tab=by_tab))
            numbers.append(number)
        elif rows:
            tokens.sentences.append(rows)
            tokens.lines.append(numbers)
            tokens.documents.append(document)
            rows, numbers = [], []
    if not tokens.sentences:
        raise source.empty()
    skipped = (
        f"; {comments:,} comments and {docstarts:,} {DOCSTART} lines are no tokens"
        if comments + docstarts
        else ""
    )
    notes.append(f"{source.role}: {len(tokens.sentences):,} sentences read from {source.label}{skipped}.")
    return tokens


def _separated_by_tabs(lines: list[str]) -> bool:
    first = next((line for line in lines if line.strip() and not line.startswith(("#", DOCSTART))), "")
    return "\t" in first


def _is_comment(line: str, *, by_tab: bool) -> bool:
    if not line.startswith("#"):
        return False
    return "\t" not in line if by_tab else COMMENT.match(line) is not None


def _row(tokens: Tokens, number: int, line: str, *, by_tab: bool) -> list[str]:
    row = [value.strip(" ") for value in line.split("\t")] if by_tab else BLANKS.split(line.strip(" "))
    if not tokens.width:
        tokens.width = len(row)
    if len(row) != tokens.width:
        detail = f"there are {len(row)} columns; the first token has {tokens.width}."
        raise tokens.source.refused(number, "wrong_field_count", detail)
    return row


def token_column(tokens: Tokens, options: ReaderOptions) -> int:
    """The first column; the second where the first counts the tokens of a sentence from 1, as UNER's does."""
    if options.token_column is not None:
        return chosen(tokens, options.token_column)
    return 1 if _counts_tokens(tokens) else 0


def _counts_tokens(tokens: Tokens) -> bool:
    counted = tokens.width > 2 and all(
        row[0] == str(number) for sentence in tokens.sentences for number, row in enumerate(sentence, 1)
    )
    return counted and any(len(sentence) > 1 for sentence in tokens.sentences)


def tag_columns(tokens: Tokens, token: int, wanted: int, options: str) -> list[int]:
    """The columns of BIO tags after the token, if they are certain.

    As many as are `wanted`; or all there are, if these agree; or the last ones of the file, where gold and predictions
    stand beside each other, as conlleval reads them, if those before tag something else (chunks). After an index and a
    token the tag follows (UNER).

    Raises
    ------
    InvalidTest
        There are too few, or too many (`options` choose among them), or a column has tags except for some values.
    """
    tagged = []
    for column in range(token + 1, tokens.width):
        tags = sum(
            TAG.fullmatch(row[column]) is not None for sentence in tokens.sentences for row in sentence
        )
        if tags == sum(map(len, tokens.sentences)):
            tagged.append(column)
        elif tags * 2 > sum(map(len, tokens.sentences)) and _has_entities(tokens, column):
            raise _no_tags(tokens, column, "All other values of this column are BIO tags", options)
    if len(tagged) < wanted:
        column = min(token + 1, tokens.width - 1) if wanted == 1 else tokens.width - 1
        needed = "1 column of BIO tags is" if wanted == 1 else f"{wanted} columns of BIO tags are"
        why = f"{needed} needed after the token and {len(tagged)} {'is' if len(tagged) == 1 else 'are'} there"
        raise _no_tags(tokens, column, why, options, "" if wanted == 1 else GOLD_HINT)
    if wanted == 1:
        if token and _counts_tokens(tokens) and tagged[0] == token + 1:
            return tagged[:1]
        if all(tokens.column(column) == tokens.column(tagged[0]) for column in tagged[1:]):
            return tagged[:1]
    elif len(tagged) == wanted or _are_last(tokens, tagged, wanted):
        return tagged[-wanted:]
    columns = [f"{column + 1} ({_example(tokens, column)})" for column in tagged]
    why = f"There are {len(tagged)} columns of BIO tags after the token, and they differ. Give {options}, counted from one. "
    values = [str(column + 1) for column in tagged]
    raise choose(tokens.source.pointer, "tag_column", "column of tags", columns, why, values=values)


def _are_last(tokens: Tokens, tagged: list[int], wanted: int) -> bool:
    """Whether gold and predictions are the last columns, and those of tags before them have other types, or are the same."""
    last = tagged[-wanted:]
    if last != list(range(tokens.width - wanted, tokens.width)):
        return False
    types = set().union(*(_types(tokens, column) for column in last))
    return all(
        types.isdisjoint(_types(tokens, column)) or tokens.column(column) == tokens.column(last[0])
        for column in tagged[:-wanted]
    )


def _types(tokens: Tokens, column: int) -> set[str]:
    return {row[column][2:] for sentence in tokens.sentences for row in sentence if row[column] != "O"}


def _has_entities(tokens: Tokens, column: int) -> bool:
    return any(row[column][:2] in ENTITY for sentence in tokens.sentences for row in sentence)


def _example(tokens: Tokens, column: int) -> str:
    """A tag of the column other than O, if it has one."""
    values = (row[column] for sentence in tokens.sentences for row in sentence)
    return next((value for value in values if value != "O"), "O")


def _no_tags(tokens: Tokens, column: int, why: str, options: str, hint: str = "") -> InvalidTest:
    """The refusal that names the first value of a column that is not a tag."""
    number, value = next(
        (
            (number, row[column])
            for sentence, numbers in zip(tokens.sentences, tokens.lines, strict=True)
            for row, number in zip(sentence, numbers, strict=True)
            if not TAG.fullmatch(row[column])
        ),
        (tokens.lines[0][0], tokens.sentences[0][0][column]),
    )
    detail = f"{why}; column {column + 1} here is {quoted(value)}. {hint}"
    detail += f"{options} {'choose' if ' and ' in options else 'chooses'} the column, counted from 1."
    return tokens.source.refused(number, "no_tags", detail, column + 1)


def chosen(tokens: Tokens, column: int) -> int:
    """The index of a column whose number is counted from one; raises InvalidTest if there is none."""
    if column > tokens.width:
        detail = f"there are {tokens.width} columns, and no column {column}."
        raise tokens.source.refused(tokens.lines[0][0], "wrong_field_count", detail)
    return column - 1
