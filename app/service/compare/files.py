"""Many systems in one file, or in a body that is read as the same file is: tables, lines of JSON, arrays, and columns beside gold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError, InvalidTest, marked, relocated
from ...execution.ipc import Control
from ...inference.reading import Guessed, Note
from ...inference.record import ReadingRecord
from ...inputs import json_body, npy
from ...inputs.alignment import GOLD, Gapped, Given, system_pointer
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
    in_words,
    written_weights,
)
from ...inputs.formats.reader import ReaderOptions
from ...inputs.formats.source import UTF8_BOM, Source, sources
from ...inputs.formats.spreadsheet import as_text, refuse_others
from ...inputs.systems_rows import LongBoard, WideBoard
from ..media_types import CSV, TSV
from ..messages import Job
from ..multipart import Form
from ..parse_files import as_read, option_pointer, read_form, spec_of_kind
from ..query import OF_A_BOARD
from ..schema.fields import NO_BOOLEANS
from . import json_request
from .board import DecodedCompare, GivenBoard, without_ids
from .options import NAMES, SYSTEMS, FormFields, beside_body, beside_files, fields_of, in_form
from .system_files import each_file

SYSTEM = "system"  # the part of each system's file, repeated
FILE = "file"
# Several systems in one file.
FORMATS = (*many_systems.FORMATS, *beside_gold.OUTPUTS)
# Options of the reader that a query may have: they say which column is what, and how a table is written.
COLUMNS = (
    "gold_column", "event_column", "groups", "clusters", "id_column", "score_column", "system_column", "decimal", "delimiter",
)  # fmt: skip
Boards = dict[str | None, GivenBoard]


def parse_form(job: Job, body: bytes | bytearray, control: Control) -> DecodedCompare:
    """Read a form of files; raises InputError with pointers `/files/<role>/…` and `/options/<name>`."""
    form = read_form(job, body, control, SYSTEM)
    request = _request_in(form) if FILE in form.files else None
    if request is not None:
        return request
    fields = fields_of(form.fields)
    for role in ("u", "v"):
        if role in form.files:
            detail = f"A comparison takes a file for each system (`system`); {role} is of a test of two."
            raise InvalidTest.at(f"/files/{role}", "unused_file", detail)
    options = _reader_options(job, fields)
    if FILE not in form.files:
        return each_file(form, fields, options)
    if form.repeated or len(form.files) > 1:
        other = SYSTEM if form.repeated else next(role for role in form.files if role != FILE)
        detail = "Give all systems in one file (`file`), or a file for each (`system`); not both."
        raise InvalidTest.at(f"/files/{other}", "unused_file", detail)
    files = sources(form.files)
    refuse_others(files)
    files, sheets = as_text(files, options)
    fields.reader.pop("sheet", None)
    found = one_file(files[FILE], fields, replace(options, sheet=None))
    assert found.reading is not None  # of a body alone there may be nothing to say
    return replace(found, reading=replace(found.reading, facts=(*sheets, *found.reading.facts)))


def parse_body(job: Job, body: bytes | bytearray) -> DecodedCompare:
    """Read a table or lines of JSON with the options in the query; raises InputError with pointers `/line/…` and `/?<name>`."""
    given = [(name, text) for name, text in job.query if name not in ("format", "theme", *OF_A_BOARD)]
    with relocated(_in_body):
        fields, source = fields_of(given), Source(FILE, "", bytes(body), is_body=True)
        options, format_ = (
            _reader_options(job, fields),
            {CSV: "csv", TSV: "tsv"}.get(job.body.media_type, "jsonl"),
        )
        told = catalogue.told_by_statistic(options.statistic)
        if told is not None:
            format_ = told
        elif {"gold_column", "event_column"} & {name for name, _ in given}:
            guessed = catalogue.guess({FILE: source}, options).name
            beside = {catalogue.RANKED, catalogue.LABELLED, *catalogue.TABLES}
            format_ = catalogue.AUTO if guessed in beside else catalogue.RANKED
        return replace(one_file(source, replace(fields, format=format_), options), pointer_map=beside_body)


def _in_body(pointer: str) -> str:
    """The map for options that were read as fields of a form."""
    if pointer.startswith("/options/"):
        return "/?" + pointer.removeprefix("/options/")
    return "" if pointer == f"/files/{FILE}" else pointer


def _reader_options(job: Job, fields: FormFields) -> ReaderOptions:
    limits = job.limits
    return ReaderOptions.of_form(
        fields.reader, max_inflated_bytes=limits.max_body_bytes, max_items=limits.max_items
    )


def _request_in(form: Form) -> DecodedCompare | None:
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
    with relocated(_in_file):
        decoded = json_request.decoded(read.value, {NO_BOOLEANS: read.no_booleans})
    note = "The file is a JSON request, as for POST /v1/compare, and was read as one."
    record = ReadingRecord("json-request", guessed=True, facts=(note,))
    return replace(decoded, pointer_map=_in_file, reading=record)


def _in_file(pointer: str) -> str:
    return pointer if pointer.startswith(("/files/", "/options/")) else f"/files/{FILE}{pointer}"


def one_file(source: Source, fields: FormFields, options: ReaderOptions) -> DecodedCompare:
    """All systems in one file; raises InputError with pointers into the form."""
    if fields.names is not None:
        detail = "`names` goes with one file for each system; this file names its systems itself. `systems` chooses among them."
        raise InvalidTest.at(option_pointer(NAMES), "unused_option", detail)
    format_, notes, untold = fields.format, list[Note](), False
    guessed = format_ == catalogue.AUTO
    if guessed:
        found = catalogue.guess({FILE: source}, options)
        format_ = catalogue.beside_gold(found.name, options)
        if format_ in catalogue.TABLES:
            format_ = catalogue.told_by_statistic(options.statistic) or format_
        untold = catalogue.may_be_either(found.name, format_, options)
        notes = [Guessed(found.looked_at.replace("files'", "file's"), format_)]
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
    options = replace(options, on_missing=fields.on_missing)
    if format_ in beside_gold.OUTPUTS:
        beside = beside_gold.read_systems(source, options, fields.systems, format_)
        if untold:
            refuse_untold(beside.default, beside.gold, beside.systems)
        with relocated(in_form):
            parameters = as_read(fields.parameters, beside.gold)
            spec = spec_of_kind("predictions", beside.default, options.statistic, parameters)
        record = ReadingRecord(format_, guessed, (*notes, *beside.notes))
        return DecodedCompare(
            fields.choices("predictions"), {None: _beside_gold(beside)}, beside_files, record, spec
        )
    choices, spec_given = fields.choices("scores"), fields.spec_of_scores()
    if options.delimiter is None:
        options = replace(options, delimiter=catalogue.FORMATS[format_].delimiter)
    with relocated(lambda pointer: option_pointer(SYSTEMS) if pointer == "/systems" else pointer):
        holds = many_systems.read(source, format_, options, fields.systems)
    table, boards = holds.found, Boards()
    if isinstance(table, many_systems.Table):
        boards |= {name: _of_long(board, table) for name, board in table.long.items()}
        boards |= {name: _of_wide(board, table) for name, board in table.wide.items()}
    else:
        boards[None] = _of_outputs(table, source)
    notes += holds.notes
    if any(board.weights is not None for board in boards.values()):
        notes.append(WEIGHTED)
    if isinstance(table, dict) and any(outputs.by_order for outputs in table.values()):
        notes.append(PAIRED_BY_ORDER)
    reading = ReadingRecord(format_, guessed, tuple(notes)) if notes or not source.is_body else None
    return DecodedCompare(
        choices, boards, beside_files, reading, spec_given, holds.metric, holds.higher_is_better, fields.warnings(holds.findings),
    )  # fmt: skip


# Boards


def _of_wide(board: WideBoard, table: many_systems.Table) -> GivenBoard:
    frame, names = table.frame, {system_pointer(name): name for name in board.systems} | table.columns

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        if index is None:
            return frame.at_top(names[column]) if column in names else column
        return "/".join([frame.place(int(board.rows[index]), names.get(column, "")), *rest])

    keys = board.ids
    if board.missing and keys is None:
        keys = [in_words(frame.path(row)) for row in board.rows.tolist()]
    columns = _gapped(board.systems, board.missing)
    return GivenBoard(columns, place, ids=keys, clusters=board.clusters, weights=board.weights)


def _gapped(systems: Mapping[str, Any], missing: Mapping[str, NDArray[np.bool_]]) -> dict[str, Given]:
    """Columns without the values that are missing."""
    columns: dict[str, Given] = {}
    for name, column in systems.items():
        gone = missing.get(name)
        columns[name] = column if gone is None else Gapped(column[~gone], np.flatnonzero(~gone), len(column))
    return columns


def _of_long(board: LongBoard, table: many_systems.Table) -> GivenBoard:
    frame, score = table.frame, table.columns["/score"]
    names = {system_pointer(name): name for name in board.values}

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        """The line of a value; of a whole system that of its first row, looked up only for an error: it means to read the table again."""
        rows = board.rows.get(names.get(column, ""))
        if rows is None or not len(rows):
            return column
        if index is None:
            return frame.place(int(rows.min()))
        row = int(rows[np.flatnonzero(board.positions[names[column]] == index)[0]])
        return "/".join([frame.place(row, score), *rest])

    n = len(board.ids)
    columns = {name: Gapped(column, board.positions[name], n) for name, column in board.values.items()}
    return GivenBoard(columns, place, ids=board.ids, clusters=board.clusters, weights=board.weights)


def _beside_gold(found: SystemsBesideGold) -> GivenBoard:
    """The columns of the systems, with gold, groups, events and clusters beside them; rows have their numbers for ids."""
    names: dict[str, str | None] = {system_pointer(name): name for name in found.systems}
    names |= {GOLD: found.gold_name, "/ids": found.of.id, "/clusters": found.of.cluster}

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        if index is None:
            return found.of.data.top if column in {*names, "/groups", "/event"} else column
        return found.place(index, names.get(column))

    columns = {
        name: Gapped(found.systems[name], np.array(found.present[name], dtype=np.int64), len(found.rows))
        for name in sorted(found.systems)
    }
    complete = all(len(present) == len(found.rows) for present in found.present.values())
    numbered = None if complete else [str(row + 1) for row in found.rows]
    return GivenBoard(
        columns, place, found.gold, found.ids or numbered, found.clusters, groups=found.groups, event=found.events
    )  # fmt: skip


def _of_outputs(systems: dict[str, SystemOutputs], source: Source) -> GivenBoard:
    clustered = require_alike(systems, source)
    sides = {name: systems[name].by_id() for name in sorted(systems)}
    columns = {
        name: replace(side, values=cast("Any", column_of(list(side.values), name)))
        for name, side in sides.items()
    }
    names = {system_pointer(name): name for name in systems}

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        if index is None:
            return source.pointer if column in {*names, "/weights"} else column
        if column not in names:
            return source.pointer
        outputs = systems[names[column]]
        return outputs.pointer(outputs.index[sides[names[column]].ids[index]])

    clusters = clusters_of(systems) if clustered else None
    return GivenBoard(columns, place, clusters=clusters, weights=written_weights(list(systems.values())))


def of_array(body: bytes | bytearray, systems: Sequence[str] | None, *, may_be_missing: bool) -> Boards:
    """The board of an N x K array; raises InputError with pointers `/<row>/<column>`, from zero.

    NaN is missing where `on_missing` says what to do about it.
    """
    if systems is None:
        detail = "Name the columns of the array: `systems=A,B,C`, as many as it has."
        raise InvalidTest.at("/systems", "missing", detail)
    columns = npy.read_columns(body, len(systems), may_be_missing=may_be_missing)
    by_name, ids = without_ids(dict(zip(systems, columns, strict=True)), ())
    position = {system_pointer(name): index for index, name in enumerate(systems)}
    missing = {
        name: np.isnan(column)
        for name, column in by_name.items()
        if column.dtype == np.float64 and np.isnan(column).any()
    }

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        if index is None:
            return "/?systems" if column in position else column
        return f"/{index}/{position[column]}"

    keys = [f"row {row}" for row in range(len(columns[0]))] if missing and ids is None else ids
    return {None: GivenBoard(_gapped(by_name, missing), place, ids=keys)}
