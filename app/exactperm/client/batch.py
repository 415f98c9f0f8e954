"""Many small requests in one: how a list of them is written, and its answers are read."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import httpx

from . import calls
from .calls import JSON, PROBLEM, Call
from .compare_requests import CompareRequest
from .compare_results import CompareResult
from .data import encoded
from .decode import decode
from .errors import InvalidData, ProblemError, UnreadableAnswer
from .gate_results import GateResult
from .permalinks import permalink_of
from .power_requests import PowerRequest
from .power_results import PowerResult
from .requests import GateRequest, TestRequest
from .results import TestResult

Request = TestRequest | GateRequest | CompareRequest | PowerRequest
Result = TestResult | GateResult | CompareResult | PowerResult


class Answers(list[Result | ProblemError]):
    """The answers to a list, in its order; `permalink` is where the server keeps all of them, or None."""

    permalink: str | None = None


# By the first letter of an answer's id.
KINDS: dict[str, Any] = {"t": TestResult, "g": GateResult, "c": CompareResult, "w": PowerResult}


def batch_call(requests: Sequence[Request]) -> Call:
    """The call that sends a list of requests."""
    return Call("/v1/batch", content=b'{"tests":[' + b",".join(map(wrapped, requests)) + b"]}")


def batch_result(response: httpx.Response) -> Answers:
    """The results of a list in its order, where a wrong request has its error; raises ProblemError for the whole."""
    answer = calls.json_of(response)
    listed = answer.get("results") if isinstance(answer, dict) else None
    return answers_of(listed, permalink_of(response))


def answers_of(listed: Any, permalink: str | None) -> Answers:
    """The results in `results`, or in the lines that are its elements; raises UnreadableAnswer."""
    try:
        answers = Answers(
            result_or_problem(one["answer"] if "answer" in one else one["problem"]) for one in listed
        )
    except (KeyError, TypeError):
        raise UnreadableAnswer(
            "This is not the answer to a list. Is this the URL of an exactperm server?"
        ) from None
    answers.permalink = permalink
    return answers


def result_or_problem(value: Any) -> Result | ProblemError:
    """What one request of a list was answered with."""
    if not isinstance(value, dict) or "status" not in value or "type" not in value:
        return typed(value)
    content = json.dumps(value).encode()
    problem = httpx.Response(int(value["status"]), content=content, headers={"content-type": PROBLEM})
    return calls.problem_of(problem)


def typed(value: Any) -> Result:
    """An answer as the result that its id says; raises UnreadableAnswer."""
    name = value.get("id") if isinstance(value, dict) else None
    kind = KINDS.get(name[:1]) if isinstance(name, str) else None
    if kind is None:
        raise UnreadableAnswer("This is not an answer with an id. Is this the URL of an exactperm server?")
    result: Result = decode(kind, value)
    return result


def wrapped(request: Request) -> bytes:
    """One element of a list: the kind of a request and its body; raises InvalidData for files."""
    if isinstance(request, GateRequest):
        call, kind = calls.gate_call(request), "gate"
        content = call.content
        if call.content_type != JSON:
            raise InvalidData("Files cannot be sent in a list or as a job; read them into columns.")
    elif isinstance(request, PowerRequest):
        call, kind = calls.power_call(request), "power"
        content = call.content
        if call.content_type != JSON:
            raise InvalidData("Files cannot be sent in a list or as a job; read them into columns.")
    elif request.kind == "files":
        raise InvalidData("Files cannot be sent in a list or as a job; read them into columns.")
    else:
        kind = "compare" if isinstance(request, CompareRequest) else request.kind
        content = encoded(request.body)
    return b'{"kind":"%b","request":%b}' % (kind.encode(), content)
