"""Test that deployment examples only name existing settings, metrics and paths."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families as families

from exactperm.cli import commands
from exactperm.ops.metrics import QUEUE_REJECTIONS, REJECTIONS, RESTARTS
from exactperm.settings import Settings

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


def pod_of(name: str) -> dict[str, Any]:
    pod: dict[str, Any] = kubernetes(name)["Deployment"]["spec"]["template"]
    return pod


def said_by(container: dict[str, Any]) -> dict[str, str]:
    """The variables of a container that have a value here."""
    return {one["name"]: one["value"] for one in container["env"] if "value" in one}


PODS = ("kubernetes.yaml", "kubernetes-jobs.yaml")
OURS = [("compose.yaml", "exactperm"), *(("compose.jobs.yaml", name) for name in ("a", "b", "worker"))]


def compose_of(name: str, service: str) -> dict[str, Any]:
    (document,) = documents(FOLDER / name)
    found: dict[str, Any] = document["services"][service]
    return found


def default(setting: str) -> float:
    return float(getattr(Settings(web_processes=1), setting))


def time_to_end(variables: dict[str, str]) -> float:
    names = ("shutdown_delay_s", "shutdown_grace_s")
    return sum(float(variables.get(f"EXACTPERM_{name.upper()}", default(name))) for name in names)


def memory_of(variables: dict[str, str]) -> float:
    """The memory in docs/scaling.md: of workers, waiting bodies, cached answers and the web process."""
    workers = int(variables["EXACTPERM_WORKERS"])
    each = default("worker_memory_bytes") + 100 * 2**20
    return workers * each + 2 * default("queue_bytes") + default("cache_bytes") + 100 * 2**20


def test_the_pod_is_probed_where_there_is_something(service: Any) -> None:
    (container,) = pod_of("kubernetes.yaml")["spec"]["containers"]
    for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
        assert service.get(container[probe]["httpGet"]["path"]).status_code == 200
    assert container["livenessProbe"]["httpGet"]["path"] == "/livez"
    # Nothing is sent to it any more before it stops to listen.
    ready = container["readinessProbe"]
    noticed_after = ready["periodSeconds"] * ready["failureThreshold"]
    assert noticed_after < float(said_by(container)["EXACTPERM_SHUTDOWN_DELAY_S"])


@pytest.mark.parametrize("name", PODS)
def test_a_pod_may_do_nothing_more(name: str) -> None:
    pod = pod_of(name)["spec"]
    (container,) = pod["containers"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    assert pod["automountServiceAccountToken"] is False
    assert pod["securityContext"]["runAsNonRoot"] is True
    assert f"USER {pod['securityContext']['runAsUser']}" in (ROOT / "Dockerfile").read_text(encoding="utf-8")
    mounted = {one["name"] for one in container.get("volumeMounts", [])}
    assert mounted == {one["name"] for one in pod.get("volumes", [])}


@pytest.mark.parametrize(("name", "service_"), OURS)
def test_a_container_may_do_nothing_more(name: str, service_: str) -> None:
    container = compose_of(name, service_)
    assert (container["read_only"], container["cap_drop"]) == (True, ["ALL"])
    assert container["security_opt"] == ["no-new-privileges:true"]


def test_there_is_time_to_end_before_the_kill() -> None:
    for name in PODS:
        pod = pod_of(name)["spec"]
        assert pod["terminationGracePeriodSeconds"] > time_to_end(said_by(pod["containers"][0]))
    for name, service_ in OURS:
        container = compose_of(name, service_)
        assert int(container["stop_grace_period"].removesuffix("s")) > time_to_end(container["environment"])


def test_there_is_the_memory_that_it_may_take() -> None:
    for name in PODS:
        (container,) = pod_of(name)["spec"]["containers"]
        limit = container["resources"]["limits"]["memory"]
        assert int(limit.removesuffix("Gi")) * 2**30 > memory_of(said_by(container)), name
    for name, service_ in OURS:
        container = compose_of(name, service_)
        assert int(container["mem_limit"].removesuffix("g")) * 2**30 > memory_of(container["environment"])


def selects(selector: dict[str, Any], pod: dict[str, Any]) -> bool:
    return bool(selector["matchLabels"].items() <= pod["metadata"]["labels"].items())


def allowed(direction: str, pod: dict[str, Any]) -> set[Any] | None:
    """The ports that network policies let a pod use, which add up; None where no policy is about it, and all are open."""
    policies = [
        one["spec"] for name in PODS for one in documents(FOLDER / name) if one["kind"] == "NetworkPolicy"
    ]
    about = [one for one in policies if direction in one["policyTypes"] and selects(one["podSelector"], pod)]
    rules = [rule for one in about for rule in one.get(direction.lower(), [])]
    assert all(rule.get("ports") for rule in rules), "a rule without ports opens all of them"
    return {port["port"] for rule in rules for port in rule["ports"]} if about else None


def test_network_policies_allow_only_egress_to_the_database() -> None:
    service, worker = (pod_of(name) for name in PODS)
    assert allowed("Egress", service) == set()
    service["metadata"]["labels"]["exactperm/database"] = "true"  # as kubernetes-jobs.yaml says
    assert allowed("Egress", service) == allowed("Egress", worker) == {5432, 53}
    (listening,) = service["spec"]["containers"][0]["ports"]
    assert allowed("Ingress", service) == {listening["name"]}
    assert allowed("Ingress", worker) == set()


def test_selectors_match_the_pods() -> None:
    found, pod = kubernetes(), pod_of("kubernetes.yaml")
    assert found["Service"]["spec"]["selector"].items() <= pod["metadata"]["labels"].items()
    assert (
        found["Service"]["spec"]["ports"][0]["targetPort"] == pod["spec"]["containers"][0]["ports"][0]["name"]
    )
    budget = found["PodDisruptionBudget"]["spec"]
    assert selects(budget["selector"], pod)
    # One at a time can go, and another one stays: a drain is neither blocked nor an outage.
    assert budget["maxUnavailable"] == 1 < found["HorizontalPodAutoscaler"]["spec"]["minReplicas"]
    assert found["Deployment"]["spec"]["strategy"]["rollingUpdate"]["maxUnavailable"] == 0
    for name in PODS:
        of_file = kubernetes(name)
        target = of_file["HorizontalPodAutoscaler"]["spec"]["scaleTargetRef"]
        assert (target["kind"], target["name"]) == ("Deployment", of_file["Deployment"]["metadata"]["name"])
        assert "replicas" not in of_file["Deployment"]["spec"]  # or every apply would undo the autoscaler
        assert (
            of_file["Deployment"]["spec"]["selector"]["matchLabels"].items()
            <= pod_of(name)["metadata"]["labels"].items()
        )
        assert pod_of(name)["spec"]["containers"][0]["resources"]["requests"]["cpu"]  # utilisation is of that


def test_behind_a_proxy_one_address_may_have_all_connections() -> None:
    most = str(int(default("max_connections")))
    (container,) = pod_of("kubernetes.yaml")["spec"]["containers"]
    assert said_by(container)["EXACTPERM_MAX_CONNECTIONS_PER_ADDRESS"] == most
    assert (
        compose_of("compose.jobs.yaml", "a")["environment"]["EXACTPERM_MAX_CONNECTIONS_PER_ADDRESS"] == most
    )
    assert f"maxconn {most} " in (FOLDER / "haproxy.cfg").read_text(encoding="utf-8")


def test_haproxy_waits_longer_than_an_instance_and_notices_sooner_that_it_ends() -> None:
    text = (FOLDER / "haproxy.cfg").read_text(encoding="utf-8")
    times = dict(re.findall(r"timeout ([a-z-]+) (\d+)s", text))
    assert int(times["server"]) > default("max_timeout_s")
    assert int(times["http-request"]) > default("body_timeout_s")
    ((every, fall),) = re.findall(r"inter (\d+)s fall (\d+)", text)
    delay = float(compose_of("compose.jobs.yaml", "a")["environment"]["EXACTPERM_SHUTDOWN_DELAY_S"])
    assert delay > int(every) * int(fall)


def test_no_password_stands_in_a_url() -> None:
    for path in FILES:
        assert not re.search(r"://[^/@\s]*:[^/@\s]*@", path.read_text(encoding="utf-8")), path.name


def test_metrics_of_autoscalers_are_exposed_and_adapted(exposed: dict[str, set[str]]) -> None:
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


def test_workers_of_jobs_run_a_command_of_the_command_line() -> None:
    (container,) = kubernetes("kubernetes-jobs.yaml")["Deployment"]["spec"]["template"]["spec"]["containers"]
    (compose,) = documents(FOLDER / "compose.jobs.yaml")
    for command in (container["command"], compose["services"]["worker"]["command"]):
        assert command[:3] == ["python", "-m", "exactperm"]
        assert set(command[3:]) <= set(commands.cli.commands)


@pytest.mark.parametrize(("name", "mounted"), [("compose.yaml", 5), ("compose.jobs.yaml", 1)])
def test_files_mounted_by_compose_exist(name: str, mounted: int) -> None:
    (compose,) = documents(FOLDER / name)
    mounts = [one for service in compose["services"].values() for one in service.get("volumes", [])]
    files = [mount.partition(":")[0] for mount in mounts if mount.startswith(".")]
    assert len(files) == mounted
    assert all((FOLDER / file).is_file() for file in files)
