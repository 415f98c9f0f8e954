"""Fork servers for applications in the tests' process, forked of one process that has imported what they need.

An application that is not `exactperm serve` starts its fork server as a process of its own, which takes most of a second of
processor time for imports. Tests with settings of their own start dozens of them. What runs in them is the same:
`exactperm.execution.worker.main`, its warm-up included. tests/process starts all of them as a service does.
"""

import atexit
import importlib
import os
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, nullcontext
from functools import cache
from unittest import mock

from fastapi import FastAPI

from exactperm.execution import process, worker
from exactperm.execution.ipc import FORK_SERVER, SINGLE_THREAD_ENV
from exactperm.workers import ANSWERING

MEMORY, PID = struct.Struct("=q"), struct.Struct("=q")
_spawn, _turn = process.spawn, threading.Lock()


@asynccontextmanager
async def lifespan(app: FastAPI) -> AsyncIterator[None]:
    """The lifespan of an application; should its fork server die, the next one is started as ever."""
    async with AsyncExitStack() as stack:
        forking = mock.patch.object(process, "spawn", _spawn_or_fork)
        with forking if process.adopt_grandchildren() else nullcontext():
            await stack.enter_async_context(app.router.lifespan_context(app))
        yield


def _spawn_or_fork(module: str, arguments: Sequence[str], descriptor: int) -> int:
    _, memory_bytes, preload, part = arguments
    if (preload, part) != (ANSWERING, FORK_SERVER):
        return _spawn(module, arguments, descriptor)
    with _turn:
        socket.send_fds(_source(), [MEMORY.pack(int(memory_bytes))], [descriptor])
        (pid,) = PID.unpack(_source().recv(PID.size))
    return int(pid)


@cache
def _source() -> socket.socket:
    """The connection to the process that forks, one for all tests of this process."""
    ours, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with theirs:
        forking = subprocess.Popen(
            [sys.executable, "-P", "-m", __name__, str(theirs.fileno())],
            stdin=subprocess.DEVNULL,
            pass_fds=(theirs.fileno(),),
            env={
                **os.environ,
                **SINGLE_THREAD_ENV,
                "PYTHONPATH": os.pathsep.join(entry or "." for entry in sys.path),
            },
        )

    def end() -> None:
        ours.close()
        forking.wait()

    atexit.register(end)
    return ours


def main(descriptor: int) -> None:
    """Fork until the tests' process has gone; in a fork server, be one."""
    importlib.import_module(ANSWERING)
    asking = socket.socket(fileno=descriptor)
    while True:
        message, descriptors, _, _ = socket.recv_fds(asking, MEMORY.size, 1)
        if not message:
            return
        adopted, is_adopted = os.pipe()
        pid = worker.fork_for_grandparent()
        os.close(is_adopted)  # the second end of it: before that, the parent is not yet the one that stays
        if not pid:
            break
        os.close(adopted)
        os.close(descriptors[0])
        asking.send(PID.pack(pid))
    os.read(adopted, 1)
    os.close(adopted)
    asking.close()
    (memory_bytes,) = MEMORY.unpack(message)
    worker.main(descriptors[0], memory_bytes, ANSWERING, FORK_SERVER)


if __name__ == "__main__":
    main(int(sys.argv[1]))
