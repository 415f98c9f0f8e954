"""Measure the peak memory of the web process and a worker after requests of one size (Linux, proc(5))."""

import io
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import numpy as np
import orjson

from loadtest import workload
from loadtest.options import Options
from loadtest.server import running_process
from loadtest.sockets import JSON, Link, post
from loadtest.table import Table

SIZES = (10_000, 100_000, 1_000_000)
NPY = "application/x-npy"
REQUESTS = 6
MIB = 2**20
SETTINGS = {"workers": 1, "cache_bytes": 0, "keep_alive_s": 600}


def measure(options: Options) -> Iterator[Table]:
    """Start a new server for every size and format, so that peaks are separate."""
    rows = [_row("at rest", [], 0)]
    for items in SIZES[::2] if options.quick else SIZES:
        load = workload.accuracy(items, options.seed, options.law)
        requests = {"JSON": _json(load), "npy": _npy(load)}
        for name, (sent, size) in requests.items():
            rows.append(_row(f"N = {items:,}, {name}", sent[: 3 if options.quick else REQUESTS], size))
    header = ["requests", "bytes of a body", "web process", "worker", "how often"]
    notes = ["peak of the resident set (VmHWM), one worker, requests one after another"]
    yield Table("Peak memory", header, rows, notes)


def _row(name: str, requests: list[bytes], size: int) -> list[str]:
    with running_process(SETTINGS) as (url, pid), closing(Link(url)) as link:
        for request in requests:
            link.ask(request)
        web, worker = _peak(pid), max(_peak(child) for child in _children(pid))
    return [name, f"{size:,}" if size else "", f"{web:.0f} MiB", f"{worker:.0f} MiB", str(len(requests))]


def _json(load: workload.AccuracyWorkload) -> tuple[list[bytes], int]:
    fields = {"u": load.u, "v": load.v, "statistic": {"name": "sum_difference"}}
    bodies = [
        orjson.dumps({**fields, "seed": seed}, option=orjson.OPT_SERIALIZE_NUMPY) for seed in range(REQUESTS)
    ]
    return [post("/v1/tests/scores", body, JSON) for body in bodies], len(bodies[0])


def _npy(load: workload.AccuracyWorkload) -> tuple[list[bytes], int]:
    file = io.BytesIO()
    np.save(file, np.column_stack([load.u, load.v]))
    body, path = file.getvalue(), "/v1/tests/scores?statistic=sum_difference&seed="
    return [post(f"{path}{seed}", body, NPY) for seed in range(REQUESTS)], len(body)


def _children(pid: int) -> list[int]:
    return [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def _peak(pid: int) -> float:
    """The peak resident set of a process, in MiB."""
    lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    return int(next(line for line in lines if line.startswith("VmHWM:")).split()[1]) * 1024 / MIB
