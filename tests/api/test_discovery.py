"""Test discovery: /v1/meta, routes, and the OpenAPI document, which every answer satisfies."""

import dataclasses
import json
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema_rs  # schemathesis's validator: it knows nothing of pydantic
import pytest

from exactperm.answers.gate import GateRecord
from exactperm.answers.plan import PlanRecord
from exactperm.answers.test import ReadingRecord, TestRecord, wire_name
from exactperm.api.meta import meta_of
from exactperm.api.openapi_export import exported
from exactperm.main import create_app
from exactperm.reports.representations import BY_NAME, OF_A_TEST
from exactperm.service.kinds import BY_PATH
from exactperm.service.problems import Problem, all_types
from exactperm.service.schema.compare import CompareRequest, PlanEnvelope
from exactperm.service.schema.requests import REQUEST_MODELS, GateRequest
from exactperm.settings import Settings
from tests.api.conftest import problem
from tests.settings_with import settings_with

ROOT = Path(__file__).parents[2]


def test_meta_tells_limits_methods_and_statistics(service: Any) -> None:
    said = service.get("/v1/meta").json()
    assert said["limits"]["max_items"] == 50_000
    assert "fft" in said["methods"]
    assert {entry["name"] for entry in said["statistics"]["scores"]} >= {"mean_difference", "signed_rank"}
    assert said["media_types"]["produces"]["markdown"] == "text/markdown"
    assert said["extras"]["server"] is True
    assert said["versions"]["algorithm"] == "3"
    assert said["jobs"]["enabled"] is False
    assert said["jobs"]["database"] is None


def test_meta_tells_of_jobs_and_not_where_they_are_kept() -> None:
    settings = settings_with(
        workers=1, jobs_url="postgresql://exactperm:hidden@db.internal/jobs", job_max_tests=77
    )
    said = meta_of(settings)["jobs"]
    assert (said["enabled"], said["database"], said["limits"]["job_max_tests"]) == (True, "postgresql", 77)
    assert set(said["kinds"]) >= {"scores", "compare", "power", "batch"}
    assert "hidden" not in json.dumps(said)
    assert "internal" not in json.dumps(said)


@pytest.mark.parametrize("path", ["/livez", "/readyz", "/healthz"])
def test_health_is_ok_while_a_worker_is_warm(service: Any, path: str) -> None:
    assert service.get(path).json() == {"status": "ok"}


def test_an_application_without_workers_is_alive_but_not_ready() -> None:
    import asyncio

    import httpx

    async def ask() -> tuple[httpx.Response, httpx.Response]:
        transport = httpx.ASGITransport(create_app(Settings(workers=1)))  # its lifespan has not begun
        async with httpx.AsyncClient(transport=transport, base_url="http://test") as client:
            return await client.get("/livez"), await client.get("/readyz")

    alive, ready = asyncio.run(ask())
    assert alive.status_code == 200
    problem(ready, 503)
    assert ready.headers["retry-after"] == "1"


def test_the_docs_need_no_other_host(service: Any) -> None:
    page = service.get("/docs")
    assert page.status_code == 200
    assets = re.findall(r'(?:src|href)="([^"]+)"', page.text)
    assert {"docs/assets/swagger-ui.css", "docs/assets/swagger-ui-bundle.js", "docs/start.js"} <= set(assets)
    assert len(assets) > 8  # with the icon, our colours and the links of the header
    for asset in assets:
        assert "//" not in asset
        assert service.get(f"/{asset.removeprefix('./')}").status_code == 200
    assert re.findall(r"https?://", page.text) == []
    assert "http" not in page.headers["content-security-policy"]
    assert "script-src 'self';" in page.headers["content-security-policy"]


def test_every_problem_type_is_explained_where_it_points(service: Any) -> None:
    page = service.get("/docs/problems").text
    for kind in all_types():
        assert f'id="{kind.code}"' in page


