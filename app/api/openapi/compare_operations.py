"""The OpenAPI operation of the comparison of many systems."""

from __future__ import annotations

from typing import Any, get_args

from ...reports.representations import OF_A_COMPARISON, BoardPicture, BoardTable
from ...service import media_types
from ...service.schema.compare import CompareRequest
from .operations import (
    BINARY,
    CODING,
    FORMAT,
    THEME,
    TIMEOUT,
    json_content,
    operation,
    reference,
    report_content,
)
from .schemas import CompareAnswer

PICTURE = {
    "name": "picture",
    "in": "query",
    "required": False,
    "description": "Which picture (svg, png). Default leaderboard.",
    "schema": {"type": "string", "enum": list(get_args(BoardPicture))},
}
TABLE = {
    "name": "table",
    "in": "query",
    "required": False,
    "description": "Which table (csv). Default systems.",
    "schema": {"type": "string", "enum": list(get_args(BoardTable))},
}
EXAMPLES: dict[str, dict[str, Any]] = {
    media_types.CSV: {
        "wide": {
            "summary": "a row for each item, a column for each system",
            "value": "id,A,B,C\nq1,1,1,0\nq2,1,0,0\nq3,1,1,1\nq4,0,1,0\n",
        },
        "long": {
            "summary": "a row for each item and system",
            "value": "id,system,score\nq1,A,1\nq1,B,0\nq2,A,1\nq2,B,1\n",
        },
    },
    media_types.TSV: {"wide": {"value": "id\tA\tB\nq1\t1\t0\nq2\t1\t1\n"}},
    media_types.NDJSON: {
        "long": {
            "value": '{"id": "q1", "system": "A", "score": 1}\n{"id": "q1", "system": "B", "score": 0}\n'
            '{"id": "q2", "system": "A", "score": 1}\n{"id": "q2", "system": "B", "score": 1}\n'
        }
    },
}
ARRAY = "A NumPy array of N items x K systems, whose names are `?systems=A,B,C`; never pickled."


def compare_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for comparisons."""
    content: dict[str, Any] = {media_types.JSON: json_content(CompareRequest)}
    for media, examples in EXAMPLES.items():
        content[media] = {"schema": {"type": "string"}, "examples": examples}
    content[media_types.NPY] = {"schema": {**BINARY, "description": ARRAY}}
    content[media_types.MULTIPART] = {"schema": {"type": "object"}}
    format_ = {**FORMAT, "schema": {"type": "string", "enum": list(OF_A_COMPARISON)}}
    answers = {media_types.JSON: {"schema": reference(CompareAnswer)}, **report_content(OF_A_COMPARISON)}
    parameters = [format_, THEME, PICTURE, TABLE, TIMEOUT, CODING]
    return operation("Compare many systems", "compare", content, answers, parameters)
