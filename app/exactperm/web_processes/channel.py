"""Messages between the parent and a web process: a kind, a length, and that many bytes.

The web process reports that it listens, that its event loop turns, and its metrics, and asks for the metrics of
all. The parent asks for metrics, sends those of all, and forwards signals.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import socket
import struct
from collections import deque
from collections.abc import Callable
from types import FrameType

HEADER = struct.Struct("<BI")
LISTENS, BEAT, METRICS, ALL_METRICS, SIGNAL = range(5)
BEATS_PER_S = 4
BUFFER_BYTES = 2**21  # room for the metrics of a service
ANSWER_WITHIN_S = 5.0

log = logging.getLogger(__name__)


def frame(kind: int, content: bytes = b"") -> bytes:
    """One message."""
    return HEADER.pack(kind, len(content)) + content


class Frames:
    """Messages from bytes that arrive in any pieces."""

    def __init__(self) -> None:
        self._bytes = bytearray()

    def read(self, more: bytes) -> list[tuple[int, bytes]]:
        """The messages that are complete with these bytes."""
        self._bytes += more
        messages = []
        while len(self._bytes) >= HEADER.size:
            kind, size = HEADER.unpack_from(self._bytes)
            if len(self._bytes) < HEADER.size + size:
                break
            messages.append((kind, bytes(self._bytes[HEADER.size : HEADER.size + size])))
            del self._bytes[: HEADER.size + size]
        return messages


class ToParent(asyncio.Protocol):
    """The web process's end. `alive` tells whether work progresses, `metrics` gives its metrics, `told` receives
    signals.
    """

    def __init__(self, alive: Callable[[], bool], metrics: Callable[[], bytes]) -> None:
        self.told: Callable[[int, FrameType | None], None] = lambda *_: None
        self._alive = alive
        self._metrics = metrics
        self._frames = Frames()
        self._asking: deque[asyncio.Future[bytes]] = deque()
        self._transport: asyncio.Transport | None = None

    async def connect(self, connection: socket.socket) -> None:
        """Start, in the running event loop."""
        loop = asyncio.get_running_loop()
        self._transport, _ = await loop.create_connection(lambda: self, sock=connection)
        self._beat(loop)

    def listens(self) -> None:
        """Say that this process listens."""
        self._send(LISTENS)

    async def all_metrics(self) -> bytes:
        """The metrics of all web processes, in the text format of Prometheus.

        Raises
        ------
            TimeoutError: the parent does not answer.
        """
        answer: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._asking.append(answer)
        self._send(ALL_METRICS, self._metrics())
        async with asyncio.timeout(ANSWER_WITHIN_S):
            return await asyncio.shield(answer)

    def data_received(self, data: bytes) -> None:
        """Handle a message of the parent: a question, an answer or a signal."""
        for kind, content in self._frames.read(data):
            if kind == METRICS:
                self._send(METRICS, self._metrics())
            elif kind == ALL_METRICS and self._asking:
                answer = self._asking.popleft()
                if not answer.done():
                    answer.set_result(content)
            elif kind == SIGNAL:
                self.told(content[0], None)

    def connection_lost(self, exc: Exception | None) -> None:
        """End with the parent, since nobody would replace or stop this process."""
        os._exit(1)

    def _beat(self, loop: asyncio.AbstractEventLoop) -> None:
        if self._alive():
            self._send(BEAT)
        loop.call_later(1 / BEATS_PER_S, self._beat, loop)

    def _send(self, kind: int, content: bytes = b"") -> None:
        if self._transport is not None:
            self._transport.write(frame(kind, content))


class ToWeb:
    """The parent's end. It never waits for a web process: unread messages are dropped with it."""

    def __init__(self, connection: socket.socket) -> None:
        connection.setblocking(False)
        with contextlib.suppress(OSError):
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, BUFFER_BYTES)
        self.connection = connection
        self._frames = Frames()
        self._unsent = b""

    def send(self, kind: int, content: bytes = b"") -> None:
        """Send a message, or what fits; the rest goes with the next call of `flush`."""
        self._unsent += frame(kind, content)
        self.flush()

    def flush(self) -> None:
        """Send what was left over."""
        with contextlib.suppress(OSError):
            while self._unsent:
                self._unsent = self._unsent[self.connection.send(self._unsent) :]

    def read(self) -> list[tuple[int, bytes]]:
        """The messages received; none if the web process has closed its end."""
        try:
            return self._frames.read(self.connection.recv(2**16))
        except OSError:
            return []

    def close(self) -> None:
        """Close it."""
        self.connection.close()
