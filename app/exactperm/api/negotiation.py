"""Request headers and content negotiation: the representation of an answer, the media type and coding of a body."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple, cast, get_args

from python_multipart.multipart import parse_options_header

from ..errors import InvalidTest, MalformedBody, NotAcceptable, UnsupportedMedia
from ..inputs.encodings import CODINGS
from ..reports.picture.canvas import Theme
from ..reports.representations import BY_NAME, BoardPicture, BoardTable
from ..service.kinds import JSON, KINDS, MULTIPART, Kind
from ..service.messages import Body

if TYPE_CHECKING:
    from starlette.types import Scope

PLAIN = Body(JSON)
MAX_ACCEPT_CHARS = 1_000
SHORT_ACCEPT_CHARS = 100
MAX_BOUNDARY_CHARS = 70  # RFC 2046, section 5.1.1
UTF8_NAMES = frozenset({"utf-8", "utf8", "us-ascii"})


class RequestHeaders(NamedTuple):
    """The headers that the endpoint of tests reads: all lines of a list, the first line of any other."""

    accept: str | None
    content_type: str | None
    content_encoding: str
    content_length: str | None


def read_headers(scope: Scope) -> RequestHeaders:
    """The headers about the body and the wanted answer, read in one pass.

    >>> read_headers({"headers": [(b"accept", b"text/csv"), (b"content-length", b"2"), (b"accept", b"*/*")]})
    RequestHeaders(accept='text/csv,*/*', content_type=None, content_encoding='', content_length='2')
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
    return RequestHeaders(",".join(ranges) or None, content_type, ",".join(codings), content_length)


def representation(accept: str | None, format_name: str | None, offered: Sequence[str]) -> str:
    """The representation to answer in: `?format=` decides, else the `Accept` header (RFC 9110, section 12.5.1).

    Raises
    ------
        InvalidTest: the format is unknown.
        NotAcceptable: the client accepts no offered representation.
    """
    if format_name is not None:
        if format_name in offered:
            return format_name
        raise InvalidTest.at("/?format", "unknown_format", f"format is one of {', '.join(offered)}.")
    if accept is None or not accept.strip():
        return offered[0]
    if len(accept) <= SHORT_ACCEPT_CHARS:
        return _best_of_short(accept, tuple(offered))
    return _best(accept, offered)


def _best(accept: str, offered: Sequence[str]) -> str:
    """The offered representation that an `Accept` header wants most; raises NotAcceptable where it wants none."""
    ranges = _ranges(accept[:MAX_ACCEPT_CHARS])
    best = max(offered, key=lambda name: (_quality(BY_NAME[name].media_type, ranges), -offered.index(name)))
    if _quality(BY_NAME[best].media_type, ranges) <= 0:
        types = ", ".join(BY_NAME[name].media_type for name in offered)
        raise NotAcceptable(f"The answer is available as {types}; the Accept header allows none of them.")
    return best


_best_of_short = lru_cache(maxsize=256)(_best)  # a client sends the same header with each request


def theme(name: str | None, representation_name: str) -> Theme:
    """The colours of a picture.

    Raises
    ------
        InvalidTest: the theme is unknown, or the representation has no themes.
    """
    themes = get_args(Theme)
    default: Theme = themes[0]
    if name is None or name == default:
        return default
    if not BY_NAME[representation_name].is_themed:
        detail = "theme is for pictures only (format svg or png); an HTML report follows its reader's."
        raise InvalidTest.at("/?theme", "unused_parameter", detail)
    if name in themes:
        return cast("Theme", name)
    raise InvalidTest.at("/?theme", "unknown_theme", f"theme is one of {', '.join(themes)}.")


def board_picture(name: str | None, representation_name: str) -> BoardPicture:
    """Which picture of a comparison; raises InvalidTest where it is unknown, or the representation is none."""
    chosen = _choice("picture", name, get_args(BoardPicture))
    if name is not None and not BY_NAME[representation_name].is_themed:
        detail = "picture is for pictures only (format svg or png)."
        raise InvalidTest.at("/?picture", "unused_parameter", detail)
    return cast("BoardPicture", chosen)


