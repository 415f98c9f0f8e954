"""The worker process: reads a call, runs it, writes the reply, until the web process goes away.

Started as `python -m app.execution.worker <socket fd>`. The web process ends a worker with SIGKILL when a
deadline passes or a client leaves, so nothing here needs to be interruptible.
"""

from __future__ import annotations

import gc
import importlib
import os
import pickle
import signal
import socket
import sys
import threading
import time
from typing import Any

from app.execution.frames import (
    DEADLINE,
    FAILURE,
    READY,
    REPLY_HEADER,
    REQUEST_HEADER,
    RESULT,
    SECONDS,
)

PARENT_POLL_S = 1.0


class Call:
    """The running call's way to its web process; a `Deadline`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection = connection

    def set(self, seconds: float) -> None:
        """Tell the web process, which keeps the clock."""
        reply(self._connection, DEADLINE, SECONDS.pack(seconds))


def reply(connection: socket.socket, kind: int, payload: bytes) -> None:
    """Write one reply frame."""
    connection.sendall(REPLY_HEADER.pack(kind, len(payload)) + payload)


def receive(connection: socket.socket, size: int) -> bytearray | None:
    """Read exactly `size` bytes; None when the web process has gone."""
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
        pickle.loads(pickled)  # noqa: S301  (what we have just written)
    except Exception:  # noqa: BLE001  (pickling may raise anything)
        pickled = pickle.dumps(RuntimeError(type(error).__qualname__), pickle.HIGHEST_PROTOCOL)
    return pickled


def answer(connection: socket.socket, call: bytearray, body: bytearray) -> None:
    """Run one call and write its reply."""
    try:
        function, job = pickle.loads(call)  # noqa: S301  (our own web process wrote it)
        result: Any = function(job, body, Call(connection))
        kind, payload = RESULT, pickle.dumps(result, pickle.HIGHEST_PROTOCOL)
    except Exception as error:  # noqa: BLE001  (the caller gets it)
        kind, payload = FAILURE, portable(error)
    reply(connection, kind, payload)


def serve(connection: socket.socket) -> None:
    """Answer calls until the connection closes.

    Garbage is collected between calls, while nobody waits: a million decoded values would otherwise be
    walked again and again while they are being made.
    """
    reply(connection, READY, b"")
    gc.disable()
    warm = False
    while True:
        header = receive(connection, REQUEST_HEADER.size)
        if header is None:
            return
        call_size, body_size = REQUEST_HEADER.unpack(header)
        call, body = receive(connection, call_size), receive(connection, body_size)
        if call is None or body is None:
            return
        answer(connection, call, body)
        del call, body
        gc.collect()
        if not warm:  # the first call is the warm-up: what it imported stays for good
            gc.freeze()
            warm = True


def exit_with_parent(parent: int) -> None:
    """End this process when the web process died without closing anything."""
    while os.getppid() == parent:
        time.sleep(PARENT_POLL_S)
    os._exit(1)


def main() -> None:
    """Serve the socket whose descriptor is the first argument; the second, if any, is a module to import before."""
    # A signal to the whole process group must not lose accepted requests: the web process decides.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    threading.Thread(target=exit_with_parent, args=(os.getppid(),), daemon=True).start()
    with socket.socket(fileno=int(sys.argv[1])) as connection:
        if sys.argv[2]:
            importlib.import_module(sys.argv[2])
        try:
            serve(connection)
        except (BrokenPipeError, ConnectionResetError):
            return


if __name__ == "__main__":
    main()
