"""What the kernel knows of the other end of a connection (Linux: tcp(7), socket(7)). Elsewhere it knows nothing."""

from __future__ import annotations

import asyncio
import fcntl
import ipaddress
import socket
import struct
import termios

SIOCOUTQ, SIOCINQ = termios.TIOCOUTQ, termios.FIONREAD  # the same numbers
INT = struct.Struct("i")


def untaken_bytes(transport: asyncio.Transport) -> int:
    """Bytes that were written and that the other end has not acknowledged: with us, and in the kernel's buffer."""
    return transport.get_write_buffer_size() + _in_kernel(transport, SIOCOUTQ)


def unread_bytes(transport: asyncio.Transport) -> int:
    """Bytes that have come and that nobody has read yet."""
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
    """Whether the other end has answered what we wrote with a reset: nobody is there any more."""
    connection = transport.get_extra_info("socket")
    if connection is None or connection.fileno() < 0:
        return True
    return bool(connection.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR))


def share_of(host: str) -> str:
    """Whose an address is, as far as that can be told: its own, or for IPv6 its network's of 64 bits."""
    try:
        address = ipaddress.ip_address(host)
    except ValueError:
        return host
    if isinstance(address, ipaddress.IPv4Address):
        return host
    mapped = address.ipv4_mapped
    return f"{int(address) >> 64:x}" if mapped is None else str(mapped)
