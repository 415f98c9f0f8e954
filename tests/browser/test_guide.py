"""The guide in a real browser: nothing is blocked by its own policy, nothing leaves the server, and axe is content."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser, ViewportSize

from tests.browser.conftest import DESKTOP, Tab
from tests.process.conftest import Server

# What Swagger UI's own elements are like; their colours are ours.
OF_SWAGGER_UI = {"nested-interactive", "select-name", "scrollable-region-focusable"}
PHONE: ViewportSize = {"width": 390, "height": 800}
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
    context = browser.new_context(viewport=PHONE, color_scheme="dark" if dark else "light")
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
