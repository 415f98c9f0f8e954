"""Turn requests into HTTP calls; nothing is sent here."""

from __future__ import annotations

import json
import uuid
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any
from urllib.parse import quote

import httpx

from .compare_requests import CompareRequest, compare_fields
from .data import board_npy, by_index, encoded, npy, table
from .errors import InvalidData
from .frames import frame_of
from .requests import IN_A_BODY_ONLY, GateRequest, Metric, PowerRequest, TestRequest, file_of, form_fields
from .responses import JSON

# Gates against several baselines: columns or files


ROLE = "against"


def against_body(test: TestRequest, against: Mapping[str, Any]) -> dict[str, Any]:
    """The members `request` (without v) and `against`.

    Raises
    ------
        InvalidData: the test has its baseline already, or a column cannot be put into a request; or indexes of data
            frames name other items, or the same in another order.
    """
    if not isinstance(against, Mapping):
        raise InvalidData("Give the baselines by name: against={'main': …, 'v1.2': …}.", pointer=f"/{ROLE}")
    if "u" not in test.columns or test.columns.get("v") is not None:
        raise InvalidData(
            "The test has a baseline already: give scores(u), counts(u) or predictions(gold, u)."
        )
    if hasattr(test.columns["u"], "columns"):
        raise InvalidData("With against, the candidate is one column and not a data frame.", pointer="/u")
    tables = {name: frame_of(column, f"/{ROLE}/{name}") for name, column in against.items()}
    for name, frame in tables.items():
        if frame is not None and frame.is_table:
            detail = "This baseline is a table and the candidate a column: give columns, or tables."
            raise InvalidData(detail, pointer=f"/{ROLE}/{name}")
    against = {
        name: column if (one := tables[name]) is None else one.as_columns()
        for name, column in against.items()
    }
    bodies = {name: _body(test, column, f"/{ROLE}/{name}") for name, column in against.items()}
    columns = {str(name): body.pop("v") for name, body in bodies.items()}
    shared = list(bodies.values())
    if any(body != shared[0] for body in shared):
        raise InvalidData(
            "The indexes of these baselines pair the candidate in different ways: give all columns the "
            "same index.",
            pointer=f"/{ROLE}",
        )
    return {"request": shared[0] if shared else test.body, ROLE: columns}


def _body(test: TestRequest, column: Any, at: str) -> dict[str, Any]:
    """The request of the test against one baseline, paired by indexes like a test of two systems."""
    if column is None:
        raise InvalidData("This baseline has no data.", pointer=at)
    try:
        columns, options = by_index(test.kind, {**test.columns, "v": column}, test.options)
        return TestRequest(test.kind, columns, options).body
    except InvalidData as error:
        if not error.pointer.startswith("/v"):
            raise
        raise InvalidData(error.detail, pointer=at + error.pointer.removeprefix("/v")) from None


def against_files(
    against: Mapping[str, Any] | Sequence[Any],
) -> tuple[list[tuple[str, tuple[str, bytes]]], list[str]]:
    """The baselines' files as parts of a form, and their names if given."""
    named = isinstance(against, Mapping)
    files = list(against.values()) if isinstance(against, Mapping) else list(against)
    if not files:
        raise InvalidData("Give at least one baseline.", pointer=f"/{ROLE}")
    return [(ROLE, file_of(ROLE, file)) for file in files], [str(name) for name in against] if named else []


NPY = "application/x-npy"
STORE = "store"
MAX_QUERY_CHARS = 4_000  # short enough for every proxy


Request = TestRequest | GateRequest | CompareRequest | PowerRequest


@dataclass(frozen=True, slots=True)
class Call:
    """One request, ready to send; `timeout_s` is its deadline for the server."""

    path: str
    method: str = "POST"
    query: tuple[tuple[str, str], ...] = ()
    content: bytes = b""
    content_type: str = JSON
    timeout_s: float | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def in_format(self, format_: str, **chosen: str | None) -> Call:
        """The same call for another representation, with a `theme`, and the `picture` or `table` of a comparison."""
        extra = tuple((name, value) for name, value in {"format": format_, **chosen}.items() if value)
        return replace(self, query=self.query + extra)

    def kept(self, store: bool = True) -> Call:
        """The same call, asking the server to store the answer."""
        asks = any(name == STORE for name, _ in self.query)
        return replace(self, query=(*self.query, (STORE, "1"))) if store and not asks else self


