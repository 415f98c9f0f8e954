"""Pages for a browser: the page at `/`, the guide, the API reference, the problem types, and `/openapi.json`.

Everything is served from local files, without the internet. docs/ is beside the package in a checkout and inside it
in a wheel. Its Markdown pages are rendered on demand, without raw HTML or scripts, and cached.
"""

from __future__ import annotations

import asyncio
import posixpath
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import APIRouter, FastAPI
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, Response
from starlette.staticfiles import StaticFiles

from ..service import problems

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


PACKAGE = Path(__file__).resolve().parents[1]
FOLDERS = (PACKAGE / "docs", PACKAGE.parents[1] / "docs")
STYLE = PACKAGE / "web" / "guide.css"
ROOT = "/docs/guide"
INDEX = "README"
ICON = "../../page/icon.svg"
COLOURS = "../../page/colours.css"
HOME = "../.."
PICTURES = {".svg": "image/svg+xml", ".png": "image/png"}
GUIDE_HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
}
# The address in the pages' examples, replaced by that of the serving host.
EXAMPLE_HOST = "localhost:8000"
HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
CURRENT = ' aria-current="page"'
COMMENT = re.compile(r"\s*<!--.*?-->\s*", re.DOTALL)

GUIDE_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" type="image/svg+xml" href="{icon}">
<link rel="stylesheet" href="{colours}">
<link rel="stylesheet" href="{style}">
</head>
<body>
<nav aria-label="Guide">
<a class="brand" href="{home}"><img src="{icon}" alt="" width="28" height="28"> exactperm</a>
{navigation}
</nav>
<main>
{content}
</main>
</body>
</html>
"""


def guide_router() -> APIRouter:
    """`GET /docs/guide`, its pages and pictures; any other name is not found."""
    router = APIRouter(include_in_schema=False)

    def index(request: Request) -> Response:
        return HTMLResponse(_at_host(rendered(INDEX), request), headers=GUIDE_HEADERS)

    def style() -> Response:
        return Response(STYLE.read_bytes(), media_type="text/css", headers=GUIDE_HEADERS)

    def page(page: str, request: Request) -> Response:
        if page in pictures():
            path = pictures()[page]
            return Response(path.read_bytes(), media_type=PICTURES[path.suffix], headers=GUIDE_HEADERS)
        if page not in pages() or page == INDEX:
            raise HTTPException(404)
        return HTMLResponse(_at_host(rendered(page), request), headers=GUIDE_HEADERS)

    # Plain functions, so that they run in threads: rendering a page takes some milliseconds.
    router.add_api_route(ROOT, index)
    router.add_api_route(f"{ROOT}/style.css", style)
    router.add_api_route(f"{ROOT}/{{page:path}}", page)
    return router


def _at_host(html: str, request: Request) -> str:
    """The page with the requested host in its examples."""
    host = request.headers.get("host", "")
    return html.replace(EXAMPLE_HOST, host) if HOST.fullmatch(host) else html


@cache
def pages() -> dict[str, Path]:
    """Markdown files by name without suffix, such as `decisions/0004-http-parser`."""
    return {name.removesuffix(".md"): path for name, path in _files().items() if path.suffix == ".md"}


@cache
def pictures() -> dict[str, Path]:
    """Pictures by name."""
    return {name: path for name, path in _files().items() if path.suffix in PICTURES}


def _files() -> dict[str, Path]:
    folder = next((each for each in FOLDERS if (each / f"{INDEX}.md").is_file()), None)
    if folder is None:
        return {}
    return {path.relative_to(folder).as_posix(): path for path in sorted(folder.rglob("*")) if path.is_file()}


@cache
def rendered(name: str) -> str:
    """A page as HTML; HTTPException 404 if there are no pages."""
    if name not in pages():
        raise HTTPException(404)
    markdown = _markdown()
    tokens = markdown.parse(pages()[name].read_text(encoding="utf-8"))
    title = _prepare(tokens, name)
    content = markdown.renderer.render(tokens, markdown.options, {})
    # Code scrolls sideways, as tables do. Only the renderer writes tags; those in a text are escaped.
    content = content.replace("<pre>", '<pre tabindex="0">')
    return GUIDE_PAGE.format(
        title=escape(title),
        icon=_relative(ICON, name),
        style=_relative("style.css", name),
        colours=_relative(COLOURS, name),
        home=_relative(HOME, name),
        navigation=_navigation(name),
        content=content,
    )


def target(link: str, page: str) -> str | None:
    """A link of the Markdown as a link of the HTML; None if it leads out of the guide into the repository."""
    if link.startswith(f"http://{EXAMPLE_HOST}/"):  # this server
        folder, last = posixpath.split(link.removeprefix(f"http://{EXAMPLE_HOST}"))
        return posixpath.join(posixpath.relpath(folder, _folder(page)), last)
    if re.match(r"[a-z]+:", link) or link.startswith("#"):
        return link
    path, _, anchor = link.partition("#")
    name = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    if name.removesuffix(".md") in pages():
        name = name.removesuffix(".md")
    elif name not in pictures():
        return None
    return _relative(name, page) + (f"#{anchor}" if anchor else "")


def _relative(name: str, page: str) -> str:
    """The address of a page or file, relative to that of another page: a proxy may serve us below a prefix."""
    folder, last = posixpath.split(posixpath.normpath(f"{ROOT}/{name}") if name != INDEX else ROOT)
    return posixpath.join(
        posixpath.relpath(folder, _folder(page)), last
    )  # never a folder's name: it has no slash at its end


def _folder(page: str) -> str:
    return posixpath.dirname(f"{ROOT}/{page}" if page != INDEX else ROOT)


@cache
def _contents() -> tuple[tuple[str, str], ...]:
    """Names and titles of the pages that the index links, in its order."""
    links = re.findall(
        r"^\* \[([^\]]+)\]\(([^)]+)\.md\)", pages()[INDEX].read_text(encoding="utf-8"), re.MULTILINE
    )
    return tuple((name, title) for title, name in links if name in pages())


def _navigation(page: str) -> str:
    entries = ((INDEX, "Guide"), *_contents())
    items = [
        f'<li><a href="{_relative(name, page)}"{CURRENT if name == page else ""}>{escape(title)}</a></li>'
        for name, title in entries
    ]
    return "\n".join(["<ul>", *items, "</ul>"])


def _markdown() -> MarkdownIt:
    from markdown_it import MarkdownIt

    markdown = MarkdownIt("commonmark").enable("table")
    for kind in ("html_block", "html_inline"):
        markdown.add_render_rule(kind, _no_html)
    return markdown


def _no_html(_: object, tokens: Sequence[Token], index: int, *__: object) -> str:
    """Drop comments, which mark generated tables; show any other HTML as text."""
    text = tokens[index].content
    return "" if COMMENT.fullmatch(text) else escape(text)


def _prepare(tokens: Sequence[Token], page: str) -> str:
    """Give headings their anchors and links their addresses, in place; the page's title."""
    title = page
    for opening, inline in pairwise(tokens):
        if opening.type == "heading_open":
            text = "".join(
                each.content for each in inline.children or () if each.type in {"text", "code_inline"}
            )
            opening.attrSet("id", slug(text))
            title = text if opening.tag == "h1" else title
        if opening.type == "table_open":
            opening.attrSet("tabindex", "0")  # it scrolls sideways, and the keyboard must be able to
        if opening.attrs.pop("style", None) == "text-align:right":
            opening.attrSet("class", "number")  # the policy allows no inline style
    for token in tokens:
        for child in token.children or ():
            if child.type == "image":
                child.attrSet("src", target(str(child.attrGet("src")), page) or "")
            if child.type == "link_open":
                _link(child, page)
    return title


