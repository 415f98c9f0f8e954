"""The mode Leaderboard with wrong data, hostile names, many systems, small screens and for everybody."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import expect

from tests.browser.boards import NAMES, choose, opened, ranked, sent, wide
from tests.browser.conftest import Tab
from tests.browser.test_axe import findings
from tests.browser.test_comfort import EXCESS, PHONE, SMALL, SMALLEST_TARGET
from tests.browser.test_refusing import HOSTILE
from tests.browser.test_taking import copied, run, saved
from tests.process.conftest import Server


def test_what_is_wrong_is_said_at_its_place(visit: Callable[..., Tab], tmp_path: Path) -> None:
    tab = opened(visit)
    tab.refused = 1
    before = len(tab.requests)
    tab.submit("Rank systems")
    assert "no data yet" in tab.problem()
    assert len(tab.requests) == before
    tab.example("Seven models")
    tab.page.fill("#paste-file", "id,a,b\nq1,1,0\nq2,1,zero\n")
    tab.submit("Rank systems")
    assert "All systems in one file, line 3, field 3" in tab.problem()
    assert tab.page.get_attribute("#paste-file", "aria-invalid") == "true"
    assert tab.page.locator("#result").is_hidden()
    tab.page.fill("#paste-file", "id,a,b\nq1,1,0\nq2,1,0\n")
    tab.page.select_option("#f-compare", "baseline")
    tab.page.fill("#f-baseline", "c")
    tab.submit("Rank systems")
    tab.page.locator("#f-baseline[aria-invalid=true]").wait_for()
    assert "There is no system" in tab.problem()
    tab.page.select_option("#f-compare", "all_pairs")
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path, value in zip(paths, ("1", "none at all"), strict=True):
        path.write_text(f"id,score\nq1,0\nq2,{value}\n")
    tab.page.set_input_files("#chooser", paths)
    tab.submit("Rank systems")
    wrong = tab.page.locator("#rows [aria-invalid=true]")
    wrong.wait_for()
    assert wrong.get_attribute("aria-label") == "Role of two.csv"
    assert "two, line 3" in tab.problem()


def test_hostile_names_stay_text(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    name = HOSTILE.replace('"', '""')
    rows = "".join(f"q{row},1,0\n" for row in range(12))
    tab.pick("Paste")
    tab.page.fill("#paste-file", f'id,"{name}",plain\n{rows}')
    tab.submit("Rank systems")
    assert HOSTILE in tab.verdict()
    assert HOSTILE in ranked(tab)
    choose(tab, HOSTILE, "plain")
    assert HOSTILE in tab.page.locator("#pair h3").inner_text()
    assert tab.page.locator("#result script, #result img[src=x]").count() == 0


def test_134_systems_stay_usable(visit: Callable[..., Tab], tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text(wide(200, [f"system-{place:03}" for place in range(134)]))
    tab = opened(visit)
    tab.page.set_input_files("#chooser", path)
    tab.submit("Rank systems")
    tab.verdict()
    assert len(ranked(tab)) == 134
    assert tab.page.locator("#result tr").count() < 200  # the pairs are not drawn before they are looked at
    tab.page.get_by_text("All pairs (8,911;").click()
    pairs = tab.page.get_by_role("region", name="Pairs")
    expect(pairs.locator("tbody tr")).to_have_count(
        200
    )  # drawn after the page has heard that they were opened
    tab.page.get_by_role("button", name="Show 200 more of 8,911").click()
    expect(pairs.locator("tbody tr")).to_have_count(400)
    pairs.get_by_role("button", name="Difference").click()
    choose(tab, "system-000", "system-133")
    assert tab.page.locator("#pair h3").inner_text() == "system-000 and system-133"
    assert tab.page.evaluate(EXCESS) == 0
    tab.page.get_by_text("More options").click()
    tab.page.select_option("#f-pairs", "significant")
    tab.submit("Rank systems")
    tab.verdict()
    shown = tab.page.locator("details.card > summary").inner_text()
    listed, significant = re.findall(r"[\d,]+", shown)
    assert listed == significant
    assert f"{listed} of 8,911 pairs differ significantly" in tab.page.locator(".verdict").inner_text()


def test_the_answer_can_be_taken_away(visit: Callable[..., Tab], tmp_path: Path, server: Server) -> None:
    tab = opened(visit)
    tab.example("Seven models")
    with saved(tab, "Download CSV of systems", tmp_path).open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == NAMES
    with saved(tab, "Download CSV of pairs", tmp_path).open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 21
    own = sent(tab, server)["id"]
    assert json.loads(saved(tab, "Download JSON", tmp_path).read_text())["id"] == own
    assert "atlas-70b" in saved(tab, "Download Markdown", tmp_path).read_text()
    assert "<svg" in saved(tab, "Download Report", tmp_path).read_text()
    code, output = run(copied(tab), tmp_path)
    assert code == 0
    assert json.loads(output)["id"] == own


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_has_no_serious_finding(visit: Callable[..., Tab], dark: bool) -> None:
    tab = opened(visit, dark=dark)
    tab.refused = 1
    tab.page.get_by_text("More options").click()
    assert findings(tab.page, "options") == []
    tab.page.get_by_text("More options").click()
    tab.example("Two data sets")
    tab.page.get_by_text("All pairs (").click()
    tab.page.locator("#picture-panel img").wait_for(state="visible")
    tab.page.select_option("#board", label="law")
    choose(tab, "atlas-70b", "random")
    tab.page.locator("#pair img").wait_for(state="visible")
    assert findings(tab.page, "result") == []
    tab.page.fill("#paste-file", "id,a,b\nq1,1\n")
    tab.submit("Rank systems")
    tab.problem()
    assert findings(tab.page, "error") == []


def test_a_narrow_screen_has_no_sideways_scrolling(visit: Callable[..., Tab]) -> None:
    tab = opened(visit, size=PHONE)
    tab.page.get_by_text("More options").click()
    assert tab.page.evaluate(EXCESS) == 0
    small = [one for one in tab.page.evaluate(SMALL) if one[1] < SMALLEST_TARGET]
    assert small == []
    tab.page.get_by_text("More options").click()
    tab.example("Seven models")
    choose(tab, "atlas-70b", "cedar-8b")
    tab.page.locator("#pair img").wait_for(state="visible")
    tab.page.get_by_text("All pairs (").click()
    tab.page.locator("#picture-panel img").wait_for(state="visible")
    assert tab.page.evaluate(EXCESS) == 0
    tab.page.locator("#picture-panel").get_by_role("button", name="Enlarge").click()
    assert tab.page.evaluate(EXCESS) == 0
    assert [one for one in tab.page.evaluate(SMALL) if one[1] < SMALLEST_TARGET] == []
