"""The parent of several web processes: starts them warm, watches and replaces them, forwards signals, and adds up
metrics.

It serves no connection and computes nothing. It holds a copy of every listening socket, so that the replacement of a
dead process answers the connections that waited for it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import selectors
import signal
import socket
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType
from typing import Any

from ..execution.memory import set_name
from ..execution.process import die_with_parent, fork
from ..ops.edge.server import say_where, sockets_again
from ..ops.metrics import Merged
from ..ops.shared_counters import Counts
from ..settings import Settings
from .channel import ALL_METRICS, BEAT, LISTENS, METRICS, SIGNAL, ToWeb

DIVIDED = ("max_connections_per_address", "queue_depth", "cache_bytes")


def share_of(settings: Settings, number: int, processes: int) -> Settings:
    """The settings of web process `number` of `processes`; open connections and held bytes are counted together instead.

    Shares are rounded up. Settings derived from `web_processes` are already per process.
    """
    least, more = divmod(settings.workers, processes)
    shares: dict[str, Any] = {name: -(-getattr(settings, name) // processes) for name in DIVIDED}
    shares["workers"] = max(1, least + (number < more))
    return settings.model_copy(update=shares)


log = logging.getLogger(__name__)

LOOK_EVERY_S = 0.1
AWAY_S = 1.0  # a parent that was itself stopped must not judge others by silence
LIVED_S = 10.0  # a process that lives this long did not die at its start
LONGEST_PAUSE_S = 30.0
SNAPSHOT_WITHIN_S = 0.5
SNAPSHOT_EVERY_S = 5.0
END_AFTER_GRACE_S = 5.0

Run = Callable[[int, list[socket.socket], socket.socket, Counts], None]


@dataclass(slots=True)
class Web:
    """The slot of a web process, and the process in it."""

    number: int
    sockets: list[socket.socket]
    pid: int = 0  # 0: none runs
    channel: ToWeb | None = None
    since: float = 0.0
    beat: float = 0.0
    listens: bool = False
    deaths: int = 0  # soon after a start, in a row
    start_at: float = 0.0
    reason: str = "died"


@dataclass(slots=True)
class Question:
    """A request for all metrics that waits for the snapshots of these processes."""

    asker: Web
    until: float
    missing: set[int] = field(default_factory=set)


class Parent:
    """Runs `run` in each of its web processes until a signal; `start` returns the exit status."""

    def __init__(self, settings: Settings, sockets: list[list[socket.socket]], run: Run) -> None:
        self._settings = settings
        self._run = run
        self._counts = Counts(len(sockets))
        self._port = sockets[0][0].getsockname()[1]
        self._webs = [Web(number, listening) for number, listening in enumerate(sockets)]
        self._selector = selectors.DefaultSelector()
        self._merged = Merged()
        self._questions: list[Question] = []
        self._signals: list[int] = []
        self._ends_at = 0.0  # once it drains
        self._said = False
        self._status = 0
        self._asked_at = 0.0

    def start(self) -> int:
        """Start all web processes and watch them until the last has ended."""
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._on_signal)
        wake, woken = socket.socketpair()
        for end in (wake, woken):
            end.setblocking(False)
        signal.set_wakeup_fd(woken.fileno())
        self._selector.register(wake, selectors.EVENT_READ, None)
        before = time.monotonic()
        while not self._ends_at or any(web.pid for web in self._webs):
            now = time.monotonic()
            if now - before > AWAY_S:
                for web in self._webs:
                    web.beat = now
            self._look(now)
            before = time.monotonic()
            for key, _ in self._selector.select(LOOK_EVERY_S):
                if key.data is None:
                    with contextlib.suppress(OSError):
                        wake.recv(64)
                else:
                    self._hear(key.data)
        return self._status

    def _on_signal(self, number: int, _: FrameType | None) -> None:
        if self._signals:  # the second one ends everything at once
            for web in self._webs:
                _kill(web.pid)
            os._exit(0)
        self._signals.append(number)

    # -- life of the processes ------------------------------------------------------------------------------

    def _look(self, now: float) -> None:
        self._bury(now)
        if self._signals and not self._ends_at:
            self._drain(self._signals[0], now)
        for web in self._webs:
            if web.pid:
                self._judge(web, now)
            elif not self._ends_at and now >= web.start_at:
                self._try_to_begin(web, now)
        if now - self._asked_at > SNAPSHOT_EVERY_S:  # a dead process loses only the counts since then
            self._asked_at = now
            self._ask(self._webs)
        for question in tuple(self._questions):
            if now >= question.until or not question.missing:
                self._answer(question)

    def _try_to_begin(self, web: Web, now: float) -> None:
        try:
            self._begin(web)
        except OSError as error:  # no processes, memory, files or port for now
            log.error("web process %d could not be started: %s", web.number, error)  # noqa: TRY400  (the machine's fault, not the code's)
            web.start_at = now + 1.0

    def _begin(self, web: Web) -> None:
        if not web.sockets:
            web.sockets = sockets_again(self._settings.host, self._port)
        ours, theirs = socket.socketpair()
        parent = os.getpid()

        def main() -> None:
            self._become(web, ours, parent)
            self._run(web.number, web.sockets, theirs, self._counts)

        with theirs:
            web.pid = fork(main)
        web.channel = ToWeb(ours)
        web.since = web.beat = time.monotonic()
        web.listens, web.reason = False, "died"
        self._selector.register(ours, selectors.EVENT_READ, web)

    def _become(self, web: Web, ours: socket.socket, parent: int) -> None:
        """Run in the new process, without anything of the parent or of other processes; signals come from the
        parent.
        """
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGINT, signal.SIGTERM):  # a signal to the whole group would come twice
            signal.signal(number, signal.SIG_IGN)
        die_with_parent(parent)
        set_name("exactperm-web")
        for key in tuple(self._selector.get_map().values()):
            if key.data is None:
                os.close(key.fd)
        self._selector.close()
        ours.close()
        for other in self._webs:
            if other is not web:
                for one in other.sockets:
                    one.close()
                if other.channel is not None:
                    other.channel.close()

    def _judge(self, web: Web, now: float) -> None:
        if web.channel is not None:
            web.channel.flush()
        silent = now - web.beat
        patience = self._settings.liveness_stall_s
        if not web.listens:
            patience += self._settings.worker_start_timeout_s
        if self._ends_at and now > self._ends_at:
            log.warning("web process %d has not ended in time and is killed", web.number)
            self._status = 1
            _kill(web.pid)
        elif silent > patience and web.reason != "hung":
            log.warning("web process %d does not respond and is killed", web.number)
            web.reason = "hung"
            _kill(web.pid)

    def _bury(self, now: float) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)  # as process 1 of a container it also gets orphans
            except ChildProcessError:
                return
            if not pid:
                return
            for web in self._webs:
                if web.pid == pid:
                    self._ended(web, os.waitstatus_to_exitcode(status), now)

    def _ended(self, web: Web, status: int, now: float) -> None:
        if web.channel is not None:
            self._hear(web)  # its last words
            self._selector.unregister(web.channel.connection)
            web.channel.close()
        web.pid, web.channel = 0, None
        self._counts.forget(web.number)
        self._merged.ended(web.number)
        self._questions = [one for one in self._questions if one.asker is not web]
        for question in self._questions:
            question.missing.discard(web.number)
        if self._ends_at:
            return
        log.warning("web process %d ended (%s, status %s)", web.number, web.reason, status)
        if not self._said:  # none ever came up, nor would a replacement
            self._status = status if status > 0 else 1
            self._signals.append(signal.SIGTERM)
            return
        self._merged.replaced(web.reason)
        web.deaths = web.deaths + 1 if now - web.since < LIVED_S else 1
        web.start_at = now + (0.0 if web.deaths == 1 else min(2.0 ** (web.deaths - 2), LONGEST_PAUSE_S))
        if not web.listens:  # its waiting clients would wait for long
            _close(web)

    def _drain(self, number: int, now: float) -> None:
        delay_s = self._settings.shutdown_delay_s if number == signal.SIGTERM else 0.0
        self._ends_at = now + delay_s + self._settings.shutdown_grace_s + END_AFTER_GRACE_S
        for web in self._webs:
            _close(web)  # the processes have copies, and stop listening with them
            if web.channel is not None:
                web.channel.send(SIGNAL, bytes([number]))

    # -- messages --------------------------------------------------------------------------------------

    def _hear(self, web: Web) -> None:
        if web.channel is None:
            return
        for kind, content in web.channel.read():
            if kind == BEAT:
                web.beat = time.monotonic()
            elif kind == LISTENS:
                web.listens, web.beat = True, time.monotonic()
                if not self._said:
                    say_where(self._settings.host, self._port)
                self._said = True
            elif kind == METRICS:
                self._merged.read(web.number, content)
                for question in self._questions:
                    question.missing.discard(web.number)
            elif kind == ALL_METRICS:
                self._merged.read(web.number, content)
                others = [other for other in self._webs if other is not web and other.listens and other.pid]
                self._questions.append(
                    Question(web, time.monotonic() + SNAPSHOT_WITHIN_S, {other.number for other in others})
                )
                self._ask(others)
        for question in tuple(self._questions):
            if not question.missing:
                self._answer(question)

    def _ask(self, webs: list[Web]) -> None:
        for web in webs:
            if web.channel is not None and web.listens:
                web.channel.send(METRICS)

    def _answer(self, question: Question) -> None:
        self._questions.remove(question)
        if question.asker.channel is not None:
            question.asker.channel.send(ALL_METRICS, self._merged.text())


def _kill(pid: int) -> None:
    if pid:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def _close(web: Web) -> None:
    for one in web.sockets:
        one.close()
    web.sockets = []
