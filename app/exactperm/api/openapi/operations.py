"""The OpenAPI operations of the routes, which read their bodies themselves."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from copy import deepcopy
from typing import Any, cast, get_args

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema
from starlette.responses import Response

from ...inputs.encodings import CODINGS
from ...inputs.formats import catalogue
from ...inputs.formats.catalogue import format_by_statistic
from ...inputs.formats.roles import ROLES
from ...inputs.options import CHOICES, INTEGERS
from ...reports.picture.canvas import Theme
from ...reports.representations import (
    BY_NAME,
    JSON,
    OF_A_COMPARISON,
    OF_A_GATE,
    OF_A_TEST,
    OF_POWER,
    BoardPicture,
    BoardTable,
)
from ...service import kinds, problems
from ...service.compare.board import KINDS, NAMES as SYSTEM_NAMES, OF_QUERY, READER_OPTIONS
from ...service.compare.carriers import COLUMNS, SYSTEM
from ...service.gate import FIELDS as GATE_FIELDS
from ...service.kinds import JsonTest, TestKind
from ...service.parse_files import FIELDS
from ...service.query import LITERAL, NAMES, TEXT, parameters_of
from ...service.schema.compare import (
    OF_A_KIND,
    CompareChoices,
    CompareRequest,
    PlanEnvelope,
    SystemsRequest,
    SystemsStatistic,
)
from ...service.schema.fields import LEAST_TIMEOUT_S, STATISTIC_MODELS, entries
from ...service.schema.requests import (
    FAIL,
    REQUEST_MODELS,
    Choices,
    GateFields,
    GateRequest,
    PowerFields,
    PowerRequest,
)
from .schemas import (
    CompareAnswer,
    ComparePlanAnswer,
    GateAnswer,
    PlanAnswer,
    PowerAnswer,
    Problem,
    TestAnswer,
)

Schema = dict[str, Any]
REF = "#/components/schemas/{model}"


def header(description: str, kind: str = "string") -> Schema:
    """A header of a response."""
    return {"description": description, "schema": {"type": kind}}


def parameter(name: str, description: str, schema: Schema, where: str = "query") -> Schema:
    """An optional parameter."""
    return {"name": name, "in": where, "required": False, "description": description, "schema": schema}


ANSWER_HEADERS = {
    "ETag": header("The id of the answer."),
    "Server-Timing": header(
        "queue and compute in milliseconds; cache if the answer was cached (hit) or computed once for "
        "several equal requests (shared)."
    ),
    "Content-Location": header("The path of the stored answer, if store was set."),
    "Age": header("Seconds since a cached answer was computed.", "integer"),
    "X-Request-Id": header("The client's request id, or a new one."),
}


def format_parameter(names: Iterable[str]) -> Schema:
    """The `format` parameter for these representations."""
    description = "The representation of the answer; overrides Accept."
    return parameter("format", description, {"type": "string", "enum": list(names)})


THEME = parameter(
    "theme",
    "The colours of a picture (svg, png). Default light.",
    {"type": "string", "enum": list(get_args(Theme))},
)
TIMEOUT = parameter(
    "timeout_s",
    "Deadline in seconds, clamped by the server; in the query it holds before the body is read.",
    {"type": "number", "exclusiveMinimum": LEAST_TIMEOUT_S},
)
CODING = parameter(
    "Content-Encoding",
    "The content coding of the body; the limit holds for its compressed and its decompressed size.",
    {"type": "string", "enum": [*CODINGS, "identity", ""]},
    "header",
)
STORE = parameter(
    "store",
    "1 stores the answer for a while; Content-Location is its path, readable with the same API key.",
    {"type": "string", "enum": ["0", "1"]},
)
# For operations that run a test; a plan has no pictures.
RUNNING = [THEME, TIMEOUT, CODING, STORE]


TABLE_EXAMPLES: dict[tuple[str, str], Schema] = {
    (kinds.CSV, "scores"): {
        "two columns": {"summary": "correct_u,correct_v without a header", "value": "1,0\n1,1\n0,0\n1,0\n"},
        "header": {
            "summary": "ids and clusters",
            "value": "id,u,v,cluster\na,0.85,0.80,d1\nb,0.90,0.85,d1\n",
        },
    },
    (kinds.TSV, "scores"): {"two columns": {"value": "1\t0\n1\t1\n0\t0\n"}},
    (kinds.CSV, "counts"): {
        "four columns": {
            "summary": "tp_u,incorrect_u,tp_v,incorrect_v without a header",
            "value": "8,2,6,1\n3,3,5,2\n7,1,7,1\n",
        },
        "header": {
            "summary": "counts by name, ids and clusters",
            "value": "id,tp_u,fp_u,fn_u,tp_v,fp_v,fn_v\na,8,1,1,6,0,1\nb,3,2,1,5,1,1\n",
        },
    },
    (kinds.TSV, "counts"): {"four columns": {"value": "8\t2\t6\t1\n3\t3\t5\t2\n"}},
    (kinds.NDJSON, "effects"): {"items": {"value": '{"stay": 3}\n{"stay": -1}\n'}},
    (kinds.NDJSON, "scores"): {
        "items": {
            "summary": "one number, or a list of samples, for each system",
            "value": '{"id": "a", "u": [1, 1], "v": [0, 1]}\n{"id": "b", "u": [0, 1], "v": [1, 1]}\n',
        }
    },
    (kinds.NDJSON, "counts"): {
        "items": {
            "value": '{"u": {"tp": 8, "incorrect": 2}, "v": {"tp": 6, "incorrect": 1}}\n'
            '{"u": {"tp": 3, "incorrect": 3}, "v": {"tp": 5, "incorrect": 2}}\n'
        }
    },
    (kinds.NDJSON, "predictions"): {
        "items": {"value": '{"gold": "N", "u": "N", "v": "V"}\n{"gold": "V", "u": "V", "v": "V"}\n'}
    },
}
ARRAYS = {
    "scores": "A NumPy array of N x 2 numbers (u, v); never pickled.",
    "counts": "A NumPy array of N x 4 counts (tp_u, incorrect_u, tp_v, incorrect_v); never pickled.",
}
BINARY: Schema = {"type": "string", "format": "binary"}
LINE_EXAMPLE = (
    "p=0.0625 (exact, fft) two-sided mean_difference=0.056 U=0.866 V=0.81 n=5 not significant at 0.05 "
    "t_0123456789abcdef\n"
)
# For all operations: refusals of exactperm, headers that are too large, and bugs.
OF_JOBS = frozenset({"job-not-finished", "expired", "jobs-off"})
PROBLEM_STATUSES = sorted(
    {
        kind.status
        for kind in problems.all_types()
        if kind.code not in problems.BY_STATUS.values() and kind.code not in OF_JOBS
    }
    | {431, 500}
)


def reference(model: type[BaseModel]) -> dict[str, str]:
    """A reference to a model among the components."""
    return {"$ref": REF.format(model=model.__name__)}


def json_content(model: type[BaseModel]) -> Schema:
    """A JSON body with its examples, the first of which a page fills in."""
    extra: Any = model.model_config["json_schema_extra"]
    values = enumerate(extra["examples"], 1)
    return {
        "schema": reference(model),
        "examples": {f"example {number}": {"value": value} for number, value in values},
    }


def test_operation(kind: JsonTest) -> dict[str, Any]:
    """Arguments of `add_api_route` for a test whose options are in its JSON, or in the query beside other bodies."""
    content: dict[str, Any] = {}
    for media in kinds.KINDS[kind].consumed:
        if media == kinds.JSON:
            content[media] = json_content(OF_A_KIND[kind])
        elif media == kinds.NPY:
            content[media] = {"schema": {**BINARY, "description": ARRAYS[kind]}}
        else:
            content[media] = text_content(TABLE_EXAMPLES[media, kind])
    options = [] if kinds.KINDS[kind].consumed == (kinds.JSON,) else _parameters(cast("TestKind", kind))
    return _answered_as_test(f"Test {kind}", content, options)


def _answered_as_test(
    summary: str, content: dict[str, Any], options: Iterable[Schema] = ()
) -> dict[str, Any]:
    answers = {kinds.JSON: {"schema": reference(TestAnswer)}, **report_content(OF_A_TEST)}
    answers["text/plain"]["example"] = LINE_EXAMPLE
    parameters = [format_parameter(OF_A_TEST), *RUNNING, *options]
    test = operation(summary, "tests", content, answers, parameters)
    answer = test["responses"][200]
    answer["headers"] = {**answer["headers"], "X-P-Value": header("The p-value.", "number")}
    return test


def text_content(examples: Mapping[str, Any]) -> dict[str, Any]:
    """A text body with examples. The first is repeated in the schema, where Swagger UI looks after a change of type."""
    first = next(iter(examples.values()))["value"]
    return {"schema": {"type": "string", "example": first}, "examples": dict(examples)}


def report_content(names: Iterable[str]) -> dict[str, Any]:
    """The reports among these representations, by media type."""
    reports = [BY_NAME[name] for name in names if name != JSON]
    return {
        report.media_type: {"schema": BINARY if report.is_binary else {"type": "string"}}
        for report in reports
    }


def files_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for files."""
    schema = {"type": "object", "properties": form_schema(), "additionalProperties": False}
    return _answered_as_test("Test files", {kinds.MULTIPART: {"schema": schema}})


