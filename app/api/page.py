"""`/`: the web page and its assets, from our own files. No internet, no inline script or style, nothing stored."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import Response

FOLDER = Path(__file__).parent.parent / "web" / "page"
INDEX = "index.html"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
TYPES = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """A file of the page: its bytes, its media type, and a tag that changes with the bytes."""

    content: bytes
    media_type: str
    tag: str

    def sent(self, request: Request) -> Response:
        """The file, or 304 when the browser has it already (RFC 9110, section 13.1.2)."""
        # Asked for again each time, so that a new version of the service never runs with parts of an old page.
        headers = {"content-security-policy": POLICY, "cache-control": "no-cache", "etag": self.tag}
        if self.tag in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        return Response(self.content, media_type=self.media_type, headers=headers)


def assets() -> dict[str, Asset]:
    """The files of the page by name; they are few and small, and read once."""
    found = {}
    for path in sorted(FOLDER.iterdir()):
        if path.suffix in TYPES:
            content = path.read_bytes()
            found[path.name] = Asset(content, TYPES[path.suffix], f'"{sha256(content).hexdigest()[:16]}"')
    return found


def page_router() -> APIRouter:
    """`GET /` and `GET /page/{name}`; any other name is not found."""
    router = APIRouter(include_in_schema=False)
    known = assets()

    async def index(request: Request) -> Response:
        return known[INDEX].sent(request)

    async def asset(request: Request, name: str) -> Response:
        if name not in known:
            raise HTTPException(404)
        return known[name].sent(request)

    router.add_api_route("/", index)
    router.add_api_route("/page/{name}", asset)
    return router
