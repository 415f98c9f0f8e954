"""Calls in worker processes, with bounded queues, deadlines, one retry, and cancellation when nobody waits.

One web process and separate workers, rather than several web processes: a worker that is killed, crashes or
runs out of memory does not affect other requests. (`concurrent.futures.ProcessPoolExecutor` fails every
pending call when one worker dies; `anyio.to_process` starts workers cold after a cancellation.)

`scheduler` decides which call may run (and draws the states of a call), `Attempts` runs it, `Dispatcher` hands it to a
worker, `pool` keeps the processes and watches their memory and progress, `shared_answers` lets identical calls share one
computation.
"""

from __future__ import annotations

import asyncio
import math
import pickle
import time
from collections import Counter
from collections.abc import Callable, Coroutine, Hashable
from dataclasses import dataclass, replace
from typing import Any

from ..errors import OutOfMemory, Overloaded, WorkerLost
from .ipc import Function, Split
from .pool import Pool, Supervisor
from .process import CallParked, ProcessLost, ProcessOutOfMemory, WorkerProcess
from .scheduler import Bounds, Call, Reason, Scheduler, Throughput
from .shared_answers import Flight, SingleFlight

SENTENCES = {
    "queue_depth": "All workers are busy and the queue is full. Try again a little later.",
    "queue_seconds": "So much work is queued that this request would wait too long. Try again later.",
    "queue_bytes": "The bodies in the queue use all the memory reserved for them. Try again a little later.",
    "stopping": "The service is shutting down. Try again elsewhere or later.",
}


class Dispatcher:
    """Carries out the decisions of the scheduler: waits, hands over, and refuses."""

    def __init__(
        self,
        scheduler: Scheduler,
        pool: Pool,
        throughput: Throughput,
        supervisor: Supervisor,
        least_retry_after_s: int,
    ) -> None:
        self.rejections: Counter[str] = Counter()
        self.closed = False
        self._scheduler = scheduler
        self._pool = pool
        self._throughput = throughput
        self._supervisor = supervisor
        self._least_retry_after_s = least_retry_after_s
        pool.on_warm = self._dispatch
        supervisor.on_overrun = self._dispatch

    def close(self) -> None:
        """Refuse waiting and new callers with `Overloaded`."""
        self.closed = True
        for call in self._scheduler.clear():
            if not call.waiter.done():
                call.waiter.set_exception(Overloaded(SENTENCES["stopping"]))

    async def acquire(self, call: Call, *, first: bool) -> WorkerProcess:
        """Wait for a worker.

        A call that already had one is never refused: it was parked, or its worker died (then it is `first`).

        Raises
        ------
            Overloaded: the queue is full.
        """
        now = time.monotonic()
        if self.closed:
            raise self.refused("stopping", call)
        if not self._scheduler.waiting() and not self._scheduler.running():
            self._supervisor.progress.note(now)
        if call.state == "new":
            worker = self._pool.take() if self._scheduler.may_begin(call) else None
            if worker is not None:
                self._begin(call, worker, now)
                return worker
            if reason := self._scheduler.refusal(call, now):
                raise self.refused(reason, call)
        call.waiter = asyncio.get_running_loop().create_future()
        self._scheduler.wait(call, first=first)
        self._dispatch()
        try:
            worker_process: WorkerProcess = await call.waiter
        except asyncio.CancelledError:
            # The worker may have been handed over just when the caller gave up.
            if not call.waiter.cancelled() and call.waiter.exception() is None:
                self.release(call, call.waiter.result(), again=False)
            raise
        return worker_process

    def release(self, call: Call, worker: WorkerProcess, *, again: bool) -> None:
        """Take the call from its worker, which becomes idle unless it was killed."""
        self._scheduler.stop(call, again=again)
        self._supervisor.busy.pop(worker, None)
        self._supervisor.progress.note(time.monotonic())
        self._pool.give_back(worker)
        self._dispatch()

    def plan(self, call: Call, seconds: float) -> bool:
        """Return whether a running call may continue, now that its duration is predicted."""
        may_continue = not call.abandoned and self._scheduler.plan(call, seconds, time.monotonic()) == "go"
        self._dispatch()  # with a long call running, a waiting short one may start
        return may_continue

    def refused(self, reason: str, call: Call) -> Overloaded:
        """Return the error for a refused call, with the time to retry after."""
        self.rejections[reason] += 1
        wait = self._throughput.retry_after_s(
            self._scheduler,
            call.queue,
            self._pool.size,
            time.monotonic(),
            self._least_retry_after_s,
            call.seconds,
        )
        return Overloaded(SENTENCES[reason], retry_after_s=wait)

    def _dispatch(self) -> None:
        """Give waiting calls to idle workers."""
        while self._scheduler.waiting() and (worker := self._pool.take()) is not None:
            call = self._scheduler.next()
            if (
                call is None or call.waiter.done()
            ):  # only long calls wait and no more may run, or the caller has given up
                self._pool.give_back(worker)
                if call is None:
                    return
                continue
            self._begin(call, worker, time.monotonic())
            call.waiter.set_result(worker)

    def _begin(self, call: Call, worker: WorkerProcess, now: float) -> None:
        self._scheduler.begin(call, now)
        self._supervisor.busy[worker] = call


