"""Files of named numbers per item, one file a system: what ASR and MT scorers write as tables with a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InvalidTest
from ..frame import Frame, table
from ..missing_texts import is_missing
from ..quoting import quoted
from .number_text import NumberReader, parsed
from .outputs_by_id import SystemOutputs
from .reader import ReaderOptions, choose
from .source import Source

NO_CLUSTER = "_"


@dataclass(frozen=True, slots=True)
class CountFile:
    """One system's table, and its columns of ids and clusters."""

    data: Frame
    key: str
    cluster: str | None

    def columns(self) -> list[str]:
        """The names of the columns of numbers."""
        return [name for name in self.data.names if name != self.key]

    def numeric_columns(self) -> list[str]:
        """Those of them with numbers, and missing values at most beside these."""
        texts = {name: self.data.column(name) for name in self.columns()}
        return [
            name
            for name, fields in texts.items()
            if all(parsed(field.strip()) is not None or is_missing(field) for field in fields)
            and not all(map(is_missing, fields))
        ]

    def outputs(self, names: Sequence[str], number_reader: NumberReader, *, row: bool) -> SystemOutputs:
        """The values of these columns: rows of them, or one number each when not `row`."""
        data = self.data
        columns = [str(data.chosen("metric", name)) for name in names]
        outputs = SystemOutputs(data.source)
        for index, key in enumerate(data.column(self.key)):
            values = [
                number_reader.of_text(data.column(name)[index], data.place(index, name)) for name in columns
            ]
            whole = None if None in values else tuple(value for value in values if value is not None)
            cluster = None if self.cluster is None else data.column(self.cluster)[index].strip()
            outputs.add(
                key.strip(),
                whole if row or whole is None else whole[0],
                data.path(index),
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
    if not data.has_header:
        raise source.refused(1, "no_header", "a header with the names of the columns is needed.")
    key = data.chosen("id_column", options.id_column, ids)
    if key is None:
        raise choose(source.line(1), "id_column", "column of ids", list(data.names))
    cluster = data.chosen("clusters", options.clusters)
    if cluster is None and (name := data.find(clusters)) is not None:
        keys = dict.fromkeys(map(str.strip, data.column(name)))
        if list(keys) != [NO_CLUSTER]:
            notes.append(
                f"{source.role}: the column {quoted(name)} has {len(keys):,} values; clusters: {name[:40]} would swap each as a whole."
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
