"""The web process returns memory to the system after a peak; `malloc` says what is kept until then."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable

from . import malloc
from .procfs import resident_bytes

LOOK_EVERY_S = 5.0
WORTH_BYTES = 2**24  # less is not worth the page faults of the next request


class Peaks:
    """Detects the end of a peak: far more is resident than is needed, and no request holds it.

    `resident` and `held` are the bytes of the process and of its requests. What remains after a trim counts as needed.
    """

    def __init__(self, resident: int) -> None:
        self._needed = resident
        self._held = 0

    def over(self, resident: int, held: int) -> bool:
        """Whether memory should be returned now."""
        return max(resident - held - self._needed, self._held - held) > WORTH_BYTES

    def gave_back(self, resident: int, held: int) -> None:
        """Note what remained after a trim, and how much of it requests hold."""
        self._needed, self._held = resident - held, held


async def give_back_after_peaks(held: Callable[[], int]) -> None:
    """Return memory that this process no longer needs, until cancelled; `held` gives the bytes that requests hold now.

    Without this, fragmentation would keep the process as large as its largest peak. The trim runs in a thread.
    """
    pid = os.getpid()
    peaks = Peaks(resident_bytes(pid) or 0)
    while True:
        await asyncio.sleep(LOOK_EVERY_S)
        if peaks.over(resident_bytes(pid) or 0, held()):
            await asyncio.to_thread(malloc.give_back)
            peaks.gave_back(resident_bytes(pid) or 0, held())