@dataclass(frozen=True, slots=True)
class WorkerCall:
    """One pickled call to a worker, and the answers to its notices; a `Notices`."""

    pickled: bytes
    body: bytes | bytearray
    call: Call
    flight: Flight
    dispatcher: Dispatcher
    ask_above_s: float
    start: float
    longest_s: float

    async def run(self, worker: WorkerProcess) -> Any:
        """Send the call, answer its notices, and return its result or raise its error."""
        return await worker.call(self.pickled, self.body, self, self.ask_above_s)

    def deadline(self, seconds: float) -> None:
        """Set the deadline from the body."""
        self.call.ends_by = self.start + min(seconds, self.longest_s)
        self.flight.deadline(seconds)

    def plan(self, seconds: float) -> bool:
        """Return whether a call that turns out long may run now: a caller waits long enough, and a process is free."""
        return self.flight.plan(seconds) and self.dispatcher.plan(self.call, seconds)


ATTEMPTS = 2
# How long a call may still run once its last caller has left, so that clients that disconnect at once do not make
# workers restart all the time.
LEAVING_S = 0.2


@dataclass(frozen=True, slots=True)
class Attempts:
    """Runs accepted calls; `spawn` runs a task that nobody waits for."""

    scheduler: Scheduler
    dispatcher: Dispatcher
    throughput: Throughput
    spawn: Callable[[Coroutine[Any, Any, None]], None]

    async def call(self, work: WorkerCall, function: Function, job: object) -> Any:
        """Run a call, retrying once if its worker dies."""
        self.scheduler.enter(work.call)
        try:
            pickled = pickle.dumps((function, job), pickle.HIGHEST_PROTOCOL)
            return await self._answer(replace(work, pickled=pickled))
        finally:
            self.scheduler.leave(work.call)

    async def joined(self, first: WorkerCall, split: Split) -> Any:
        """Return the result of a split call. Its parts share the deadline, end together, and are retried separately.

        They are already accepted, so no queue refuses them; they wait there like others, at most `at_once` at a time,
        so that other calls come in between.
        """
        at_once = asyncio.Semaphore(split.at_once)

        async def run(function: Function, job: object, body: bytes | bytearray, seconds: float) -> Any:
            call = Call(seconds, len(body), first.call.ends_by, state="off")
            async with at_once:
                return await self.call(replace(first, call=call, body=body), function, job)

        if not first.flight.plan(split.seconds / split.at_once + split.join_seconds):
            await asyncio.Event().wait()  # nobody waits that long: the last to leave cancels this
        try:
            async with asyncio.TaskGroup() as group:
                parts = [
                    group.create_task(run(split.function, part.job, split.body, part.seconds))
                    for part in split.parts
                ]
        except BaseExceptionGroup as errors:
            raise errors.exceptions[0] from None
        results = tuple(part.result() for part in parts)
        return await run(split.join, (split.job, results), first.body, split.join_seconds)

    async def _answer(self, work: WorkerCall) -> Any:
        lost = 0
        while lost < ATTEMPTS:
            worker = await self.dispatcher.acquire(work.call, first=lost > 0)
            try:
                return await self._run(work, worker)
            except CallParked:
                if work.call.refused is not None:
                    raise self.dispatcher.refused(work.call.refused, work.call) from None
            except ProcessOutOfMemory:
                detail = "The test needed more memory than a worker may use. Choose a cheaper method, or send less data."
                raise OutOfMemory(detail) from None
            except ProcessLost:
                lost += 1
        raise WorkerLost("The process that computed this test died twice. There is no answer.")

    async def _run(self, work: WorkerCall, worker: WorkerProcess) -> Any:
        """Make one attempt. However it ends, the call no longer runs and its worker is idle or killed."""
        call = work.call
        talk = asyncio.get_running_loop().create_task(work.run(worker))
        talk.add_done_callback(
            lambda task: task.cancelled() or task.exception()
        )  # retrieve the exception even if nobody waits
        try:
            result = await asyncio.shield(talk)
        except asyncio.CancelledError:
            call.abandoned = True
            self.spawn(self._let_end(work, worker, talk))
            raise
        except ProcessLost as error:
            worker.kill("memory" if isinstance(error, ProcessOutOfMemory) else "died")
            self.dispatcher.release(call, worker, again=True)
            if worker.ending == "memory":
                raise ProcessOutOfMemory from error
            raise
        except CallParked:
            self.dispatcher.release(call, worker, again=True)
            raise
        except BaseException:  # raised by the function; the worker is fine
            self._ended(call, worker)
            raise
        self._ended(call, worker)
        return result

    def _ended(self, call: Call, worker: WorkerProcess) -> None:
        self.throughput.ended(call.queue, call.seconds, time.monotonic() - call.began)
        self.dispatcher.release(call, worker, again=False)

    async def _let_end(self, work: WorkerCall, worker: WorkerProcess, talk: asyncio.Task[Any]) -> None:
        """Give a call that nobody waits for `LEAVING_S` to end, then kill its worker."""
        try:
            await asyncio.wait({talk}, timeout=LEAVING_S)
        finally:
            if not talk.done() or isinstance(talk.exception(), ProcessLost):
                worker.kill(work.flight.ending)
                talk.cancel()
            if time.monotonic() - work.call.began > work.call.seconds:  # else its caller may have been quick
                self._ended(work.call, worker)
            else:
                self.dispatcher.release(work.call, worker, again=False)


