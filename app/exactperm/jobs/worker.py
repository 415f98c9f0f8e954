"""One worker host:

`python -m exactperm worker`. Threads of the engine claim chunks; the processes of an executor compute them. No
exception may leave a workflow, because the engine would mark it as failed for good, and its job would never end. So a
workflow waits for a lost database, and any other error ends the job with a problem.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import json
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Any, TypeVar

from ..errors import ExactpermError, Flaw, PlanTooLarge, WorkerLost
from ..execution.executor import Executor
from ..execution.pool import NotStarted
from ..inference.paired import ALGORITHM_VERSION
from ..service import problems
from ..service.kinds import JSON
from ..service.messages import OF_THE_CALL, RenderedResponse
from ..settings import Settings
from ..workers import set_warm_up
from .database import engine_of, identity_of, reachable
from .gateway import job_limits
from .model import ACTIVE, BATCH, StoreAway, Stored, Work
from .queue import PER_TRANSACTION, Queue, Runner
from .store import Heartbeat, Store
from .work import Task, compute

log = logging.getLogger(__name__)
T = TypeVar("T")

FIRST_PAUSE_S, LONGEST_PAUSE_S = 0.05, 1.0
HELD_BYTES = 2**28  # cached inputs of the jobs that this host computes


def insist(action: Callable[[], T]) -> T:
    """Try again with a growing pause until the database is back."""
    pause = FIRST_PAUSE_S
    while True:
        try:
            with reachable():
                return action()
        except StoreAway as away:
            if pause == FIRST_PAUSE_S:
                log.warning("the database of jobs is away; waiting for it: %s", away)
            time.sleep(pause)
            pause = min(LONGEST_PAUSE_S, 2 * pause)


class Chunks:
    """Computes chunks for the engine's threads, in the processes of an executor that lives in `loop`."""

    def __init__(
        self,
        store: Store,
        queue: Queue,
        executor: Executor,
        loop: asyncio.AbstractEventLoop,
        settings: Settings,
        host: str,
    ) -> None:
        self._store = store
        self._queue = queue
        self._executor = executor
        self._loop = loop
        self._limits = job_limits(settings)
        self._host = host
        self._result_bytes = settings.job_result_bytes
        self._ending = False
        self._running: dict[tuple[str, int], concurrent.futures.Future[Any]] = {}
        self._inputs: OrderedDict[tuple[str, int], bytes] = OrderedDict()
        self._lock = threading.Lock()

    def computing(self) -> set[str]:
        """Return the jobs whose chunks are being computed."""
        with self._lock:
            return {job for job, _ in self._running}

    def stop(self, jobs: set[str]) -> None:
        """Cancel the running chunks of some jobs."""
        with self._lock:
            for (job, _), future in self._running.items():
                if job in jobs:
                    future.cancel()

    def plan(self, job: str, owner: str, chunks: int) -> int:
        """Enqueue the chunks of a long job; a rerun enqueues the missing ones."""
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
        """Compute one chunk unless it has a result, and close the job after the last one; 1 if it was computed."""
        try:
            work = insist(lambda: self._store.work(job))
            if work is None or work.state not in ACTIVE:
                return 0
            if work.state == "queued":
                insist(lambda: self._store.begin(job))
            computed = 0
            if not insist(lambda: self._store.parts(job, number, 1)):
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
        """Leave the running chunks to other hosts, as this one ends."""
        self._ending = True

    def _go_on(self) -> None:
        """Return unless this host ends; then the chunk is neither done nor failed, and its thread waits for the end."""
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
        cut = work.chunks[number]
        tests = cut if work.kind == BATCH else sum(stop - start for _, start, stop in cut)
        kept = insist(lambda: self._store.put_part(job, number, result, tests, self._host))
        if not kept:
            log.info("a late result was not kept: %s:%d", job, number)
        self._require_room(insist(lambda: self._store.measured(job)).size)
        return 1

    def _require_room(self, size: int) -> None:
        """Raise PlanTooLarge if the results of a job exceed their limit."""
        if size > self._result_bytes:
            detail = (
                f"The results of this job take more than {self._result_bytes:,} bytes, the limit of this server. "
                "Submit it in parts, or ask for smaller answers (pmf none, pairs significant)."
            )
            raise PlanTooLarge(detail, flaws=(Flaw("/request", "result_too_large", detail),))

    def _close(self, job: str, work: Work) -> None:
        """Join the chunks once all have results; two hosts may do so at once, and one of them ends the job."""
        if insist(lambda: self._store.measured(job)).chunks < len(work.chunks):
            return
        if work.kind == BATCH:
            insist(lambda: self._store.succeed(job, None))
            return
        body = self._input(job, 0)
        parts = insist(lambda: self._store.parts(job, 0, len(work.chunks)))
        if body is None or len(parts) < len(work.chunks):
            return  # the other host was quicker
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
        """End a job whose chunk the engine could not run."""
        error = WorkerLost("A chunk of this job could not be run. There is no answer.")
        self._fail(job, problems.of_error(error, job, media_type=JSON))

    def _run(self, job: str, number: int, task: Task, body: bytes) -> Any:
        """Run a call in a process; raises CancelledError if the job was cancelled."""
        call = self._executor.run(compute, task, body, self._limits.max_timeout_s)
        future = asyncio.run_coroutine_threadsafe(call, self._loop)
        with self._lock:
            self._running[job, number] = future
        try:
            return future.result()
        finally:
            with self._lock:
                self._running.pop((job, number), None)

    def _input(self, job: str, piece: int) -> bytes | None:
        """Return a piece of the input; those of the last jobs are cached."""
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
    """Return an answer to store, without the headers of this response only."""
    headers = tuple((name, value) for name, value in answer.headers if name not in OF_THE_CALL)
    return Stored(answer.status, headers, answer.before, answer.own, answer.after)


