"""Send requests and loads over plain sockets, cheap enough to leave the processors to the server."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import numpy as np

from loadtest.traffic import PATIENCE_S

# Written once, so that a load does not spend time on formatting numbers.
_SCORES = json.dumps(
    {
        "method": "monte_carlo",
        "u": [(37 * i) % 101 / 7 for i in range(300)],
        "v": [(53 * i) % 103 / 7 for i in range(300)],
    }
)[:-1].encode()

Stream = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@dataclass(frozen=True, slots=True)
class Seen:
    """One answer: its status, the time of the request, the duration, and relevant headers."""

    status: int
    at: float
    seconds: float
    retry_after: bool
    body: bytes


@dataclass(slots=True)
class Wire:
    """A client that keeps connections to one server open."""

    url: str
    seen: list[Seen] = field(default_factory=list)
    _idle: list[Stream] = field(default_factory=list)

    async def ask(self, path: str, body: bytes | None = None, media: str = "application/json") -> Seen:
        """Send a request on an idle connection or a new one; GET if there is no body."""
        began = time.monotonic()
        reader, writer = stream = await self._connection()
        line = f"{'GET' if body is None else 'POST'} {path} HTTP/1.1\r\nhost: x\r\ncontent-type: {media}\r\n"
        writer.write(f"{line}content-length: {len(body or b'')}\r\n\r\n".encode() + (body or b""))
        async with asyncio.timeout(PATIENCE_S):
            head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
            fields = dict(one.split(": ", 1) for one in head.split("\r\n")[1:] if one)
            content = await reader.readexactly(int(fields["content-length"]))
        found = Seen(int(head.split()[1]), began, time.monotonic() - began, "retry-after" in fields, content)
        if fields.get("connection") == "close":
            writer.close()
        else:
            self._idle.append(stream)
        self.seen.append(found)
        return found

    async def _connection(self) -> Stream:
        while self._idle:
            stream = self._idle.pop()
            if not stream[0].at_eof():  # else the server has closed an idle connection
                return stream
            stream[1].close()
        where = urlsplit(self.url)
        return await asyncio.open_connection(where.hostname, where.port)

    async def metrics(self) -> str:
        """The text of `/metrics`, not recorded in `seen`."""
        found = await self.ask("/metrics")
        self.seen.remove(found)
        return found.body.decode()

    def close(self) -> None:
        """Leave."""
        for _, writer in self._idle:
            writer.close()
        self._idle.clear()


async def closed_loop(clients: int, seconds: float, one: Callable[[], Awaitable[object]]) -> None:
    """Run clients that each send the next request when the last one is answered."""
    end = time.monotonic() + seconds

    async def client() -> None:
        while time.monotonic() < end:
            await one()

    await asyncio.gather(*(client() for _ in range(clients)))


async def open_loop(per_second: float, seconds: float, one: Callable[[], Awaitable[object]]) -> None:
    """Send requests at a fixed rate, regardless of earlier ones."""
    began, tasks = time.monotonic(), []
    for number in range(int(per_second * seconds)):
        await asyncio.sleep(max(0.0, began + number / per_second - time.monotonic()))
        tasks.append(asyncio.create_task(_done(one)))
    await asyncio.gather(*tasks)


async def _done(one: Callable[[], Awaitable[object]]) -> None:
    await one()


def work(seed: int, samples: int = 40_000, timeout_s: float = 30.0) -> bytes:
    """A small body that keeps a worker busy for about 20 ms; answers differ by seed."""
    return b'%b, "samples": %d, "seed": %d, "timeout_s": %r}' % (_SCORES, samples, seed, timeout_s)


def p99(values: list[float]) -> float:
    """The 99th percentile; 0 for an empty list."""
    return float(np.percentile(values, 99)) if values else 0.0
