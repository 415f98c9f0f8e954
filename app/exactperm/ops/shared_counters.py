"""Counters that several web processes share: each writes its slot in shared memory and reads all."""

from __future__ import annotations

import mmap

WORD_BYTES = 8


class Together:
    """One process's part of a count."""

    def __init__(self, places: memoryview | None = None, own: int = 0) -> None:
        self._places = memoryview(bytearray(WORD_BYTES)).cast("q") if places is None else places
        self._own = own

    def put(self, value: int) -> None:
        """Set the part of this process."""
        self._places[self._own] = value

    @property
    def others(self) -> int:
        """The current counts of the other processes."""
        return sum(self._places) - self._places[self._own] if len(self._places) > 1 else 0


class Counts:
    """The counts of `processes` web processes, in memory that a fork shares: open connections and held bytes."""

    def __init__(self, processes: int) -> None:
        words = memoryview(mmap.mmap(-1, 2 * processes * WORD_BYTES)).cast("q")
        self._connections, self._held = words[:processes], words[processes:]

    def connections(self, number: int) -> Together:
        """The open connections, as the process with this number counts them."""
        return Together(self._connections, number)

    def held_bytes(self, number: int) -> Together:
        """The bytes of bodies and answers, as the process with this number counts them."""
        return Together(self._held, number)

    def forget(self, number: int) -> None:
        """Reset the counts of a process that has ended."""
        self._connections[number] = self._held[number] = 0
