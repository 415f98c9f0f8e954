"""Read several files per system, one for each task: read each task separately, and join all to one test.

The task is the name of the file without dates (`tasks_of`); tasks are paired by name. The id of an item becomes `task/id`. The tasks
are the clusters, unless the option `clusters` says otherwise or the files have clusters. On a board each task is a data set
(`service.compare.system_files`).
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...answers.reading import Note, Read, Remark
from ...errors import InvalidTest, mapped, marked, pointer_token
from ...statistics.columns import joined, slices_of, taken, taken_items
from ...statistics.effects import joined_weights
from ...statistics.paired import (
    Correction,
    Counts,
    Gaps,
    Paired,
    Pairing,
    Predictions,
    Repeated,
    Scores,
    Segments,
    lengths_of,
    samples_in,
)  # fmt: skip
from ..alignment import BOUNDS
from ..quoting import quoted, some
from ..reader import ReaderOptions, Reading, UploadedFile

# Names of files: the system of a file, and the task of each of several files of a system

SUFFIXES = (
    ".gz", ".zst", ".zip", ".json", ".jsonl", ".ndjson", ".csv", ".tsv", ".txt", ".conllu", ".conll", ".eval", ".run", ".trec", ".score",
    ".seg", ".npy", ".npz", ".parquet", ".xlsx",
)  # fmt: skip
_TIME = r"\d{4}-\d\d-\d\dT\d\d[-:]\d\d[-:]\d\d[\d.+:-]*"
# File names of tools that write a file for each task: the task, with the date of writing.
_NAMED_BY_TOOLS = (
    re.compile(rf"(?:samples|details)_(?P<task>.+)_{_TIME}"),  # lm-evaluation-harness, lighteval
    re.compile(rf"{_TIME}_(?P<task>.+)_[A-Za-z0-9]{{22}}"),  # Inspect
    re.compile(rf"(?P<task>.+)_{_TIME}"),
)
MAX_FOLDERS = 8  # folders that distinguish files of one name
PER_INSTANCE = "per_instance_stats"  # HELM: in a folder that is named by the task and the model
_OF_MODEL = re.compile(r"[,:](?:model|model_deployment)=[^,/]*")


def stem(name: str) -> str:
    """A system's name by that of its file, without the suffixes of format and compression.

    >>> stem("gpt-4.jsonl.gz"), stem("en_ewt-ud-test.crf.conllu")
    ('gpt-4', 'en_ewt-ud-test.crf')
    """
    left = name
    while left.lower().endswith(SUFFIXES):
        left = left[: left.rindex(".")]
    return left or name


def by_folders(paths: Sequence[Sequence[str]]) -> list[str] | None:
    """Names for files of equal names, by the folders that distinguish them; None if none does.

    `paths` are the parts of each path, the last one the stem of the file.

    >>> by_folders([("runs", "a", "out"), ("runs", "b", "out")])
    ['a', 'b']
    """
    of_sizes = ([tuple(path[-size:]) for path in paths] for size in range(1, max(map(len, paths)) + 1))
    tails = next((ends for ends in of_sizes if len(set(ends)) == len(ends)), None)
    if tails is None:
        return None
    while len(tails[0]) > 1 and len({tail[-1] for tail in tails}) == 1 and min(map(len, tails)) > 1:
        tails = [tail[:-1] for tail in tails]
    return ["/".join(tail) for tail in tails]


def tasks_of(names: Sequence[str]) -> list[str] | None:
    """The task of each of a system's files, by their names with folders; None if two are equal.

    Parts that differ between runs are left out: the date, and for HELM the model.

    >>> tasks_of(["samples_mmlu_anatomy_2026-05-17T13-25-31.291152.jsonl", "a/de.csv"])
    ['mmlu_anatomy', 'de']
    >>> tasks_of(["run/mmlu:subject=anatomy,model=openai_gpt2/per_instance_stats.json"])
    ['mmlu:subject=anatomy']
    """
    paths = [_parts(name) for name in names]
    if len({path[-1] for path in paths}) == len(paths):
        return [path[-1] for path in paths]
    return by_folders(paths)


def _parts(name: str) -> list[str]:
    """The folders of a path, and the task in the name of its file."""
    *folders, file = [part for part in name.split("/") if part] or [name]
    folders, name_of_file = folders[-MAX_FOLDERS:], stem(file)
    if name_of_file == PER_INSTANCE and folders:
        return [_OF_MODEL.sub("", part) or part for part in folders]
    return [*folders, task_in(name_of_file) or name_of_file]


def task_in(name: str) -> str | None:
    """The task in a file name of a known tool; None for other names."""
    file_name = stem(name.rpartition("/")[2])
    tool_match = next((match for pattern in _NAMED_BY_TOOLS if (match := pattern.fullmatch(file_name))), None)
    return None if tool_match is None else tool_match["task"]


# Tasks

SYSTEMS = ("u", "v")
ITEM, TASK = "item", "task"  # values of the option `clusters`
MOST_NOTES = 60
OPTIONS = ("format", "metric", "clusters")  # what readers are told
WHAT = ("kind", "format", "metric", "statistic", "direction", "counts", "weights", "clusters", "ids")

ReadFiles = Callable[[Mapping[str, UploadedFile], ReaderOptions], Reading]
Files = Mapping[str, UploadedFile]
Codes = NDArray[np.int64]


def read(files: Files, options: ReaderOptions, read_single: ReadFiles, *, drops: bool) -> Reading:
    """Read the files of each task with `read_single`, and join them; `drops`: the format supports on_missing. Raises at `/files/<role>/<task>/…`."""
    for role in SYSTEMS:
        if role not in files:
            detail = f"With several files give both systems, u and v, as many as there are tasks; {role} is missing."
            raise InvalidTest.at(f"/files/{role}", "missing_file", detail)
    alone = {role: file for role, file in files.items() if role not in SYSTEMS and not file.parts}
    divided = {role: (role, file.parts or (file,)) for role, file in files.items() if role not in alone}
    of_task_options = options if drops else replace(options, on_missing="error", missing_range=None)
    if options.clusters in (ITEM, TASK):
        of_task_options = replace(of_task_options, clusters=None)
    if options.slices == TASK:
        of_task_options = replace(of_task_options, slices=None)
    way = "; a whole task that is missing has no bounds" if options.on_missing == BOUNDS else ""
    readings, notes = each_task(
        divided, lambda _, of_task: read_single({role: of_task.get(role, file) for role, file in files.items()}, of_task_options),
        drop="drop", dropped=options.on_missing == "drop", way=way,
    )  # fmt: skip
    notes += [
        Remark(role, f"the file {file.name[:80]} goes with every task.") for role, file in alone.items()
    ]
    swap, by_task = options.clusters, options.slices == TASK
    if swap is None and by_task and next(iter(readings.values())).data.pairing.clusters is None:
        swap = ITEM  # a slice that swaps as a whole has no test
    return joined_readings(readings, notes, swap, by_task=by_task)


def each_task(
    divided: Mapping[str, tuple[str, Sequence[UploadedFile]]], read_single: Callable[[str, Files], Reading], *, drop: str,
    dropped: bool, way: str = "",
) -> tuple[dict[str, Reading], list[Note]]:  # fmt: skip
    """The readings of the tasks in order, and a note on those left out.

    `divided` maps the token of a pointer to a name and files; `read_single` reads the files of one task. Raises InvalidTest if two
    files of a system are of the same task, if tasks differ in kind, if no task is common to all, or, unless they are `dropped` (`drop`
    of on_missing), if a system lacks a task.
    """
    by_name = {token: _by_task(files, f"/files/{token}") for token, (_, files) in divided.items()}
    common, every = set.intersection(*map(set, by_name.values())), set().union(*by_name.values())
    for token, tasks in by_name.items():
        missing = sorted(every - set(tasks))
        if missing and not (common and dropped):
            mended = f", or set {marked('on_missing', drop)} to leave these tasks out" if common else ""
            detail = (
                f"There is no file of {divided[token][0]} for {len(missing):,} of the tasks: "
                f"{some(missing)}; it has {some(sorted(tasks))}. Files are paired by their names without "
                f"dates: add the files, name all systems' files alike{mended}{way}."
            )
            raise InvalidTest.at(f"/files/{token}", "unmatched_tasks", detail)
    readings: dict[str, Reading] = {}
    for task in sorted(common):
        of_task = {token: tasks[task] for token, tasks in by_name.items()}
        readings[task] = mapped(in_task(task, divided), read_single, task, of_task)
        _require_alike(task, readings, next(iter(divided)), "tasks")
    lacking = sorted(every - common)
    left = f"{len(lacking):,} tasks that not all systems have were left out (on_missing: {drop}): {some(lacking)}."
    return readings, [left] if lacking else []


def _by_task(parts: Sequence[UploadedFile], pointer: str) -> dict[str, UploadedFile]:
    """The files of a system by task, with folders in their names; raises InvalidTest if two have the same task."""
    names = tasks_of([part.path for part in parts])
    if names is None:
        seen = sorted(part.path for part in parts)
        twice = next((name for name, after in itertools.pairwise(seen) if name == after), seen[0])
        detail = f"Two files have the same task by their names, such as {quoted(twice)}: leave the older ones out, or rename each by its task."
        raise InvalidTest.at(pointer, "duplicate_task", detail)
    return {task: replace(part, name=part.path, folder="") for task, part in zip(names, parts, strict=True)}


def in_task(task: str, divided: Collection[str]) -> Callable[[str], str]:
    """Map pointers to files that are divided by task to pointers to the files of this task."""

    def pointer_map(pointer: str) -> str:
        tokens = pointer.split("/", 3)
        if tokens[:2] != ["", "files"] or len(tokens) < 3 or tokens[2] not in divided:
            return pointer
        return "/".join(("", "files", tokens[2], pointer_token(task), *tokens[3:]))

    return pointer_map


# Runs: several files of one system with the same items


def are_runs(files: Files, options: ReaderOptions) -> bool:
    """Whether files are runs of the same items: runs are exchanged, and only one system has several files, or all are of one task."""
    several = [files[role].parts for role in SYSTEMS if role in files and files[role].parts]
    if options.exchange == "items" or not several or not set(SYSTEMS) <= set(files):
        return False
    tasks = {_parts(part.path)[-1] for parts in several for part in parts}
    return len(several) == 1 or (
        len(tasks) == 1 and any(tasks_of([part.path for part in parts]) is None for parts in several)
    )


def is_in(outer: str, pointer: str) -> bool:
    """Whether a pointer is one to `outer`, or below it."""
    return f"{pointer}/".startswith(f"{outer}/")


def named(error: InvalidTest, name: str | None, where: str, role: str = "v") -> InvalidTest:
    """The refusal with the name of the file or baseline at `where`, one of several; missing ids are its flaw, not that of the other system."""
    other = "u" if role == "v" else "v"
    flaws = []
    for flaw in () if name is None else error.flaws:
        inside, moved = is_in(where, flaw.pointer), flaw
        if inside or flaw.code == "no_common_ids":
            moved = replace(
                flaw,
                pointer=flaw.pointer if inside else where,
                detail=f"{flaw.detail} ({role} is {quoted(name)})",
            )
        elif flaw.code == "unmatched_ids" and flaw.pointer.endswith((f"/request/{other}", f"/files/{other}")):
            _, _, ids = flaw.detail.partition(f"Without a counterpart in {role}:")
            moved = replace(flaw, pointer=where, detail=f"{quoted(name)} lacks ids of {other}:{ids}")
        flaws.append(moved)
    if name is None or tuple(flaws) == error.flaws:
        return error
    return InvalidTest(f"{error.detail} ({role} is {quoted(name)})", flaws=tuple(flaws))


def read_runs(files: Files, options: ReaderOptions, read_single: ReadFiles) -> Reading:
    """Read each file with one of the other system, and join the runs of each item. Raises InvalidTest at `/files/<role>/<file>/…`."""
    if options.on_missing == BOUNDS:
        detail = (
            "Missing outcomes have no bounds where runs are exchanged: set `on_missing=drop`, or add them."
        )
        raise InvalidTest.at("/options/on_missing", "no_missing_bounds", detail)
    files = {role: replace(file, memo={}) for role, file in files.items()}
    u, v = (files[role].parts or (files[role],) for role in SYSTEMS)
    pairs = [*((0, at) for at in range(len(v))), *((at, 0) for at in range(1, len(u)))]
    readings: dict[str, Reading] = {}
    for of_u, of_v in pairs:
        role, part = ("v", v[of_v]) if len(v) > 1 and not of_u else ("u", u[of_u])
        try:
            read = mapped(
                in_task(part.name, {role}), read_single, {**files, "u": u[of_u], "v": v[of_v]}, options
            )
        except InvalidTest as error:
            raise named(error, part.name, f"/files/{role}/{pointer_token(part.name)}", role) from None
        if not isinstance(read.data, Scores):
            detail = "Several files are runs of the same items only for scores: leave exchange out, or give one file of each system."
            raise InvalidTest.at("/options/exchange", "exchange_needs_means", detail)
        name = f"{part.name} ({len(readings) + 1})" if part.name in readings else part.name
        readings[name] = read
        _require_alike(name, readings, role, "files")
    first, every = next(iter(readings.values())), list(readings.values())
    names = {each.names for each in every}
    facts: list[Note] = [note for note in first.facts if isinstance(note, Read) and not files[note.who].parts]
    facts += [
        Remark(role, f"{len(parts):,} files were read as runs of the same items: {some([part.name for part in parts])}.")
        for role, parts in (("u", u), ("v", v)) if len(parts) > 1
    ]  # fmt: skip
    return replace(
        first, data=_joined_runs([each.data for each in every], len(v)), names=names.pop() if len(names) == 1 else None,
        facts=(*facts, *of_tasks({name: each.facts for name, each in readings.items()}, MOST_NOTES)),
        findings=tuple(dict.fromkeys(finding for each in every for finding in each.findings)),
    )  # fmt: skip


def _joined_runs(every: Sequence[Any], of_v: int) -> Any:
    """The runs of the items that all files have: V's from the first `of_v` data, U's from the first and from all others."""
    ids = [range(len(data.u)) if data.pairing.ids is None else data.pairing.ids for data in every]
    common = set(ids[0]).intersection(*ids)
    kept = [key for key in ids[0] if key in common]
    if not kept:
        raise InvalidTest.at(
            "/files/v", "no_common_ids", "No item is in all of the files: there is nothing to compare."
        )
    alike = []
    for keys, data in zip(ids, every, strict=True):
        at = dict(zip(keys, range(len(keys)), strict=True))
        rows = np.array([at[key] for key in kept], dtype=np.int64)
        alike.append(data if list(keys) == kept else taken_items(data, rows))
    first, lost = alike[0], len(ids[0]) - len(kept)
    pairing = replace(
        first.pairing, matched=len(kept), only_u=every[0].pairing.only_u + lost, only_v=every[0].pairing.only_v + lost,
        largest=max(data.pairing.largest or len(data.u) for data in every),
    )  # fmt: skip
    sides = {"u": [first, *alike[of_v:]], "v": alike[:of_v]}
    columns: dict[str, Any] = {
        role: _runs_by_item([getattr(data, role) for data in side], role) for role, side in sides.items()
    }
    return replace(first, pairing=pairing, **columns)


def _runs_by_item(columns: Sequence[Any], role: str) -> Any:
    """The runs of each item in the order of the columns."""
    n, k = len(columns[0]), len(columns)
    runs = taken(joined(columns, _not_exact(role)), np.arange(k * n).reshape(k, n).T.ravel())
    return columns[0] if k == 1 else Repeated(samples_in(runs), lengths_of(runs).reshape(n, k).sum(axis=1))


def joined_readings(
    readings: Mapping[str, Reading], notes: Sequence[Note], swap: str | None, *, by_task: bool = False
) -> Reading:
    """Join the readings of all tasks, `notes` first; clusters are those of the items, else the tasks, unless `swap` decides. Raises InvalidTest."""
    tasks, first = list(readings), next(iter(readings.values()))
    every = list(readings.values())
    names, score_names = {each.names for each in every}, {each.score_names for each in every}
    if swap == ITEM:
        how = "Every item swaps by itself, whatever its task (clusters: item)."
    elif swap != TASK and first.data.pairing.clusters is not None:
        how = "The clusters are those of the files, each within its task."
    else:
        how = f"The {len(tasks):,} tasks are the clusters, which swap as a whole; clusters: item would swap every item by itself."
    facts: list[Note] = [
        f"{len(tasks):,} tasks were read, each from a file of u and one of v: {some(tasks)}.",
        *totals_read([reading.facts for reading in every]), how, *notes,
    ]  # fmt: skip
    facts += of_tasks({task: reading.facts for task, reading in readings.items()}, MOST_NOTES)
    if len(names) > 1:
        facts.append("The files of the tasks name different systems, so no names are shown.")
    return replace(
        first, data=_joined_data({task: reading.data for task, reading in readings.items()}, swap, by_task=by_task), facts=tuple(facts), names=first.names if len(names) == 1 else None,
        score_names=first.score_names if len(score_names) == 1 else None, role_question=next((each.role_question for each in every if each.role_question), None),
        direction_question=next((each.direction_question for each in every if each.direction_question), None),
        findings=tuple(finding for each in every for finding in each.findings),
    )  # fmt: skip


def _holds(reading: Reading) -> tuple[Any, ...]:
    """Properties that the readings of all tasks must share, named in `WHAT`."""
    data, pairing = reading.data, reading.data.pairing
    names = tuple(data.u) if isinstance(data, Counts) else ()
    has_weights = isinstance(data, Scores) and data.weights is not None
    return (
        reading.kind, reading.format, reading.metric, reading.default_statistic, reading.higher_is_better, names, has_weights,
        pairing.clusters is not None, pairing.ids is not None,
    )  # fmt: skip


def _require_alike(task: str, readings: Mapping[str, Reading], token: str, called: str) -> None:
    """Refuse a task or file that differs in kind from the first one; raises InvalidTest at the file of this name."""
    other = next(iter(readings))
    mine, theirs = _holds(readings[task]), _holds(readings[other])
    if mine == theirs:
        return
    what, here, there = next(row for row in zip(WHAT, mine, theirs, strict=True) if row[1] != row[2])
    option = {"kind": "format"}.get(what, what)
    detail = f"The {called} {quoted(other)} and {quoted(task)} differ in their {what}"
    if isinstance(here, str) and isinstance(there, str):
        detail += f", {quoted(there)} and {quoted(here)}"
    way = f"choose it for all ({option}), or " if option in OPTIONS else ""
    detail += f": {way}compare {called} of each kind separately."
    raise InvalidTest.at(f"/files/{token}/{pointer_token(task)}", "tasks_differ", detail)


def totals_read(tasks: Sequence[Sequence[Note]]) -> list[Note]:
    """The number of items of each system in the files of all tasks."""
    items: dict[str, int] = {}
    for note in itertools.chain.from_iterable(tasks):
        if isinstance(note, Read):
            items[note.who] = items.get(note.who, 0) + note.n
    return [Read(who, n, f"{len(tasks):,} files") for who, n in items.items()]


def of_tasks(tasks: Mapping[str, Sequence[Note]], most: int) -> list[Note]:
    """The notes of the tasks without numbers of items: common ones once, the others with the task's name."""
    others = {task: [note for note in notes if not isinstance(note, Read)] for task, notes in tasks.items()}
    common = set.intersection(*map(set, others.values()))
    notes: list[Note] = [note for note in next(iter(others.values())) if note in common]
    for task, notes_of in others.items():
        notes += [Remark(task[:80], str(note)) for note in notes_of if note not in common]
    return at_most(notes, most)


