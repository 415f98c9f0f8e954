"""The state of a connection in the kernel (Linux: tcp(7), socket(7)); unknown elsewhere."""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import socket
import struct
import termios
from functools import lru_cache

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
