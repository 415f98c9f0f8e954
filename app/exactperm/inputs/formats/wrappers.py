"""JSON documents that hold a table: a list of objects somewhere inside, a grid below `columns`, or objects of columns or rows.

What they become is rows, as lines of JSON are: `{"results": [{…}, …]}` and `{"columns": […], "data": [[…], …]}` (pandas
orient="split", wandb.Table, MLflow), `{column: {row: value}}` (pandas' default) and `{column: [value, …]}`,
`{key: {metric: number}}` (pytrec_eval). Objects inside of rows become fields by dotted paths, `scores.Factuality`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from ...errors import InvalidTest
from ...statistics.direction import of_name
from ..names import ID, SCORE, SYSTEM
from ..quoting import escaped, quoted
from .reader import choose

# Names of lists that hold the items of an evaluation.
LISTS = ("results", "items", "data", "records", "examples", "samples", "rows")
KEYS = frozenset((*ID, *SYSTEM, *SCORE, "u", "v"))
# Parts of a data set and means over classes: their rows are summaries, and no items.
PARTS = frozenset(("train", "test", "dev", "val", "valid", "validation", "overall", "all", "average", "mean", "total"))  # fmt: skip
OF_LM_EVAL = frozenset(("n-samples", "n-shot", "versions", "configs", "higher_is_better"))
OF_MTEB = frozenset(("mteb_version", "mteb_dataset_name", "dataset_revision"))
MOST_NESTED, DEEPEST = 200, 4

Object = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Table:
    """Rows with their pointers below the document's.

    `within` says where in its row a field is, where that is not under its name; `by_column` that the document holds columns.
    """

    rows: list[tuple[str, Object]]
    within: Mapping[str, str] = field(default_factory=dict)
    by_column: bool = False


def table_of(document: Object, pointer: str, path: str | None = None) -> Table | None:
    """The rows of a document; None if it holds no table. `path` names the list or object that holds them, `results.items`.

    Raises
    ------
    InvalidTest
        Several lists may be the items, there is nothing at `path`, a row of the grid is too long or short, or the document
        holds averages alone.
    """
    if path is not None:
        return _at(document, pointer, path)
    averages = averages_in(document)
    if averages is not None:
        raise InvalidTest.at(pointer, "averages_only", averages)
    table = _whole(document, pointer)
    if table is not None:
        return table
    lists = lists_of(document)
    named = [found for found in lists if found[-1] in LISTS]
    if len(named) == 1:
        return _rows(_inside(document, named[0]), named[0])
    if lists:
        names = [".".join(found) for found in named or lists]
        which = "lists" if len(names) > 1 else "a list"
        raise choose(pointer, "path", "list of items", names, f"The document has {which} of objects. ")
    return None


def holds_table(document: Object) -> bool:
    """Whether `table_of` has rows for a document, asks which, or says what its averages lack."""
    return _form(document) is not None or averages_in(document) is not None or bool(lists_of(document))


def holds_lists(document: Object) -> bool:
    """Whether an object on one line is a document with a list of items, and no line with one item."""
    return _form(document) is not None or any(found[-1] in LISTS for found in lists_of(document))


def lists_of(document: Object) -> list[tuple[str, ...]]:
    """The paths of the lists of objects on the first two levels."""
    found = [(name,) for name, value in document.items() if _objects(value)]
    return found + [
        (outer, name)
        for outer, inner in document.items() if isinstance(inner, dict)
        for name, value in inner.items() if _objects(value)
    ]  # fmt: skip


def nested(row: Object) -> dict[str, tuple[str, ...]]:
    """The dotted paths of what is inside of objects in a row, with their parts; none that is a name in the row itself."""

    def paths(value: Object, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        for name, inner in value.items():
            here = (*above, name)
            if isinstance(inner, dict) and len(here) < DEEPEST:
                yield from paths(inner, here)
            elif above:
                yield here

    found = {".".join(parts): parts for parts in islice(paths(row, ()), MOST_NESTED)}
    return {name: parts for name, parts in found.items() if name not in row}


def flat(row: Object, paths: Mapping[str, tuple[str, ...]]) -> Object:
    """The row with what is at these paths as fields; the objects that hold them are left out."""
    whole = {name: value for name, value in row.items() if not isinstance(value, dict)}
    for name, parts in paths.items():
        value: Any = row
        for part in parts:
            value = value.get(part, _ABSENT) if isinstance(value, dict) else _ABSENT
        if value is not _ABSENT:
            whole[name] = value
    return whole


_ABSENT = object()


def averages_in(document: Object) -> str | None:
    """What to say of a document of averages alone, and what holds the items instead; None of others."""
    scores = document.get("scores")
    if isinstance(document.get("results"), dict) and not OF_LM_EVAL.isdisjoint(document):
        return "Averages of lm-evaluation-harness have no items: run it with --log_samples, and give samples_*.jsonl."
    if isinstance(scores, dict) and not OF_MTEB.isdisjoint(document):
        return (
            "MTEB writes one score of a whole task, which has no items. To compare over tasks, give a table with a line for each "
            "(task,u,v); to compare on one task, give the scores of its queries or pairs."
        )
    parts = len(document) > 0 and document.keys() <= PARTS
    if parts and all(isinstance(one, dict) for one in document.values()):
        return "Scores of whole parts of the data are averages, and no items: give the scores of the items."
    return None


def _objects(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(one, dict) for one in value)


def _inside(document: Any, path: Sequence[str]) -> Any:
    for name in path:
        document = document.get(name) if isinstance(document, dict) else None
    return document


def _rows(rows: Sequence[Object], path: Sequence[str]) -> Table:
    below = "/".join(map(escaped, path))
    return Table([(f"{below}/{index}" if below else str(index), row) for index, row in enumerate(rows)])


def _at(document: Object, pointer: str, path: str) -> Table:
    inner = _inside(document, path.split("."))
    if _objects(inner):
        return _rows(inner, path.split("."))
    names = [".".join(found) for found in lists_of(document)]
    raise choose(pointer, "path", "list of items", names, f"There is no list of objects at {quoted(path)}. ")


def _form(document: Object) -> str | None:
    """Which of the forms a whole document has; None for others."""
    header, grid = document.get("columns"), document.get("data")
    if isinstance(header, list) and isinstance(grid, list) and all(isinstance(row, list) for row in grid):
        return "split" if header and all(isinstance(name, str | int) for name in header) else None
    values = list(document.values())
    if not values:
        return None
    if all(isinstance(value, list) for value in values):
        return "lists" if _are_columns(document) else None
    if not all(isinstance(value, dict) and value for value in values):
        return None
    inner = [list(value) for value in values]
    scalars = all(not isinstance(one, dict | list) for value in values for one in value.values())
    if scalars and all(keys == inner[0] for keys in inner) and _rows_are_inside(list(document), inner[0]):
        return "columns"
    common = set(inner[0]).intersection(*inner)
    has_numbers = any(isinstance(values[0][name], int | float) for name in common)
    return "rows" if len(values) > 1 and has_numbers else None


def _are_columns(document: Object) -> bool:
    """Whether lists of one length are columns: one has texts, or the name of an id; else they are samples by id."""
    lengths = {len(value) for value in document.values()}
    texts = any(isinstance(one, str) for value in document.values() for one in value)
    flat_lists = not any(isinstance(one, dict | list) for value in document.values() for one in value)
    named = texts or not KEYS.isdisjoint(map(str.lower, document))
    return flat_lists and len(lengths) == 1 and 0 not in lengths and named


def _rows_are_inside(outer: list[str], inner: list[str]) -> bool:
    """Whether the keys inside are rows, so that the outer ones are columns: they count, or only the outer ones are known."""
    if _count(inner):
        return not _count(outer)

    def are_known(names: list[str]) -> bool:
        return any(name.lower() in KEYS or of_name(name) is not None for name in names)

    return are_known(outer) and not are_known(inner)


def _count(names: Sequence[str]) -> bool:
    return list(names) in ([str(n) for n in range(len(names))], [str(n) for n in range(1, len(names) + 1)])


def _whole(document: Object, pointer: str) -> Table | None:
    form = _form(document)
    if form == "split":
        return _split(document, pointer)
    if form == "lists":
        each = zip(*document.values(), strict=True)
        rows = [(str(row), dict(zip(document, cells, strict=True))) for row, cells in enumerate(each)]
        return Table(rows, by_column=True)
    if form == "columns":
        keys = list(next(iter(document.values())))
        has_ids = not KEYS.isdisjoint(map(str.lower, document.keys() - set(SCORE)))
        ids: dict[str, Object] = {} if _count(keys) or has_ids else {key: {"id": key} for key in keys}
        rows = [
            (escaped(key), ids.get(key, {}) | {name: values[key] for name, values in document.items()})
            for key in keys
        ]
        return Table(rows, by_column=True)
    if form == "rows":
        return Table([(escaped(key), {"id": key, **row}) for key, row in document.items()])
    return None


def _split(document: Object, pointer: str) -> Table:
    header = list(map(str, document["columns"]))
    index: Any = document.get("index")
    rows: list[tuple[str, Object]] = []
    for number, cells in enumerate(document["data"]):
        if len(cells) != len(header):
            detail = f"This row has {len(cells)} cells, and there are {len(header)} columns."
            raise InvalidTest.at(f"{pointer}/data/{number}", "wrong_field_count", detail)
        rows.append((f"data/{number}", dict(zip(header, cells, strict=True))))
    is_of_rows = isinstance(index, list) and len(index) == len(rows) and not _count(list(map(str, index)))
    if is_of_rows and "id" not in header:
        rows = [(path, {"id": key, **row}) for (path, row), key in zip(rows, index, strict=True)]
    return Table(rows, {name: str(place) for place, name in enumerate(header)})
