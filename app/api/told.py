"""What the headers of a request tell about its body and the wanted answer, read in one pass."""

from __future__ import annotations

from typing import NamedTuple

from starlette.types import Scope


class Told(NamedTuple):
    """The values of headers; of a list that is told in several lines all, of others the first."""

    accept: str | None
    content_type: str | None
    content_encoding: str
    content_length: str | None


def told_by(scope: Scope) -> Told:
    """What a request tells.

    >>> told_by({"headers": [(b"accept", b"text/csv"), (b"content-length", b"2"), (b"accept", b"*/*")]})
    Told(accept='text/csv,*/*', content_type=None, content_encoding='', content_length='2')
    """
    ranges: list[str] = []
    codings: list[str] = []
    content_type = content_length = None
    for name, value in scope["headers"]:
        if name == b"content-type":
            content_type = value.decode("latin-1") if content_type is None else content_type
        elif name == b"content-length":
            content_length = value.decode("latin-1") if content_length is None else content_length
        elif name == b"accept":
            ranges.append(value.decode("latin-1"))
        elif name == b"content-encoding":
            codings.append(value.decode("latin-1"))
    return Told(",".join(ranges) or None, content_type, ",".join(codings), content_length)