def at_most(notes: list[Note], most: int) -> list[Note]:
    """The first notes, and the number of further ones."""
    return [*notes[:most], f"{len(notes) - most:,} more notes were left out."] if len(notes) > most else notes


def _sizes(data: Paired) -> tuple[int, int, int, int]:
    """The numbers of items that are complete, have only u, have only v, and have neither."""
    if isinstance(data, Counts):
        return len(next(iter(data.u.values()), ())), 0, 0, 0
    assert isinstance(data, Scores | Predictions | Segments)
    gaps = data.gaps if isinstance(data, Scores) else None
    return (len(data.u), 0, 0, 0) if gaps is None else (len(data.u), len(gaps.u), len(gaps.v), gaps.neither)


def _joined_data(tasks: Mapping[str, Paired], swap: str | None, *, by_task: bool) -> Paired:
    """Concatenate the data of all tasks."""
    parts: list[Any] = list(tasks.values())
    names = [name for name in ("u", "v", "gold", "references") if hasattr(parts[0], name)]
    columns: dict[str, Any] = {name: _column(parts, name) for name in names}
    if isinstance(parts[0], Scores):
        columns["weights"] = joined_weights([(part.weights, len(part.u)) for part in parts])
        columns["gaps"] = _gaps(parts, swap)
        columns["correction"] = _correction([part.correction for part in parts])
    data: Paired = type(parts[0])(**columns, pairing=_pairing(tasks, swap, by_task=by_task))
    return data


