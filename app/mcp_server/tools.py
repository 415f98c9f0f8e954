"""What can be asked: the arguments of each tool, and the request that they make."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..client.compare_requests import CompareRequest
from ..client.power_requests import PowerRequest
from ..client.requests import GateRequest, Metric, TestRequest
from ..errors import InvalidTest, pointer_token
from ..inputs.formats.roles import ROLES
from ..service.compare.options import OF_QUERY, READER_OPTIONS
from ..service.gate.gate import FIELDS as OF_A_GATE
from ..service.parse_files import FIELDS as OF_A_TEST, PARAMETERS
from ..service.schema.power import FIELDS as OF_POWER, Design

Given = dict[str, Any]
Read = Callable[[Any, str], tuple[str, bytes]]
Parts = tuple[tuple[str, tuple[str, bytes]], ...]
Request = TestRequest | GateRequest | CompareRequest | PowerRequest

PATH = {"type": "string", "description": "Path of a file below the root."}
PATHS = {"type": "array", "items": PATH}
BESIDE = {role: PATH for role in ROLES if role not in {"u", "v", "file"}}
PAIR = {
    "u": PATH | {"description": "The file of system U, the new one."},
    "v": PATH | {"description": "The file of system V, the old one."},
    "file": PATH | {"description": "Instead of u and v: one file with both systems."},
    **BESIDE,
}


@dataclass(frozen=True, slots=True)
class Tool:
    """A tool: what it is for, its arguments as JSON Schema, and what makes a request of them."""

    description: str
    arguments: Mapping[str, Any]
    request: Callable[[Given, Read], Request]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """Its arguments."""
        schema = {"type": "object", "properties": dict(self.arguments), "additionalProperties": False}
        return schema | ({"required": list(self.required)} if self.required else {})


def request_of(name: str, given: Given, read: Read, timeout_s: float) -> Request:
    """The request of a call, whose deadline is `timeout_s` if it asks for none; raises InputError, InvalidData or ValueError."""
    if name not in TOOLS:
        raise InvalidTest.at("", "unknown_tool", f"There is no such tool; there are {', '.join(TOOLS)}.")
    known = TOOLS[name].arguments
    given = {key: value for key, value in given.items() if value is not None}
    for key in given.keys() - known.keys():
        detail = (
            f"{name} has no such argument; it has {', '.join(known)}. Everything else belongs into options."
        )
        raise InvalidTest.at("/" + pointer_token(key), "unknown_argument", detail)
    own = given.get("options", {})
    if not isinstance(own, dict):
        raise InvalidTest.at("/options", "not_an_object", 'Options are an object: {"statistic": "accuracy"}.')
    for key in own.keys() & {*ROLES, "against", "system"}:
        raise InvalidTest.at(f"/options/{key}", "a_file", f"{key} is a file: give its path beside options.")
    options: Given = {"timeout_s": timeout_s, **{key: one for key, one in own.items() if one is not None}}
    return TOOLS[name].request(given | {"options": options}, read)


def _texts(options: Given) -> dict[str, str]:
    """Options as fields of a form; raises ValueError for numbers that JSON does not have."""
    return {
        key: one if isinstance(one, str) else json.dumps(one, allow_nan=False) for key, one in options.items()
    }


def _files(given: Given, read: Read) -> Parts:
    return tuple((role, read(given[role], f"/{role}")) for role in ROLES if role in given)


def _once(options: Given, elsewhere: Collection[str]) -> None:
    """Refuse an option that was said beside the options, too: one of them would be ignored."""
    for name in options.keys() & elsewhere:
        raise InvalidTest.at(f"/options/{name}", "duplicate_parameter", f"{name} is given twice.")


def _several(paths: Any, read: Read, at: str) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Files of a list, or of an object by name, and the names."""
    if paths and isinstance(paths, dict):
        return [read(path, f"{at}/{pointer_token(name)}") for name, path in paths.items()], list(paths)
    if not isinstance(paths, list) or not paths:
        raise InvalidTest.at(at, "not_paths", "Give a list of paths, or an object of paths by name.")
    return [read(path, f"{at}/{index}") for index, path in enumerate(paths)], []


