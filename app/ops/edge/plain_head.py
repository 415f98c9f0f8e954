"""The heads of nearly all requests, read with one expression; whatever it does not match is left to h11.

It matches less than h11 accepts, and reads what it matches as h11 does: tests/unit/ops/test_plain_head.py compares.
"""

from __future__ import annotations

import re
from typing import Any, NamedTuple

import h11

from .request_head import HOST, MAX_HEADERS

# A method that h11 gives no meaning of its own, a path, HTTP/1.1; then names and values without control characters.
# Each byte has one place in it, so that a mismatch is found in one pass.
PLAIN = re.compile(
    rb"(GET|POST) (/[\x21-\x7e]*) HTTP/1\.1\r\n"
    rb"((?:[-!#$%&'*+.^_`|~0-9a-zA-Z]+:[ \t\x21-\x7e\x80-\xff]*\r\n)+)\r\n"
)
MOST_DIGITS = 15
# They say how the body ends, or what the connection becomes.
UNUSUAL = frozenset({b"transfer-encoding", b"expect", b"upgrade"})
NO_BODY = b"0"


class PlainHead(NamedTuple):
    """A request without its body, which has `length` bytes; `end` is where the body begins."""

    method: bytes
    target: bytes
    headers: list[tuple[bytes, bytes]]
    length: int
    end: int


def plain_head(there: bytes, max_header_bytes: int) -> PlainHead | None:
    """The head that `there` begins with; None if it is not complete, or not plain."""
    match = PLAIN.match(there)
    if match is None or match.end() > max_header_bytes:
        return None
    method, target, block = match.groups()
    headers = []
    hosts = types = 0
    length = None
    for line in block.split(b"\r\n")[:-1]:
        name, _, value = line.partition(b":")
        name, value = name.lower(), value.strip(b" \t")
        if name == b"host":
            hosts += 1
            if not HOST.match(value):
                return None
        elif name == b"content-length":
            if length is not None or not value.isdigit() or len(value) > MOST_DIGITS:
                return None
            length = value
        elif name == b"content-type":
            types += 1
        elif name in UNUSUAL or (name == b"connection" and value.lower() != b"keep-alive"):
            return None
        headers.append((name, value))
    if hosts != 1 or types > 1 or len(headers) > MAX_HEADERS:
        return None
    return PlainHead(method, target, headers, int(length or NO_BODY), match.end())


def request_of(head: PlainHead) -> h11.Request:
    """The event of a head that need not be checked again."""
    request = object.__new__(h11.Request)
    fields: dict[str, Any] = {"method": head.method, "target": head.target, "headers": head.headers}
    for name, value in fields.items():
        object.__setattr__(request, name, value)
    object.__setattr__(request, "http_version", b"1.1")
    return request