def test_call(request: TestRequest) -> Call:
    """The call for a test."""
    path, timeout_s = f"/v1/tests/{request.kind}", _deadline(request)
    if request.kind == "files":
        return _form(path, request, request.options, timeout_s)
    array = None
    if request.kind in {"scores", "counts"} and _fits_a_query(request.options):
        array = table(request.kind, request.columns["u"], request.columns["v"])
    if array is None:
        return Call(path, content=encoded(request.body), timeout_s=timeout_s)
    query = tuple((name, _text(name, value)) for name, value in form_fields(request.options).items())
    may_be_missing = request.options.get("on_missing", "error") != "error"
    return Call(
        path,
        query=query,
        content=npy(array, may_be_missing=may_be_missing),
        content_type=NPY,
        timeout_s=timeout_s,
    )


test_call.__test__ = False  # type: ignore[attr-defined]  # pytest reads it


def gate_call(request: GateRequest) -> Call:
    """The call for a gate."""
    timeouts = [_deadline(metric.test) for metric in request.metrics]
    first, timeout_s = (
        request.metrics[0],
        max((timeout for timeout in timeouts if timeout is not None), default=None),
    )
    if first.test.kind == "files":
        all_terms = {**request.terms, **first.terms, **({"name": first.name} if first.name else {})}
        fields = {name: value for name, value in all_terms.items() if name not in ("name", ROLE)}
        if "name" in all_terms:
            fields["metrics"] = [{"name": all_terms["name"]}]
        test = first.test
        if all_terms.get(ROLE) is not None:
            files, names = against_files(all_terms[ROLE])
            test = replace(test, files=(*test.files, *files))
            fields |= {"names": names} if names else {}
        return _form("/v1/gate", test, {**test.options, **fields}, timeout_s)
    terms = _in_json(request.terms)
    if len(request.metrics) == 1 and first.name is None:
        body: dict[str, Any] = _metric(replace(first, terms={**first.terms, **terms}))
    else:
        body = {"metrics": [_metric(metric) for metric in request.metrics], **terms}
    return Call("/v1/gate", content=encoded(body), timeout_s=timeout_s)


def compare_call(request: CompareRequest) -> Call:
    """The call for a comparison; score columns are sent as one array, with options in the query."""
    path, timeout_s = request.path, _deadline(request)
    if request.kind == "files":
        return _form(path, request, compare_fields(request.options), timeout_s)
    if path != "/v1/compare":
        return Call(path, content=encoded(request.body), timeout_s=timeout_s)
    members = request.boards.get(None, {})
    plain = members.keys() == {"systems"} and "frontier" not in request.options
    if request.kind == "scores" and plain and isinstance(members["systems"], Mapping):
        fields = compare_fields(request.options) | {"systems": list(members["systems"])}
        query = tuple((name, _text(name, value)) for name, value in fields.items())
        if len(str(httpx.QueryParams(query))) <= MAX_QUERY_CHARS and _has_text_as_unit(request.options):
            may_be_missing = request.options.get("on_missing", "error") != "error"
            content = board_npy(members["systems"], may_be_missing=may_be_missing)
            if content is not None:
                return Call(path, query=query, content=content, content_type=NPY, timeout_s=timeout_s)
    return Call(path, content=encoded(request.body), timeout_s=timeout_s)


def plan_call(request: TestRequest | CompareRequest) -> Call:
    """The call for the plan of a test or a comparison."""
    if isinstance(request, TestRequest) and request.kind == "files":
        return _form("/v1/plan", request, request.options, _deadline(request))
    return Call("/v1/plan", content=encoded({"kind": _kind(request), "request": request.body}))


def _kind(request: TestRequest | CompareRequest) -> str:
    """The kind of a request within another: a plan, a list or a job."""
    return request.path.rpartition("/")[2] if isinstance(request, CompareRequest) else request.kind


def power_call(request: PowerRequest) -> Call:
    """The call for a question about power."""
    pilot, timeout_s = request.pilot, _deadline(request)
    if pilot is not None and pilot.kind == "files":
        # `power` and `alpha` belong to the question.
        pilot_options = {name: value for name, value in pilot.options.items() if name not in request.members}
        return _form("/v1/power", pilot, {**pilot_options, **request.members}, timeout_s)
    return Call("/v1/power", content=encoded(request.body), timeout_s=timeout_s)


def call_of(request: Request) -> Call:
    """The call for a test, a gate, a comparison or a question about power."""
    if isinstance(request, PowerRequest):
        return power_call(request)
    if isinstance(request, CompareRequest):
        return compare_call(request)
    return gate_call(request) if isinstance(request, GateRequest) else test_call(request)


