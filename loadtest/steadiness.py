"""Probe the machine's steadiness: time the same calculation before every section."""

import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

from loadtest import ours, workload
from loadtest.table import Table, duration, ratio

ITEMS = 3_000
PROBE_S = 0.5
TITLE = "Steadiness"


@dataclass(frozen=True, slots=True)
class Condition:
    """The state of the machine for a section: its seconds, the load average before, and the seconds of the probe."""

    section: str
    took: float
    load: str
    probe: float


def probe() -> float:
    """The median seconds of exactperm's dp at N = 3,000, called repeatedly for half a second."""
    load = workload.accuracy(ITEMS)
    ends, seconds = time.perf_counter() + PROBE_S, []
    while (began := time.perf_counter()) < ends:
        ours.by_dp(load.stay, load.swap)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def table(conditions: Sequence[Condition]) -> Table:
    """A row for each section, and the ratio of the probes."""
    rows = [[c.section, f"{c.took:.0f} s", c.load, duration(c.probe)] for c in conditions]
    probes = [c.probe for c in conditions]
    notes = [
        f"slowest over fastest probe: {ratio(max(probes) / min(probes))}; smaller differences between sections mean nothing",
        f"the probe is our dp at N = {ITEMS:,}; the load average is of the minute before the section",
    ]
    return Table(TITLE, ["section", "it took", "load average", "probe"], rows, notes)
