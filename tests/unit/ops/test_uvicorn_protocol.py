"""uvicorn's internals are where INTERNALS says, they do what we rely on, and we use no others."""

from __future__ import annotations

import ast
import dis
import importlib.metadata
import inspect
from pathlib import Path
from types import ModuleType

import pytest
from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle
from uvicorn.server import Server, ServerState

from app.ops.edge import answer, begin, flow, server as edge_server, uvicorn_protocol
from app.ops.edge.answer import Answer
from app.ops.edge.flow import Flow
from app.ops.edge.uvicorn_protocol import EdgeProtocol

# What is overridden, called, read or replaced of uvicorn's classes.
INTERNALS: dict[type, tuple[str, ...]] = {
    H11Protocol: (
        "access_log", "access_logger", "app", "app_state", "asgi_version", "client", "conn", "connection_lost",
        "connection_made", "cycle", "data_received", "eof_received", "flow", "handle_events", "headers", "logger", "loop",
        "on_response_complete", "root_path", "scheme", "scope", "send_400_response", "server", "server_state",
        "shutdown", "tasks", "timeout_keep_alive", "timeout_keep_alive_handler", "transport", "_unset_keepalive_if_required",
        "_unsupported_upgrade_warning",
    ),
    RequestResponseCycle: (
        "body", "conn", "default_headers", "disconnected", "flow", "keep_alive", "message_event", "more_body",
        "on_response", "response_complete", "response_started", "run_asgi", "scope", "transport",
        "waiting_for_100_continue",
    ),
    FlowControl: ("pause_reading", "read_paused", "resume_reading", "_transport"),
    Server: (
        "capture_signals", "config", "handle_exit", "lifespan", "on_tick", "serve", "server_state", "servers",
        "should_exit", "shutdown", "startup",
    ),
    ServerState: ("connections", "tasks", "total_requests"),
}  # fmt: skip


def stored(kind: type) -> set[str]:
    """The attributes that the methods of a class set on `self` or another object."""
    functions = [value for value in vars(kind).values() if inspect.isfunction(value)]
    instructions = (step for function in functions for step in dis.get_instructions(function))
    return {str(step.argval) for step in instructions if step.opname == "STORE_ATTR"}


def used(module: str, names: set[str], own: set[str]) -> set[str]:
    """The attributes of the objects called `names`, and of `super()`, that a module uses and does not define itself."""
    found = set()
    for node in ast.walk(ast.parse(Path(module).read_text(encoding="utf-8"))):
        if isinstance(node, ast.Attribute):
            owner = ast.unparse(node.value)
            if owner == "super()" or (owner in names and node.attr not in own):
                found.add(node.attr)
    return found - {"__init__"}


def test_the_version_is_the_one_that_was_read() -> None:
    assert importlib.metadata.version("uvicorn").startswith("0.54.")


@pytest.mark.parametrize(("kind", "name"), [(kind, name) for kind in INTERNALS for name in INTERNALS[kind]])
def test_every_internal_is_there(kind: type, name: str) -> None:
    assert name in vars(kind) or name in stored(kind)


PAIRS = ((EdgeProtocol, H11Protocol), (Flow, FlowControl), (edge_server.Server, Server))


def names_of(kind: type) -> set[str]:
    return {*vars(kind), *stored(kind)}


@pytest.mark.parametrize("module", [uvicorn_protocol, answer, begin, flow, edge_server])
def test_whatever_of_uvicorn_is_used_is_listed(module: ModuleType) -> None:
    own = {name for ours, theirs in PAIRS for name in names_of(ours) - names_of(theirs)} | names_of(Answer)
    listed = {name for names in INTERNALS.values() for name in names}
    assert (
        used(
            str(module.__file__),
            {"self", "cycle", "protocol", "self.cycle", "self.flow", "protocol.flow"},
            own,
        )
        <= listed
    )


@pytest.mark.parametrize(("ours", "theirs"), PAIRS)
def test_whatever_of_uvicorn_is_overridden_is_listed(ours: type, theirs: type) -> None:
    overridden = {name for name in vars(ours) if name in vars(theirs) and not name.startswith("__")}
    assert overridden <= set(INTERNALS[theirs])


@pytest.mark.parametrize(
    ("caller", "callee"),
    [
        (H11Protocol.handle_events, "send_400_response"),
        (H11Protocol.handle_events, "app"),
        (H11Protocol.handle_events, "cycle"),
        (H11Protocol._should_upgrade, "_unsupported_upgrade_warning"),
        (H11Protocol.data_received, "handle_events"),
        (H11Protocol.handle_events, "_unset_keepalive_if_required"),
        (H11Protocol.on_response_complete, "total_requests"),
        (H11Protocol.on_response_complete, "start_next_cycle"),
        (RequestResponseCycle.receive, "message_event"),
        (RequestResponseCycle.send, "disconnected"),
        (RequestResponseCycle.receive, "resume_reading"),
        (Server._serve, "startup"),
        (Server._serve, "shutdown"),
        (Server.main_loop, "on_tick"),
        (Server.serve, "capture_signals"),
        (Server.shutdown, "servers"),
    ],
)
def test_uvicorn_comes_by_what_we_override_or_set(caller: object, callee: str) -> None:
    assert inspect.isfunction(caller)
    assert callee in caller.__code__.co_names
