"""Run `test`, `gate`, `compare`, `power` or `plan` here or on a server, write the answer, and return the exit status.

Local requests are encoded and parsed as over HTTP, so that the answers are the same bytes.
"""

from __future__ import annotations

import os

from ..execution.ipc import SINGLE_THREAD_ENV

# Numerical libraries use one thread, as in a worker; before NumPy looks.
os.environ.update({name: os.environ.get(name, value) for name, value in SINGLE_THREAD_ENV.items()})

import json
import sys
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

import click
import httpx

from ..client import Client, ExactpermError, ProblemError, UnreadableAnswer
from ..client.calls import Call, call_of, plan_call
from ..client.requests import files as files_of, gate as gate_of
from ..client.responses import VERDICT, checked, permalink_of, reader_of
from ..client.results import Board, CompareResult
from ..local.transport import InProcess
from ..presentation.numbers import SMALLEST_WRITTEN, p_number
from ..presentation.words import board_summary, cells_of, compare_sentence, short, table
from ..reports.representations import BY_NAME, JSON
from .arguments import PREFIX, Form, compare_form, form_of, power_request, read
from .options import GATE as GATE_OPTIONS
from .output import (
    ERROR,
    FAILED,
    PASSED,
    Progress,
    append,
    complain,
    duration,
    format_of,
    in_words,
    printable,
    require_server,
    say_permalink,
    write,
)

GATE, COMPARE, PLAN, POWER, SYSTEMS = "gate", "compare", "plan", "power", "systems"
LOCAL = "http://in-process"
DEFAULT_ALPHA = 0.05
OUTCOMES = {"c": "compared", "w": "computed"}  # by the first letter of an id
VERDICTS = ("pass", "fail", "inconclusive", "continue")
MAX_PAIRS = 50
TEXTS = frozenset({"system", "letters", "best set", "relation", "u", "v"})
GATE_FIELDS = (*(field.name for field in GATE_OPTIONS), "higher_is_better", "metrics", "names")


def run_command(what: str, parameters: Mapping[str, Any]) -> int:
    """Run `test`, `gate`, `compare` or `plan`; the exit status. Raises ClickException for wrong arguments."""
    format_ = format_of(parameters["format_"], parameters["output"])
    store = parameters.get("store", False)
    if store:
        require_server(parameters["url"])
    in_a_table = what == COMPARE and parameters["format_"] is None and parameters["output"] is None
    if in_a_table:
        format_ = JSON  # which is shown as a table
    if BY_NAME[format_].is_binary and parameters["output"] is None and sys.stdout.isatty():
        raise click.UsageError("A terminal cannot show a picture; write it to a file: -o picture.png")
    if what == PLAN and format_ not in {"text", "json"}:
        raise click.UsageError("A plan is text or json.")
    with Progress(quiet=parameters["quiet"]) as progress:
        call, form = _call(what, parameters)
        if what != PLAN:
            chosen = {
                name: parameters[name] for name in ("picture", "table") if parameters.get(name) is not None
            }
            call = call.in_format(format_, theme=parameters["theme"], **chosen).kept(store)
        try:
            response = _recognised(checked(_sent(call, parameters, progress)), what, format_)
            content = _shown(response, what, in_words=format_ == "text" or in_a_table)
        except ProblemError as error:
            problem: Mapping[str, Any] = error.raw or {"title": error.title, "detail": error.detail}
        except ExactpermError as error:
            problem = {"type": "about:blank", "title": "No answer", "detail": str(error)}
        else:
            problem = {}
    if problem:
        return _refused(problem, form, parameters, "table" if in_a_table else format_)
    write(content, parameters["output"])
    if parameters.get("outcome") is not None:
        append(_outcome(response), parameters["outcome"])
    if what != PLAN:
        _say_outcome(response, parameters, format_)
        say_permalink(permalink_of(response), stored=store)
    return PASSED if response.is_success else FAILED