def _correction(parts: Sequence[Any]) -> Correction | None:
    """The labels or covariates of all tasks, which options ask for in all of them or in none."""
    first = parts[0]
    if first is None:
        return None
    columns = {
        name: Scores(*(_column([part.columns[name] for part in parts], side) for side in ("u", "v")))
        for name in first.columns
    }
    labelled = None if first.labelled is None else np.concatenate([part.labelled for part in parts])
    return Correction(columns, labelled, first.share)


def _column(parts: Sequence[Any], name: str) -> Any:
    return joined([getattr(part, name) for part in parts], _not_exact(name))


def _not_exact(name: str) -> InvalidTest:
    detail = "Some files have decimals and others integers beyond 2^53: a column of both would not be exact."
    return InvalidTest.at(f"/files/{name}", "inexact_integer", detail)


def _pairing(tasks: Mapping[str, Paired], swap: str | None, *, by_task: bool) -> Pairing:
    parts, sizes = zip(*((data.pairing, _sizes(data)[0]) for data in tasks.values()), strict=True)
    matched = [part.matched for part in parts]
    codes, n_clusters = _clusters(parts, sizes, swap)
    ids = None
    if all(part.ids is not None for part in parts):
        ids = [f"{task}/{key}" for task, part in zip(tasks, parts, strict=True) for key in part.ids or ()]
    labels: list[Any] = []
    for task, part, size in zip(tasks, parts, sizes, strict=True):
        labels += [task] * size if by_task else [] if part.slices is None else part.slices.labels()
    return Pairing(
        codes, n_clusters, slices=slices_of(labels) if labels else None, by_id=all(part.by_id for part in parts), ids=ids,
        matched=None if None in matched else sum(one or 0 for one in matched),
        only_u=sum(part.only_u for part in parts), only_v=sum(part.only_v for part in parts),
        largest=sum(part.largest or size for part, size in zip(parts, sizes, strict=True)),
    )  # fmt: skip


