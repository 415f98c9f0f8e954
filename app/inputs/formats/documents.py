"""Documents as clusters: the document of every sentence, from marks in a file or from a file of its own."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np

from ...errors import InvalidTest
from ...statistics.paired import Pairing
from ..frame import table
from ..quoting import quoted
from .reader import ReaderOptions
from .source import Source

DOCUMENT = "document"
COLUMNS = "\t,|;"


def coded(keys: Sequence[object]) -> Pairing:
    """A pairing by order whose clusters are these keys, one per item."""
    code = {key: index for index, key in enumerate(dict.fromkeys(keys))}
    codes = np.fromiter((code[key] for key in keys), dtype=np.int64, count=len(keys))
    return Pairing(clusters=codes, n_clusters=len(code))


def document_clusters(
    documents: Sequence[str | None], wanted: str | None, source: Source, notes: list[str]
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
        detail = "clusters can be document here."
        raise InvalidTest.at("/options/clusters", "invalid_option", detail)
    if None in documents:
        detail = f"{source.label}: {'a sentence comes before the first' if names else 'there is no'} mark of a document "
        detail += "(# newdoc, -DOCSTART-), so documents cannot be clusters."
        raise InvalidTest.at(source.pointer, "no_documents", detail)
    notes.append(f"The clusters are the {len(names):,} documents.")
    return [key for key in documents if key is not None]


def from_file(source: Source, n: int, options: ReaderOptions, notes: list[str]) -> list[str]:
    """The document of each of n sentences: the last column of a table, in the order of the sentences.

    One line more than sentences means that the first is a header; blanks separate columns only with `delimiter`.

    Raises
    ------
    InvalidTest
        It does not have one line for each sentence.
    """
    names = _names(source, options, notes)
    if len(names) == n + 1:
        notes.append(f"{source.label}: the first line, {quoted(names[0])}, is the header.")
        return names[1:]
    if len(names) != n:
        detail = f"{source.label} has {len(names):,} lines for {n:,} sentences; one for each is needed, and perhaps a header."
        raise InvalidTest.at(source.pointer, "length_mismatch", detail)
    return names


def _names(source: Source, options: ReaderOptions, notes: list[str]) -> list[str]:
    """The last field of every line, the header's first if there is one."""
    lines = list(
        itertools.dropwhile(lambda line: line.startswith("#"), filter(str.strip, source.lines(notes)))
    )
    if options.delimiter is None and not any(
        delimiter in line for line in lines[:1] for delimiter in COLUMNS
    ):
        return [line.strip() for line in lines]
    rows = table(source, options, notes)
    last = rows.names[-1]
    return [name.strip() for name in [*([last] if rows.has_header else []), *rows.column(last)]]
