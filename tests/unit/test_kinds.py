"""Test that every kind of request has all its places: see "a kind of request" in CONTRIBUTING.md."""

import json
import re
from pathlib import Path
from typing import Any, get_args

import pytest
from click.testing import CliRunner

import exactperm
from exactperm.api.openapi.document import OPERATIONS
from exactperm.cli.commands import cli
from exactperm.cli.jobs import submit
from exactperm.client import AsyncClient, Client, compare_requests
from exactperm.client.calls import Call, batch_call, plan_call, submit_call
from exactperm.local import run
from exactperm.local.run import http_request
from exactperm.local.transport import InProcess
from exactperm.service.kinds import KINDS, LISTED, OF_JOBS, JsonTest, Kind, PlannedKind, TestKind
from exactperm.service.pipeline import PARSERS
from exactperm.service.schema.compare import OF_A_KIND, PLANS
from exactperm.settings import Settings

SCRIPT = (Path(__file__).parents[2] / "openapi/clients/typescript/exactperm.js").read_text(encoding="utf-8")
ALL: tuple[Kind, ...] = get_args(Kind)
PLANNED = get_args(PlannedKind)
BY_TEST = {*get_args(TestKind), "files"}
# Kinds that are left out of a place on purpose.
EXCEPTIONS: dict[str, dict[str, str]] = {
    "PARSERS of service/pipeline.py": {"batch": "handle_batch reads lists"},
    "OF_A_KIND of service/schema/compare.py": {
        "batch": "ListRequest holds the others", "plan": "PlanEnvelope holds the others", "files": "no JSON",
    },
    "ListedKind of service/kinds.py": {"batch": "no list in a list", "plan": "takes no time", "files": "no JSON"},
    "PlannedKind of service/kinds.py": dict.fromkeys(("gate", "power", "batch", "files", "plan"), "not planned"),
    "__all__ of __init__.py": dict.fromkeys(("plan", "batch"), "of a client alone"),
    "cli/commands.py": {**dict.fromkeys(BY_TEST, "exactperm test"), "preferences": "exactperm test reads votes"},
}  # fmt: skip


def test_a_kind_of_request_has_all_its_places() -> None:
    """Not parametrized: `make test-fast` runs the first case of each test."""
    places = {
        "KINDS of service/kinds.py": KINDS,
        "ListedKind of service/kinds.py": LISTED,
        "PlannedKind of service/kinds.py": PLANNED,
        "PARSERS of service/pipeline.py": PARSERS,
        "OF_A_KIND of service/schema/compare.py": OF_A_KIND,
        "OPERATIONS of api/openapi/document.py": OPERATIONS,
        "Client of client/clients.py": dir(Client),
        "AsyncClient of client/clients.py": dir(AsyncClient),
        "__all__ of __init__.py": exactperm.__all__,
        "openapi/clients/typescript/exactperm.js": re.findall(
            r"^  (?:async )?(\w+)\(", SCRIPT, flags=re.MULTILINE
        ),
        "cli/commands.py": cli.commands,
    }
    for kind in ALL:
        missing = [name for name, place in places.items() if kind not in {*place, *EXCEPTIONS.get(name, ())}]
        assert not missing, f"{kind} is missing in {missing}"
        if kind in exactperm.__all__ and hasattr(run, kind):
            assert getattr(exactperm, kind) is getattr(run, kind), f"{kind} in __getattr__ of __init__.py"


def answer(path: str, value: Any) -> Any:
    """The answer without a server; a problem fails."""
    request = http_request(Call(path, content=json.dumps(value).encode()))
    response = InProcess(Settings()).handle_request(request)
    assert response.status_code in {200, 409}, response.text
    return response.json()


def example(kind: str) -> Any:
    extra: Any = OF_A_KIND[kind].model_config["json_schema_extra"]  # type: ignore[index]  # a string for short
    return extra["examples"][0]


def test_every_kind_is_answered_alone_and_in_a_list_without_a_server() -> None:
    for kind in LISTED:
        alone = answer(KINDS[kind].path, example(kind))
        (listed,) = answer("/v1/batch", {"tests": [{"kind": kind, "request": example(kind)}]})["results"]
        assert listed["answer"]["id"] == alone["id"], kind


def test_every_planned_kind_is_planned_without_a_server() -> None:
    assert answer("/v1/plan", PLANS[0])
    for kind in PLANNED:
        assert answer("/v1/plan", {"kind": kind, "request": example(kind)})["kind"] == kind


@pytest.mark.parametrize("kind", get_args(JsonTest))
def test_the_command_line_tests_and_plans_json(kind: str, tmp_path: Path) -> None:
    (tmp_path / "request.json").write_text(json.dumps(example(kind)))
    for command in ("test", "plan"):
        arguments = [command, "--kind", kind, str(tmp_path / "request.json"), "--format", "json"]
        result = CliRunner().invoke(cli, arguments)
        assert "p_value" in json.loads(result.stdout) or json.loads(result.stdout)["kind"] == kind


def test_the_command_line_submits_jobs_of_all_kinds() -> None:
    (option,) = [each for each in submit.params if each.name == "kind"]
    assert option.type.choices == OF_JOBS  # type: ignore[attr-defined]  # a choice


def test_tests_of_several_systems_are_listed_submitted_and_planned_as_such() -> None:
    request = compare_requests.systems({"A": [1, 0, 1], "B": [0, 1, 1], "C": [0, 0, 1]}, statistic="friedman")
    for call in (batch_call([request]), submit_call(request), plan_call(request)):
        value = json.loads(call.content)
        assert value.get("tests", [value])[0]["kind"] == "systems"
    (answered,) = json.loads(
        InProcess(Settings()).handle_request(http_request(batch_call([request]))).content
    )["results"]
    assert answered["status"] == 200


def test_kinds_of_tests_have_the_paths_of_tests() -> None:
    for kind, row in KINDS.items():
        assert row.path == f"/v1/tests/{kind}" if kind in {*get_args(JsonTest), "files"} else f"/v1/{kind}"
