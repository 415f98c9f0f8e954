"""Evaluation files of many systems: one file for each, or one that holds several."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

from ...errors import InputError, InvalidTest, pointer_token, relocated
from ...inference.record import ReadingRecord
from ...inputs import delimited, json_body
from ...inputs.delimited import Delimiter
from ...inputs.formats import catalogue, many_systems
from ...inputs.formats.many_systems import require_alike
from ...inputs.formats.outputs_by_id import SystemOutputs, column_of
from ...inputs.formats.reader import OPTION_NAMES, ReaderOptions
from ...inputs.formats.roles import ROLES
from ...inputs.formats.source import UTF8_BOM, Source, sources
from ...inputs.pairing import ById, Given
from ...inputs.quoting import quoted
from ...statistics.paired import StatisticSpec
from ..messages import Job
from ..multipart import Form, read as read_multipart
from ..parse_files import PARAMETERS, option_pointer, spec_of_reading
from ..schema.compare import CompareChoices, CompareKind
from ..schema.fields import NO_BOOLEANS
from ..schema.statistics import STATISTIC_MODELS, spec_of
from ..validation import validated
from . import json_request, tables
from .given import GivenBoard
from .options import OF_QUERY, SYSTEMS, in_form, options_of_board
from .system_files import read_each

SYSTEM = "system"  # the part of each system's file, repeated
NAMES = "names"
FILE = "file"
OF_TWO = ("filter_u", "filter_v", "system_u", "system_v", "tag_column_u", "tag_column_v")
# Options that a comparison has itself, or passes on in its own words.
OWN = frozenset(OF_QUERY)
READER_OPTIONS = tuple(name for name in OPTION_NAMES if name not in OF_TWO and name not in OWN)
KINDS: tuple[CompareKind, ...] = ("scores", "counts", "predictions")
PLAIN: Mapping[str, Delimiter] = {"csv": ",", "tsv": "\t"}
PLAIN_COLUMNS = frozenset(("id", "dataset", "cluster"))


@dataclass(frozen=True, slots=True)
class FilesOfSystems:
    """What files hold: choices, boards, how they were read, and what they say of their scores."""

    choices: CompareChoices
    boards: dict[str | None, GivenBoard]
    reading: ReadingRecord
    spec: StatisticSpec | None = None
    metric: str | None = None
    known: bool | None = None


@dataclass(frozen=True, slots=True)
class _Fields:
    """The fields of a form: members of the comparison, options of the reader, names of the systems or columns."""

    members: dict[str, Any]
    reader: dict[str, str]
    format: str
    names: list[str] | None
    systems: list[str] | None

    @property
    def on_missing(self) -> str:
        """What a reader does with an item that has no value: its own two words for it."""
        return "error" if self.members.get("on_missing", "error") == "error" else "drop"


def parse_form(job: Job, body: bytes | bytearray) -> FilesOfSystems:
    """Read a form of files; raises InputError with pointers `/files/<role>/…` and `/options/<name>`."""
    limits = job.limits
    form = read_multipart(
        body, job.body.boundary, (*ROLES, SYSTEM), repeated=SYSTEM, most_parts=limits.max_form_parts,
        most_bytes=limits.max_body_bytes,
    )  # fmt: skip
    if FILE in form.files:
        request = _request_in(form)
        if request is not None:
            return request
    fields = _fields(form.fields)
    for role in ("u", "v"):
        if role in form.files:
            detail = f"A comparison takes each system's file as a part {SYSTEM}, repeated; {role} is of a test of two."
            raise InvalidTest.at(f"/files/{role}", "unused_file", detail)
    options = ReaderOptions.of_form(fields.reader, max_inflated_bytes=limits.max_body_bytes)
    if FILE in form.files:
        if form.repeated or len(form.files) > 1:
            other = SYSTEM if form.repeated else next(role for role in form.files if role != FILE)
            detail = f"Give all systems in one file, or each in its own part {SYSTEM}; not both ways."
            raise InvalidTest.at(f"/files/{other}", "unused_file", detail)
        return _one_file(sources(form.files)[FILE], fields, options)
    return _each_file(form, fields, options)


def _fields(given: Sequence[tuple[str, str]]) -> _Fields:
    reader: dict[str, str] = {}
    others: list[tuple[str, str]] = []
    names: str | None = None
    format_ = catalogue.AUTO
    seen: set[str] = set()
    for name, text in given:
        if name in seen:
            raise InvalidTest.at(option_pointer(name), "duplicate_parameter", f"{name} is given twice.")
        seen.add(name)
        if name == NAMES:
            names = text
        elif name == "format":
            format_ = text.lower()
        elif name in READER_OPTIONS and name != "statistic":
            reader[name] = text
        else:
            others.append((name, text))
    with relocated(in_form):
        extra = (SYSTEMS, NAMES, "format", *READER_OPTIONS)
        members, systems = options_of_board(others, "field", option_pointer, kinds=KINDS, extra=extra)
    if "decimals" in members:
        reader["decimals"] = dict(others)["decimals"]
    if "statistic" in members and "name" in members["statistic"]:
        reader["statistic"] = members["statistic"]["name"]
    listed = None if names is None else _names(names)
    return _Fields(members, reader, catalogue.ALIASES.get(format_, format_), listed, systems)


def _names(text: str) -> list[str]:
    try:
        value = json.loads(text) if text.startswith("[") else [name.strip() for name in text.split(",")]
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        detail = 'names lists the systems in the order of their files: A,B,C, or ["A", "B, the second"].'
        raise InvalidTest.at(option_pointer(NAMES), "not_names", detail)
    return value


def _choices(fields: _Fields, kind: CompareKind) -> CompareChoices:
    """The choices without the statistic and the rounding, which the reader has dealt with."""
    given = fields.members.get("kind", kind)
    if given != kind:
        detail = f"The files were read as {kind}: leave kind out."
        raise InvalidTest.at(option_pointer("kind"), "kind_not_here", detail)
    members = {name: value for name, value in fields.members.items() if name not in ("statistic", "decimals")}
    with relocated(in_form):
        return validated(CompareChoices, {**members, "kind": kind})


def _request_in(form: Form) -> FilesOfSystems | None:
    """A JSON request of a comparison, sent as the only file; None for evaluation files."""
    content = form.files[FILE].content.removeprefix(UTF8_BOM).strip()
    marked = content.startswith(b"{") and (b'"systems"' in content or b'"datasets"' in content)
    if not marked or len(form.files) > 1 or form.repeated:
        return None
    try:
        read = json_body.decode(content)
    except InputError:
        return None  # the readers report what is wrong, and where
    if type(read.value) is not dict or not {"systems", "datasets"} & read.value.keys():
        return None
    for name, _ in form.fields:
        detail = f"The file is a JSON request, which holds its options: set {name[:40]} there."
        raise InvalidTest.at(option_pointer(name), "unused_option", detail)
    with relocated(in_file):
        request, boards = json_request.request_of(read.value, {NO_BOOLEANS: read.no_booleans})
    note = "The file is a JSON request, as for POST /v1/compare, and was read as one."
    return FilesOfSystems(request, boards, ReadingRecord("json-request", guessed=True, notes=(note,)))


def in_file(pointer: str) -> str:
    """The map for what is in the only file of a form."""
    return pointer if pointer.startswith(("/files/", "/options/")) else f"/files/{FILE}{pointer}"


def _one_file(source: Source, fields: _Fields, options: ReaderOptions) -> FilesOfSystems:
    """All systems in one file."""
    if fields.names is not None:
        detail = "names goes with one file for each system; this file names its systems itself. systems chooses among them."
        raise InvalidTest.at(option_pointer(NAMES), "unused_option", detail)
    format_ = fields.format
    guessed = format_ == catalogue.AUTO
    if guessed:
        format_ = catalogue.guess({FILE: source})
    if format_ not in many_systems.FORMATS:
        detail = (
            f"A file {format_} holds one system: give one part {SYSTEM} for each. Several systems in one file are read as "
            f"{', '.join(many_systems.FORMATS)} (format=)."
        )
        raise InvalidTest.at(f"/files/{FILE}", "one_system", detail)
    uses = catalogue.FORMATS[format_].uses | catalogue.ALWAYS
    for name in fields.reader:
        if name not in uses:
            detail = (
                f"The format {format_} does not use {name}; it uses: {', '.join(sorted(uses - set(OF_TWO)))}."
            )
            raise InvalidTest.at(option_pointer(name), "unused_option", detail)
    note = (f"The format was guessed from the file's first bytes: {format_}.",) if guessed else ()
    choices = _choices(fields, "scores")
    spec = _spec(fields)
    if format_ in PLAIN and fields.reader.keys() <= {"statistic"} and _is_plain(source, PLAIN[format_]):
        content = source.content.removeprefix(UTF8_BOM)
        with relocated(
            lambda pointer: option_pointer(SYSTEMS) if pointer == "/systems" else in_file(pointer)
        ):
            boards, table = tables.of_table(content, PLAIN[format_], fields.systems)
            metric = tables.metric_of(table)
        notes = (*note, *tables.skipped_note(table))
        return FilesOfSystems(
            choices, {name: _within(board) for name, board in boards.items()},
            ReadingRecord(format_, guessed, notes), spec, metric,
        )  # fmt: skip
    if format_ == "jsonl" and fields.reader.keys() <= {"statistic"} and _has_datasets(source):
        with relocated(in_file):
            boards = tables.of_lines(source.content.removeprefix(UTF8_BOM))
        own = {name: _within(board) for name, board in boards.items()}
        return FilesOfSystems(choices, own, ReadingRecord(format_, guessed, note), spec)
    options = replace(options, on_missing=fields.on_missing)  # type: ignore[arg-type]
    if options.delimiter is None:
        options = replace(options, delimiter=catalogue.FORMATS[format_].delimiter)
    with relocated(
        lambda pointer: pointer if pointer.startswith(("/files", "/options")) else in_file(pointer)
    ):
        found = many_systems.read(source, format_, options, fields.systems)
    board, by_order = _board(found.systems, source)
    notes = (
        *note,
        *found.notes,
        *(("The file has no ids: items were paired by their order.",) if by_order else ()),
    )
    return FilesOfSystems(
        choices,
        {None: board},
        ReadingRecord(format_, guessed, notes),
        spec,
        found.metric,
        found.higher_is_better,
    )


def _is_plain(source: Source, delimiter: Delimiter) -> bool:
    """Whether a table has the columns that need no choice: an id, and systems; or id, system and score."""
    first = source.content.removeprefix(UTF8_BOM).partition(b"\n")[0].decode("utf-8", "replace")
    names = {name.strip().strip('"').lower() for name in first.split(delimiter, delimited.MAX_COLUMNS)}
    return "id" in names and (
        {"system", "score"} <= names or not names & {*catalogue.KINDS, "system", "model"}
    )


def _has_datasets(source: Source) -> bool:
    """Whether the first of the lines of JSON names a data set."""
    first = source.content.removeprefix(UTF8_BOM).lstrip().partition(b"\n")[0]
    return b'"dataset"' in first and b'"system"' in first and first.startswith(b"{")


def _within(board: GivenBoard) -> GivenBoard:
    """The same board, whose places are in the file."""
    place, columns = board.place, board.columns
    assert place is not None
    return replace(
        board,
        place=lambda column, index, rest: in_file(place(column, index, rest)),
        columns=tables.Mapped(columns, in_file),
    )


def _spec(fields: _Fields) -> StatisticSpec | None:
    """None for the default of scores: `comparison_of` finds it."""
    statistic = fields.members.get("statistic")
    if statistic is None:
        return None
    with relocated(in_form):
        return spec_of(validated(STATISTIC_MODELS["scores"], statistic, prefix="/statistic"), "scores")


def _board(systems: Mapping[str, SystemOutputs], source: Source) -> tuple[GivenBoard, bool]:
    """The columns of SystemOutputs; and whether they have no ids."""
    clustered = require_alike(dict(systems), source)
    by_order = any(outputs.by_order for outputs in systems.values())
    kept = {
        name: [row for row, value in enumerate(outputs.values) if value is not None]
        for name, outputs in systems.items()
    }
    columns: dict[str, Given] = {}
    clusters: dict[str, str] = {}
    for name in sorted(systems):
        outputs = systems[name]
        values = [outputs.values[row] for row in kept[name]]
        columns[name] = ById([outputs.ids[row] for row in kept[name]], cast("Any", column_of(values, name)))
        if clustered:
            for key, cluster in zip(outputs.ids, outputs.clusters, strict=True):
                if clusters.setdefault(key, str(cluster)) != cluster:
                    detail = f"The item {quoted(key)} is in two clusters: {quoted(cluster)} and {quoted(clusters[key])}."
                    raise InvalidTest.at(source.pointer, "cluster_mismatch", detail)
    tokens = {"/systems/" + pointer_token(name): name for name in systems}

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        name = tokens.get(column)
        return (
            source.pointer if name is None else f"{source.pointer}/{systems[name].paths[kept[name][index]]}"
        )

    whole = dict.fromkeys(tokens, source.pointer)
    return GivenBoard(columns, None, None, clusters if clustered else None, place, whole), by_order


def _each_file(form: Form, fields: _Fields, options: ReaderOptions) -> FilesOfSystems:
    """One file for each system."""
    if fields.systems is not None:
        detail = "systems chooses among those of one file; names gives each file its system's name."
        raise InvalidTest.at(option_pointer(SYSTEMS), "unused_option", detail)
    if len(form.repeated) < 2:
        detail = (
            f"A comparison needs at least two files: a part {SYSTEM} for each system, or one part {FILE} that holds several; there "
            f"{'is one' if form.repeated else 'is none'}."
        )
        raise InvalidTest.at("/files", "too_few_systems", detail)
    if fields.names is not None and len(fields.names) != len(form.repeated):
        detail = f"names has {len(fields.names):,} names for {len(form.repeated):,} files: give one for each, in their order."
        raise InvalidTest.at(option_pointer(NAMES), "wrong_name_count", detail)
    readings = read_each(
        form.repeated, fields.names, form.files, fields.format, options,
        on_missing=fields.members.get("on_missing", "error"),
    )  # fmt: skip
    kind: CompareKind = "predictions" if readings.kind in ("segments", "predictions") else readings.kind  # type: ignore[assignment]
    statistic = fields.members.get("statistic", {})
    with relocated(in_form):
        spec = spec_of_reading(
            readings.first,
            options.statistic,
            {name: statistic[name] for name in PARAMETERS if name in statistic},
        )
    first = readings.first
    measured = readings.kind == "scores" or spec == first.default_statistic
    return FilesOfSystems(
        _choices(fields, kind), {None: readings.board}, readings.record, spec,
        first.metric if measured else None, first.higher_is_better if measured else None,
    )  # fmt: skip
