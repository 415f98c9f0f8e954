"""The commands of `exactperm`. Libraries are imported when a command runs, so that help is fast."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NoReturn

import click

from ..statistics.catalogue import DATA, ENTRIES, QUESTIONS, by_data_and_question
from ..version import __version__
from . import options
from .jobs import batch, jobs
from .options import Sectioned
from .output import ERROR, INTERRUPTED, PASSED

TRACEBACKS = "EXACTPERM_TRACEBACK"
WIDTH = {"max_content_width": 110}
PATHS = click.argument("paths", metavar="FILES...", nargs=-1)

EXIT = "Exit status: 0 pass, 1 fail, 2 could not be compared (or any other error), 130 interrupted."
TEST_EXAMPLES = """\b
Examples:
  exactperm test scores.csv                       id,u,v per line
  exactperm test new.jsonl old.jsonl              lm-evaluation-harness, Inspect, CSV, …
  exactperm test runs/new runs/old                folders with a file for each task; or quoted patterns, 'runs/new/*.jsonl'
  exactperm test crf.conllu base.conllu --gold gold.conllu --statistic las --clusters document
  exactperm test scores.csv -o report.html        a report with a picture
  exactperm test data.csv --metric F1             a file of rycolab/paired-perm-test

The first file is U and the second is V; one file holds both; of folders the tasks, paired by the names of their files, are the clusters (--clusters item: none);
- is standard input. If something must be chosen (a filter, a metric), the error message lists the choices.

"""
GATE_EXAMPLES = """\b
Examples:
  exactperm gate new.jsonl old.jsonl              fail only if new is significantly worse
  exactperm gate new.tsv old.tsv --statistic wer --margin 0.01 --policy non_inferior
  exactperm gate new.conllu old.conllu --gold gold.conllu --metrics upos,las -o gate.xml
  exactperm gate new.jsonl old.jsonl -f markdown >> "$GITHUB_STEP_SUMMARY"
  exactperm gate new.jsonl --against main.jsonl --against v1.2.jsonl
  exactperm gate new.jsonl --baseline-runs 'runs/*.jsonl'         a baseline that was run several times

The first file is the candidate and the second the baseline; or each --against is one. In a file with two systems their names decide (candidate, new;
baseline, old, main), or --system-u and --system-v. A comparison that could not be made is never a pass.

