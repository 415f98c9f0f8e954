"""Without a database there are no jobs, and the service says what to set; nothing of their engine is loaded."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from exactperm.api.openapi_export import exported
from exactperm.jobs.model import KINDS
from exactperm.service.batch import OF_A_LIST
from tests.api.conftest import problem

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/v1/jobs"), ("GET", "/v1/jobs"), ("GET", "/v1/jobs/j_1"), ("DELETE", "/v1/jobs/j_1"),
        ("POST", "/v1/jobs/j_1/cancel"), ("GET", "/v1/jobs/j_1/events"), ("GET", "/v1/jobs/j_1/result"),
        ("GET", "/v1/results/r_1"),
    ],
)  # fmt: skip
def test_jobs_are_off_without_a_database(service: Any, method: str, path: str) -> None:
    said = problem(service.request(method, path, json={} if method == "POST" else None), 501)
    assert said["type"] == "/docs/problems#jobs-off"
    assert "EXACTPERM_JOBS_URL" in said["detail"]


def test_the_document_names_the_kinds_that_there_are() -> None:
    schemas = json.loads(exported())["components"]["schemas"]
    assert schemas["JobRequest"]["properties"]["kind"]["enum"] == list(KINDS)
    assert schemas["ListedRequest"]["properties"]["kind"]["enum"] == list(OF_A_LIST)


@pytest.mark.slow
def test_the_service_does_not_load_the_engine_of_jobs() -> None:
    code = (
        "import sys; from exactperm.main import create_app; from exactperm.settings import Settings; "
        "create_app(Settings(workers=1)); "
        "sys.exit(bool({'dbos', 'sqlalchemy', 'psycopg', 'exactperm.jobs.queue'} & set(sys.modules)))"
    )
    assert subprocess.run([sys.executable, "-c", code], cwd=ROOT, check=False).returncode == 0
