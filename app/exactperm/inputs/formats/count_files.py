"""Files of named numbers per item, one file a system: what ASR and MT scorers write as tables with a header."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InvalidTest
from ..frame import Frame, table
from ..quoting import quoted
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs
from .reader import ReaderOptions, choose
from .source import Source

NO_CLUSTER = "_"


@dataclass(frozen=True, slots=True)
class CountFile:
    """One system's table, and its columns of ids and clusters; `header` has its other columns in lower case."""

    data: Frame
    key: str
    cluster: str | None
    header: tuple[str, ...]

    def outputs(self, names: Sequence[str], reader: NumberReader) -> SystemOutputs:
        """The values of these columns, a row of them for each item."""
        data = self.data
        rows = data.tuples([str(data.chosen("metric", name)) for name in names], reader)
        clusters = None if self.cluster is None else data.keys_known(self.cluster)
        outputs = SystemOutputs(data.source)
        for row, key in enumerate(data.keys_known(self.key) or ()):
            cluster = None if clusters is None or clusters[row] == NO_CLUSTER else clusters[row]
            outputs.add(key, rows[row], data.path(row), cluster)
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
    return CountFile(data, key, cluster, tuple(name.lower() for name in data.names if name != key))


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
