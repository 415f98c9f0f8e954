"""`exactperm batch`: many small requests at once.

`exactperm jobs`: long requests computed by a server. Libraries are imported when a command runs.
"""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import click

from ..service.kinds import OF_JOBS
from .output import ERROR, FAILED, PASSED, Refused, require_server, say_permalink, write

if TYPE_CHECKING:
    from ..client import Client
    from ..client.responses import Job

CONFLICT = 409  # a gate that failed
JOB = click.argument("job", metavar="JOB")


def url_option(text: str, *, required: bool) -> Callable[[Any], Any]:
    """The option that names a server."""
    return click.option(
        "--url", envvar="EXACTPERM_URL", show_envvar=True, metavar="URL", required=required, help=text
    )


URL = url_option("The server.", required=True)
API_KEY = click.option(
    "--api-key",
    envvar="EXACTPERM_API_KEY",
    show_envvar=True,
    metavar="KEY",
    help=("The API key for that server."),
)
QUIET = click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
OUTPUT = click.option("--output", "-o", metavar="FILE", help="Write the result to this file.")
STATES = ("queued", "running", "succeeded", "failed", "cancelled")
BATCH_EXAMPLES = """\b
Examples:
  exactperm batch tests.jsonl
  exactperm batch tests.json --format json -o answers.json

Exit status: 0 when all were answered, 1 when a gate failed, 2 when a request has no answer."""


@click.command(epilog=BATCH_EXAMPLES)
@click.argument("path", metavar="FILE")
@click.option(
    "--format",
    "format_",
    type=click.Choice(["ndjson", "json"]),
    default="ndjson",
    show_default=True,
    help="Format of the answers: one per line, or one object.",
)
@click.option("--output", "-o", metavar="FILE", help="Write the answers to this file.")
@url_option("Send the requests to this server.", required=False)
@API_KEY
@click.option(
    "--store",
    is_flag=True,
    help="Have that server store the answers for a while, and print their address on standard error.",
)
def batch(
    path: str, format_: str, output: str | None, url: str | None, api_key: str | None, *, store: bool
) -> None:
    """Answer the requests of a file in their order; - is standard input.

    A request is {"kind": …, "request": …}: one per line, or all in one JSON object {"tests": [...]}.
    """
    from ..client.calls import Call
    from ..client.responses import checked, permalink_of
    from .arguments import read
    from .run import send

    if store:
        require_server(url)
    _, content = read(path)
    media = "application/json" if _is_json_object(content) else "application/x-ndjson"
    call = Call("/v1/batch", query=(("format", format_),), content=content, content_type=media).kept(store)
    with _refusals():
        response = checked(send(call, url, api_key))
    write(response.content, output)
    say_permalink(permalink_of(response), stored=store)
    if format_ == "json":
        statuses = [one["status"] for one in json.loads(response.content)["results"]]
    else:
        statuses = [json.loads(line)["status"] for line in response.content.splitlines()]
    bad = sum(status not in {200, CONFLICT} for status in statuses)
    if bad:
        click.echo(f"exactperm: {bad} of {len(statuses)} requests have no answer", err=True)
        click.get_current_context().exit(ERROR)
    click.get_current_context().exit(FAILED if CONFLICT in statuses else PASSED)


def _is_json_object(content: bytes) -> bool:
    try:
        value = json.loads(content)
    except (ValueError, RecursionError):
        return False
    return isinstance(value, dict) and "kind" not in value


EXAMPLES = """\b
Examples:
  exactperm jobs submit board.json --kind compare --wait -o board-result.json
  exactperm jobs submit many.json --kind batch
  exactperm jobs list --state running
  exactperm jobs wait j_0123456789abcdef0123456789abcdef"""


@click.group("jobs", epilog=EXAMPLES)
def jobs() -> None:
    """Submit requests to a server as jobs, and get their results."""


def _of_a_job(*options: Callable[[Any], Any]) -> Callable[[Callable[..., None]], click.Command]:
    """A command on one job of a server, with these options."""

    def command(function: Callable[..., None]) -> click.Command:
        for option in reversed((JOB, *options, URL, API_KEY)):
            function = option(function)
        return jobs.command()(function)

    return command


