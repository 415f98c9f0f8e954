"""Addresses to listen on: sockets for several web processes, and the words when there are none."""

from __future__ import annotations

import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack

LAST_PORT = 65_535


def sockets_of(host: str, port: int, processes: int) -> list[list[socket.socket]]:
    """For each process sockets of its own on the one address, bound and not yet listening; with port 0 on a free port.

    The kernel spreads connections over the processes that listen (SO_REUSEPORT). They are made with IPPROTO_TCP, without
    which asyncio sets no TCP_NODELAY on what they accept: every answer then waits for a delayed acknowledgement.

    Raises
    ------
        OSError: the address cannot be had; also when another service has it, which SO_REUSEPORT alone would share.
    """
    with ExitStack() as undo:
        first = list(_bound(host, port, shared=False))
        port = port or first[0].getsockname()[1]
        for one in first:
            one.close()
        all_of_them = []
        for _ in range(processes):
            own = list(_bound(host, port, shared=True))
            all_of_them.append(own)
            for one in own:
                undo.callback(one.close)
        undo.pop_all()
    return all_of_them


def again(host: str, port: int) -> list[socket.socket]:
    """Sockets for one more process on an address that is ours."""
    return list(_bound(host, port, shared=True))


def _bound(host: str, port: int, *, shared: bool) -> Iterator[socket.socket]:
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    given = False
    for number, (family, kind, _, _, address) in enumerate(dict.fromkeys(found)):
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
            if error.errno != errno.EADDRNOTAVAIL or (not given and number == len(found) - 1):
                raise
            continue
        port = port or one.getsockname()[1]
        given = True
        yield one


def url_of(host: str, port: int) -> str:
    """The address as people write it."""
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def cannot_listen(host: str, port: int, error: OSError) -> str:
    """Why there is no listening socket, and what to do, in a sentence for people."""
    where = url_of(host, port).removeprefix("http://")
    if error.errno == errno.EADDRINUSE:
        return (
            f"{where} is in use: stop the program that listens there, or choose another port with "
            f"EXACTPERM_PORT={port + 1 if port < LAST_PORT else 0} (serve --port)."
        )
    if error.errno == errno.EACCES:
        return f"this user may not listen on {where}: choose a port from 1024 on with EXACTPERM_PORT (serve --port)."
    return f"cannot listen on {where}: {error.strerror or error}. Set EXACTPERM_HOST and EXACTPERM_PORT (serve --host, --port)."
