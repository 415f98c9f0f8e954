"""The OpenAPI operation of the gate."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from ...reports.representations import OF_A_GATE
from ...service import messages
from ...service.gate import FIELDS
from ...service.schema.requests import FAIL, GateFields, GateRequest
from .operations import BINARY, as_text, form_schema, json_content, operation, reference, report_content
from .parameters import CODING, THEME, TIMEOUT, format_parameter, header, parameter
from .schemas import GateAnswer

FAIL_STATUS = parameter(
    "fail_status", f"{FAIL} Default 409.", {"type": "integer", "minimum": 200, "maximum": 499}
)
HEADERS = {
    "X-Verdict": {
        "description": "pass, fail or inconclusive; continue where more items are to come.",
        "schema": {"type": "string", "enum": ["pass", "fail", "inconclusive", "continue"]},
    },
    "X-P-Value": header("The p-value that decided, adjusted where there are several metrics.", "number"),
}
METRICS = {
    "type": "string",
    "description": "A JSON list of objects whose members are fields of this form: one metric each, "
    'such as [{"statistic": "upos"}, {"statistic": "las", "margin": 0.5}].',
}
AGAINST = {
    "type": "array",
    "items": BINARY,
    "description": "The file of a baseline, instead of v; repeated for each. The candidate u is compared with every one; "
    "p-values are adjusted by Holm's method over all comparisons.",
}
NAMES = {
    "type": "string",
    "description": "The baselines' names in the order of their files against: A,B or a JSON list. Else those that the "
    "files have in them, else the files' own.",
}


def gate_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for the gate."""
    content = {
        messages.JSON: json_content(GateRequest),
        messages.MULTIPART: {"schema": _form()},
    }
    answers = {messages.JSON: {"schema": reference(GateAnswer)}, **report_content(OF_A_GATE)}
    parameters = [format_parameter(OF_A_GATE), THEME, FAIL_STATUS, TIMEOUT, CODING]
    gate = operation("Decide a pull request", "gate", content, answers, parameters)
    passed = gate["responses"][200]
    passed["description"] = "The gate passed, or it is inconclusive and on_inconclusive is pass."
    passed["headers"] = {**passed["headers"], **HEADERS}
    gate["responses"][409] = {**deepcopy(passed), "description": "The gate failed; the answer is the same."}
    return gate


def _form() -> dict[str, Any]:
    fields = GateFields.model_json_schema()["properties"]
    own = {name: as_text(fields[name]) for name in FIELDS}
    return {
        "type": "object",
        "properties": {**form_schema(), **own, "metrics": METRICS, "against": AGAINST, "names": NAMES},
        "additionalProperties": False,
    }
