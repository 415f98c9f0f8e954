"""The readings of several tasks as one: columns end to end, the tasks as clusters."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import InvalidTest, pointer_token
from ...inference.reading import Note, Read, Remark
from ...statistics.paired import (
    Column,
    Counts,
    Gaps,
    Paired,
    Pairing,
    Predictions,
    Repeated,
    Scores,
    Segments,
)
from ...statistics.weights import joined_weights
from ..columns import MAX_EXACT_INT
from ..quoting import quoted
from .reader import Reading

ITEM, TASK = "item", "task"  # values of the option `clusters`
MOST_NOTES = 60
NAMED = 5
Codes = NDArray[np.int64]


def joined(readings: Mapping[str, Reading], notes: Sequence[Note], swap: str | None) -> Reading:
    """One reading of all tasks, in their order; `notes` come first.

    What swaps as a whole are the items' own clusters, where they have any, or else the tasks; `swap` task or item says
    otherwise.

    Raises
    ------
    InvalidTest
        The tasks do not hold the same: kinds of data, metrics, statistics, counts; or only some have clusters, weights or
        ids. Pointers are `/files/u/<task>`.
    """
    tasks, first = list(readings), next(iter(readings.values()))
    for task, reading in readings.items():
        require_alike(task, reading, tasks[0], first, f"/files/u/{pointer_token(task)}")
    by_item, own_clusters = swap == ITEM, swap != TASK and first.data.pairing.clusters is not None
    if swap == TASK:
        readings = {
            task: replace(reading, data=_unclustered(reading.data)) for task, reading in readings.items()
        }
    pairing = _pairing(readings, by_item=by_item)
    data = _data([reading.data for reading in readings.values()], pairing, by_item=by_item)
    names = {reading.names for reading in readings.values()}
    score_names = {reading.score_names for reading in readings.values()}
    facts = [*_facts(readings, own_clusters=own_clusters, by_item=by_item), *notes]
    facts += of_tasks({task: reading.facts for task, reading in readings.items()}, MOST_NOTES)
    if len(names) > 1:
        facts.append("The files of the tasks name different systems, so that none of the names is shown.")
    return replace(
        first,
        data=data,
        facts=tuple(facts),
        names=first.names if len(names) == 1 else None,
        score_names=first.score_names if len(score_names) == 1 else None,
        role_question=_first(reading.role_question for reading in readings.values()),
        direction_question=_first(reading.direction_question for reading in readings.values()),
    )


def _unclustered(data: Paired) -> Paired:
    """The data without clusters."""
    plain = replace(data, pairing=replace(data.pairing, clusters=None, n_clusters=None))
    if not isinstance(plain, Scores) or plain.gaps is None:
        return plain
    return replace(plain, gaps=replace(plain.gaps, clusters=None, n_clusters=None))


def _first(values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _holds(reading: Reading) -> tuple[Any, ...]:
    """What the readings of all tasks must share."""
    data = reading.data
    return (
        reading.kind,
        reading.format,
        reading.metric,
        reading.default_statistic,
        reading.higher_is_better,
        tuple(data.u) if isinstance(data, Counts) else (),
        isinstance(data, Scores) and data.weights is not None,
        data.pairing.clusters is not None,
        data.pairing.ids is not None,
    )


OPTIONS = ("format", "metric", "clusters")  # what readers are told
WHAT = ("kind", "format", "metric", "statistic", "direction", "counts", "weights", "clusters", "ids")


def require_alike(task: str, reading: Reading, other: str, first: Reading, pointer: str) -> None:
    """Refuse tasks that do not hold the same; raises InvalidTest at the pointer."""
    mine, theirs = _holds(reading), _holds(first)
    if mine == theirs:
        return
    what, here, there = next(row for row in zip(WHAT, mine, theirs, strict=True) if row[1] != row[2])
    option = {"kind": "format"}.get(what, what)
    detail = f"The tasks {quoted(other)} and {quoted(task)} differ in their {what}"
    if isinstance(here, str) and isinstance(there, str):
        detail += f", {quoted(there)} and {quoted(here)}"
    way = f"choose it for all ({option}), or " if option in OPTIONS else ""
    detail += f": {way}compare tasks that are measured alike, each kind by itself."
    raise InvalidTest.at(pointer, "tasks_differ", detail)


def _facts(readings: Mapping[str, Reading], *, own_clusters: bool, by_item: bool) -> list[Note]:
    tasks = list(readings)
    more = f" and {len(tasks) - NAMED:,} more" if len(tasks) > NAMED else ""
    named = ", ".join(quoted(task) for task in tasks[:NAMED])
    facts: list[Note] = [
        f"{len(tasks):,} tasks were read, each from a file of u and one of v: {named}{more}.",
        *totals_read([reading.facts for reading in readings.values()]),
    ]
    if by_item:
        return [*facts, "Every item swaps by itself, whatever its task (clusters=item)."]
    if own_clusters:
        return [*facts, "The clusters are those of the files, each within its task."]
    return [
        *facts,
        f"The {len(tasks):,} tasks are the clusters, which swap as a whole: clusters=item would swap every item by itself.",
    ]


def totals_read(tasks: Sequence[Sequence[Note]]) -> list[Note]:
    """How many items each system has in the files of all tasks."""
    items: dict[str, int] = {}
    for note in itertools.chain.from_iterable(tasks):
        if isinstance(note, Read):
            items[note.who] = items.get(note.who, 0) + note.n
    return [Read(who, n, f"{len(tasks):,} files") for who, n in items.items()]


def of_tasks(tasks: Mapping[str, Sequence[Note]], most: int) -> list[Note]:
    """The notes of the tasks but for numbers of items: those that all have once, the others with the task's name."""
    others = {task: [note for note in notes if not isinstance(note, Read)] for task, notes in tasks.items()}
    common = set.intersection(*map(set, others.values()))
    notes: list[Note] = [note for note in next(iter(others.values())) if note in common]
    for task, own in others.items():
        notes += [Remark(task[:80], str(note)) for note in own if note not in common]
    return at_most(notes, most)


