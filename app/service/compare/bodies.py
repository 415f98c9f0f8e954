"""A table, or lines of JSON, of many systems as the body of a request, its options in the query: read as the same file is."""

from __future__ import annotations

from dataclasses import replace

from ...errors import relocated
from ...inputs.formats import catalogue
from ...inputs.formats.reader import ReaderOptions
from ...inputs.formats.source import Source
from ..media_types import CSV, TSV
from ..messages import Job
from ..query import OF_A_BOARD, Query
from .files import FILE, FilesOfSystems, one_file
from .form_fields import fields_of

# Options of the reader that a query may have: they say which column is what, and how a table is written.
COLUMNS = (
    "gold_column", "event_column", "groups", "clusters", "id_column", "score_column", "system_column", "decimal", "delimiter",
)  # fmt: skip
_OF_ANSWERS = ("format", "theme", *OF_A_BOARD)
_FORMATS = {CSV: "csv", TSV: "tsv"}


def parse_body(job: Job, body: bytes | bytearray) -> FilesOfSystems:
    """Read the body; raises InputError with pointers `/line/…` and `/?<name>`."""
    given = [(name, text) for name, text in job.query if name not in _OF_ANSWERS]
    with relocated(_in_body):
        fields, source = fields_of(given), Source(FILE, "", bytes(body), is_body=True)
        limits = job.limits
        options = ReaderOptions.of_form(
            fields.reader, max_inflated_bytes=limits.max_body_bytes, max_items=limits.max_items
        )
        format_ = _FORMATS.get(job.body.media_type, "jsonl")
        if _has_gold(job.query):
            format_ = _beside_gold(source, options)
        return one_file(source, replace(fields, format=format_), options)


def _has_gold(query: Query) -> bool:
    """Whether a query says that a table has gold: it names its column, or a statistic of what is compared with gold."""
    return any(
        name in ("gold_column", "event_column")
        or (name == "statistic" and catalogue.told_by_statistic(text) is not None)
        for name, text in query
    )


def _beside_gold(source: Source, options: ReaderOptions) -> str:
    """The format that the statistic tells; else it is guessed, of a table beside gold in any case."""
    told = catalogue.told_by_statistic(options.statistic)
    if told is not None:
        return told
    guessed = catalogue.guess({FILE: source}, options).name
    beside = {catalogue.RANKED, catalogue.LABELLED, *catalogue.TABLES}
    return catalogue.AUTO if guessed in beside else catalogue.RANKED


def _in_body(pointer: str) -> str:
    """The map for options that were read as fields of a form."""
    if pointer.startswith("/options/"):
        return "/?" + pointer.removeprefix("/options/")
    return "" if pointer == f"/files/{FILE}" else pointer
