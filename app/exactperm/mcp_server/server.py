"""The server:

MCP on standard input and output, until that closes. Calls are computed in this process, one at a time, because the
precision of ball arithmetic is global to the process.
"""

from __future__ import annotations

import io
import json
import os
import signal
import stat
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from ..client.calls import Request, call_of
from ..client.compare_requests import CompareRequest
from ..client.errors import InvalidData, member, spelt
from ..client.requests import GateRequest, Metric, PowerRequest, TestRequest
from ..client.responses import VERDICT
from ..errors import BodyTooLarge, ExactpermError, InvalidTest, mapped, pointer_token
from ..inputs import number_text
from ..inputs.formats.roles import ROLES
from ..local.run import http_request
from ..local.transport import InProcess
from ..service import problems
from ..service.compare.board import OF_QUERY, READER_OPTIONS
from ..service.gate import FIELDS as OF_A_GATE
from ..service.parse_files import FIELDS as OF_A_TEST, PARAMETERS
from ..service.schema.requests import FIELDS as OF_POWER, Design
from ..settings import Settings
from ..version import __version__

# The tools: their arguments, and the requests that they make


Arguments = dict[str, Any]
Read = Callable[[Any, str], tuple[str, bytes]]
Parts = tuple[tuple[str, tuple[str, bytes]], ...]

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
    """A tool: its description, its arguments as JSON Schema, and the function that makes a request of them."""

    description: str
    arguments: Mapping[str, Any]
    request: Callable[[Arguments, Read], Request]
    required: tuple[str, ...] = ()

    @property
    def schema(self) -> dict[str, Any]:
        """Its arguments."""
        schema = {"type": "object", "properties": dict(self.arguments), "additionalProperties": False}
        return schema | ({"required": list(self.required)} if self.required else {})


def request_of(name: str, arguments: Arguments, read: Read, timeout_s: float) -> Request:
    """The request of a call, with the deadline `timeout_s` unless it sets one; raises InputError, InvalidData or
    ValueError.
    """
    if name not in TOOLS:
        raise InvalidTest.at("", "unknown_tool", f"There is no such tool; there are {', '.join(TOOLS)}.")
    known = TOOLS[name].arguments
    arguments = {key: value for key, value in arguments.items() if value is not None}
    for key in arguments.keys() - known.keys():
        detail = f"{name} has no such argument; it has {', '.join(known)}. Put everything else into options."
        raise InvalidTest.at("/" + pointer_token(key), "unknown_argument", detail)
    options_sent = arguments.get("options", {})
    if not isinstance(options_sent, dict):
        raise InvalidTest.at("/options", "not_an_object", 'Options are an object: {"statistic": "accuracy"}.')
    for key in options_sent.keys() & {*ROLES, "against", "system"}:
        raise InvalidTest.at(f"/options/{key}", "a_file", f"{key} is a file: give its path beside options.")
    options: Arguments = {
        "timeout_s": timeout_s,
        **{key: one for key, one in options_sent.items() if one is not None},
    }
    return TOOLS[name].request(arguments | {"options": options}, read)


def _texts(options: Arguments) -> dict[str, str]:
    """Options as fields of a form; raises ValueError for numbers that JSON does not have."""
    return {
        key: one if isinstance(one, str) else json.dumps(one, allow_nan=False) for key, one in options.items()
    }


def _files(arguments: Arguments, read: Read) -> Parts:
    return tuple((role, read(arguments[role], f"/{role}")) for role in ROLES if role in arguments)


def _once(options: Arguments, elsewhere: Collection[str]) -> None:
    """Refuse an option that was also given as an argument: one of them would be ignored."""
    for name in options.keys() & elsewhere:
        raise InvalidTest.at(f"/options/{name}", "duplicate_parameter", f"{name} is given twice.")