def at_most(notes: list[Note], most: int) -> list[Note]:
    """The first notes, and how many more there are."""
    return [*notes[:most], f"{len(notes) - most:,} more notes were left out."] if len(notes) > most else notes


def _sizes(data: Paired) -> tuple[int, int, int, int]:
    """How many items are complete, have u alone, have v alone, have neither."""
    if isinstance(data, Counts):
        return len(next(iter(data.u.values()), ())), 0, 0, 0
    assert isinstance(data, Scores | Predictions | Segments)
    gaps = data.gaps if isinstance(data, Scores) else None
    return (len(data.u), 0, 0, 0) if gaps is None else (len(data.u), len(gaps.u), len(gaps.v), gaps.neither)


def _pairing(readings: Mapping[str, Reading], *, by_item: bool) -> Pairing:
    parts = [reading.data.pairing for reading in readings.values()]
    sizes = [_sizes(reading.data)[0] for reading in readings.values()]
    by_id = all(part.by_id for part in parts)
    ids = None
    if all(part.ids is not None for part in parts):
        ids = [f"{task}/{key}" for task, part in zip(readings, parts, strict=True) for key in part.ids or ()]
    matched = [part.matched for part in parts]
    clusters = _clusters([part.clusters for part in parts], sizes, [part.n_clusters for part in parts])
    codes, n_clusters = (None, None) if by_item else clusters
    return Pairing(
        codes,
        n_clusters,
        by_id=by_id,
        matched=sum(one for one in matched if one is not None) if None not in matched else None,
        only_u=sum(part.only_u for part in parts),
        only_v=sum(part.only_v for part in parts),
        largest=sum(part.largest or size for part, size in zip(parts, sizes, strict=True)),
        ids=ids,
    )


def _clusters(
    own: Sequence[Codes | None], sizes: Sequence[int], counts: Sequence[int | None]
) -> tuple[Codes, int]:
    """A code for each item: of its task, or of its own cluster within the task."""
    offset, columns = 0, []
    for codes, size, n_clusters in zip(own, sizes, counts, strict=True):
        columns.append(np.zeros(size, dtype=np.int64) + offset if codes is None else codes + offset)
        offset += 1 if codes is None else n_clusters or 0
    return np.concatenate(columns), offset


