"""Metrics for Prometheus. Labels have few values, whatever clients send: route templates, known methods, reasons.

Counters kept by the executor are read at collection, so that nothing is counted twice. Those of several web processes
are added up; counters of ended processes stay, so that none ever decreases.
"""

from __future__ import annotations

import asyncio
import json
import platform
from bisect import bisect_left
from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping

from fastapi import APIRouter
from prometheus_client import CollectorRegistry, Histogram, ProcessCollector, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from prometheus_client.registry import Collector
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString
from starlette.responses import Response

from ..execution.executor import Executor
from ..execution.memory import resident_bytes

COUNTED = frozenset({"counter", "histogram"})  # types whose values add up over time
WEB_RESTARTS = "exactperm_web_process_restarts"
# Metrics that are equal in every process, such as those read from the database.
MOST = frozenset(
    {
        "exactperm_build_info",
        "exactperm_job_database_up",
        "exactperm_job_hosts",
        "exactperm_job_seconds_waiting",
        "exactperm_jobs",
        "process_max_fds",
        "process_virtual_memory_max_bytes",
    }
)
LEAST = frozenset({"process_start_time_seconds"})

Labels = tuple[tuple[str, str], ...]
Samples = dict[tuple[str, Labels], float]


def snapshot(families: Iterable[Metric]) -> bytes:
    """The families as JSON, for `Merged.read`."""
    return json.dumps(
        [
            [
                one.name,
                one.documentation,
                one.type,
                [[sample.name, sorted(sample.labels.items()), sample.value] for sample in one.samples],
            ]
            for one in families
        ]
    ).encode()


class Merged(Collector):
    """The sum of the last snapshots of all processes, including ended ones' counters."""

    def __init__(self) -> None:
        self._kinds: dict[str, tuple[str, str]] = {}  # documentation and type
        self._last: dict[int, dict[str, Samples]] = {}
        self._ended: dict[str, Samples] = {}

    def read(self, process: int, content: bytes) -> None:
        """The newest snapshot of a process."""
        families: dict[str, Samples] = {}
        for name, documentation, kind, samples in json.loads(content):
            self._kinds[name] = documentation, kind
            families[name] = {
                (sample, tuple((key, value) for key, value in labels)): number
                for sample, labels, number in samples
            }
        self._last[process] = families

    def ended(self, process: int) -> None:
        """Drop the gauges of a process that has ended, and keep its counters."""
        for name, samples in self._last.pop(process, {}).items():
            if self._kinds[name][1] in COUNTED:
                _add(self._ended.setdefault(name, {}), samples)

    def replaced(self, reason: str) -> None:
        """Count the replacement of a process."""
        _add(
            self._ended.setdefault(WEB_RESTARTS, {}), {(f"{WEB_RESTARTS}_total", (("reason", reason),)): 1.0}
        )

    def collect(self) -> Iterator[Metric]:
        """All families, merged."""
        for name, (documentation, kind) in self._kinds.items():
            family = Metric(name, documentation, kind)
            samples: Samples = dict(self._ended.get(name, {}))
            for living in self._last.values():
                _add(samples, living.get(name, {}))
            for (sample, labels), number in samples.items():
                family.add_sample(sample, dict(labels), number)
            yield family

    def text(self) -> bytes:
        """In the text format of Prometheus."""
        return generate_latest(self)


def _add(total: Samples, more: Samples) -> None:
    for key, number in more.items():
        before = total.get(key)
        if before is None:
            total[key] = number
        elif key[0] in MOST:
            total[key] = max(before, number)
        elif key[0] in LEAST:
            total[key] = min(before, number)
        else:
            total[key] = before + number


class Durations(Histogram):
    """Seconds, in buckets; the same text as a Histogram's. tests/unit/ops/test_logs.py compares."""

    def _metric_init(self) -> None:
        self._counts = [0] * len(self._upper_bounds)
        self._total = 0.0

    def observe(self, amount: float, exemplar: dict[str, str] | None = None) -> None:
        """Count `amount` in the first bucket that is at least as large; exemplars are not kept."""
        self._total += amount
        self._counts[bisect_left(self._upper_bounds, amount)] += 1

    def _child_samples(self) -> Iterable[Sample]:
        samples, below = [], 0.0
        for bound, count in zip(self._upper_bounds, self._counts, strict=True):
            below += count
            samples.append(Sample("_bucket", {"le": floatToGoString(bound)}, below, None, None))
        samples.append(Sample("_count", {}, below, None, None))
        samples.append(Sample("_sum", {}, self._total, None, None))
        return tuple(samples)


