"""A JSON request of a gate or of a test, sent as a file: together with the form's fields it is the gate's request."""

from __future__ import annotations

from collections.abc import Collection
from functools import partial
from typing import Any, get_args

from ...errors import InvalidTest, marked
from ..messages import TestKind
from ..parse_files import in_form, option_pointer
from ..pointers import PointerMap, option_of
from ..query import literal
from ..request_file import ROLE, Fields, RequestFile, kind_of, put_once, with_fields
from .fields import FIELDS, TEXTS


def gate_request(request: RequestFile, fields: Fields) -> tuple[dict[str, Any], PointerMap]:
    """The gate's request, and the map of its pointers into the form.

    Fields of the gate become members next to `request` or `metrics`; all others go into the request of every metric.

    Raises
    ------
        InvalidTest: a field contradicts the file, or does not apply to one.
    """
    own_names = (*FIELDS, "alpha") if request.wrapped else FIELDS
    gate: dict[str, Any] = dict(request.value)
    if not request.wrapped:
        gate = {"kind": kind_of(request.value), "request": request.value}
    others: list[tuple[str, str]] = []
    given: set[str] = set()
    for name, text in fields:
        if name not in own_names:
            others.append((name, text))
            continue
        if name in given:
            raise InvalidTest.at(
                option_pointer(name), "duplicate_parameter", f"{marked(name)} is given twice."
            )
        given.add(name)
        put_once(gate, name, text if name in TEXTS else literal(text), f"/{name}")
    if type(gate.get("metrics")) is list:
        gate["metrics"] = [_with_fields(metric, others) for metric in gate["metrics"]]
    else:
        gate = _with_fields(gate, others)
    names = {name for name, _ in fields}
    return gate, partial(_in_file, names, request.wrapped)


def _in_file(names: Collection[str], wrapped: bool, pointer: str) -> str:
    _, below, inside = pointer.rpartition("/request")
    if option_of(inside) in names:
        return in_form(inside)
    return f"/files/{ROLE}{inside if below and not wrapped else pointer}"


def _with_fields(metric: Any, fields: Fields) -> Any:
    """A metric with the fields in its request; validation refuses what is no metric."""
    if type(metric) is not dict or metric.get("kind") not in get_args(TestKind):
        return metric
    if type(metric.get("request")) is not dict:
        return metric
    return {**metric, "request": with_fields(metric["request"], fields, metric["kind"])}
