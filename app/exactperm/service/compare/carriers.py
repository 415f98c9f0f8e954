"""Turns JSON requests, arrays and tables (bodies or one file) into boards; `system_files` reads files of single systems."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import chain
from math import comb
from typing import Any, cast

import numpy as np
from pydantic import TypeAdapter, ValidationError

from ...answers.reading import Guessed, Note
from ...answers.test import ReadingRecord
from ...errors import Flaw, InvalidTest, PointerMap, located, mapped, marked, pointer_token
from ...execution.ipc import Control
from ...inference.compare.compare import of_cost
from ...inputs import columns
from ...inputs.alignment import Gapped, PairedColumns, RawColumn, system_pointer
from ...inputs.battles import SHARE, battles_of
from ...inputs.formats import beside_gold, catalogue, many_systems, numpy_files
from ...inputs.formats.workbook import as_text
from ...inputs.options import OF_TWO
from ...inputs.reader import ReaderOptions, Source, sources
from ..documents import request_in
from ..kinds import CSV, TSV
from ..messages import Job
from ..parse_files import Form, as_read, in_body, option_pointer, read_form, spec_of_kind
from ..query import ELSEWHERE, OF_A_BOARD, in_query
from ..schema.compare import Columns, CompareChoices, CompareKind, CompareRequest, Dataset, SystemsRequest
from ..schema.fields import ON_MISSING, CountColumns, OutputColumn, SampleColumn
from ..validation import beside_statistic, chained, flaws_of, prefixed, validated
from .board import (
    NAMES,
    SYSTEMS,
    DecodedCompare,
    FormFields,
    beside_body,
    beside_files,
    fields_of,
    options_of_board,
    without_ids,
)
from .system_files import each_file

SYSTEM = "system"  # the part of each system's file, repeated
FILE = "file"
# Several systems in one file.
FORMATS = (*many_systems.FORMATS, *beside_gold.OUTPUTS)
# Options of the reader in a query: the meaning of columns, and the form of a table.
COLUMNS = (
    "gold_column", "event_column", "groups", "clusters", "id_column", "score_column", "system_column", "decimal", "delimiter",
)  # fmt: skip
Boards = dict[str | None, PairedColumns]
ADAPTERS: Mapping[CompareKind, TypeAdapter[dict[str, Any]]] = {
    "scores": TypeAdapter(dict[str, SampleColumn]),
    "counts": TypeAdapter(dict[str, CountColumns]),
    "predictions": TypeAdapter(dict[str, OutputColumn]),
}
OF_PREFERENCES = frozenset((
    "kind", "battles", "compare", "baseline", "adjust", "alternative", "alpha", "confidence_level", "pairs", "method", "samples",
    "seed", "precision", "timeout_s", "store",
))  # fmt: skip
OF_A_DATASET = ("gold", "ids", "clusters", "weights", "groups", "event")


# Files, and bodies that are read as files


def parse_form(job: Job, body: bytes | bytearray, control: Control) -> DecodedCompare:
    """Read a form of files; raises InputError with pointers `/files/<role>/…` and `/options/<name>`."""
    return of_form(read_form(job, body, control, SYSTEM), job)


def of_form(form: Form, job: Job) -> DecodedCompare:
    """Read the files of a form that was read; raises InputError as `parse_form` does."""
    request = _request_in(form)
    if request is not None:
        return request
    fields = fields_of(form.fields)
    for role in ("u", "v"):
        if role in form.files:
            detail = f"A comparison takes a file for each system (`system`); {role} is for a test of two."
            raise InvalidTest.at(f"/files/{role}", "unused_file", detail)
    options = fields.reader_options(job.limits)
    if FILE not in form.files:
        return _with_costs(partial(each_file, form), fields, options)
    if form.repeated or len(form.files) > 1:
        other = SYSTEM if form.repeated else next(role for role in form.files if role != FILE)
        detail = "Give all systems in one file (`file`), or a file for each (`system`); not both."
        raise InvalidTest.at(f"/files/{other}", "unused_file", detail)
    return _with_costs(partial(boards_of_file, sources(form.files)[FILE]), fields, options)


def _with_costs(
    read: Callable[[FormFields, ReaderOptions], DecodedCompare], fields: FormFields, options: ReaderOptions
) -> DecodedCompare:
    """What `read` reads; for a frontier read again, with the costs as scores. Raises InvalidTest at `/options/frontier`."""
    column = fields.members.get("frontier")
    decoded = read(fields, options)
    if column is None:
        return decoded
    members = {name: value for name, value in fields.members.items() if name not in ("frontier", "statistic")}
    reader = {name: text for name, text in fields.reader.items() if name not in ("statistic", "metric")}
    costs = replace(fields, members=members, reader={**reader, "score_column": column})
    try:
        boards = read(costs, replace(options, score_column=column, metric=None, statistic=None)).boards
    except InvalidTest as error:
        raise _of_costs(error) from None
    if boards.keys() != {None} or decoded.boards.keys() != {None}:
        detail = "A frontier is of one data set: leave it out, or compare one."
        raise InvalidTest.at(option_pointer("frontier"), "superfluous", detail)
    return replace(decoded, cost=boards[None])


def _of_costs(error: InvalidTest) -> InvalidTest:
    """A refusal of the column of scores as one of the column of costs."""
    column, costs, renamed = marked("score_column"), marked("frontier"), {"score_column": "frontier"}
    pointers, flaws = {option_pointer(old): option_pointer(new) for old, new in renamed.items()}, []
    for flaw in error.flaws:
        choices = tuple(
            replace(choice, fields={renamed.get(name, name): value for name, value in choice.fields.items()})
            for choice in flaw.choices
        )
        pointer = pointers.get(flaw.pointer, flaw.pointer)
        flaws.append(Flaw(pointer, flaw.code, flaw.detail.replace(column, costs), choices))
    return type(error)(error.detail.replace(column, costs), flaws=tuple(flaws))


def parse_body(job: Job, body: bytes | bytearray) -> DecodedCompare:
    """Read a table or lines of JSON with the options in the query; raises InputError with pointers `/line/…` and `/?<name>`."""
    query = [(name, text) for name, text in job.query if name not in ("format", "theme", *OF_A_BOARD)]
    try:
        fields, source = fields_of(query), Source(FILE, "", bytes(body), is_body=True)
        options, format_ = (
            fields.reader_options(job.limits),
            {CSV: "csv", TSV: "tsv"}.get(job.body.media_type, "jsonl"),
        )
        by_statistic = catalogue.format_by_statistic(options.statistic)
        if by_statistic is not None:
            format_ = by_statistic
        elif {"gold_column", "event_column"} & {name for name, _ in query}:
            guessed = catalogue.guess({FILE: source}, options).name
            beside = {catalogue.RANKED, catalogue.LABELLED, *catalogue.TABLES}
            format_ = catalogue.AUTO if guessed in beside else catalogue.RANKED
        decoded = _with_costs(partial(boards_of_file, source), replace(fields, format=format_), options)
    except InvalidTest as error:
        raise located(error, in_body) from None
    return replace(decoded, pointer_map=beside_body)


def _request_in(form: Form) -> DecodedCompare | None:
    """A comparison's JSON request, sent as the only file; None for evaluation files."""
    file = None if form.repeated else request_in(form.files, (), (SYSTEMS, "datasets"))
    if file is None:
        return None
    for name, _ in form.fields:
        detail = f"The file is a JSON request with its options: set {marked(name[:40])} there."
        raise InvalidTest.at(option_pointer(name), "unused_option", detail)
    decoded = of_json(file.value, file.context, prefixed(f"/files/{FILE}"))
    note = "The file is a JSON request, as for POST /v1/compare, and was read as one."
    record = ReadingRecord("json-request", guessed=True, notes=(note,))
    return replace(decoded, reading=record)


