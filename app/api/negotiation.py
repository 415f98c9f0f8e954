"""Which representation of an answer a client wants, and which media type its body has."""

from __future__ import annotations

from collections.abc import Sequence

from app.api.job import Kind, Representation
from app.api.problems import NotAcceptable
from app.errors import InvalidTest, UnsupportedMedia

JSON = "application/json"
CSV = "text/csv"
TSV = "text/tab-separated-values"

PRODUCED: dict[Representation, str] = {
    "json": JSON,
    "text": "text/plain",
    "markdown": "text/markdown",
    "csv": CSV,
}
CONSUMED: dict[Kind, tuple[str, ...]] = {
    "effects": (JSON,),
    "scores": (JSON, CSV, TSV),
    "predictions": (JSON,),
    "plan": (JSON,),
}
MAX_ACCEPT_CHARS = 1_000


def representation(
    accept: str | None, format_name: str | None, offered: Sequence[Representation]
) -> Representation:
    """The representation to answer in: `?format=` decides, else the `Accept` header (RFC 9110, section 12.5.1).

    Raises
    ------
        InvalidTest: the format is not one there is.
        NotAcceptable: nothing on offer is accepted.
    """
    if format_name is not None:
        for name in offered:
            if name == format_name:
                return name
        raise InvalidTest.at("/?format", "unknown_format", f"format is one of {', '.join(offered)}.")
    if accept is None or not accept.strip():
        return offered[0]
    ranges = _ranges(accept[:MAX_ACCEPT_CHARS])
    best = max(offered, key=lambda name: (_quality(PRODUCED[name], ranges), -offered.index(name)))
    if _quality(PRODUCED[best], ranges) <= 0:
        types = ", ".join(PRODUCED[name] for name in offered)
        raise NotAcceptable(
            f"The answer can be had as {types}; none of them is accepted by the Accept header."
        )
    return best


def _ranges(accept: str) -> list[tuple[str, float]]:
    """The media ranges of an Accept header with their qualities; what cannot be read is left out."""
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
    """The quality of the most specific range that a media type falls into."""
    kind = media.partition("/")[0] + "/*"
    for candidate in (media, kind, "*/*"):
        found = [quality for name, quality in ranges if name == candidate]
        if found:
            return max(found)
    return 0.0


def media_type(content_type: str | None, content_encoding: str | None, kind: Kind) -> str:
    """The media type of a body, without parameters.

    Raises
    ------
        UnsupportedMedia: it is missing, not one this endpoint reads, compressed, or not in UTF-8.
    """
    readable = CONSUMED[kind]
    if content_encoding is not None and content_encoding.strip().lower() not in ("", "identity"):
        raise UnsupportedMedia("Compressed bodies are not available yet; send it without Content-Encoding.")
    media, *parameters = (piece.strip() for piece in (content_type or "").split(";"))
    media = media.lower()
    if media not in readable:
        raise UnsupportedMedia(
            f"This endpoint reads {', '.join(readable)}; say which in the Content-Type header "
            f"(with curl: -H 'content-type: {readable[0]}')."
        )
    for parameter in parameters:
        name, _, value = parameter.partition("=")
        if name.strip().lower() == "charset" and value.strip(' "').lower() not in (
            "utf-8",
            "utf8",
            "us-ascii",
        ):
            raise UnsupportedMedia("The body must be UTF-8; send it as UTF-8 and leave charset out.")
    return media
