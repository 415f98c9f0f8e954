"""`exactperm batch`: many small requests at once, here or on a server. Libraries are imported when it runs."""

from __future__ import annotations

import json
from typing import Any

import click

from .output import ERROR, FAILED, PASSED, Refused, require_server, say_permalink, write

CONFLICT = 409  # a gate that failed
URL = click.option("--url", envvar="EXACTPERM_URL", show_envvar=True, metavar="URL", help="Ask this server.")
API_KEY = click.option(
    "--api-key", envvar="EXACTPERM_API_KEY", show_envvar=True, metavar="KEY", help="The API key for it."
)
FORMAT = click.option(
    "--format",
    "format_",
    type=click.Choice(["ndjson", "json"]),
    default="ndjson",
    show_default=True,
    help="Of the answers: one a line, or one object.",
)
OUTPUT = click.option("--output", "-o", metavar="FILE", help="Write the answers to this file.")
STORE = click.option(
    "--store",
    is_flag=True,
    help="Have that server keep the answers for a while, and say where, on standard error.",
)


EXAMPLES = """\b
Examples:
  exactperm batch tests.jsonl
  exactperm batch tests.json --format json -o answers.json

Exit status: 0 when all were answered, 1 when a gate failed, 2 when a request has no answer."""


@click.command(epilog=EXAMPLES)
@click.argument("path", metavar="FILE")
@FORMAT
@OUTPUT
@URL
@API_KEY
@STORE
def batch(
    path: str, format_: str, output: str | None, url: str | None, api_key: str | None, *, store: bool
) -> None:
    """Answer the requests of a file in their order; - is standard input.

    A request is {"kind": …, "request": …}, one a line, or all in one JSON object {"tests": [...]}.
    """
    from ..client import ExactpermError, ProblemError
    from ..client.calls import Call
    from ..client.responses import checked, permalink_of
    from .arguments import read

    if store:
        require_server(url)
    _, content = read(path)
    media = "application/json" if _is_one_object(content) else "application/x-ndjson"
    call = Call("/v1/batch", query=(("format", format_),), content=content, content_type=media).kept(store)
    try:
        response = checked(_sent(call, url, api_key))
    except ProblemError as error:
        raise Refused(f"{error.title}: {error.detail}") from None
    except ExactpermError as error:
        raise Refused(str(error)) from None
    answered = response.content
    write(answered, output)
    say_permalink(permalink_of(response), asked=store)
    statuses = _statuses(answered, format_)
    bad = sum(status not in {200, CONFLICT} for status in statuses)
    if bad:
        click.echo(f"exactperm: {bad} of {len(statuses)} requests have no answer", err=True)
        click.get_current_context().exit(ERROR)
    click.get_current_context().exit(FAILED if CONFLICT in statuses else PASSED)


def _is_one_object(content: bytes) -> bool:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "kind" not in value


def _statuses(answered: bytes, format_: str) -> list[int]:
    if format_ == "json":
        return [one["status"] for one in json.loads(answered)["results"]]
    return [json.loads(line)["status"] for line in answered.splitlines()]


def _sent(call: Any, url: str | None, api_key: str | None) -> Any:
    from ..client import Client

    if url is not None:
        with Client(url, api_key=api_key) as client:
            return client.send(call)
    from .local_transport import InProcess
    from .run import LOCAL
    from .settings import settings_of

    with Client(LOCAL, transport=InProcess(settings_of({})), retries=0) as client:
        return client.send(call)
