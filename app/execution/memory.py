"""What a worker's malloc gives back to the system, and when.

Every array of a megabyte or more would else be memory of its own, fresh from the system at each call: for a million
items a third of the worker's time goes into pages that it had a moment before (glibc's mallopt(3); without glibc
nothing is changed).
"""

from __future__ import annotations

import ctypes

KEPT = 0.25  # of the memory limit: what malloc keeps below that makes the next call faster
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
LARGEST_MMAP_THRESHOLD = 2**25  # on 64 bits glibc takes no more
TOP_PAD_BYTES = 2**24
SMALL = 2**26  # a limit below which every page counts
MOST = 2**30

_libc = ctypes.CDLL(None)


def keep(memory_bytes: int) -> None:
    """Keep what is freed for the next call, up to `KEPT` of the limit."""
    mallopt = getattr(_libc, "mallopt", None)
    if mallopt is None or memory_bytes < SMALL:
        return
    mallopt(M_MMAP_THRESHOLD, min(LARGEST_MMAP_THRESHOLD, memory_bytes // 8))
    mallopt(M_TRIM_THRESHOLD, min(int(KEPT * memory_bytes), MOST))
    mallopt(M_TOP_PAD, min(TOP_PAD_BYTES, memory_bytes // 64))


def give_back() -> None:
    """All that is free goes back to the system."""
    trim = getattr(_libc, "malloc_trim", None)
    if trim is not None:
        trim(0)
