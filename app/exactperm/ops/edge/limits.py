"""The limits of connections, their count, a check of each one twice a second, and refusals.

There is one timer for all connections and none per request: a connection notes when it started to wait, and the check
compares. Five hundred slow clients cost a hundred microseconds twice a second.
"""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import logging
import resource
import socket
import struct
import termios
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Protocol

from ...settings import Settings
from ..shared_counters import Together
from .parsing import Refusal
from .request_turns import Turns, Waiting

SIOCOUTQ, SIOCINQ = termios.TIOCOUTQ, termios.FIONREAD  # the same numbers
INT = struct.Struct("i")


def untaken_bytes(transport: asyncio.Transport) -> int:
    """Bytes written but not acknowledged by the other end: in our buffer and in the kernel's."""
    return transport.get_write_buffer_size() + _in_kernel(transport, SIOCOUTQ)


def unread_bytes(transport: asyncio.Transport) -> int:
    """Bytes received by the kernel and not read yet."""
    return _in_kernel(transport, SIOCINQ)


def _in_kernel(transport: asyncio.Transport, buffer: int) -> int:
    connection = transport.get_extra_info("socket")
    if connection is None or connection.fileno() < 0:
        return 0
    try:
        size: int = INT.unpack(fcntl.ioctl(connection.fileno(), buffer, bytes(INT.size)))[0]
    except OSError:
        return 0
    return size


def was_reset(transport: asyncio.Transport) -> bool:
    """Whether the other end has reset the connection."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.fileno() < 0:
        return True
    return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


@lru_cache(maxsize=1_024)
def share_of(host: str) -> str:
    """The key by which connections of one client are counted: the address, or for IPv6 its /64 network."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    mapped = address.ipv4_mapped
    return f"{int(address) >> 64:x}" if mapped is None else str(mapped)


RESERVED_DESCRIPTORS = (
    24  # listening sockets, the log, the event loop, /proc, files that libraries open briefly
)
EACH_WORKER = 4  # its socket and its process, and those of its replacement


def possible_connections(wanted: int, workers: int) -> int:
    """How many connections are possible; at least `wanted` if the soft limit can be raised that far."""
    others = RESERVED_DESCRIPTORS + EACH_WORKER * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + others:
        most = wanted + others if hard == resource.RLIM_INFINITY else min(hard, wanted + others)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return wanted if soft == resource.RLIM_INFINITY else max(0, soft - others)


CONNECTION = (
    "exactperm.connection"  # the key in an ASGI scope; absent where another server runs the application
)


@dataclass(slots=True)
class Connection:
    """Set by the protocol, read by the middleware."""

    crowded: bool = False  # beyond the limit of connections
    late: bool = False  # the body is not arriving in time


log = logging.getLogger("exactperm.edge")

LOOK_EVERY_S = 0.5
LOOK_FOR_S = (
    0.002  # in one turn of the event loop: a thousand refusals at once would take a fifth of a second
)
RESERVE = 1_024  # connections accepted beyond the limit, for health routes and to answer others with 503
ACCEPTED_AT_ONCE = 128  # per turn of the event loop
TURNS = 4  # between accepting a connection and closing the one that makes room for it
CROWDED_HEAD_S = 2.0  # time for the headers on a connection beyond the limit
CROWDED_HEAD_BYTES = 16_384  # and bytes that it may send before it is answered
CROWDED = Refusal(
    503, "connections", "More connections are open than this server serves. Try again a little later."
)
LEAST_CONNECTIONS = 8
SLOW_HEAD = Refusal(408, "header_timeout", "The headers did not arrive in time.")

# Security headers of all responses. A response with its own content security policy keeps it.
POLICY = b"content-security-policy"
NOTHING = b"default-src 'none'; frame-ancestors 'none'"
FIXED = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)