@jobs.command()
@click.argument("path", metavar="FILE")
@click.option(
    "--kind",
    type=click.Choice(OF_JOBS),
    help=("Kind of a JSON request; without it the file has kind and request."),
)
@click.option("--key", metavar="TEXT", help="An idempotency key: the same key and file give the same job.")
@click.option("--wait", is_flag=True, help="Wait for it, and write its result.")
@OUTPUT
@QUIET
@URL
@API_KEY
def submit(**parameters: Any) -> None:
    """Submit a JSON request and print the id of the job; - is standard input."""
    from ..client.calls import Call
    from ..client.responses import Job, reader_of
    from .arguments import read

    _, content = read(parameters["path"])
    if parameters["kind"] is not None:
        content = b'{"kind":"%b","request":%b}' % (parameters["kind"].encode(), content)
    if not (parameters["key"] or "").isascii():
        raise click.BadParameter("a key is letters, digits and signs of ASCII.", param_hint="--key")
    headers = (("idempotency-key", parameters["key"]),) if parameters["key"] is not None else ()
    with _client(parameters) as client:
        job = reader_of(Job)(client.send(Call("/v1/jobs", content=content, headers=headers)))
        if not parameters["wait"]:
            click.echo(job.id)
            return
        click.echo(job.id, err=True)
        _wait(client, job.id, parameters)


@_of_a_job()
def status(**parameters: Any) -> None:
    """Print the current state of a job as JSON."""
    with _client(parameters) as client:
        click.echo(json.dumps(dict(client.jobs.status(parameters["job"]).raw), indent=2))


@_of_a_job(OUTPUT, QUIET)
def wait(**parameters: Any) -> None:
    """Wait until a job has ended, and write its result."""
    with _client(parameters) as client:
        _wait(client, parameters["job"], parameters)


@_of_a_job(OUTPUT)
def result(**parameters: Any) -> None:
    """Write the result of a job that has succeeded."""
    with _client(parameters) as client:
        _write_result(client, parameters["job"], parameters)


@jobs.command("list")
@click.option("--state", type=click.Choice(STATES), help="Only jobs in this state.")
@click.option(
    "--limit", type=click.IntRange(1, 1_000), metavar="N", help=("At most this many. [default: 100]")
)
@click.option("--after", metavar="JOB", help="Jobs older than this one.")
@URL
@API_KEY
def list_(**parameters: Any) -> None:
    """List your newest jobs, one per line: id, state, progress, kind, tests, time of submission."""
    with _client(parameters) as client:
        listed = client.jobs.list(parameters["state"], limit=parameters["limit"], after=parameters["after"])
    for job in listed:
        click.echo(
            f"{job.id}  {job.state:9}  {job.progress:4.0%}  {job.kind:11}  {job.tests:>9,}  {job.created}"
        )


@_of_a_job()
def delete(**parameters: Any) -> None:
    """Cancel a job and forget it, with its result."""
    with _client(parameters) as client:
        client.jobs.delete(parameters["job"])


@_of_a_job()
def cancel(**parameters: Any) -> None:
    """Cancel a job, and print its state."""
    with _client(parameters) as client:
        click.echo(client.jobs.cancel(parameters["job"]).state)


@contextlib.contextmanager
def _client(parameters: dict[str, Any]) -> Iterator[Client]:
    from ..client import Client

    with _refusals(), Client(parameters["url"], api_key=parameters["api_key"]) as client:
        yield client


@contextlib.contextmanager
def _refusals() -> Iterator[None]:
    """Print the client's errors as lines."""
    from ..client import ExactpermError, ProblemError

    try:
        yield
    except ProblemError as error:
        raise Refused(f"{error.title}: {error.detail}") from None
    except ExactpermError as error:
        raise Refused(str(error)) from None


def _wait(client: Client, name: str, parameters: dict[str, Any]) -> None:
    from .output import Progress

    with Progress(quiet=parameters["quiet"]) as progress:

        def show(job: Job) -> None:
            progress.doing(f"{job.state}, {job.tests_done:,} of {job.tests:,} tests ({job.progress:.0%})")

        job = client.jobs.wait(name, show)
    if job.state != "succeeded":
        problem = job.raw.get("problem") or {}
        raise Refused(f"the job {name} is {job.state}: {problem.get('detail', 'There is no result.')}")
    _write_result(client, name, parameters)


def _write_result(client: Client, name: str, parameters: dict[str, Any]) -> None:
    from ..client.calls import job_call
    from ..client.responses import checked

    response = checked(client.send(job_call(name, part="/result")))
    write(response.content, parameters["output"])
    click.get_current_context().exit(PASSED if response.is_success else FAILED)