def boards_of_file(source: Source, fields: FormFields, options: ReaderOptions) -> DecodedCompare:
    """All systems in one file; raises InputError with pointers into the form."""
    if fields.names is not None:
        detail = (
            "`names` is for one file per system; this file names its systems. `systems` chooses among them."
        )
        raise InvalidTest.at(option_pointer(NAMES), "unused_option", detail)
    files, sheets = as_text({FILE: source}, options)
    source, notes = files[FILE], list[Note](sheets)
    format_, guessed = catalogue.format_of(files, fields.format, options)
    if guessed is not None:
        notes.append(Guessed(guessed.looked_at.replace("files'", "file's"), format_))
    if format_ not in FORMATS:
        detail = (
            f"The format {format_} takes a file for each system (`system`). Several systems in one file are read as "
            f"{', '.join(FORMATS)} (`format`)."
        )
        raise InvalidTest.at(f"/files/{FILE}", "one_system", detail)
    uses = catalogue.FORMATS[format_].uses | catalogue.ALWAYS
    catalogue.refuse_unused(fields.reader, uses - set(OF_TWO), format_)
    delimiter = options.delimiter or catalogue.FORMATS[format_].delimiter
    options = replace(options, on_missing=fields.on_missing, delimiter=delimiter)
    spec = None
    if format_ in beside_gold.OUTPUTS:
        untold = guessed is not None and catalogue.may_be_either(guessed.name, format_, options)
        holds = beside_gold.read_systems(source, options, fields.systems, format_, untold=untold)
        assert holds.default is not None
        parameters = as_read(fields.parameters, holds.labels)
        spec = spec_of_kind("predictions", holds.default, options.statistic, parameters)
        choices = fields.choices("predictions")
    else:
        choices = fields.choices("scores")
        if format_ == "votes" and "on_missing" not in choices.model_fields_set:
            choices = choices.model_copy(update={"on_missing": "pairwise"})  # a battle is of two
        holds = many_systems.read(source, format_, options, fields.systems)
    notes += holds.notes
    read = ReadingRecord(format_, guessed is not None, tuple(notes))
    reading = read if notes or not source.is_body else None
    return DecodedCompare(
        choices, holds.boards, beside_files, reading, spec, holds.metric, holds.higher_is_better, fields.warnings(holds.findings),
    )  # fmt: skip