"""

COMPARE_EXAMPLES = """\b
Examples:
  exactperm compare board.csv                     id,A,B,C per line; or id,system,score
  exactperm compare a.jsonl b.jsonl c.jsonl       one file for each system, named after its file
  exactperm compare runs/a runs/b runs/c          folders with a file for each task: each task is a data set
  exactperm compare runs/*.conllu --gold gold.conllu --statistic las --clusters document
  exactperm compare board.csv --baseline main --alternative greater --confidence-level 0.95
  exactperm compare board.csv -o board.svg --picture heatmap

A long table may have the columns dataset and cluster: each data set then has a board, and there is one over all.

"""
SYSTEMS_EXAMPLES = """\b
Examples:
  exactperm systems table.csv --statistic page --order Q4,Q6,Q8 --alternative greater
  exactperm systems a.jsonl b.jsonl c.jsonl --statistic cochran_q
  exactperm systems table.csv --statistic interaction --pairs '[["big+","big"],["small+","small"]]'

"""
POWER_EXAMPLES = """\b
Examples:
  exactperm power --solve effect --p10 0.08 --p01 0.05 -n 100,300,1000
  exactperm power --solve n --u 0.83 --v 0.80 --discordance 0.13
  exactperm power --solve floor --runs 'runs/*.jsonl'      how low a new run may be
  exactperm power --solve n --effect 0.02 new.jsonl old.jsonl    two systems like these, a pilot
  exactperm power --solve power --effect 0.5 --sd 3 -n 200 -o power.svg

Files are a pilot: the sizes of its differences are what power is computed from; you choose the size of the difference.

"""
PLAN_EXAMPLES = """\b
Examples:
  exactperm plan scores.csv
  exactperm plan --kind counts request.json       a JSON request, as for POST /v1/tests/counts

"""


@click.group(context_settings={**WIDTH, "help_option_names": ["-h", "--help"]}, epilog=EXIT)
@click.version_option(__version__, prog_name="exactperm", message="%(prog)s %(version)s")
def cli() -> None:
    """Does one system really beat another on the same test items? Exact paired-permutation tests.

    Tests run here, in this process, or with --url on a server.
    """


@cli.command()
@click.option("--host", metavar="ADDRESS", help="Address to listen on [EXACTPERM_HOST, or 127.0.0.1].")
@click.option("--port", metavar="PORT", help="TCP port [EXACTPERM_PORT, or 8000]; 0 lets the system choose.")
@click.option(
    "--workers", metavar="NUMBER", help="Compute processes [EXACTPERM_WORKERS, or one per processor]."
)
def serve(**parameters: str | None) -> None:
    """Serve HTTP until SIGTERM or Ctrl-C.

    Every other setting is an environment variable, EXACTPERM_…; options override variables.
    """
    _require("server")
    from .settings import settings_of

    settings = settings_of({name: value for name, value in parameters.items() if value is not None})
    from ..serving import serve as serving

    serving(settings)


cli.add_command(batch)
cli.add_command(jobs)


@cli.command()
@click.option("--with-parent", is_flag=True, hidden=True)
def worker(*, with_parent: bool) -> None:
    """Compute jobs until SIGTERM or Ctrl-C; EXACTPERM_JOBS_URL is the database.

    A service with that setting runs a worker itself; more workers, on this machine or others, share its jobs.
    """
    _require("server")
    _require("jobs")
    from .settings import settings_of

    settings = settings_of({})
    if not settings.jobs_url:
        raise click.UsageError("Set EXACTPERM_JOBS_URL to the database of the service.")
    from ..serving import work

    work(settings, with_parent=with_parent)


@cli.command("mcp")
@click.option(
    "--root",
    metavar="DIR",
    required=True,
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="The only folder that files are read from.",
)
def mcp(root: Path) -> None:
    """Serve an assistant: the Model Context Protocol on standard input and output, until input closes."""
    _require("mcp")
    from ..mcp_server.server import serve as serve_assistant
    from .settings import settings_of

    serve_assistant(root, settings_of({}))


def _asks(
    what: str, epilog: str, *click_options: Callable[[Any], Any]
) -> Callable[[Callable[..., None]], click.Command]:
    """A command that reads files, with these options in this order."""

    def command(function: Callable[..., None]) -> click.Command:
        for option in reversed(click_options):
            function = option(function)
        return cli.command(what, cls=Sectioned, epilog=epilog)(PATHS(function))

    return command


@_asks("test", TEST_EXAMPLES + EXIT, *options.OF_A_TEST, options.STORE)
def test(**parameters: Any) -> None:
    """Test whether two systems differ on the same items."""
    _run("test", parameters)


@_asks("gate", GATE_EXAMPLES + EXIT, *options.OF_THE_GATE)
def gate(**parameters: Any) -> None:
    """Decide whether a candidate may replace the baseline; the exit status is the verdict."""
    _run("gate", parameters)


@_asks("compare", COMPARE_EXAMPLES + EXIT, *options.OF_A_COMPARE)
def compare(**parameters: Any) -> None:
    """Compare many systems: significant differences, certain ranks, and groups."""
    _run("compare", parameters)


@_asks("systems", SYSTEMS_EXAMPLES + EXIT, *options.OF_SYSTEMS)
def systems(**parameters: Any) -> None:
    """Test several systems at once: a trend, a contrast, or whether any differs."""
    _run("systems", parameters)


@_asks("power", POWER_EXAMPLES + EXIT, *options.OF_THE_POWER)
def power(**parameters: Any) -> None:
    """Find how many items a test needs, or which difference it can detect."""
    _run("power", parameters)


@_asks("plan", PLAN_EXAMPLES + EXIT, *options.OF_A_TEST)
def plan(**parameters: Any) -> None:
    """Show the method and the predicted cost of a test, without running it."""
    _run("plan", parameters)


@cli.command()
def statistics() -> None:
    """List the statistics by data and question, with their names in other tools."""
    click.echo("\n".join(_statistics_lines()))


def _statistics_lines() -> Iterator[str]:
    """Statistics by data, then by question: a line each with name, meaning and other names."""
    before = None
    for (data, question), entries in by_data_and_question(ENTRIES).items():
        if data != before:
            yield from ([] if before is None else [""])
            yield DATA[data]
            before = data
        yield f"  {QUESTIONS[question]}"
        for entry in entries:
            others = f" [{', '.join(entry.known_as)}]" if entry.known_as else ""
            yield f"    {entry.name:<22}{entry.meaning}{others}"


@cli.command()
@click.option("--output", "-o", metavar="FILE", help="Write to this file.")
def openapi(output: str | None) -> None:
    """Print the OpenAPI document."""
    _require("server")
    from ..api.openapi_export import exported
    from .output import write

    write(exported().encode(), output)


@cli.command()
def version() -> None:
    """Print the version."""
    click.echo(f"exactperm {__version__}")


def _require(extra: str) -> None:
    """Refuse a command whose libraries are missing, and name the command that installs them."""
    from ..extras import is_installed, missing
    from .output import Refused

    if not is_installed(extra):
        raise Refused(f"{missing(extra)}.")


def _run(what: str, parameters: dict[str, Any]) -> NoReturn:
    if not parameters["paths"] and what != "power":
        several = "Give one file with all systems, or a file for each."
        two = "Give one file with both systems, or two files: U first, then V."
        raise click.UsageError(several if what in {"compare", "systems"} else two)
    from .run import run_command

    click.get_current_context().exit(run_command(what, parameters))


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run a command and end the process with its status, even while a thread still computes; never with a traceback."""
    _open_standard_streams()
    status = _status(arguments)
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, ValueError):
            stream.flush()
    os._exit(status)


def _open_standard_streams() -> None:
    """Open /dev/null for streams that were closed (`>&-`), so that no socket gets their numbers."""
    for number, name, mode in ((0, "stdin", "r"), (1, "stdout", "w"), (2, "stderr", "w")):
        if getattr(sys, name) is None:
            nowhere = os.open(os.devnull, os.O_RDWR)
            if nowhere != number:
                os.dup2(nowhere, number)
                os.close(nowhere)
            os.set_inheritable(number, True)  # for the workers
            setattr(sys, name, os.fdopen(number, mode, closefd=False))


def _status(arguments: Sequence[str] | None) -> int:
    try:
        status = cli.main(arguments, prog_name="exactperm", standalone_mode=False)
    except click.ClickException as error:
        error.show()
        return ERROR
    except (KeyboardInterrupt, click.Abort):
        return INTERRUPTED
    except SystemExit as error:  # uvicorn's if it cannot listen; ours if it must not
        if isinstance(error.code, str):
            click.echo(f"exactperm: {error.code}", err=True)
        return error.code if isinstance(error.code, int) else ERROR
    except BrokenPipeError:  # the reader of the pipe is gone
        return PASSED
    except Exception as error:
        if os.environ.get(TRACEBACKS):
            raise
        click.echo(
            f"exactperm: this is a bug: {type(error).__name__} ({error}). Please report it; {TRACEBACKS}=1 shows the traceback.",
            err=True,
        )
        return ERROR
    return status if isinstance(status, int) else PASSED
