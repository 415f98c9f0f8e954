"""Run `test`, `gate`, `compare`, `power` or `plan` here or on a server, write the answer, and return the exit status.

Even here the request is encoded and parsed as HTTP would have it, so that the answers are the same bytes.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from typing import Any

import click
import httpx

from ..client import Client, ExactpermError, ProblemError, UnreadableAnswer
from ..client.calls import Call, call_of, plan_call
from ..client.requests import files as files_of, gate as gate_of
from ..client.responses import VERDICT, checked, permalink_of, reader_of
from ..client.results import CompareResult
from ..presentation.numbers import SMALLEST_WRITTEN, number
from ..reports.representations import BY_NAME, JSON
from .arguments import PREFIX, Form, form_of, read
from .output import (
    ERROR,
    FAILED,
    PASSED,
    append,
    complain,
    format_of,
    in_words,
    require_server,
    say_permalink,
    write,
)
from .progress import Progress, duration

GATE, COMPARE, PLAN, POWER = "gate", "compare", "plan", "power"
LOCAL = "http://in-process"
DEFAULT_ALPHA = 0.05
OUTCOMES = {"c": "compared", "w": "computed"}  # by the first letter of an id
VERDICTS = ("pass", "fail", "inconclusive", "continue")
GATE_FIELDS = ("policy", "margin", "on_inconclusive", "higher_is_better", "metrics", "names")


def run_command(what: str, given: Mapping[str, Any]) -> int:
    """Run `test`, `gate`, `compare` or `plan`; the exit status. Raises ClickException for wrong arguments."""
    format_ = format_of(given["format_"], given["output"])
    store = given.get("store", False)
    if store:
        require_server(given["url"])
    in_a_table = what == COMPARE and given["format_"] is None and given["output"] is None
    if in_a_table:
        format_ = JSON  # which is shown as a table
    if BY_NAME[format_].is_binary and given["output"] is None and sys.stdout.isatty():
        raise click.UsageError("A terminal cannot show a picture; write it to a file: -o picture.png")
    if what == PLAN and format_ not in {"text", "json"}:
        raise click.UsageError("A plan is text or json.")
    with Progress(quiet=given["quiet"]) as progress:
        call, form = _call(what, given)
        if what != PLAN:
            chosen = {name: given[name] for name in ("picture", "table") if given.get(name) is not None}
            call = call.in_format(format_, theme=given["theme"], **chosen).kept(store)
        try:
            response = _recognised(checked(_sent(call, given, progress)), what, format_)
            content = _shown(response, what, in_words=format_ == "text" or in_a_table)
        except ProblemError as error:
            problem: Mapping[str, Any] = error.raw or {"title": error.title, "detail": error.detail}
        except ExactpermError as error:
            problem = {"type": "about:blank", "title": "No answer", "detail": str(error)}
        else:
            problem = {}
    if problem:
        return _refused(problem, form, given, "table" if in_a_table else format_)
    write(content, given["output"])
    if given.get("outcome") is not None:
        append(_outcome(response), given["outcome"])
    if what != PLAN:
        _say_outcome(response, given, format_)
        say_permalink(permalink_of(response), asked=store)
    return PASSED if response.is_success else FAILED


def _call(what: str, given: Mapping[str, Any]) -> tuple[Call, Form]:
    """The call to send, and the form that it was made from."""
    if what == POWER:
        from .power_arguments import power_request

        question, form = power_request(given)
        return call_of(question), form
    if given.get("kind") is not None:
        return _json_call(what, given)
    if what == PLAN and given["url"] is not None:
        raise click.UsageError("A server plans JSON requests (--kind); leave --url out to plan files here.")
    if what == COMPARE:
        from .compare_arguments import compare_form

        request, form = compare_form(given)
        return call_of(request), form
    form = form_of(given)
    if what == GATE:
        terms = {name: form.fields[name] for name in GATE_FIELDS if name in form.fields}
        fields = {name: value for name, value in form.fields.items() if name not in terms}
        terms |= {"against": form.against} if form.against else {}
        return call_of(gate_of(files_of(**form.files, **fields), **terms)), form
    test = files_of(**form.files, **form.fields)
    return plan_call(test) if what == PLAN else call_of(test), form


def _json_call(what: str, given: Mapping[str, Any]) -> tuple[Call, Form]:
    """A JSON request as it stands."""
    others = [name for name in given if name.startswith(PREFIX)]
    others += ["names", "option", "gold", "ref", "qrels", "documents", "mc", "delim"]
    if len(given["paths"]) != 1 or any(given.get(name) for name in others):
        raise click.UsageError(
            "With --kind, give one FILE and no options of the test: the file is the whole request."
        )
    name, content = read(given["paths"][0])
    if what == PLAN:
        content = b'{"kind":"%b","request":%b}' % (given["kind"].encode(), content)
    path = "/v1/plan" if what == PLAN else f"/v1/tests/{given['kind']}"
    return Call(path, content=content), Form({"file": (name, content)}, {"file": given["paths"][0]}, {})


def _sent(call: Call, given: Mapping[str, Any], progress: Progress) -> httpx.Response:
    if given["url"] is not None:
        with Client(given["url"], api_key=given["api_key"]) as client:
            progress.doing(f"waiting for {client.url.host}")
            return client.send(call)
    from .local_transport import InProcess
    from .settings import settings_of

    drawn = BY_NAME[dict(call.query).get("format", JSON)].is_drawn
    work = "computing and drawing" if drawn else "computing"
    transport = InProcess(settings_of({}), lambda seconds: progress.doing(work, seconds))
    with Client(LOCAL, transport=transport, retries=0) as client:
        return client.send(call)


def _recognised(response: httpx.Response, what: str, format_: str) -> httpx.Response:
    """The response, if an exactperm server sent it: a proxy that answers 200 to everything must not pass a gate."""
    media = response.headers.get("content-type", "").partition(";")[0]
    verdict = response.headers.get(VERDICT, "")
    expected = BY_NAME[JSON if what == PLAN else format_].media_type
    if media != expected or (what == GATE and verdict not in VERDICTS):
        raise UnreadableAnswer("This is not an answer of an exactperm server. Is the URL right?")
    return response


def _shown(response: httpx.Response, what: str, *, in_words: bool) -> bytes:
    """What is written: the answer as it is, or a plan or a board in words; raises UnreadableAnswer."""
    if what == COMPARE and in_words and response.headers["content-type"] == BY_NAME[JSON].media_type:
        from .board_text import board_text

        return board_text(reader_of(CompareResult)(response)).encode()
    return _plan_text(response) if what == PLAN and in_words else response.content


def _refused(problem: Mapping[str, Any], form: Form, given: Mapping[str, Any], format_: str) -> int:
    """Show the problem; with --format json, write the problem details instead of the answer."""
    complain(problem, form.paths, given.get("spelling"))
    if format_ == "json":
        write(json.dumps(problem).encode() + b"\n", given["output"])
    return ERROR


def _say_outcome(response: httpx.Response, given: Mapping[str, Any], format_: str) -> None:
    """The verdict and the p-value in a line, where the report went to a file or is a picture."""
    if given["output"] is None and not BY_NAME[format_].is_themed:
        return
    where = f"; see {given['output']}" if given["output"] is not None else ""
    verdict = response.headers.get(VERDICT)
    outcome = OUTCOMES.get(response.headers.get("etag", "").removeprefix('W/"')[:1], "")
    if not outcome:
        chance = _p_value(response, given)
        outcome = f"{verdict} ({chance})" if verdict is not None else chance
    click.echo(f"exactperm: {outcome}{where}", err=True)


def _outcome(response: httpx.Response) -> str:
    """The verdict of a gate and its p-value, a line each; no p-value from a server of before."""
    p = _p_of(response)
    return f"verdict={response.headers[VERDICT]}\n" + ("" if p is None else f"p_value={p!r}\n")


def _p_of(response: httpx.Response) -> float | None:
    try:
        return float(response.headers.get("x-p-value", ""))
    except ValueError:
        return None


def _p_value(response: httpx.Response, given: Mapping[str, Any]) -> str:
    """The p-value as reports show it: on the same side of alpha as the value itself. A server of before has none."""
    p = _p_of(response)
    if p is None:
        return "p = ?"
    try:
        alpha = float(given.get(f"{PREFIX}alpha") or DEFAULT_ALPHA)
    except ValueError:
        alpha = DEFAULT_ALPHA
    return f"p = {number(p, 1.0, alpha)}" if p >= SMALLEST_WRITTEN else f"p < {SMALLEST_WRITTEN}"


def _plan_text(response: httpx.Response) -> bytes:
    """The plan, one line for each method."""
    plan = response.json()
    lines = [f"{_cost(plan)}: {in_words(plan['reason'])}"]
    lines += [f"  or {_cost(other)}: {other['reason']}" for other in plan["alternatives"]]
    return ("\n".join(lines) + "\n").encode()


def _cost(planned: Mapping[str, Any]) -> str:
    exact = "exact" if planned["exact"] else "not exact"
    return f"{planned['method']} ({exact}), about {duration(planned['seconds'])} and {planned['bytes'] / 2**20:.3g} MiB"