UNBOUNDED_BYTES = 1 << 40


class Executor:
    """Runs `function(job, body, control)` in one of `workers` processes, `long_places` of which may run long calls.

    While no long call runs, at most `usual` processes are used. A call that is predicted to take more than
    `most_over_deadline` times its deadline is not run. `preload` is a module that workers import as soon as they start,
    while this process may still be importing.
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
        self._throughput = Throughput(long_s)
        self._scheduler = Scheduler(
            long_places=workers if long_places is None else long_places,
            usual=usual,
            long_s=long_s,
            bounds=Bounds(queue_depth, queue_seconds, queue_bytes),
        )
        self._pool = Pool(
            size=workers, start_timeout_s=start_timeout_s, memory_bytes=memory_bytes, preload=preload
        )
        self._supervisor = Supervisor(self._pool, self._scheduler, memory_bytes, stall_s)
        self._dispatcher = Dispatcher(
            self._scheduler, self._pool, self._throughput, self._supervisor, least_retry_after_s
        )
        self._attempts = Attempts(self._scheduler, self._dispatcher, self._throughput, self._spawn)

    # -- life ---------------------------------------------------------------------------------------------

    def warm_up_with(self, function: Function, job: object) -> None:
        """Set what every new worker runs first, before `start`: imports and first-use costs."""
        self._pool.warm_up_with(function, job)

    def begin(self) -> None:
        """Fork the fork server, which then imports in parallel; `start` waits for it.

        Call it only before there are threads and an event loop; otherwise `start` starts a new process.
        """
        self._pool.begin(by_fork=True)

    async def start(self) -> None:
        """Start all workers and wait until every one is warm."""
        await self._pool.start()
        self._spawn(self._supervisor.watch())

    async def stop(self) -> None:
        """End all workers at once; waiting callers get `Overloaded`."""
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
        """Whether work is pending and no worker has made progress for `stall_s`."""
        return self._supervisor.stalled

    @property
    def queued(self) -> int:
        """The number of calls that wait for a worker."""
        return self._scheduler.waiting()

    @property
    def running(self) -> int:
        """The number of calls that run in a worker."""
        return self._scheduler.running()

    @property
    def pending_seconds(self) -> float:
        """Predicted seconds of the calls that wait or run."""
        return self._scheduler.pending_s(time.monotonic())

    @property
    def restarts(self) -> Counter[str]:
        """The number of replaced workers, by reason."""
        return self._pool.restarts

    @property
    def rejections(self) -> Counter[str]:
        """The number of refused calls, by reason."""
        return self._dispatcher.rejections

    @property
    def pids(self) -> tuple[int, ...]:
        """Process ids of the warm workers."""
        return self._pool.pids

    @property
    def full(self) -> bool:
        """Whether a call of the usual length would be refused now."""
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
        """Run one call in a worker and return its result, or raise its exception; see `run_shared`."""
        result, _ = await self.run_shared(object(), function, job, body, deadline_s, longest_s)
        return result

    def under_way(self, key: Hashable) -> bool:
        """Return whether a call with this key waits or runs."""
        return key in self._flights

    def refuse_unless_room(self, key: Hashable, size: int, predicted_s: float = 0.0) -> None:
        """Raise `Overloaded` if no identical call is in flight and the queue has no room."""
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
        keep: Callable[[Any], None] = lambda _: None,
    ) -> tuple[Any, bool]:
        """Run one call, or wait for one with the same key that is in flight; also return whether it was shared.

        The deadline counts from now and includes waiting. The function may set another one, once it has read the body,
        up to `longest_s` (default `deadline_s`). When the last caller reaches its deadline or is cancelled, the worker
        is killed and replaced. A call whose worker dies is retried once. `predicted_s` is the prediction before the
        body is read, in seconds. A function that returns a `Split` has its result computed by several workers. `keep`
        gets the result once, while the key is still in flight, so that a later call finds one or the other.

        Raises
        ------
            Overloaded: the queue is full.
            DeadlineExceeded: the deadline passed.
            TooLong: the function predicted that it would take far longer than its deadline.
            OutOfMemory: the call reached the memory limit of a worker.
            WorkerLost: two workers in turn died under this call.
        """
        longest_s = longest_s or deadline_s
        start = time.monotonic()
        call = Call(max(predicted_s, self._throughput.usual_s), len(body), start + deadline_s)

        async def compute(flight: Flight) -> Any:
            first = WorkerCall(
                b"", body, call, flight, self._dispatcher, self._scheduler.long_s, start, longest_s
            )
            result = await self._attempts.call(first, function, job)
            if isinstance(result, Split):
                result = await self._attempts.joined(first, result)
            keep(result)
            return result

        return await self._flights.join(key, compute, deadline_s, longest_s)

    def _spawn(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
