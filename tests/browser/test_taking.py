from __future__ import annotations

import csv
import json
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.browser.conftest import DATA, Tab
from tests.process.conftest import PATIENCE_S


class Tags(HTMLParser):
    """The elements and the text of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def copied(tab: Tab) -> str:
    tab.page.get_by_role("button", name="Copy as curl").click()
    tab.page.get_by_text("Copied.").wait_for()
    return str(tab.page.evaluate("navigator.clipboard.readText()"))


def run(command: str, folder: Path) -> tuple[int, str]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stdout


def saved(tab: Tab, name: str, tmp_path: Path) -> Path:
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name=name, exact=True).click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_the_copied_curl_line_gives_the_same_answer_for_files_with_awkward_names(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    names = {
        "gpt-4-0613.jsonl": """it's $(a) "b;c",d\\e=@.jsonl""",
        "gpt-3.5-turbo-0125.jsonl": "`two` files.jsonl",
    }
    paths = [tmp_path / name for name in names.values()]
    for name, path in zip(names, paths, strict=True):
        shutil.copy(DATA / "eus_trivia" / name, path)
    tab = visit()
    tab.page.set_input_files("#chooser", paths)
    tab.page.fill("#f-name_u", "@u;type='x'\"$HOME")
    tab.page.select_option("#f-alternative", "greater")
    tab.submit()
    tab.verdict()
    code, output = run(copied(tab), tmp_path)
    answer = json.loads(output)
    assert code == 0
    assert answer["alternative"] == "greater"
    assert answer["id"] in tab.row("Answer")


def test_the_copied_curl_line_carries_pasted_text(visit: Callable[..., Tab], tmp_path: Path) -> None:
    tab = visit()
    tab.example("F1 from counts")
    code, output = run(copied(tab), tmp_path)
    assert code == 0
    assert json.loads(output)["id"] in tab.row("Answer")


def test_the_copied_curl_line_of_a_gate_fails_when_the_gate_fails(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = visit()
    tab.pick("Decide (gate)")
    tab.pick("Improvement")
    tab.pick("Paste")
    tab.page.fill("#paste-file", "id,u,v\na,0.5,0.5\nb,0.25,0.5\nc,0.75,0.5\n")
    tab.submit("Decide")
    tab.verdict()
    assert tab.page.locator(".badge").inner_text() == "Fail"
    code, output = run(copied(tab), tmp_path)
    assert code == 22  # --fail-with-body: 409
    assert json.loads(output)["verdict"] == "fail"


def test_the_report_and_the_tables_are_downloaded_and_can_be_read(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = visit()
    tab.example()
    report = saved(tab, "Download Report", tmp_path)
    assert report.suffix == ".html"
    parsed = Tags()
    parsed.feed(report.read_text())
    assert {"html", "svg", "table"} <= set(parsed.tags)
    assert "script" not in parsed.tags
    assert "0.0212708" in parsed.text
    answer = json.loads(saved(tab, "Download JSON", tmp_path).read_text())
    assert answer["id"] in tab.row("Answer")
    with saved(tab, "Download CSV", tmp_path).open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 1
    assert "| `new model` |" in saved(tab, "Download Markdown", tmp_path).read_text()
    assert saved(tab, "Download Picture (SVG)", tmp_path).read_bytes().lstrip().startswith(b"<")