def _test(given: Given, read: Read) -> TestRequest:
    if not given.keys() & {"u", "v", "file"}:
        raise InvalidTest.at("", "missing", "Give the files: u and v, or file for both systems in one.")
    return TestRequest("files", {}, _texts({"pmf": "none", **given["options"]}), _files(given, read))


def _gate(given: Given, read: Read) -> GateRequest:
    test, terms = _test(given, read), {}
    if "against" in given:
        files, names = _several(given["against"], read, "/against")
        _once(given["options"], ["names"] if names else [])
        terms["against"] = dict(zip(names, files, strict=True)) if names else files
    return GateRequest((Metric(None, test),), terms)


def _compare(given: Given, read: Read) -> CompareRequest:
    if not given.keys() & {"files", "file"}:
        raise InvalidTest.at("", "missing", "Give the files: one for each system, or file for all in one.")
    files, names = _several(given["files"], read, "/files") if "files" in given else ([], [])
    _once(given["options"], ["names"] if names else [])
    options = given["options"] | ({"names": names} if names else {})
    parts = tuple(("system", file) for file in files)
    return CompareRequest("files", {}, _texts(options), (*parts, *_files(given, read)))


def _power(given: Given, read: Read) -> PowerRequest:
    options, pilot = given.pop("options"), _files(given, read)
    members = {key: value for key, value in given.items() if key not in ROLES}
    _once(options, members)
    if not pilot:
        return PowerRequest(members | options)
    return PowerRequest(members, TestRequest("files", {}, _texts(options), pilot))


def _options(names: Sequence[str], default: str = "") -> dict[str, Any]:
    """What else can be said, as over HTTP; values that are wrong are refused with those that are right."""
    others = ", ".join(dict.fromkeys(name for name in names if name not in {"fail_status", "compare"}))
    detail = f"Fields of the form, by name{default}. Leave out what you do not know: it is guessed, or an error says what to choose. "
    return {"type": "object", "description": f"{detail}There are: {others}."}


# fmt: off
TOOLS = {
    "test_files": Tool(
        "Test exactly whether two systems differ on the same test items. Answers with p-value, difference and what was read.",
        PAIR | {"options": _options(OF_A_TEST, "; pmf is none unless given")}, _test,
    ),
    "gate_files": Tool(
        "Decide whether a candidate u may replace a baseline v: PASS, FAIL or INCONCLUSIVE. What is inconclusive is not shown.",
        PAIR | {"against": PATHS | {"description": "Instead of v: several baselines."},
                "options": _options((*OF_A_GATE, "metrics", *OF_A_TEST), "; pmf is none unless given")}, _gate,
    ),
    "compare_files": Tool(
        "Compare many systems on the same items: exact tests of their pairs, adjusted p-values, rank ranges and groups.",
        {"files": PATHS | {"description": "The file of each system; or file, one with all of them."}, "file": PATH, **BESIDE,
         "options": _options(("names", "systems", "compare", "format", "statistic", *OF_QUERY, *READER_OPTIONS, *PARAMETERS),
                             "; pairs: significant or none makes long answers short")}, _compare,
    ),
    "power": Tool(
        "Say how many items a test needs (solve: n), which true difference it finds (effect), or how likely (power).",
        {"solve": {"type": "string", "enum": ["effect", "n", "power"]},
         "n": {"description": "Numbers of items: 500, or [100, 300]."},
         **{name: {"type": "number"} for name in ("power", "effect", "alpha")}, "comparisons": {"type": "integer"},
         "alternative": {"type": "string"},
         "design": {"type": "object", "description": f"What is known, unless there are files of a pilot: {', '.join(Design.model_fields)}; "
                    'such as {"kind": "binary", "p10": 0.08, "p01": 0.05}.'},
         **PAIR, "options": _options(tuple(name for name in OF_A_TEST if name not in OF_POWER))}, _power, ("solve",),
    ),
}
# fmt: on
