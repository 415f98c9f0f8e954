"""Several files of each system, one for each task: each task is read by itself, and all become one test.

A file's task is what its name says without dates (`file_names.tasks_of`); tasks are paired by name. An item's id is
`task/id`. The tasks are the clusters, unless the option `clusters` says otherwise, and items that have clusters of
their own keep them.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from ...errors import InvalidTest, pointer_token, relocated
from ...inference.reading import Note
from ..alignment import BOUNDS
from ..quoting import quoted
from . import file_names
from .joined_readings import ITEM, TASK, joined
from .reader import ReaderOptions, Reading, UploadedFile

SYSTEMS = ("u", "v")
NAMED = 5

ReadOne = Callable[[Mapping[str, UploadedFile], ReaderOptions], Reading]
Tasks = dict[str, dict[str, UploadedFile]]


def are_several(files: Mapping[str, UploadedFile]) -> bool:
    """Whether some role has several files."""
    return any(file.parts for file in files.values())


def read(
    files: Mapping[str, UploadedFile], options: ReaderOptions, read_one: ReadOne, *, drops: bool
) -> Reading:
    """Read the files of each task with `read_one`, and join them.

    `drops` says whether the format knows on_missing itself: else it is about tasks alone.

    Raises
    ------
    MalformedBody, InvalidTest
        As the format's reader does, with pointers `/files/<role>/<task>/…`; or a task is in the files of one system
        alone, or tasks measure different things.
    """
    for role in SYSTEMS:
        if role not in files:
            detail = f"With several files give both systems, u and v, as many as there are tasks; {role} is missing."
            raise InvalidTest.at(f"/files/{role}", "missing_file", detail)
    notes: list[Note] = []
    by_task = _tasks(files, options, notes)
    own = options if drops else replace(options, on_missing="error", missing_range=None)
    if options.clusters in (ITEM, TASK):
        own = replace(own, clusters=None)
    readings = {}
    for task, sources in by_task.items():
        with relocated(_in_task(task, files)):
            readings[task] = read_one(sources, own)
    return joined(readings, notes, swap=options.clusters)


def _tasks(files: Mapping[str, UploadedFile], options: ReaderOptions, notes: list[Note]) -> Tasks:
    """The files of each task by role, in the order of the tasks' names; a file beside them that is alone goes with all."""
    by_role = {role: tasks_by_name(file.parts or (file,), f"/files/{role}") for role, file in files.items()}
    shared = {role: file for role, file in files.items() if role not in SYSTEMS and not file.parts}
    divided = [role for role in files if role not in shared]
    common = set.intersection(*(set(by_role[role]) for role in divided))
    lacking = {
        role: sorted({task for other in divided for task in by_role[other]} - set(by_role[role]))
        for role in divided
    }
    if not common or (any(lacking.values()) and options.on_missing != "drop"):
        role = next(role for role in divided if lacking[role])
        raise _unmatched(role, lacking[role], by_role[role], options, none_common=not common)
    for role, tasks in lacking.items():
        if tasks:
            notes.append(
                f"{len(tasks):,} tasks without a file of {role} were left out (on_missing=drop): {some(tasks)}."
            )
    for role, file in shared.items():
        notes.append(f"{role}: the file {file.name[:80]} goes with every task.")
    return {task: {role: by_role[role][task] for role in divided} | shared for task in sorted(common)}


def tasks_by_name(parts: Sequence[UploadedFile], pointer: str) -> dict[str, UploadedFile]:
    """The files of a system by task; raises InvalidTest where two have one name. Labels have the folders."""
    names = file_names.tasks_of([part.path for part in parts])
    if names is None:
        seen = sorted(part.path for part in parts)
        twice = next((name for name, after in itertools.pairwise(seen) if name == after), seen[0])
        detail = (
            f"Two files are of the same task by their names, as {quoted(twice)}: leave the older ones out, or send each "
            "under a name that is its task's."
        )
        raise InvalidTest.at(pointer, "duplicate_task", detail)
    return {task: replace(part, name=part.path, folder="") for task, part in zip(names, parts, strict=True)}


def _unmatched(
    role: str,
    lacking: Sequence[str],
    own: Mapping[str, UploadedFile],
    options: ReaderOptions,
    *,
    none_common: bool,
) -> InvalidTest:
    way = "" if none_common else ", or set on_missing to drop to leave these tasks out"
    if options.on_missing == BOUNDS:
        way += "; a whole task that is missing has no bounds"
    detail = (
        f"There is no file of {role} for {len(lacking):,} of the tasks: {some(lacking)}; it has {some(sorted(own))}. "
        f"Files are paired by their names, dates left out: add the files, name both systems' files alike{way}."
    )
    return InvalidTest.at(f"/files/{role}", "unmatched_tasks", detail)


def some(names: Sequence[str]) -> str:
    """A few names, and how many more there are."""
    more = f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
    return ", ".join(map(quoted, names[:NAMED])) + more


def _in_task(task: str, files: Mapping[str, UploadedFile]) -> Callable[[str], str]:
    """The map of pointers into the files of a task to pointers into the form."""

    def pointer_map(pointer: str) -> str:
        tokens = pointer.split("/", 3)
        if tokens[:2] != ["", "files"] or len(tokens) < 3 or tokens[2] not in files:
            return pointer
        if not files[tokens[2]].parts and tokens[2] not in SYSTEMS:
            return pointer
        return "/".join(("", "files", tokens[2], pointer_token(task), *tokens[3:]))

    return pointer_map
