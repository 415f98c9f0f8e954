"""What the framework itself raises, 404 and 405 among it, as problems."""

from __future__ import annotations

from fastapi import FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

from app.api import problems
from app.api.desk import sent
from app.errors import ExactpermError


def add_handlers(app: FastAPI) -> None:
    """Register them."""

    async def of_http(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        detail = error.detail if error.status_code not in (404, 405) else None
        headers = [(name.lower(), value) for name, value in (error.headers or {}).items()]
        return sent(problems.of_status(error.status_code, detail, _id(request), headers))

    async def of_ours(request: Request, error: Exception) -> Response:
        assert isinstance(error, ExactpermError)
        return sent(problems.of_error(error, _id(request)))

    app.add_exception_handler(HTTPException, of_http)
    app.add_exception_handler(ExactpermError, of_ours)


def _id(request: Request) -> str:
    return str(request.scope.get("request_id", ""))
