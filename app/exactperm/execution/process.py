"""Child processes of the web process: forked or started, watched, killed; and its handle of one worker."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import importlib
import logging
import math
import os
import pickle
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol

from . import worker
from .ipc import (
    DEADLINE,
    FAILURE,
    FORK,
    FORKED,
    GO,
    OUT_OF_MEMORY,
    PARK,
    PARKED,
    PLAN,
    PROCESS_ID,
    READY,
    REPLY_HEADER,
    REQUEST_HEADER,
    RESULT,
    SECONDS,
    SINGLE_THREAD_ENV,
    WORKER,
)

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)

_libc = ctypes.CDLL(None)


class Child:
    """A child process with the id `pid`, for which nobody else waits. asyncio's watchers only know processes that
    asyncio started.

    It may be created before the event loop runs; then call `watch` in the loop.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.exited = asyncio.Event()
        self._watched = False

    def watch(self) -> None:
        """Watch for its exit, in the running event loop."""
        if self._watched:
            return
        self._watched = True
        loop = asyncio.get_running_loop()
        try:
            descriptor = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, or a sandbox without it
            threading.Thread(
                target=self._wait, args=(loop,), name=f"wait for {self.pid}", daemon=True
            ).start()
        else:
            loop.add_reader(descriptor, self._reap, loop, descriptor)

    def kill(self) -> None:
        """Kill it at once; its id is not reused before it has been waited for."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _reap(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(self.pid, 0)
        self._ended(status)

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        _, status = os.waitpid(self.pid, 0)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._ended, status)

    def _ended(self, status: int) -> None:
        self.returncode = os.waitstatus_to_exitcode(status)
        self.exited.set()


def spawn(module: str, arguments: Sequence[str], descriptor: int) -> int:
    """Start `python -m module arguments` with the import path of this process; it inherits the file descriptor."""
    process = subprocess.Popen(  # noqa: S603  (our own module)
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        env={
            **os.environ,
            **SINGLE_THREAD_ENV,
            "PYTHONPATH": os.pathsep.join(entry or "." for entry in sys.path),
        },
    )
    process.returncode = 0  # `Child` waits for it
    return process.pid


def fork(main: Callable[[], None]) -> int:
    """Fork a child that runs `main` and exits; this process must have neither threads nor an event loop."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except Exception:
            logging.getLogger(__name__).exception("a forked process failed")
        finally:
            os._exit(status)
    return pid


def adopt_grandchildren() -> bool:
    """Adopt grandchildren whose parent exits; return whether that works (Linux)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return bool(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def die_with_parent(parent: int) -> None:
    """Let the kernel kill this process when its parent, with this id, dies (Linux)."""
    _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it died first
        os._exit(1)


def keep_from_children(*sockets: socket.socket) -> None:
    """Make every fork of this process close these sockets, so that serving ends with this process."""

    def close() -> None:
        for each in sockets:
            each.close()

    os.register_at_fork(after_in_child=close)


SOCKET_BUFFER_BYTES = 2**20
DYING_S = 1.0  # a process in an uninterruptible wait exits only when its device answers


class ProcessLost(Exception):
    """The worker exited during a call."""


class ProcessOutOfMemory(ProcessLost):
    """The worker exited because it reached its memory limit."""


class CallParked(Exception):
    """The call was parked after its worker's question; the worker is idle again."""


class Notices(Protocol):
    """Receives the notices of a running call."""

    def deadline(self, seconds: float) -> None:
        """Receive the call's deadline, in seconds after it was submitted."""

    def plan(self, seconds: float) -> bool:
        """Receive the predicted `seconds`; return whether the call may run now (else it is parked)."""
        ...


class NoNotices:
    """Ignores notices and allows everything; for the warm-up."""

    def deadline(self, seconds: float) -> None:
        """Do nothing."""

    def plan(self, seconds: float) -> bool:
        """Allow everything."""
        return True