def _deadline(request: TestRequest | CompareRequest | PowerRequest) -> float | None:
    """The deadline of a request; the server validates it."""
    try:
        return float(request.options["timeout_s"])
    except (KeyError, TypeError, ValueError):
        return None


def _in_json(terms: Mapping[str, Any]) -> dict[str, Any]:
    """The terms of a gate as members; in a form `slices` is a column."""
    sent = {name: value for name, value in terms.items() if value is not None}
    if sent.pop("fail_if_any_slice", False):
        sent["slices"] = "fail_if_any"
    return sent


def _metric(one: Metric) -> dict[str, Any]:
    named = {"name": one.name} if one.name is not None else {}
    terms = {name: value for name, value in _in_json(one.terms).items() if name != ROLE}
    against = one.terms.get(ROLE)
    data = {"request": one.test.body} if against is None else against_body(one.test, against)
    return {**named, "kind": one.test.kind, **data, **terms}


def _fits_a_query(options: Mapping[str, Any]) -> bool:
    """Whether the options fit into a query, which has no lists and only textual units."""
    listed = any(options.get(name) is not None for name in IN_A_BODY_ONLY)
    return not listed and _has_text_as_unit(options)


def _has_text_as_unit(options: Mapping[str, Any]) -> bool:
    """Whether the unit of a statistic, if any, is a text, as in a query."""
    statistic = options.get("statistic")
    unit = options.get("unit", statistic.get("unit") if isinstance(statistic, Mapping) else None)
    return unit is None or isinstance(unit, str)


def _form(
    path: str, request: TestRequest | CompareRequest, fields: Mapping[str, Any], timeout_s: float | None
) -> Call:
    data = {name: _text(name, value) for name, value in fields.items() if value is not None}
    # httpx urlencodes a form without files; a file without a name is a field to the server.
    files = [(role, file) for role, file in request.files] or [("fields", ("", b""))]
    made = httpx.Request("POST", "http://form", data=data, files=files)
    return Call(path, content=made.read(), content_type=made.headers["content-type"], timeout_s=timeout_s)


def _text(name: str, value: Any) -> str:
    """A value as a form field or query parameter: text unchanged, everything else as JSON; raises InvalidData for
    NaN.
    """
    try:
        return value if isinstance(value, str) else json.dumps(value, allow_nan=False)
    except ValueError:
        raise InvalidData("This number is not finite.", pointer=f"/{name}") from None


# Lists of small requests, and jobs


def batch_call(requests: Sequence[Request]) -> Call:
    """The call that sends a list of requests."""
    return Call("/v1/batch", content=_listed(requests))


def _listed(requests: Sequence[Request]) -> bytes:
    return b'{"tests":[' + b",".join(map(_wrapped, requests)) + b"]}"


def _wrapped(request: Request) -> bytes:
    """One element of a list: the kind of a request and its body; raises InvalidData for files."""
    if isinstance(request, GateRequest | PowerRequest):
        kind, call = "gate" if isinstance(request, GateRequest) else "power", call_of(request)
        content = call.content if call.content_type == JSON else None
    else:
        kind = _kind(request)
        content = None if request.kind == "files" else encoded(request.body)
    if content is None:
        raise InvalidData("Files cannot be sent in a list or as a job; read them into columns.")
    return b'{"kind":"%b","request":%b}' % (kind.encode(), content)


def submit_call(request: Request | Sequence[Request], key: str | None = None) -> Call:
    """The call that submits one request, or a list of them, as a job.

    It carries an idempotency key, so that a retry after a lost connection makes no second job.
    """
    if isinstance(request, Sequence):
        content = b'{"kind":"batch","request":' + _listed(request) + b"}"
    else:
        content = _wrapped(request)
    return Call("/v1/jobs", content=content, headers=(("idempotency-key", key or uuid.uuid4().hex),))


def job_call(job: str, method: str = "GET", part: str = "") -> Call:
    """The call for a job, or for a `part` of it: /result, /cancel."""
    return Call(f"/v1/jobs/{quote(job, safe='')}{part}", method)


def jobs_call(state: str | None = None, limit: int | None = None, after: str | None = None) -> Call:
    """The call for the newest jobs: at most `limit`, of one state, older than the job `after`."""
    filters = {"state": state, "limit": limit, "after": after}
    return Call(
        "/v1/jobs", "GET", tuple((name, str(value)) for name, value in filters.items() if value is not None)
    )
