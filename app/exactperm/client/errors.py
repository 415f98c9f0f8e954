"""The exceptions of the client. Every message says what to do.

ExactpermError
├── InvalidData                the data cannot be sent; raised before anything is
├── NoAnswer                   the server could not be reached, or broke off
├── UnreadableAnswer           it answered, but not with what the API promises
└── ProblemError               it answered with problem details (RFC 9457)
    ├── MalformedBody          400
    ├── NotAuthorised          401, 403
    ├── NotFound               404, 405
    ├── NotAcceptable          406
    ├── TooSlow                408
    ├── NoResult               409, 410: of a job
    ├── TooLarge               413, 431
    ├── UnsupportedMedia       415
    ├── InvalidTest            422: lengths differ, ids do not match, …
    │   └── PlanTooLarge       422: valid, but over the server's budget
    ├── Unavailable            429, 503: later
    │   └── DeadlineExceeded   503: it would take longer than allowed
    └── ServiceFailed          500, 502, 504: a fault of the service, or of something before it
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

# Options in the sentences of problems, in the spelling of an interface; and pointers in words. A problem marks options
# as a form or a query has them, `id_column=q`, or as members of JSON, `"id_column": "q"`.


Spelling = Callable[[str, str | None], str]
"""How an interface writes an option, given its name and its value as text, or None to mention it."""

# Quoted text is the caller's and has no marks.
MARKED = re.compile(r'"(?:[^"\\]|\\.)*"|`"?([a-z]\w*)"?(?:(=|: )([^`]*))?`')
WORDS = {"true": "True", "false": "False", "null": "None"}
LITERAL = re.compile(r"true|false|null|-?\d+(\.\d+)?|[\[{].*")


def spelt(sentence: str, spelling: Spelling) -> str:
    """A sentence whose marked options are spelt by `spelling`.

    >>> spelt('Give `id_column=q`, or `"on_missing": "drop"`; not "`x`".', keyword)
    'Give id_column="q", or on_missing="drop"; not "`x`".'
    """
    return MARKED.sub(
        lambda match: match[0] if match[1] is None else spelling(match[1], _value(match)), sentence
    )


def _value(match: re.Match[str]) -> str | None:
    """The value of a marked option as text."""
    if match[2] == ": " and match[3].startswith('"'):
        try:
            return str(json.loads(match[3]))
        except ValueError:
            return match[3]
    return match[3]


def keyword(name: str, value: str | None) -> str:
    """As an argument in Python: `id_column="q"`."""
    if value is None:
        return name
    is_text = LITERAL.fullmatch(value) is None
    return f"{name}={json.dumps(value, ensure_ascii=False) if is_text else WORDS.get(value, value)}"


def member(name: str, value: str | None) -> str:
    """As a member of an object in JSON: `"id_column": "q"`."""
    if value is None:
        return f'"{name}"'
    return f'"{name}": {value if LITERAL.fullmatch(value) else json.dumps(value, ensure_ascii=False)}'


def place_of(pointer: str) -> str:
    """What a pointer names in Python: `u["q3"]`, `u[17]`, `alpha`; empty for the whole.

    >>> place_of("/u/q~13"), place_of("/u/17"), place_of("/?alpha"), place_of("/files/u/line/7")
    ('u["q/3"]', 'u[17]', 'alpha', 'u, line 7')
    """
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.removeprefix("/").split("/")]
    if parts[0] in {"files", "options"} and len(parts) > 1:
        del parts[0]
    if parts[0] == "request" and len(parts) > 1:  # of a gate, whose arguments are those of its test
        del parts[0]
    words = [parts.pop(0).removeprefix("?")]
    if len(parts) > 1 and parts[0] == "line":
        return ", ".join([*words, f"line {parts[1]}", *parts[2:]])
    if words == ["line"] and parts:
        return ", ".join([f"line {parts[0]}", *parts[1:]])
    return words[0] + "".join(f"[{part}]" if part.isdecimal() else f"[{json.dumps(part)}]" for part in parts)


# The exceptions


MAX_SHOWN = 5


@dataclass(frozen=True, slots=True)
class Flaw:
    """One fault: an RFC 6901 pointer into the request, a code, and a sentence."""

    pointer: str
    code: str
    detail: str
    choices: tuple[Mapping[str, str], ...] = field(default=(), hash=False)
    """Alternative ways to mend it: options to send with the request."""


class ExactpermError(Exception):
    """Base of all errors of this client."""


class InvalidData(ExactpermError, ValueError):
    """The data cannot be sent: a number is not finite, lengths differ, or a type has no JSON form."""

    def __init__(self, detail: str, *, pointer: str = "") -> None:
        super().__init__(f"At {place_of(pointer)}: {detail}" if pointer else detail)
        self.detail = detail
        self.pointer = pointer


class NoAnswer(ExactpermError):
    """No connection, a lost connection or a timeout; `__cause__` is the exception of httpx."""


class UnreadableAnswer(ExactpermError):
    """The answer lacks fields of the API: perhaps it is not an exactperm server, or not version 1."""


class ProblemError(ExactpermError):
    """The server, or the pipeline in this process, refused the request.

    Attributes
    ----------
    type, title, status, detail, instance
        The members of RFC 9457; `instance` is the request id; quote it to the operator.
    errors
        The faults and where they are.
    retry_after_s
        Seconds after which to try again; None if unknown.

    Options in sentences are spelt as arguments in Python; in `raw` as the server spells them.
    """

    advice = ""

    def __init__(
        self,
        *,
        status: int,
        title: str,
        detail: str,
        type: str = "about:blank",  # noqa: A002  (RFC 9457's name)
        instance: str = "",
        errors: tuple[Flaw, ...] = (),
        retry_after_s: float | None = None,
        raw: Mapping[str, Any] | None = None,
        here: bool = False,
    ) -> None:
        self.type = type
        self.title = title
        self.status = status
        self.detail = spelt(detail, keyword)
        self.instance = instance
        self.errors = tuple(replace(flaw, detail=spelt(flaw.detail, keyword)) for flaw in errors)
        self.retry_after_s = retry_after_s
        self.raw: Mapping[str, Any] = raw or {}
        super().__init__(self._message(here))

    def _message(self, here: bool) -> str:
        """The detail, its place, and what to do; for a server's answer also the title. Nothing is sent in this
        process.
        """
        parts = [self.detail if here else f"{self.title} ({self.status}): {self.detail}"]
        for flaw in self.errors[:MAX_SHOWN]:
            repeated = flaw.detail in self.detail
            parts.append(f"  {place_of(flaw.pointer) or 'all'}: {flaw.code if repeated else flaw.detail}")
        if len(self.errors) > MAX_SHOWN:
            parts.append(f"  and {len(self.errors) - MAX_SHOWN} more (.errors)")
        advice = "" if here else self.advice
        if advice and self.retry_after_s is not None:
            advice = advice.replace("later", f"in {self.retry_after_s:g} s")
        if advice:
            parts.append(advice)
        return "\n".join(parts)


class MalformedBody(ProblemError):
    """The body could not be parsed."""

    advice = "Does something between here and the server change bodies?"


class NotAuthorised(ProblemError):
    """The server needs an API key, or another one."""

    advice = "Give the key: Client(url, api_key=…)."


class NotFound(ProblemError):
    """There is nothing at this path."""

    advice = "Is this the URL of an exactperm server of version 1?"


class NotAcceptable(ProblemError):
    """There is no such representation of the answer."""

    advice = "Ask for one of those that meta() lists."


class TooSlow(ProblemError):
    """The server did not get the whole request in time."""

    advice = "Is the connection slow? Send less data."


class TooLarge(ProblemError):
    """More bytes or items than the server allows."""

    advice = "Send fewer items, or ask the operator to raise the limit; meta().limits shows it."


class UnsupportedMedia(ProblemError):
    """The server does not read this media type here."""

    advice = "Is the server older than this client?"


class InvalidTest(ProblemError):
    """The request can be parsed but is not a valid test."""

    advice = "Fix the fields listed in errors, and send it again."


class PlanTooLarge(InvalidTest):
    """The test is valid, but the method would cost more than the server allows."""

    advice = "Leave method at auto, or choose a cheaper one; plan() shows what each costs."


class Unavailable(ProblemError):
    """Too many requests, or too few workers."""

    advice = "Try again later."


class DeadlineExceeded(Unavailable):
    """The answer was not ready in time."""

    advice = "Ask for a larger timeout_s, or a cheaper method; plan() shows what each costs."


class ServiceFailed(ProblemError):
    """A fault of the service, or of a proxy before it."""

    advice = "Please report it, with the request id."


class NoResult(ProblemError):
    """The job has no result, or it has expired."""

    advice = "Wait for the job (client.jobs.wait), or submit it again."


BY_STATUS: dict[int, type[ProblemError]] = {
    400: MalformedBody,
    401: NotAuthorised,
    403: NotAuthorised,
    404: NotFound,
    405: NotFound,
    406: NotAcceptable,
    408: TooSlow,
    409: NoResult,
    410: NoResult,
    413: TooLarge,
    415: UnsupportedMedia,
    422: InvalidTest,
    429: Unavailable,
    431: TooLarge,
    503: Unavailable,
}
BY_TYPE: dict[str, type[ProblemError]] = {
    "plan-too-large": PlanTooLarge,
    "deadline-exceeded": DeadlineExceeded,
}


def kind_of(status: int, type_: str) -> type[ProblemError]:
    """The exception for a status and a problem type."""
    named = BY_TYPE.get(type_.rpartition("#")[2])
    if named is not None:
        return named
    return BY_STATUS.get(status, ServiceFailed if status >= 500 else ProblemError)
