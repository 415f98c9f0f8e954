"""The OpenAPI operation of questions about power."""

from __future__ import annotations

from typing import Any

from ...reports.representations import OF_POWER
from ...service import messages
from ...service.schema.requests import PowerFields, PowerRequest
from .operations import as_text, form_schema, json_content, operation, reference, report_content
from .parameters import RUNNING, format_parameter
from .schemas import PowerAnswer


def power_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for power."""
    content: dict[str, Any] = {
        messages.JSON: json_content(PowerRequest),
        messages.MULTIPART: {"schema": _form()},
    }
    answers = {messages.JSON: {"schema": reference(PowerAnswer)}, **report_content(OF_POWER)}
    parameters = [format_parameter(OF_POWER), *RUNNING]
    return operation("Plan how many items", "power", content, answers, parameters)


def _form() -> dict[str, Any]:
    """The files of a pilot, the fields of its test, and those of the question."""
    own = {name: as_text(member) for name, member in PowerFields.model_json_schema()["properties"].items()}
    own["n"] = {
        "type": "string",
        "description": f"{own['n']['description']} A number, or a JSON list of numbers.",
    }
    return {
        "type": "object",
        "properties": {**form_schema(), **own},
        "additionalProperties": False,
    }
