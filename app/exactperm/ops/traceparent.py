"""The `traceparent` header (W3C Trace Context, Recommendation of 2021, section 3.2)."""

from __future__ import annotations

import re
from typing import NamedTuple

HEADER = b"traceparent"
VERSION_0 = re.compile(rb"00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})\Z")
LATER = re.compile(rb"(?!ff)[0-9a-f]{2}-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(?:-.*)?\Z", re.DOTALL)
MAX_BYTES = 512


class Parent(NamedTuple):
    """The caller's span."""

    trace_id: str
    span_id: str
    sampled: bool


def parent_of(header: bytes) -> Parent | None:
    """The caller's span, or None for an invalid header: the service then starts its own trace."""
    match = (VERSION_0 if header[:3] == b"00-" else LATER).match(header[:MAX_BYTES])
    if match is None:
        return None
    trace_id, span_id, flags = match.groups()
    if not trace_id.strip(b"0") or not span_id.strip(b"0"):
        return None
    return Parent(trace_id.decode(), span_id.decode(), bool(int(flags, 16) & 1))