def _clusters(
    parts: Sequence[Pairing | Gaps], sizes: Sequence[int], swap: str | None
) -> tuple[Codes | None, int | None]:
    """A code for each item: its task, or its cluster within the task; None if each item swaps by itself."""
    if swap == ITEM:
        return None, None
    offset, columns = 0, []
    for part, size in zip(parts, sizes, strict=True):
        codes = None if swap == TASK else part.clusters
        columns.append(np.zeros(size, dtype=np.int64) + offset if codes is None else codes + offset)
        offset += 1 if codes is None else part.n_clusters or 0
    return np.concatenate(columns), offset


def _gaps(parts: Sequence[Scores], swap: str | None) -> Gaps | None:
    """The items of all tasks that a system lacks, in the order of `Gaps`, with clusters as in `_clusters`."""
    if all(part.gaps is None for part in parts):
        return None
    known = next(part.gaps for part in parts if part.gaps is not None)
    none = np.zeros(0, dtype=np.int64)
    gaps = [
        part.gaps or replace(known, u=none, v=none, neither=0, clusters=part.pairing.clusters, n_clusters=part.pairing.n_clusters)
        for part in parts
    ]  # fmt: skip
    sizes = [_sizes(part) for part in parts]
    codes, n = _clusters(gaps, [sum(size) for size in sizes], swap)
    if codes is not None:
        # First the complete items of all tasks, then those with only u, with only v, and the rest.
        kinds = np.concatenate([np.repeat(np.arange(4), size) for size in sizes])
        codes = codes[np.argsort(kinds, kind="stable")]
    neither = sum(gap.neither for gap in gaps)
    return Gaps(_column(gaps, "u"), _column(gaps, "v"), neither, known.low, known.high, codes, n)
