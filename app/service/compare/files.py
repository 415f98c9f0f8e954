"""Evaluation files of many systems: one file for each, or one that holds several."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from ...errors import InputError, InvalidTest, marked, relocated
from ...execution.ipc import Control
from ...inference.record import ReadingRecord, WarningRecord
from ...inputs import json_body
from ...inputs.alignment import GOLD, Gapped, system_pointer
from ...inputs.formats import beside_gold, catalogue, many_systems
from ...inputs.formats.beside_gold import SystemsBesideGold
from ...inputs.formats.gold_signs import refuse_untold
from ...inputs.formats.many_systems import require_alike
from ...inputs.formats.options import OF_TWO
from ...inputs.formats.outputs_by_id import (
    PAIRED_BY_ORDER,
    WEIGHTED,
    SystemOutputs,
    clusters_of,
    column_of,
    written_weights,
)
from ...inputs.formats.reader import ReaderOptions
from ...inputs.formats.source import UTF8_BOM, Source, sources
from ...inputs.formats.spreadsheet import as_text, refuse_others
from ...statistics.paired import StatisticSpec
from ..messages import Job
from ..multipart import Form
from ..parse import warnings_of
from ..parse_files import PARAMETERS, as_read, option_pointer, read_form, spec_of_kind, spec_of_reading
from ..schema.compare import CompareChoices, CompareKind
from ..schema.fields import NO_BOOLEANS
from . import json_request, tables
from .form_fields import NAMES, FormFields, choices_of, fields_of, spec_of_scores
from .given import GivenBoard
from .options import SYSTEMS, in_form
from .system_files import read_each
from .task_files import read_tasks, tasks_of

SYSTEM = "system"  # the part of each system's file, repeated
FILE = "file"
# Several systems in one file.
FORMATS = (*many_systems.FORMATS, *beside_gold.OUTPUTS)


@dataclass(frozen=True, slots=True)
class FilesOfSystems:
    """What files hold: choices, boards, how they were read, and what they say of their scores."""

    choices: CompareChoices
    boards: dict[str | None, GivenBoard]
    reading: ReadingRecord | None
    spec: StatisticSpec | None = None
    metric: str | None = None
    known: bool | None = None
    warnings: tuple[WarningRecord, ...] = ()


def parse_form(job: Job, body: bytes | bytearray, control: Control) -> FilesOfSystems:
    """Read a form of files; raises InputError with pointers `/files/<role>/…` and `/options/<name>`."""
    limits = job.limits
    form = read_form(job, body, control, SYSTEM)
    if FILE in form.files:
        request = _request_in(form)
        if request is not None:
            return request
    fields = fields_of(form.fields)
    for role in ("u", "v"):
        if role in form.files:
            detail = f"A comparison takes a file for each system (`system`); {role} is of a test of two."
            raise InvalidTest.at(f"/files/{role}", "unused_file", detail)
    options = ReaderOptions.of_form(
        fields.reader, max_inflated_bytes=limits.max_body_bytes, max_items=limits.max_items
    )
    if FILE in form.files:
        if form.repeated or len(form.files) > 1:
            other = SYSTEM if form.repeated else next(role for role in form.files if role != FILE)
            detail = "Give all systems in one file (`file`), or a file for each (`system`); not both."
            raise InvalidTest.at(f"/files/{other}", "unused_file", detail)
        return _one_table(sources(form.files)[FILE], fields, options)
    return _each_file(form, fields, options)


def _request_in(form: Form) -> FilesOfSystems | None:
    """A JSON request of a comparison, sent as the only file; None for evaluation files."""
    content = form.files[FILE].content.removeprefix(UTF8_BOM).strip()
    is_object = content.startswith(b"{") and (b'"systems"' in content or b'"datasets"' in content)
    if not is_object or len(form.files) > 1 or form.repeated:
        return None
    try:
        read = json_body.decode(content)
    except InputError:
        return None  # the readers report what is wrong, and where
    if type(read.value) is not dict or not {"systems", "datasets"} & read.value.keys():
        return None
    for name, _ in form.fields:
        detail = f"The file is a JSON request, which holds its options: set {marked(name[:40])} there."
        raise InvalidTest.at(option_pointer(name), "unused_option", detail)
    with relocated(in_file):
        request, boards = json_request.request_of(read.value, {NO_BOOLEANS: read.no_booleans})
    note = "The file is a JSON request, as for POST /v1/compare, and was read as one."
    return FilesOfSystems(request, boards, ReadingRecord("json-request", guessed=True, facts=(note,)))


def in_file(pointer: str) -> str:
    """The map for what is in the only file of a form."""
    return pointer if pointer.startswith(("/files/", "/options/")) else f"/files/{FILE}{pointer}"


def _one_table(source: Source, fields: FormFields, options: ReaderOptions) -> FilesOfSystems:
    """All systems in one file, which may be a spreadsheet or a Parquet file."""
    refuse_others({FILE: source})
    read, notes = as_text({FILE: source}, options)
    reader = {name: value for name, value in fields.reader.items() if name != "sheet"}
    found = one_file(read[FILE], replace(fields, reader=reader), replace(options, sheet=None))
    assert found.reading is not None  # of a body alone there may be nothing to say
    return replace(found, reading=replace(found.reading, facts=(*notes, *found.reading.facts)))


def one_file(source: Source, fields: FormFields, options: ReaderOptions) -> FilesOfSystems:
    """All systems in one file; raises InputError with pointers into the form."""
    if fields.names is not None:
        detail = "`names` goes with one file for each system; this file names its systems itself. `systems` chooses among them."
        raise InvalidTest.at(option_pointer(NAMES), "unused_option", detail)
    format_ = fields.format
    guessed = format_ == catalogue.AUTO
    looked_at, untold = "", False
    if guessed:
        found = catalogue.guess({FILE: source}, options)
        looked_at = found.looked_at.replace("files'", "file's")
        format_ = catalogue.beside_gold(found.name, options)
        if format_ in catalogue.TABLES:
            format_ = catalogue.told_by_statistic(options.statistic) or format_
        untold = catalogue.may_be_either(found.name, format_, options)
    if format_ not in FORMATS:
        detail = (
            f"The format {format_} takes a file for each system (`system`). Several systems in one file are read as "
            f"{', '.join(FORMATS)} (`format`)."
        )
        raise InvalidTest.at(f"/files/{FILE}", "one_system", detail)
    uses = catalogue.FORMATS[format_].uses | catalogue.ALWAYS
    for name in fields.reader:
        if name not in uses:
            detail = f"The format {format_} does not use {marked(name)}; it uses: {', '.join(map(marked, sorted(uses - set(OF_TWO))))}."
            raise InvalidTest.at(option_pointer(name), "unused_option", detail)
    note = (f"The format was guessed from {looked_at}: {format_}.",) if guessed else ()
    if format_ in beside_gold.OUTPUTS:
        return _beside_gold(source, fields, options, format_, note, guessed=guessed, untold=untold)
    choices = choices_of(fields, "scores")
    spec = spec_of_scores(fields)
    options = replace(options, on_missing=fields.on_missing)
    if options.delimiter is None:
        options = replace(options, delimiter=catalogue.FORMATS[format_].delimiter)
    with relocated(lambda pointer: option_pointer(SYSTEMS) if pointer == "/systems" else pointer):
        holds = many_systems.read(source, format_, options, fields.systems)
    boards, by_order = _boards(holds, source)
    notes = (
        *note,
        *holds.notes,
        *((WEIGHTED,) if tables.has_weights(boards) else ()),
        *((PAIRED_BY_ORDER,) if by_order else ()),
    )
    return FilesOfSystems(
        choices,
        boards,
        ReadingRecord(format_, guessed, notes) if notes or not source.is_body else None,
        spec,
        holds.metric,
        holds.higher_is_better,
        warnings_of(holds.findings),
    )


def _boards(holds: many_systems.ManySystems, source: Source) -> tuple[tables.Boards, bool]:
    """The boards of a table, or of systems' outputs; and whether these have no ids."""
    if isinstance(holds.found, many_systems.Table):
        return tables.of_table(holds.found), False
    board, by_order = _board(holds.found, source)
    return {None: board}, by_order


