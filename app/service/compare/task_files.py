"""Several files for each system, one for each task: the tasks are the data sets of the comparison.

`names` says which system each file is of, so that a name stands as often as its system has files; the task is what the
file is called.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from ...errors import InvalidTest, pointer_token, relocated
from ...inference.reading import Note
from ...inference.record import ReadingRecord
from ...inputs.alignment import OnMissingOnBoard
from ...inputs.formats.joined_readings import ITEM, at_most, of_tasks, require_alike, totals_read
from ...inputs.formats.reader import ReaderOptions, Reading, UploadedFile
from ...inputs.formats.several_files import some, tasks_by_name
from ...inputs.quoting import quoted
from ..multipart import Form
from .given import GivenBoard
from .system_files import MOST_NOTES, Readings, read_each
from .tables import Mapped

COMPLETE = "complete"


@dataclass(frozen=True, slots=True)
class TaskFiles:
    """The file of each system by task, the files beside them, and notes about the tasks."""

    systems: Mapping[str, Mapping[str, UploadedFile]]
    others: Mapping[str, Mapping[str, UploadedFile]]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ReadTasks:
    """A board for each task, and how they were read; `first` is the reading of the first two files."""

    boards: Mapping[str, GivenBoard]
    first: Reading
    record: ReadingRecord


def tasks_of(form: Form, names: list[str] | None, *, on_missing: OnMissingOnBoard) -> TaskFiles | None:
    """The files by task, where names give a system several files; None where every file is a system.

    Raises
    ------
    InvalidTest
        Two files of a system are of one task, or not all systems have a task.
    """
    beside = {role: file for role, file in form.files.items() if file.parts}
    if names is None or len(set(names)) == len(names):
        if beside:
            role = next(iter(beside))
            detail = f"There are several files {role}: that goes with a file of every system for each task, and names that say whose it is."
            raise InvalidTest.at(f"/files/{role}", "duplicate_file", detail)
        return None
    own: dict[str, list[UploadedFile]] = {}
    for name, file in zip(names, form.repeated, strict=True):
        own.setdefault(name, []).append(file)
    if len(own) < 2:
        detail = f"All files are of the system {quoted(names[0])}: a comparison needs at least two systems."
        raise InvalidTest.at("/options/names", "too_few_systems", detail)
    by_system = {name: tasks_by_name(files, _pointer(name)) for name, files in own.items()}
    by_role = {role: tasks_by_name(file.parts, f"/files/{role}") for role, file in beside.items()}
    everyone = [*by_system.values(), *by_role.values()]
    common = set.intersection(*map(set, everyone))
    every = {task for tasks in everyone for task in tasks}
    notes = []
    if common != every:
        _require_complete(by_system, by_role, every, common, on_missing)
        notes.append(
            f"{len(every - common):,} tasks that not all systems have were left out: {some(sorted(every - common))}."
        )
    alone = {role: file for role, file in form.files.items() if not file.parts}
    order = sorted(common)
    return TaskFiles(
        {task: {name: tasks[task] for name, tasks in by_system.items()} for task in order},
        {task: {role: tasks[task] for role, tasks in by_role.items()} | alone for task in order},
        tuple(notes),
    )


def _pointer(name: str) -> str:
    return f"/files/{pointer_token(name)}"


def _require_complete(
    by_system: Mapping[str, Mapping[str, Any]],
    by_role: Mapping[str, Mapping[str, Any]],
    every: set[str],
    common: set[str],
    on_missing: OnMissingOnBoard,
) -> None:
    """Refuse tasks that not all have, unless on_missing says that only what all have counts."""
    if common and on_missing == COMPLETE:
        return
    groups = {_pointer(name): (quoted(name), tasks) for name, tasks in by_system.items()}
    groups |= {f"/files/{role}": (role, tasks) for role, tasks in by_role.items()}
    where, (name, tasks) = next((where, own) for where, own in groups.items() if set(own[1]) != every)
    lacking = sorted(every - set(tasks))
    way = ", or set on_missing to complete to leave these tasks out" if common else ""
    detail = (
        f"There is no file of {name} for {len(lacking):,} of the tasks: {some(lacking)}; it has {some(sorted(tasks))}. "
        f"Files are paired by their names, dates left out: add the files, name all systems' files alike{way}."
    )
    raise InvalidTest.at(where, "unmatched_tasks", detail)


def read_tasks(
    tasks: TaskFiles, format_: str, options: ReaderOptions, *, on_missing: OnMissingOnBoard
) -> ReadTasks:
    """Read every task as one board; raises InputError with pointers `/files/<system>/<task>/…`."""
    if options.clusters == ITEM:
        options = replace(options, clusters=None)
    read: dict[str, Readings] = {}
    for task, files in tasks.systems.items():
        names, others = list(files), tasks.others[task]
        divided = {*map(pointer_token, names), *others}
        with relocated(_in_task(task, divided)):
            read[task] = read_each(
                list(files.values()), names, others, format_, options, on_missing=on_missing
            )
    first_task, first = next(iter(read.items()))
    boards = {}
    for task, readings in read.items():
        require_alike(
            task,
            readings.first,
            first_task,
            first.first,
            f"/files/{pointer_token(next(iter(tasks.systems[task])))}",
        )
        boards[task] = _within(readings.board, _in_task(task, {*map(pointer_token, tasks.systems[task])}))
    facts = {task: readings.record.facts for task, readings in read.items()}
    notes: list[Note] = [f"{len(read):,} tasks were read, each a data set: {some(list(read))}.", *tasks.notes]
    notes += [*totals_read(list(facts.values())), *of_tasks(facts, MOST_NOTES)]
    record = ReadingRecord(first.record.format, first.record.guessed, tuple(at_most(notes, MOST_NOTES)))
    return ReadTasks(boards, first.first, record)


def _in_task(task: str, divided: set[str]) -> Callable[[str], str]:
    """The map of pointers to a system's file to pointers to its file of a task."""

    def pointer_map(pointer: str) -> str:
        tokens = pointer.split("/", 3)
        if tokens[:2] != ["", "files"] or len(tokens) < 3 or tokens[2] not in divided:
            return pointer
        return "/".join(("", "files", tokens[2], pointer_token(task), *tokens[3:]))

    return pointer_map


def _within(board: GivenBoard, outer: Callable[[str], str]) -> GivenBoard:
    place = board.place
    assert place is not None
    return replace(
        board,
        place=lambda column, index, rest: outer(place(column, index, rest)),
        columns=Mapped(board.columns, outer),
    )
