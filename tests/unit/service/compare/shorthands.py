"""Bodies of comparisons in every media type, and their parsed requests."""

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast

import httpx
import numpy as np

from exactperm.errors import InputError
from exactperm.service.compare.comparison import ParsedCompare, parse_compare
from exactperm.service.messages import Body, Job, limits_of
from exactperm.settings import Settings
from exactperm.statistics.paired import Systems

Part = tuple[str, str, bytes]  # role, file name, content
CSV, TSV, NDJSON, NPY = "text/csv", "text/tab-separated-values", "application/x-ndjson", "application/x-npy"


def job(media_type: str = "application/json", boundary: str = "", settings: Settings | None = None) -> Job:
    limits = limits_of(settings or Settings())
    return Job("compare", Body(media_type, boundary=boundary), (), "json", "r", 0.0, 0.0, limits)


def parsed(request: Any, settings: Settings | None = None) -> ParsedCompare:
    return parse_compare(job(settings=settings), json.dumps(request).encode())


def of_body(media_type: str, body: bytes | str, **query: str) -> ParsedCompare:
    sent = replace(job(media_type), query=tuple(query.items()))
    return parse_compare(sent, body.encode() if isinstance(body, str) else body)


def of_form(parts: Sequence[Part], **fields: str) -> ParsedCompare:
    request = httpx.Request(
        "POST", "http://test/", files=[(role, (name, content)) for role, name, content in parts], data=fields
    )
    boundary = request.headers["content-type"].partition("boundary=")[2]
    return parse_compare(job("multipart/form-data", boundary), request.read())


def only(comparison: ParsedCompare) -> Systems:
    """The systems of a single board."""
    (systems,) = comparison.comparison.datasets.values()
    return systems


def by_id(systems: Systems) -> dict[str, dict[str, Any]]:
    """Each system's values by id, or by position."""
    n = len(systems.pairing.ids or ()) or max(len(column) for column in systems.columns.values())
    ids = [str(key) for key in systems.pairing.ids or range(n)]
    result = {}
    for name, column in systems.columns.items():
        own = systems.present.get(name, np.arange(n)).tolist()
        values: list[Any] = column.tolist() if isinstance(column, np.ndarray) else list(cast("Any", column))
        result[name] = {ids[position]: value for position, value in zip(own, values, strict=True)}
    return result


def flaws(error: InputError) -> list[tuple[str, str]]:
    return [(flaw.pointer, flaw.code) for flaw in error.flaws]
