"""OpenTelemetry: with the SDK's exporter into memory."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from exactperm.ops.tracing import Spans, parent_of, spans_to

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.fixture
def exported() -> tuple[Spans, Any]:
    trace = pytest.importorskip("opentelemetry.sdk.trace", reason="the extra otel is not installed")
    export = pytest.importorskip("opentelemetry.sdk.trace.export")
    memory = pytest.importorskip(
        "opentelemetry.sdk.trace.export.in_memory_span_exporter"
    ).InMemorySpanExporter()
    provider = trace.TracerProvider(shutdown_on_exit=False)
    provider.add_span_processor(export.SimpleSpanProcessor(memory))
    return Spans(provider), memory


def test_a_request_is_a_span_below_its_callers(exported: tuple[Spans, Any]) -> None:
    spans, memory = exported
    span = spans.begin(parent_of(f"00-{TRACE}-{SPAN}-01".encode()))
    spans.end(span, "POST", "/v1/gate", 409, "mine", {"n": 5, "method": "dp", "queue_ms": 0.1})
    (found,) = memory.get_finished_spans()
    assert found.name == "POST /v1/gate"
    assert f"{found.context.trace_id:032x}" == TRACE
    assert f"{found.parent.span_id:016x}" == SPAN
    assert dict(found.attributes) == {
        "http.request.method": "POST",
        "http.route": "/v1/gate",
        "http.response.status_code": 409,
        "exactperm.request_id": "mine",
        "exactperm.n": 5,
        "exactperm.method": "dp",
        "exactperm.queue_ms": 0.1,
    }


def test_a_server_error_is_an_error_and_a_refusal_is_none(exported: tuple[Spans, Any]) -> None:
    spans, memory = exported
    for status in (422, 503):
        spans.end(spans.begin(None), "GET", "/", status, "x", {})
    assert [span.status.is_ok for span in memory.get_finished_spans()] == [True, False]
    assert [span.parent for span in memory.get_finished_spans()] == [None, None]


def test_nothing_is_imported_or_sent_without_an_endpoint() -> None:
    assert spans_to("", "1") is None


def test_without_the_packages_the_service_says_so_and_goes_on(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    assert spans_to("http://localhost:4318", "1") is None
    assert "not installed" in caplog.text
