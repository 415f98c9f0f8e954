"""`/docs`: Swagger UI from our own files, and a page of the problem types. Needs no internet."""

from __future__ import annotations

from collections.abc import Sequence
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
CURRENT = ' aria-current="page"'

# Addresses are relative: a proxy may serve us below a prefix. `up` leads from the page's folder to the root.
HEAD = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{title}</title>
<link rel="icon" type="image/svg+xml" href="{up}page/icon.svg">
{styles}
</head>
<body class="docs">
<header class="top">
<a class="brand" href="{home}"><img src="{up}page/icon.svg" alt="" width="28" height="28"> exactperm</a>
<nav aria-label="Documentation">{links}</nav>
</header>
"""
LINKS = {"Guide": "docs/guide", "API": "docs", "Errors": "docs/problems"}
START = """const dark = window.matchMedia("(prefers-color-scheme: dark)");
const paint = () => document.documentElement.classList.toggle("dark-mode", dark.matches);
dark.addEventListener("change", paint);
paint();
SwaggerUIBundle({
  url: "openapi.json",
  dom_id: "#swagger-ui",
  deepLinking: true,
  validatorUrl: null,
});
"""
REFERENCE = """<div id="swagger-ui"></div>
<script src="docs/assets/swagger-ui-bundle.js"></script>
<script src="docs/start.js"></script>
</body>
</html>
"""


def head(title: str, current: str, *, up: str = "", styles: Sequence[str] = ()) -> str:
    """The beginning of a page of documentation, up to its own part; `current` is its entry in the navigation."""
    links = " ".join(
        f'<a href="{up}{address}"{CURRENT if name == current else ""}>{name}</a>'
        for name, address in LINKS.items()
    )
    sheets = "\n".join(
        f'<link rel="stylesheet" href="{up}{sheet}">'
        for sheet in (*styles, "page/colours.css", "page/docs.css")
    )
    return HEAD.format(title=escape(title), up=up, home=up or "./", links=links, styles=sheets)


def reference_page() -> str:
    """The API reference: Swagger UI, which draws itself from the OpenAPI document."""
    return head("exactperm: API", "API", styles=("docs/assets/swagger-ui.css",)) + REFERENCE


def problems_page() -> str:
    """What each problem type means and what to do about it."""
    rows = "\n".join(
        f'<div id="{kind.code}"><dt><span class="status{" fault" if kind.status >= 500 else ""}">{kind.status}</span> '
        f'<span class="title">{escape(kind.title)} <code>{kind.code}</code></span></dt>'
        f"<dd>{escape(kind.advice)}</dd></div>"
        for kind in problems.all_types()
    )
    return f"""{head("exactperm: problem types", "Errors", up="../")}<main class="problems">
<h1>Problem types</h1>
<p>Every error is a document of type <code>application/problem+json</code> (RFC 9457); its <code>type</code> leads to a line here.</p>
<dl>
{rows}
</dl>
</main>
</body>
</html>
"""


def add_docs(app: FastAPI) -> None:
    """Add the pages and their assets."""
    router = APIRouter(include_in_schema=False)

    async def docs() -> Response:
        return HTMLResponse(reference_page(), headers=HEADERS)

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
