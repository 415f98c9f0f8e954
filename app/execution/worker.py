"""The worker process: reads a call, runs it, writes the reply, until the web process goes away.

Started as `python -m app.execution.worker <socket fd> <memory bytes> <module>`. The web process ends a worker with SIGKILL
when a deadline passes or a client leaves, so nothing here needs to be interruptible.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import resource
import signal
import socket
import sys
import threading
import time
from typing import Any

from . import malloc
from .ipc import (
    DEADLINE,
    FAILURE,
    GO,
    OUT_OF_MEMORY,
    PARKED,
    PLAN,
    READY,
    REPLY_HEADER,
    REQUEST_HEADER,
    RESULT,
    SECONDS,
)
from .procfs import data_bytes, resident_bytes

PARENT_POLL_S = 1.0
# Workers yield to the web process, which needs the processor only for moments: otherwise a refusal or a health probe would
# wait for the end of a worker's time slice. With 10 instead of 5, refusals took so much of the processor that goodput under
# three times the load fell below 90 % of the peak (`python -m loadtest.goals --goal 8`).
NICENESS = 5


class Parked(BaseException):
    """The web process parked this call. Not an `Exception`, so that no function catches it."""


class WebProcessGone(BaseException):
    """The web process has closed the connection."""


class WorkerControl:
    """Sends the notices of a running call to the web process; a `Control`."""

    def __init__(self, connection: socket.socket, ask_above_s: float) -> None:
        self._connection = connection
        self._ask_above_s = ask_above_s

    def deadline(self, seconds: float) -> None:
        """Notify the web process, which enforces deadlines."""
        self._ask_above_s = min(self._ask_above_s, seconds)  # what takes longer may not be worth starting
        reply(self._connection, DEADLINE, SECONDS.pack(seconds))

    def plan(self, seconds: float) -> None:
        """Ask whether a long call may run now; a short one runs without asking."""
        if seconds <= self._ask_above_s:
            return
        reply(self._connection, PLAN, SECONDS.pack(seconds))
        verdict = receive(self._connection, len(GO))
        if verdict is None:
            raise WebProcessGone
        if verdict != GO:
            raise Parked


def reply(connection: socket.socket, kind: int, payload: bytes) -> None:
    """Write one reply frame."""
    connection.sendall(REPLY_HEADER.pack(kind, len(payload)) + payload)


def receive(connection: socket.socket, size: int) -> bytearray | None:
    """Read exactly `size` bytes; None when the web process has closed the connection."""
    buffer = bytearray(size)
    view = memoryview(buffer)
    have = 0
    while have < size:
        got = connection.recv_into(view[have:])
        if not got:
            return None
        have += got
    return buffer


def portable(error: Exception) -> bytes:
    """Pickle an exception; one that cannot be pickled becomes a RuntimeError that names its type."""
    try:
        pickled = pickle.dumps(error, pickle.HIGHEST_PROTOCOL)
        pickle.loads(pickled)  # noqa: S301  (written above)
    except Exception:  # noqa: BLE001  (pickling may raise anything)
        pickled = pickle.dumps(RuntimeError(type(error).__qualname__), pickle.HIGHEST_PROTOCOL)
    return pickled


def answer(connection: socket.socket, call: bytearray, body: bytearray, ask_above_s: float) -> None:
    """Run one call and write its reply. A MemoryError is left to `main`, because the process cannot be trusted after it."""
    try:
        function, job = pickle.loads(call)  # noqa: S301  (our own web process wrote it)
        result: Any = function(job, body, WorkerControl(connection, ask_above_s))
        kind, payload = RESULT, pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Parked:
        kind, payload = PARKED, b""
    except MemoryError:
        raise
    except Exception as error:  # noqa: BLE001  (the caller gets it)
        kind, payload = FAILURE, portable(error)
    reply(connection, kind, payload)


def serve(connection: socket.socket, memory_bytes: int) -> None:
    """Answer calls until the connection closes.

    Garbage is collected between calls, while nobody waits: otherwise a million decoded values would be traversed again
    and again while they are created.
    """
    reply(connection, READY, b"")
    warm, warm_bytes = False, 0
    while True:
        header = receive(connection, REQUEST_HEADER.size)
        if header is None:
            return
        call_size, body_size, ask_above_s = REQUEST_HEADER.unpack(header)
        call, body = receive(connection, call_size), receive(connection, body_size)
        if call is None or body is None:
            return
        answer(connection, call, body, ask_above_s)
        del call, body
        gc.collect()
        if not warm:  # the first call is the warm-up: its imports stay
            gc.freeze()
            limit_memory(memory_bytes)
            warm_bytes = resident_bytes(os.getpid()) or 0
            warm = True
            if sys.platform == "linux":  # elsewhere niceness means other things
                os.nice(NICENESS)  # only now, so that the service is ready soon
        elif (resident_bytes(os.getpid()) or 0) - warm_bytes > malloc.KEPT * memory_bytes:
            malloc.give_back()  # so that the next call has the whole limit


def limit_memory(more_bytes: int) -> None:
    """Let this process allocate `more_bytes` beyond what it has now; then a MemoryError is raised.

    RLIMIT_DATA (on Linux all private writable memory, getrlimit(2)) rather than RLIMIT_AS: address space that is only
    reserved, as malloc and BLAS do by the gigabyte, costs nothing.
    """
    now = data_bytes()
    if now is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    wanted = now + more_bytes
    if most != resource.RLIM_INFINITY:
        wanted = min(wanted, most)
    resource.setrlimit(resource.RLIMIT_DATA, (wanted, most))


def exit_with_parent(parent: int) -> None:
    """End this process when the web process died without closing the socket."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_S)
    os._exit(1)


def main() -> None:
    """Serve the socket whose descriptor is the first argument, within the memory that is the second.

    The third, if not empty, is a module to import first.
    """
    # A signal to the whole process group must not lose accepted requests: the web process ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=exit_with_parent, args=(os.getppid(),), daemon=True).start()
    gc.disable()  # nothing of what is imported is garbage; see `serve`
    malloc.keep(int(sys.argv[2]))
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        if sys.argv[3]:
            importlib.import_module(sys.argv[3])
        try:
            serve(connection, int(sys.argv[2]))
        except (BrokenPipeError, ConnectionResetError, WebProcessGone):
            return
        except MemoryError:
            connection.sendall(REPLY_HEADER.pack(OUT_OF_MEMORY, 0))
            os._exit(1)


if __name__ == "__main__":
    main()
