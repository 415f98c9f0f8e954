"""A fixed number of warm worker processes; one that ends for any reason is replaced at once.

The supervisor checks them several times a second: memory, progress, and calls that take longer than predicted. A worker
that is stopped while another can work is given up: its call is retried, and the worker replaced. When none can work,
all were probably stopped together and may continue together; `/livez` then reports the stall.
"""

from __future__ import annotations

import asyncio
import logging
import pickle
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Mapping
from typing import Any

from .ipc import FORK_SERVER, Function
from .memory import resident_bytes, state_and_ticks
from .process import NoNotices, ProcessLost, WorkerProcess, adopt_grandchildren
from .scheduler import Call, Scheduler


def nothing(job: object, body: bytes | bytearray, control: object) -> None:
    """Do nothing, as a warm-up."""


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
        """Start the processes for the first `size` workers, without waiting.

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
        """Return a worker that is ready and warm.

        Raises
        ------
            OSError, ProcessLost: it could not be started. The warm-up's exceptions.
        """
        if self._forks:
            return await self._forked()
        worker = self._early.pop() if self._early else WorkerProcess.start(self._memory_bytes, self._preload)
        await self._use(worker, warm=False)
        return worker

    async def end(self) -> None:
        """End the fork server; workers end by themselves or are ended by their owners."""
        if self._server is not None:
            await self._drop(self._server)
            self._server = None

    @property
    def starting_pids(self) -> tuple[int, ...]:
        """Process ids of starting fork servers."""
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


log = logging.getLogger(__name__)

RESTART_PAUSE_S = 0.2
STARTS_AGAIN_AFTER = (OSError, TimeoutError, ProcessLost)


class NotStarted(Exception):
    """The worker processes did not start; the message is for the operator."""


class Pool:
    """Keeps `size` workers; `on_warm` is called after each start of one."""

    def __init__(self, *, size: int, start_timeout_s: float, memory_bytes: int, preload: str) -> None:
        self.size = size
        self.restarts: Counter[str] = Counter()
        self._start_timeout_s = start_timeout_s
        self._warm = WarmWorkers(memory_bytes, preload)
        self.on_warm: Callable[[], None] = lambda: None
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._tasks: set[asyncio.Task[None]] = set()
        self._begun = self._closing = False

    def warm_up_with(self, function: Function, job: object) -> None:
        """Set the warm-up of workers."""
        self._warm.warm_up = (function, job)

    def begin(self, *, by_fork: bool) -> None:
        """Start the processes, which begin to import; `start` waits for them. See `WarmWorkers.begin`."""
        self._begun = True
        self._warm.begin(self.size, by_fork=by_fork)

    async def start(self) -> None:
        """Start all workers and wait until every one is warm; restart those that end early.

        Raises
        ------
            NotStarted: some were not ready in time. The warm-up's exceptions.
        """
        if not self._begun:
            self.begin(by_fork=False)
        try:
            async with asyncio.timeout(self._start_timeout_s):
                await asyncio.gather(*(self._start_worker(STARTS_AGAIN_AFTER) for _ in range(self.size)))
        except TimeoutError:
            raise NotStarted(
                f"The worker processes did not start within {self._start_timeout_s:g} s. If they were killed (the log lines "
                "before this one say so), look for what kills them, such as a limit of memory; else give them more time with "
                "EXACTPERM_WORKER_START_TIMEOUT_S."
            ) from None

    async def stop(self) -> None:
        """End all workers at once."""
        self._closing = True
        for worker in self._workers:
            worker.kill("stopping")
        for task in self._tasks:
            if not task.get_name().startswith("watch"):
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        await self._warm.end()

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the warm workers."""
        return tuple(sorted(worker.pid for worker in self._workers))

    @property
    def workers(self) -> tuple[WorkerProcess, ...]:
        """The warm workers."""
        return tuple(self._workers)

    @property
    def all_pids(self) -> tuple[int, ...]:
        """Process ids of all workers, warm or starting."""
        return (*(worker.pid for worker in self._workers), *self._warm.starting_pids)

    def take(self) -> WorkerProcess | None:
        """Return the idle worker used last (its caches are warmest), or None."""
        while self._idle:
            worker = self._idle.pop()
            if worker.alive:
                return worker
        return None

    def give_back(self, worker: WorkerProcess) -> None:
        """Return a worker for the next call, unless it was killed."""
        if worker.ending is None and worker.alive:
            self._idle.append(worker)

    async def _add(self) -> None:
        async with asyncio.timeout(self._start_timeout_s):
            worker = await self._warm.one()
        worker.warm_bytes = resident_bytes(worker.pid) or 0
        self._workers.add(worker)
        self._spawn(self._watch(worker), f"watch {worker.pid}")
        if self._closing:
            worker.kill("stopping")
        self.give_back(worker)
        self.on_warm()

    async def _watch(self, worker: WorkerProcess) -> None:
        await worker.gone()
        self._workers.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if self._closing:
            return
        reason = worker.ending or "died"
        self.restarts[reason] += 1
        log.warning("worker %d ended (%s, status %s)", worker.pid, reason, worker.returncode)
        # After any exception of the warm-up: a service that lost its workers one by one would never answer again.
        self._spawn(self._start_worker((Exception,)), "replace")

    async def _start_worker(self, again_after: tuple[type[Exception], ...]) -> None:
        while not self._closing:
            try:
                await self._add()
            except again_after as error:
                log.error(  # noqa: TRY400  (a traceback would not help here)
                    "a worker could not be started and is tried again: %s", type(error).__name__
                )
                await asyncio.sleep(RESTART_PAUSE_S)
            else:
                return

    def _spawn(self, work: Coroutine[Any, Any, None], name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


class Progress:
    """The time of the last progress: a call arrived at an idle service or ended, or a worker used CPU time.

    CPU time rather than a heartbeat thread: a computation in C may hold the interpreter's lock for a minute and is busy,
    not stuck; a stopped process uses none.
    """

    def __init__(self, stall_s: float, now: float) -> None:
        self._stall_s = stall_s
        self._moved = now
        self._ticks: dict[int, int] = {}

    def note(self, now: float) -> None:
        """Record progress."""
        self._moved = now

    def compare(self, ticks: Mapping[int, int], now: float) -> None:
        """Record progress if any worker (CPU ticks by process id) has used more CPU time than at the last check."""
        if any(used > self._ticks.get(pid, -1) for pid, used in ticks.items()):
            self._moved = now
        self._ticks = dict(ticks)

    def stalled(self, now: float, *, pending: bool) -> bool:
        """Return whether work is pending and there was no progress for `stall_s`."""
        return pending and now - self._moved > self._stall_s


class Standstill:
    """The time since which each worker has been stopped by a signal, or waiting for a device that does not answer.

    A sleeping worker waits for a call or computes in a thread, and a running one works: neither counts.
    """

    def __init__(self, stopped_s: float, waiting_s: float) -> None:
        self._patience_s = {"T": stopped_s, "t": stopped_s, "D": waiting_s}
        self._since: dict[int, tuple[str, int, float]] = {}

    def look(self, states: Mapping[int, tuple[str, int]], now: float) -> tuple[set[int], set[int]]:
        """Return the process ids of workers stopped for too long, and of all that are stopped now."""
        before, self._since = self._since, {}
        for pid, (state, ticks) in states.items():
            if state not in self._patience_s:
                continue
            past = before.get(pid)
            same = past is not None and past[:2] == (state, ticks)
            self._since[pid] = past if past is not None and same else (state, ticks, now)
        too_long = {
            pid for pid, (state, _, since) in self._since.items() if now - since >= self._patience_s[state]
        }
        return too_long, set(self._since)


LOOK_EVERY_S = 0.1
STOPPED_S = 2.0


class Supervisor:
    """Watches the workers; `busy` maps each working one to its call."""

    def __init__(self, pool: Pool, scheduler: Scheduler, memory_bytes: int, stall_s: float) -> None:
        self.busy: dict[WorkerProcess, Call] = {}
        self.progress = Progress(stall_s, time.monotonic())
        self._standstill = Standstill(min(STOPPED_S, 0.5 * stall_s), stall_s)
        self.on_overrun: Callable[[], None] = lambda: None
        self._pool = pool
        self._scheduler = scheduler
        self._memory_bytes = memory_bytes

    @property
    def stalled(self) -> bool:
        """Whether work is pending and no worker has made progress for `stall_s`."""
        return self.progress.stalled(time.monotonic(), pending=self._pending)

    async def watch(self) -> None:
        """Check until cancelled."""
        while True:
            await asyncio.sleep(LOOK_EVERY_S)
            if self._pending:
                self.look(time.monotonic())

    def look(self, now: float) -> None:
        """Check once."""
        for worker in self.busy:
            held = resident_bytes(worker.pid)
            # RLIMIT_DATA applies first; this covers memory that it does not count.
            if held is not None and held > worker.warm_bytes + self._memory_bytes:
                log.warning("worker %d uses %d bytes, more than allowed, and is killed", worker.pid, held)
                worker.kill("memory")
        stats = {pid: state_and_ticks(pid) for pid in self._pool.all_pids}
        states = {pid: state for pid, state in stats.items() if state is not None}
        self._give_up_stopped(states, now)
        self.progress.compare({pid: ticks for pid, (_, ticks) in states.items()}, now)
        if self._scheduler.overran(now):
            self.on_overrun()

    def _give_up_stopped(self, states: Mapping[int, tuple[str, int]], now: float) -> None:
        too_long, standing = self._standstill.look(states, now)
        if too_long and set(self._pool.pids) - standing:
            for worker in self._pool.workers:
                if worker.pid in too_long:
                    log.warning("worker %d is stopped and is given up", worker.pid)
                    worker.give_up("stopped")

    @property
    def _pending(self) -> bool:
        return bool(self.busy) or self._scheduler.waiting() > 0