def _several(paths: Any, read: Read, at: str) -> tuple[list[tuple[str, bytes]], list[str]]:
    """Files of a list, or of an object by name, and the names."""
    if paths and isinstance(paths, dict):
        return [read(path, f"{at}/{pointer_token(name)}") for name, path in paths.items()], list(paths)
    if not isinstance(paths, list) or not paths:
        raise InvalidTest.at(at, "not_paths", "Give a list of paths, or an object of paths by name.")
    return [read(path, f"{at}/{index}") for index, path in enumerate(paths)], []


def _test(arguments: Arguments, read: Read) -> TestRequest:
    if not arguments.keys() & {"u", "v", "file"}:
        raise InvalidTest.at("", "missing", "Give the files: u and v, or file for both systems in one.")
    return TestRequest("files", {}, _texts({"pmf": "none", **arguments["options"]}), _files(arguments, read))


def _gate(arguments: Arguments, read: Read) -> GateRequest:
    test, terms = _test(arguments, read), {}
    if "against" in arguments:
        files, names = _several(arguments["against"], read, "/against")
        _once(arguments["options"], ["names"] if names else [])
        terms["against"] = dict(zip(names, files, strict=True)) if names else files
    return GateRequest((Metric(None, test),), terms)


def _compare(arguments: Arguments, read: Read) -> CompareRequest:
    if not arguments.keys() & {"files", "file"}:
        raise InvalidTest.at("", "missing", "Give the files: one for each system, or file for all in one.")
    files, names = _several(arguments["files"], read, "/files") if "files" in arguments else ([], [])
    _once(arguments["options"], ["names"] if names else [])
    options = arguments["options"] | ({"names": names} if names else {})
    parts = tuple(("system", file) for file in files)
    return CompareRequest("files", {}, _texts(options), (*parts, *_files(arguments, read)))


def _power(arguments: Arguments, read: Read) -> PowerRequest:
    options, pilot = arguments.pop("options"), _files(arguments, read)
    members = {key: value for key, value in arguments.items() if key not in ROLES}
    _once(options, members)
    if not pilot:
        return PowerRequest(members | options)
    return PowerRequest(members, TestRequest("files", {}, _texts(options), pilot))


def _options(names: Sequence[str], default: str = "") -> dict[str, Any]:
    """The description of options, as over HTTP; a refusal of a wrong value lists the valid ones."""
    others = ", ".join(dict.fromkeys(name for name in names if name != "compare"))
    detail = (
        f"Fields of the form, by name{default}. Omit what you do not know: it is guessed, or an error "
        "lists the choices. "
    )
    return {"type": "object", "description": f"{detail}There are: {others}."}


# fmt: off
TOOLS = {
    "test_files": Tool(
        ("Test exactly whether two systems differ on the same test items. Returns the p-value, the "
        "difference, and how files were read."),
        PAIR | {"options": _options(OF_A_TEST, "; pmf defaults to none")}, _test,
    ),
    "gate_files": Tool(
        ("Decide whether a candidate u may replace a baseline v: PASS, FAIL or INCONCLUSIVE. INCONCLUSIVE "
        "shows nothing."),
        PAIR | {"against": PATHS | {"description": "Instead of v: several baselines."},
                "options": _options((*OF_A_GATE, "metrics", *OF_A_TEST), "; pmf defaults to none")}, _gate,
    ),
    "compare_files": Tool(
        "Compare many systems on the same items: exact tests of their pairs, adjusted p-values, rank ranges and groups.",
        {"files": PATHS | {"description": "The file of each system; or file, one with all of them."}, "file": PATH, **BESIDE,
         "options": _options(("names", "systems", "compare", "format", "statistic", *OF_QUERY, *READER_OPTIONS, *PARAMETERS),
                             "; pairs: significant or none shortens long answers")}, _compare,
    ),
    "power": Tool(
        ("Find how many items a test needs (solve: n), the true difference it detects (effect), or its "
        "power (power)."),
        {"solve": {"type": "string", "enum": ["effect", "n", "power"]},
         "n": {"description": "Numbers of items: 500, or [100, 300]."},
         **{name: {"type": "number"} for name in ("power", "effect", "alpha")}, "comparisons": {"type": "integer"},
         "alternative": {"type": "string"},
         "design": {"type": "object", "description": f"The known numbers, without files of a pilot: {', '.join(Design.model_fields)}; "
                    'such as {"kind": "binary", "p10": 0.08, "p01": 0.05}.'},
         **PAIR, "options": _options(tuple(name for name in OF_A_TEST if name not in OF_POWER))}, _power, ("solve",),
    ),
}
# fmt: on


