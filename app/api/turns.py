"""Turns of the event loop: work that takes it long is done one piece at a time, and others are heard in between."""

from __future__ import annotations

import asyncio

# A health probe needs a few rounds of the loop: its connection, its bytes, its task, its answer.
ROUNDS = 4


class Turns:
    """First come, first served; between two turns the loop goes round `ROUNDS` times."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._number = 0

    async def mine(self, number: int = 0) -> int:
        """Return when it is the caller's turn, which ends where it next waits for something; the number of the turn.

        At once if `number` is that of the caller's last turn and nobody else has had one since.
        """
        if number and number == self._number:
            return number
        async with self._lock:
            for _ in range(ROUNDS):
                await asyncio.sleep(0)
            self._number += 1
            return self._number