def form_schema() -> dict[str, Schema]:
    """The parts of the form: files by role, then fields."""
    formats = "; ".join(
        f"{name}: {entry.summary} (files {', '.join(entry.roles)})"
        for name, entry in catalogue.FORMATS.items()
    )
    parts: dict[str, Schema] = {
        role: {
            **BINARY,
            "description": f"A file: {title}. May be gzip or zstd."
            + ("" if role == "file" else " Repeat it to send a file for each task."),
        }
        for role, title in ROLES.items()
    }
    parts["format"] = {
        "type": "string",
        "enum": [catalogue.AUTO, *catalogue.FORMATS, *catalogue.ALIASES],
        "description": f"{catalogue.AUTO}, the default, guesses. {formats}.",
    }
    parts["statistic"] = {
        "type": "string",
        "description": "A statistic for the files' data (/v1/meta), or one that the format defines.",
    }
    members = _members(tuple(STATISTIC_MODELS), Choices)
    for name in FIELDS:
        if name not in parts:
            parts[name] = _reader_option(name) if name not in members or name in CHOICES else members[name]
    return parts


def _reader_option(name: str) -> Schema:
    users = [format_ for format_, entry in catalogue.FORMATS.items() if name in entry.uses]
    schema: Schema = {"type": "integer"} if name in INTEGERS else {"type": "string"}
    if name in CHOICES:
        schema["enum"] = list(CHOICES[name])
    return {**schema, "description": f"How to read {', '.join(users)}."}


