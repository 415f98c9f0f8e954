"""A server with API keys: the page asks for one, keeps it in the form only, and never writes it anywhere."""

from __future__ import annotations

from collections.abc import Callable

from exactperm.ops.keys import new_key
from tests.browser.conftest import Tab
from tests.process.conftest import Server


def test_the_page_asks_for_the_key_once_and_goes_on_with_it(
    visit: Callable[..., Tab], start: Callable[..., Server]
) -> None:
    key, digest = new_key()
    server = start(workers=1, api_key_digests=digest)
    tab = visit(url=f"{server.url}/")
    tab.refused = 1
    assert tab.page.locator("#f-key").is_hidden()
    tab.page.get_by_role("button", name="Right or wrong", exact=True).click()
    assert "An API key is needed" in tab.problem()
    tab.page.locator("#problem a").click()
    assert tab.page.evaluate("document.activeElement.id") == "f-key"
    tab.page.fill("#f-key", "ep_wrong")
    tab.submit()
    assert "An API key is needed" in tab.problem()
    tab.page.fill("#f-key", key)
    tab.submit()
    assert tab.verdict()
    tab.pictured()
    command = tab.page.locator("#curl").text_content() or ""
    assert '-H "authorization: Bearer $EXACTPERM_API_KEY"' in command
    assert key not in tab.page.content()
    assert key not in server.log.read_text()
    assert not [request for request in tab.requests if key in request.url]
