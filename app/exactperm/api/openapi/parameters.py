"""Parameters and headers that several operations have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, get_args

from ...inputs.encodings import CODINGS
from ...reports.picture.canvas import Theme
from ...service.schema.fields import LEAST_TIMEOUT_S

Schema = dict[str, Any]
REF = "#/components/schemas/{model}"


def header(description: str, kind: str = "string") -> Schema:
    """A header of a response."""
    return {"description": description, "schema": {"type": kind}}


def parameter(name: str, description: str, schema: Schema, where: str = "query") -> Schema:
    """A parameter that may be left out."""
    return {"name": name, "in": where, "required": False, "description": description, "schema": schema}


ANSWER_HEADERS = {
    "ETag": header("The id of the answer."),
    "Server-Timing": header(
        "queue and compute, in milliseconds; cache, when the answer was cached (hit) or is computed for several equal "
        "requests (shared)."
    ),
    "Content-Location": header("Where an answer is kept that was asked for with store."),
    "Age": header("Seconds since a cached answer was computed.", "integer"),
    "X-Request-Id": header("The client's, or a new one."),
}


def format_parameter(names: Iterable[str]) -> Schema:
    """The choice among these representations."""
    description = "The representation of the answer; overrides Accept."
    return parameter("format", description, {"type": "string", "enum": list(names)})


THEME = parameter(
    "theme",
    "The colours of a picture (svg, png). Default light.",
    {"type": "string", "enum": list(get_args(Theme))},
)
TIMEOUT = parameter(
    "timeout_s",
    "Deadline in seconds, clamped by the server; here it counts before any body is read.",
    {"type": "number", "exclusiveMinimum": LEAST_TIMEOUT_S},
)
CODING = parameter(
    "Content-Encoding",
    "The content coding of the body; the limit is for its size as sent and as inflated.",
    {"type": "string", "enum": [*CODINGS, "identity", ""]},
    "header",
)
STORE = parameter(
    "store",
    "1 keeps the answer for a while; Content-Location is its path, for whoever has the same API key.",
    {"type": "string", "enum": ["0", "1"]},
)
# Of whatever runs a test; a plan has no pictures.
RUNNING = [THEME, TIMEOUT, CODING, STORE]
