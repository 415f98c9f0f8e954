"""What a worker does with a chunk: read it, compute it in a process, keep the result, close the job.

No exception leaves a workflow, because the engine would mark it as failed for good and its job would never end: a database
that is away is waited for, and everything else is the end of the job, with a problem.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import json
import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import ExactpermError, Flaw, PlanTooLarge, WorkerLost
from ..execution.executor import Executor
from ..service import problems
from ..service.media_types import JSON
from ..service.messages import OF_THE_CALL, Limits, RenderedResponse
from .database import reachable
from .envelope import BATCH
from .model import ACTIVE, StoreAway, Stored, Work
from .queue import PER_TRANSACTION, Queue
from .store import Store
from .work import Task, compute

log = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
HELD_BYTES = 2**28  # inputs of jobs that this host computes chunks of


def insist(action: Callable[[], T]) -> T:
    """Try again with a growing pause until the database is back."""
    pause = FIRST_PAUSE_S
    while True:
        try:
            with reachable():
                return action()
        except StoreAway as away:
            if pause == FIRST_PAUSE_S:
                log.warning("the database of jobs is away, and waited for: %s", away)
            time.sleep(pause)
            pause = min(LONGEST_PAUSE_S, 2 * pause)


class Chunks:
    """Computes chunks for the threads of the engine, in the processes of an executor, which lives in `loop`."""

    def __init__(
        self,
        store: Store,
        queue: Queue,
        executor: Executor,
        loop: asyncio.AbstractEventLoop,
        limits: Limits,
        host: str,
        timeout_s: float,
        result_bytes: int,
    ) -> None:
        self._store = store
        self._queue = queue
        self._executor = executor
        self._loop = loop
        self._limits = limits
        self._host = host
        self._timeout_s = timeout_s
        self._result_bytes = result_bytes
        self._ending = False
        self._running: dict[tuple[str, int], concurrent.futures.Future[Any]] = {}
        self._inputs: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def computing(self) -> set[str]:
        """The jobs of which a chunk is computed now."""
        with self._lock:
            return {job for job, _ in self._running}

    def stop(self, jobs: set[str]) -> None:
        """Kill what is computed of some jobs."""
        with self._lock:
            for (job, _), future in self._running.items():
                if job in jobs:
                    future.cancel()

    def plan(self, job: str, owner: str, chunks: int) -> int:
        """Enqueue the chunks of a long job; run again it enqueues those that are missing."""
        for start in range(0, chunks, PER_TRANSACTION):
            some = range(start, min(start + PER_TRANSACTION, chunks))

            def put(some: range = some) -> None:
                with self._store.engine.begin() as connection:
                    self._queue.enqueue(connection, job, owner, some)

            work = insist(lambda: self._store.work(job))
            if work is None or work.state not in ACTIVE:
                return start
            insist(put)
        return chunks

    def chunk(self, job: str, number: int) -> int:
        """Compute one chunk unless its result is there, and close the job when it was the last; 1 if it was computed."""
        try:
            work = insist(lambda: self._store.work(job))
            if work is None or work.state not in ACTIVE:
                return 0
            if work.state == "queued":
                insist(lambda: self._store.begin(job))
            computed = 0
            if not insist(lambda: self._store.has_part(job, number)):
                computed = self._computed(job, number, work)
            self._close(job, work)
        except concurrent.futures.CancelledError:
            self._go_on()
            return 0
        except ExactpermError as error:
            self._go_on()
            self._fail(job, problems.of_error(error, job, media_type=JSON))
            return 0
        except Exception as error:  # noqa: BLE001  (whatever it is, the job must end)
            self._go_on()
            self._fail(job, problems.of_bug(error, job))
            return 0
        return computed

    def end(self) -> None:
        """Leave what is computed here to others: this host ends."""
        self._ending = True

    def _go_on(self) -> None:
        """Return unless this host ends: then the chunk is neither done nor failed, and its thread waits for the end."""
        if self._ending:
            threading.Event().wait()

    def _computed(self, job: str, number: int, work: Work) -> int:
        piece = number if work.kind == BATCH else 0
        body = self._input(job, piece)
        if body is None:  # the job has ended
            return 0
        task = Task(work.kind, work.head, work.chunks[number], self._limits, f"{job}:{number}")
        result = self._run(job, number, task, body)
        if isinstance(result, RenderedResponse):
            self._answered(job, result)
            return 1
        tests = work.chunks[number] if work.kind == BATCH else _tests(work.chunks[number])
        kept = insist(lambda: self._store.put_part(job, number, result, tests, self._host))
        if not kept:
            log.info("a late result was not kept: %s:%d", job, number)
        self._require_room(insist(lambda: self._store.part_bytes(job)))
        return 1

    def _require_room(self, size: int) -> None:
        """Raise PlanTooLarge where the results of a job take more than there is for one."""
        if size > self._result_bytes:
            detail = (
                f"The results of this job take more than {self._result_bytes:,} bytes, the limit of this server. "
                "Submit it in parts, or ask for smaller answers (pmf none, pairs significant)."
            )
            raise PlanTooLarge(detail, flaws=(Flaw("/request", "result_too_large", detail),))

    def _close(self, job: str, work: Work) -> None:
        """Join the chunks once all are there; two hosts may do it at once, and one of them ends the job."""
        if insist(lambda: self._store.part_count(job)) < len(work.chunks):
            return
        if work.kind == BATCH:
            insist(lambda: self._store.succeed(job, None))
            return
        body = self._input(job, 0)
        parts = insist(lambda: self._store.parts(job, 0, len(work.chunks)))
        if body is None or len(parts) < len(work.chunks):
            return  # the other one was quicker
        task = Task(work.kind, work.head, work.chunks, self._limits, job, tuple(parts))
        self._answered(job, self._run(job, -1, task, body))

    def _answered(self, job: str, answer: RenderedResponse) -> None:
        if answer.began_at is None:  # a problem
            self._fail(job, answer)
            return
        self._require_room(answer.size)
        stored = stored_of(answer)
        insist(lambda: self._store.succeed(job, stored))

    def _fail(self, job: str, answer: RenderedResponse) -> None:
        problem = answer.body.decode()
        if insist(lambda: self._store.fail(job, problem)):
            log.warning("a job failed: %s (%s)", job, json.loads(problem)["type"])

    def give_up(self, job: str) -> None:
        """The engine could not run a chunk of a job."""
        error = WorkerLost("A chunk of this job could not be run. There is no answer.")
        self._fail(job, problems.of_error(error, job, media_type=JSON))

    def _run(self, job: str, number: int, task: Task, body: bytes) -> Any:
        """In a process; raises CancelledError when the job was cancelled."""
        call = self._executor.run(compute, task, body, self._timeout_s)
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        with self._lock:
            self._running[job, number] = future
        try:
            return future.result()
        finally:
            with self._lock:
                self._running.pop((job, number), None)

    def _input(self, job: str, piece: int) -> bytes | None:
        """A piece of the input; those of the last jobs are held."""
        with self._lock:
            held = self._inputs.get((job, piece))
        if held is not None:
            return held
        content = insist(lambda: self._store.input(job, piece))
        if content is not None and piece == 0:
            with self._lock:
                self._inputs[job, piece] = content
                while sum(map(len, self._inputs.values())) > HELD_BYTES:
                    self._inputs.popitem(last=False)
        return content


def stored_of(answer: RenderedResponse) -> Stored:
    """An answer without what is about this one sending of it."""
    headers = tuple((name, value) for name, value in answer.headers if name not in OF_THE_CALL)
    return Stored(answer.status, headers, answer.before, answer.own, answer.after)


def _tests(slices: Any) -> int:
    return sum(stop - start for _, start, stop in slices)
