"""uvicorn's server with another start and end: reports its address, drains before it stops, and loses no connection."""

from __future__ import annotations

import asyncio
import errno
import logging
import math
import os
import signal
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from types import FrameType
from typing import Protocol

import uvicorn

from ...version import __version__
from ..health import Drain

LAST_PORT = 65_535


def sockets_of(host: str, port: int, processes: int) -> list[list[socket.socket]]:
    """Sockets for each process on the same address, bound but not yet listening; port 0 picks a free port.

    The kernel spreads connections over the processes that listen (SO_REUSEPORT). They are made with IPPROTO_TCP, without
    which asyncio sets no TCP_NODELAY on what they accept: every answer then waits for a delayed acknowledgement.

    Raises
    ------
        OSError: the address is not available, or another service has it (SO_REUSEPORT alone would share it).
    """
    with ExitStack() as undo:
        first = list(_bound(host, port, shared=False))
        port = port or first[0].getsockname()[1]
        for one in first:
            one.close()
        all_of_them = []
        for _ in range(processes):
            bound = list(_bound(host, port, shared=True))
            all_of_them.append(bound)
            for one in bound:
                undo.callback(one.close)
        undo.pop_all()
    return all_of_them


def sockets_again(host: str, port: int) -> list[socket.socket]:
    """Sockets for one more process on our address."""
    return list(_bound(host, port, shared=True))


def _bound(host: str, port: int, *, shared: bool) -> Iterator[socket.socket]:
    addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    is_bound = False
    for number, (family, kind, _, _, address) in enumerate(dict.fromkeys(addresses)):
        one = socket.socket(family, kind, socket.IPPROTO_TCP)
        try:
            one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                one.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            one.bind((address[0], port, *address[2:]))
            one.setblocking(False)
        except OSError as error:
            one.close()
            if error.errno != errno.EADDRNOTAVAIL or (not is_bound and number == len(addresses) - 1):
                raise
            continue
        port = port or one.getsockname()[1]
        is_bound = True
        yield one


def url_of(host: str, port: int) -> str:
    """The address as people write it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def cannot_listen(host: str, port: int, error: OSError) -> str:
    """A sentence on why the server cannot listen, and what to do."""
    where = url_of(host, port).removeprefix("http://")
    if error.errno == errno.EADDRINUSE:
        return (
            f"{where} is in use: stop the program that listens there, or choose another port with "
            f"EXACTPERM_PORT={port + 1 if port < LAST_PORT else 0} (serve --port)."
        )
    if error.errno == errno.EACCES:
        return f"this user may not listen on {where}: choose a port from 1024 on with EXACTPERM_PORT (serve --port)."
    return f"cannot listen on {where}: {error.strerror or error}. Set EXACTPERM_HOST and EXACTPERM_PORT (serve --host, --port)."


ROUNDS = 4  # iterations of the event loop after which connections accepted by asyncio have a protocol
BACKLOG = 2_048  # connections that the kernel queues until they are accepted


class Parent(Protocol):
    """The parent process, which receives the signals."""

    def listens(self) -> None:
        """Note that the web process listens."""


class Server(uvicorn.Server):
    """Exits with status 0 after a clean stop, where uvicorn would raise the signal again.

    The first signal begins the `drain`; for `delay_s` after SIGTERM requests are still accepted.
    """

    def __init__(
        self, config: uvicorn.Config, drain: Drain, delay_s: float, parent: Parent | None = None
    ) -> None:
        super().__init__(config)
        self._parent = parent
        self._drain = drain
        self._delay_s = delay_s
        self._leaves_at = math.inf

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen, with a kernel queue longer than the number accepted in one iteration of the loop.

        Standard error gets the reason if it cannot listen, and the address only on a terminal, because log collectors
        may read standard error.
        """
        try:
            await super().startup(sockets)
        except SystemExit as end:
            if isinstance(end.__context__, OSError):
                sys.stderr.write(
                    f"exactperm: {cannot_listen(self.config.host, self.config.port, end.__context__)}\n"
                )
            raise
        for server in self.servers:
            for listening in server.sockets:
                with socket.socket(fileno=os.dup(listening.fileno())) as same:
                    same.listen(BACKLOG)
        if self._parent is not None:
            self._parent.listens()
        else:
            say_where(self.config.host, self.servers[0].sockets[0].getsockname()[1])

    async def on_tick(self, counter: int) -> bool:
        """Whether to stop serving; called ten times a second."""
        self.should_exit = self.should_exit or time.monotonic() >= self._leaves_at
        return await super().on_tick(counter)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Stop listening, and finish all requests on connections that we or the kernel have accepted."""
        loop = asyncio.get_running_loop()
        listening = [each for server in self.servers for each in server.sockets]
        for each in listening:
            loop.remove_reader(each.fileno())
        for _ in range(ROUNDS):  # a closing server drops connections without a protocol
            await asyncio.sleep(0)
        waiting = [connection for each in listening for connection in _accepted(each.fileno())]
        for server in self.servers:
            server.close()
        for connection in waiting:
            await loop.connect_accepted_socket(self._protocol, connection)
        await super().shutdown(sockets)

    def _protocol(self) -> asyncio.Protocol:
        """A protocol as uvicorn creates it for an accepted connection."""
        protocol: asyncio.Protocol = self.config.http_protocol_class(  # type: ignore[call-arg]  # typed as any class
            config=self.config, server_state=self.server_state, app_state=self.lifespan.state
        )
        return protocol

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Handle SIGINT and SIGTERM while serving; a parent handles them for all its web processes."""
        if self._parent is not None:
            yield
            return
        before = {
            number: signal.signal(number, self.handle_exit) for number in (signal.SIGINT, signal.SIGTERM)
        }
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        """The first signal stops gracefully, the second at once: it exits the process, because from Python 3.12.1 on,
        closing a server waits for its connections.

        Workers end when their parent has gone.
        """
        if self._drain.begun:
            logging.shutdown()
            os._exit(0)
        self._drain.begin()
        delay_s = self._delay_s if sig == signal.SIGTERM else 0.0
        self._leaves_at = time.monotonic() + delay_s
        self.should_exit = not delay_s


def say_where(host: str, port: int) -> None:
    """Tell a person at a terminal where the service listens."""
    if sys.stderr.isatty():
        where = f"{url_of(host, port)} (page at /, guide at /docs/guide, API at /docs)"
        sys.stderr.write(f"exactperm {__version__} listens on {where}; Ctrl-C stops it.\n")


def _accepted(listening: int) -> list[socket.socket]:
    """The connections in the kernel's queue of a non-blocking listening socket, given by its file descriptor."""
    accepted: list[socket.socket] = []
    with socket.socket(fileno=os.dup(listening)) as same:
        same.setblocking(False)
        try:
            while len(accepted) < BACKLOG:
                accepted.append(same.accept()[0])
        except OSError:  # the queue is empty, or there are no more file descriptors
            pass
    return accepted
