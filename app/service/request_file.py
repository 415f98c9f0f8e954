"""A JSON request sent as a file, or pasted into the page: it is read as that request, not as a line with one item.

`{"u": [1, 0, 1], "v": [0, 0, 1]}` is a test of three items. As JSON Lines it would be a single item with three samples
of each system, and p would be 1.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pydantic_core import from_json

from ..errors import InputError, InvalidTest, marked, relocated
from ..inputs import json_body
from ..inputs.formats.catalogue import ALIASES, AUTO
from ..inputs.formats.reader import Kind, Reading, UploadedFile
from ..inputs.formats.source import UTF8_BOM
from ..inputs.formats.tables import COUNT_STATISTICS
from ..inputs.names import ID, find
from ..inputs.outcomes import CELLS
from ..statistics.catalogue import STATISTICS
from ..statistics.paired import Paired, StatisticSpec
from .body_decoders import DecodedBody
from .messages import TestKind
from .parse_files import FIELDS, in_form, option_pointer
from .pointers import PointerMap, beside_statistic, option_of
from .query import options_of, parameters_of
from .schema.fields import NO_BOOLEANS
from .schema.gate import GateRequest
from .schema.requests import REQUEST_MODELS, WrappedTest
from .validation import validated, with_statistic

ROLE = "file"
FORMAT = "json-request"
JSON_FORMATS = frozenset({AUTO, "jsonl", *(alias for alias, name in ALIASES.items() if name == "jsonl")})
MARK = re.compile(rb'"(?:u|stay|request|b)"\s*:')
OF_A_GATE = frozenset(GateRequest.model_fields) - {"kind", "request"}
COUNT_NAMES = frozenset(name for names, _ in COUNT_STATISTICS for name in names)

Fields = Sequence[tuple[str, str]]


@dataclass(frozen=True, slots=True)
class RequestFile:
    """The request in a file: of a test, of a plan (`kind` and `request`) or of a gate."""

    value: dict[str, Any]
    context: dict[str, Any]

    @property
    def wrapped(self) -> bool:
        """Whether it is `{"kind": …, "request": …}` or `{"metrics": […]}`, with the request of a test inside."""
        return "request" in self.value or "metrics" in self.value

    @property
    def of_a_gate(self) -> bool:
        """Whether it has members that only a gate takes."""
        return self.wrapped and not OF_A_GATE.isdisjoint(self.value)


def request_in(files: Mapping[str, UploadedFile], fields: Fields) -> RequestFile | None:
    """The request, where the only file of a form is one; None for evaluation files."""
    if set(files) != {ROLE} or dict(fields).get("format", AUTO).lower() not in JSON_FORMATS:
        return None
    content = files[ROLE].content.removeprefix(UTF8_BOM).strip()
    if not content.startswith(b"{") or MARK.search(content) is None:
        return None
    if _is_object(content.partition(b"\n")[0]) and b"\n" in content:
        return None  # JSON Lines
    try:
        read = json_body.decode(content)
    except InputError:
        return None  # the readers report what is wrong, and where
    if type(read.value) is not dict or not _is_request(read.value):
        return None
    return RequestFile(read.value, {NO_BOOLEANS: read.no_booleans})


def _is_object(line: bytes) -> bool:
    try:
        return type(from_json(line)) is dict
    except ValueError:
        return False


def _is_request(value: dict[str, Any]) -> bool:
    metrics = value.get("metrics")
    if type(metrics) is list and any(type(one) is dict and "request" in one for one in metrics):
        return True
    if type(value.get("request")) is dict:
        return "kind" in value
    if find(value, ID) is not None:
        return False  # a line of JSON Lines, with the samples of one item
    if "stay" in value:
        return _is_column(value["stay"])
    if {"b", "c"} <= set(value):
        return all(type(value[name]) is int for name in CELLS if name in value)
    return {"u", "v"} <= set(value) and (_is_column(value["u"]) or _is_column(value["v"]))


def _is_column(value: Any) -> bool:
    """Whether it can be a column of a request; integers may already be an array."""
    return not isinstance(value, str | int | float | None)


def decode_request_file(request: RequestFile, fields: Fields) -> DecodedBody:
    """The test in a file, with the options sent as fields.

    Raises
    ------
        InvalidTest: the request is invalid, a field contradicts it, or it is for a gate; pointers are
            `/files/file/…` and `/options/<name>`.
    """
    if request.of_a_gate:
        detail = "This file is a gate's request: give it to a gate (/v1/gate, exactperm gate)."
        raise InvalidTest.at(f"/files/{ROLE}", "request_for_a_gate", detail)
    if not request.wrapped:
        return _decoded(kind_of(request.value), request.value, request.context, fields, "")
    envelope = validated(WrappedTest, request.value, prefix=f"/files/{ROLE}")
    return _decoded(envelope.kind, envelope.request, request.context, fields, "/request")


def _decoded(
    kind: TestKind, value: dict[str, Any], context: dict[str, Any], fields: Fields, below: str
) -> DecodedBody:
    request = with_fields(value, fields, kind)
    pointer_map = partial(_in_form_or_file, {name for name, _ in fields}, below, beside_statistic(value))
    with relocated(pointer_map):
        return DecodedBody(kind, validated(REQUEST_MODELS[kind], request, context=context), pointer_map)


def _in_form_or_file(names: Collection[str], below: str, in_value: PointerMap, pointer: str) -> str:
    return in_form(pointer) if option_of(pointer) in names else f"/files/{ROLE}{below}{in_value(pointer)}"


def with_fields(value: dict[str, Any], fields: Fields, kind: TestKind) -> dict[str, Any]:
    """A test's request with the options sent as fields.

    Raises
    ------
        InvalidTest: a field is an option of a reader, or contradicts the request.
    """
    options = options_of(fields, FIELDS, option_pointer)
    options.pop("format", None)
    for name in options.get("statistic", {}):
        if name not in {"name", *parameters_of(kind)}:
            detail = f"The file is a JSON request, to which no option of readers applies: leave {marked(name)} out."
            raise InvalidTest.at(option_pointer(name), "unused_option", detail)
    whole = with_statistic(value, parameters_of(kind))
    for name, option in options.items():
        members = {f"/{name}/{inner}": one for inner, one in option.items()} if type(option) is dict else {}
        if not members or type(whole.get(name, {})) is not dict:
            put_once(whole, name, option, f"/{name}")
            continue
        whole[name] = dict(whole.get(name, {}))
        for pointer, one in members.items():
            put_once(whole[name], pointer.rpartition("/")[2], one, pointer)
    return whole


def put_once(members: dict[str, Any], name: str, value: Any, pointer: str) -> None:
    """Set a member; raises InvalidTest where it has another value already."""
    if members.setdefault(name, value) != value:
        option = option_of(pointer) or name
        detail = f"{option} is given twice, with different values: in the file and beside it. Leave it out beside the file."
        raise InvalidTest.at(option_pointer(option), "given_twice", detail)


def kind_of(value: Mapping[str, Any]) -> TestKind:
    """Which test a request is for, by its columns.

    Raises
    ------
        InvalidTest: it may be scores by id as well as counts by name.
    """
    if "stay" in value:
        return "effects"
    if "gold" in value:
        return "predictions"
    if "u" not in value:
        return "scores"  # b and c
    u, v = value["u"], value["v"]
    if type(u) is list:
        return "counts" if u and type(u[0]) is dict else "scores"
    if type(u) is not dict or dict in set(map(type, u.values())):
        return "counts" if type(u) is dict else "scores"
    if not any(map(_is_column, u.values())):
        return "scores"
    named = value.get("statistic")
    name = named.get("name") if type(named) is dict else None
    if name is not None:
        return "scores" if any(entry.name == name for entry in STATISTICS["scores"]) else "counts"
    if type(v) is dict and set(u) == set(v) and set(u) <= COUNT_NAMES:
        return "counts"
    detail = (
        "These may be counts by name or scores by id: name the statistic, "
        'or wrap the request: {"kind": "counts", "request": {…}}.'
    )
    raise InvalidTest.at(f"/files/{ROLE}", "unclear_kind", detail)


def reading_of(kind: Kind, data: Paired, spec: StatisticSpec) -> Reading:
    """The reading of such a file, for the answer."""
    note = f"The file is a JSON request, as for POST /v1/tests/{kind}, and was read as one."
    return Reading(kind, data, spec, (note,), FORMAT, guessed=True)
