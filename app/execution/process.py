"""The web process's handle of one worker process."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import pickle
import socket
import sys
from typing import Any, Protocol

from .ipc import (
    DEADLINE,
    FAILURE,
    GO,
    ONE_THREAD,
    OUT_OF_MEMORY,
    PARK,
    PARKED,
    PLAN,
    READY,
    REPLY_HEADER,
    REQUEST_HEADER,
    RESULT,
    SECONDS,
)

SOCKET_BUFFER_BYTES = 2**20
DYING_S = 1.0  # a process in an uninterruptible wait exits only when its device answers


class ProcessLost(Exception):
    """The worker exited during a call."""


class ProcessOutOfMemory(ProcessLost):
    """The worker exited because it reached its memory limit."""


class CallParked(Exception):
    """The call was parked at its worker's question; the worker is idle again."""


class Notices(Protocol):
    """Receives the notices of a running call."""

    def deadline(self, seconds: float) -> None:
        """The call sets its deadline, in seconds after it was submitted."""

    def plan(self, seconds: float) -> bool:
        """The call is predicted to take `seconds`; return whether it may run now (else it is parked)."""
        ...


class NoNotices:
    """Ignores notices and allows everything; for the warm-up."""

    def deadline(self, seconds: float) -> None:
        """Nothing to do."""

    def plan(self, seconds: float) -> bool:
        """Always allowed."""
        return True


class _Exit(asyncio.SubprocessProtocol):
    """Notices the exit of a process; a worker has no pipes."""

    def __init__(self) -> None:
        self.seen = asyncio.Event()

    def process_exited(self) -> None:
        self.seen.set()


class WorkerProcess:
    """A running worker and the socket to it; one call at a time."""

    def __init__(
        self, transport: asyncio.SubprocessTransport, exit_: _Exit, connection: socket.socket
    ) -> None:
        self._transport = transport
        self._exit = exit_
        self._connection = connection
        self.pid = transport.get_pid()
        self.warm_bytes = 0  # resident memory after the warm-up
        self.ending: str | None = None  # why this process killed it, if it did
        self._given_up = asyncio.Event()

    @classmethod
    async def start(cls, memory_bytes: int, preload: str = "") -> WorkerProcess:
        """Spawn a worker with the import path of this process; it imports the module `preload` at once.

        It may allocate `memory_bytes` beyond what it holds when warm.
        """
        ours, theirs = socket.socketpair()
        try:
            for end in (ours, theirs):
                # Large buffers transfer a 5 MB body in a few wake-ups instead of dozens.
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            ours.setblocking(False)
            # The transport itself, not `create_subprocess_exec`: `gone` closes it whatever the process does.
            transport, exit_ = await asyncio.get_running_loop().subprocess_exec(
                _Exit,
                sys.executable,
                "-P",
                "-m",
                f"{__package__}.worker",
                str(theirs.fileno()),
                str(memory_bytes),
                preload,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=None,
                stderr=None,
                pass_fds=(theirs.fileno(),),
                env={
                    **os.environ,
                    **ONE_THREAD,
                    "PYTHONPATH": os.pathsep.join(entry or "." for entry in sys.path),
                },
            )
        except BaseException:
            ours.close()
            raise
        finally:
            theirs.close()
        return cls(transport, exit_, ours)

    @property
    def returncode(self) -> int | None:
        """The exit status; None while the process runs."""
        return self._transport.get_returncode()

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
        """Wait until the worker has started."""
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
            # It may have replied before it exited: the body alone exceeded its memory.
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
        with contextlib.suppress(ProcessLookupError):
            self._transport.kill()

    def give_up(self, why: str) -> None:
        """Kill it and close the connection, even if the process cannot exit now."""
        self.kill(why)
        with contextlib.suppress(OSError):
            self._connection.shutdown(socket.SHUT_RDWR)
        self._given_up.set()

    async def gone(self) -> None:
        """Wait until it has exited or was given up, and close its socket."""
        loop = asyncio.get_running_loop()
        exited = loop.create_task(self._exit.seen.wait())
        given_up = loop.create_task(self._given_up.wait())
        try:
            await asyncio.wait({exited, given_up}, return_when=asyncio.FIRST_COMPLETED)
            await asyncio.wait({exited}, timeout=DYING_S)
        finally:
            exited.cancel()
            given_up.cancel()
            self._connection.close()
            # Else it is closed by the garbage collector, after its loop: an exception that nobody can catch.
            self._transport.close()

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
