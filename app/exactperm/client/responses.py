"""Turn responses into results and errors; nothing is sent here."""

from __future__ import annotations

import json
import re
import time
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, dataclass, fields, is_dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from http import client as http_client
from typing import Any, Literal, TypeVar, Union, cast, get_args, get_origin, get_type_hints

import httpx

from ..answers.test import Mass, wire_name
from .errors import Flaw, InvalidData, ProblemError, UnreadableAnswer, kind_of
from .results import CompareResult, GateResult, PowerResult, TestResult

JSON = "application/json"
NDJSON = "application/x-ndjson"
PROBLEM = "application/problem+json"
ANSWER = re.compile(r'W/"[tgcw]_[0-9a-f]+"')  # the ETag of every answer: its id
VERDICT = "x-verdict"
PLACE = "/v1/results/"
NAME = re.compile(r"r_[0-9a-f]{32}")
RAW, PERMALINK = "raw", "permalink"
RIGHT_URL = "Is this the URL of an exactperm server?"

Result = TestResult | GateResult | CompareResult | PowerResult
# By the first letter of an answer's id.
KINDS: dict[str, Any] = {"t": TestResult, "g": GateResult, "c": CompareResult, "w": PowerResult}
Read = TypeVar("Read")


class Answers(list[Result | ProblemError]):
    """The answers to a list, in order; `permalink` is the address of the stored list, or None."""

    permalink: str | None = None


Stored = Result | Answers | str | bytes
State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ENDED = frozenset({"succeeded", "failed", "cancelled"})


@dataclass(frozen=True, slots=True)
class Job:
    """A job when the server was asked; `raw` is the whole answer, with the problem of a failed job."""

    id: str
    kind: str
    state: State
    progress: float
    tests: int
    tests_done: int
    predicted_seconds: float
    created: str
    ended: str | None
    expires: str | None
    raw: Mapping[str, Any]

    @property
    def done(self) -> bool:
        """Whether it has ended, with or without a result."""
        return self.state in ENDED


# JSON objects to dataclasses, by their annotations; nothing is converted


def decode(kind: type[Read], value: Any, *, at: str = "", permalink: str | None = None) -> Read:
    """Decode an answer of this type; unknown fields are skipped.

    Raises
    ------
        UnreadableAnswer: a field is missing, or is not of its type.

    >>> from exactperm.client.results import Interval
    >>> decode(Interval, {"level": 0.9, "low": -1, "high": None, "method": "test_inversion", "kind": "exact", "resolution": 0}).low
    -1.0
    """
    if not isinstance(value, Mapping):
        raise UnreadableAnswer(f"The answer has no object at {at or '/'}. {RIGHT_URL}")
    record = cast("Any", kind)  # a dataclass
    hints = _hints(record)
    values: dict[str, Any] = {}
    for part in fields(record):
        if part.name == RAW:
            values[RAW] = value
        elif part.name == PERMALINK:
            values[PERMALINK] = permalink
        elif (name := wire_name(part.name)) in value:
            values[part.name] = _converted(hints[part.name], value[name], f"{at}/{name}")
        elif part.default is MISSING and part.default_factory is MISSING:
            raise UnreadableAnswer(
                f"The answer lacks {at}/{name}. Do the versions of server and client differ?"
            )
    return kind(**values)


@cache
def _hints(kind: type[Any]) -> dict[str, Any]:
    return get_type_hints(kind)


def _converted(hint: Any, value: Any, at: str) -> Any:
    origin, arguments = get_origin(hint), get_args(hint)
    if origin in {types.UnionType, Union}:
        if value is None and type(None) in arguments:
            return None
        kinds = [argument for argument in arguments if argument is not type(None)]
        return _converted(next((one for one in kinds[1:] if _fits(one, value)), kinds[0]), value, at)
    if origin is tuple and isinstance(value, list):
        if len(arguments) == 2 and arguments[1] is not Ellipsis and len(value) != 2:
            raise UnreadableAnswer(f"The answer has {len(value)} values at {at}, where two are needed.")
        return tuple(_converted(arguments[0], one, f"{at}/{index}") for index, one in enumerate(value))
    if origin in {Mapping, dict} or (isinstance(origin, type) and issubclass(origin, Mapping)):
        if isinstance(value, Mapping):
            return {key: _converted(arguments[1], one, f"{at}/{key}") for key, one in value.items()}
    elif origin is Literal:
        if isinstance(value, str):
            return value  # a newer server may have more of them
    elif hint is float:
        if type(value) in {int, float}:
            return float(value)
    elif hint is Mass:
        return Mass(*(_converted(float, value[name], f"{at}/{name}") for name in Mass._fields))
    elif hint in {int, str, bool}:
        if type(value) is hint:
            return value
    elif hint is Any:
        return value
    elif isinstance(hint, type):
        return decode(hint, value, at=at)
    raise UnreadableAnswer(f"The answer has {type(value).__name__} at {at}, which has the wrong type.")