def _call(what: str, parameters: Mapping[str, Any]) -> tuple[Call, Form]:
    """The call to send, and the form that it was made from."""
    if what == POWER:
        question, form = power_request(parameters)
        return call_of(question), form
    if parameters.get("kind") is not None:
        return _json_call(what, parameters)
    if what == PLAN and parameters["url"] is not None:
        raise click.UsageError("A server plans JSON requests (--kind); leave --url out to plan files here.")
    if what in {COMPARE, SYSTEMS}:
        request, form = compare_form(parameters)
        if what == SYSTEMS:
            request = replace(request, path="/v1/tests/systems")
        return call_of(request), form
    form = form_of(parameters)
    if what == GATE:
        terms = {name: form.fields[name] for name in GATE_FIELDS if name in form.fields}
        fields = {name: value for name, value in form.fields.items() if name not in terms}
        terms |= {"against": form.against} if form.against else {}
        return call_of(gate_of(files_of(**form.files, **fields), **terms)), form
    test = files_of(**form.files, **form.fields)
    return plan_call(test) if what == PLAN else call_of(test), form


def _json_call(what: str, parameters: Mapping[str, Any]) -> tuple[Call, Form]:
    """An unchanged JSON request."""
    others = [name for name in parameters if name.startswith(PREFIX)]
    others += ["names", "option", "gold", "ref", "qrels", "documents"]
    if len(parameters["paths"]) != 1 or any(parameters.get(name) for name in others):
        raise click.UsageError(
            "With --kind, give one FILE and no options of the test; they belong into the file."
        )
    name, content = read(parameters["paths"][0])
    if what == PLAN:
        content = b'{"kind":"%b","request":%b}' % (parameters["kind"].encode(), content)
    path = "/v1/plan" if what == PLAN else f"/v1/tests/{parameters['kind']}"
    return Call(path, content=content), Form({"file": (name, content)}, {"file": parameters["paths"][0]}, {})


def _sent(call: Call, parameters: Mapping[str, Any], progress: Progress) -> httpx.Response:
    if parameters["url"] is not None:
        url = parameters["url"]
        progress.doing(f"waiting for {urlsplit(url if '://' in url else f'//{url}').hostname}")
    drawn = BY_NAME[dict(call.query).get("format", JSON)].is_drawn
    work = "computing and drawing" if drawn else "computing"
    return send(call, parameters["url"], parameters["api_key"], lambda seconds: progress.doing(work, seconds))


def send(
    call: Call, url: str | None, api_key: str | None, planned: Callable[[float], None] | None = None
) -> httpx.Response:
    """The response of a server, or of this process, which passes the predicted seconds to `planned`."""
    if url is not None:
        with Client(url, api_key=api_key) as client:
            return client.send(call)
    from .settings import settings_of

    with Client(LOCAL, transport=InProcess(settings_of({}), planned), retries=0) as client:
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
    """The output: the answer itself, or a plan or a board in words; raises UnreadableAnswer."""
    if what == COMPARE and in_words and response.headers["content-type"] == BY_NAME[JSON].media_type:
        return board_text(reader_of(CompareResult)(response)).encode()
    return _plan_text(response) if what == PLAN and in_words else response.content


def _refused(problem: Mapping[str, Any], form: Form, parameters: Mapping[str, Any], format_: str) -> int:
    """Show the problem; with --format json, write the problem details in place of the answer."""
    complain(problem, form.paths, parameters.get("spelling"))
    if format_ == "json":
        write(json.dumps(problem).encode() + b"\n", parameters["output"])
    return ERROR


def _say_outcome(response: httpx.Response, parameters: Mapping[str, Any], format_: str) -> None:
    """Print the verdict and the p-value in a line if the report went to a file or is a picture."""
    if parameters["output"] is None and not BY_NAME[format_].is_themed:
        return
    where = f"; see {parameters['output']}" if parameters["output"] is not None else ""
    verdict = response.headers.get(VERDICT)
    outcome = OUTCOMES.get(response.headers.get("etag", "").removeprefix('W/"')[:1], "")
    if not outcome:
        chance = _p_value(response, parameters)
        outcome = f"{verdict} ({chance})" if verdict is not None else chance
    click.echo(f"exactperm: {outcome}{where}", err=True)