def _beside_gold(
    source: Source,
    fields: FormFields,
    options: ReaderOptions,
    format_: str,
    note: tuple[str, ...],
    *,
    guessed: bool,
    untold: bool,
) -> FilesOfSystems:
    """Gold and the scores or labels of all systems in one file; `untold` is as `catalogue.may_be_either`."""
    found = beside_gold.read_systems(
        source, replace(options, on_missing=fields.on_missing), fields.systems, format_
    )
    if untold:
        refuse_untold(found.default, found.gold, found.systems)
    statistic = fields.members.get("statistic", {})
    parameters = {name: statistic[name] for name in PARAMETERS if name in statistic}
    with relocated(in_form):
        spec = spec_of_kind("predictions", found.default, options.statistic, as_read(parameters, found.gold))
    record = ReadingRecord(format_, guessed, (*note, *found.notes))
    return FilesOfSystems(choices_of(fields, "predictions"), {None: _board_beside_gold(found)}, record, spec)


def _board_beside_gold(found: SystemsBesideGold) -> GivenBoard:
    """The columns of the systems, with gold, groups, events and clusters beside them; rows have their numbers for ids."""
    names = {system_pointer(name): name for name in found.systems}
    fields = {GOLD: found.gold_name, "/ids": found.of.id, "/clusters": found.of.cluster}

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = names.get(column)
        if name is None:
            return found.place(index, fields.get(column))
        return found.place(found.present[name][index], name)

    columns = {
        name: Gapped(found.systems[name], np.array(found.present[name], dtype=np.int64), len(found.rows))
        for name in sorted(found.systems)
    }
    complete = all(len(present) == len(found.rows) for present in found.present.values())
    numbered = None if complete else [str(row + 1) for row in found.rows]
    whole = dict.fromkeys((*names, *fields, "/groups", "/event"), found.of.data.top)
    return GivenBoard(
        columns, found.gold, found.ids or numbered, found.clusters, place, whole, groups=found.groups,
        event=found.events,
    )  # fmt: skip


