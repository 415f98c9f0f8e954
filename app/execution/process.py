"""The web process's handle of one worker process."""

from __future__ import annotations

import asyncio
import contextlib
import os
import pickle
import socket
import sys
from collections.abc import Callable
from typing import Any

from app.execution.frames import (
    DEADLINE,
    FAILURE,
    ONE_THREAD,
    READY,
    REPLY_HEADER,
    REQUEST_HEADER,
    RESULT,
    SECONDS,
)

SOCKET_BUFFER_BYTES = 2**20


class ProcessLost(Exception):
    """The worker went away in the middle of a conversation."""


class WorkerProcess:
    """A running worker and the socket to it; one call at a time."""

    def __init__(self, process: asyncio.subprocess.Process, connection: socket.socket) -> None:
        self.process = process
        self._connection = connection

    @classmethod
    async def start(cls, preload: str = "") -> WorkerProcess:
        """Spawn a worker that can import whatever this process can, and imports the module `preload` at once."""
        ours, theirs = socket.socketpair()
        try:
            for end in (ours, theirs):
                # Large buffers move a 5 MB body in a few wake-ups instead of dozens.
                end.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, SOCKET_BUFFER_BYTES)
                end.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, SOCKET_BUFFER_BYTES)
            ours.setblocking(False)
            process = await asyncio.create_subprocess_exec(
                sys.executable,
                "-P",
                "-m",
                "app.execution.worker",
                str(theirs.fileno()),
                preload,
                stdin=asyncio.subprocess.DEVNULL,
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
        return cls(process, ours)

    @property
    def pid(self) -> int:
        """The worker's process id."""
        return self.process.pid

    @property
    def alive(self) -> bool:
        """Whether it has neither been seen to exit nor hung up; an idle worker says nothing by itself."""
        if self.process.returncode is not None:
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

    async def call(self, call: bytes, body: bytes | bytearray, set_deadline: Callable[[float], None]) -> Any:
        """Send a pickled `(function, job)` and its body; wait for the result, or raise what it raised."""
        await self._send(REQUEST_HEADER.pack(len(call), len(body)) + call)
        if body:
            await self._send(body)
        while True:
            kind, payload = await self._reply()
            if kind == DEADLINE:
                set_deadline(SECONDS.unpack(payload)[0])
            elif kind == RESULT:
                return pickle.loads(payload)  # noqa: S301  (our own worker wrote it)
            elif kind == FAILURE:
                raise pickle.loads(payload)  # noqa: S301  (as above)
            else:
                raise ProcessLost

    def kill(self) -> None:
        """End it at once. What it was computing is lost."""
        with contextlib.suppress(ProcessLookupError):
            self.process.kill()

    async def gone(self) -> None:
        """Wait until it has exited, however that came, and let go of its socket."""
        await self.process.wait()
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
