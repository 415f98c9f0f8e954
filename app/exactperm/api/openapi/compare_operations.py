"""The OpenAPI operation of the comparison of many systems."""

from __future__ import annotations

from typing import Any, get_args

from pydantic.json_schema import models_json_schema

from ...inputs.formats.catalogue import told_by_statistic
from ...inputs.formats.roles import ROLES
from ...reports.representations import OF_A_COMPARISON, BoardPicture, BoardTable
from ...service import messages
from ...service.compare.board import KINDS, NAMES, OF_QUERY, READER_OPTIONS
from ...service.compare.carriers import COLUMNS, SYSTEM
from ...service.messages import TestKind
from ...service.query import parameters_of
from ...service.schema.compare import CompareChoices, CompareRequest
from ...service.schema.fields import STATISTIC_MODELS, entries
from .operations import (
    BINARY,
    as_text,
    form_schema,
    in_query,
    json_content,
    operation,
    reference,
    report_content,
    text_content,
)
from .parameters import REF, RUNNING, Schema, format_parameter, parameter
from .schemas import CompareAnswer

PICTURE = parameter(
    "picture",
    "Which picture (svg, png). Default leaderboard.",
    {"type": "string", "enum": list(get_args(BoardPicture))},
)
TABLE = parameter(
    "table", "Which table (csv). Default systems.", {"type": "string", "enum": list(get_args(BoardTable))}
)
SYSTEMS = parameter(
    "systems",
    "Names of the columns of an array, or the columns of a table to take: between commas, or a JSON list.",
    {"type": "string"},
)
EXAMPLES: dict[str, dict[str, Any]] = {
    messages.CSV: {
        "wide": {
            "summary": "a row for each item, a column for each system",
            "value": "id,A,B,C\nq1,1,1,0\nq2,1,0,0\nq3,1,1,1\nq4,0,1,0\n",
        },
        "long": {
            "summary": "a row for each item and system",
            "value": "id,system,score\nq1,A,1\nq1,B,0\nq2,A,1\nq2,B,1\n",
        },
    },
    messages.TSV: {"wide": {"value": "id\tA\tB\nq1\t1\t0\nq2\t1\t1\n"}},
    messages.NDJSON: {
        "long": {
            "value": '{"id": "q1", "system": "A", "score": 1}\n{"id": "q1", "system": "B", "score": 0}\n'
            '{"id": "q2", "system": "A", "score": 1}\n{"id": "q2", "system": "B", "score": 1}\n'
        }
    },
}
ARRAY = "A NumPy array of N items x K systems, whose names are `?systems=A,B,C`; never pickled."


def compare_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for comparisons."""
    content: dict[str, Any] = {messages.JSON: json_content(CompareRequest)}
    for media, examples in EXAMPLES.items():
        content[media] = text_content(examples)
    content[messages.NPY] = {"schema": {**BINARY, "description": ARRAY}}
    content[messages.MULTIPART] = {"schema": _form()}
    answers = {messages.JSON: {"schema": reference(CompareAnswer)}, **report_content(OF_A_COMPARISON)}
    parameters = [format_parameter(OF_A_COMPARISON), *RUNNING, PICTURE, TABLE, SYSTEMS]
    form = form_schema()
    parameters += [in_query(name, form[name]) for name in COLUMNS]
    parameters += [
        in_query(name, member) for name, member in _of_tables().items() if name not in {"timeout_s", "store"}
    ]
    return operation("Compare many systems", "compare", content, answers, parameters)


def _of_tables() -> dict[str, Schema]:
    """The options of tables: of scores, or of scores or labels beside gold."""
    of_gold = {
        parameter.name
        for entry in entries("predictions")
        if told_by_statistic(entry.name) is not None
        for parameter in entry.parameters
    }
    own = _members("scores")
    return own | {name: one for name, one in _members("predictions").items() if name in of_gold}


def _members(*kinds: TestKind) -> dict[str, Schema]:
    """The options of a comparison, as texts of a query or a form."""
    # Its statistic refers to those of all kinds, so that these have to be there.
    models = [(model, "validation") for model in (CompareChoices, *STATISTIC_MODELS.values())]
    _, schemas = models_json_schema(models, ref_template=REF)  # type: ignore[arg-type]
    own = schemas["$defs"]["CompareChoices"]["properties"]
    members: dict[str, Schema] = {
        "statistic": {
            "type": "string",
            "description": "The name of a statistic; its parameters are given beside it.",
        }
    }
    for kind in kinds:
        statistic = STATISTIC_MODELS[kind].model_json_schema()["properties"]
        members |= {name: as_text(statistic[name]) for name in parameters_of(kind)}
    members |= {name: as_text(own[name]) for name in OF_QUERY if name != "compare"}
    members["compare"] = {
        "type": "string",
        "description": f"{own['compare']['description']} A JSON list of pairs. Default all_pairs.",
    }
    return members


def _form() -> Schema:
    """The parts of the form: one file for each system, or one with several; then fields."""
    form = form_schema()
    roles = {role: form[role] for role in ROLES if role not in {"u", "v"}}
    files = {"type": "array", "items": BINARY, "description": "The file of one system; repeated for each."}
    readers = {name: form[name] for name in ("format", *READER_OPTIONS)}
    names = {
        "type": "string",
        "description": "The systems' names in the order of their files, between commas or as a JSON list; else those of the files. "
        "A name that is repeated has several files, one for each task: tasks are data sets.",
    }
    return {
        "type": "object",
        "properties": {SYSTEM: files, **roles, NAMES: names, **readers, **_members(*KINDS)},
        "additionalProperties": False,
    }
