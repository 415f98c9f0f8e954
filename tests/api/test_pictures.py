"""Pictures and HTML reports over HTTP: by `Accept` or `?format=`, drawn in a worker, never in the web process."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from tests.api.conftest import error_of

ROOT = Path(__file__).resolve().parents[2]
BODY = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
SVG = "{http://www.w3.org/2000/svg}svg"


@pytest.mark.parametrize("ask", [{"path": "?format=svg"}, {"headers": {"accept": "image/svg+xml"}}])
def test_a_picture_is_an_svg(service: Any, ask: dict[str, Any]) -> None:
    response = service.post("/v1/tests/scores" + ask.pop("path", ""), BODY, **ask)
    assert response.headers["content-type"] == "image/svg+xml"
    assert ET.fromstring(response.text).tag == SVG
    assert "0.0625" in response.text


def test_a_picture_has_what_it_needs_even_without_the_numbers(service: Any) -> None:
    without = service.post("/v1/tests/scores?format=svg", {**BODY, "pmf": "none"})
    assert without.text == service.post("/v1/tests/scores?format=svg", BODY).text


@pytest.mark.parametrize("form", ["svg", "html"])
def test_a_picture_of_every_value_is_that_of_the_summary(service: Any, form: str) -> None:
    rows = [[7**k % 9973, 5**k % 4999] for k in range(1, 17)]
    body = {
        "stay": rows,
        "swap": [[b, a + b] for a, b in rows],
        "statistic": {"expression": "x1 / (x1 + x2)"},
    }
    full = service.post(f"/v1/tests/effects?format={form}", {**body, "pmf": "full"})
    assert full.status_code == 200, full.text
    assert full.text == service.post(f"/v1/tests/effects?format={form}", body).text
    assert len(full.content) < 100_000


def test_a_theme_is_for_pictures(service: Any) -> None:
    light = service.post("/v1/tests/scores?format=png", BODY)
    dark = service.post("/v1/tests/scores?format=png&theme=dark", BODY)
    assert light.content != dark.content
    for query in ("?theme=dark", "?format=svg&theme=blue", "?format=svg&theme=dark&theme=dark"):
        assert error_of(service.post(f"/v1/tests/scores{query}", BODY))[0] == "/?theme"


def test_tables_and_files_can_be_drawn_too(service: Any) -> None:
    drawn = service.body(
        "/v1/tests/scores?format=svg&theme=dark&statistic=sign", b"1,0\n1,1\n1,0\n", "text/csv"
    )
    assert drawn.headers["content-type"] == "image/svg+xml", drawn.text
    files = {"file": ("scores.csv", b"id,u,v\na,1,0\nb,1,0\n")}
    drawn = service.request("POST", "/v1/tests/files?format=html", files=files)
    assert drawn.headers["content-type"] == "text/html; charset=utf-8", drawn.text


class Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))


def test_a_report_is_one_file_that_fetches_and_runs_nothing(service: Any) -> None:
    body = {**BODY, "confidence_level": 0.9, "names": {"u": "<script>alert(1)</script>", "v": "&lt;b&gt;"}}
    response = service.post("/v1/tests/scores?format=html", body)
    found = Tags()
    found.feed(response.text)
    names = [tag for tag, _ in found.tags]
    assert names[0] == "html"
    assert "svg" in names
    assert "script" not in names
    for tag, attributes in found.tags:
        assert not any(name.startswith("on") for name in attributes), tag
        for name in ("src", "href", "xlink:href", "data", "action"):
            assert (attributes.get(name) or "#").startswith(("#", "data:")), (tag, attributes)
    assert "&lt;script&gt;" in response.text
    assert "script" not in response.headers["content-security-policy"]


@pytest.mark.slow
def test_the_web_process_does_not_import_what_draws() -> None:
    code = (
        "import sys; from exactperm.main import create_app; from exactperm.settings import Settings; import exactperm.service.pipeline\n"
        "create_app(Settings(workers=1))\n"
        "print(sorted({'resvg_py', 'jinja2'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
