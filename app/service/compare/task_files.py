"""Several files for each system, one for each task: the tasks are the data sets of the comparison.

`names` says which system each file is of, so that a name stands as often as its system has files; the task is what the
file is called.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...errors import InvalidTest, pointer_token, relocated
from ...inference.reading import Note
from ...inference.record import ReadingRecord
from ...inputs.alignment import OnMissingOnBoard
from ...inputs.formats.reader import ReaderOptions, Reading, UploadedFile
from ...inputs.formats.tasks import (
    ITEM,
    at_most,
    common_tasks,
    in_task,
    of_tasks,
    require_alike,
    some,
    tasks_by_name,
    totals_read,
)
from ...inputs.quoting import quoted
from ..multipart import Form
from .given import GivenBoard
from .system_files import MOST_NOTES, Readings, read_each

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
    groups = {_pointer(name): (quoted(name), tasks) for name, tasks in by_system.items()}
    groups |= {f"/files/{role}": (role, tasks) for role, tasks in by_role.items()}
    common, lacking = common_tasks(groups, drop=COMPLETE, dropped=on_missing == COMPLETE)
    missing = sorted(set().union(*lacking))
    notes = (
        [f"{len(missing):,} tasks that not all systems have were left out: {some(missing)}."]
        if missing
        else []
    )
    alone = {role: file for role, file in form.files.items() if not file.parts}
    return TaskFiles(
        {task: {name: tasks[task] for name, tasks in by_system.items()} for task in common},
        {task: {role: tasks[task] for role, tasks in by_role.items()} | alone for task in common},
        tuple(notes),
    )


def _pointer(name: str) -> str:
    return f"/files/{pointer_token(name)}"


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
        with relocated(in_task(task, divided)):
            read[task] = read_each(
                list(files.values()), names, others, format_, options, on_missing=on_missing
            )
    first_task, first = next(iter(read.items()))
    boards = {}
    for task, readings in read.items():
        pointer = _pointer(next(iter(tasks.systems[task])))
        require_alike(task, readings.first, first_task, first.first, pointer)
        boards[task] = readings.board.within(in_task(task, {*map(pointer_token, tasks.systems[task])}))
    facts = {task: readings.record.facts for task, readings in read.items()}
    notes: list[Note] = [f"{len(read):,} tasks were read, each a data set: {some(list(read))}.", *tasks.notes]
    notes += [*totals_read(list(facts.values())), *of_tasks(facts, MOST_NOTES)]
    record = ReadingRecord(first.record.format, first.record.guessed, tuple(at_most(notes, MOST_NOTES)))
    findings = tuple(finding for readings in read.values() for finding in readings.first.findings)
    return ReadTasks(boards, replace(first.first, findings=findings), record)
