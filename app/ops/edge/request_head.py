"""Checks of a request's head beyond those of h11, and its target as a path."""

from __future__ import annotations

import re
from dataclasses import dataclass

import h11

HOST = re.compile(rb"[A-Za-z0-9._~%!$&'()*+,;=:\[\]-]*\Z")
ABSOLUTE = re.compile(rb"https?://([^/?#]*)([^#]*)\Z", re.IGNORECASE)
CLEAR = re.compile(rb"(?:.*\r\n(?![ \t]))*.*\Z")  # of bare CRs it takes no notice
MAX_HEADERS = 100
TOO_LARGE = "The request line and headers are larger than this server allows."


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why a request is refused."""

    status: int
    reason: str
    detail: str


NO_HOST = Refusal(400, "framing", "The Host header is not a valid host name.")
LARGE_HEAD = Refusal(431, "header_bytes", TOO_LARGE)
LINE_ENDS = Refusal(
    400, "framing", "Lines must end with CR and LF, and a header must be on one line (RFC 9112, 2.2 and 5.2)."
)


def unclear(lines: bytes) -> bool:
    """Whether two programs could split these lines differently: a bare LF or CR, or a header folded into two lines.

    RFC 9112 lets a recipient accept them (2.2, 5.2); one that does and one that does not see different requests.
    """
    return CLEAR.match(lines) is None or lines.count(b"\r") != lines.count(b"\n")


def examined(request: h11.Request, max_header_bytes: int) -> bool | Refusal:
    """Whether the body is chunked (the only transfer coding of h11), or why the request is refused."""
    size = len(request.method) + len(request.target)
    length = coding = False
    types = 0
    for name, value in request.headers:
        size += len(name) + len(value)
        if name == b"content-length":
            length = True
        elif name == b"transfer-encoding":
            coding = True
        elif name == b"content-type":
            types += 1
        elif name == b"host" and not HOST.match(value):
            return NO_HOST
    if request.http_version not in (b"1.0", b"1.1"):
        return Refusal(505, "framing", "This server supports HTTP/1.1 and HTTP/1.0.")
    if size > max_header_bytes or len(request.headers) > MAX_HEADERS:
        return LARGE_HEAD
    if coding and (length or request.http_version != b"1.1"):
        return Refusal(
            400, "framing", "A transfer coding together with a length, or in HTTP/1.0, is ambiguous."
        )
    if types > 1:
        return Refusal(400, "framing", "There are two Content-Type headers; send one.")
    return coding


def in_origin_form(request: h11.Request) -> h11.Request | Refusal:
    """The request with a path as its target. An absolute URI is accepted (RFC 9112, 3.2.2); its host replaces Host."""
    if request.target[:4].lower() != b"http":
        return request
    match = ABSOLUTE.match(request.target)
    if match is None:
        return request
    host, target = match.groups()
    if not host or not HOST.match(host):
        return NO_HOST
    headers = [(name, host if name == b"host" else value) for name, value in request.headers]
    if not target.startswith(b"/"):
        target = b"/" + target
    return h11.Request(
        method=request.method, target=target, headers=headers, http_version=request.http_version
    )