def _board(systems: Mapping[str, SystemOutputs], source: Source) -> tuple[GivenBoard, bool]:
    """The columns of SystemOutputs; and whether they have no ids."""
    clustered = require_alike(dict(systems), source)
    sides = {name: systems[name].by_id() for name in sorted(systems)}
    columns = {
        name: replace(side, values=cast("Any", column_of(list(side.values), name)))
        for name, side in sides.items()
    }
    tokens = {system_pointer(name): name for name in systems}

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = tokens.get(column)
        return (
            source.pointer
            if name is None
            else systems[name].pointer(systems[name].index[sides[name].ids[index]])
        )

    board = GivenBoard(
        columns,
        clusters=clusters_of(dict(systems)) if clustered else None,
        place=place,
        columns=dict.fromkeys((*tokens, "/weights"), source.pointer),
        weights=written_weights(list(systems.values())),
    )
    return board, any(outputs.by_order for outputs in systems.values())


def _each_file(form: Form, fields: FormFields, options: ReaderOptions) -> FilesOfSystems:
    """One file for each system."""
    if fields.systems is not None:
        detail = "`systems` chooses among those of one file; `names` gives each file its system's name."
        raise InvalidTest.at(option_pointer(SYSTEMS), "unused_option", detail)
    if len(form.repeated) < 2:
        detail = (
            f"A comparison needs at least two files, one for each system (`system`), or one file that holds several (`file`); there "
            f"{'is one' if form.repeated else 'is none'}."
        )
        raise InvalidTest.at("/files", "too_few_systems", detail)
    if fields.names is not None and len(fields.names) != len(form.repeated):
        detail = f"`names` has {len(fields.names):,} names for {len(form.repeated):,} files: give one for each, in their order."
        raise InvalidTest.at(option_pointer(NAMES), "wrong_name_count", detail)
    on_missing = fields.members.get("on_missing", "error")
    tasks = tasks_of(form, fields.names, on_missing=on_missing)
    if tasks is None:
        board = read_each(
            form.repeated, fields.names, form.files, fields.format, options, on_missing=on_missing
        )
        boards: dict[str | None, GivenBoard] = {None: board.board}
        first, record = board.first, board.record
    else:
        read = read_tasks(tasks, fields.format, options, on_missing=on_missing)
        boards = dict(read.boards.items())
        first, record = read.first, read.record
    kind: CompareKind = "predictions" if first.kind in ("segments", "predictions") else first.kind  # type: ignore[assignment]
    statistic = fields.members.get("statistic", {})
    with relocated(in_form):
        spec = spec_of_reading(
            first,
            options.statistic,
            {name: statistic[name] for name in PARAMETERS if name in statistic},
        )
    measured = first.kind == "scores" or spec == first.default_statistic
    return FilesOfSystems(
        choices_of(fields, kind), boards, record, spec,
        first.metric if measured else None, first.higher_is_better if measured else None, warnings_of(first.findings),
    )  # fmt: skip