NICENESS = 5  # tests of the service come first
COMPUTING = f"{__package__}.work"
PURGE_EVERY_S = 60.0
TELL_EVERY_S = 0.5
MANY = 1 << 20


def run(settings: Settings, *, with_parent: bool = False) -> None:
    """Work until SIGTERM or SIGINT, or until the end of a parent closes our standard input."""
    with contextlib.suppress(OSError):
        os.nice(NICENESS)
    executor = Executor(
        workers=settings.workers,
        queue_depth=MANY,
        queue_seconds=float("inf"),
        start_timeout_s=settings.worker_start_timeout_s,
        memory_bytes=settings.worker_memory_bytes,
        stall_s=settings.liveness_stall_s,
        preload=COMPUTING,
    )
    executor.begin()
    asyncio.run(_work(settings, executor, with_parent=with_parent))


async def _work(settings: Settings, executor: Executor, *, with_parent: bool) -> None:
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, ended.set)
    if with_parent:
        threading.Thread(target=_until_alone, args=(loop, ended), daemon=True).start()
    set_warm_up(executor, settings)
    try:
        await executor.start()
    except NotStarted as error:
        await executor.stop()
        raise SystemExit(str(error)) from None
    host = Host(settings, executor, loop)
    beating = asyncio.ensure_future(asyncio.to_thread(host.live))
    ending = asyncio.ensure_future(ended.wait())
    endless = {asyncio.ensure_future(_tell_parent())} if with_parent else set()
    await asyncio.wait({beating, ending, *endless}, return_when=asyncio.FIRST_COMPLETED)
    ending.cancel()
    host.end()
    await executor.stop()
    await asyncio.wait({beating}, timeout=3.0)
    # Threads of the engine may still wait for a lost database.
    os._exit(0 if beating.done() and beating.exception() is None else 1)


