"""Where warm workers come from: a fork server, or, where that cannot be, processes that are each started and warmed up."""

from __future__ import annotations

import asyncio
import pickle
from typing import Any

from .children import adopt_grandchildren
from .ipc import FORK_SERVER, Function
from .process import NoNotices, WorkerProcess


def nothing(job: object, body: bytes | bytearray, control: object) -> None:
    """A warm-up that does nothing."""


class WarmWorkers:
    """Gives workers that are warm; they may allocate `memory_bytes` beyond what they hold then.

    The fork server imports `preload`, runs the warm-up once and forks every worker, in milliseconds: a service starts
    with the processor time of one worker, however many it has. If it dies it is started again; its workers live on.
    """

    def __init__(self, memory_bytes: int, preload: str) -> None:
        self.warm_up: tuple[Function, Any] = (nothing, None)
        self._memory_bytes = memory_bytes
        self._preload = preload
        self._forks = False
        self._server: WorkerProcess | None = None
        self._server_is_warm = False
        self._early: list[WorkerProcess] = []
        self._starting: set[WorkerProcess] = set()
        self._lock = asyncio.Lock()

    def begin(self, size: int, *, by_fork: bool) -> None:
        """Start what will be needed for the first `size` workers, without waiting for it.

        `by_fork` makes the fork server a fork of this process, which shares what both import: only before there are
        threads and an event loop.
        """
        self._forks = adopt_grandchildren()
        if not self._forks:
            self._early = [WorkerProcess.start(self._memory_bytes, self._preload) for _ in range(size)]
        elif by_fork:
            self._server = WorkerProcess.start_by_fork(self._memory_bytes, self._preload, FORK_SERVER)
        else:
            self._start_server()

    async def one(self) -> WorkerProcess:
        """A worker that is ready and warm.

        Raises
        ------
            OSError, ProcessLost: it could not be started. What the warm-up raised.
        """
        if self._forks:
            return await self._forked()
        worker = self._early.pop() if self._early else WorkerProcess.start(self._memory_bytes, self._preload)
        await self._use(worker, warm=False)
        return worker

    async def end(self) -> None:
        """End the fork server; workers end by themselves or are ended by who has them."""
        if self._server is not None:
            await self._drop(self._server)
            self._server = None

    @property
    def starting_pids(self) -> tuple[int, ...]:
        """Process ids of what is about to give workers."""
        return tuple(worker.pid for worker in self._starting)

    def _start_server(self) -> WorkerProcess:
        self._server = WorkerProcess.start(self._memory_bytes, self._preload, FORK_SERVER)
        self._server_is_warm = False
        return self._server

    async def _forked(self) -> WorkerProcess:
        async with self._lock:
            server = self._server
            if server is None or not server.alive:
                await self.end()
                server = self._start_server()
            try:
                if not self._server_is_warm:
                    await self._warm(server)
                    self._server_is_warm = True
                worker = await server.fork()
            except BaseException:  # also when it takes too long
                await self.end()
                raise
        await self._use(worker, warm=True)
        return worker

    async def _use(self, worker: WorkerProcess, *, warm: bool) -> None:
        try:
            await (worker.ready() if warm else self._warm(worker))
        except BaseException:
            await self._drop(worker)
            raise

    async def _warm(self, worker: WorkerProcess) -> None:
        self._starting.add(worker)
        try:
            await worker.ready()
            await worker.call(pickle.dumps(self.warm_up, pickle.HIGHEST_PROTOCOL), b"", NoNotices())
        finally:
            self._starting.discard(worker)

    async def _drop(self, worker: WorkerProcess) -> None:
        worker.kill("start")
        await worker.gone()
