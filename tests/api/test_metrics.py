"""Test `GET /metrics`: right counts, few labels, no data, gauges at rest after load; and a span for each request."""

import asyncio
import gzip
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from prometheus_client.parser import text_string_to_metric_families as families

from exactperm import main
from exactperm.ops.middleware import Templates
from exactperm.ops.tracing import Spans
from exactperm.settings import Settings
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


MEDIUM = {"stay": [1, -1, 2, 3] * 2_000}
ENDLESS = {"stay": [2**k for k in range(30)] * 300, "method": "monte_carlo", "samples": 500_000_000}
TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"
IDLE = {
    "exactperm_requests_in_flight": 1.0,  # the one that asks
    "exactperm_queue_depth": 0.0,
    "exactperm_workers_busy": 0.0,
    "exactperm_pending_seconds": 0.0,
    "exactperm_connections_open": 0.0,  # there is no server here
}


@pytest.fixture
def stormed() -> Iterator[Service]:
    yield from running(
        settings_with(
            workers=2,
            inplace_body_bytes=1_000,
            max_body_bytes=200_000,
            max_items=10**9,
            engine_budget_operations=10**15,
            engine_budget_bytes=2**40,
        )
    )


@pytest.fixture(scope="module")
def tracing() -> Iterator[tuple[Service, InMemorySpanExporter]]:
    memory = InMemorySpanExporter()
    provider = TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(SimpleSpanProcessor(memory))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(main, "spans_to", lambda endpoint, version: Spans(provider))
        for service in running(Settings(workers=1)):
            yield service, memory


@pytest.fixture
def traced(tracing: tuple[Service, InMemorySpanExporter]) -> tuple[Service, InMemorySpanExporter]:
    tracing[1].clear()
    return tracing


def gauges(service: Service) -> dict[str, float]:
    return {
        family.name: family.samples[0].value
        for family in families(service.get("/metrics").text)
        if family.name in IDLE
    }


def total(service: Service, name: str) -> float:
    return sum(
        sample.value
        for family in families(service.get("/metrics").text)
        for sample in family.samples
        if sample.name == name
    )


async def leave(service: Service, body: bytes, *, midway: bool) -> None:
    """A client that goes away: in the middle of its body, or while its test is computed."""
    incoming: list[dict[str, Any]] = [
        {"type": "http.request", "body": body, "more_body": midway},
        {"type": "http.disconnect"},
    ]

    async def receive() -> dict[str, Any]:
        if len(incoming) == 1:
            await asyncio.sleep(0.05)
        return incoming.pop(0) if incoming else {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        """A port without a listener."""

    headers = [(b"content-type", b"application/json"), (b"host", b"test")]
    scope: dict[str, Any] = {
        "type": "http",
        "asgi": {"version": "3.0"},
        "http_version": "1.1",
        "method": "POST",
        "scheme": "http",
    }
    scope |= {
        "path": "/v1/tests/effects",
        "raw_path": b"/v1/tests/effects",
        "query_string": b"",
        "root_path": "",
    }
    scope |= {"headers": headers, "client": ("test", 1), "server": ("test", 80)}
    await service.app(scope, receive, send)


@pytest.mark.slow
def test_all_gauges_are_back_at_rest_after_good_bad_large_late_and_leaving_requests(stormed: Service) -> None:
    async def storm() -> None:
        def post(path: str, body: Any, **headers: str) -> Any:
            content = body if isinstance(body, bytes) else json.dumps(body).encode()
            head = {"content-type": "application/json", **headers}
            return asyncio.to_thread(stormed.request, "POST", path, content=content, headers=head)

        bodies = [SMALL, b"{", {"u": [1], "v": []}, {"u": ["x" * 50_000]}, gzip.compress(b" " * 10**6)]
        requests = [post("/v1/tests/scores", body) for body in bodies * 4]
        requests += [post("/v1/tests/effects", {**MEDIUM, "method": "dp", "seed": n % 3}) for n in range(9)]
        requests += [post("/v1/tests/effects", {**ENDLESS, "timeout_s": 0.2, "seed": n}) for n in range(2)]
        requests += [post("/v1/tests/effects", b" " * 300_000), post("/nope", SMALL), post("/livez", SMALL)]
        await asyncio.gather(*requests)

    asyncio.run(storm())
    for midway in (True, False):
        stormed._portal.call(partial(leave, stormed, json.dumps(ENDLESS).encode(), midway=midway))
    for _ in range(500):  # a worker that was ended for its deadline needs a moment
        if gauges(stormed) == IDLE:
            break
        stormed._portal.call(asyncio.sleep, 0.02)
    assert gauges(stormed) == IDLE
    assert total(stormed, "http_server_request_duration_seconds_count") >= 4 * 5 + 9 + 2 + 3 + 2
    assert stormed.post("/v1/tests/scores", SMALL).json()["p_value"] == 0.0625


def test_metrics_distinguish_computed_and_cached_answers(stormed: Service) -> None:
    for _ in range(3):
        assert stormed.post("/v1/tests/effects", MEDIUM).status_code == 200
    text = stormed.get("/metrics").text
    assert 'exactperm_answers_total{source="computed"} 1.0' in text
    assert 'exactperm_answers_total{source="kept"} 2.0' in text
    assert 'exactperm_answers_total{source="shared"} 0.0' in text


def test_each_request_is_one_span_without_anything_of_its_data(
    traced: tuple[Service, InMemorySpanExporter],
) -> None:
    service, memory = traced
    parent = {"traceparent": f"00-{TRACE}-{SPAN}-01"}
    service.post(
        f"/v1/tests/scores?name_u={SECRET}", {**SMALL, "names": {"u": SECRET, "v": "b"}}, headers=parent
    )
    service.post(f"/v1/tests/scores?{SECRET}", {SECRET: SECRET})
    service.get(f"/page/{SECRET}", headers={"user-agent": SECRET, "authorization": f"Bearer {SECRET}"})
    spans = memory.get_finished_spans()
    assert [span.name for span in spans] == ["POST /v1/tests/scores"] * 2 + ["GET /page"]
    assert f"{spans[0].context.trace_id:032x}" == TRACE
    assert SECRET not in "".join(span.to_json() for span in spans)


@pytest.mark.parametrize(
    ("sent", "continued"),
    [
        ([f"00-{TRACE}-{SPAN}-01"], True),
        ([f"00-{TRACE}-{SPAN}-01", f"00-{'1' * 32}-{SPAN}-01"], False),
        ([f"00-{TRACE}-{SPAN}-01", f"00-{TRACE}-{SPAN}-01"], False),
        ([f"00-{'0' * 32}-{SPAN}-01"], False),
        (["x" * 10_000], False),
    ],
)
def test_a_trace_goes_on_only_from_one_valid_header(
    traced: tuple[Service, InMemorySpanExporter], sent: list[str], continued: bool
) -> None:
    service, memory = traced
    service.get("/livez", headers=[("traceparent", value) for value in sent])
    (span,) = memory.get_finished_spans()
    assert (f"{span.context.trace_id:032x}" == TRACE) is continued
    assert (span.parent is not None) is continued