# JSON and arrays


def of_json(value: Any, context: dict[str, Any], places: PointerMap = str) -> DecodedCompare:
    """The request in a decoded JSON value at `places`, with columns by name in code-point order; raises InvalidTest."""
    context = {**context, ON_MISSING: value.get("on_missing") if type(value) is dict else None}
    request = validated(CompareRequest, value, places, context)
    if request.kind == "preferences" or request.battles is not None:
        return mapped(places, _of_battles, request, places)
    beside = [name for name in ("systems", "scores", *OF_A_DATASET) if getattr(request, name) is not None]
    if request.datasets is not None and beside:
        if beside[0] not in OF_A_DATASET:
            detail = "Give either systems or datasets, not both."
            raise InvalidTest.at(places(f"/{beside[0]}"), "redundant", detail)
        detail = f"With datasets, put {beside[0]} into each of them: data sets never share items."
        raise InvalidTest.at(places(f"/{beside[0]}"), "superfluous", detail)
    boards: Boards = {}
    datasets: dict[str | None, Any] = {None: None} if request.datasets is None else request.datasets
    for name in sorted(datasets, key=str):
        inside, columns = places, cast("Columns", request)
        detail = "Give systems (a column for each, by name), or datasets that have systems."
        if name is not None:
            detail = "Every data set needs systems."
            inside = chained(prefixed(f"/datasets/{pointer_token(name[:200])}"), places)
            columns = validated(Dataset, datasets[name], inside, context)
        if columns.systems is None:
            raise InvalidTest.at(inside("/systems"), "missing", detail)
        boards[name] = mapped(inside, board_in, columns, request.kind, context)
    cost = None
    if request.frontier is not None:
        if type(request.frontier) is str:
            detail = "Files have a column of costs; give the costs of each system here."
            raise InvalidTest.at(places("/frontier"), "frontier", detail)
        if request.datasets is not None:
            detail = "A frontier is of one data set: leave datasets or frontier out."
            raise InvalidTest.at(places("/frontier"), "superfluous", detail)
        costs = mapped(chained(of_cost, places), _columns_in, request.frontier["cost"], "scores", context)
        cost = PairedColumns(costs, ids=boards[None].ids, clusters=boards[None].clusters)
    return DecodedCompare(request, boards, chained(beside_statistic(value), places), cost=cost)


