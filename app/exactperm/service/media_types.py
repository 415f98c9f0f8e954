"""Media types of requests, and in which representations each endpoint answers."""

from __future__ import annotations

from collections.abc import Mapping
from typing import get_args

from ..reports.representations import (
    JSON as JSON_NAME,
    NDJSON as NDJSON_NAME,
    OF_A_COMPARISON,
    OF_A_GATE,
    OF_A_TEST,
    OF_POWER,
)
from .messages import Kind, TestKind

JSON = "application/json"
CSV = "text/csv"
TSV = "text/tab-separated-values"
NDJSON = "application/x-ndjson"
NPY = "application/x-npy"
MULTIPART = "multipart/form-data"

OF_A_LIST = (JSON_NAME, NDJSON_NAME)
CONSUMED: Mapping[Kind, tuple[str, ...]] = {
    "effects": (JSON, NDJSON),
    "scores": (JSON, CSV, TSV, NDJSON, NPY),
    "counts": (JSON, CSV, TSV, NDJSON, NPY),
    "predictions": (JSON, NDJSON),
    "files": (MULTIPART,),
    "plan": (JSON,),
    "gate": (JSON, MULTIPART),
    "compare": (JSON, CSV, TSV, NDJSON, NPY, MULTIPART),
    "power": (JSON, MULTIPART),
    "batch": (JSON, NDJSON),
}
OFFERED: Mapping[Kind, tuple[str, ...]] = {
    **dict.fromkeys(get_args(TestKind), OF_A_TEST),
    "files": OF_A_TEST,
    "plan": (JSON_NAME,),
    "gate": OF_A_GATE,
    "compare": OF_A_COMPARISON,
    "power": OF_POWER,
    "batch": OF_A_LIST,
}
