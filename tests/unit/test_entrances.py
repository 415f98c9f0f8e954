"""Test that names are the same at every entrance:

JSON, forms and queries, the command line, Python and R, the action and assistants. Names may differ by - and _ only. Other differences
are listed here with a reason; an unlisted name, or an obsolete reason, fails.
"""

import inspect
import itertools
import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from exactperm.cli.commands import cli
from exactperm.cli.options import RARE
from exactperm.client import compare_requests, requests
from exactperm.client.clients import Chosen
from exactperm.local import run
from exactperm.mcp_server.server import TOOLS
from exactperm.service.schema.requests import Design

ROOT = Path(__file__).parents[2]
DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))

CONNECTION = "of the connection to a server, and not of what is asked"
CONTAINER = "holds fields by their names"
PLACE = "where the answer goes, on this machine"
STEP = "of the step of the pipeline, and not of what is asked"
FILES = "files have roles in forms; here they are arguments by their order"
FLAG = "the shell has a flag for each of two values"
OF_R = "as in t.test and wilcox.test of R"
# Names that are no field of a body or a form, by entrance.
EXCEPTIONS = {
    "query": {
        **dict.fromkeys(("after", "limit", "state"), "which jobs are listed: GET has no body"),
        "fail_status": "of the response alone: the same gate has the same id",
        **dict.fromkeys(("picture", "table", "theme"), "how the answer is shown: the same question has the same id"),
    },
    "command line": {
        **dict.fromkeys(("after", "limit", "state", "wait", "key"), "of `exactperm jobs`, which are asked by GET and headers"),
        **dict.fromkeys(("picture", "table", "theme"), "how the answer is shown, as in the query"),
        **dict.fromkeys(("url", "api_key"), CONNECTION),
        **dict.fromkeys(("host", "port", "workers"), "settings of the service"),
        **dict.fromkeys(("output", "quiet", "outcome", "spelling"), PLACE),
        **dict.fromkeys(("root", "with_parent"), "of `exactperm mcp` and `exactperm worker`"),
        **dict.fromkeys(("runs", "baseline_runs"), "files of one system, which have a role in forms: `v`"),
        "option": CONTAINER,
        "input_format": "--format is that of the answer, and both stand on one line",
        "pair": "a pair of `compare`, without the brackets of JSON",
        "lower_is_better": FLAG,
    },
    "Python": {
        "candidate": "u of a gate, as its verdict says it",
        "name": "of one metric, which is a key of `metrics`",
        **dict.fromkeys(("picture", "table", "theme"), "how the answer is shown, as in the query"),
    },
    "R": {
        **dict.fromkeys(("x", "y", "data", "conf.level"), OF_R),
        **dict.fromkeys(("url", "api_key", "server", "tries"), CONNECTION),
        "...": CONTAINER,
    },
    "action": {
        **dict.fromkeys(("url", "api_key"), CONNECTION),
        **dict.fromkeys(("name", "comment", "token"), STEP),
        "options": CONTAINER,
        "candidate": "u of a gate, as its verdict says it",
    },
    "GitLab": {
        **dict.fromkeys(("url", "api_key"), CONNECTION),
        **dict.fromkeys(("name", "source", "version", "junit", "spelling"), STEP),
        "options": CONTAINER,
        "candidate": "u of a gate, as its verdict says it",
    },
    "assistants": {"options": CONTAINER, "files": "of `compare_files`: one for each `system`, as a list or by name"},
}  # fmt: skip
# Names at any entrances that differ by an s alone.
PLURALS = {
    ("decimal", "decimals"): "the mark, and to how many places scores are rounded",
    ("file", "files"): "one file with all systems, and one for each",
    ("metric", "metrics"): "which number of the items, and several of a gate",
    ("name", "names"): "of the gate in a pipeline, and of systems",
    ("option", "options"): "of the command line, which has it once for each, and all together",
    ("pair", "pairs"): "one of `compare`, and which of them the answer lists",
    ("system", "systems"): "the part of a form that is a system's file, and the systems of a body or a table",
    ("test", "tests"): "the null model, and the requests of a batch",
}


