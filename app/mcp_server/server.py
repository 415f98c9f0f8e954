"""The server: MCP on standard input and output, until that closes. Everything is computed in this process.

One call is computed at a time, because the precision of ball arithmetic belongs to the process and not to a thread.
"""

from __future__ import annotations

import io
import json
import os
import signal
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import anyio.from_thread
import anyio.to_thread
import mcp_types as types
from mcp.server import Server, ServerRequestContext
from mcp.server.stdio import stdio_server

from .. import __version__
from ..client.calls import VERDICT, call_of
from ..client.errors import InvalidData
from ..client.spelling import member, spelt
from ..errors import ExactpermError, InvalidTest, relocated
from ..inputs import tiny_numbers
from ..local.run import http_request
from ..local.transport import InProcess
from ..service import problems
from ..settings import Settings
from .folder import Folder
from .tools import TOOLS, Given, request_of

MOST_JSON_BYTES = 100_000
ARGUMENTS = "/params/arguments"
INSTRUCTIONS = (
    "Exact paired-permutation tests of evaluation results. Quote the p-value with its method and its warnings. A gate that "
    "is INCONCLUSIVE, or a call that fails, has shown nothing. Paths are relative to the root that the server was given."
)


def serve(root: Path, settings: Settings) -> None:
    """Answer until standard input closes. While it does, what others print goes to standard error."""
    # At once: the thread that waits for standard input could not be interrupted, and there is nothing to finish.
    signal.signal(signal.SIGINT, lambda *_: os._exit(128 + signal.SIGINT))
    anyio.run(_serve, root, settings)


async def _serve(root: Path, settings: Settings) -> None:
    turn = anyio.CapacityLimiter(1)
    lines = Lines()

    async def listed(
        context: ServerRequestContext[Any], given: types.PaginatedRequestParams | None
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
        context: ServerRequestContext[Any], given: types.CallToolRequestParams
    ) -> types.CallToolResult:
        error = lines.refused.pop(context.request_id, None)
        if error is not None:
            return _problem(problems.of_error(error, "-").body)
        compute = partial(answer, given.name, given.arguments or {}, root, settings)
        return await anyio.to_thread.run_sync(compute, limiter=turn)

    server: Server[Any] = Server(
        "exactperm", version=__version__, instructions=INSTRUCTIONS, on_list_tools=listed, on_call_tool=called
    )
    async with stdio_server(stdin=anyio.wrap_file(lines)) as (reading, writing):
        await server.run(reading, writing, server.create_initialization_options())


class Lines(io.TextIOWrapper):
    """Standard input, and the calls in it that have numbers which the SDK would read as 0, by their ids.

    Who else reads standard input meanwhile finds its end, as the SDK has it.
    """

    def __init__(self) -> None:
        super().__init__(os.fdopen(os.dup(0), "rb"), encoding="utf-8", errors="replace")
        self.refused: dict[Any, InvalidTest] = {}
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)

    def readline(self, size: int = -1, /) -> str:  # type: ignore[override]
        """The next message."""
        line = super().readline(size)
        try:
            with relocated(lambda pointer: pointer.removeprefix(ARGUMENTS)):
                tiny_numbers.refuse_in_json(line)
        except InvalidTest as error:
            message = json.loads(line)
            if isinstance(message, dict) and isinstance(message.get("id"), int | str):
                self.refused[message["id"]] = error
        except ValueError:
            pass  # the SDK says that it is not JSON
        return line


def answer(name: str, given: Given, root: Path, settings: Settings) -> types.CallToolResult:
    """The answer to one call, in a thread of anyio; what is wrong is a result, too. Stops when the call is cancelled."""
    try:
        request = http_request(_call(name, given, root, settings))
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


def _call(name: str, given: Given, root: Path, settings: Settings) -> Any:
    """The call of the client for the tool; raises InputError."""
    read = Folder(root, settings.max_body_bytes).read
    try:
        return call_of(request_of(name, given, read, settings.default_timeout_s))
    except InvalidData as error:
        raise InvalidTest.at(error.pointer, "invalid_value", error.detail) from None
    except ValueError:
        raise InvalidTest.at("/options", "invalid_value", "A value is not finite, or not text.") from None


def _problem(body: bytes) -> types.CallToolResult:
    """What is wrong, and where: the sentence, and the pointers into the arguments."""
    document = json.loads(body)
    del document["instance"]
    for said in (document, *document.get("errors", ())):
        said["detail"] = spelt(said["detail"], member)
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
