"""Calls in worker processes: a bounded queue before them, a deadline for each, one retry, no work for nobody.

One web process and separate workers, rather than several web processes: a worker that is killed, crashes or
runs out of memory takes nobody else's request with it. (`concurrent.futures.ProcessPoolExecutor` fails every
pending call when one worker dies; `anyio.to_process` starts workers cold after a cancellation.)

Who may run is for `lanes` to say, where the states of a call are drawn; `queue` brings calls and workers together, `pool`
keeps the processes, `flights` lets identical calls share one computation, `pace` measures, and `supervisor` looks after
memory and progress.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import time
from collections import Counter
from collections.abc import Coroutine, Hashable
from dataclasses import dataclass
from typing import Any

from ..errors import OutOfMemory, WorkerLost
from .dispatcher import Dispatcher
from .pool import Function, Pool
from .process import ProcessLost, ProcessOutOfMemory, PutOff, WorkerProcess
from .scheduler import Bounds, Call, QueueName, Reason, Scheduler
from .single_flight import Flight, SingleFlight
from .supervisor import Supervisor
from .throughput import Throughput

ATTEMPTS = 2
# A call whose caller has left may end by itself for so long: the workers of clients that come and go at once
# would otherwise be killed and warmed up again all the time.
LEAVING_S = 0.2
UNBOUNDED_BYTES = 1 << 40


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """One call to a worker, pickled, and what answers the worker's notices; a `Notices`."""

    pickled: bytes
    body: bytes | bytearray
    call: Call
    flight: Flight
    dispatcher: Dispatcher
    ask_above_s: float
    start: float
    longest_s: float

    async def run(self, worker: WorkerProcess) -> Any:
        """Send the call, answer the questions, return the result or raise what came instead."""
        return await worker.call(self.pickled, self.body, self, self.ask_above_s)

    def deadline(self, seconds: float) -> None:
        """The body says when it wants to end."""
        self.call.ends_by = self.start + min(seconds, self.longest_s)
        self.flight.deadline(seconds)

    def plan(self, seconds: float) -> bool:
        """Whether a call that turns out long may run now: somebody waits that long, and there is a place for it."""
        return self.flight.plan(seconds) and self.dispatcher.plan(self.call, seconds)


