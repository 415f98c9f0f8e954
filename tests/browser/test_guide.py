"""The guide in a real browser: nothing is blocked by its own policy, nothing leaves the server, and axe is content."""

from __future__ import annotations

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Browser

from tests.browser.conftest import DESKTOP, Tab
from tests.process.conftest import Server

pytestmark = [pytest.mark.browser, pytest.mark.process, pytest.mark.xdist_group("browser")]


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
@pytest.mark.parametrize("page", ["", "/http", "/benchmarks", "/decisions/0004-h11"])
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