class WorkerProcess:
    """A running worker and the socket to it; one call at a time."""

    def __init__(self, child: Child, connection: socket.socket) -> None:
        self._child = child
        self._connection = connection
        self.pid = child.pid
        self.warm_bytes = 0  # resident memory after the warm-up
        self.ending: str | None = None  # why this process killed it, if so
        self._given_up = asyncio.Event()

    @classmethod
    def start(cls, memory_bytes: int, preload: str = "", part: str = WORKER) -> WorkerProcess:
        """Start a process with the import path of this one; it imports the module `preload` at once.

        A worker may allocate `memory_bytes` beyond what it holds when warm.
        """
        ours, theirs = _connected()
        arguments = (str(theirs.fileno()), str(memory_bytes), preload, part)
        with theirs, _closed_on_error(ours):
            return cls(Child(spawn(f"{__package__}.worker", arguments, theirs.fileno())), ours)

    @classmethod
    def start_by_fork(cls, memory_bytes: int, preload: str, part: str) -> WorkerProcess:
        """Start by a fork of this process after importing the module, which this process needs as well."""
        importlib.import_module(preload)
        ours, theirs = _connected()

        def main() -> None:
            ours.close()
            worker.main(theirs.detach(), memory_bytes, preload, part)

        with theirs, _closed_on_error(ours):
            return cls(Child(fork(main)), ours)

    async def fork(self) -> WorkerProcess:
        """Fork a new, warm worker from this fork server."""
        ours, theirs = _connected()
        with theirs, _closed_on_error(ours):
            return WorkerProcess(Child(await self._forked_with(theirs)), ours)

    async def _forked_with(self, theirs: socket.socket) -> int:
        try:
            socket.send_fds(self._connection, [FORK], [theirs.fileno()])
        except OSError as error:
            raise ProcessLost from error
        kind, payload = await self._reply()
        if kind != FORKED:
            raise ProcessLost
        return int(PROCESS_ID.unpack(payload)[0])

    @property
    def returncode(self) -> int | None:
        """The exit status; None while the process runs."""
        return self._child.returncode

    @property
    def alive(self) -> bool:
        """Whether it has neither exited nor closed its socket (an idle worker sends nothing by itself)."""
        if self.returncode is not None:
            return False
        try:
            return bool(self._connection.recv(1, socket.MSG_PEEK))
        except BlockingIOError:
            return True
        except OSError:
            return False

    async def ready(self) -> None:
        """Wait until the worker has started; from now on its exit is noticed."""
        self._child.watch()
        kind, _ = await self._reply()
        if kind != READY:
            raise ProcessLost

    async def call(
        self, call: bytes, body: bytes | bytearray, notices: Notices, ask_above_s: float = math.inf
    ) -> Any:
        """Send a pickled `(function, job)` and its body; return the result, or raise the function's exception.

        Raises
        ------
            CallParked: it was predicted to take more than `ask_above_s` and not allowed to run.
            ProcessLost: the worker died; ProcessOutOfMemory when that is why.
        """
        try:
            await self._send(REQUEST_HEADER.pack(len(call), len(body), ask_above_s) + call)
            if body:
                await self._send(body)
        except ProcessLost:
            # It may have replied before exiting: the body alone exceeded its memory.
            kind, _ = await self._reply()
            raise (ProcessOutOfMemory if kind == OUT_OF_MEMORY else ProcessLost) from None
        while True:
            kind, payload = await self._reply()
            if kind == DEADLINE:
                notices.deadline(SECONDS.unpack(payload)[0])
            elif kind == PLAN:
                await self._send(GO if notices.plan(SECONDS.unpack(payload)[0]) else PARK)
            elif kind == PARKED:
                raise CallParked
            elif kind == OUT_OF_MEMORY:
                raise ProcessOutOfMemory
            elif kind == RESULT:
                return pickle.loads(payload)  # noqa: S301  (our own worker wrote it)
            elif kind == FAILURE:
                raise pickle.loads(payload)  # noqa: S301  (as above)
            else:
                raise ProcessLost

    def kill(self, why: str) -> None:
        """Kill it at once; its computation is lost."""
        self.ending = self.ending or why
        self._child.kill()

    def give_up(self, why: str) -> None:
        """Kill it and close the connection, even if the process cannot exit now."""
        self.kill(why)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._given_up.set()

    async def gone(self) -> None:
        """Wait until it has exited or was given up, and close its socket."""
        self._child.watch()
        loop = asyncio.get_running_loop()
        exited = loop.create_task(self._child.exited.wait())
        given_up = loop.create_task(self._given_up.wait())
        try:
            await asyncio.wait({exited, given_up}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({exited}, timeout=DYING_S)
        finally:
            exited.cancel()
            given_up.cancel()
            self._connection.close()

    async def _send(self, data: bytes | bytearray) -> None:
        try:
            await asyncio.get_running_loop().sock_sendall(self._connection, data)
        except OSError as error:
            raise ProcessLost from error

    async def _reply(self) -> tuple[int, bytearray]:
        kind, size = REPLY_HEADER.unpack(await self._receive(REPLY_HEADER.size))
        return kind, await self._receive(size)

    async def _receive(self, size: int) -> bytearray:
        loop = asyncio.get_running_loop()
        buffer = bytearray(size)
        view = memoryview(buffer)
        have = 0
        while have < size:
            try:
                got = await loop.sock_recv_into(self._connection, view[have:])
            except OSError as error:
                raise ProcessLost from error
            if not got:
                raise ProcessLost
            have += got
        return buffer


@contextmanager
def _closed_on_error(connection: socket.socket) -> Iterator[None]:
    try:
        yield
    except BaseException:
        connection.close()
        raise


def _connected() -> tuple[socket.socket, socket.socket]:
    """Return the two ends of a connection: ours, which does not block, and the other process's."""
    ours, theirs = socket.socketpair()
    for end in (ours, theirs):
        # Large buffers transfer a 5 MB body in a few wake-ups instead of dozens.
        end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
        end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
    ours.setblocking(False)
    return ours, theirs
