"""`/docs/guide`: the pages of docs/, rendered from their Markdown. No internet, no scripts, no HTML of the pages' own.

In a checkout docs/ is beside the package, in a wheel inside it. Pages are rendered on demand and kept.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Sequence
from functools import cache
from html import escape
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

from fastapi import APIRouter
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response

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
HEADERS = {
    "content-security-policy": (
        "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    ),
    "cache-control": "no-cache",
}
# The address in the pages' examples; readers see that of the server they read from.
EXAMPLE_HOST = "localhost:8000"
HOST = re.compile(r"(?:[A-Za-z0-9._-]{1,253}|\[[0-9A-Fa-f:.]{2,45}\])(?::[0-9]{1,5})?")
CURRENT = ' aria-current="page"'
COMMENT = re.compile(r"\s*<!--.*?-->\s*", re.DOTALL)

PAGE = """<!doctype html>
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
        return HTMLResponse(_at_host(rendered(INDEX), request), headers=HEADERS)

    def style() -> Response:
        return Response(STYLE.read_bytes(), media_type="text/css", headers=HEADERS)

    def page(page: str, request: Request) -> Response:
        if page in pictures():
            path = pictures()[page]
            return Response(path.read_bytes(), media_type=PICTURES[path.suffix], headers=HEADERS)
        if page not in pages() or page == INDEX:
            raise HTTPException(404)
        return HTMLResponse(_at_host(rendered(page), request), headers=HEADERS)

    # Plain functions: they run in threads, because rendering a page takes some milliseconds.
    router.add_api_route(ROOT, index)
    router.add_api_route(f"{ROOT}/style.css", style)
    router.add_api_route(f"{ROOT}/{{page:path}}", page)
    return router


def _at_host(html: str, request: Request) -> str:
    """The page with the host that its reader asked in place of the examples'."""
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
    """A page as HTML; HTTPException 404 where there are no pages."""
    if name not in pages():
        raise HTTPException(404)
    markdown = _markdown()
    tokens = markdown.parse(pages()[name].read_text(encoding="utf-8"))
    title = _prepare(tokens, name)
    content = markdown.renderer.render(tokens, markdown.options, {})
    # As tables do, code scrolls sideways. Only the renderer writes tags: those in a text are escaped.
    content = content.replace("<pre>", '<pre tabindex="0">')
    return PAGE.format(
        title=escape(title),
        icon=_relative(ICON, name),
        style=_relative("style.css", name),
        colours=_relative(COLOURS, name),
        home=_relative(HOME, name),
        navigation=_navigation(name),
        content=content,
    )


def target(link: str, page: str) -> str | None:
    """A link of a page's Markdown as one of its HTML; None where it leads out of the guide into the repository."""
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
    )  # never a folder's own name: no slash at its end


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
    """Comments mark tables that the code writes, and are left out; any other HTML is shown as text."""
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
    """Point a link to its page; what is only in the repository is named and no link."""
    link = str(token.attrGet("href"))
    address = target(link, page)
    if address is None:
        token.attrs = {"title": f"In the repository: {link}"}
    else:
        token.attrSet("href", address)


def slug(title: str) -> str:
    """The anchor of a heading, as sites that show repositories make it."""
    return re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-")
