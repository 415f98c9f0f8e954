"""Memory of a process: figures of proc(5) (None without /proc), and when freed memory returns to the system.

By default glibc maps every array of a megabyte or more anew at each call: with a million items a third of a worker's
time goes into page faults for memory that it just freed. mallopt(3) keeps it; without glibc nothing changes.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
from collections.abc import Callable
from pathlib import Path

PROC = Path("/proc")
PAGE_BYTES = os.sysconf("SC_PAGE_SIZE")
STATE, UTIME, STIME = 0, 11, 12  # fields of stat, counted after the name in parentheses


def resident_bytes(pid: int) -> int | None:
    """Return the resident memory of a process, in bytes."""
    try:
        return int((PROC / str(pid) / "statm").read_bytes().split()[1]) * PAGE_BYTES
    except (OSError, IndexError, ValueError):
        return None


def state_and_ticks(pid: int) -> tuple[str, int] | None:
    """Return the state of a process (R runs, S sleeps, T stopped, D waits for a device) and its CPU time in clock ticks
    (usually 10 ms).
    """
    try:
        fields = (PROC / str(pid) / "stat").read_bytes().rpartition(b")")[2].split()
        return fields[STATE].decode(), int(fields[UTIME]) + int(fields[STIME])
    except (OSError, IndexError, ValueError):
        return None


def data_bytes() -> int | None:
    """Return the bytes that RLIMIT_DATA counts: private writable memory, touched or not."""
    try:
        status = (PROC / "self" / "status").read_text()
    except OSError:
        return None
    for line in status.splitlines():
        if line.startswith("VmData:"):
            return int(line.split()[1]) * 1024
    return None


def set_name(name: str) -> None:
    """Name this process in `ps -o comm` and `top`: the first 15 characters."""
    with contextlib.suppress(OSError):
        (PROC / "self" / "comm").write_text(name)


RETAINED_SHARE = 0.25  # share of the memory limit that malloc may keep, which makes the next call faster
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
LARGEST_MMAP_THRESHOLD = 2**25  # the most that glibc accepts on 64 bits
TOP_PAD_BYTES = 2**24
SMALL = 2**26  # with a smaller limit nothing is kept
MOST = 2**30

_libc = ctypes.CDLL(None)


def keep_freed(memory_bytes: int) -> None:
    """Keep freed memory for the next call, up to `RETAINED_SHARE` of the limit."""
    mallopt = getattr(_libc, "mallopt", None)
    if mallopt is None or memory_bytes < SMALL:
        return
    mallopt(M_MMAP_THRESHOLD, min(LARGEST_MMAP_THRESHOLD, memory_bytes // 8))
    mallopt(M_TRIM_THRESHOLD, min(int(RETAINED_SHARE * memory_bytes), MOST))
    mallopt(M_TOP_PAD, min(TOP_PAD_BYTES, memory_bytes // 64))


def give_back() -> None:
    """Return all free memory to the system."""
    trim = getattr(_libc, "malloc_trim", None)
    if trim is not None:
        trim(0)


LOOK_EVERY_S = 5.0
WORTH_BYTES = 2**24  # less is not worth the next request's page faults


class Peaks:
    """Detects the end of a peak: far more is resident than is needed, and no request holds it.

    `resident` and `held` are the bytes of the process and of its requests. What remains after a trim counts as needed.
    """

    def __init__(self, resident: int) -> None:
        self._needed = resident
        self._held = 0

    def over(self, resident: int, held: int) -> bool:
        """Return whether to return memory now."""
        return max(resident - held - self._needed, self._held - held) > WORTH_BYTES

    def gave_back(self, resident: int, held: int) -> None:
        """Note what remained after a trim, and how much of it requests hold."""
        self._needed, self._held = resident - held, held


async def give_back_after_peaks(held: Callable[[], int]) -> None:
    """Return memory that this process no longer needs, until cancelled; `held` gives the bytes that requests hold now.

    Without this, fragmentation would keep the process as large as its largest peak. The trim runs in a thread.
    """
    import asyncio  # a worker needs the rest of this module without it

    pid = os.getpid()
    peaks = Peaks(resident_bytes(pid) or 0)
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        if peaks.over(resident_bytes(pid) or 0, held()):
            await asyncio.to_thread(give_back)
            peaks.gave_back(resident_bytes(pid) or 0, held())
