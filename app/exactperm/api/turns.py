"""Turns of the event loop: longer pieces of work run one at a time, and the loop serves others in between."""

from __future__ import annotations

import asyncio

# A health probe needs a few iterations of the loop: its connection, its bytes, its task, its answer.
ROUNDS = 4
# Turns that take less than this together are like one: small tests in a row need not wait for nobody.
ONE_TURN_S = 0.004
# A turn takes at least so long: a head is checked, or a slice of an answer sent.
LEAST_S = 0.0002


class Turns:
    """First in, first out; before every turn the loop iterates `ROUNDS` times, unless it did so `ONE_TURN_S` of turns ago."""

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._number = self._waiting = 0
        self._spent_s = ONE_TURN_S

    def spend(self, seconds: float) -> None:
        """Note that the current turn computed for so long."""
        self._spent_s += seconds

    async def mine(self, number: int = 0) -> int:
        """Wait for the caller's turn, which lasts until it next awaits something; return the number of the turn.

        Returns at once if `number` is that of the caller's last turn and nobody else had one since.
        """
        if number and number == self._number:
            return number
        if self._waiting or self._spent_s >= ONE_TURN_S:
            self._waiting += 1
            try:
                async with self._lock:
                    if self._spent_s >= ONE_TURN_S:
                        await _rounds(ROUNDS)
                        self._spent_s = 0.0
                    return self._taken()
            finally:
                self._waiting -= 1
        return self._taken()

    def _taken(self) -> int:
        self._spent_s += LEAST_S
        self._number += 1
        return self._number


def _rounds(number: int) -> asyncio.Future[None]:
    """What waits for it goes on after so many iterations of the loop, at least two.

    It is resumed once; by sleeping it would be resumed in each.
    """
    loop = asyncio.get_running_loop()
    done: asyncio.Future[None] = loop.create_future()

    def step(left: int) -> None:
        if left:
            loop.call_soon(step, left - 1)
        elif not done.done():
            done.set_result(None)

    loop.call_soon(step, number - 2)  # the last resumes what waits
    return done
