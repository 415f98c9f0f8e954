"""Metrics of several web processes as those of one service. Counters of processes that ended stay: none ever goes back."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from prometheus_client import generate_latest
from prometheus_client.core import Metric
from prometheus_client.registry import Collector

COUNTED = frozenset({"counter", "histogram"})  # types whose values add up over time
RESTARTS = "exactperm_web_process_restarts"
# The same in every process: what it is, or what all read from one database.
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
    """The sum of the last snapshot of each living process, and of what the ended ones had counted."""

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
        """A process has ended: its gauges are gone, its counters stay."""
        for name, samples in self._last.pop(process, {}).items():
            if self._kinds[name][1] in COUNTED:
                _add(self._ended.setdefault(name, {}), samples)

    def replaced(self, reason: str) -> None:
        """A process that ended is replaced."""
        _add(self._ended.setdefault(RESTARTS, {}), {(f"{RESTARTS}_total", (("reason", reason),)): 1.0})

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
