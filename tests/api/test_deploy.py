"""The examples of a deployment name nothing that does not exist."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as families

from app.cli import commands
from app.ops.metrics import QUEUE_REJECTIONS, REJECTIONS, RESTARTS
from app.settings import Settings

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "loadtest" / "deploy"
FILES = sorted(path for path in FOLDER.rglob("*") if path.is_file())
NAME = re.compile(r"\b((?:exactperm|http_server|process)_[a-z_]+)(\{[^}]*\})?")
OF_PROMETHEUS = {"instance", "job"}  # labels that it adds


def documents(path: Path) -> list[Any]:
    text = path.read_text(encoding="utf-8")
    return [json.loads(text)] if path.suffix == ".json" else list(yaml.safe_load_all(text))


def expressions() -> list[str]:
    """Every expression of the dashboard and of the alerts."""
    (board,) = documents(FOLDER / "grafana" / "dashboard.json")
    found = [target["expr"] for panel in board["panels"] for target in panel["targets"]]
    found += [one["query"].partition("(")[2].partition(",")[0] for one in board["templating"]["list"]]
    (alerts,) = documents(FOLDER / "alerts.yml")
    return found + [rule["expr"] for group in alerts["groups"] for rule in group["rules"]]


@pytest.fixture(scope="module")
def exposed(service: Any) -> dict[str, set[str]]:
    """The name of every series, and its labels."""
    service.post("/v1/tests/scores", {"u": [1, 0], "v": [0, 1]})
    found: dict[str, set[str]] = {}
    for family in families(service.get("/metrics").text):
        for sample in family.samples:
            found.setdefault(sample.name, set()).update(sample.labels)
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_file_can_be_parsed(path: Path) -> None:
    if path.suffix not in {".md", ".cfg"}:  # tests/process/test_replicas.py has HAProxy read its own
        assert all(documents(path))


def test_every_metric_and_every_label_that_is_asked_for_exists(exposed: dict[str, set[str]]) -> None:
    asked = [(name, braces) for one in expressions() for name, braces in NAME.findall(one)]
    assert len(asked) > 20
    assert [name for name, _ in asked if name not in exposed] == []
    for name, braces in asked:
        labels = set(re.findall(r"(\w+) ?(?:=~|!=|=)", braces))
        assert labels <= exposed[name] | OF_PROMETHEUS, (name, labels)


def test_every_metric_of_ours_is_on_the_dashboard(exposed: dict[str, set[str]]) -> None:
    shown = " ".join(expressions())
    for name in exposed:
        base = re.sub(r"_(bucket|count|sum)$", "", name)
        assert name.startswith("process_") or base in shown, name


def test_every_reason_that_is_asked_for_is_one() -> None:
    reasons = {*REJECTIONS, *QUEUE_REJECTIONS, *RESTARTS}
    asked = [one for text in expressions() for one in re.findall(r'reason=~?"([^"]*)"', text)]
    for pattern in (part for one in asked for part in one.split("|")):
        assert [reason for reason in reasons if re.fullmatch(pattern, reason)], pattern


def test_every_setting_that_is_named_exists() -> None:
    known = {f"EXACTPERM_{name.upper()}" for name in Settings.model_fields}
    named = {
        name for path in FILES for name in re.findall(r"EXACTPERM_[A-Z_]*[A-Z]", path.read_text("utf-8"))
    }
    assert len(named) > 4
    assert named <= known


def kubernetes(name: str = "kubernetes.yaml") -> dict[str, Any]:
    return {document["kind"]: document for document in documents(FOLDER / name)}


def test_the_pod_is_probed_where_there_is_something_and_may_do_nothing_more(service: Any) -> None:
    pod = kubernetes()["Deployment"]["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert service.get(container[probe]["httpGet"]["path"]).status_code == 200
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["securityContext"]["runAsUser"] == 10001
    assert f"USER {pod['securityContext']['runAsUser']}" in (ROOT / "Dockerfile").read_text(encoding="utf-8")


def test_there_is_time_to_end_before_the_kill() -> None:
    pod = kubernetes()["Deployment"]["spec"]["template"]["spec"]
    said = {one["name"]: one.get("value") for one in pod["containers"][0]["env"]}
    takes = float(said["EXACTPERM_SHUTDOWN_DELAY_S"]) + float(said["EXACTPERM_SHUTDOWN_GRACE_S"])
    assert pod["terminationGracePeriodSeconds"] > takes
    (compose,) = documents(FOLDER / "compose.yaml")
    fields = Settings.model_fields
    takes = fields["shutdown_delay_s"].default + fields["shutdown_grace_s"].default
    assert int(compose["services"]["exactperm"]["stop_grace_period"].removesuffix("s")) > takes


def test_what_autoscalers_follow_is_exposed_and_the_adapter_hands_it_on(exposed: dict[str, set[str]]) -> None:
    (adapter,) = documents(FOLDER / "adapter.yaml")
    handed_on = {
        kind: {rule["name"]["as"] for rule in adapter["rules"][kind]} for kind in ("custom", "external")
    }
    scalers = [
        kubernetes()["HorizontalPodAutoscaler"],
        kubernetes("kubernetes-jobs.yaml")["HorizontalPodAutoscaler"],
    ]
    metrics = [metric for scaler in scalers for metric in scaler["spec"]["metrics"]]
    asked = {
        "custom": {one["pods"]["metric"]["name"] for one in metrics if one["type"] == "Pods"},
        "external": {one["external"]["metric"]["name"] for one in metrics if one["type"] == "External"},
    }
    assert asked == handed_on
    assert asked["custom"] | asked["external"] <= set(exposed)


def test_workers_of_jobs_run_what_the_command_line_has() -> None:
    (container,) = kubernetes("kubernetes-jobs.yaml")["Deployment"]["spec"]["template"]["spec"]["containers"]
    (compose,) = documents(FOLDER / "compose.jobs.yaml")
    for command in (container["command"], compose["services"]["worker"]["command"]):
        assert command[:3] == ["python", "-m", "app"]
        assert set(command[3:]) <= set(commands.cli.commands)


@pytest.mark.parametrize(("name", "mounted"), [("compose.yaml", 5), ("compose.jobs.yaml", 1)])
def test_what_compose_mounts_is_there(name: str, mounted: int) -> None:
    (compose,) = documents(FOLDER / name)
    mounts = [one for service in compose["services"].values() for one in service.get("volumes", [])]
    files = [mount.partition(":")[0] for mount in mounts if mount.startswith(".")]
    assert len(files) == mounted
    assert all((FOLDER / file).is_file() for file in files)