test_operation.__test__ = False  # type: ignore[attr-defined]  # pytest reads it


def plan_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for the plan."""
    content = {kinds.JSON: json_content(PlanEnvelope)}
    either = {"anyOf": [reference(PlanAnswer), reference(ComparePlanAnswer)]}
    answers = {kinds.JSON: {"schema": either}}
    summary = "Predict what a test or a comparison costs"
    return operation(summary, "tests", content, answers, [TIMEOUT, CODING])


def operation(
    summary: str, tag: str, content: dict[str, Any], answers: dict[str, Any], parameters: list[dict[str, Any]]
) -> dict[str, Any]:
    """Arguments of `add_api_route`."""
    return {
        "methods": ["POST"],
        "summary": summary,
        "tags": [tag],
        "response_class": Response,
        "response_model": None,
        "responses": {
            200: {"description": "The answer", "content": answers, "headers": ANSWER_HEADERS},
            **{status: problem_response(status) for status in PROBLEM_STATUSES},
        },
        "openapi_extra": {"parameters": parameters, "requestBody": {"required": True, "content": content}},
    }


def problem_response(status: int) -> dict[str, Any]:
    """The response of a status, described by the titles of its problem types."""
    kinds = [kind for kind in problems.all_types() if kind.status == status]
    response: dict[str, Any] = {
        "description": "; or ".join(kind.title for kind in kinds),
        "content": {problems.MEDIA_TYPE: {"schema": reference(Problem)}},
    }
    if status == 401:
        response["headers"] = {"WWW-Authenticate": header("Bearer.")}
    if status in {429, 503}:
        response["headers"] = {"Retry-After": header("Seconds.", "integer")}
    return response


def _members(kinds: tuple[TestKind, ...], model: type[Choices]) -> dict[str, Schema]:
    """The parameters of statistics and the options of tests, as texts of a query or a form."""
    members: dict[str, Schema] = {}
    for kind in kinds:
        statistic = STATISTIC_MODELS[kind].model_json_schema()["properties"]
        members.update({name: statistic[name] for name in parameters_of(kind) if name not in members})
    schema = model.model_json_schema()["properties"]
    members.update({name: schema[name] for name in (*TEXT, *LITERAL) if name in schema})
    members.update({name: {"type": "string", "description": "The name of the system."} for name in NAMES})
    return {name: as_text(member) for name, member in members.items()}


def as_text(schema: Schema) -> Schema:
    """The schema of a body's member as a query parameter or form field, never null.

    Its default is only in the description: pages and generated clients send a schema's default, even with a body
    that has another value.
    """
    text = {key: value for key, value in schema.items() if key not in {"title", "default", "anyOf"}}
    for kind in schema.get("anyOf", ()):
        text.update(kind if kind != {"type": "null"} else {})
    if text.pop("$ref", None) is not None:
        text |= {"type": "string", "description": f"{text['description']} A JSON object."}
    if text.get("type") == "object":
        text = {"type": "string", "description": f"{text['description']} A JSON object."}
    if text.get("type") == "array":
        text = {
            "type": "string",
            "description": (f"{text['description']} A JSON list, or separated by commas."),
        }
    default = schema.get("default")
    if default is not None:
        text["description"] = f"{text.get('description', '')} Default {literal_of(default)}.".strip()
    return text


def literal_of(value: Any) -> str:
    """A default as it is written in a query."""
    return value if isinstance(value, str) else json.dumps(value)


def _parameters(kind: TestKind) -> list[dict[str, Any]]:
    """The query parameters for bodies that cannot hold options."""
    statistic = STATISTIC_MODELS[kind].model_json_schema()["properties"]["name"]
    members = {"statistic": as_text(statistic), **_members((kind,), REQUEST_MODELS[kind])}
    return [in_query(name, member) for name, member in members.items() if name not in {"timeout_s", "store"}]


def in_query(name: str, member: Schema) -> Schema:
    """An option as a query parameter."""
    return parameter(
        name,
        "For bodies that cannot hold options; in application/json a member of the body. "
        + member.get("description", ""),
        {key: value for key, value in member.items() if key != "description"},
    )


# The gate


FAIL_STATUS = parameter(
    "fail_status", f"{FAIL} Default 409.", {"type": "integer", "minimum": 200, "maximum": 499}
)
GATE_HEADERS = {
    "X-Verdict": {
        "description": "pass, fail or inconclusive; continue where more items are to come.",
        "schema": {"type": "string", "enum": ["pass", "fail", "inconclusive", "continue"]},
    },
    "X-P-Value": header("The deciding p-value, adjusted for several metrics.", "number"),
}
METRICS = {
    "type": "string",
    "description": "A JSON list of objects whose members are fields of this form: one metric each, "
    'such as [{"statistic": "upos"}, {"statistic": "las", "margin": 0.5}].',
}
AGAINST = {
    "type": "array",
    "items": BINARY,
    "description": "The file of a baseline, instead of v; repeat it for several. The candidate u is "
    "compared with each; p-values are adjusted by Holm's method over all comparisons.",
}
BASELINE_NAMES = {
    "type": "string",
    "description": "The baselines' names in the order of their files against: A,B or a JSON list. Default: "
    "the names in the files, else the files' names.",
}


def gate_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for the gate."""
    content = {kinds.JSON: json_content(GateRequest), kinds.MULTIPART: {"schema": _gate_form()}}
    answers = {kinds.JSON: {"schema": reference(GateAnswer)}, **report_content(OF_A_GATE)}
    parameters = [format_parameter(OF_A_GATE), THEME, FAIL_STATUS, TIMEOUT, CODING]
    gate = operation("Decide a pull request", "gate", content, answers, parameters)
    passed = gate["responses"][200]
    passed["description"] = "The gate passed, or it is inconclusive and on_inconclusive is pass."
    passed["headers"] = {**passed["headers"], **GATE_HEADERS}
    gate["responses"][409] = {**deepcopy(passed), "description": "The gate failed; the answer is the same."}
    return gate


