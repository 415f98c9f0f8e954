"""What the service says of itself."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exactperm.api.meta import meta_of
from exactperm.api.openapi_export import exported
from exactperm.main import create_app
from exactperm.reports.representations import BY_NAME, OF_A_TEST
from exactperm.service.problems import all_types
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
        "/v1/tests/effects", "/v1/tests/scores", "/v1/tests/counts", "/v1/tests/predictions", "/v1/tests/files",
        "/v1/plan", "/v1/compare", "/v1/gate", "/v1/power", "/v1/batch", "/v1/meta", "/livez", "/readyz", "/healthz", "/metrics",
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
    for path in ("/livez", "/healthz", "/docs", "/openapi.json", "/v1/meta"):
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
def test_a_path_that_is_nearly_one_is_told(path: str, meant: str, service: Any) -> None:
    for method in ("GET", "POST"):
        assert f"did you mean {meant}?" in problem(service.request(method, path), 404)["detail"]


@pytest.mark.parametrize("path", ["/nothing", "/", "/" + "a" * 20_000, "/v1/tests/<script>"])
def test_a_path_that_is_nothing_is_not_given_back(path: str, service: Any) -> None:
    response = service.request("POST", path)
    assert response.status_code in {404, 405}
    assert len(response.text) < 600
    assert "script" not in response.text


@pytest.mark.parametrize("path", ["/v1/tests/scores", "/v1/gate", "/v1/plan"])
def test_a_browser_at_a_post_route_is_told_to_post(path: str, service: Any) -> None:
    said = problem(service.get(path), 405)
    assert said["detail"].startswith(f"Use POST for {path}; see /docs.")
