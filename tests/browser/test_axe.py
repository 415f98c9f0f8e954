"""axe-core finds nothing in any mode: empty, with all options, with an error and its choices, and with a result."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page

from tests.browser.boards import pair_pictured
from tests.browser.conftest import DESKTOP, Tab

PHONE = (390, 844)
AXE = Axe()
LONG = "id,system,acc,f1\n" + "".join(f"q{n},{s},{n % 2},{n % 3}\n" for n in range(8) for s in "AB")
NAMELESS = "id,gpt-4,llama\n" + "".join(f"q{n},{n % 10 > 0:d},{n % 2}\n" for n in range(40))
BOARD = "id,ada,bob,cyd\n" + "".join(f"q{n},{n % 2},{n % 3 > 0:d},1\n" for n in range(30))
FEW = "id,candidate,baseline\n" + "".join(f"q{n},1,{n % 4 > 0:d}\n" for n in range(12))


def findings(page: Page, state: str) -> list[str]:
    """What axe-core finds, of whatever weight."""
    return [
        f"{state}: {found['id']}: {node['html'][:200]}"
        for found in AXE.run(page).response["violations"]
        for node in found["nodes"]
    ]


def refused(tab: Tab, text: str, submit: str) -> None:
    tab.pick("Paste")
    tab.page.fill("#paste-file", text)
    tab.refused += 1
    tab.submit(submit)
    tab.problem()


def steps_of_test(tab: Tab) -> list[str]:
    found = findings(tab.page, "empty")
    tab.page.get_by_text("More options").click()
    found += findings(tab.page, "options")
    tab.page.get_by_text("More options").click()
    tab.example("Grouped items")
    tab.pictured()
    tab.page.get_by_text("The same with curl").click()
    found += findings(tab.page, "result")
    refused(tab, LONG, "Compare")
    return found + findings(tab.page, "error")


def steps_of_gate(tab: Tab) -> list[str]:
    tab.pick("Decide (gate)")
    found = findings(tab.page, "empty")
    tab.example("Scores")
    tab.pictured()
    found += findings(tab.page, "result")
    tab.page.fill("#f-name_u", "")
    tab.page.fill("#f-name_v", "")
    refused(tab, NAMELESS, "Decide")
    found += findings(tab.page, "error")
    tab.page.select_option("#f-looks", "anytime")
    tab.page.fill("#paste-file", FEW)
    tab.submit("Decide")
    tab.verdict()
    tab.pictured()
    return found + findings(tab.page, "continue")


def steps_of_compare(tab: Tab) -> list[str]:
    tab.pick("Leaderboard")
    found = findings(tab.page, "empty")
    tab.page.get_by_text("More options").click()
    found += findings(tab.page, "options")
    tab.page.get_by_text("More options").click()
    tab.example("Seven models")
    tab.pictured()
    tab.page.get_by_text("All pairs (").click()
    tab.page.locator(".standings").get_by_role("button", name="cedar-8b", exact=True).click()
    tab.page.locator(".standings").get_by_role("button", name="delta-8b", exact=True).click()
    pair_pictured(tab)
    found += findings(tab.page, "result")
    tab.page.select_option("#f-compare", "baseline")
    refused(tab, BOARD, "Rank systems")
    return found + findings(tab.page, "error")


def steps_of_plan(tab: Tab) -> list[str]:
    tab.pick("Plan")
    found = findings(tab.page, "empty")
    tab.submit("Plan")
    tab.verdict()
    tab.pictured()
    found += findings(tab.page, "result")
    tab.page.fill("#f-discordance", "0.01")
    tab.refused += 1
    tab.submit("Plan")
    tab.problem()
    found += findings(tab.page, "error")
    tab.pick("A pilot")
    return found + findings(tab.page, "pilot")


STEPS = {
    "test": steps_of_test,
    "gate": steps_of_gate,
    "compare": steps_of_compare,
    "plan": steps_of_plan,
}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("mode", STEPS)
def test_axe_finds_nothing_at_any_step(visit: Callable[..., Tab], mode: str, dark: bool) -> None:
    assert STEPS[mode](visit(dark=dark, size=PHONE if dark else DESKTOP)) == []


def test_axe_finds_what_is_wrong(visit: Callable[..., Tab]) -> None:
    """The check itself can fail: a button without a name, and grey on grey."""
    tab = visit()
    tab.page.evaluate("""() => {
      const button = document.createElement("button");
      document.querySelector("#form").append(button);
      document.querySelector("#promise").classList.add("pale");
      document.adoptedStyleSheets = [new CSSStyleSheet()];
      document.adoptedStyleSheets[0].insertRule(".pale { color: #ddd !important; }");
    }""")
    found = {line.split(": ")[1] for line in findings(tab.page, "spoilt")}
    assert {"button-name", "color-contrast"} <= found
