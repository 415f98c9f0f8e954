"""`/docs/guide` serves docs/ as pages whose links work, without scripts, inline styles or the internet."""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin

import pytest

from exactperm.api import pages
from tests.api.conftest import problem
from tests.docs_pages import GUIDE

ROOT = "/docs/guide"
ADDRESSES = [
    ROOT if name == "docs/README.md" else f"{ROOT}/{name.removeprefix('docs/').removesuffix('.md')}"
    for name in GUIDE
    if name.startswith("docs/")
]


class Links(HTMLParser):
    """What a page links, shows and calls: (tag, attributes)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def addresses(self) -> list[str]:
        return [str(attrs[name]) for _, attrs in self.tags for name in ("href", "src") if name in attrs]

    def anchors(self) -> set[str]:
        return {str(attrs["id"]) for _, attrs in self.tags if "id" in attrs}


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_of_docs_is_served_and_all_its_links_work(service: Any, address: str) -> None:
    response = service.get(address)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    links = Links(response.text)
    assert "h1" in {tag for tag, _ in links.tags}
    for link in links.addresses():
        assert not link.startswith("/"), "a prefix of a proxy would be lost"
        if link.startswith("http"):
            continue
        target, anchor = urldefrag(urljoin(f"http://test{address}", link))
        found = service.get(target.removeprefix("http://test"))
        assert found.status_code == 200, link
        if anchor:
            assert anchor in Links(found.text).anchors(), link


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_runs_and_loads_nothing_but_our_style_and_pictures(service: Any, address: str) -> None:
    response = service.get(address)
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'; ")
    for tag, attrs in Links(response.text).tags:
        assert tag not in {"script", "iframe", "style", "form"}
        assert "style" not in attrs
        assert not any(name.startswith("on") for name in attrs)
    assert "&lt;!--" not in response.text


def test_pictures_and_style_have_their_types(service: Any) -> None:
    style, picture = service.get(f"{ROOT}/style.css"), service.get(f"{ROOT}/figure1.svg")
    assert style.headers["content-type"].startswith("text/css")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in picture.headers["content-security-policy"]


@pytest.mark.parametrize(
    "name", ["nothing", "README", "../pyproject.toml", "%2e%2e/%2e%2e/pyproject.toml", "comparing.md", ""]
)
def test_other_names_are_not_found(service: Any, name: str) -> None:
    problem(service.get(f"{ROOT}/{name}"), 404)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A docs/ of the test's own."""
    caches = (pages.pages, pages.pictures, pages.rendered, pages._contents)
    monkeypatch.setattr(pages, "FOLDERS", (tmp_path,))
    for cached in caches:
        cached.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


def test_html_in_a_page_is_text_and_a_comment_is_nothing(folder: Path) -> None:
    page = (
        "# Title\n\n<script>alert(1)</script>\n\ntext <b onclick='x()'>bold</b> <!-- mark --> "
        "[link](javascript:alert(1))\n\n<!-- table: x -->\n\n![picture](http://elsewhere/x.png)\n"
    )
    (folder / "README.md").write_text(page, encoding="utf-8")
    tags = Links(pages.rendered("README").partition("<main>")[2]).tags
    assert {tag for tag, _ in tags} <= {"h1", "p", "img"}
    assert "mark" not in pages.rendered("README")
    assert "table: x" not in pages.rendered("README")


def test_a_link_out_of_the_guide_names_the_file_and_is_no_link(folder: Path) -> None:
    (folder / "README.md").write_text("# A\n\n* [B](b.md)\n* [C](../c/README.md#d)\n", encoding="utf-8")
    (folder / "b.md").write_text("# B\n\n[up](README.md#a) [here](#b)\n", encoding="utf-8")
    assert re.findall(r'href="([^"]+)"', pages.rendered("b").partition("<main>")[2]) == ["../guide#a", "#b"]
    index = pages.rendered("README").partition("<main>")[2]
    assert re.findall(r'href="([^"]+)"', index) == ["guide/b"]
    assert "../c/README.md#d" in index


def test_examples_and_links_are_for_the_server_that_is_read(service: Any) -> None:
    at = {"host": "127.0.0.1:8431"}
    page = service.get(f"{ROOT}/comparing", headers=at).text
    assert "localhost:8000" not in page
    assert "curl &#x27;127.0.0.1:8431/v1/tests/" in page or "curl '127.0.0.1:8431/v1/tests/" in page
    assert '<a href="../../">http://127.0.0.1:8431/</a>' in page
    assert (
        urljoin("http://127.0.0.1:8431/below/docs/guide/comparing", "../../")
        == "http://127.0.0.1:8431/below/"
    )
    assert "localhost:8000" in service.get(f"{ROOT}/comparing", headers={"host": "localhost:8000"}).text


def test_a_host_that_is_none_is_not_written_into_a_page(service: Any) -> None:
    for host in ('x"><script>alert(1)</script>', "a b", "a/b", "x" * 300):
        page = service.get(f"{ROOT}/comparing", headers={"host": host})
        assert page.status_code != 200 or "localhost:8000" in page.text
        assert "<script" not in page.text
