"""Executors for tests, and patience with other processes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from exactperm.execution.executor import Executor
from tests.process.conftest import PATIENCE_S


@asynccontextmanager
async def executor(workers: int = 1, queue_depth: int = 10, **options: Any) -> AsyncIterator[Executor]:
    # What the workers run is imported before they are forked: the first call takes no longer than others.
    options = {"start_timeout_s": PATIENCE_S, "preload": "tests.process.jobs", **options}
    running = Executor(workers=workers, queue_depth=queue_depth, **options)
    await running.start()
    try:
        yield running
    finally:
        await running.stop()


def alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


async def until(condition: Callable[[], bool]) -> None:
    async with asyncio.timeout(PATIENCE_S):
        while not condition():  # noqa: ASYNC110  (other processes set no event)
            await asyncio.sleep(0.01)


def run(scenario: Callable[[], Awaitable[None]], patience_s: float = 2 * PATIENCE_S) -> None:
    async def bounded() -> None:
        async with asyncio.timeout(patience_s):
            await scenario()

    asyncio.run(bounded())