def _until_alone(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """Wait until the parent closes its end of standard input; nothing is ever written to it."""
    with contextlib.suppress(OSError):  # the parent ended before reading everything
        while os.read(sys.stdin.fileno(), 1):
            pass
    loop.call_soon_threadsafe(ended.set)


async def _tell_parent() -> None:
    """Report to the parent that the event loop runs; unread bytes are dropped."""
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as parent:
        while True:
            with contextlib.suppress(OSError):
                parent.send(b".", socket.MSG_DONTWAIT)
            await asyncio.sleep(TELL_EVERY_S)


class StandsStill(Exception):
    """No process makes progress; other hosts must take over."""


class Host:
    """The heartbeat of a worker: reports life, stops cancelled chunks, takes over from silent hosts, and purges."""

    def __init__(self, settings: Settings, executor: Executor, loop: asyncio.AbstractEventLoop) -> None:
        self.ended = threading.Event()
        self._settings = settings
        self._engine = engine_of(settings.jobs_url)
        # A new name, because chunks of an earlier host of this name would be taken for ours.
        name = f"{socket.gethostname()[:40]}-{secrets.token_hex(4)}"
        self._store = Store(self._engine, settings.retention_s)
        self._queue = Queue(self._engine, ALGORITHM_VERSION)
        self._heart = Heartbeat(
            self._engine, name, settings.workers, ALGORITHM_VERSION, settings.job_silent_s
        )
        self._chunks = Chunks(self._store, self._queue, executor, loop, settings, name)
        self._name = name
        self._executor = executor
        self._still = 0  # heartbeats in a row without progress
        self._purged = -float("inf")

    def end(self) -> None:
        """Prepare for the end of the process."""
        self._chunks.end()
        self.ended.set()

    def live(self) -> None:
        """Beat until `ended`; raises StandsStill if the processes have made no progress for too long."""
        insist(self._store.create_tables)
        insist(self._queue.create_tables)
        insist(lambda: self._heart.beat(()))
        runner = Runner(self._engine, self._name, ALGORITHM_VERSION)
        settings = self._settings
        runner.launch(self._chunks.plan, self._chunks.chunk, settings.workers + 2, settings.job_poll_s)
        log.info("worker %s is ready", self._name)
        was_away, file = False, identity_of(self._engine)
        while not self.ended.wait(settings.job_beat_s) and not self._stands_still():
            try:
                with reachable():
                    # The database may come back as another file, even if this process never saw it away.
                    if was_away or identity_of(self._engine) != file:
                        self._store.create_tables()
                        self._queue.create_tables()
                        runner.register_queues()
                        file = identity_of(self._engine)
                    was_away = False
                    self._beat(runner)
            except StoreAway as away:
                was_away = True
                log.warning("the database of jobs is away: %s", away)
            except Exception:  # the heart goes on after any error
                log.exception("a heartbeat failed")
        with contextlib.suppress(StoreAway), reachable():
            self._heart.leave()
        if not self.ended.is_set():
            log.error("no process of this worker makes progress: it ends")
            raise StandsStill

    def _stands_still(self) -> bool:
        """Detect a lasting stall, counted in beats, so that a host stopped together with its processes goes on."""
        self._still = self._still + 1 if self._executor.stalled else 0
        return self._still * self._settings.job_beat_s > self._settings.liveness_stall_s

    def _beat(self, runner: Runner) -> None:
        silent, cancelled = self._heart.beat(self._chunks.computing())
        self._chunks.stop(cancelled)
        for host in silent:
            if taken := runner.take_over(host):
                log.warning("took over %d chunks from %s", taken, host)
            else:
                self._heart.forget(host)
        if time.monotonic() - self._purged >= PURGE_EVERY_S:
            self._purged = time.monotonic()
            self._sweep(runner)

    def _sweep(self, runner: Runner) -> None:
        for job in runner.broken():
            self._chunks.give_up(job)
        for job, chunks in self._store.purge():
            self._queue.forget(job, chunks)
