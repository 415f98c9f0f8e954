"""Requests to HTTP calls, and responses to results; nothing is sent here."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from http import client as http_client
from typing import Any

import httpx

from .compare_requests import CompareRequest, compare_fields
from .compare_results import ComparePlan, CompareResult
from .data import board_npy, encoded, npy, table
from .decode import decode
from .errors import Flaw, InvalidData, ProblemError, UnreadableAnswer, kind_of
from .frames import frame_of
from .gate_results import GateResult, Meta, Plan
from .indexed import by_index
from .permalinks import permalink_of
from .power_requests import PowerRequest
from .power_results import PowerResult
from .requests import IN_A_BODY_ONLY, GateRequest, Metric, TestRequest, file_of, form_fields
from .results import TestResult
from .retries import retry_after

# A gate against several baselines: their columns beside the candidate's, or their files


ROLE = "against"


def against_body(test: TestRequest, against: Mapping[str, Any]) -> dict[str, Any]:
    """The members `request`, without v, and `against`.

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
            "These baselines have other indexes, so that the candidate is paired with them in different ways: give all "
            "columns the same index.",
            pointer=f"/{ROLE}",
        )
    return {"request": shared[0] if shared else test.body, ROLE: columns}


def _body(test: TestRequest, column: Any, at: str) -> dict[str, Any]:
    """The request of the test against one baseline, paired by indexes as that of two systems is."""
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
    """The baselines' files as parts of a form, and their names where they were given."""
    named = isinstance(against, Mapping)
    files = list(against.values()) if isinstance(against, Mapping) else list(against)
    if not files:
        raise InvalidData("Give at least one baseline.", pointer=f"/{ROLE}")
    return [(ROLE, file_of(ROLE, file)) for file in files], [str(name) for name in against] if named else []


JSON = "application/json"
NPY = "application/x-npy"
PROBLEM = "application/problem+json"
ANSWER = re.compile(r'W/"[tgcw]_[0-9a-f]+"')  # the ETag of every answer: its id
VERDICT = "x-verdict"
STORE = "store"
MAX_QUERY_CHARS = 4_000  # what every proxy lets through


@dataclass(frozen=True, slots=True)
class Call:
    """One request, ready to be sent; `timeout_s` is the deadline that it asks the server for."""

    path: str
    method: str = "POST"
    query: tuple[tuple[str, str], ...] = ()
    content: bytes = b""
    content_type: str = JSON
    timeout_s: float | None = None
    headers: tuple[tuple[str, str], ...] = ()

    def in_format(
        self, format_: str, theme: str | None = None, *, picture: str | None = None, table: str | None = None
    ) -> Call:
        """The same call, answered in another representation; `picture` and `table` choose those of a comparison."""
        chosen = {"format": format_, "theme": theme, "picture": picture, "table": table}
        extra = tuple((name, value) for name, value in chosen.items() if value)
        return Call(
            self.path, self.method, self.query + extra, self.content, self.content_type, self.timeout_s
        )

    def kept(self, store: bool = True) -> Call:
        """The same call, whose answer the server is to keep; unless it asks for that anyway."""
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


test_call.__test__ = False  # type: ignore[attr-defined]


def gate_call(request: GateRequest) -> Call:
    """The call for a gate."""
    timeouts = [_deadline(one.test) for one in request.metrics]
    first, timeout_s = request.metrics[0], max((one for one in timeouts if one is not None), default=None)
    if first.test.kind == "files":
        own = {**request.terms, **first.terms, **({"name": first.name} if first.name else {})}
        fields = {name: value for name, value in own.items() if name not in ("name", ROLE)}
        if "name" in own:
            fields["metrics"] = [{"name": own["name"]}]
        test = first.test
        if own.get(ROLE) is not None:
            files, names = against_files(own[ROLE])
            test = replace(test, files=(*test.files, *files))
            fields |= {"names": names} if names else {}
        return _form("/v1/gate", test, {**test.options, **fields}, timeout_s)
    terms = {name: value for name, value in request.terms.items() if value is not None}
    if len(request.metrics) == 1 and first.name is None:
        body: dict[str, Any] = _metric(replace(first, terms={**first.terms, **terms}))
    else:
        body = {"metrics": [_metric(one) for one in request.metrics], **terms}
    return Call("/v1/gate", content=encoded(body), timeout_s=timeout_s)


