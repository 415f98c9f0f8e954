"""The OpenAPI operation of questions about power."""

from __future__ import annotations

from typing import Any

from ...reports.representations import OF_POWER
from ...service import media_types
from ...service.schema.power import PowerRequest
from .operations import json_content, operation, reference, report_content
from .parameters import RUNNING, format_parameter
from .schemas import PowerAnswer


def power_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for power."""
    content = {media_types.JSON: json_content(PowerRequest)}
    answers = {media_types.JSON: {"schema": reference(PowerAnswer)}, **report_content(OF_POWER)}
    parameters = [format_parameter(OF_POWER), *RUNNING]
    return operation("Plan how many items", "power", content, answers, parameters)