def resolved(schema: dict[str, Any]) -> dict[str, Any]:
    while "$ref" in schema:
        schema = DOCUMENT["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return schema


def properties(schema: dict[str, Any]) -> Iterator[str]:
    schema = resolved(schema)
    yield from schema.get("properties", ())
    for inner in [*schema.get("anyOf", ()), *schema.get("allOf", ()), *schema.get("oneOf", ())]:
        yield from properties(inner)


def operations() -> Iterator[dict[str, Any]]:
    for methods in DOCUMENT["paths"].values():
        yield from (operation for name, operation in methods.items() if name in {"get", "post", "delete"})


def of_queries() -> Iterator[str]:
    for operation in operations():
        for parameter in operation.get("parameters", ()):
            reference = parameter.get("$ref", "").rpartition("/")[2]
            found = DOCUMENT["components"]["parameters"][reference] if reference else parameter
            if found["in"] == "query":
                yield found["name"]


def of_bodies() -> Iterator[str]:
    """JSON and forms; of a plan for a design also its numbers."""
    yield from Design.model_fields
    for operation in operations():
        for media, content in operation.get("requestBody", {}).get("content", {}).items():
            if media in {"application/json", "multipart/form-data"}:
                yield from properties(content["schema"])


def typed() -> Iterator[str]:
    yield from RARE
    for command in cli.commands.values():
        for one in (command, *getattr(command, "commands", {}).values()):
            for parameter in one.params:
                names = (*parameter.opts, *parameter.secondary_opts)
                yield from (name[2:] for name in names if name.startswith("--"))


def of_python() -> Iterator[str]:
    for options in (run.GateOptions, requests.Terms, compare_requests.CompareOptions, Chosen):
        yield from options.__annotations__
    made = (
        requests.scores,
        requests.counts,
        requests.effects,
        requests.predictions,
        requests.files,
        requests.metric,
    )
    for function in (run.test, run.gate, run.compare, run.power, *made):
        for name, parameter in inspect.signature(function).parameters.items():
            if parameter.kind is not parameter.VAR_KEYWORD:
                yield name


def of_r() -> Iterator[str]:
    """The arguments of exported functions; those of print, plot and as.data.frame are R's."""
    for path in (ROOT / "openapi" / "clients" / "r" / "R").glob("*.R"):
        of_functions = r"^(exactperm_\w+)(?:\.\w+)? <- function\(((?:[^()]|\([^()]*\))*)\)"
        for _, arguments in re.findall(of_functions, path.read_text(encoding="utf-8"), re.MULTILINE):
            for argument in re.split(r",(?![^()]*\))", arguments):
                yield argument.partition("=")[0].strip()


def of_gitlab() -> Iterator[str]:
    for name in ("gitlab.yml", "gate/decide"):
        text = (ROOT / ".ci" / name).read_text(encoding="utf-8")
        yield from (variable.lower() for variable in re.findall(r"GATE_([A-Z_]+)", text))


ENTRANCES: dict[str, Callable[[], Iterator[str]]] = {
    "query": of_queries,
    "command line": typed,
    "Python": of_python,
    "R": of_r,
    "action": lambda: iter(yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]),
    "GitLab": of_gitlab,
    "assistants": lambda: (name for tool in TOOLS.values() for name in tool.arguments),
}


def names_of(entrance: str) -> set[str]:
    return {name.replace("-", "_") for name in ENTRANCES[entrance]()}


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_a_name_is_that_of_bodies_and_forms_or_has_a_reason(entrance: str) -> None:
    others = names_of(entrance) - set(of_bodies())
    assert others == others & set(EXCEPTIONS[entrance]), "give them the name that bodies have, or a reason"


@pytest.mark.parametrize("entrance", ENTRANCES)
def test_every_reason_is_needed(entrance: str) -> None:
    assert set(EXCEPTIONS[entrance]) <= names_of(entrance) - set(of_bodies())


def test_no_two_names_differ_by_a_letter_without_a_reason() -> None:
    names = sorted(set(of_bodies()).union(*map(names_of, ENTRANCES)))

    def stem(name: str) -> str:
        return re.sub(r"[^a-z0-9]", "", name).removesuffix("s")

    assert {(a, b) for a, b in itertools.combinations(names, 2) if stem(a) == stem(b)} == set(PLURALS)
