"""`/`: the web page and its assets, from our own files. No internet, no inline script or style, nothing stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import Response
from starlette.staticfiles import StaticFiles

FOLDER = Path(__file__).parent.parent / "web" / "page"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The browser asks again each time, so that a new version of the service never runs with parts of an old page.
HEADERS = {"content-security-policy": POLICY, "cache-control": "no-cache"}


class PageFiles(StaticFiles):
    """The files of the page, with its headers."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """The file, or 304."""
        response = super().file_response(*args, **kwargs)
        response.headers.update(HEADERS)
        return response


def add_page(app: FastAPI) -> None:
    """Add `GET /` and the files below `/page`."""
    files = PageFiles(directory=FOLDER)

    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    app.add_api_route("/", index, include_in_schema=False)
    app.mount("/page", files, name="page")
