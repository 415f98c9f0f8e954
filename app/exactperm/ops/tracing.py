"""OpenTelemetry: a span for each request, sent by OTLP. Off unless an endpoint is set.

FastAPI's own spans are switched off: they contain the query string, which may name systems.
"""

from __future__ import annotations

import logging
from typing import Any

from ..extras import missing
from .traceparent import Parent

log = logging.getLogger(__name__)

NAME = "exactperm"
OF_FACTS = {
    "n": "exactperm.n",
    "method": "exactperm.method",
    "queue_ms": "exactperm.queue_ms",
    "compute_ms": "exactperm.compute_ms",
}
SERVER_ERROR = 500


class Spans:
    """Begins and ends the spans of requests. `provider` is an OpenTelemetry SDK TracerProvider."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry import trace

        self._provider = provider
        self._trace = trace
        self._tracer = provider.get_tracer(NAME)

    def begin(self, parent: Parent | None) -> Any:
        """Start a server span, as a child of the caller's span if given."""
        trace = self._trace
        context = None
        if parent is not None:
            caller = trace.SpanContext(
                trace_id=int(parent.trace_id, 16),
                span_id=int(parent.span_id, 16),
                is_remote=True,
                trace_flags=trace.TraceFlags(int(parent.sampled)),
            )
            context = trace.set_span_in_context(trace.NonRecordingSpan(caller))
        return self._tracer.start_span("HTTP", context=context, kind=trace.SpanKind.SERVER)

    @staticmethod
    def trace_of(span: Any) -> str:
        """The trace id of a span."""
        return f"{span.get_span_context().trace_id:032x}"

    def end(
        self, span: Any, method: str, route: str, status: int, request_id: str, facts: dict[str, Any]
    ) -> None:
        """End a span with the facts of its request, without any of its data."""
        span.update_name(f"{method} {route}")
        span.set_attribute("http.request.method", method)
        span.set_attribute("http.route", route)
        span.set_attribute("http.response.status_code", status)
        span.set_attribute("exactperm.request_id", request_id)
        for name, value in facts.items():
            span.set_attribute(OF_FACTS[name], value)
        if status >= SERVER_ERROR:
            span.set_status(self._trace.StatusCode.ERROR)
        span.end()

    def close(self) -> None:
        """Send the remaining spans."""
        self._provider.shutdown()


def spans_to(endpoint: str, version: str) -> Spans | None:
    """Spans that are sent to this endpoint; None without an endpoint or without the packages."""
    if not endpoint:
        return None
    try:
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
        from opentelemetry.sdk.resources import Resource
        from opentelemetry.sdk.trace import TracerProvider
        from opentelemetry.sdk.trace.export import BatchSpanProcessor
    except ImportError:
        log.warning("an OTLP endpoint is set, but no spans are sent: %s", missing("otel"))
        return None
    resource = Resource.create({"service.name": NAME, "service.version": version})
    provider = TracerProvider(resource=resource)
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(f"{endpoint.rstrip('/')}/v1/traces")))
    return Spans(provider)