def test_the_document_describes_every_route_and_every_error(service: Any) -> None:
    said = service.get("/openapi.json").json()
    assert set(said["paths"]) == {
        *BY_PATH, "/v1/meta", "/livez", "/readyz", "/healthz", "/metrics",
        "/v1/jobs", "/v1/jobs/{job}", "/v1/jobs/{job}/cancel", "/v1/jobs/{job}/events", "/v1/jobs/{job}/result",
        "/v1/results/{name}",
    }  # fmt: skip
    scores = said["paths"]["/v1/tests/scores"]["post"]
    assert set(scores["requestBody"]["content"]) == {
        "application/json",
        "text/csv",
        "text/tab-separated-values",
        "application/x-ndjson",
        "application/x-npy",
    }
    produced = set(scores["responses"]["200"]["content"])
    assert produced == {BY_NAME[name].media_type for name in OF_A_TEST}
    assert produced >= {
        "application/json",
        "text/plain",
        "text/markdown",
        "text/csv",
        "image/svg+xml",
        "image/png",
        "text/html",
    }
    assert said["components"]["securitySchemes"]["apiKey"]["scheme"] == "bearer"
    assert {"401", "408", "431"} <= set(scores["responses"])
    assert {"400", "406", "413", "415", "422", "500", "503"} <= set(scores["responses"])
    assert set(scores["responses"]["422"]["content"]) == {"application/problem+json"}


def test_every_reference_of_the_document_leads_somewhere(service: Any) -> None:
    response = service.get("/openapi.json")
    schemas = response.json()["components"]["schemas"]
    references = re.findall(r'"#/components/schemas/([^"]+)"', response.text)
    assert references
    assert set(references) <= set(schemas)


def test_the_exported_document_is_the_one_that_is_served(service: Any) -> None:
    assert service.get("/openapi.json").json() == json.loads(exported())


