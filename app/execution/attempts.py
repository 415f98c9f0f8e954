"""A call in worker processes: again when its worker died, in parts when it was split, and ended when nobody waits."""

from __future__ import annotations

import asyncio
import pickle
import time
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, replace
from typing import Any

from ..errors import OutOfMemory, WorkerLost
from .dispatcher import Dispatcher, WorkerCall
from .ipc import Function
from .process import CallParked, ProcessLost, ProcessOutOfMemory, WorkerProcess
from .scheduler import Call, Scheduler
from .split import Split
from .throughput import Throughput

ATTEMPTS = 2
# How long a call may still run once its last caller has left. Otherwise clients that disconnect at once would have
# workers killed and warmed up again all the time.
LEAVING_S = 0.2


@dataclass(frozen=True, slots=True)
class Attempts:
    """Runs calls that were accepted; `spawn` runs a task that nobody waits for."""

    scheduler: Scheduler
    dispatcher: Dispatcher
    throughput: Throughput
    spawn: Callable[[Coroutine[Any, Any, None]], None]

    async def call(self, work: WorkerCall, function: Function, job: object) -> Any:
        """One call with its attempts."""
        self.scheduler.enter(work.call)
        try:
            pickled = pickle.dumps((function, job), pickle.HIGHEST_PROTOCOL)
            return await self._answer(replace(work, pickled=pickled))
        finally:
            self.scheduler.leave(work.call)

    async def joined(self, first: WorkerCall, split: Split) -> Any:
        """The result of a call that was split. Its parts have the same deadline, end together, and are retried alone.

        They are accepted already, so no queue refuses them; they wait there like others. Only `at_once` of them do, so
        that the calls of others come in between.
        """
        at_once = asyncio.Semaphore(split.at_once)

        async def run(function: Function, job: object, body: bytes | bytearray, seconds: float) -> Any:
            call = Call(seconds, len(body), first.call.ends_by, state="off")
            async with at_once:
                return await self.call(replace(first, call=call, body=body), function, job)

        if not first.flight.plan(split.seconds / split.at_once + split.join_seconds):
            await asyncio.Event().wait()  # nobody waits that long, and the last to leave cancels this
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
        """One attempt. When it ends, for whatever reason, the call no longer runs and its worker is idle or killed."""
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
        """Nobody waits for this call: let it end by itself for `LEAVING_S`, then kill its worker."""
        try:
            await asyncio.wait({talk}, timeout=LEAVING_S)
        finally:
            if not talk.done() or isinstance(talk.exception(), ProcessLost):
                worker.kill(work.flight.ending)
                talk.cancel()
            if (
                time.monotonic() - work.call.began > work.call.seconds
            ):  # else it may be its caller who was quick
                self._ended(work.call, worker)
            else:
                self.dispatcher.release(work.call, worker, again=False)
