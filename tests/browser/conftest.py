import os
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, expect, sync_playwright

from tests.process.conftest import PATIENCE_S, ROOT, Server, start, until

__all__ = ["start"]  # a fixture of servers of one's own

CHROMIUM = Path("/usr/bin/chromium")
ARGUMENTS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
DATA = ROOT / "tests" / "data"
PATIENCE_MS = 1_000.0 * PATIENCE_S
DESKTOP = (1280, 900)
NETWORK = "Failed to load resource"  # Chromium's own remark on an answer that says no


class Tab:
    """The page in a browser tab, and everything it did that a page of ours must not do."""

    def __init__(self, page: Page, url: str) -> None:
        self.page = page
        self.url = url
        self.requests: list[Request] = []
        self.faults: list[str] = []
        self.refused = 0  # answers that said no, as the test expects
        page.on("request", lambda request: self.requests.append(request))  # noqa: PLW0108  # Playwright marks its handlers
        page.on("console", self._console)
        page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        page.on("dialog", lambda dialog: self.faults.append(f"dialog: {dialog.message}"))

    def _console(self, message: ConsoleMessage) -> None:
        if message.type in {"error", "warning"} and not (self.refused and message.text.startswith(NETWORK)):
            self.faults.append(f"{message.type}: {message.text}")

    def open(self) -> "Tab":
        self.page.goto(self.url)
        self.page.wait_for_selector("html[data-ready]")
        return self

    def example(self, title: str = "Right or wrong") -> str:
        """Press an example's button; the verdict."""
        self.page.get_by_role("button", name=title, exact=True).click()
        return self.verdict()

    def pick(self, name: str) -> None:
        """Choose one of several, by the beginning of its label."""
        self.page.get_by_role("radio", name=name).check()

    def submit(self, name: str = "Compare") -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def verdict(self) -> str:
        """The heading of the answer that is on its way."""
        self.page.wait_for_selector("#progress", state="hidden")
        assert self.page.locator("#problem").is_hidden(), self.page.locator("#problem").inner_text()
        return self.page.locator("#verdict").inner_text().replace("\N{NO-BREAK SPACE}", " ")

    def problem(self) -> str:
        """The text of the error summary."""
        summary = self.page.locator("#problem")
        summary.wait_for(state="visible")
        return summary.inner_text()

    def row(self, head: str) -> str:
        """A value in the table of numbers."""
        rows = self.page.locator(".numbers tr", has=self.page.get_by_role("rowheader", name=head, exact=True))
        return rows.first.locator("td").inner_text()

    def pictured(self, where: str = ".picture") -> None:
        """Wait for the picture, and see that the browser can draw it."""
        image = self.page.locator(f"{where} img")
        image.wait_for(state="visible")
        until(lambda: image.evaluate("image => image.complete && image.naturalWidth > 0"), "a picture")

    def foreign(self) -> list[str]:
        """Addresses of requests that left the server."""
        origin = urlsplit(self.url).netloc
        addresses = [request.url for request in self.requests]
        return [
            address for address in addresses if address[:5] != "blob:" and urlsplit(address).netloc != origin
        ]


@pytest.fixture(scope="session")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    running = Server(tmp_path_factory.mktemp("browser") / "server.log")
    until(running.ready, "the server is ready")
    yield running
    running.stop()


# Not for the session: while Playwright runs, its event loop is in the way of every asyncio.run() of other tests.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    if not CHROMIUM.exists():
        missing = f"{CHROMIUM} is not there; as root, .ci/chromium installs it"
        if os.environ.get("CI") == "true":
            pytest.fail(missing)
        pytest.skip(missing)
    with sync_playwright() as playwright:
        launched = playwright.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield launched
        launched.close()


@pytest.fixture
def visit(browser: Browser, server: Server) -> Iterator[Callable[..., Tab]]:
    """Open the page in a new tab; at the end check for errors, foreign requests and stored data."""
    tabs: list[Tab] = []

    def visited(*, size: tuple[int, int] = DESKTOP, dark: bool = False, url: str | None = None) -> "Tab":
        context = browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme="dark" if dark else "light",
            reduced_motion="reduce",
            permissions=["clipboard-read", "clipboard-write"],
        )
        context.set_default_timeout(PATIENCE_MS)
        expect.set_options(timeout=PATIENCE_MS)
        tabs.append(Tab(context.new_page(), url or f"{server.url}/"))
        return tabs[-1].open()

    yield visited
    for tab in tabs:
        stored = tab.page.evaluate("[localStorage.length, sessionStorage.length, document.cookie]")
        assert stored == [0, 0, ""]
        assert tab.page.context.cookies() == []
        tab.page.context.close()
        assert tab.faults == []
        assert tab.foreign() == []
