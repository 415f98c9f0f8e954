"""`GET /metrics`: right counts, few labels, no data; and whatever names a metric names one that exists."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families as families

from exactperm.ops.observability import Templates
from tests.api.conftest import Service, running
from tests.settings_with import settings_with

SMALL = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
SECRET = "s3cr3t"
OPERATIONS = {  # design/operations.md
    "http_server_request_duration_seconds": {"method", "route", "status"},
    "exactperm_compute_seconds": {"method"},
    "exactperm_queue_seconds": set(),
    "exactperm_queue_depth": set(),
    "exactperm_rejected": {"reason"},
    "exactperm_worker_restarts": {"reason"},
    "exactperm_build_info": None,
}


@pytest.fixture
def counted() -> Iterator[Service]:
    yield from running(settings_with(workers=1, inplace_body_bytes=100, max_body_bytes=10_000))


def samples(service: Service) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    text = service.get("/metrics").text
    return {
        (sample.name, frozenset(sample.labels.items())): sample.value
        for family in families(text)
        for sample in family.samples
    }


def value(found: Any, name: str, **labels: str) -> float:
    said: float = found[name, frozenset(labels.items())]
    return said


def test_there_is_every_metric_of_the_operations_document(service: Service) -> None:
    service.post("/v1/tests/scores", SMALL)
    found = {family.name: family for family in families(service.get("/metrics").text)}
    assert OPERATIONS.keys() <= found.keys()
    for name, labels in OPERATIONS.items():
        for sample in found[name].samples:
            assert labels is None or sample.labels.keys() - {"le"} == labels, name


def test_tests_are_counted_wherever_they_run(counted: Service) -> None:
    for _ in range(2):
        assert (
            counted.post("/v1/tests/scores", {"u": [1], "v": [0], "method": "enumeration"}).status_code == 200
        )
    large = {"stay": [1, -1, 2] * 200, "method": "dp"}
    for _ in range(3):  # in a worker, and twice out of the cache
        assert counted.post("/v1/tests/effects", large).json()["method"]["name"] == "dp"
    found = samples(counted)
    assert value(found, "exactperm_compute_seconds_count", method="enumeration") == 2
    assert value(found, "exactperm_compute_seconds_count", method="dp") == 1, "what is kept is not computed"
    assert value(found, "exactperm_queue_seconds_count") == 5
    duration = "http_server_request_duration_seconds_count"
    assert value(found, duration, method="POST", route="/v1/tests/effects", status="200") == 3
    assert value(found, "exactperm_requests_in_flight") == 1, "the one that asks"
    assert value(found, "exactperm_workers") == 2
    assert value(found, "exactperm_workers_busy") == 0
    assert value(found, "exactperm_workers_resident_bytes") > 10_000_000


def test_refusals_are_counted_by_reason(counted: Service) -> None:
    counted.post("/v1/tests/effects", {"stay": [1] * 10_000})
    counted.post("/v1/tests/effects", {"stay": []})
    found = samples(counted)
    assert value(found, "exactperm_rejected_total", reason="body_bytes") == 1
    assert value(found, "exactperm_rejected_total", reason="queue_depth") == 0, "there before the first"
    assert value(found, "exactperm_worker_restarts_total", reason="died") == 0


def test_a_client_cannot_make_labels(counted: Service) -> None:
    for n in range(50):
        counted.get(f"/{SECRET}/{n}?{SECRET}={n}")
        counted.get(f"/page/{SECRET}{n}")
        counted.get(f"/docs/assets/{SECRET}{n}")
        counted.request(f"{SECRET}{n}", "/livez")
        counted.post(f"/v1/tests/scores?method={SECRET}{n}", SMALL)
    text = counted.get("/metrics").text
    assert SECRET not in text
    routes = {
        sample.labels["route"]
        for family in families(text)
        for sample in family.samples
        if "route" in sample.labels
    }
    assert routes <= set(Templates(counted.app.routes))
    assert len(text) < 100_000


def test_it_is_the_text_format_of_prometheus(service: Service) -> None:
    response = service.get("/metrics")
    assert response.headers["content-type"].startswith("text/plain; version=")
    assert response.headers["cache-control"] == "no-store"
    for family in families(response.text):
        assert family.documentation, family.name