def test_the_exported_document_is_up_to_date() -> None:
    assert (ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8") == exported()


@pytest.mark.slow
def test_the_export_check_notices_a_difference(tmp_path: Path) -> None:
    stale = tmp_path / "openapi.json"
    stale.write_text("{}")
    command = [sys.executable, "-m", "exactperm.api.openapi_export", "--check", str(stale)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "not up to date" in done.stderr
    assert stale.read_text() == "{}"


def test_head_answers_like_get_without_the_content(service: Any) -> None:
    for path in ("/livez", "/readyz", "/docs", "/openapi.json", "/v1/meta"):
        head, get = service.request("HEAD", path), service.get(path)
        assert (head.status_code, head.content) == (200, b"")
        assert head.headers["content-type"] == get.headers["content-type"]


@pytest.mark.parametrize(
    ("path", "meant"),
    [
        ("/v1/tests/scores/", "/v1/tests/scores"),
        ("/tests/scores", "/v1/tests/scores"),
        ("/scores", "/v1/tests/scores"),
        ("/v1/test/scores", "/v1/tests/scores"),
        ("/V1/Tests/Counts", "/v1/tests/counts"),
        ("/gate", "/v1/gate"),
        ("/v1/gate/files", "/v1/gate"),
        ("/v1/compare/files", "/v1/compare"),
        ("/v1/tests/scores/files", "/v1/tests/scores"),
        ("/v1/Plan/", "/v1/plan"),
        ("/health", "/healthz"),
        ("/openapi.jsn", "/openapi.json"),
    ],
)
def test_a_misspelled_path_is_answered_with_the_right_one(path: str, meant: str, service: Any) -> None:
    for method in ("GET", "POST"):
        assert f"did you mean {meant}?" in problem(service.request(method, path), 404)["detail"]


@pytest.mark.parametrize("path", ["/nothing", "/", "/" + "a" * 20_000, "/v1/tests/<script>"])
def test_an_unknown_path_is_not_echoed(path: str, service: Any) -> None:
    response = service.request("POST", path)
    assert response.status_code in {404, 405}
    assert len(response.text) < 600
    assert "script" not in response.text


@pytest.mark.parametrize("path", ["/v1/tests/scores", "/v1/gate", "/v1/plan"])
def test_a_get_of_a_post_route_is_answered_with_a_hint(path: str, service: Any) -> None:
    said = problem(service.get(path), 405)
    assert said["detail"].startswith(f"Use POST for {path}; see /docs.")


DOCUMENT = json.loads((ROOT / "openapi" / "openapi.json").read_text(encoding="utf-8"))
SCHEMAS = DOCUMENT["components"]["schemas"]
SMALL = sorted((ROOT / "openapi" / "examples" / "small").glob("*.json"))


def validator(component: str) -> Any:
    return jsonschema_rs.validator_for({**DOCUMENT, "$ref": f"#/components/schemas/{component}"})


def examples_of(model: Any) -> list[tuple[str, Any]]:
    return [
        (f"{model.__name__}-{n}", value)
        for n, value in enumerate(model.model_config["json_schema_extra"]["examples"])
    ]


def examples() -> Iterator[Any]:
    for kind, model in REQUEST_MODELS.items():
        for name, value in examples_of(model):
            plan = {"kind": kind, "request": value}
            gate = {**plan, "higher_is_better": True}
            yield pytest.param(f"/v1/tests/{kind}", value, "TestAnswer", id=name)
            yield pytest.param("/v1/plan", plan, "PlanAnswer", id=f"plan-{name}")
            yield pytest.param("/v1/gate?fail_status=200", gate, "GateAnswer", id=f"gate-{name}")
    for name, value in examples_of(PlanEnvelope):
        component = "ComparePlanAnswer" if value["kind"] == "compare" else "PlanAnswer"
        yield pytest.param("/v1/plan", value, component, id=name)
    for name, value in examples_of(CompareRequest):
        plan = {"kind": "compare", "request": value}
        yield pytest.param("/v1/compare", value, "CompareAnswer", id=name)
        yield pytest.param("/v1/plan", plan, "ComparePlanAnswer", id=f"plan-{name}")
    for name, value in examples_of(GateRequest):
        yield pytest.param("/v1/gate", value, "GateAnswer", id=name)
    for file in SMALL:
        path = f"/v1/tests/{file.name.partition('-')[0]}"
        yield pytest.param(path, json.loads(file.read_bytes()), "TestAnswer", id=file.stem)


@pytest.mark.parametrize(("path", "request_", "component"), list(examples()))
def test_the_answer_to_every_example_fits_its_schema(
    service: Any, path: str, request_: Any, component: str
) -> None:
    response = service.post(path, request_)
    assert response.status_code in {200, 409}, response.text
    answer = response.json()
    validator(component).validate(answer)
    assert sorted(answer) == sorted(
        SCHEMAS[component]["required"]
    )  # nothing is optional, nothing else is there


def test_an_answer_with_everything_fits_its_schema_and_each_member_is_needed(service: Any) -> None:
    u, v = {"a": 1, "b": 1, "c": 1, "d": 0}, {"b": 0, "a": 0, "c": 1, "d": 0}
    clusters = {"a": 1, "b": 2, "c": 2, "d": 3}
    more = {"clusters": clusters, "confidence_level": 0.9, "exact_fraction": True, "pmf": "full"}
    more |= {"power": 0.8, "sequential": {"scale": 2}}
    answer = service.post("/v1/tests/scores", {"u": u, "v": v, **more}).json()
    check = validator("TestAnswer")
    check.validate(answer)
    left = {"reading", "repeats", "missing", "curtailed"}
    left |= {"exchange", "generalises_to", "exchanges", "slices", "correction", "position_bias"}
    assert {name for name, value in answer.items() if value is None} == left
    # Repeated samples and a missing outcome fill two of them; no answer to JSON has read a file.
    sampled = {"u": {name: [one, 0] for name, one in u.items()}, "v": {name: [v[name], 1] for name in "abc"}}
    asked = {"statistic": {"name": "mean_difference", "repeats": "mean"}, "on_missing": "bounds"}
    there = service.post("/v1/tests/scores", {**sampled, **asked, "clusters": clusters}).json()
    check.validate(there)
    assert None not in (there["repeats"], there["missing"])
    answer |= {name: there[name] for name in ("repeats", "missing")}
    check.validate(answer)
    for name in answer:
        assert not check.is_valid({each: value for each, value in answer.items() if each != name}), name
    assert not check.is_valid({**answer, "other": 1})
    assert not check.is_valid({**answer, "p_value": 0})


def test_a_problem_fits_its_schema(service: Any) -> None:
    for body in (b'{"u": [1, "x"], "v": [1, 2]}', b"[]", b"{"):
        response = service.body("/v1/tests/scores", body)
        validator("Problem").validate(response.json())


def resolved(schema: Any) -> Iterator[Any]:
    """The objects that a schema stands for, through references, lists and alternatives."""
    if "$ref" in schema:
        yield SCHEMAS[schema["$ref"].rpartition("/")[2]]
    for part in (
        *schema.get("anyOf", ()),
        *([schema["items"]] if isinstance(schema.get("items"), dict) else []),
    ):
        yield from resolved(part)


def records_in(kind: Any) -> list[Any]:
    """The records that a type holds: itself, or in a tuple or in alternatives."""
    if dataclasses.is_dataclass(kind):
        return [kind]
    return [record for part in get_args(kind) for record in records_in(part)]


def missing(record: Any, schema: Any) -> Iterator[str]:
    """The fields of a record, and of the records in it, that a schema lacks."""
    hints = get_type_hints(record)
    for field in dataclasses.fields(record):
        name = wire_name(field.name)
        if name not in schema["properties"] or name not in schema["required"]:
            yield f"{record.__name__}.{name}"
        inner = records_in(hints[field.name])
        if inner and (record, name) != (ReadingRecord, "notes"):  # written as sentences
            for one, there in zip(inner, resolved(schema["properties"][name]), strict=True):
                yield from missing(one, there)


@pytest.mark.parametrize(
    ("record", "component", "optional"),
    [
        (TestRecord, "TestAnswer", []),
        (GateRecord, "GateAnswer", []),
        (PlanRecord, "PlanAnswer", []),
        (Problem, "Problem", ["Problem.errors", "Flaw.choices"]),  # left out where there are none
    ],
)
def test_every_field_of_every_record_is_in_the_document(
    record: Any, component: str, optional: list[str]
) -> None:
    assert list(missing(record, SCHEMAS[component])) == optional


SCORES = {"u": [1, 0], "v": [0, 1]}
ONE = {"kind": "scores", "request": SCORES}
LISTED = {"tests": [ONE]}


@pytest.mark.parametrize(
    ("component", "value", "fits"),
    [
        ("JobRequest", ONE, True),
        ("JobRequest", {"kind": "batch", "request": LISTED}, True),
        ("JobRequest", {"kind": "gate", "request": ONE}, True),
        ("JobRequest", {"kind": "gate", "request": LISTED}, False),
        ("JobRequest", {"kind": "effects", "request": SCORES}, False),
        ("JobRequest", {"kind": "batch", "request": SCORES}, False),
        ("ListRequest", LISTED, True),
        ("ListRequest", {"tests": [{"kind": "gate", "request": ONE}]}, True),
        ("ListRequest", {"tests": [{"kind": "gate", "request": {"stay": [1]}}]}, False),
        ("ScoresRequest", {**SCORES, "timeout_s": 0.001}, False),
        ("CompareRequest", {"kind": "scores", "systems": {"A": [1], "B": [0]}, "timeout_s": 5e-324}, False),
    ],
)
def test_the_document_lets_no_more_through_than_the_service(
    component: str, value: Any, *, fits: bool
) -> None:
    """The request of each kind, and the least deadline; `test_jobs` and `test_refusals` check the service."""
    assert validator(component).is_valid(value) is fits


@pytest.mark.parametrize(
    ("states", "fits"),
    [
        ("queued", True),
        ("queued,failed", True),
        ("", True),
        (",queued,", True),
        ("queuedfailed", False),
        ("x", False),
    ],
)
def test_the_states_of_a_list_of_jobs_are_those_of_the_document(states: str, *, fits: bool) -> None:
    known = DOCUMENT["paths"]["/v1/jobs"]["get"]["parameters"]
    (schema,) = [one["schema"] for one in known if one["name"] == "state"]
    assert jsonschema_rs.validator_for(schema).is_valid(states) is fits


def test_the_result_of_a_job_has_the_media_types_of_all_answers() -> None:
    """A job with ?format=csv has a CSV result."""
    for path in ("/v1/jobs/{job}/result", "/v1/results/{name}"):
        content = DOCUMENT["paths"][path]["get"]["responses"]["200"]["content"]
        of_tests = DOCUMENT["paths"]["/v1/tests/scores"]["post"]["responses"]["200"]["content"]
        assert set(content) > set(of_tests)