def _gate_form() -> dict[str, Any]:
    fields = GateFields.model_json_schema()["properties"]
    members = {name: as_text(fields[name]) for name in GATE_FIELDS}
    return {
        "type": "object",
        "properties": {
            **form_schema(),
            **members,
            "metrics": METRICS,
            "against": AGAINST,
            "names": BASELINE_NAMES,
        },
        "additionalProperties": False,
    }


# Power


def power_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for power."""
    content: dict[str, Any] = {
        kinds.JSON: json_content(PowerRequest),
        kinds.MULTIPART: {"schema": _power_form()},
    }
    answers = {kinds.JSON: {"schema": reference(PowerAnswer)}, **report_content(OF_POWER)}
    parameters = [format_parameter(OF_POWER), *RUNNING]
    return operation("Plan a number of items", "power", content, answers, parameters)


def _power_form() -> dict[str, Any]:
    """The files of a pilot, the fields of its test, and those of the question."""
    members = {
        name: as_text(member) for name, member in PowerFields.model_json_schema()["properties"].items()
    }
    members["n"] = {
        "type": "string",
        "description": f"{members['n']['description']} A number, or a JSON list of numbers.",
    }
    return {"type": "object", "properties": {**form_schema(), **members}, "additionalProperties": False}


# Comparisons of many systems


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
    "Names of an array's columns, or the columns of a table to use: separated by commas, or a JSON list.",
    {"type": "string"},
)
BOARD_EXAMPLES: dict[str, dict[str, Any]] = {
    kinds.CSV: {
        "wide": {
            "summary": "a row for each item, a column for each system",
            "value": "id,A,B,C\nq1,1,1,0\nq2,1,0,0\nq3,1,1,1\nq4,0,1,0\n",
        },
        "long": {
            "summary": "a row for each item and system",
            "value": "id,system,score\nq1,A,1\nq1,B,0\nq2,A,1\nq2,B,1\n",
        },
    },
    kinds.TSV: {"wide": {"value": "id\tA\tB\nq1\t1\t0\nq2\t1\t1\n"}},
    kinds.NDJSON: {
        "long": {
            "value": '{"id": "q1", "system": "A", "score": 1}\n{"id": "q1", "system": "B", "score": 0}\n'
            '{"id": "q2", "system": "A", "score": 1}\n{"id": "q2", "system": "B", "score": 1}\n'
        }
    },
}
BOARD_ARRAY = "A NumPy array of N items x K systems, whose names are `?systems=A,B,C`; never pickled."


def compare_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for comparisons."""
    content: dict[str, Any] = {kinds.JSON: json_content(CompareRequest)}
    for media, examples in BOARD_EXAMPLES.items():
        content[media] = text_content(examples)
    content[kinds.NPY] = {"schema": {**BINARY, "description": BOARD_ARRAY}}
    content[kinds.MULTIPART] = {"schema": _compare_form()}
    answers = {kinds.JSON: {"schema": reference(CompareAnswer)}, **report_content(OF_A_COMPARISON)}
    parameters = [format_parameter(OF_A_COMPARISON), *RUNNING, PICTURE, TABLE, SYSTEMS]
    form = form_schema()
    parameters += [in_query(name, form[name]) for name in COLUMNS]
    parameters += [
        in_query(name, member) for name, member in _of_tables().items() if name not in {"timeout_s", "store"}
    ]
    return operation("Compare many systems", "compare", content, answers, parameters)