# Files below one folder only: anyone may have told an assistant what to open


OPEN = (
    os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY
)  # a pipe does not wait for its writer


class Folder:
    """The files of one call, all below `root`, with at most `most_bytes` together."""

    def __init__(self, root: Path, most_bytes: int) -> None:
        self._root = root.resolve(strict=True)
        self._most = self._left = most_bytes

    def read(self, path: Any, pointer: str) -> tuple[str, bytes]:
        """The name and the bytes of a file.

        Raises
        ------
            InvalidTest: it is not a path below the root, or not a readable regular file; links may not lead out.
            BodyTooLarge: the files of the call have too many bytes.
        """
        if not isinstance(path, str) or not path:
            raise InvalidTest.at(
                pointer, "not_a_path", 'Give the path of a file below the root: "runs/new.jsonl".'
            )
        if path.startswith("/") or ".." in path.split("/"):
            detail = 'Only files below the root are read: give the path from there, with no "/" before it and no ".." in it.'
            raise InvalidTest.at(pointer, "outside", detail)
        try:
            inside = (self._root / path).resolve().relative_to(self._root)
        except (ValueError, OSError, RuntimeError):  # another folder; a NUL; a loop of links
            raise InvalidTest.at(
                pointer,
                "outside",
                "This leads out of the root, or nowhere: only files below the root are read.",
            ) from None
        try:
            return Path(path).name, self._content(inside.parts, pointer)
        except OSError as error:
            raise InvalidTest.at(
                pointer, "unreadable", f"This file cannot be read below the root: {error.strerror}."
            ) from None

    def _content(self, parts: tuple[str, ...], pointer: str) -> bytes:
        """The bytes, opened part by part without following links, so that no link can appear after the path was
        resolved.
        """
        at = os.open(self._root, OPEN | os.O_DIRECTORY)
        try:
            for index, part in enumerate(parts):
                within, at = (
                    at,
                    os.open(part, OPEN | (os.O_DIRECTORY if parts[index + 1 :] else 0), dir_fd=at),
                )
                os.close(within)
            status = os.fstat(at)
            if not stat.S_ISREG(status.st_mode):
                detail = "This is not a regular file: folders, pipes and devices are not read."
                raise InvalidTest.at(pointer, "not_a_file", detail)
            content = b""
            if status.st_size <= self._left:  # it may grow, and those of /proc have no size
                with os.fdopen(os.dup(at), "rb") as file:
                    content = file.read(self._left + 1)
        finally:
            os.close(at)
        self._left -= max(status.st_size, len(content))
        if self._left < 0:
            detail = f"The files of one call have more than {self._most:,} bytes together, the limit"
            raise BodyTooLarge(f"{detail} (EXACTPERM_MAX_BODY_BYTES).")
        return content


# The server: MCP on standard input and output, until that closes. Everything is computed in this p


MOST_JSON_BYTES = 100_000
ARGUMENTS = "/params/arguments"
INSTRUCTIONS = (
    "Exact paired-permutation tests of evaluation results. Quote the p-value with its method and its warnings. A gate that "
    "is INCONCLUSIVE, or a call that fails, has shown nothing. Paths are relative to the root that the server was given."
)


def serve(root: Path, settings: Settings) -> None:
    """Answer until standard input closes. Meanwhile, prints of other code go to standard error."""
    # Exit at once: the thread that waits for standard input cannot be interrupted, and nothing is left to finish.
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    anyio.run(_serve, root, settings)