def _of_battles(request: CompareRequest, places: PointerMap) -> DecodedCompare:
    """The board of battles: by default of the pairs that had any. Raises InvalidTest with pointers into the request."""
    unused = request.model_fields_set - OF_PREFERENCES if request.kind == "preferences" else {"battles"}
    if unused:
        detail = f"A board of {request.kind} has no {min(unused)}: leave it out."
        raise InvalidTest.at(f"/{min(unused)}", "superfluous", detail)
    if request.battles is None:
        raise InvalidTest.at("/battles", "missing", "A board of preferences needs battles.")
    battles = mapped(prefixed("/battles"), battles_of, request.battles)
    wins, models = battles.wins(), battles.models
    met = [[models[u], models[v]] for u, v in np.argwhere(np.triu(wins + wins.T)).tolist()]
    chosen: dict[str, Any] = {"kind": "scores", "on_missing": "pairwise"}
    by_default = "compare" not in request.model_fields_set and request.alternative == "two-sided"
    if by_default and len(met) < comb(len(models), 2):
        chosen["compare"] = met
    return DecodedCompare(
        request.model_copy(update=chosen), {None: PairedColumns(dict(battles.board()))}, metric=SHARE, known=True, wins=wins,
        pointer_map=lambda pointer: places("/battles" if pointer.startswith("/systems") else pointer),
    )  # fmt: skip


def board_in(columns: Columns | SystemsRequest, kind: CompareKind, context: dict[str, Any]) -> PairedColumns:
    """Read the columns of one data set; raises InvalidTest with pointers into it."""
    if type(columns.systems) is list:
        board, ids = _of_matrix(columns, kind)
    else:
        if columns.scores is not None:
            detail = "The matrix scores needs a list of names in systems; these systems have columns already."
            raise InvalidTest.at("/scores", "redundant", detail)
        assert columns.systems is not None
        systems, ids = without_ids(columns.systems, columns.model_fields_set)
        board = PairedColumns(_columns_in(systems, kind, context))
    of_items = {name: getattr(columns, name, None) for name in OF_A_DATASET}
    return replace(board, **of_items | {"ids": ids if columns.ids is None else columns.ids})


def _columns_in(systems: Mapping[str, Any], kind: CompareKind, context: dict[str, Any]) -> dict[str, Any]:
    """The columns by name in code-point order; raises InvalidTest at `/systems/<name>/…`."""
    try:
        return ADAPTERS[kind].validate_python(dict(sorted(systems.items())), context=context)
    except ValidationError as error:
        details = error.errors(include_url=False)
        flaws = [flaw for detail in details for flaw in flaws_of(detail)]
        flaws = [replace(flaw, pointer=f"/systems{flaw.pointer}") for flaw in flaws]
        raise InvalidTest(f"At {flaws[0].pointer}: {flaws[0].detail}", flaws=tuple(flaws)) from None


