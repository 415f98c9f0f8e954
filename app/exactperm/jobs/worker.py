"""One worker host: `python -m exactperm worker`. Threads of the engine claim chunks, the processes of an executor compute them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import signal
import socket
import sys
import threading
import time
from functools import partial

from ..execution.executor import Executor
from ..execution.pool import NotStarted
from ..inference.paired_test import ALGORITHM_VERSION
from ..service.limits import limits_of
from ..service.messages import Body, Job as Call
from ..settings import Settings
from ..worker_start import start_worker
from .chunks import Chunks, insist
from .connected import job_limits
from .database import engine_of, identity_of, reachable
from .hosts import Heart
from .model import StoreAway
from .queue import Queue, Runner
from .store import Store

log = logging.getLogger(__name__)

NICENESS = 5  # tests of the service come first
COMPUTING = f"{__package__}.work"
PURGE_EVERY_S = 60.0
TELL_EVERY_S = 0.5
MANY = 1 << 20


def run(settings: Settings, *, with_parent: bool = False) -> None:
    """Work until SIGTERM or SIGINT; with a parent also until that ends, which closes our standard input."""
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
    at = time.monotonic()
    first = Call("scores", Body("application/json"), (), "json", "warm-up", at, at, limits_of(settings))
    executor.warm_up_with(partial(start_worker, settings.log_format, settings.log_tracebacks), first)
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
    # Threads of the engine may wait for a database that is away.
    os._exit(0 if beating.done() and beating.exception() is None else 1)


def _until_alone(loop: asyncio.AbstractEventLoop, ended: asyncio.Event) -> None:
    """The parent holds the other end of standard input; nothing is ever written to it."""
    with contextlib.suppress(OSError):  # it ended before it had heard all
        while os.read(sys.stdin.fileno(), 1):
            pass
    loop.call_soon_threadsafe(ended.set)


async def _tell_parent() -> None:
    """Say that the event loop turns; what the parent does not hear is dropped."""
    with socket.socket(fileno=os.dup(sys.stdin.fileno())) as parent:
        while True:
            with contextlib.suppress(OSError):
                parent.send(b".", socket.MSG_DONTWAIT)
            await asyncio.sleep(TELL_EVERY_S)


class StandsStill(Exception):
    """None of the processes makes progress: others shall take over what they compute."""


class Host:
    """The heartbeat of a worker: says that it lives, stops what was cancelled, takes over from the silent, purges."""

    def __init__(self, settings: Settings, executor: Executor, loop: asyncio.AbstractEventLoop) -> None:
        self.ended = threading.Event()
        self._settings = settings
        self._engine = engine_of(settings.jobs_url)
        # Never used before: what a host of this name had begun would be taken for ours.
        name = f"{socket.gethostname()[:40]}-{secrets.token_hex(4)}"
        self._store = Store(self._engine, settings.retention_s)
        self._queue = Queue(self._engine, ALGORITHM_VERSION)
        self._heart = Heart(self._engine, name, settings.workers, ALGORITHM_VERSION, settings.job_silent_s)
        self._chunks = Chunks(
            self._store, self._queue, executor, loop, job_limits(settings), name, settings.job_timeout_s,
            settings.job_result_bytes,
        )  # fmt: skip
        self._name = name
        self._executor = executor
        self._still = 0  # heartbeats in a row in which nothing had moved
        self._purged = -float("inf")

    def end(self) -> None:
        """The process ends soon."""
        self._chunks.end()
        self.ended.set()

    def live(self) -> None:
        """Until `ended`; raises StandsStill when the processes have made no progress for long, and are not expected to."""
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
                    # What came back may be another file; and one that another process found first was never away for us.
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
            except Exception:  # whatever it is, the heart goes on
                log.exception("a heartbeat failed")
        with contextlib.suppress(StoreAway), reachable():
            self._heart.leave()
        if not self.ended.is_set():
            log.error("no process of this worker makes progress, and it ends")
            raise StandsStill

    def _stands_still(self) -> bool:
        """A stall that lasts, counted in beats: a host that was stopped together with its processes goes on."""
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
