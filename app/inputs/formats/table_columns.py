"""Which columns of a table are ids, clusters, scores and systems, and how their numbers are read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from ...errors import InvalidTest
from ..missing_texts import is_missing
from ..names import CLUSTER, ID, SYSTEM_OR_RUN
from ..quoting import quoted
from .number_looks import is_numeric
from .number_style import number_reader
from .number_text import NumberReader, may_be_ids
from .reader import ReaderOptions, choose
from .table import FileTable, weight_column

NAMED = 5


def key_columns(data: FileTable, options: ReaderOptions) -> tuple[int | None, int | None]:
    """The columns of ids and clusters, if there are any."""
    key = data.find(ID)
    if options.id_column is not None:
        key = data.position(options.id_column, "id_column")
    elif key is None and data.index_is_ids:
        key = data.index
    if options.clusters is not None:
        return key, data.position(options.clusters, "clusters")
    return key, data.find(CLUSTER)


def reader_of(
    data: FileTable, columns: Iterable[int], options: ReaderOptions, notes: list[str]
) -> NumberReader:
    """The reader of the numbers in these columns, which are compared; says also what became of the index."""
    key, _ = key_columns(data, options)
    if data.index is not None and key == data.index and options.id_column is None:
        notes.append(
            f"{data.source.label}: the ids of the items are its first column, {_named(data, data.index)}."
        )
    elif data.index is not None and key is None:
        counted = "which counts the rows" if data.index_counts else "which repeats"
        notes.append(f"{data.source.label}: the first column, {counted}, was left out.")
    elif data.index is not None:
        notes.append(f"{data.source.label}: the first column, an index, was left out.")
    return number_reader((data.column(column) for column in columns), options, data.source.label, notes)


def _named(data: FileTable, column: int) -> str:
    return quoted(data.header[column]) if data.header and data.header[column] else "which has no name"


def score_column_of(data: FileTable, options: ReaderOptions) -> int:
    """The column of scores: as chosen, named score, or the only one that is not a key."""
    wanted = options.score_column or options.metric
    if data.header is None:
        if wanted is not None:
            raise InvalidTest.at(
                data.source.pointer, "no_header", "There is no header to find that column in."
            )
        if len(data.rows[0]) != 1:
            detail = (
                "Without a header each of the two files has one column of scores; give a header id,score."
            )
            raise data.source.refused(data.lines[0], "wrong_field_count", detail)
        return 0
    if wanted is not None:
        return data.position(wanted, "score_column")
    rest = other_columns(data, options)
    score = data.find(("score",))
    if score is not None and data.header[score] in rest:
        return score
    if len(rest) > 1:
        rest = _numeric(data, rest) or rest
    if len(rest) != 1:
        ids = "" if options.id_column else _id_hint(data, rest)
        raise choose(data.source.line(1), "score_column", "column of scores", rest or data.header, ids)
    return data.header.index(rest[0])


def _id_hint(data: FileTable, left: list[str]) -> str:
    """How to name the column of ids; the only column of texts that are all different is likely to be it."""
    fields = {name: data.column((data.header or []).index(name)) for name in left}
    likely = [name for name, texts in fields.items() if may_be_ids(texts)]
    if len(likely) != 1:
        return "Name the column of ids (id_column=) if there is one. "
    return f"If {quoted(likely[0])} is the column of ids, give id_column={likely[0][:40]}. "


def other_columns(data: FileTable, options: ReaderOptions) -> list[str]:
    """The columns that are neither id, index, cluster, weight nor system."""
    header = data.header or []
    system = data.find(SYSTEM_OR_RUN)
    if options.system_column is not None:
        system = data.position(options.system_column, "system_column")
    keys = {*key_columns(data, options), weight_column(data, options), system, data.index}
    return [name for column, name in enumerate(header) if column not in keys]


def _numeric(data: FileTable, some: list[str]) -> list[str]:
    """Those columns that are no texts: a number is in them, or nothing at all."""
    header = data.header or []
    return [name for name in some if not is_text(data.column(header.index(name)))]


def is_text(fields: list[str]) -> bool:
    """Whether a column has values, and none is a number: one that has some is read, and refused where it has none."""
    return not any(map(is_numeric, fields)) and not all(map(is_missing, fields))


def systems(data: FileTable, options: ReaderOptions, notes: list[str]) -> list[str]:
    """The columns that may be systems: those of numbers, unless u and v or options say which they are."""
    others = other_columns(data, options)
    if (options.system_u, options.system_v) != (None, None) or {"u", "v"} <= {
        name.lower() for name in others
    }:
        return others
    numeric = _numeric(data, others)
    if len(numeric) < 2:
        texts = [name for name in others if name not in numeric]
        if not texts:
            return others
        detail = f"two columns of scores are needed, and {', '.join(map(quoted, texts[:NAMED]))} {'holds' if len(texts) == 1 else 'hold'} texts"
        example = data.rows[0][(data.header or []).index(texts[0])]
        detail += f", such as {quoted(example)}. Write scores as numbers; labels are compared with gold (format=labels)."
        raise data.source.refused(
            data.lines[0], "not_a_number", detail, (data.header or []).index(texts[0]) + 1
        )
    texts = [name for name in others if name not in numeric]
    if texts:
        more = f" and {len(texts) - NAMED:,} more" if len(texts) > NAMED else ""
        listed = ", ".join(map(quoted, texts[:NAMED]))
        notes.append(f"Columns of texts are no systems and were left out: {listed}{more}.")
    return numeric


def alike(first: FileTable, second: FileTable, options: ReaderOptions) -> tuple[FileTable, FileTable]:
    """Both tables with their indices as ids, where one of them just counts its rows and the other does not.

    Raises
    ------
    InvalidTest
        There are no other ids, and the indices repeat and differ: by order different items might be paired.
    """
    tables = first, second
    if any(
        data.index is None or key_columns(replace(data, index_is_ids=False), options)[0] is not None
        for data in tables
    ):
        return tables
    if any(data.index_is_ids for data in tables):
        return replace(first, index_is_ids=first.index_differs), replace(
            second, index_is_ids=second.index_differs
        )
    if not all(data.index_counts for data in tables) and first.column(0) != second.column(0):
        detail = "The first columns, which have no name of ids, repeat and differ: give a column id, the same items in both files."
        raise InvalidTest.at(second.source.line(1, 1), "choose_id_column", detail)
    return tables


def shared_columns(
    first: FileTable, second: FileTable, scores_of: tuple[int, int]
) -> Iterator[tuple[str, list[str], list[str]]]:
    """The columns that both tables have under one name, one after the other; those of the scores are left out."""
    columns = {name: column for column, name in enumerate(second.header or [])}
    columns = {name: column for name, column in columns.items() if column not in {scores_of[1], second.index}}
    for column, name in enumerate(first.header or []):
        if column not in {scores_of[0], first.index} and name in columns:
            pair_of = ((first, column), (second, columns[name]))
            u, v = ([field.strip() for field in data.column(index)] for data, index in pair_of)
            yield name, u, v