def _data(parts: Sequence[Paired], pairing: Pairing, *, by_item: bool) -> Paired:
    first = parts[0]
    if isinstance(first, Scores):
        scores = [part for part in parts if isinstance(part, Scores)]
        weights = joined_weights([(part.weights, len(part.u)) for part in scores])
        return Scores(
            _scores([part.u for part in scores], "u"),
            _scores([part.v for part in scores], "v"),
            pairing,
            weights,
            _gaps(scores, by_item=by_item),
        )
    if isinstance(first, Counts):
        counts = [part for part in parts if isinstance(part, Counts)]
        u = {name: _column([part.u[name] for part in counts], "u") for name in first.u}
        v = {name: _column([part.v[name] for part in counts], "v") for name in first.u}
        return Counts(u, v, pairing)
    if isinstance(first, Segments):
        texts = [part for part in parts if isinstance(part, Segments)]
        return Segments(_listed(texts, "u"), _listed(texts, "v"), _listed(texts, "references"), pairing)
    labels = [part for part in parts if isinstance(part, Predictions)]
    return Predictions(_listed(labels, "gold"), _listed(labels, "u"), _listed(labels, "v"), pairing)


def _listed(parts: Sequence[Any], name: str) -> list[Any]:
    return [item for part in parts for item in getattr(part, name)]


def _gaps(parts: Sequence[Scores], *, by_item: bool) -> Gaps | None:
    """The items of all tasks that a system lacks, in the order that `Gaps` gives them; their clusters as `_clusters` has them."""
    if all(part.gaps is None for part in parts):
        return None
    known = next(part.gaps for part in parts if part.gaps is not None)
    none = np.zeros(0, dtype=np.int64)
    gaps = [
        part.gaps
        or Gaps(none, none, 0, known.low, known.high, part.pairing.clusters, part.pairing.n_clusters)
        for part in parts
    ]
    u, v = _scores([gap.u for gap in gaps], "u"), _scores([gap.v for gap in gaps], "v")
    neither = sum(gap.neither for gap in gaps)
    if by_item:
        return Gaps(u, v, neither, known.low, known.high)
    sizes = [_sizes(part) for part in parts]
    whole = [sum(size) for size in sizes]
    codes, n_clusters = _clusters([gap.clusters for gap in gaps], whole, [gap.n_clusters for gap in gaps])
    starts = np.cumsum([0, *whole])
    # Of every task first the complete items, then those of u alone, of v alone, and the rest.
    pieces: list[Codes] = []
    for kind in range(4):
        for start, size in zip(starts.tolist(), sizes, strict=False):
            begin = start + sum(size[:kind])
            pieces.append(codes[begin : begin + size[kind]])
    return Gaps(u, v, neither, known.low, known.high, np.concatenate(pieces), n_clusters)


def _scores(columns: Sequence[Column | Repeated], role: str) -> Column | Repeated:
    if not any(isinstance(column, Repeated) for column in columns):
        return _column([column for column in columns if not isinstance(column, Repeated)], role)
    repeated = [
        column if isinstance(column, Repeated) else Repeated(column, np.ones(len(column), dtype=np.int64))
        for column in columns
    ]
    lengths = np.concatenate([column.lengths for column in repeated])
    return Repeated(_column([column.values for column in repeated], role), lengths)


def _column(columns: Sequence[Column], role: str) -> Column:
    """Columns end to end, whose values all stay what they were; raises InvalidTest."""
    filled = [column for column in columns if len(column)]
    if len({column.dtype.kind for column in filled}) > 1:
        whole = [column for column in filled if column.dtype.kind == "i"]
        if any(int(np.abs(column.astype(object)).max()) > MAX_EXACT_INT for column in whole):
            detail = "Some tasks have decimals and others integers beyond 2^53: a column of both would not be exact."
            raise InvalidTest.at(f"/files/{role}", "inexact_integer", detail)
    return cast("Column", np.concatenate(filled)) if filled else columns[0]
