"""A probe of the machine's steadiness: the same calculation, timed before every section."""

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
    """How a section found the machine: what it took, the load average before, and the probe, both times in seconds."""

    section: str
    took: float
    load: str
    probe: float


def probe() -> float:
    """Median seconds of our dp at N = 3,000, called over and over for half a second."""
    load = workload.accuracy(ITEMS)
    ends, seconds = time.perf_counter() + PROBE_S, []
    while (began := time.perf_counter()) < ends:
        ours.by_dp(load.stay, load.swap)
        seconds.append(time.perf_counter() - began)
    return statistics.median(seconds)


def table(conditions: Sequence[Condition]) -> Table:
    """A row for each section, and by how much the probes differ."""
    rows = [[c.section, f"{c.took:.0f} s", c.load, duration(c.probe)] for c in conditions]
    probes = [c.probe for c in conditions]
    notes = [
        f"slowest over fastest probe: {ratio(max(probes) / min(probes))}; smaller differences between sections mean nothing",
        f"the probe is our dp at N = {ITEMS:,}; the load average is of the minute before the section",
    ]
    return Table(TITLE, ["section", "it took", "load average", "probe"], rows, notes)