def _link(token: Token, page: str) -> None:
    """Point a link to its page; name targets that are only in the repository, without a link."""
    link = str(token.attrGet("href"))
    address = target(link, page)
    if address is None:
        token.attrs = {"title": f"In the repository: {link}"}
    else:
        token.attrSet("href", address)


def slug(title: str) -> str:
    """The anchor of a heading, as sites that show repositories make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")


SWAGGER_ASSETS = PACKAGE / "web" / "swagger-ui"
DOCS_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
DOCS_HEADERS = {"content-security-policy": DOCS_POLICY}

# Addresses are relative: a proxy may serve us below a prefix. `up` leads from the page's folder to the root.
DOCS_HEAD = """<!doctype html>
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
DOCS_LINKS = {"Guide": "docs/guide", "API": "docs", "Errors": "docs/problems"}
REFERENCE_SCRIPT = """const dark = window.matchMedia("(prefers-color-scheme: dark)");
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
    """The beginning of a documentation page, up to its content; `current` is its entry in the navigation."""
    links = " ".join(
        f'<a href="{up}{address}"{CURRENT if name == current else ""}>{name}</a>'
        for name, address in DOCS_LINKS.items()
    )
    sheets = "\n".join(
        f'<link rel="stylesheet" href="{up}{sheet}">'
        for sheet in (*styles, "page/colours.css", "page/docs.css")
    )
    return DOCS_HEAD.format(title=escape(title), up=up, home=up or "./", links=links, styles=sheets)


def reference_page() -> str:
    """The API reference: Swagger UI of the OpenAPI document."""
    return head("exactperm: API", "API", styles=("docs/assets/swagger-ui.css",)) + REFERENCE


def problems_page() -> str:
    """The problem types: what each means and what to do about it."""
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
        return HTMLResponse(reference_page(), headers=DOCS_HEADERS)

    async def start() -> Response:
        return Response(REFERENCE_SCRIPT, media_type="text/javascript", headers=DOCS_HEADERS)

    async def problem_types() -> Response:
        return HTMLResponse(problems_page(), headers=DOCS_HEADERS)

    router.add_api_route("/docs", docs)
    router.add_api_route("/docs/start.js", start)
    router.add_api_route("/docs/problems", problem_types)
    app.include_router(router)
    app.include_router(guide_router())
    app.mount("/docs/assets", StaticFiles(directory=SWAGGER_ASSETS, check_dir=False), name="docs-assets")


PAGE_FOLDER = PACKAGE / "web" / "page"
PAGE_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
# The browser asks again each time, so that a new version of the service never mixes with parts of an old page.
PAGE_HEADERS = {"content-security-policy": PAGE_POLICY, "cache-control": "no-cache"}


class PageFiles(StaticFiles):
    """The files of the page, with its headers."""

    def file_response(self, *args: Any, **kwargs: Any) -> Response:
        """The file, or 304."""
        response = super().file_response(*args, **kwargs)
        response.headers.update(PAGE_HEADERS)
        return response


def add_page(app: FastAPI) -> None:
    """Add `GET /` and the files below `/page`."""
    files = PageFiles(directory=PAGE_FOLDER)

    async def index(request: Request) -> Response:
        return await files.get_response("index.html", request.scope)

    app.add_api_route("/", index, include_in_schema=False)
    app.mount("/page", files, name="page")


def add_document(app: FastAPI) -> None:
    """Add the route, and the same document as `app.openapi()`."""

    @cache
    def document() -> dict[str, Any]:
        # Not at start: nothing else needs the imports of its schemas and examples.
        from .openapi.document import document

        return document(app)

    bodies: list[bytes] = []
    building = asyncio.Lock()

    async def openapi(_: Request) -> Response:
        async with building:
            if not bodies:  # it takes 0.1 s or more, during which the event loop serves others
                bodies.append(await asyncio.to_thread(lambda: bytes(JSONResponse(document()).body)))
        return Response(bodies[0], media_type="application/json")

    app.openapi = document  # type: ignore[method-assign]  # FastAPI's documented way
    app.add_route("/openapi.json", openapi, include_in_schema=False)
