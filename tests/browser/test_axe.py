"""Test accessibility by axe-core in all modes and in the guide, which loads without errors or foreign requests."""

from collections.abc import Callable

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, Page, ViewportSize

from tests.browser.conftest import DESKTOP, Tab
from tests.process.conftest import Server

PHONE = (390, 844)
AXE = Axe()
LONG = "id,system,acc,f1\n" + "".join(f"q{n},{s},{n % 2},{n % 3}\n" for n in range(8) for s in "AB")
NAMELESS = "id,gpt-4,llama\n" + "".join(f"q{n},{n % 10 > 0:d},{n % 2}\n" for n in range(40))
BOARD = "id,ada,bob,cyd\n" + "".join(f"q{n},{n % 2},{n % 3 > 0:d},1\n" for n in range(30))
FEW = "id,candidate,baseline\n" + "".join(f"q{n},1,{n % 4 > 0:d}\n" for n in range(12))


def findings(page: Page, state: str) -> list[str]:
    """All findings of axe-core, of any severity."""
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
    tab.pictured("#pair")
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


STEPS = {"test": steps_of_test, "gate": steps_of_gate, "compare": steps_of_compare, "plan": steps_of_plan}


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("mode", STEPS)
def test_axe_has_no_findings_at_any_step(visit: Callable[..., Tab], mode: str, dark: bool) -> None:
    assert STEPS[mode](visit(dark=dark, size=PHONE if dark else DESKTOP)) == []


def test_axe_finds_errors(visit: Callable[..., Tab]) -> None:
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


# What Swagger UI's own elements are like; their colours are ours.
OF_SWAGGER_UI = {"nested-interactive", "select-name", "scrollable-region-focusable"}
PHONE_OF_GUIDE: ViewportSize = {"width": 390, "height": 800}
COLOURS = "[getComputedStyle(document.body).backgroundColor, getComputedStyle(document.body).color]"


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", ["", "/http", "/benchmarks", "/decisions/0004-http-parser"])
def test_a_page_of_the_guide_has_no_fault(browser: Browser, server: Server, page: str, dark: bool) -> None:
    context = browser.new_context(
        viewport={"width": DESKTOP[0], "height": DESKTOP[1]}, color_scheme="dark" if dark else "light"
    )
    tab = Tab(context.new_page(), f"{server.url}/docs/guide{page}")
    tab.page.goto(tab.url, wait_until="networkidle")
    assert tab.page.locator("main h1").count() == 1
    violations = Axe().run(tab.page).response["violations"]
    assert [found["id"] for found in violations if found["impact"] in {"serious", "critical"}] == []
    for image in tab.page.locator("main img").all():
        assert image.evaluate("image => image.complete && image.naturalWidth > 0")
    assert tab.faults == []
    assert tab.foreign() == []
    context.close()


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", ["/docs/problems", "/docs", "/docs/guide"])
def test_the_documentation_has_the_colours_of_the_page(
    browser: Browser, server: Server, page: str, dark: bool
) -> None:
    context = browser.new_context(viewport=PHONE_OF_GUIDE, color_scheme="dark" if dark else "light")
    tab = Tab(context.new_page(), f"{server.url}{page}")
    tab.page.goto(f"{server.url}/", wait_until="networkidle")
    paper, ink = tab.page.evaluate(COLOURS)
    tab.page.goto(tab.url, wait_until="networkidle")
    assert tab.page.evaluate(COLOURS) == [paper, ink]
    if page == "/docs":
        tab.page.wait_for_selector(".opblock")
        own = tab.page.locator(".opblock").first.evaluate(
            "block => [getComputedStyle(block).backgroundColor, getComputedStyle(document.documentElement).backgroundColor]"
        )
        assert own[1] == paper
        assert (max(channels(own[0])) < 64) == dark
        tab.page.locator(".opblock-summary-control").nth(1).click()
        tab.page.wait_for_selector(".opblock-body")
    violations = Axe().run(tab.page).response["violations"]
    grave = {found["id"] for found in violations if found["impact"] in {"serious", "critical"}}
    assert grave - (OF_SWAGGER_UI if page == "/docs" else set()) == set()
    if page != "/docs":
        assert tab.page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0
    tab.page.locator("a.brand").click()
    tab.page.wait_for_selector("html[data-ready]")
    assert tab.faults == []
    assert tab.foreign() == []
    context.close()


def test_a_problem_leads_to_its_line(browser: Browser, server: Server) -> None:
    context = browser.new_context()
    tab = Tab(context.new_page(), f"{server.url}/docs/problems#invalid-test")
    tab.page.goto(tab.url)
    line = tab.page.locator(":target")
    assert line.locator(".status").inner_text() == "422"
    assert "Fix the fields listed in errors." in line.inner_text()
    washed = "getComputedStyle(line).backgroundColor"
    assert line.evaluate(f"line => {washed}") != tab.page.locator("#not-found").evaluate(f"line => {washed}")
    context.close()


def channels(colour: str) -> list[int]:
    """Red, green and blue of `rgb(…)`."""
    return [int(part) for part in colour[4:-1].split(",")]
