"""What uvicorn makes of a request's head, for requests that were read without h11's events."""

from __future__ import annotations

import asyncio
from urllib.parse import unquote

from uvicorn.protocols.http.flow_control import HIGH_WATER_LIMIT
from uvicorn.protocols.http.h11_impl import H11Protocol, RequestResponseCycle

from .plain_head import PlainHead


def begin(protocol: H11Protocol, head: PlainHead, body: bytes) -> None:
    """Begin a request whose body is `body`, as uvicorn does when h11 has parsed it."""
    raw_path, _, query = head.target.partition(b"?")
    protocol.headers = head.headers
    protocol.scope = {
        "type": "http",
        "asgi": {"version": protocol.asgi_version, "spec_version": "2.3"},
        "http_version": "1.1",
        "server": protocol.server,
        "client": protocol.client,
        "scheme": protocol.scheme,  # type: ignore[typeddict-item]  # set when the connection was made
        "method": head.method.decode("ascii"),
        "root_path": protocol.root_path,
        "path": protocol.root_path + unquote(raw_path.decode("ascii")),
        "raw_path": protocol.root_path.encode("ascii") + raw_path,
        "query_string": query,
        "headers": head.headers,
        "state": protocol.app_state.copy(),
    }
    cycle = protocol.cycle = RequestResponseCycle(
        scope=protocol.scope,
        conn=protocol.conn,
        transport=protocol.transport,
        flow=protocol.flow,
        logger=protocol.logger,
        access_logger=protocol.access_logger,
        access_log=protocol.access_log,
        default_headers=protocol.server_state.default_headers,
        message_event=asyncio.Event(),
        on_response=protocol.on_response_complete,
    )
    cycle.body += body
    cycle.more_body = False
    cycle.message_event.set()
    if len(body) > HIGH_WATER_LIMIT:
        protocol.flow.pause_reading()
    task = protocol.loop.create_task(cycle.run_asgi(protocol.app))
    task.add_done_callback(protocol.tasks.discard)
    protocol.tasks.add(task)
