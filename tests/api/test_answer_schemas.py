"""The OpenAPI schemas of the answers hold every field of the records, and every example's answer fits its schema."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args, get_type_hints

import jsonschema_rs  # schemathesis's validator: it knows nothing of pydantic
import pytest

from exactperm.answers.gate import GateRecord
from exactperm.answers.plan import PlanRecord
from exactperm.answers.test import ReadingRecord, TestRecord
from exactperm.service.problems import Problem
from exactperm.service.schema.compare import CompareRequest, PlanEnvelope
from exactperm.service.schema.requests import REQUEST_MODELS, GateRequest

ROOT = Path(__file__).resolve().parents[2]
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
            gate = {**plan, "fail_status": 200, "higher_is_better": True}
            yield pytest.param(f"/v1/tests/{kind}", value, "TestAnswer", id=name)
            yield pytest.param("/v1/plan", plan, "PlanAnswer", id=f"plan-{name}")
            yield pytest.param("/v1/gate", gate, "GateAnswer", id=f"gate-{name}")
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


def record_in(kind: Any) -> Any:
    """The record that a type holds: itself, or in a tuple or an alternative; None without one."""
    if dataclasses.is_dataclass(kind):
        return kind
    return next((record for part in get_args(kind) if (record := record_in(part)) is not None), None)


def missing(record: Any, schema: Any) -> Iterator[str]:
    """The fields of a record, and of the records in it, that a schema lacks."""
    hints = get_type_hints(record)
    for field in dataclasses.fields(record):
        if field.name not in schema["properties"] or field.name not in schema["required"]:
            yield f"{record.__name__}.{field.name}"
        inner = record_in(hints[field.name])
        if inner is not None and (record, field.name) != (ReadingRecord, "notes"):  # written as sentences
            (there,) = resolved(schema["properties"][field.name])
            yield from missing(inner, there)


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
    """Which request goes with a kind, and the least deadline; the service says the same in `test_jobs` and `test_refusals`."""
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
