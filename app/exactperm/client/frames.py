"""Python tables: data frames of pandas and polars, Arrow, DuckDB relations, structured arrays, records.

A table of several columns is sent as a file, so that the rules for files find its ids, gold, clusters and systems:
as the CSV of `DataFrame.to_csv`, but with unchanged decimals, or as JSON Lines if values are nested. A table of one
column is sent as a column, and one without column names as an array.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from decimal import Decimal
from fractions import Fraction
from os import PathLike
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .data import NUMERIC, array_of, double_of, has_index, is_missing, kinds_of, unit_of_values
from .errors import InvalidData

NESTED = (list, tuple, dict, np.ndarray)
PLAIN = {str, int, float, bool, type(None), Decimal}
REPEATED = re.compile(r"(.*?)[_\- .]?(\d+)")  # run1, seed_2
RUNS = frozenset(
    ("run", "seed", "random_seed", "epoch", "trial", "repeat", "rep", "replicate", "attempt", "iteration", "try", "sample")
)  # fmt: skip
# Numbered names that are different metrics: f1 and f2, rouge1 and rouge2, top1 and top5.
METRICS = frozenset(
    ("f", "mc", "rouge", "bleu", "p", "r", "top", "hit", "hits", "recall", "precision", "ndcg", "map", "mrr", "acc")
)  # fmt: skip
KEY, WEIGHT, SCORE = "id", "weight", "score"


class Labelled:
    """A column with an index, as pandas has them."""

    def __init__(self, values: list[Any], index: list[Any]) -> None:
        self.values = values
        self.index = np.array(index, dtype=object)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        """The values as an array."""
        return np.array(self.values, dtype=dtype)

    def __iter__(self) -> Iterator[Any]:
        """The values in their order."""
        return iter(self.values)

    def __len__(self) -> int:
        """How many there are."""
        return len(self.values)


@dataclass(frozen=True, slots=True)
class Frame:
    """Named columns of one length, unchanged.

    `index` has the labels of rows by level; `counts` is true if they only count rows. `unnamed`: columns are only
    numbered. `source` is the original object.
    """

    columns: dict[str, Any]
    index: dict[str, Any]
    counts: bool
    unnamed: bool
    source: Any

    @property
    def n(self) -> int:
        """How many rows it has."""
        return len(next(iter((self.columns | self.index).values()), ()))

    @property
    def is_table(self) -> bool:
        """Whether it has several named columns."""
        return len(self.columns) > 1 and not self.unnamed

    @classmethod
    def of_column(cls, name: str, column: Any) -> Frame:
        """A table of one column, with its index."""
        levels = getattr(column, "index", None) if labels_of(column) is not None else None
        index = {} if levels is None else {str(levels.name or ""): levels}
        values = list(column.values()) if isinstance(column, Mapping) else column
        return _frame({name: values}, {"id": list(column)} if isinstance(column, Mapping) else index, column)

    def by_name(self) -> dict[str, Any]:
        """The columns by name; labeled if there is a column `id`."""
        if KEY not in self.columns:
            return self.columns
        labels = column_of(self.columns[KEY])
        return {name: Labelled(column_of(one), labels) for name, one in self.columns.items() if name != KEY}

    def as_columns(self, *, counts: bool = False) -> Any:
        """The data that is not sent as a table: one column with its index, counts by name, or rows of an array."""
        if counts and isinstance(self.source, list | tuple):  # counts by item
            return self.source
        if counts and not self.unnamed:
            return self.by_name()
        if len(self.columns) == 1 and not self.unnamed:
            return next(iter(self.columns.values()))
        if hasattr(self.source, "__array__") and hasattr(self.source, "columns"):
            return self.source
        return [list(row) for row in zip(*map(column_of, self.columns.values()), strict=True)]

    @property
    def is_numeric(self) -> bool:
        """Whether every value is a number, as arrays hold them."""
        arrays = [array_of(column) for column in self.columns.values()]
        return all(
            array is not None and array.dtype.kind in NUMERIC and np.isfinite(array).all() for array in arrays
        )

    @property
    def repeats(self) -> bool:
        """Whether all columns are runs of one metric."""
        runs = _runs_of(self.columns)
        return len(runs) == 1 and len(runs[0]) == len(self.columns)

    def folded(self) -> Frame:
        """The table with the runs of an item as one column of lists."""
        numeric = [
            name for name, one in self.columns.items() if set(map(type, column_of(one))) <= {int, float, bool}
        ]
        runs = _runs_of(numeric)
        if len(runs) != 1 or SCORE in self.columns:
            return self
        others = {name: column for name, column in self.columns.items() if name not in runs[0]}
        rows = zip(*(column_of(self.columns[name]) for name in runs[0]), strict=True)
        return replace(self, columns={**others, SCORE: list(map(list, rows))})

    def with_column(self, name: str, values: Any, at: str) -> Frame:
        """The table with one more column, by index or id, else in the order of rows; raises InvalidData."""
        if name in self.columns:
            raise InvalidData(f"The table has a column {name!r} already: leave this out.", pointer=at)
        listed = list(values.values()) if isinstance(values, Mapping) else column_of(values)
        labels = list(map(str, values)) if isinstance(values, Mapping) else labels_of(values)
        labels_of_table = labels_of(self.source)
        if isinstance(values, Mapping) and self.counts:
            labels_of_table = list(map(str, column_of(self.columns.get("id", []))))
        if labels is not None and labels_of_table is not None and labels != labels_of_table:
            by_label = dict(zip(labels, listed, strict=True))
            if not set(labels_of_table) <= set(by_label) or len(set(labels_of_table)) < len(labels_of_table):
                detail = (
                    "These have other labels than the rows of the table; give them in the order of its rows."
                )
                raise InvalidData(detail, pointer=at)
            listed = [by_label[label] for label in labels_of_table]
        if len(listed) != self.n:
            detail = f"The table has {self.n:,} rows, and this has {len(listed):,} values."
            raise InvalidData(detail, pointer=at)
        return replace(self, columns={**self.columns, name: listed})

    def renamed(self, old: str, new: str, at: str) -> Frame:
        """The table with a column renamed to a recognised name; raises InvalidData."""
        if old not in self.columns or (new != old and new in self.columns):
            raise InvalidData(f"There is no column {old!r}, or also one called {new!r}.", pointer=at)
        return replace(
            self, columns={new if name == old else name: one for name, one in self.columns.items()}
        )

    def file(self, stem: str, *, with_index: bool = True) -> tuple[str, bytes]:
        """A file name and the bytes: CSV, or JSON Lines if a value is a list or an object."""
        raw = {**self.index, **self.columns} if with_index else self.columns
        columns = {name: column_of(column) for name, column in raw.items()}
        if any(kind in NESTED for column in columns.values() for kind in set(map(type, column))):
            return f"{stem}.jsonl", _json_lines(columns)
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(_written(name, column) for name, column in columns.items()), strict=True))
        return f"{stem}.csv", stream.getvalue().encode()


def _runs_of(names: Iterable[str]) -> list[list[str]]:
    """The columns of several runs: one name with counting numbers, unless such names are metrics."""
    stems: dict[str, dict[int, str]] = {}
    for name in names:
        match = REPEATED.fullmatch(name)
        if match is not None:
            stems.setdefault(match[1].lower(), {})[int(match[2])] = name
    return [
        list(columns.values())
        for stem, columns in stems.items()
        if len(columns) > 1 and _are_runs(stem, list(columns))
    ]


def _are_runs(stem: str, numbers: list[int]) -> bool:
    if stem in RUNS:
        return True
    return (
        stem not in METRICS
        and "@" not in stem
        and numbers in ([*range(len(numbers))], [*range(1, len(numbers) + 1)])
    )


def unit_of(frames: Iterable[Frame]) -> str | None:
    """The unit of all scores if some are fractions without finite decimals: 1 / common denominator."""
    columns = [column for frame in frames for name, column in frame.columns.items() if name != WEIGHT]
    if not any(Fraction in kinds_of(column) for column in columns):
        return None
    return unit_of_values(one for column in columns for one in column_of(column))


def _written(name: str, column: list[Any]) -> list[Any]:
    """A column for the module csv: fractions as numbers, unless they are weights; NaN as empty."""
    kinds = set(map(type, column))
    if Decimal in kinds:
        column = [
            double_of(one) if isinstance(one, Decimal) and not is_missing(one) else one for one in column
        ]
    absent = math.isnan if kinds == {float} else is_missing
    if kinds <= PLAIN and not (kinds & {float, Decimal} and any(map(absent, column))):
        return column
    return [_text(one, as_text=name == WEIGHT) for one in column]


def _text(value: Any, *, as_text: bool) -> Any:
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        return float(str(value)) if isinstance(value, np.floating) else value.item()
    return double_of(value) if isinstance(value, Fraction) and not as_text else value


def _json_lines(columns: Mapping[str, list[Any]]) -> bytes:
    names = [name or "index" for name in columns]
    rows = zip(*columns.values(), strict=True)
    lines = (json.dumps(dict(zip(names, map(_json, row), strict=True)), allow_nan=False) for row in rows)
    return "".join(f"{line}\n" for line in lines).encode()


def _json(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _json(one) for key, one in value.items()}
    if isinstance(value, np.ndarray | list | tuple):
        return [_json(one) for one in (column_of(value) if isinstance(value, np.ndarray) else value)]
    if is_missing(value):
        return None
    if isinstance(value, np.generic):
        return _json(_text(value, as_text=False))
    if isinstance(value, Decimal | Fraction):
        return double_of(value)
    return value if isinstance(value, str | bool | int | float) else str(value)


def frame_of(value: Any, at: str = "") -> Frame | None:
    """The value as a table; None for others: a column, an array, a dict.

    Raises
    ------
        InvalidData: the query has not been run, two columns have one name, or pyarrow is missing.
    """
    if isinstance(value, np.ndarray):
        names = value.dtype.names
        return None if names is None else _frame({name: value[name] for name in names}, {}, value)
    if isinstance(value, list | tuple):
        records = bool(value) and all(isinstance(one, Mapping) for one in value)
        return _of_records(value) if records else None
    if isinstance(value, Mapping):
        ids = value.get(KEY)
        named = ids is not None and not isinstance(ids, Mapping) and isinstance(ids, Sized) and len(value) > 1
        return (
            _frame({str(name): one for name, one in value.items()}, {}, value)
            if named and _are_columns(value)
            else None
        )
    if isinstance(value, str | bytes | PathLike) or value is None:
        return None
    if hasattr(value, "collect") and hasattr(value, "collect_schema"):
        raise InvalidData("This table is a query that has not been run: give its .collect().", pointer=at)
    if hasattr(value, "columns") and hasattr(value, "__array__") and not hasattr(value, "column_names"):
        return _of_data_frame(value, at)
    if hasattr(value, "column_names") and hasattr(value, "column"):
        return _of_arrow(value, at)
    if hasattr(value, "__arrow_c_stream__") and not hasattr(value, "__array__"):
        return _of_stream(value, at)
    return None


def _are_columns(columns: Mapping[Any, Any]) -> bool:
    """Whether all are columns of one length; a dict whose `id` is a single value is not a table."""
    several = [
        one
        for one in columns.values()
        if isinstance(one, Sized) and not isinstance(one, str | bytes | Mapping)
    ]
    return len(several) == len(columns) and len(set(map(len, several))) == 1


def _of_data_frame(value: Any, at: str) -> Frame:
    labels = list(value.columns)
    names = [_named(label) for label in labels]
    require_distinct(names, "columns", at)
    unnamed = (
        bool(labels) and all(type(label) is int for label in labels) and labels == list(range(len(labels)))
    )
    index: dict[str, Any] = {}
    levels = getattr(value, "index", None)
    if levels is not None and not callable(levels):
        several = getattr(levels, "nlevels", 1) > 1
        for level, name in enumerate(getattr(levels, "names", [None])):
            index["" if name is None else _named(name)] = (
                levels.get_level_values(level) if several else levels
            )
    columns = {name: value[label] for name, label in zip(names, labels, strict=True)}
    return replace(_frame(columns, index, value), unnamed=unnamed)


def _of_arrow(value: Any, at: str) -> Frame:
    require_distinct(list(value.column_names), "columns", at)
    return _frame({name: value.column(place) for place, name in enumerate(value.column_names)}, {}, value)


def _of_stream(value: Any, at: str) -> Frame:
    """Objects that export Arrow streams, such as DuckDB relations and batch readers."""
    try:
        import pyarrow as pa
    except ImportError:
        if not hasattr(value, "fetchall"):
            detail = "Arrow data need the package pyarrow; install it, or give a data frame."
            raise InvalidData(detail, pointer=at) from None
        rows = value.fetchall()
        columns = {name: [row[place] for row in rows] for place, name in enumerate(value.columns)}
        return _frame(columns, {}, value)
    return _of_arrow(pa.table(value), at)


def _of_records(records: Sequence[Mapping[str, Any]]) -> Frame:
    names = dict.fromkeys(str(name) for record in records for name in record)
    return _frame({name: [record.get(name) for record in records] for name in names}, {}, records)


def _frame(columns: Mapping[str, Any], index: Mapping[str, Any], source: Any) -> Frame:
    return Frame(
        dict(columns),
        dict(index),
        all(name == "" and _counts(level) for name, level in index.items()),
        False,
        source,
    )


def _counts(level: Any) -> bool:
    """Whether labels count the rows from 0."""
    if type(level).__name__ == "RangeIndex":
        return bool(level.start == 0 and level.step == 1)
    labels = column_of(level)
    return labels == list(range(len(labels)))


def _named(label: Any) -> str:
    """The name of a column; of several levels joined by points."""
    return ".".join(str(part) for part in label if part != "") if isinstance(label, tuple) else str(label)


def require_distinct(names: Sequence[str], what: str, at: str) -> None:
    """Refuse two columns, or systems, of one name; raises InvalidData."""
    if len(set(names)) != len(names):
        twice = next(name for place, name in enumerate(names) if name in names[:place])
        raise InvalidData(f"Two {what} are called {twice!r}.", pointer=at)


def column_of(column: Any) -> list[Any]:
    """The values of a column as Python objects; single precision as the decimals that it prints."""
    type_ = str(getattr(column, "type" if hasattr(column, "to_pylist") else "dtype", "")).lower()
    if type_ in {"float16", "float32", "float", "halffloat"}:
        return [None if is_missing(one) else float(str(np.float32(one))) for one in _listed(column)]
    return _listed(column)


def _listed(column: Any) -> list[Any]:
    for method in ("to_pylist", "to_list", "tolist"):
        if hasattr(column, method):
            listed = getattr(column, method)()
            return listed if isinstance(listed, list) else [listed]
    return np.asarray(column).tolist() if hasattr(column, "__array__") else list(column)


def labels_of(value: Any) -> list[str] | None:
    """The labels of an index as text; None without an index."""
    return [str(label) for label in value.index] if has_index(value) else None