def _outcome(response: httpx.Response) -> str:
    """The verdict of a gate and its p-value, a line each; older servers send no p-value."""
    p = _p_of(response)
    return f"verdict={response.headers[VERDICT]}\n" + ("" if p is None else f"p_value={p!r}\n")


def _p_of(response: httpx.Response) -> float | None:
    try:
        return float(response.headers.get("x-p-value", ""))
    except ValueError:
        return None


def _p_value(response: httpx.Response, parameters: Mapping[str, Any]) -> str:
    """The p-value as reports show it, on its side of alpha; older servers send none."""
    p = _p_of(response)
    if p is None:
        return "p = ?"
    try:
        alpha = float(parameters.get(f"{PREFIX}alpha") or DEFAULT_ALPHA)
    except ValueError:
        alpha = DEFAULT_ALPHA
    return f"p = {p_number(p, alpha)}" if p >= SMALLEST_WRITTEN else f"p < {SMALLEST_WRITTEN}"


def _plan_text(response: httpx.Response) -> bytes:
    """The plan, one line for each method."""
    plan = response.json()
    lines = [f"{_cost(plan)}: {in_words(plan['reason'])}"]
    lines += [f"  or {_cost(other)}: {other['reason']}" for other in plan["alternatives"]]
    return ("\n".join(lines) + "\n").encode()


def _cost(planned: Mapping[str, Any]) -> str:
    exact = "exact" if planned["exact"] else "not exact"
    return f"{planned['method']} ({exact}), about {duration(planned['seconds'])} and {planned['bytes'] / 2**20:.3g} MiB"


# A comparison for a terminal


def board_text(result: CompareResult) -> str:
    """The main board, the result of each data set, requested pairs, warnings, and how files were read."""
    lines = [compare_sentence(result), "", *_board(result, result.board)]
    for name, board in (result.datasets or {}).items():
        if board is not result.board:
            lines += ["", f"on {short(name)}: {board_summary(result, board)}"]
            if result.overall is None:
                lines += ["", *_board(result, board)]
    lines.append("")
    lines += [f"warning: {warning.detail}" for warning in result.warnings]
    for dataset, board in (result.boards if result.datasets is not None else {}).items():
        of = "" if dataset is None else f"{short(dataset)}: "
        lines += [f"warning: {of}{warning.detail}" for warning in board.warnings]
    if result.reading is not None:
        lines += [f"read: {note}" for note in result.reading.notes]
    lines.append(result.id)
    return "".join(f"{printable(line)}\n" for line in lines)


def _board(result: CompareResult, board: Board) -> Iterator[str]:
    yield from _aligned(*table(result, board))
    if result.compare == "pairs":
        shown = board.pairs[:MAX_PAIRS]
        rows = [
            [str(number), short(one.u), short(one.v), *cells_of(one, board.family.alpha)]
            for number, one in enumerate(shown, 1)
        ]
        yield ""
        yield from _aligned(["pair", "u", "v", "difference", "p adjusted", "relation"], rows)
        if len(shown) < len(board.pairs):
            yield f"and {len(board.pairs) - len(shown):,} more pairs"


def _aligned(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Columns two blanks apart: texts to the left, numbers to the right, without empty columns."""
    kept = [index for index in range(len(heads)) if any(row[index] for row in rows)]
    cells = [[heads[index] for index in kept], *([printable(row[index]) for index in kept] for row in rows)]
    widths = [max(map(_width, column)) for column in zip(*cells, strict=True)]
    for row in cells:
        padded = [
            cell + " " * (width - _width(cell))
            if heads[index] in TEXTS
            else " " * (width - _width(cell)) + cell
            for index, cell, width in zip(kept, row, widths, strict=True)
        ]
        yield "  ".join(padded).rstrip()


def _width(text: str) -> int:
    """Width in a terminal: East Asian characters take two columns, combining marks none."""
    return sum(
        0 if unicodedata.combining(one) else 2 if unicodedata.east_asian_width(one) in {"W", "F"} else 1
        for one in text
    )
