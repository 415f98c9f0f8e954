"""OpenTelemetry: a span for each request, sent by OTLP. Off unless an endpoint is set.

FastAPI's own spans are switched off: they contain the query string, which may name systems. The caller's span is in the
`traceparent` header (W3C Trace Context, Recommendation of 2021, section 3.2).
"""

from __future__ import annotations

import logging
import re
from typing import Any, NamedTuple

from ..extras import missing

HEADER = b"traceparent"
VERSION_0 = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})\Z")
LATER = re.compile(rb"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?\Z", re.DOTALL)
MAX_BYTES = 512


class Parent(NamedTuple):
    """The caller's span."""

    trace_id: str
    span_id: str
    sampled: bool


def parent_of(header: bytes) -> Parent | None:
    """The caller's span, or None for an invalid header: the service then starts its own trace."""
    match = (VERSION_0 if header[:3] == b"00-" else LATER).match(header[:MAX_BYTES])
    if match is None:
        return None
    trace_id, span_id, flags = match.groups()
    if not trace_id.strip(b"0") or not span_id.strip(b"0"):
        return None
    return Parent(trace_id.decode(), span_id.decode(), bool(int(flags, 16) & 1))


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