class Executor:
    """Runs `function(job, body, control)` in one of `workers` processes, `long_places` of which may run long calls.

    As long as no long call runs, no more than `usual` processes run any.

    `warm_up` is run once in every new worker before it gets work: imports and first-use costs; it may be set until
    `start`. A call that is predicted to take more than `most_over_deadline` times its deadline is not run. `preload` is
    a module that workers import as soon as they run, while this process may still be importing.
    """

    def __init__(
        self,
        *,
        workers: int,
        queue_depth: int,
        start_timeout_s: float,
        preload: str = "",
        long_places: int | None = None,
        usual: int | None = None,
        long_s: float = 0.5,
        queue_seconds: float = 120.0,
        queue_bytes: int = UNBOUNDED_BYTES,
        memory_bytes: int = UNBOUNDED_BYTES,
        stall_s: float = 5.0,
        most_over_deadline: float = math.inf,
        least_retry_after_s: int = 1,
    ) -> None:
        self._tasks: set[asyncio.Task[None]] = set()
        self._flights = SingleFlight(most_over_deadline)
        self._throughput = Throughput()
        self._scheduler = Scheduler(
            long_places=workers if long_places is None else long_places,
            usual=usual,
            long_s=long_s,
            bounds=Bounds(queue_depth, queue_seconds, queue_bytes),
        )
        self._pool = Pool(
            size=workers,
            start_timeout_s=start_timeout_s,
            memory_bytes=memory_bytes,
            preload=preload,
        )
        self._supervisor = Supervisor(self._pool, self._scheduler, memory_bytes, stall_s)
        self._dispatcher = Dispatcher(
            self._scheduler, self._pool, self._throughput, self._supervisor, least_retry_after_s
        )

    # -- life ---------------------------------------------------------------------------------------------

    def warm_up_with(self, function: Function, job: object) -> None:
        """What every new worker runs first."""
        self._pool.warm_up = (function, job)

    async def begin(self) -> None:
        """Spawn the workers and leave them to import what they need; `start` waits for them."""
        await self._pool.begin()

    async def start(self) -> None:
        """Start all workers and wait until every one is warm."""
        await self._pool.start()
        self._spawn(self._supervisor.watch())

    async def stop(self) -> None:
        """End all workers at once; whoever still waits gets `Overloaded`."""
        self._dispatcher.close()
        await self._pool.stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    # -- gauges -------------------------------------------------------------------------------------------

    @property
    def ready(self) -> bool:
        """Whether calls can be taken: at least one warm worker, and not shutting down."""
        return bool(self._pool.pids) and not self._dispatcher.closed

    @property
    def stalled(self) -> bool:
        """Whether work is there and no worker has moved for a while."""
        return self._supervisor.stalled

    @property
    def queued(self) -> int:
        """How many calls wait for a worker."""
        return self._scheduler.waiting()

    @property
    def running(self) -> int:
        """How many calls run in a worker."""
        return self._scheduler.running()

    @property
    def pending_seconds(self) -> float:
        """Predicted seconds of work that wait or run."""
        return self._scheduler.pending_s(time.monotonic())

    @property
    def restarts(self) -> Counter[str]:
        """How many workers were replaced, by reason."""
        return self._pool.restarts

    @property
    def rejections(self) -> Counter[str]:
        """How many calls were refused, by reason."""
        return self._dispatcher.rejections

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the warm workers."""
        return self._pool.pids

    def drain_rate(self, queue: QueueName) -> float:
        """Predicted seconds of work that all processes together take off a queue in one second, as measured."""
        return self._throughput.drain_rate(queue, self._scheduler.serving(queue, self._pool.size))

    @property
    def full(self) -> bool:
        """Whether a call of which nothing is known would find no room in the queue now."""
        return self._refusal(Call(self._throughput.usual_s, 0, math.inf)) is not None

    # -- calls --------------------------------------------------------------------------------------------

    async def run(
        self,
        function: Function,
        job: object,
        body: bytes | bytearray,
        deadline_s: float,
        longest_s: float | None = None,
    ) -> Any:
        """Run one call in a worker and return its result, or raise what it raised; see `run_shared`."""
        result, _ = await self.run_shared(object(), function, job, body, deadline_s, longest_s)
        return result

    def under_way(self, key: Hashable) -> bool:
        """Whether a call of this key is being computed, or waits."""
        return key in self._flights

    def refuse_unless_room(self, key: Hashable, size: int, predicted_s: float = 0.0) -> None:
        """Refuse a call here and now rather than begin it, where it would be the first of its key and find no room.

        Raises
        ------
            Overloaded: the queue is full.
        """
        call = Call(max(predicted_s, self._throughput.usual_s), size, math.inf)
        if key not in self._flights and (reason := self._refusal(call)):
            raise self._dispatcher.refused(reason, call)

    def _refusal(self, call: Call) -> Reason | None:
        self._scheduler.enter(call)
        return None if self._scheduler.may_begin(call) else self._scheduler.refusal(call, time.monotonic())

    async def run_shared(
        self,
        key: Hashable,
        function: Function,
        job: object,
        body: bytes | bytearray,
        deadline_s: float,
        longest_s: float | None = None,
        predicted_s: float = 0.0,
    ) -> tuple[Any, bool]:
        """Run one call, or wait for one of the same key that is under way; say which.

        The deadline counts from now, waiting included; the function may set another one, once it has read in the
        body what the client wants, but none beyond `longest_s` (`deadline_s` when left out). At the deadline, or when
        the caller is cancelled, and nobody else waits for the same, the worker is killed and another one is warmed up
        in its place. A worker that dies by itself is retried once. `predicted_s` is what is known before the body is
        read.

        Raises
        ------
            Overloaded: the queue is full.
            DeadlineExceeded: the result was not there in time.
            TooLong: it would take far longer than its deadline, as the function predicted.
            OutOfMemory: the call reached the memory limit of a worker.
            WorkerLost: two workers in turn died under this call.
        """
        longest_s = longest_s or deadline_s
        start = time.monotonic()
        call = Call(max(predicted_s, self._throughput.usual_s), len(body), start + deadline_s)

        async def compute(flight: Flight) -> Any:
            pickled = pickle.dumps((function, job), pickle.HIGHEST_PROTOCOL)
            self._scheduler.enter(call)
            try:
                return await self._attempts(
                    WorkerCall(
                        pickled,
                        body,
                        call,
                        flight,
                        self._dispatcher,
                        self._scheduler.long_s,
                        start,
                        longest_s,
                    )
                )
            finally:
                self._scheduler.leave(call)

        return await self._flights.join(key, compute, deadline_s, longest_s)

    async def _attempts(self, work: WorkerCall) -> Any:
        lost = 0
        while lost < ATTEMPTS:
            worker = await self._dispatcher.acquire(work.call, first=lost > 0)
            try:
                return await self._run(work, worker)
            except PutOff:
                if work.call.refused is not None:
                    raise self._dispatcher.refused(work.call.refused, work.call) from None
            except ProcessOutOfMemory:
                detail = "The test needed more memory than a worker may use. Ask for a cheaper method, or send less."
                raise OutOfMemory(detail) from None
            except ProcessLost:
                lost += 1
        raise WorkerLost("The process that computed this test died, twice. Nothing is known of the answer.")

    async def _run(self, work: WorkerCall, worker: WorkerProcess) -> Any:
        """One attempt. However it ends, the call does not run any more, and its worker is idle or killed."""
        call = work.call
        talk = asyncio.get_running_loop().create_task(work.run(worker))
        talk.add_done_callback(lambda task: task.cancelled() or task.exception())  # seen, whoever waits
        try:
            result = await asyncio.shield(talk)
        except asyncio.CancelledError:
            call.abandoned = True
            self._spawn(self._let_end(work, worker, talk))
            raise
        except ProcessLost as error:
            worker.kill("memory" if isinstance(error, ProcessOutOfMemory) else "died")
            self._dispatcher.release(call, worker, again=True)
            if worker.ending == "memory":
                raise ProcessOutOfMemory from error
            raise
        except PutOff:
            self._dispatcher.release(call, worker, again=True)
            raise
        except BaseException:  # what the function raised; the worker is well
            self._dispatcher.release(call, worker, again=False)
            raise
        took = time.monotonic() - call.began
        self._throughput.ended(call.queue, call.seconds, took)
        self._dispatcher.release(call, worker, again=False)
        return result

    async def _let_end(self, work: WorkerCall, worker: WorkerProcess, talk: asyncio.Task[Any]) -> None:
        """Nobody waits for this call any more: let it end within a moment, or end its worker."""
        try:
            await asyncio.wait({talk}, timeout=LEAVING_S)
        finally:
            if not talk.done() or isinstance(talk.exception(), ProcessLost):
                worker.kill(work.flight.ending)
                talk.cancel()
            self._dispatcher.release(work.call, worker, again=False)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