def compare_call(request: CompareRequest) -> Call:
    """The call for a comparison; arrays of scores are sent as one array, whose options stand in the query."""
    path, timeout_s = "/v1/compare", _deadline(request)
    if request.kind == "files":
        return _form(path, request, compare_fields(request.options), timeout_s)
    members = request.boards.get(None, {})
    if request.kind == "scores" and members.keys() == {"systems"} and isinstance(members["systems"], Mapping):
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
    if isinstance(request, CompareRequest):
        return Call("/v1/plan", content=encoded({"kind": "compare", "request": request.body}))
    if request.kind == "files":
        return _form("/v1/plan", request, request.options, _deadline(request))
    return Call("/v1/plan", content=encoded({"kind": request.kind, "request": request.body}))


def power_call(request: PowerRequest) -> Call:
    """The call for a question about power."""
    pilot, timeout_s = request.pilot, _deadline(request)
    if pilot is not None and pilot.kind == "files":
        # `power` and `alpha` are of the question.
        own = {name: value for name, value in pilot.options.items() if name not in request.members}
        return _form("/v1/power", pilot, {**own, **request.members}, timeout_s)
    return Call("/v1/power", content=encoded(request.body), timeout_s=timeout_s)


def call_of(request: TestRequest | GateRequest | CompareRequest | PowerRequest) -> Call:
    """The call for a test, a gate, a comparison or a question about power."""
    if isinstance(request, PowerRequest):
        return power_call(request)
    if isinstance(request, CompareRequest):
        return compare_call(request)
    return gate_call(request) if isinstance(request, GateRequest) else test_call(request)


def _deadline(request: TestRequest | CompareRequest | PowerRequest) -> float | None:
    """The deadline that a request asks for; the server judges whether it is valid."""
    try:
        return float(request.options["timeout_s"])
    except (KeyError, TypeError, ValueError):
        return None


def _metric(one: Metric) -> dict[str, Any]:
    named = {"name": one.name} if one.name is not None else {}
    terms = {name: value for name, value in one.terms.items() if name != ROLE}
    against = one.terms.get(ROLE)
    data = {"request": one.test.body} if against is None else against_body(one.test, against)
    return {**named, "kind": one.test.kind, **data, **terms}


def _fits_a_query(options: Mapping[str, Any]) -> bool:
    """Whether the options fit into a query, which has no lists and where a unit is text."""
    listed = any(options.get(name) is not None for name in IN_A_BODY_ONLY)
    return not listed and _has_text_as_unit(options)


def _has_text_as_unit(options: Mapping[str, Any]) -> bool:
    """Whether the unit of a statistic, if it has one, is a text, as in a query."""
    statistic = options.get("statistic")
    unit = options.get("unit", statistic.get("unit") if isinstance(statistic, Mapping) else None)
    return unit is None or isinstance(unit, str)


def _form(
    path: str, request: TestRequest | CompareRequest, fields: Mapping[str, Any], timeout_s: float | None
) -> Call:
    data = {name: _text(name, value) for name, value in fields.items() if value is not None}
    # httpx writes a form without files as a query; a file without a name is a field to the server.
    files = [(role, file) for role, file in request.files] or [("fields", ("", b""))]
    made = httpx.Request("POST", "http://form", data=data, files=files)
    return Call(path, content=made.read(), content_type=made.headers["content-type"], timeout_s=timeout_s)


def _text(name: str, value: Any) -> str:
    """A value as a field of a form or a query: text as it is, everything else as JSON; raises InvalidData for NaN."""
    try:
        return value if isinstance(value, str) else json.dumps(value, allow_nan=False)
    except ValueError:
        raise InvalidData("This number is not finite.", pointer=f"/{name}") from None


