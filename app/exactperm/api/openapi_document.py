"""`/openapi.json`: built when it is first asked for, in a thread."""

from __future__ import annotations

import asyncio
from functools import cache
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import JSONResponse, Response


def add_document(app: FastAPI) -> None:
    """Add the route, and the same document as `app.openapi()`."""

    @cache
    def document() -> dict[str, Any]:
        # Not at start: its schemas and examples are a part of the imports that nothing else needs.
        from .openapi.document import document

        return document(app)

    bodies: list[bytes] = []
    building = asyncio.Lock()

    async def openapi(_: Request) -> Response:
        async with building:
            if not bodies:  # it takes 0.1 s or more, during which the event loop serves others
                bodies.append(await asyncio.to_thread(lambda: bytes(JSONResponse(document()).body)))
        return Response(bodies[0], media_type="application/json")

    app.openapi = document  # type: ignore[method-assign]
    app.add_route("/openapi.json", openapi, include_in_schema=False)
