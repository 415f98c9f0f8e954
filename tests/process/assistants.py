"""A real MCP client session with the real command, over its standard input and output."""

from __future__ import annotations

import os
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import anyio
from mcp import Client
from mcp.client.stdio import StdioServerParameters, stdio_client
from mcp_types import CallToolResult, TextContent

ROOT = Path(__file__).parents[2]
COMMAND = [sys.executable, "-P", "-m", "exactperm.cli", "mcp", "--root"]
PATIENCE_S = 120.0


def environment(**settings: Any) -> dict[str, str]:
    given = {f"EXACTPERM_{name.upper()}": str(value) for name, value in settings.items()}
    return {**os.environ, "PYTHONPATH": str(ROOT / "app"), **given}


@asynccontextmanager
async def session(root: Path, log: Path, mode: str = "auto", **settings: Any) -> AsyncIterator[Client]:
    """A client whose server reads below `root` and writes its standard error to `log`."""
    parameters = StdioServerParameters(
        command=COMMAND[0], args=[*COMMAND[1:], str(root)], env=environment(**settings)
    )
    with log.open("w") as errors:
        async with Client(stdio_client(parameters, errlog=errors), mode=mode) as client:
            yield client


def run(
    body: Callable[[Client], Awaitable[None]], root: Path, log: Path, mode: str = "auto", **settings: Any
) -> None:
    """What `body` does in a session; nothing unexpected is on standard error after it."""

    async def main() -> None:
        with anyio.fail_after(PATIENCE_S):
            async with session(root, log, mode, **settings) as client:
                await body(client)

    anyio.run(main)
    assert "Traceback" not in log.read_text()


def text_of(result: CallToolResult) -> str:
    return "\n".join(part.text for part in result.content if isinstance(part, TextContent))