def _of_matrix(matrix: Columns | SystemsRequest, kind: CompareKind) -> tuple[PairedColumns, list[Any] | None]:
    """Names, rows of scores in that order, and ids if they are a column."""
    names: list[str] = list(matrix.systems or ())
    if kind != "scores":
        detail = (
            f"A list of names is for the matrix scores; {kind} need an object with a column for each system."
        )
        raise InvalidTest.at("/systems", "matrix_of_scores_only", detail)
    if matrix.scores is None:
        detail = (
            "A list of names needs the matrix scores: a row for each item, with a number for each system."
        )
        raise InvalidTest.at("/scores", "missing", detail)
    seen: dict[str, int] = {}
    for position, name in enumerate(names):
        if seen.setdefault(name, position) != position:
            detail = "A system has the name of an earlier one: give them different names."
            raise InvalidTest.at(f"/systems/{position}", "duplicate_name", detail)
    by_name = dict(zip(names, _columns(matrix.scores, len(names)), strict=True))
    return _of_columns(by_name, matrix.model_fields_set, "/systems/{1}", "/scores/{0}/{1}")


def _of_columns(
    by_name: dict[str, Any], others: Collection[str], whole: str, cell: str
) -> tuple[PairedColumns, list[Any] | None]:
    """The board of a matrix, with the places of names and items, and ids if they are a column."""
    positions = {system_pointer(name): position for position, name in enumerate(by_name)}
    systems, ids = without_ids(by_name, others)

    def place(column: str, index: int | None, rest: Sequence[str]) -> str:
        if column not in positions:
            return column if index is None else f"{column}/{index}"
        return (whole if index is None else cell).format(index, positions[column])

    return PairedColumns(systems, place), ids


def _columns(rows: list[Any], n: int) -> list[RawColumn]:
    """The columns of a matrix; raises InvalidTest at `/scores/<row>[/<column>]`."""
    if not rows:
        raise InvalidTest.at("/scores", "no_items", "There are no items to compare; give at least one row.")
    if set(map(type, rows)) != {list}:
        index = next(i for i, row in enumerate(rows) if type(row) is not list)
        detail = "A row is a list with a number for each system."
        raise InvalidTest.at(f"/scores/{index}", "not_a_row", detail)
    if set(map(len, rows)) != {n}:
        index = next(i for i, row in enumerate(rows) if len(row) != n)
        detail = f"This row has {len(rows[index]):,} numbers and there are {n:,} systems: every row needs one for each."
        raise InvalidTest.at(f"/scores/{index}", "ragged", detail)
    promised = bool not in set(map(type, chain.from_iterable(rows)))
    made: list[RawColumn] = []
    for position, column in enumerate(zip(*rows, strict=True)):
        place = f"/scores{{}}/{position}".format
        made.append(mapped(place, columns.numbers, list(column), may_hold_booleans=not promised))
    return made


def of_array(job: Job, body: bytes | bytearray) -> DecodedCompare:
    """An N x K array with the options in the query, NaN missing if `on_missing` is set; raises InputError at `/<row>/<column>`, from zero."""
    known = (SYSTEMS, *ELSEWHERE, *OF_A_BOARD)
    members, systems = options_of_board(job.query, lambda name: f"/?{name[:40]}", extra=known)
    choices = validated(CompareChoices, members, in_query)
    if systems is None:
        detail = "Name all columns of the array: `systems=A,B,C`."
        raise InvalidTest.at("/?systems", "missing", detail)
    return DecodedCompare(choices, _of_array(body, systems, choices.on_missing != "error"), beside_body)


def _of_array(body: bytes | bytearray, systems: Sequence[str], may_be_missing: bool) -> Boards:
    arrays = numpy_files.columns_of(body, len(systems), may_be_missing=may_be_missing)
    board, ids = _of_columns(dict(zip(systems, arrays, strict=True)), (), "/?systems", "/{0}/{1}")
    columns: dict[str, RawColumn] = {}
    column: Any
    for name, column in board.systems.items():
        there = np.flatnonzero(~np.isnan(column))
        columns[name] = column if len(there) == len(column) else Gapped(column[there], there, len(column))
    gaps = any(isinstance(column, Gapped) for column in columns.values())
    keys = [f"row {row}" for row in range(len(arrays[0]))] if gaps and ids is None else ids
    return {None: replace(board, systems=columns, ids=keys)}