async def _serve(root: Path, settings: Settings) -> None:
    turn = anyio.CapacityLimiter(1)
    lines = Lines()

    async def listed(
        context: ServerRequestContext[Any], params: types.PaginatedRequestParams | None
    ) -> types.ListToolsResult:
        hints = types.ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)
        return types.ListToolsResult(
            tools=[
                types.Tool(
                    name=name, description=tool.description, input_schema=tool.schema, annotations=hints
                )
                for name, tool in TOOLS.items()
            ]
        )

    async def called(
        context: ServerRequestContext[Any], params: types.CallToolRequestParams
    ) -> types.CallToolResult:
        error = lines.refused.pop(context.request_id, None)
        if error is not None:
            return _problem(problems.of_error(error, "-").body)
        compute = partial(answer, params.name, params.arguments or {}, root, settings)
        return await anyio.to_thread.run_sync(compute, limiter=turn)

    server: Server[Any] = Server(
        "exactperm", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called
    )
    async with stdio_server(stdin=anyio.wrap_file(lines)) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class Lines(io.TextIOWrapper):
    """Standard input, and the ids of calls with numbers that the SDK would read as 0.

    Other readers of standard input find its end, as with the SDK.
    """

    def __init__(self) -> None:
        super().__init__(os.fdopen(os.dup(0), "rb"), encoding="utf-8", errors="replace")
        self.refused: dict[Any, InvalidTest] = {}
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]  # named as io.IOBase has it
        """The next message."""
        line = super().readline(size)
        try:
            mapped(lambda pointer: pointer.removeprefix(ARGUMENTS), number_text.refuse_in_json, line)
        except InvalidTest as error:
            message = json.loads(line)
            if isinstance(message, dict) and isinstance(message.get("id"), int | str):
                self.refused[message["id"]] = error
        except ValueError:
            pass  # the SDK refuses it as not JSON
        return line


def answer(name: str, arguments: Arguments, root: Path, settings: Settings) -> types.CallToolResult:
    """The answer to one call, in a thread of anyio; faults are results as well. Stops when the call is cancelled."""
    try:
        request = http_request(_call(name, arguments, root, settings))
        transport = InProcess(settings, look=anyio.from_thread.check_cancelled, with_line=True)
        response = transport.handle_request(request)
    except ExactpermError as error:
        return _problem(problems.of_error(error, "-").body)
    except Exception as error:  # noqa: BLE001  (a bug is an answer, too)
        return _problem(problems.of_bug(error, "-").body)
    if not response.is_success and VERDICT not in response.headers:
        return _problem(response.content)
    line, _, content = response.content.rstrip(b"\n").rpartition(b"\n")
    if len(content) <= MOST_JSON_BYTES:
        return _result([line.decode()], json.loads(content))
    left_out = f"The whole answer is left out here: it has {len(content):,} bytes. Ask for less, with pmf or pairs none."
    return _result([line.decode(), left_out])


def _call(name: str, arguments: Arguments, root: Path, settings: Settings) -> Any:
    """The call of the client for the tool; raises InputError."""
    read = Folder(root, settings.max_body_bytes).read
    try:
        return call_of(request_of(name, arguments, read, settings.default_timeout_s))
    except InvalidData as error:
        raise InvalidTest.at(error.pointer, "invalid_value", error.detail) from None
    except ValueError:
        raise InvalidTest.at("/options", "invalid_value", "A value is not finite, or not text.") from None


def _problem(body: bytes) -> types.CallToolResult:
    """The fault and its place: the sentence, and the pointers into the arguments."""
    document = json.loads(body)
    del document["instance"]
    for problem in (document, *document.get("errors", ())):
        problem["detail"] = spelt(problem["detail"], member)
    lines = [document["detail"]]
    for flaw in document.get("errors", ()):
        sentence = f": {flaw['detail']}" if flaw["detail"] not in document["detail"] else ""
        lines.append(f"  at {flaw['pointer'] or '/'} ({flaw['code']}){sentence}")
    return _result(["\n".join(lines)], document, is_error=True)


def _result(texts: Sequence[str], content: Any = None, *, is_error: bool = False) -> types.CallToolResult:
    return types.CallToolResult(
        content=[types.TextContent(text=text) for text in texts],
        structured_content=content,
        is_error=is_error,
    )
