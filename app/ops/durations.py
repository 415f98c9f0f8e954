"""A histogram of Prometheus that is observed without a lock: the event loop alone observes, and it reads, too."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from prometheus_client import Histogram
from prometheus_client.samples import Sample
from prometheus_client.utils import floatToGoString


class Durations(Histogram):
    """Seconds, in buckets; the same text as a Histogram's. tests/unit/ops/test_durations.py compares."""

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
            samples.append(Sample("_bucket", {"le": floatToGoString(bound)}, below, None, None))  # type: ignore[no-untyped-call]
        samples.append(Sample("_count", {}, below, None, None))
        samples.append(Sample("_sum", {}, self._total, None, None))
        return tuple(samples)
