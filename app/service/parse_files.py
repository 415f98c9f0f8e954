"""Evaluation files: a form becomes a reading, a statistic and the options of the test.

The fields of the form are of three sorts that share no name: options of every test, options of the readers, and
parameters of statistics. Where a reader's option has the name of a parameter (`scheme`), the reader takes it and
passes it on.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import InvalidTest, pointer_token, relocated
from ..execution.ipc import Control
from ..inputs.formats import beside_gold, catalogue, price, tables
from ..inputs.formats.file_names import stem
from ..inputs.formats.number_text import TRUTH, parsed
from ..inputs.formats.reader import OPTION_NAMES, Kind, ReaderOptions, Reading, UploadedFile
from ..inputs.formats.roles import ROLES
from ..inputs.formats.source import Source
from ..inputs.quoting import quoted
from ..statistics.paired import Predictions, StatisticSpec
from . import multipart
from .messages import Job, Limits, TestKind
from .pointers import part_of_option
from .query import LITERAL, NAMES, TEXT, options_of, parameters_of
from .schema.requests import Choices
from .schema.statistics import STATISTIC_MODELS, entries, spec_of
from .validation import validated

METRICS = "metrics"  # of a gate
OF_ONE_FILE = frozenset(("choose_system_u", "choose_filter_u", "unused_file"))
CHOICES = tuple(name for name in (*TEXT, *LITERAL) if name not in OPTION_NAMES)
PARAMETERS = tuple(
    dict.fromkeys(
        name for kind in STATISTIC_MODELS for name in parameters_of(kind) if name not in OPTION_NAMES
    )
)
FIELDS = ("format", *OPTION_NAMES, *PARAMETERS, *CHOICES, *NAMES)


# The roles that may have a file for each task; both systems of a test in one file are one task.
OF_TASKS = tuple(role for role in ROLES if role != "file")


def read_form(
    job: Job, body: bytes | bytearray, control: Control, repeated: str | None = None
) -> multipart.Form:
    """The files and fields of a multipart body, with several files in the role `repeated`; raises InputError.

    The deadline in its fields, and how long it takes to read the files, are told before that begins; what takes too much
    memory is refused.
    """
    limits = job.limits
    roles = ROLES if repeated is None else (*ROLES, repeated)
    form = multipart.read(
        body, job.body.boundary, roles, repeated=repeated, several=OF_TASKS, most_parts=limits.max_form_parts,
        most_bytes=limits.max_body_bytes,
    )  # fmt: skip
    fields = dict(form.fields)
    asked_s = parsed(fields.get("timeout_s", ""))
    if asked_s is not None and 0 < asked_s < math.inf and METRICS not in fields:  # which may have longer ones
        control.deadline(min(limits.max_timeout_s, asked_s))
    options = replace(
        ReaderOptions(max_inflated_bytes=limits.max_body_bytes, max_items=limits.max_items),
        system_column=fields.get("system_column"),
    )
    named = [*form.files.items(), *((stem(file.name), file) for file in form.repeated)]
    parts = [
        Source(role, part.name, part.content) for role, file in named for part in (file.parts or (file,))
    ]
    board = job.kind == "compare"
    for part in parts:
        price.refuse_beyond(part, options, limits.worker_memory_bytes, board=board)
    control.plan(sum(price.seconds(part, options, board=board) for part in parts))
    return form


def option_pointer(name: str) -> str:
    """The pointer to a field of the form."""
    return f"/options/{pointer_token(name[:40])}"


_OF_RANKINGS = {entry.name for entry in entries("predictions") if "rankings" in entry.data}


def read_files(
    files: Mapping[str, UploadedFile], fields: Sequence[tuple[str, str]], limits: Limits
) -> tuple[Reading, StatisticSpec, Choices]:
    """What was read of files, and the statistic and the options of their test in the fields; raises InputError."""
    values = options_of(fields, FIELDS, option_pointer)
    texts = dict(fields)
    with relocated(in_form):
        request = validated(Choices, {name: values[name] for name in (*CHOICES, "names") if name in values})
    options = ReaderOptions.of_form(
        {name: texts[name] for name in OPTION_NAMES if name in texts},
        max_inflated_bytes=limits.max_body_bytes,
        max_items=limits.max_items,
    )
    try:
        reading = catalogue.read(files, texts.get("format", catalogue.AUTO), options)
    except InvalidTest as error:
        raise _alone(error) if set(files) == {"file"} else error from None
    statistic = values.get("statistic", {})
    if "repeats" in statistic:  # which says what several rows of an item are
        findings = tuple(finding for finding in reading.findings if finding.code != tables.CHOOSE_RUNS)
        reading = replace(reading, findings=findings)
    with relocated(in_form):
        parameters = {name: statistic[name] for name in PARAMETERS if name in statistic}
        return reading, spec_of_reading(reading, options.statistic, parameters), request


def _alone(error: InvalidTest) -> InvalidTest:
    """The refusal of one file; of one that does not hold two systems it says that the other file may be missing."""
    first = error.flaws[0] if error.flaws else None
    if first is None or first.code not in OF_ONE_FILE or len(first.choices) > 2:
        return error
    detail = "Give a baseline (`v`), the file of the other system."
    detail += (
        f" {first.detail}" if first.code == "unused_file" else f" If this file holds both: {first.detail}"
    )
    return InvalidTest(detail, flaws=(replace(first, detail=detail), *error.flaws[1:]))


def in_form(pointer: str) -> str:
    """The map for options sent as fields, and data sent in files."""
    column = pointer[1:].split("/", maxsplit=1)[0]
    if column == "references":
        return "/files/ref"
    option = part_of_option(pointer)
    if option is not None:
        return f"/options/{option}"
    return f"/files{pointer}" if column in ROLES else "/files"


def spec_of_reading(reading: Reading, name: str | None, parameters: dict[str, Any]) -> StatisticSpec:
    """The statistic: the requested one, or the reading's own with the requested parameters.

    Raises InvalidTest: there is no such statistic of what was read; pointers are those of a JSON request.
    """
    if reading.format in beside_gold.OUTPUTS and isinstance(reading.data, Predictions):
        parameters = as_read(parameters, reading.data.gold)
    read = reading.statistic_read
    return spec_of_kind(reading.kind, reading.default_statistic, None if read else name, parameters)


def as_read(parameters: dict[str, Any], gold: Collection[Any]) -> dict[str, Any]:
    """The parameters with the positive label as the reader reads it in gold: a number where gold holds numbers."""
    positive, labels = parameters.get("positive"), set(gold)
    if not isinstance(positive, str) or positive in labels:
        return parameters
    read = next((label for label in (parsed(positive), TRUTH.get(positive.lower())) if label in labels), None)
    return parameters if read is None else {**parameters, "positive": read}


def spec_of_kind(
    read_as: Kind, default: StatisticSpec, name: str | None, parameters: dict[str, Any]
) -> StatisticSpec:
    """The statistic called `name` of data of a kind, or the `default` one, with the requested parameters.

    Raises InvalidTest: there is no such statistic; pointers are those of a JSON request.
    """
    if name is None:
        name = default.name
        merged = {**default.parameters, **parameters}
    else:
        merged = {**_passed_on(read_as, default, name), **parameters}
    kind: TestKind = "predictions" if read_as == "segments" else read_as
    named = {entry.name for entry in entries(read_as)}
    if name not in named:
        detail = f"The files were read as {read_as}, which have no statistic {quoted(name)}; "
        detail += f"there are {', '.join(sorted(named))}."
        if name in _OF_RANKINGS:
            detail += f" {name} compares scores with gold: name its column with `gold_column`, or give it as the file `gold`."
        raise InvalidTest.at("/statistic/name", "unknown_statistic", detail)
    statistic = validated(STATISTIC_MODELS[kind], {"name": name, **merged}, prefix="/statistic")
    return spec_of(statistic, kind)


def _passed_on(kind: Kind, default: StatisticSpec, name: str) -> dict[str, Any]:
    """Parameters of the reader's own statistic that another takes as well, such as the scheme of spans."""
    taken = {p.name for entry in entries(kind) if entry.name == name for p in entry.parameters}
    return {key: value for key, value in default.parameters.items() if key in taken}
