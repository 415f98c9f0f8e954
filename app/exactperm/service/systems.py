"""Parse tests of several systems: from a JSON body or a form of files to the columns that inference takes."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, cast

from ..answers.test import ANY_DIFFERS, ReadingRecord
from ..errors import InvalidTest, PointerMap, mapped
from ..execution.ipc import UNBOUNDED, Control
from ..inference.options import Options
from ..inputs.alignment import PairedColumns, system_pointer, without_pairs
from ..inputs.reader import Kind, Reading
from ..statistics.paired import Paired, Repeated, StatisticSpec, Systems
from .compare import carriers
from .compare.board import Board, beside_files, board_of, require_systems
from .documents import json_of
from .kinds import MULTIPART
from .messages import Job, store_of
from .parse import ParsedTest, chosen_of, refuse_samples
from .parse_files import option_pointer, read_form
from .query import ELSEWHERE, once, option_value, options_of_query
from .schema.compare import PARAMETER_OF, SystemsRequest
from .schema.fields import ON_MISSING
from .validation import beside_statistic, chained, prefixed, validated

# Members that hold data; in a form its files do.
_DATA = ("systems", "scores", "ids")


def parse_systems(job: Job, body: bytes | bytearray, control: Control = UNBOUNDED) -> ParsedTest:
    """Decode, validate and align a body without content coding; raises InputError."""
    options_of_query(job.query, ELSEWHERE)
    if job.body.media_type == MULTIPART:
        form = read_form(job, body, control, carriers.SYSTEM)
        members = [
            name for name in SystemsRequest.model_fields if name not in (*_DATA, "on_missing", "decimals")
        ]
        texts, others = once(form.fields, (*members, *PARAMETER_OF.values()), option_pointer)
        decoded = carriers.of_form(replace(form, fields=others), job)
        if decoded.boards.keys() != {None} or decoded.choices.kind != "scores":
            detail = "These are not the scores of one data set: a test of several systems takes a number for each item."
            raise InvalidTest.at("/files", "other_kind", detail)
        unused = decoded.choices.model_fields_set - {"kind", "on_missing", "decimals"}
        if unused:
            detail = f"A test of several systems has no {min(unused)}: leave it out."
            raise InvalidTest.at(option_pointer(min(unused)), "unused_option", detail)
        places = prefixed("/options")
        values: dict[str, Any] = {name: option_value(name, text) for name, text in texts.items()}
        if isinstance(values.get("order"), str):
            values["order"] = [name.strip() for name in texts["order"].split(",")]
        if decoded.choices.on_missing != "error":
            values["on_missing"] = decoded.choices.on_missing
        request = validated(SystemsRequest, {"systems": {}, **values}, places)
        return _parsed(
            request, decoded.boards[None], chained(beside_files, decoded.pointer_map), job, decoded.reading
        )
    return of_json(*json_of(body), str, job)


def of_json(value: Any, context: dict[str, Any], places: PointerMap, job: Job) -> ParsedTest:
    """Validate and align a JSON request at `places`; raises InputError."""
    # Columns that may have gaps.
    context = {**context, ON_MISSING: value.get("on_missing") if type(value) is dict else None}
    request = validated(SystemsRequest, value, places, context)
    board = mapped(places, carriers.board_in, request, "scores", context)
    return _parsed(request, board, chained(beside_statistic(value), places), job)


def _parsed(
    request: SystemsRequest,
    columns: PairedColumns,
    places: PointerMap,
    job: Job,
    reading: ReadingRecord | None = None,
) -> ParsedTest:
    spec = request.statistic
    parameter = PARAMETER_OF.get(spec.name)

    def board() -> Board:
        for name in PARAMETER_OF.values():
            has = getattr(spec, name) is not None
            if has != (name == parameter):
                detail = f"{spec.name} has no {name}: leave it out." if has else f"{spec.name} needs {name}."
                raise InvalidTest.at(f"/statistic/{name}", "superfluous" if has else "missing", detail)
        refuse_samples(request.samples, job.limits)
        require_systems(columns, "scores", job.limits)
        if spec.name in ANY_DIFFERS and "alternative" in request.model_fields_set:
            detail = f"{spec.name} tests whether any system differs, in any direction: leave alternative out."
            raise InvalidTest.at("/alternative", "no_alternative", detail)
        try:
            aligned = board_of(
                columns, "scores", StatisticSpec(spec.name), request.on_missing, request.decimals
            )
        except InvalidTest as error:
            raise without_pairs(error) from None
        for name, column in aligned.systems.columns.items():
            if isinstance(column, Repeated):
                detail = "A test of several systems takes one score per item, not several runs: give the means of the runs."
                raise InvalidTest.at(system_pointer(name), "not_available", detail)
        return aligned

    made = mapped(places, board)

    data = cast("Paired", Systems("scores", made.systems.columns))  # which `inference.prepare` distinguishes
    chosen = StatisticSpec(spec.name, {} if parameter is None else {parameter: getattr(spec, parameter)})
    read = (
        None
        if reading is None
        else Reading("scores", data, chosen, reading.notes, reading.format, reading.guessed)
    )
    options = Options(**chosen_of(request))
    if spec.name in ANY_DIFFERS:
        options = replace(options, alternative="greater")
    if spec.pairs is not None:  # a test of two differences
        options = replace(options, name_u=" - ".join(spec.pairs[0]), name_v=" - ".join(spec.pairs[1]))
    return ParsedTest(
        cast("Kind", "systems"), data, chosen, options, job.deadline_s(request.timeout_s), chained(made.pointer_map, places),
        request.model_fields_set, store_of(request), read, made.warnings,
    )  # fmt: skip