Headers = tuple[tuple[str, str], ...]
Problem = Callable[
    [int, str, str], tuple[Headers, bytes]
]  # status, detail and request id to headers and body


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of connections: times in seconds, sizes in bytes, rates in bytes per second, counts."""

    header_timeout_s: float
    max_header_bytes: int
    body_timeout_s: float
    body_bytes_per_second: int
    max_connections: int
    keep_alive_s: float
    max_connections_per_address: int
    reserve: int = RESERVE

    @classmethod
    def of(cls, settings: Settings) -> Limits:
        """The limits in the settings."""
        return cls(
            settings.header_timeout_s,
            settings.max_header_bytes,
            settings.body_timeout_s,
            settings.body_bytes_per_second,
            settings.max_connections,
            settings.keep_alive_s,
            settings.max_connections_per_address,
        )

    @property
    def at_once(self) -> int:
        """Connections accepted per turn of the loop; few enough that the newest is still served some turns later."""
        return min(ACCEPTED_AT_ONCE, max(1, self.reserve // 8))

    @property
    def descriptors(self) -> int:
        """File descriptors that connections may need."""
        return self.max_connections + self.reserve + TURNS * self.at_once

    def within(self, descriptors: int) -> Limits:
        """These limits with at most `descriptors` file descriptors for connections: a smaller reserve, or fewer served.

        Raises
        ------
            ValueError: too few descriptors to serve at all.
        """
        reserve = min(RESERVE, max((descriptors - self.max_connections) * 2 // 3, descriptors // 8))
        fewer = replace(self, reserve=reserve)
        served = min(self.max_connections, descriptors - reserve - TURNS * fewer.at_once)
        if served < min(self.max_connections, LEAST_CONNECTIONS):
            raise ValueError(f"{max(0, descriptors)} file descriptors for connections are too few")
        return replace(fewer, max_connections=served)

    def too_slow(self, seconds: float, received: int) -> bool:
        """Whether a body is too slow if `received` bytes arrived in `seconds`."""
        if seconds >= self.body_timeout_s:
            return True
        return received < self.body_bytes_per_second * (seconds - self.header_timeout_s)


class Link(Waiting, Protocol):
    """A connection, as its server sees it."""

    loop: asyncio.AbstractEventLoop

    def look(self, now: float) -> None:
        """Enforce the deadlines."""

    def give_way(self) -> None:
        """Close the connection, which is beyond the limit, to make room for another."""


class Edge:
    """The connections of one server; `refused` is called with the reason of every refusal."""

    def __init__(
        self,
        limits: Limits,
        problem: Problem,
        refused: Callable[[str], None],
        together: Together | None = None,
    ) -> None:
        self.limits = limits
        self._together = together or Together()
        self.turns = Turns()
        self.connections: dict[Link, str] = {}  # and the client key of each
        self._of_one: Counter[str] = Counter()
        self._waiting: dict[Link, None] = {}  # beyond the limit, and idle: the longest first
        self._problem = problem
        self._refused = refused
        self._timer: asyncio.Handle | None = None  # until the next check, or the rest of this one

    def crowds(self, connection: Link) -> bool:
        """Whether this connection is beyond the limit: of all, or of those from its address."""
        of_address = self._of_one[self.connections.get(connection, "")]
        return (
            len(self.connections) + self._together.others > self.limits.max_connections
            or of_address > self.limits.max_connections_per_address
        )

    def add(self, connection: Link, host: str) -> bool:
        """Add a connection; return whether it can be served or refused with a response.

        The reserve makes room by closing the connection that has been idle longest.
        """
        share = share_of(host)
        self.connections[connection] = share
        self._together.put(len(self.connections))
        self._of_one[share] += 1
        if self._timer is None:
            self._look_later(connection.loop)
        if len(self.connections) <= self.limits.max_connections + self.limits.reserve:
            return True
        longest = next(iter(self._waiting), None)
        if longest is None:
            return False
        longest.give_way()
        return True

    def remove(self, connection: Link) -> None:
        """Remove a connection that is closed or about to be."""
        share = self.connections.pop(connection, None)
        if share is None:
            return
        self._together.put(len(self.connections))
        self._of_one[share] -= 1
        if not self._of_one[share]:
            del self._of_one[share]
        self.waits(connection, waiting=False)
        self.turns.leave(connection)

    def waits(self, connection: Link, *, waiting: bool) -> None:
        """Note whether a connection beyond the limit waits for its client."""
        self._waiting.pop(connection, None)
        if waiting:
            self._waiting[connection] = None

    def _look_later(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = loop.call_later(self.look_every_s, self._look, loop)

    @property
    def look_every_s(self) -> float:
        """Often enough for the shortest deadline."""
        return min(LOOK_EVERY_S, self.limits.header_timeout_s / 4, self.limits.body_timeout_s / 4)

    def _look(self, loop: asyncio.AbstractEventLoop) -> None:
        # Deadlines before the next check count as due now, so that none is exceeded.
        self._look_at(iter(tuple(self.connections)), loop.time() + self.look_every_s, loop)

    def _look_at(self, some: Iterator[Link], now: float, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        ends_at = loop.time() + LOOK_FOR_S
        for connection in some:
            if connection in self.connections:
                connection.look(now)
            if loop.time() >= ends_at:
                self._timer = loop.call_soon(self._look_at, some, now, loop)
                return
        if self.connections:
            self._look_later(loop)

    def answer(self, refusal: Refusal) -> tuple[list[tuple[bytes, bytes]], bytes]:
        """The headers and body of a refusal, as a problem; it is counted and logged."""
        request_id = uuid.uuid4().hex
        self._refused(refusal.reason)
        log.info(
            "refused", extra={"status": refusal.status, "reason": refusal.reason, "request_id": request_id}
        )
        problem_headers, body = self._problem(refusal.status, refusal.detail, request_id)
        headers = [(name.encode(), value.encode()) for name, value in problem_headers if name != "connection"]
        headers += [(b"x-request-id", request_id.encode()), (POLICY, NOTHING), *FIXED]
        headers += [(b"content-length", str(len(body)).encode()), (b"connection", b"close")]
        return headers, body

    def gave_up(self, reason: str) -> None:
        """Count a connection that was closed without a response."""
        self._refused(reason)
