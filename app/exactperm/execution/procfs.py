"""Memory and CPU time of a process from proc(5), None where there is no /proc; and its name there."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

PROC = Path("/proc")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
STATE, UTIME, STIME = 0, 11, 12  # fields of stat, counted after the name in parentheses


def resident_bytes(pid: int) -> int | None:
    """Resident memory of a process, in bytes."""
    try:
        return int((PROC / str(pid) / "statm").read_bytes().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return None


def state_and_ticks(pid: int) -> tuple[str, int] | None:
    """The state of a process (R runs, S sleeps, T is stopped, D waits for a device), and its CPU time in
    clock ticks (usually 10 ms).
    """
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return fields[STATE].decode(), int(fields[UTIME]) + int(fields[STIME])
    except (OSError, IndexError, ValueError):
        return None


def data_bytes() -> int | None:
    """What RLIMIT_DATA counts of this process, in bytes: its private writable memory, touched or not."""
    try:
        status = (PROC / "self" / "status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return None


def set_name(name: str) -> None:
    """What `ps -o comm` and `top` call this process: the first 15 characters."""
    with contextlib.suppress(OSError):
        (PROC / "self" / "comm").write_text(name)
