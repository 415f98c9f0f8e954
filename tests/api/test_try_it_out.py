"""What a page of the documentation sends when nobody has touched its fields: every operation answers it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.api.conftest import error_of

OPENAPI = Path(__file__).parents[2] / "openapi"
# What is served is what this file says (test_discovery.py).
DOCUMENT = json.loads((OPENAPI / "openapi.json").read_text(encoding="utf-8"))
FILE = OPENAPI / "examples" / "files" / "scores.csv"
# Jobs are off unless there is a database for them (tests/process/test_jobs.py).
OF_JOBS = ("/v1/jobs", "/v1/results")
OPERATIONS = [
    (path, method)
    for path, methods in DOCUMENT["paths"].items()
    for method in methods
    if not path.startswith(OF_JOBS)
]
BODIES = [
    (path, media, name)
    for path, method in OPERATIONS
    for media, content in DOCUMENT["paths"][path][method].get("requestBody", {}).get("content", {}).items()
    for name in content.get("examples", {})
]
FORMS = [path for path, method in OPERATIONS if "multipart/form-data" in
         DOCUMENT["paths"][path][method].get("requestBody", {}).get("content", {})]  # fmt: skip


def filled_in(schema: Any) -> Any:
    """What a page fills in for a parameter or a field, if anything."""
    return schema.get("default", schema.get("example", schema.get("examples", [None])[0]))


def query_of(path: str, method: str) -> dict[str, Any]:
    parameters = DOCUMENT["paths"][path][method].get("parameters", [])
    found = {one["name"]: filled_in({**one, **one["schema"]}) for one in parameters if one["in"] == "query"}
    return {name: value for name, value in found.items() if value is not None}


def test_no_parameter_and_no_field_has_a_default_that_a_page_would_send() -> None:
    for path, method in OPERATIONS:
        assert query_of(path, method) == {}
    for path in FORMS:
        fields = DOCUMENT["paths"][path]["post"]["requestBody"]["content"]["multipart/form-data"]["schema"]
        assert all(filled_in(field) is None for field in fields["properties"].values())
        assert {field["type"] for field in fields["properties"].values() if isinstance(field["type"], str)} <= {
            "string", "integer", "number", "boolean", "array",
        }  # fmt: skip


@pytest.mark.parametrize(("path", "media", "name"), BODIES)
def test_every_example_is_answered(path: str, media: str, name: str, service: Any) -> None:
    value = DOCUMENT["paths"][path]["post"]["requestBody"]["content"][media]["examples"][name]["value"]
    content = value if isinstance(value, str) else json.dumps(value)
    response = service.body(path, content.encode(), media, params=query_of(path, "post"))
    assert response.status_code in ({200, 409} if path == "/v1/gate" else {200}), response.text
    assert response.headers["content-type"] == "application/json"


def test_another_type_of_body_starts_with_an_example_and_not_with_the_word_string() -> None:
    """Swagger UI takes what the schema says where its reader chooses another type than the first."""
    for path, media, _ in BODIES:
        content = DOCUMENT["paths"][path]["post"]["requestBody"]["content"][media]
        if content["schema"].get("type") == "string":
            assert content["schema"]["example"] == next(iter(content["examples"].values()))["value"]


def test_every_operation_with_a_body_has_an_example() -> None:
    posts = {path for path, method in OPERATIONS if method == "post"}
    assert {path for path, *_ in BODIES} | set(FORMS) == posts
    assert len(BODIES) > 10


@pytest.mark.parametrize("path", FORMS)
def test_a_form_needs_its_file_and_nothing_else(path: str, service: Any) -> None:
    files = {"file": (FILE.name, FILE.read_bytes())}
    response = service.request("POST", path, files=files, params=query_of(path, "post"))
    assert response.status_code == 200, response.text


@pytest.mark.parametrize(("path", "method"), [one for one in OPERATIONS if one[1] == "get"])
def test_what_is_asked_with_get_needs_nothing(path: str, method: str, service: Any) -> None:
    assert service.get(path, params=query_of(path, method)).status_code == 200


DEFAULTS = {"statistic": "mean_difference", "alternative": "two-sided", "method": "auto", "test": "permutation",
            "on_missing": "error", "pmf": "summary", "samples": "20000", "seed": "0", "precision": "0.001", "alpha": "0.05",
            "exact_fraction": "false", "name_u": "U", "name_v": "V", "theme": "light", "format": "json"}  # fmt: skip


@pytest.mark.parametrize("name", DEFAULTS)
def test_a_default_in_the_query_harms_no_body(name: str, service: Any) -> None:
    body = {"u": [1, 0, 1], "v": [0, 0, 1]}
    wanted = service.post("/v1/tests/scores", body).json()["id"]
    response = service.post("/v1/tests/scores", body, params={name: DEFAULTS[name]})
    assert response.json()["id"] == wanted
    assert service.post("/v1/tests/scores", body, params=DEFAULTS).json()["id"] == wanted


@pytest.mark.parametrize(
    ("query", "body", "pointer"),
    [
        ("alpha=0.01", {}, "/?alpha"),
        ("alpha=0.05", {"alpha": 0.01}, "/?alpha"),
        ("statistic=sign", {}, "/?statistic"),
        ("zero_method=pratt", {"statistic": {"name": "signed_rank"}}, "/?zero_method"),
        ("name_u=x", {"names": {"u": "y"}}, "/?name_u"),
        ("unit=1/3", {}, "/?unit"),
    ],
)
def test_a_query_that_contradicts_a_body_is_refused(
    query: str, body: dict[str, Any], pointer: str, service: Any
) -> None:
    assert error_of(service.post(f"/v1/tests/scores?{query}", {"u": [1, 0], "v": [0, 0], **body})) == (
        pointer,
        "given_twice",
    )


def test_a_query_that_agrees_with_a_body_is_harmless(service: Any) -> None:
    body = {
        "u": [1, 0],
        "v": [0, 0],
        "alpha": 0.01,
        "statistic": {"name": "signed_rank", "zero_method": "pratt"},
    }
    query = "alpha=0.01&statistic=signed_rank&zero_method=pratt"
    assert service.post(f"/v1/tests/scores?{query}", body).status_code == 200
    assert service.post("/v1/tests/scores?theme=dark", {"u": [1], "v": [0]}).status_code == 422