def systems_operation() -> dict[str, Any]:
    """Arguments of `add_api_route` for tests of several systems."""
    members = SystemsRequest.model_json_schema(ref_template=REF)["properties"]
    properties = {
        name: as_text(member) for name, member in members.items() if name not in {"systems", "scores", "ids"}
    }
    properties["statistic"] = as_text(SystemsStatistic.model_json_schema()["properties"]["name"])
    form = _compare_form()
    files = {
        name: member for name, member in form["properties"].items() if name not in CompareChoices.model_fields
    }
    schema = {**form, "properties": {**files, **properties}}
    content = {kinds.JSON: json_content(SystemsRequest), kinds.MULTIPART: {"schema": schema}}
    return _answered_as_test("Test several systems", content)


def _of_tables() -> dict[str, Schema]:
    """The options of tables of scores, or of predictions with gold."""
    of_gold = {
        parameter.name
        for entry in entries("predictions")
        if format_by_statistic(entry.name) is not None
        for parameter in entry.parameters
    }
    choices = _choices("scores")
    return choices | {name: one for name, one in _choices("predictions").items() if name in of_gold}


def _choices(*kinds: TestKind) -> dict[str, Schema]:
    """The options of a comparison, as texts of a query or a form."""
    # Its statistic refers to those of all kinds, so these must be components.
    models: list[Any] = [(model, "validation") for model in (CompareChoices, *STATISTIC_MODELS.values())]
    _, schemas = models_json_schema(models, ref_template=REF)
    properties = schemas["$defs"]["CompareChoices"]["properties"]
    members: dict[str, Schema] = {
        "statistic": {
            "type": "string",
            "description": "The name of a statistic; its parameters are separate fields.",
        }
    }
    for kind in kinds:
        statistic = STATISTIC_MODELS[kind].model_json_schema()["properties"]
        members |= {name: as_text(statistic[name]) for name in parameters_of(kind)}
    members |= {name: as_text(properties[name]) for name in OF_QUERY if name != "compare"}
    members["compare"] = {
        "type": "string",
        "description": f"{properties['compare']['description']} A JSON list of pairs. Default all_pairs.",
    }
    return members


def _compare_form() -> Schema:
    """The parts of the form: one file per system, or one with several; then fields."""
    form = form_schema()
    roles = {role: form[role] for role in ROLES if role not in {"u", "v"}}
    files = {"type": "array", "items": BINARY, "description": "The file of one system; repeat it for each."}
    readers = {name: form[name] for name in ("format", *READER_OPTIONS)}
    names = {
        "type": "string",
        "description": "The systems' names in the order of their files, separated by commas or as a JSON "
        "list; default: the files' names. A repeated name has several files, one for each "
        "task: tasks are data sets.",
    }
    return {
        "type": "object",
        "properties": {SYSTEM: files, **roles, SYSTEM_NAMES: names, **readers, **_choices(*KINDS)},
        "additionalProperties": False,
    }
