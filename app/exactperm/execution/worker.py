"""The worker process: reads a call, runs it, writes the reply, until the web process goes away.

Started as `python -m exactperm.execution.worker <socket fd> <memory bytes> <module> <part>`. As the fork server it runs
the warm-up once and then forks workers, which are warm at once and share its memory; if a process cannot adopt its
grandchildren, every worker is started like this and warmed up. The web process ends a worker with SIGKILL when a
deadline passes or a client leaves, so nothing here needs to be interruptible.
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

from .ipc import (
    DEADLINE,
    FAILURE,
    FORK_SERVER,
    FORKED,
    GO,
    OUT_OF_MEMORY,
    PARKED,
    PLAN,
    PROCESS_ID,
    READY,
    REPLY_HEADER,
    REQUEST_HEADER,
    RESULT,
    SECONDS,
)
from .memory import RETAINED_SHARE, data_bytes, give_back, keep_freed, resident_bytes, set_name

PARENT_POLL_S = 1.0
# Workers yield to the web process, which needs the processor only briefly; otherwise a refusal or a health probe would
# wait for the end of a worker's time slice. With 10 instead of 5, refusals took so much of the processor that goodput
# under three times the load fell below 90 % of the peak (`python -m loadtest.goals --goal 8`).
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
        self._ask_above_s = min(self._ask_above_s, seconds)  # longer calls may not be worth starting
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
    """Run one call and write its reply. `main` handles a MemoryError, after which the process cannot be trusted."""
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


def serve(connection: socket.socket, memory_bytes: int, *, warm: bool) -> None:
    """Answer calls until the connection closes; the first is the warm-up, unless the process is `warm`.

    Garbage is collected between calls, while nobody waits: otherwise a million decoded values would be traversed again
    and again while they are created.
    """
    warm_bytes = settle(memory_bytes) if warm else 0
    reply(connection, READY, b"")
    while (header := receive(connection, REQUEST_HEADER.size)) is not None:
        if not serve_call(connection, header):
            return
        if not warm:
            warm_bytes, warm = settle(memory_bytes), True
        elif (resident_bytes(os.getpid()) or 0) - warm_bytes > RETAINED_SHARE * memory_bytes:
            give_back()  # so that the next call has the whole limit


def serve_call(connection: socket.socket, header: bytes | bytearray) -> bool:
    """Read the rest of a request, answer it and collect its garbage; False when the web process has gone."""
    call_size, body_size, ask_above_s = REQUEST_HEADER.unpack(header)
    call, body = receive(connection, call_size), receive(connection, body_size)
    if call is None or body is None:
        return False
    answer(connection, call, body, ask_above_s)
    del call, body
    gc.collect()
    return True


def settle(memory_bytes: int) -> int:
    """Limit the memory after the warm-up, and return the resident bytes."""
    gc.freeze()
    limit_memory(memory_bytes)
    if sys.platform == "linux":  # niceness differs elsewhere
        os.nice(NICENESS)  # only now, so that the service is ready early
    return resident_bytes(os.getpid()) or 0


def serve_forks(connection: socket.socket) -> socket.socket | None:
    """Run the warm-up and fork workers until the connection closes; in a new worker, return its connection."""
    reply(connection, READY, b"")
    while True:
        header, descriptors, _, _ = socket.recv_fds(connection, REQUEST_HEADER.size, 1)
        if not header:
            return None
        if not descriptors:
            rest = receive(connection, REQUEST_HEADER.size - len(header))
            if rest is None or not serve_call(connection, header + rest):
                return None
            gc.freeze()  # a collection would write to every object and unshare its memory
            continue
        worker_end = socket.socket(fileno=descriptors[0])
        pid = fork_for_grandparent()
        if not pid:
            connection.close()  # so that the end of the fork server is noticed
            return worker_end
        worker_end.close()
        reply(connection, FORKED, PROCESS_ID.pack(pid))


def fork_for_grandparent() -> int:
    """Fork a process that the web process adopts, as its parent exits at once; return its id, 0 in itself."""
    read, write = os.pipe()
    between = os.fork()
    if between:
        os.close(write)
        os.waitpid(between, 0)
        packed = os.read(read, PROCESS_ID.size)
        os.close(read)
        if not packed:
            raise OSError("no process could be forked")
        return int(PROCESS_ID.unpack(packed)[0])
    os.close(read)
    try:
        pid = os.fork()
    except OSError:
        os._exit(1)
    if pid:
        os.write(write, PROCESS_ID.pack(pid))
        os._exit(0)
    os.close(write)
    return 0


def limit_memory(more_bytes: int) -> None:
    """Let this process allocate `more_bytes` beyond what it has now; then a MemoryError is raised.

    RLIMIT_DATA (on Linux all private writable memory, getrlimit(2)) rather than RLIMIT_AS: address space that is only
    reserved, as malloc and BLAS do by the gigabyte, costs nothing.
    """
    now = data_bytes()
    if now is None:
        return
    _, most = resource.getrlimit(resource.RLIMIT_DATA)
    limit = now + more_bytes
    if most != resource.RLIM_INFINITY:
        limit = min(limit, most)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, most))


def exit_with_parent(parent: int) -> None:
    """End this process when the web process died without closing the socket."""
    while True:
        time.sleep(PARENT_POLL_S)
        if os.getppid() != parent:
            os._exit(1)


def main(descriptor: int, memory_bytes: int, preload: str, part: str) -> None:
    """Serve the socket with this descriptor; import the module `preload` first, unless it is empty."""
    # A signal to the whole process group must not lose accepted requests; the web process ends its workers.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    web = os.getppid()
    gc.disable()  # imported objects are not garbage; see `serve`
    keep_freed(memory_bytes)
    connection = socket.socket(fileno=descriptor)
    if preload:
        importlib.import_module(preload)
    forks = part == FORK_SERVER
    try:
        if forks:
            set_name("exactperm-fork")
            forked = serve_forks(connection)
            if forked is None:
                return
            connection = forked
        set_name("exactperm-work")
        threading.Thread(target=exit_with_parent, args=(web,), daemon=True).start()
        serve(connection, memory_bytes, warm=forks)
    except (BrokenPipeError, ConnectionResetError, WebProcessGone):
        return
    except MemoryError:
        connection.sendall(REPLY_HEADER.pack(OUT_OF_MEMORY, 0))
        os._exit(1)


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], sys.argv[4])
