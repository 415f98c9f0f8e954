"""What malloc gives back to the system, and when.

Every array of a megabyte or more would else be memory of its own, fresh from the system at each call: for a million
items a third of the worker's time goes into pages that it had a moment before (glibc's mallopt(3); without glibc
nothing is changed).
"""

from __future__ import annotations

import asyncio
import ctypes
import os
from collections.abc import Callable

from .procfs import resident_bytes

KEPT = 0.25  # of the memory limit: what malloc keeps below that makes the next call faster
M_TRIM_THRESHOLD, M_TOP_PAD, M_MMAP_THRESHOLD = -1, -2, -3
LARGEST_MMAP_THRESHOLD = 2**25  # on 64 bits glibc takes no more
TOP_PAD_BYTES = 2**24
SMALL = 2**26  # a limit below which every page counts
MOST = 2**30
LOOK_EVERY_S = 5.0
WORTH_BYTES = 2**24  # less is not worth the pages that the next request would have to ask for again

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


class Peaks:
    """Says when a peak is over: far more is resident than is needed, and no request holds it.

    `resident` and `held` are bytes of the process and of its requests. What stays when memory was given back is needed.
    """

    def __init__(self, resident: int) -> None:
        self._needed = resident
        self._held = 0

    def over(self, resident: int, held: int) -> bool:
        """Whether memory should be given back now."""
        return max(resident - held - self._needed, self._held - held) > WORTH_BYTES

    def gave_back(self, resident: int, held: int) -> None:
        """So much stayed, and so much of it is held by requests."""
        self._needed, self._held = resident - held, held


async def give_back_after_peaks(held: Callable[[], int]) -> None:
    """Give back what this process no longer needs, until cancelled; `held` are the bytes that requests hold now.

    malloc keeps small holes between what is in use, however large the peak was: without this the process would stay as
    large as it was once. It happens in a thread, while the loop turns.
    """
    pid = os.getpid()
    peaks = Peaks(resident_bytes(pid) or 0)
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        if peaks.over(resident_bytes(pid) or 0, held()):
            await asyncio.to_thread(give_back)
            peaks.gave_back(resident_bytes(pid) or 0, held())
