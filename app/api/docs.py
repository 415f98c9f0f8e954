"""`/docs`: Swagger UI from our own files, and a page of the problem types. Needs no internet."""

from __future__ import annotations

from html import escape
from pathlib import Path

from fastapi import APIRouter, FastAPI
from starlette.responses import HTMLResponse, Response
from starlette.staticfiles import StaticFiles

from ..service import problems
from .guide import guide_router

ASSETS = Path(__file__).parent.parent / "web" / "swagger-ui"
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
HEADERS = {"content-security-policy": POLICY}

PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>exactperm</title>
<link rel="icon" type="image/png" href="docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="docs/assets/swagger-ui.css">
</head>
<body>
<div id="swagger-ui"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""
START = """SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
});
"""


def problems_page() -> str:
    """What each problem type means and what to do about it."""
    rows = "\n".join(
        f'<dt id="{kind.code}">{kind.status} {escape(kind.title)} (<code>{kind.code}</code>)</dt>'
        f"<dd>{escape(kind.advice)}</dd>"
        for kind in problems.all_types()
    )
    return f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>exactperm: problem types</title></head>
<body><h1>Problem types</h1>
<dl>
{rows}
</dl></body>
</html>
"""


def add_docs(app: FastAPI) -> None:
    """Add the pages and their assets."""
    router = APIRouter(include_in_schema=False)

    async def docs() -> Response:
        return HTMLResponse(PAGE, headers=HEADERS)

    async def start() -> Response:
        return Response(START, media_type="text/javascript", headers=HEADERS)

    async def problem_types() -> Response:
        return HTMLResponse(problems_page(), headers=HEADERS)

    router.add_api_route("/docs", docs)
    router.add_api_route("/docs/start.js", start)
    router.add_api_route("/docs/problems", problem_types)
    app.include_router(router)
    app.include_router(guide_router())
    app.mount("/docs/assets", StaticFiles(directory=ASSETS, check_dir=False), name="docs-assets")