REQUEST_BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60)
COMPUTE_BUCKETS = (0.0005, *REQUEST_BUCKETS)
QUEUE_BUCKETS = REQUEST_BUCKETS
HTTP_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "TRACE", "CONNECT"})
OTHER = "other"
REJECTIONS = (
    "bodies_bytes", "body_bytes", "body_timeout", "connections", "framing", "header_bytes", "header_timeout",
    "small_chunks", "unauthorized", "unread_answer",
)  # fmt: skip
OF_STATUS = {401: "unauthorized", 408: "body_timeout", 413: "body_bytes"}
QUEUE_REJECTIONS = ("queue_bytes", "queue_depth", "queue_seconds", "stopping")
SOURCES = ("computed", "kept", "shared")
RESTARTS = ("deadline", "died", "disconnect", "memory", "stopped")


JobCounts = tuple[dict[str, int], float, int]
JOB_STATES = ("queued", "running", "succeeded", "failed", "cancelled")
WEB_ENDINGS = ("died", "hung")


class Metrics:
    """All metrics of one application, in their own registry."""

    def __init__(self, execution: Executor, versions: Mapping[str, str]) -> None:
        self.registry = CollectorRegistry(auto_describe=True)
        self.in_flight = 0
        self.connections: Callable[[], int] = lambda: 0
        self.held_bytes: Callable[[], int] = lambda: 0
        self.in_place_seconds: Callable[[], float] = lambda: 0.0
        self.of_all: Callable[[], Awaitable[bytes]] = (
            self._local_text
        )  # of all web processes, where there are several
        self._versions = {**versions, "python": platform.python_version()}
        self._request = Durations(
            "http_server_request_duration_seconds",
            "Time from the headers of a request to the end of its response.",
            ("method", "route", "status"),
            registry=self.registry,
            buckets=REQUEST_BUCKETS,
        )
        self._compute = Durations(
            "exactperm_compute_seconds",
            "Time to decode, plan and compute one test, in any process.",
            ("method",),
            registry=self.registry,
            buckets=COMPUTE_BUCKETS,
        )
        self._queue = Durations(
            "exactperm_queue_seconds",
            "Time from the last byte of a request to the start of its computation.",
            registry=self.registry,
            buckets=QUEUE_BUCKETS,
        )
        self.in_bytes = self.out_bytes = 0
        # Jobs by state, predicted seconds that wait, live workers; None while their database is away.
        self.look_at_jobs: Callable[[], JobCounts | None] | None = None
        self.jobs: JobCounts | None = None
        self.refusals = dict.fromkeys(REJECTIONS, 0)
        self.answers = dict.fromkeys(SOURCES, 0)
        self._requests: dict[tuple[str, str, int], Durations] = {}
        self._computed: dict[str, Durations] = {}
        self.registry.register(StateCollector(self, execution, self._versions))
        ProcessCollector(registry=self.registry)

    def refused(self, reason: str) -> None:
        """A request or a connection was refused before its test was read."""
        self.refusals[reason] += 1

    def answered(self, method: str, route: str, status: int, seconds: float, sizes: tuple[int, int]) -> None:
        """A request was answered; `sizes` are the bytes of its body and of the response."""
        key = (method, route, status)
        child = self._requests.get(key)
        if child is None:
            child = self._requests[method, route, status] = self._request.labels(method, route, str(status))
        child.observe(seconds)
        self.in_bytes += sizes[0]
        self.out_bytes += sizes[1]
        if status in OF_STATUS:
            self.refusals[OF_STATUS[status]] += 1

    def computed(
        self, method: str, queue_s: float, compute_s: float | None, source: str = "computed"
    ) -> None:
        """A test was answered; without `compute_s` it was computed for another request."""
        self.answers[source] += 1
        self._queue.observe(queue_s)
        if compute_s is not None:
            child = self._computed.get(method)
            if child is None:
                child = self._computed[method] = self._compute.labels(method)
            child.observe(compute_s)

    def text(self) -> bytes:
        """The metrics in the text format of Prometheus."""
        return generate_latest(self.registry)

    async def _local_text(self) -> bytes:
        return self.text()

    def snapshot(self) -> bytes:
        """A snapshot of these metrics, for other processes to add up."""
        return snapshot(self.registry.collect())

    def names(self) -> dict[str, str]:
        """The name of every family, as queried, with its description."""
        return {
            family.name + ("_total" if family.type == "counter" else ""): family.documentation
            for family in self.registry.collect()
        }


