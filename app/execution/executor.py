"""A fixed number of warm worker processes, a bounded queue before them, and a deadline for every call.

One web process and separate workers, rather than several web processes: a worker that is killed, crashes or
runs out of memory takes nobody else's request with it. (`concurrent.futures.ProcessPoolExecutor` fails every
pending call when one worker dies; `anyio.to_process` starts workers cold after a cancellation.)
"""

from __future__ import annotations

import asyncio
import logging
import pickle
from collections import deque
from collections.abc import Callable
from typing import Any

from app.errors import DeadlineExceeded, Overloaded, WorkerLost
from app.execution.frames import Deadline
from app.execution.process import ProcessLost, WorkerProcess
from app.settings import Settings

log = logging.getLogger(__name__)

Function = Callable[[Any, bytes | bytearray, Deadline], Any]
ATTEMPTS = 2
RESTART_PAUSE_S = 0.2
# By name: the arrows of the imports point the other way.
ANSWERING = "app.api.pipeline"


class Executor:
    """Runs `function(job, body, deadline)` in a worker process.

    `warm_up` is run once in every new worker before it gets work: imports and first-use costs; it may be set until
    `start`. `preload` is a module that workers import as soon as they run, while this process may still be importing.
    """

    def __init__(
        self,
        *,
        workers: int,
        queue_depth: int,
        start_timeout_s: float,
        warm_up: tuple[Function, Any] | None = None,
        preload: str = "",
    ) -> None:
        self._size = workers
        self._queue_depth = queue_depth
        self._start_timeout_s = start_timeout_s
        self.warm_up = warm_up
        self._preload = preload
        self._early: list[WorkerProcess] = []
        self._workers: set[WorkerProcess] = set()
        self._idle: list[WorkerProcess] = []
        self._waiting: deque[asyncio.Future[WorkerProcess]] = deque()
        self._tasks: set[asyncio.Task[None]] = set()
        self._closing = False

    # -- life ---------------------------------------------------------------------------------------------

    async def begin(self) -> None:
        """Spawn the workers and leave them to import what they need; `start` waits for them."""
        for _ in range(self._size):
            self._early.append(await WorkerProcess.start(self._preload))

    async def start(self) -> None:
        """Start all workers and wait until every one is warm."""
        await asyncio.gather(*(self._add() for _ in range(self._size)))

    async def stop(self) -> None:
        """End all workers at once; whoever still waits gets `Overloaded`."""
        self._closing = True
        for waiter in self._waiting:
            if not waiter.done():
                waiter.set_exception(
                    Overloaded("The service is shutting down. Try again elsewhere or later.")
                )
        for worker in self._workers:
            worker.kill()
        for task in self._tasks:
            if not task.get_name().startswith("watch"):
                task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    @property
    def ready(self) -> bool:
        """Whether calls can be taken: at least one warm worker, and not shutting down."""
        return bool(self._workers) and not self._closing

    @property
    def queued(self) -> int:
        """How many calls wait for a worker."""
        return len(self._waiting)

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the warm workers."""
        return tuple(sorted(worker.pid for worker in self._workers))

    # -- calls --------------------------------------------------------------------------------------------

    async def run(
        self,
        function: Function,
        job: object,
        body: bytes | bytearray,
        deadline_s: float,
        longest_s: float | None = None,
    ) -> Any:
        """Run one call in a worker and return its result, or raise what it raised.

        The deadline counts from now, waiting included; the function may set another one, once it has read in the
        body what the client wants, but none beyond `longest_s` (`deadline_s` when left out). At the deadline, or when
        the caller is cancelled, the worker is killed and another one is warmed up in its place. A worker that
        dies by itself is retried once.

        Raises
        ------
            Overloaded: the queue is full.
            DeadlineExceeded: the result was not there in time.
            WorkerLost: two workers in turn died under this call.
        """
        call = pickle.dumps((function, job), pickle.HIGHEST_PROTOCOL)
        start = asyncio.get_running_loop().time()
        try:
            async with asyncio.timeout_at(start + deadline_s) as limit:

                def set_deadline(seconds: float) -> None:
                    limit.reschedule(start + min(seconds, longest_s or deadline_s))

                return await self._attempt(call, body, set_deadline)
        except TimeoutError as error:
            raise DeadlineExceeded(
                "The deadline passed before the answer was ready. Ask for a larger timeout_s, or for a cheaper method "
                "(POST /v1/plan predicts what each one costs)."
            ) from error

    async def _attempt(
        self, call: bytes, body: bytes | bytearray, set_deadline: Callable[[float], None]
    ) -> Any:
        for _ in range(ATTEMPTS):
            worker = await self._acquire()
            try:
                result = await worker.call(call, body, set_deadline)
            except ProcessLost:
                worker.kill()  # its watcher starts another one
                continue
            except (asyncio.CancelledError, pickle.UnpicklingError):
                worker.kill()
                raise
            except Exception:  # what the function raised; the worker is well
                self._release(worker)
                raise
            self._release(worker)
            return result
        raise WorkerLost("The process that computed this test died, twice. Nothing is known of the answer.")

    async def _acquire(self) -> WorkerProcess:
        while self._idle:
            worker = self._idle.pop()  # the warmest
            if worker.alive:
                return worker
        if len(self._waiting) >= self._queue_depth or self._closing:
            raise Overloaded("All workers are busy and the queue is full. Try again a little later.")
        waiter: asyncio.Future[WorkerProcess] = asyncio.get_running_loop().create_future()
        self._waiting.append(waiter)
        try:
            return await waiter
        except asyncio.CancelledError:
            # The worker may have been handed over in the very moment the caller gave up.
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._release(waiter.result())
            raise
        finally:
            if waiter in self._waiting:
                self._waiting.remove(waiter)

    def _release(self, worker: WorkerProcess) -> None:
        if not worker.alive:
            return
        while self._waiting:
            waiter = self._waiting.popleft()
            if not waiter.done():
                waiter.set_result(worker)
                return
        self._idle.append(worker)

    # -- keeping the number of workers ----------------------------------------------------------------------

    async def _add(self) -> None:
        worker = self._early.pop() if self._early else await WorkerProcess.start(self._preload)
        try:
            async with asyncio.timeout(self._start_timeout_s):
                await worker.ready()
                if self.warm_up is not None:
                    await worker.call(
                        pickle.dumps(self.warm_up, pickle.HIGHEST_PROTOCOL), b"", lambda _: None
                    )
        except BaseException:
            worker.kill()
            await worker.gone()
            raise
        self._workers.add(worker)
        self._spawn(self._watch(worker), f"watch {worker.pid}")
        self._release(worker)

    async def _watch(self, worker: WorkerProcess) -> None:
        await worker.gone()
        self._workers.discard(worker)
        if worker in self._idle:
            self._idle.remove(worker)
        if not self._closing:
            log.warning("worker %d ended with status %s", worker.pid, worker.process.returncode)
            self._spawn(self._replace(), "replace")

    async def _replace(self) -> None:
        while not self._closing:
            try:
                await self._add()
            except (OSError, TimeoutError, ProcessLost) as error:
                log.error(  # noqa: TRY400  (a traceback says nothing here)
                    "a worker could not be started: %s", type(error).__name__
                )
                await asyncio.sleep(RESTART_PAUSE_S)
            else:
                return

    def _spawn(self, work: Any, name: str) -> None:
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)


def executor_of(settings: Settings) -> Executor:
    """The executor that the settings describe; its workers import what answers requests."""
    return Executor(
        workers=settings.workers,
        queue_depth=settings.queue_depth,
        start_timeout_s=settings.worker_start_timeout_s,
        preload=ANSWERING,
    )
