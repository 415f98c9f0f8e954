"""Media types of requests and responses, and what each endpoint reads and offers."""

from __future__ import annotations

from .messages import Kind, Representation, Theme

JSON = "application/json"
CSV = "text/csv"
TSV = "text/tab-separated-values"
NDJSON = "application/x-ndjson"
NPY = "application/x-npy"
MULTIPART = "multipart/form-data"
TEXTS = frozenset({"text", "markdown", "csv", "html"})  # their media type says that they are UTF-8

PRODUCED: dict[Representation, str] = {
    "json": JSON,
    "text": "text/plain",
    "markdown": "text/markdown",
    "csv": CSV,
    "svg": "image/svg+xml",
    "png": "image/png",
    "html": "text/html",
    "junit": "application/xml",
}
CONSUMED: dict[Kind, tuple[str, ...]] = {
    "effects": (JSON, NDJSON),
    "scores": (JSON, CSV, TSV, NDJSON, NPY),
    "counts": (JSON, CSV, TSV, NDJSON, NPY),
    "predictions": (JSON, NDJSON),
    "files": (MULTIPART,),
    "plan": (JSON,),
    "gate": (JSON, MULTIPART),
}
OF_A_TEST: tuple[Representation, ...] = ("json", "text", "markdown", "csv", "svg", "png", "html")
OFFERED: dict[Kind, tuple[Representation, ...]] = {
    "effects": OF_A_TEST,
    "scores": OF_A_TEST,
    "counts": OF_A_TEST,
    "predictions": OF_A_TEST,
    "files": OF_A_TEST,
    "plan": ("json",),
    "gate": (*OF_A_TEST, "junit"),
}
THEMES: tuple[Theme, ...] = ("light", "dark")
DEFAULT_THEME: Theme = "light"
THEMED: tuple[Representation, ...] = ("svg", "png")