class StateCollector(Collector):
    """Collector for gauges and for counters kept by other components."""

    def __init__(self, metrics: Metrics, execution: Executor, versions: Mapping[str, str]) -> None:
        self._metrics = metrics
        self._execution = execution
        self._versions = versions

    def collect(self) -> Iterator[Metric]:
        """All families, with their values now."""
        execution, metrics = self._execution, self._metrics
        build = GaugeMetricFamily("exactperm_build_info", "Versions; always 1.", labels=tuple(self._versions))
        build.add_metric(tuple(self._versions.values()), 1)
        yield build
        in_place = metrics.in_place_seconds()
        yield CounterMetricFamily(
            "exactperm_inplace_seconds", "Time spent on tests in the web process.", value=in_place
        )
        refusals = {**dict.fromkeys(QUEUE_REJECTIONS, 0), **execution.rejections, **metrics.refusals}
        sizes = {"in": metrics.in_bytes, "out": metrics.out_bytes}
        restarts = {**dict.fromkeys(RESTARTS, 0), **execution.restarts}
        web_restarts = dict.fromkeys(WEB_ENDINGS, 0)  # the parent counts them
        answers = "Answers by source: computed, kept (from the cache), or shared with a request in flight."
        yield from (
            _counter("exactperm_rejected", "Refused requests and connections.", refusals),
            _counter(
                "exactperm_body_bytes", "Bytes of request and response bodies, as sent.", sizes, "direction"
            ),
            _counter("exactperm_answers", answers, metrics.answers, "source"),
            _counter("exactperm_worker_restarts", "Workers that ended and were replaced.", restarts),
            _counter(WEB_RESTARTS, "Web processes that ended and were replaced.", web_restarts),
        )
        # Metrics of the job database are the same in every process; 0 without one, or while it is away.
        by_state, waiting, hosts = metrics.jobs or ({}, 0.0, 0)
        jobs = GaugeMetricFamily("exactperm_jobs", "Jobs that are kept, by state.", labels=("state",))
        for state in JOB_STATES:
            jobs.add_metric((state,), by_state.get(state, 0))
        yield jobs
        for name, sentence, value in (
            ("requests_in_flight", "Requests in flight.", metrics.in_flight),
            ("connections_open", "Open connections.", metrics.connections()),
            (
                "held_bytes",
                "Bytes of the bodies and answers of all requests in flight.",
                metrics.held_bytes(),
            ),
            ("queue_depth", "Requests that wait for a worker.", execution.queued),
            (
                "pending_seconds",
                "Predicted seconds of the tests that wait or run in workers.",
                execution.pending_seconds,
            ),
            ("workers", "Warm workers.", len(execution.pids)),
            ("workers_busy", "Workers that run a test.", execution.running),
            (
                "workers_resident_bytes",
                "Resident memory of all workers.",
                sum(resident_bytes(pid) or 0 for pid in execution.pids),
            ),
            ("web_processes", "Web processes.", 1),
            ("job_seconds_waiting", "Predicted seconds of the jobs that have not ended.", waiting),
            ("job_hosts", "Workers for jobs that have a heartbeat.", hosts),
            ("job_database_up", "Whether the job database answers.", metrics.jobs is not None),
        ):
            yield GaugeMetricFamily(f"exactperm_{name}", sentence, value=float(value))

    def describe(self) -> Iterator[Metric]:
        """The same families."""
        return self.collect()


def _counter(
    name: str, sentence: str, counts: Mapping[str, int], label: str = "reason"
) -> CounterMetricFamily:
    family = CounterMetricFamily(name, sentence, labels=(label,))
    for value, count in counts.items():
        family.add_metric((value,), count)
    return family


def metrics_router(metrics: Metrics) -> APIRouter:
    """`GET /metrics`."""
    router = APIRouter(tags=["health"])

    async def exposition() -> Response:
        """Counts and durations in the text format of Prometheus; no data from requests."""
        if metrics.look_at_jobs is not None:
            metrics.jobs = await asyncio.to_thread(metrics.look_at_jobs)
        return Response(
            await metrics.of_all(), headers={"content-type": CONTENT_TYPE_LATEST, "cache-control": "no-store"}
        )

    router.add_api_route("/metrics", exposition, response_class=Response, summary="Metrics for Prometheus")
    return router
