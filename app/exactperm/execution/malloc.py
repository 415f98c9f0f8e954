"""When malloc returns memory to the system (glibc's mallopt(3); without glibc nothing is changed).

By default every array of a megabyte or more is mapped anew at each call: with a million items a third of a worker's
time goes into page faults for memory that it had a moment before.
"""

from __future__ import annotations

import ctypes

KEPT = 0.25  # share of the memory limit that malloc may keep, which makes the next call faster
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
LARGEST_MMAP_THRESHOLD = 2**25  # the most that glibc accepts on 64 bits
TOP_PAD_BYTES = 2**24
SMALL = 2**26  # with a smaller limit nothing is kept
MOST = 2**30

_libc = ctypes.CDLL(None)


def keep(memory_bytes: int) -> None:
    """Keep freed memory for the next call, up to `KEPT` of the limit."""
    mallopt = getattr(_libc, "mallopt", None)
    if mallopt is None or memory_bytes < SMALL:
        return
    mallopt(M_MMAP_THRESHOLD, min(LARGEST_MMAP_THRESHOLD, memory_bytes // 8))
    mallopt(M_TRIM_THRESHOLD, min(int(KEPT * memory_bytes), MOST))
    mallopt(M_TOP_PAD, min(TOP_PAD_BYTES, memory_bytes // 64))


def give_back() -> None:
    """Return all free memory to the system."""
    trim = getattr(_libc, "malloc_trim", None)
    if trim is not None:
        trim(0)
