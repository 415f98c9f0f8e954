"""Scores beside gold on the page: the fields of gold, groups and events, from dropped files to the service's numbers."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import httpx
import pytest

from tests.browser.boards import opened, ranked
from tests.browser.conftest import DATA, Tab
from tests.browser.test_handing_over import DROP
from tests.process.conftest import Server

SMALL = DATA / "mtme" / "small"


def scored() -> str:
    """Two labels and three systems' scores; A is the best and C the worst."""
    generator = random.Random(13)
    rows = []
    for item in range(60):
        label = generator.random() < 0.4
        scores = [round(generator.gauss(label * skill, 1.0), 2) for skill in (2.5, 1.0, 0.0)]
        rows.append(",".join(map(str, [int(label), *scores, f"day{item % 3}", item % 2])))
    return "truth,A,B,C,day,seen\n" + "\n".join(rows) + "\n"


def dropped(tab: Tab, files: dict[str, str]) -> None:
    carried = tab.page.evaluate_handle(DROP, [[name, text] for name, text in files.items()])
    tab.page.dispatch_event("body", "drop", {"dataTransfer": carried})


def asked(server: Server, path: str, files: dict[str, Any], **fields: str) -> Any:
    """The answer to the same files without a page."""
    return httpx.post(f"{server.url}{path}", files=files, data=fields).json()


def test_an_auc_of_a_dropped_table(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    dropped(tab, {"scored.csv": scored()})
    tab.page.select_option("#f-format", "ranking")
    tab.page.select_option("#f-statistic", "auc")
    had = tab.page.locator("optgroup", has=tab.page.locator("option[value=auc]")).get_attribute("label")
    assert had == "Scores, with human scores or gold labels"
    assert tab.page.locator("#h-statistic").inner_text().startswith("How far does the order of scores agree")
    tab.page.get_by_text("More options").click()
    chosen = {"gold_column": "truth", "system_u": "A", "system_v": "B", "groups": "day"}
    for name, value in chosen.items():
        tab.page.fill(f"#f-{name}", value)
    tab.submit()
    assert "AUC of A" in tab.verdict()
    fields = {"format": "ranking", "statistic": "auc", "confidence_level": "0.95", **chosen}
    answer = asked(server, "/v1/tests/files", {"file": ("scored.csv", scored())}, **fields)
    assert answer["method"]["exact"]
    assert answer["id"] in tab.row("Answer")


def test_a_concordance_with_events(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    dropped(tab, {"scored.csv": scored()})
    tab.page.select_option("#f-format", "ranking")
    tab.page.select_option("#f-statistic", "concordance")
    tab.page.get_by_text("More options").click()
    chosen = {"gold_column": "C", "event_column": "seen", "system_u": "A", "system_v": "B"}
    for name, value in chosen.items():
        tab.page.fill(f"#f-{name}", value)
    tab.submit()
    assert "concordance of A" in tab.verdict()
    fields = {"format": "ranking", "statistic": "concordance", "confidence_level": "0.95", **chosen}
    answer = asked(server, "/v1/tests/files", {"file": ("scored.csv", scored())}, **fields)
    assert answer["id"] in tab.row("Answer")


def test_a_kendall_within_groups_of_three_dropped_files(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    roles = {"u": "chrF-refA", "v": "BLEU-refA", "gold": "en-de.mqm"}
    texts = {f"{name}.seg.score": (SMALL / f"{name}.seg.score").read_text() for name in roles.values()}
    dropped(tab, texts)
    for row, name in enumerate(tab.page.locator("#rows .name").all_inner_texts()):
        role = next(role for role, own in roles.items() if name.startswith(own))
        tab.page.locator("#rows select").nth(row).select_option(role)
    tab.page.select_option("#f-format", "mt-metrics-eval")
    tab.page.select_option("#f-statistic", "kendall")
    tab.page.get_by_text("More options").click()
    tab.page.fill("#f-groups", "system")
    tab.submit()
    tab.verdict()
    files = {role: (f"{name}.seg.score", texts[f"{name}.seg.score"]) for role, name in roles.items()}
    fields = {"format": "mt-metrics-eval", "statistic": "kendall", "groups": "system"}
    answer = asked(server, "/v1/tests/files", files, **fields)
    assert tab.row("p-value").startswith(f"{answer['p_value']:.6g}")
    assert "within each system" in tab.page.locator(".notes", has_text="What was read").inner_text()


def test_a_board_of_systems_beside_gold(visit: Callable[..., Tab], server: Server) -> None:
    tab = opened(visit)
    text = "\n".join(",".join(line.split(",")[:4]) for line in scored().splitlines()) + "\n"
    dropped(tab, {"scored.csv": text})
    tab.page.select_option("#f-format", "ranking")
    tab.page.select_option("#f-statistic", "auc")
    tab.page.get_by_text("More options").click()
    tab.page.fill("#f-gold_column", "truth")
    tab.submit("Rank systems")
    tab.verdict()
    fields = {"format": "ranking", "statistic": "auc", "gold_column": "truth"}
    answer = asked(server, "/v1/compare", {"file": ("scored.csv", text)}, **fields)
    assert ranked(tab) == [one["name"] for one in answer["systems"]] == ["A", "B", "C"]
    scores = tab.page.locator(".standings tbody tr td:nth-of-type(2)").all_inner_texts()
    assert [float(score) for score in scores] == [
        pytest.approx(one["score"], abs=1e-3) for one in answer["systems"]
    ]
