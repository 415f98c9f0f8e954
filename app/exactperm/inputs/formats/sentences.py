"""Sentences in files of one token a line, an empty line after each; and the documents that they are in, as clusters."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from ...errors import InvalidTest
from ...statistics.paired import Pairing
from ..alignment import coded
from ..frame import table
from ..quoting import quoted, quoted_apart
from .reader import ReaderOptions
from .source import Source

DOCSTART = "-DOCSTART-"
NEWDOC = re.compile(r"#\s*newdoc\b(?:\s*id\s*=\s*(?P<id>.*))?")
SENT_ID = re.compile(r"#\s*sent_id\s*=\s*(?P<id>.*)")
DOCUMENT = "document"
DELIMITERS = "\t,|;"


@dataclass(slots=True)
class Sentences:
    """The sentences of a file: rows of columns with their lines; the document that each is in, and its id, where they are marked.

    `comments` and `docstarts` are numbers of lines that hold no token.
    """

    source: Source
    rows: list[list[list[str]]] = field(default_factory=list)
    lines: list[list[int]] = field(default_factory=list)
    documents: list[str | None] = field(default_factory=list)
    ids: list[str | None] = field(default_factory=list)
    comments: int = 0
    docstarts: int = 0

    @property
    def width(self) -> int:
        """How many columns the tokens have."""
        return len(self.rows[0][0])

    def column(self, column: int) -> list[list[str]]:
        """One column of every sentence."""
        return [[row[column] for row in sentence] for sentence in self.rows]

    def values(self, column: int) -> Iterator[str]:
        """One column of every token."""
        return (row[column] for sentence in self.rows for row in sentence)

    def find(self, column: int, wanted: Callable[[str], bool]) -> tuple[int, str] | None:
        """The first such value in a column, with its line."""
        found = set(filter(wanted, set(self.values(column))))
        lines = itertools.chain.from_iterable(self.lines if found else ())
        return next(
            (each for each in zip(lines, self.values(column), strict=False) if each[1] in found), None
        )


def sentences(
    source: Source,
    lines: Sequence[str],
    row_of: Callable[[int, str, int], list[str] | None],
    is_comment: Callable[[str, int], bool],
) -> Sentences:
    """Read the lines of a file; `row_of` makes the columns of a line, None where the line holds no token.

    Both functions get how many tokens of the sentence came before.

    Raises
    ------
    MalformedBody, InvalidTest
        There is no sentence, or as `row_of` does.
    """
    found = Sentences(source)
    document: str | None = None
    key: str | None = None
    rows: list[list[str]] = []
    numbers: list[int] = []
    for number, line in enumerate([*lines, ""], 1):
        if line.startswith("#") and is_comment(line, len(rows)):
            found.comments += 1
            if match := NEWDOC.match(line):
                document = (match["id"] or "").strip() or f"document at line {number}"
            elif match := SENT_ID.match(line):
                key = match["id"].strip()
        elif line.startswith(DOCSTART):
            found.docstarts += 1
            document = f"document at line {number}"
        elif line.strip(" \t"):
            row = row_of(number, line, len(rows))
            if row is not None:
                rows.append(row)
                numbers.append(number)
        elif rows:
            found.rows.append(rows)
            found.lines.append(numbers)
            found.documents.append(document)
            found.ids.append(key)
            rows, numbers, key = [], [], None
    if not found.rows:
        raise source.empty()
    return found


def require_same(
    base: Sentences,
    system: Sentences,
    columns: tuple[int, int],
    what: str,
    below: object,
    *,
    ids: bool = False,
) -> None:
    """Refuse other sentences, or another value in a column of each: another tokenisation cannot be paired; raises InvalidTest."""
    source, role, (mine, other) = system.source, base.source.role, columns
    for index, (expected, rows) in enumerate(zip(base.rows, system.rows, strict=False)):
        lines, numbers = base.lines[index], system.lines[index]
        keys = base.ids[index], system.ids[index]
        if ids and None not in keys and keys[0] != keys[1]:
            ours, theirs = quoted_apart(str(keys[0]), str(keys[1]))
            detail = f"sent_id is {theirs} here and {ours} in {role} (line {lines[0]:,})."
            raise source.refused(numbers[0], "sentence_mismatch", detail, "sent_id")
        for position, (wanted, row) in enumerate(zip(expected, rows, strict=False)):
            if wanted[mine] != row[other]:
                theirs, ours = quoted_apart(row[other], wanted[mine])
                detail = f"the {what} is {theirs} here and {ours} in {role} "
                detail += f"(line {lines[position]:,}); they must be the same."
                code = f"{what.rsplit(maxsplit=1)[-1]}_mismatch"
                raise source.refused(numbers[position], code, detail, below)
        if len(expected) != len(rows):
            detail = (
                f"this sentence has {len(rows)} tokens and {len(expected)} in {role} (line {lines[0]:,})."
            )
            raise source.refused(numbers[0], "length_mismatch", detail)
    if len(base.rows) != len(system.rows):
        detail = f"{source.label} has {len(system.rows):,} sentences and {role} has {len(base.rows):,}."
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)


# Documents


def document_clusters(
    documents: Sequence[str | None], wanted: str | None, source: Source, notes: list[Any]
) -> list[str] | None:
    """The document of every sentence if documents are the clusters, else None.

    Raises
    ------
    InvalidTest
        They are the clusters, and some sentence is in none.
    """
    names = list(dict.fromkeys(key for key in documents if key is not None))
    if wanted is None:
        if names:
            notes.append(
                f"{source.role} marks {len(names):,} documents; clusters: document would swap each as a whole."
            )
        return None
    if wanted != DOCUMENT:
        raise InvalidTest.at("/options/clusters", "invalid_option", "clusters can be document here.")
    if None in documents:
        detail = f"{source.label}: {'a sentence comes before the first' if names else 'there is no'} mark of a document "
        detail += "(# newdoc, -DOCSTART-), so documents cannot be clusters."
        raise InvalidTest.at(source.pointer, "no_documents", detail)
    notes.append(f"The clusters are the {len(names):,} documents.")
    return [key for key in documents if key is not None]


def clustered(keys: Sequence[object] | None) -> Pairing:
    """A pairing by order whose clusters are these keys, one per item."""
    return Pairing(*coded(keys))


def from_file(source: Source, n: int, options: ReaderOptions, notes: list[Any]) -> list[str]:
    """The document of each of n sentences: the last column of a table, in the order of the sentences.

    One line more than sentences means that the first is a header; blanks separate columns only with `delimiter`.

    Raises
    ------
    InvalidTest
        It does not have one line for each sentence.
    """
    lines = filter(str.strip, source.lines(notes))
    names = [line.strip() for line in itertools.dropwhile(lambda line: line.startswith("#"), lines)]
    if options.delimiter is not None or any(
        delimiter in line for line in names[:1] for delimiter in DELIMITERS
    ):
        rows = table(source, options, notes)
        last = rows.names[-1]
        names = [name.strip() for name in [*([last] if rows.has_header else []), *rows.column(last)]]
    if len(names) == n + 1:
        notes.append(f"{source.label}: the first line, {quoted(names[0])}, is the header.")
        return names[1:]
    if len(names) != n:
        detail = f"{source.label} has {len(names):,} lines for {n:,} sentences; one for each is needed, and perhaps a header."
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)
    return names
