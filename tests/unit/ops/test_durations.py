"""Our histogram says what the library's says."""

from __future__ import annotations

from hypothesis import given, strategies as st
from prometheus_client import CollectorRegistry, Histogram, disable_created_metrics, generate_latest

from exactperm.ops.metrics import Durations, snapshot

BUCKETS = (0.001, 0.5, 1, 30)
SECONDS = st.one_of(st.sampled_from([0.0, 0.001, 0.5, 1.0, 30.0]), st.floats(0.0, 100.0))


def said(kind: type[Histogram], observed: list[tuple[str, float]]) -> tuple[bytes, bytes]:
    """The text of both with and without labels, and what other processes are told."""
    disable_created_metrics()  # type: ignore[no-untyped-call]
    registry = CollectorRegistry(auto_describe=True)
    labelled = kind(
        "labelled_seconds", "With labels.", ("method", "route"), registry=registry, buckets=BUCKETS
    )
    plain = kind("plain_seconds", "Without labels.", registry=registry, buckets=BUCKETS)
    for label, seconds in observed:
        labelled.labels(label, "/x").observe(seconds)
        plain.observe(seconds)
    return generate_latest(registry), snapshot(registry.collect())


@given(st.lists(st.tuples(st.sampled_from(["a", "b"]), SECONDS), max_size=12))
def test_it_says_what_the_librarys_histogram_says(observed: list[tuple[str, float]]) -> None:
    assert said(Durations, observed) == said(Histogram, observed)