def _fits(kind: Any, value: Any) -> bool:
    """Whether a value is an object with all members of a class."""
    return (
        is_dataclass(kind) and isinstance(value, Mapping) and all(part.name in value for part in fields(kind))
    )


# Errors


def checked(response: httpx.Response, *, here: bool = False) -> httpx.Response:
    """The response if it is an answer, including a failed gate; raises ProblemError for anything else.

    `here` if it was computed in this process.
    """
    if response.is_success or VERDICT in response.headers:
        return response
    raise problem_of(response, here=here)


def nothing_of(response: httpx.Response) -> None:
    """No result; raises ProblemError."""
    checked(response)


def problem_of(response: httpx.Response, *, here: bool = False) -> ProblemError:
    """The error for a response."""
    document = _object(response) if media_of(response, "") == PROBLEM else {}
    status, type_ = response.status_code, str(document.get("type", "about:blank"))
    no_problem = f"The answer is {media_of(response, 'nothing')}, not problem details: it may come from a proxy before the server."
    errors = document.get("errors", ())
    return kind_of(status, type_)(
        status=status,
        type=type_,
        title=str(document.get("title", http_client.responses.get(status, "An unknown status"))),
        detail=str(document.get("detail", no_problem)),
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


def retry_after(value: str | None, today: Callable[[], float] = time.time) -> float | None:
    """Seconds that a Retry-After header asks for: a number of them, or a date (RFC 9110, section 10.2.3).

    >>> retry_after("2")
    2.0
    >>> retry_after("Sat, 01 Jan 2000 00:00:10 GMT", today=lambda: 946684800.0)
    10.0
    >>> retry_after("soon") is None
    True
    """
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        return float(text[:9])
    try:
        date: datetime = parsedate_to_datetime(text)
    except ValueError:
        return None
    return max(0.0, date.replace(tzinfo=date.tzinfo or UTC).timestamp() - today())


def _choices(flaw: Mapping[str, Any]) -> tuple[dict[str, str], ...]:
    """The fields of the choices that a flaw offers, without malformed ones."""
    listed = flaw.get("choices")
    choices = (
        [one.get("fields") for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []
    )
    return tuple(
        {str(name): str(value) for name, value in choice.items()}
        for choice in choices
        if isinstance(choice, dict)
    )


def _object(response: httpx.Response) -> dict[str, Any]:
    try:
        value = response.json()
    except ValueError:
        return {}
    return value if isinstance(value, dict) else {}


def media_of(response: httpx.Response, default: str = "") -> str:
    """The media type of a response."""
    media: str = response.headers.get("content-type", default)
    return media.partition(";")[0]


# Answers


def json_of(response: httpx.Response) -> Any:
    """The JSON of an answer; raises ProblemError or UnreadableAnswer."""
    try:
        return checked(response).json()
    except ValueError:
        raise UnreadableAnswer(f"The answer is not JSON. {RIGHT_URL}") from None


def reader_of(kind: type[Read]) -> Callable[[httpx.Response], Read]:
    """A reader of responses as results of this type; raises ProblemError or UnreadableAnswer."""
    return lambda response: decode(kind, json_of(response), permalink=permalink_of(response))


def report_of(response: httpx.Response) -> str | bytes:
    """A report: text/… and JSON as text, pictures and XML as bytes.

    It must have an ETag, so that another page (a proxy's login, say) is not taken for a report.
    """
    content = checked(response).content
    if not ANSWER.fullmatch(response.headers.get("etag", "")):
        raise UnreadableAnswer(f"This is not an answer with an id. {RIGHT_URL}")
    media = media_of(response)
    return content.decode() if media.startswith("text/") or media == JSON else content


def answers_of_list(response: httpx.Response) -> Answers:
    """The results of a list in order, with errors for wrong requests; raises ProblemError for the whole list."""
    answer = json_of(response)
    return _answers(answer.get("results") if isinstance(answer, dict) else None, permalink_of(response))


def _answers(listed: Any, permalink: str | None) -> Answers:
    """The results in `results`, or in its lines; raises UnreadableAnswer."""
    try:
        answers = Answers(
            _result_or_problem(one["answer"] if "answer" in one else one["problem"]) for one in listed
        )
    except (KeyError, TypeError):
        raise UnreadableAnswer(f"This is not the answer to a list. {RIGHT_URL}") from None
    answers.permalink = permalink
    return answers


def _result_or_problem(value: Any) -> Result | ProblemError:
    """The answer to one request of a list."""
    if not isinstance(value, dict) or "status" not in value or "type" not in value:
        return _result(value)
    content = json.dumps(value).encode()
    return problem_of(
        httpx.Response(int(value["status"]), content=content, headers={"content-type": PROBLEM})
    )


def _result(value: Any, permalink: str | None = None) -> Result:
    """An answer as a result of the type shown by its id; raises UnreadableAnswer."""
    name = value.get("id") if isinstance(value, dict) else None
    kind = KINDS.get(name[:1]) if isinstance(name, str) else None
    if kind is None:
        raise UnreadableAnswer(f"This is not an answer with an id. {RIGHT_URL}")
    result: Result = decode(kind, value, permalink=permalink)
    return result


def _lines(response: httpx.Response) -> list[Any]:
    return [json.loads(line) for line in response.content.splitlines()]


# Jobs


def jobs_of(response: httpx.Response) -> list[Job]:
    """The jobs in an answer; raises ProblemError."""
    return [decode(Job, job) for job in json_of(response)["jobs"]]


def result_of_job(response: httpx.Response) -> Result | list[Result | ProblemError]:
    """The result of a job: of one request, or of a list in order, with errors for wrong requests."""
    if media_of(checked(response)) == NDJSON:
        return [_result_or_problem(line) for line in _lines(response)]
    return _result(json_of(response))


# Permalinks: addresses of stored answers that work from elsewhere


def permalink_of(response: httpx.Response) -> str | None:
    """The absolute URL of a stored answer, else None.

    The server sends its path, but a proxy may add a prefix with or without rewriting the header. So only the name is
    used, below the address of the request.

    >>> request = httpx.Request("POST", "https://me:secret@stats.example.org/exact/v1/gate?store=1")
    >>> name = "r_0123456789abcdef0123456789abcdef"
    >>> permalink_of(httpx.Response(200, headers={"content-location": f"/v1/results/{name}"}, request=request))
    'https://stats.example.org/exact/v1/results/r_0123456789abcdef0123456789abcdef'
    """
    place, slash, name = response.headers.get("content-location", "").rpartition("/")
    if not slash or not f"{place}/".endswith(PLACE) or NAME.fullmatch(name) is None:
        return None
    before = response.url.path.rpartition("/v1/")[0]
    return address_of(response.url.copy_with(path=before + PLACE + name, query=None))


def place_of_answer(response: httpx.Response) -> str:
    """The permalink of a stored answer; raises ProblemError, or UnreadableAnswer if there is none."""
    place = permalink_of(checked(response))
    if place is None:
        raise UnreadableAnswer(f"The answer has no permalink. {RIGHT_URL}")
    return place


def address_of(url: httpx.URL) -> str:
    """A URL without user name and password, to show."""
    return str(url.copy_with(username="", password=""))


def stored_name(permalink: str, server: httpx.URL) -> str:
    """The name of a stored answer, given the name or its URL; raises InvalidData for another server's, and for anything
    else.
    """
    prefix = address_of(server).rstrip("/") + PLACE
    name = permalink
    if "://" in permalink:
        try:
            address = address_of(httpx.URL(permalink))
        except httpx.InvalidURL:
            address = permalink
        name = address.removeprefix(prefix)
        # The API key is only sent to this server.
        if name == address:
            raise InvalidData(
                f"{address} is not a permalink of this client's server: those begin with {prefix}."
            )
    if NAME.fullmatch(name) is None:
        raise InvalidData(
            f"{permalink} is not a permalink: give r_ and 32 digits, or a URL that ends with them."
        )
    return name


def stored_answer(response: httpx.Response) -> Stored:
    """The stored answer: a result, the answers to a list, or a report (a plan as JSON); raises ProblemError or
    UnreadableAnswer.
    """
    place, media = address_of(response.url), media_of(checked(response))
    if media == NDJSON:
        return _answers(_lines(response), place)
    if media != JSON:
        return report_of(response)
    value = json_of(response)
    if isinstance(value, dict) and "results" in value:
        return _answers(value["results"], place)
    return _result(value, place) if "id" in value else response.text