def board_table(name: str | None, representation_name: str) -> BoardTable:
    """Which table of a comparison; raises InvalidTest where it is unknown, or the representation is none."""
    chosen = _choice("table", name, get_args(BoardTable))
    if name is not None and not BY_NAME[representation_name].is_table:
        raise InvalidTest.at("/?table", "unused_parameter", "table is for format csv only.")
    return cast("BoardTable", chosen)


def _choice(parameter: str, name: str | None, names: Sequence[str]) -> str:
    """The value of a query parameter; the first is the default."""
    if name is not None and name not in names:
        detail = f"{parameter} is one of {', '.join(names)}."
        raise InvalidTest.at(f"/?{parameter}", f"unknown_{parameter}", detail)
    return names[0] if name is None else name


def _ranges(accept: str) -> list[tuple[str, float]]:
    """The media ranges of an Accept header with their qualities; unreadable ones are ignored."""
    ranges = []
    for part in accept.split(","):
        media, *parameters = (piece.strip().lower() for piece in part.split(";"))
        quality = 1.0
        for parameter in parameters:
            if parameter.startswith("q="):
                try:
                    quality = float(parameter[2:])
                except ValueError:
                    quality = 0.0
        if media:
            ranges.append((media, quality))
    return ranges


def _quality(media: str, ranges: list[tuple[str, float]]) -> float:
    """The quality of the most specific range that includes a media type."""
    kind = media.partition("/")[0] + "/*"
    for candidate in (media, kind, "*/*"):
        qualities = [quality for name, quality in ranges if name == candidate]
        if qualities:
            return max(qualities)
    return 0.0


def body_of(content_type: str | None, content_encoding: str | None, kind: Kind) -> Body:
    """The media type, multipart boundary and content coding of a body, from its headers.

    Raises
    ------
    UnsupportedMedia
        The type is missing or not one that this endpoint reads, the charset is not UTF-8, or the coding is unknown.
    MalformedBody
        The boundary of a multipart body is missing.
    """
    readable = KINDS[kind].consumed
    if content_type == PLAIN.media_type and not content_encoding and PLAIN.media_type in readable:
        return PLAIN
    media, _, _ = (content_type or "").partition(";")
    media = media.strip().lower()
    if media not in readable:
        raise UnsupportedMedia(
            f"This endpoint reads {', '.join(readable)}; name one of them in the Content-Type header (with "
            f"curl: -H 'content-type: {readable[0]}')."
        )
    parameters = _parameters(content_type or "")
    if media != MULTIPART and parameters.get("charset", "utf-8").lower() not in UTF8_NAMES:
        raise UnsupportedMedia("The body must be UTF-8; send it as UTF-8 and leave charset out.")
    boundary = parameters.get("boundary", "") if media == MULTIPART else ""
    if media == MULTIPART and not (0 < len(boundary) <= MAX_BOUNDARY_CHARS):
        raise MalformedBody("The Content-Type header has no boundary parameter.")
    return Body(media, _coding(content_encoding), boundary)


def _parameters(content_type: str) -> dict[str, str]:
    """The parameters of a media type; RFC 9110, section 5.6.6."""
    try:
        _, parameters = parse_options_header(content_type[:MAX_ACCEPT_CHARS])
    except (ValueError, IndexError):
        return {}
    return {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in parameters.items()}


def _coding(content_encoding: str | None) -> str | None:
    """The one content coding of a body, or None."""
    names = [name.strip().lower() for name in (content_encoding or "").split(",")]
    codings = [name for name in names if name not in ("", "identity")]
    if len(codings) > 1:
        raise UnsupportedMedia("Only one content coding is supported: gzip or zstd.")
    if not codings:
        return None
    coding = codings[0].removeprefix("x-")  # RFC 9110, section 8.4.1.3: x-gzip is gzip
    if coding not in CODINGS:
        raise UnsupportedMedia(f"This content coding is not supported; use {' or '.join(CODINGS)}, or none.")
    return coding
