"""Turns of the event loop: longer pieces of work run one at a time, and the loop serves others in between."""

from __future__ import annotations

import asyncio

# A health probe needs a few iterations of the loop: its connection, its bytes, its task, its answer.
ROUNDS = 4


class Turns:
    """First in, first out; between two turns the loop iterates `ROUNDS` times."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._number = 0

    async def mine(self, number: int = 0) -> int:
        """Wait for the caller's turn, which lasts until it next awaits something; return the number of the turn.

        Returns at once if `number` is that of the caller's last turn and nobody else had one since.
        """
        if number and number == self._number:
            return number
        async with self._lock:
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            self._number += 1
            return self._number