def checked(response: httpx.Response, *, here: bool = False) -> httpx.Response:
    """The response if it is an answer, a failed gate included; raises ProblemError for anything else.

    `here` if nothing was sent: it was computed in this process.
    """
    if response.is_success or VERDICT in response.headers:
        return response
    raise problem_of(response, here=here)


def problem_of(response: httpx.Response, *, here: bool = False) -> ProblemError:
    """The error that a response is."""
    document = _object(response) if response.headers.get("content-type", "").startswith(PROBLEM) else {}
    status, type_ = response.status_code, str(document.get("type", "about:blank"))
    phrase = http_client.responses.get(status, "An unknown status")
    media = response.headers.get("content-type", "nothing").partition(";")[0]
    errors = document.get("errors", ())
    return kind_of(status, type_)(
        status=status,
        type=type_,
        title=str(document.get("title", phrase)),
        detail=str(
            document.get(
                "detail",
                f"The answer is {media}, not problem details: it may come from a proxy before the server.",
            )
        ),
        instance=str(document.get("instance", response.headers.get("x-request-id", ""))),
        errors=tuple(
            Flaw(
                str(one.get("pointer", "")),
                str(one.get("code", "")),
                str(one.get("detail", "")),
                _choices(one),
            )
            for one in (errors if isinstance(errors, list) else ())
            if isinstance(one, dict)
        ),
        retry_after_s=retry_after(response.headers.get("retry-after")),
        raw=document,
        here=here,
    )


def _choices(flaw: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """The fields of the choices that a flaw offers; what is no choice is left out."""
    listed = flaw.get("choices")
    fields = (
        [one.get("fields") for one in listed or () if isinstance(one, dict)]
        if isinstance(listed, list)
        else []
    )
    return tuple(
        {str(name): str(value) for name, value in one.items()} for one in fields if isinstance(one, dict)
    )


def _object(response: httpx.Response) -> dict[str, Any]:
    try:
        value = response.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def json_of(response: httpx.Response) -> Any:
    """The JSON of an answer; raises ProblemError or UnreadableAnswer."""
    try:
        return checked(response).json()
    except ValueError:
        raise UnreadableAnswer("The answer is not JSON. Is this the URL of an exactperm server?") from None


def test_result(response: httpx.Response) -> TestResult:
    """The result of a test; raises ProblemError or UnreadableAnswer, as all of these."""
    return replace(decode(TestResult, json_of(response)), permalink=permalink_of(response))


test_result.__test__ = False  # type: ignore[attr-defined]


def gate_result(response: httpx.Response) -> GateResult:
    """The result of a gate, whether it passed or failed."""
    return replace(decode(GateResult, json_of(response)), permalink=permalink_of(response))


def compare_result(response: httpx.Response) -> CompareResult:
    """The result of a comparison."""
    return replace(decode(CompareResult, json_of(response)), permalink=permalink_of(response))


def compare_plan_result(response: httpx.Response) -> ComparePlan:
    """The plan of a comparison."""
    return decode(ComparePlan, json_of(response))


def plan_result(response: httpx.Response) -> Plan:
    """The plan of a test."""
    return decode(Plan, json_of(response))


def power_result(response: httpx.Response) -> PowerResult:
    """The answer to a question about power."""
    return replace(decode(PowerResult, json_of(response)), permalink=permalink_of(response))


def meta_result(response: httpx.Response) -> Meta:
    """What the server can do."""
    return decode(Meta, json_of(response))


def report_result(response: httpx.Response) -> str | bytes:
    """A report: text/… and JSON as text, pictures and XML as bytes.

    It is known by its ETag, so that a page of something else (a proxy's login, say) is not taken for a report.
    """
    content = checked(response).content
    if not ANSWER.fullmatch(response.headers.get("etag", "")):
        raise UnreadableAnswer("This is not an answer with an id. Is this the URL of an exactperm server?")
    media = response.headers.get("content-type", "").partition(";")[0]
    return content.decode() if media.startswith("text/") or media == JSON else content
