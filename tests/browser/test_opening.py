"""Where a key is needed, the link to a kept report leads to the page, which asks for the key and saves the report."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest

from exactperm.ops.keys import new_key
from tests.browser.conftest import Tab
from tests.browser.test_axe import PHONE, findings
from tests.browser.test_comfort import EXCESS
from tests.browser.test_keeping import HOSTILE, card, keep
from tests.process.conftest import Server


def test_with_keys_the_link_asks_for_the_key_and_saves_the_report(
    visit: Callable[..., Tab], start: Callable[..., Server], tmp_path: Path
) -> None:
    (mine, digest), (other, another) = new_key(), new_key()
    url = f"sqlite:///{tmp_path}/jobs.sqlite"
    server = start(workers=1, api_key_digests=f"{digest},{another}", jobs_url=url)
    tab = visit(url=f"{server.url}/")
    tab.refused = 1
    tab.page.get_by_role("button", name="Right or wrong", exact=True).click()
    tab.problem()
    tab.page.fill("#f-key", mine)
    tab.submit()
    tab.verdict()
    assert "for 7 days. Only those who have the same API key can open it." in card(tab)
    link = keep(tab, "Kept for 7 days.")
    assert re.fullmatch(re.escape(server.url) + r"/\?result=r_[0-9a-f]{32}", link)
    own = tab.page.locator(".kept code").inner_text()
    assert httpx.get(own).status_code == 401  # as the page says: a browser sends no key
    report = httpx.get(own, headers={"authorization": f"Bearer {mine}"})
    assert report.headers["content-type"].startswith("text/html")
    assert mine not in link + own + tab.page.content()
    assert findings(tab.page, "kept with a key") == []

    friend = visit(url=link, size=PHONE)
    friend.refused = 1
    assert friend.page.evaluate("document.activeElement.id") == "kept-title"
    assert findings(friend.page, "asked for the key") == []
    button = friend.page.get_by_role("button", name="Save the report")
    status = friend.page.locator(".opening [role=status]")
    for key, said in (("", "API key"), ("ep_wrong", "API key"), (other, "belongs to another API key")):
        friend.page.fill("#kept-key", key)
        button.click()
        status.filter(has_text=said).wait_for()
    friend.page.fill("#kept-key", mine)
    with friend.page.expect_download() as saving:
        friend.page.keyboard.press("Enter")
    assert Path(saving.value.path()).read_bytes() == report.content
    assert saving.value.suggested_filename == f"exactperm-{own.rpartition('/')[2]}.html"
    assert "Saved as exactperm-r_" in status.inner_text()
    assert friend.page.evaluate(EXCESS) == 0
    friend.example()  # the key is there for what comes next
    assert mine not in server.log.read_text()


@pytest.mark.parametrize("name", ["", "r_", "j_" + "0" * 32, "../meta", f"r_{'0' * 32}/../x", HOSTILE])
def test_an_address_that_names_no_kept_answer_is_the_page_as_ever(
    visit: Callable[..., Tab], server: Server, name: str
) -> None:
    tab = visit(url=str(httpx.URL(f"{server.url}/", params={"result": name})))
    assert tab.page.locator("#empty").is_visible()
    assert tab.page.locator("#result").is_hidden()
