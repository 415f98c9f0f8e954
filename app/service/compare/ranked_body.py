"""A table with gold and the scores, or the labels, of many systems as the body of a request, its options in the query."""

from __future__ import annotations

from dataclasses import replace

from ...errors import relocated
from ...inputs.delimited import Delimiter
from ...inputs.formats import catalogue
from ...inputs.formats.reader import ReaderOptions
from ...inputs.formats.source import Source
from ..messages import Job
from ..query import OF_A_BOARD, Query
from .files import FilesOfSystems, one_file
from .form_fields import fields_of

# Options of the reader that a query may have: they say which column is what.
COLUMNS = ("gold_column", "event_column", "groups", "clusters", "id_column")
_ROLE = "body"
_OF_ANSWERS = ("format", "theme", *OF_A_BOARD)


def has_gold(query: Query) -> bool:
    """Whether a query says that a table has gold: it names its column, or a statistic of what is compared with gold."""
    return any(
        name in ("gold_column", "event_column")
        or (name == "statistic" and catalogue.told_by_statistic(text) is not None)
        for name, text in query
    )


def parse_ranked(job: Job, body: bytes | bytearray, delimiter: Delimiter) -> FilesOfSystems:
    """Read the table; raises InputError with pointers `/line/…` and `/?<name>`."""
    given = [(name, text) for name, text in job.query if name not in _OF_ANSWERS]
    with relocated(_in_body):
        fields, source = fields_of(given), Source(_ROLE, "", bytes(body))
        limits = job.limits
        options = ReaderOptions.of_form(
            fields.reader, max_inflated_bytes=limits.max_body_bytes, max_items=limits.max_items
        )
        found = one_file(
            source, replace(fields, format=_format_of(source, options)), replace(options, delimiter=delimiter)
        )
    boards = {name: board.within(_in_body) for name, board in found.boards.items()}
    return replace(found, boards=boards)


def _format_of(source: Source, options: ReaderOptions) -> str:
    """The format that the statistic tells; else it is guessed, of a table beside gold in any case."""
    told = catalogue.told_by_statistic(options.statistic)
    if told is not None:
        return told
    guessed = catalogue.guess({"file": source}, options).name
    beside = {catalogue.RANKED, catalogue.LABELLED, *catalogue.TABLES}
    return catalogue.AUTO if guessed in beside else catalogue.RANKED


def _in_body(pointer: str) -> str:
    """The map for places in a body that was read as a file, and options that were read as fields."""
    head, _, rest = pointer.removeprefix("/options/").partition("/")
    if pointer.startswith("/options/"):
        return f"/?{head}" + (f"/{rest}" if rest else "")
    return pointer.removeprefix(f"/files/{_ROLE}")
