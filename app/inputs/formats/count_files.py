"""Files of named numbers per item, one file a system: what ASR and MT scorers write as tables with a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InvalidTest
from ..missing_texts import is_missing
from ..quoting import quoted
from .number_text import NumberReader, parsed
from .outputs_by_id import SystemOutputs
from .reader import ReaderOptions, choose
from .source import Source
from .table import FileTable, table

NO_CLUSTER = "_"


@dataclass(frozen=True, slots=True)
class CountFile:
    """One system's table, and its columns of ids and clusters."""

    data: FileTable
    key: int
    cluster: int | None

    def columns(self) -> list[str]:
        """The names of the columns of numbers."""
        header = self.data.header or []
        return [name for column, name in enumerate(header) if column != self.key]

    def numeric_columns(self) -> list[str]:
        """Those of them with numbers, and missing values at most beside these."""
        header, rows = self.data.header or [], self.data.rows
        texts = {name: [row[header.index(name)] for row in rows] for name in self.columns()}
        return [
            name
            for name, fields in texts.items()
            if all(parsed(field.strip()) is not None or is_missing(field) for field in fields)
            and not all(map(is_missing, fields))
        ]

    def outputs(self, names: Sequence[str], number_reader: NumberReader, *, row: bool) -> SystemOutputs:
        """The values of these columns: rows of them, or one number each when not `row`."""
        data = self.data
        columns = [data.position(name, "metric") for name in names]
        outputs = SystemOutputs(data.source)
        for index, fields in enumerate(data.rows):
            values = [
                number_reader.of_text(fields[column], data.pointer(index, column)) for column in columns
            ]
            whole = None if None in values else tuple(value for value in values if value is not None)
            cluster = None if self.cluster is None else fields[self.cluster].strip()
            outputs.add(
                fields[self.key].strip(),
                whole if row or whole is None else whole[0],
                f"line/{data.lines[index]}",
                None if cluster == NO_CLUSTER else cluster,
            )
        return outputs


def count_file(
    source: Source, ids: tuple[str, ...], clusters: tuple[str, ...], options: ReaderOptions, notes: list[str]
) -> CountFile:
    """Read one system's table; `ids` and `clusters` are the names their columns may have.

    Raises
    ------
    InvalidTest
        There is no header, no column of ids, or no column of the clusters given.
    """
    data = table(source, options, notes)
    if data.header is None:
        raise source.refused(1, "no_header", "a header with the names of the columns is needed.")
    if options.id_column is not None:
        key = data.position(options.id_column, "id_column")
    else:
        named = data.find(ids)
        if named is None:
            raise choose(source.line(1), "id_column", "column of ids", data.header)
        key = named
    cluster = None
    if options.clusters is not None:
        cluster = data.position(options.clusters, "clusters")
    elif (column := data.find(clusters)) is not None:
        keys = dict.fromkeys(row[column].strip() for row in data.rows)
        if list(keys) != [NO_CLUSTER]:
            name = data.header[column]
            notes.append(
                f"{source.role}: the column {quoted(name)} has {len(keys):,} values; clusters={name[:40]} would swap each as a whole."
            )
    return CountFile(data, key, cluster)


def require_same(u: SystemOutputs, v: SystemOutputs, column: int, name: str, why: str) -> None:
    """Refuse pairs that differ in the value `column`, which depends on the reference alone."""
    for key, mine in u.index.items():
        other = v.index.get(key)
        if other is None or u.values[mine] is None or v.values[other] is None:
            continue
        if u.values[mine][column] != v.values[other][column]:
            detail = (
                f"{v.source.label}: {name} of {quoted(key)} is {v.values[other][column]} and in u it is "
                f"{u.values[mine][column]}; {why}"
            )
            raise InvalidTest.at(f"{v.source.pointer}/{v.paths[other]}/{name}", f"{name}_mismatch", detail)
