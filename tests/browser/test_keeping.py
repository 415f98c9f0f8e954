"""Test stored reports on the page: links, who can open them and for how long, and API keys."""

import json
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import Route

from exactperm.ops.keys import new_key
from tests.browser.conftest import Tab
from tests.browser.proxy import proxied
from tests.browser.test_axe import PHONE, findings
from tests.browser.test_comfort import EXCESS
from tests.browser.test_leaderboard import wide
from tests.process.conftest import Server, until

KEEP, COPY = "Keep and copy link", "Copy the link"
LINK = r"v1/results/r_[0-9a-f]{32}"
HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;"""
ROWS = "".join(f"q{place},1,{place % 3 > 0:d}\n" for place in range(30))


@pytest.fixture(scope="module")
def keeper(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that stores answers, not for a whole number of days."""
    folder = tmp_path_factory.mktemp("keeper")
    url = f"sqlite:///{folder}/jobs.sqlite"
    running = Server(folder / "server.log", workers=1, jobs_url=url, retention_s=129_600)
    until(running.ready, "the server is ready")
    yield running
    running.stop()


@pytest.fixture
def opened(visit: Callable[..., Tab], keeper: Server) -> Callable[..., Tab]:
    """The page of the server that keeps answers."""

    def opening(**options: object) -> Tab:
        return visit(url=f"{keeper.url}/", **options)

    return opening


def card(tab: Tab) -> str:
    return tab.page.locator(".card.curl").inner_text()


def keep(tab: Tab, says: str = "The link is copied.") -> str:
    """Press the button, and return its message and the link."""
    tab.page.get_by_role("button", name=KEEP, exact=True).click()
    tab.page.get_by_role("status").filter(has_text=says).wait_for()
    return str(tab.page.locator(".kept a").get_attribute("href"))


def clipboard(tab: Tab) -> str:
    return str(tab.page.evaluate("navigator.clipboard.readText()"))


def a_test(tab: Tab) -> None:
    tab.example()


def a_gate(tab: Tab) -> None:
    tab.pick("Decide (gate)")
    tab.page.fill("#f-margin", "0.5")
    tab.pick("Improvement")
    tab.pick("Paste")
    tab.page.fill("#paste-file", "id,u,v\n" + ROWS)
    tab.submit("Decide")
    tab.verdict()
    assert tab.page.locator(".badge").inner_text() == "Fail"  # a report of it is an answer like any other


def a_board(tab: Tab) -> None:
    tab.pick("Leaderboard")
    tab.pick("Paste")
    tab.page.fill("#paste-file", wide(40, ["ada", "bob", "cyd"]))
    tab.submit("Rank systems")
    tab.verdict()


def a_plan(tab: Tab) -> None:
    tab.pick("Plan")
    tab.submit("Plan")
    tab.verdict()


@pytest.mark.parametrize("ask", [a_test, a_gate, a_board, a_plan])
def test_a_report_of_every_mode_is_kept_and_its_link_opens_it(
    opened: Callable[..., Tab], keeper: Server, ask: Callable[[Tab], None]
) -> None:
    tab = opened()
    ask(tab)
    assert "stays on this server for 36 hours. Everybody who has its link" in card(tab)
    link = keep(tab, "Kept for 36 hours. The link is copied.")
    assert re.fullmatch(re.escape(f"{keeper.url}/") + LINK, link)
    assert clipboard(tab) == link == tab.page.locator(".kept a").inner_text()
    kept = httpx.get(link)
    assert (kept.status_code, kept.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "default-src 'none'" in kept.headers["content-security-policy"]
    with tab.page.expect_popup() as popup:
        tab.page.locator(".kept a").click()
    report = popup.value
    report.wait_for_load_state()
    assert "exactperm" in report.content()
    assert report.locator("figure svg").count() > 0


def test_it_is_kept_once_and_copied_at_every_press_from_the_keyboard(opened: Callable[..., Tab]) -> None:
    tab = opened()
    tab.example()
    press = tab.page.get_by_role("button", name=KEEP, exact=True)
    described = tab.page.locator(f"#{press.get_attribute('aria-describedby')}")
    assert "36 hours" in described.inner_text()
    press.focus()
    tab.page.keyboard.press("Enter")
    again = tab.page.get_by_role("button", name=COPY, exact=True)
    again.wait_for()
    assert tab.page.evaluate("document.activeElement.textContent") == COPY  # the focus stays where it was
    link = clipboard(tab)
    tab.page.evaluate("navigator.clipboard.writeText('')")
    tab.page.keyboard.press("Enter")
    until(lambda: clipboard(tab) == link, "it is copied again")
    assert sum("store=1" in request.url for request in tab.requests) == 1
    tab.example("Scores")  # another answer has a link of its own
    assert tab.page.locator(".kept a").count() == 0
    assert keep(tab) != link


def test_without_the_clipboard_the_link_is_there_to_select(opened: Callable[..., Tab]) -> None:
    tab = opened()
    tab.page.evaluate("() => { navigator.clipboard.writeText = () => Promise.reject(new Error('no')); }")
    tab.example()
    assert re.search(LINK, keep(tab, "The browser does not allow copying; select the link below instead."))


def test_the_page_offers_no_link_if_the_server_stores_no_answers(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.example()
    assert tab.page.locator("#promise").inner_text() == "Computed on this server; nothing is stored."
    assert tab.page.get_by_role("button", name=KEEP).count() == 0
    assert "Download or repeat" in card(tab)


def test_where_answers_can_be_kept_the_promise_says_so(opened: Callable[..., Tab]) -> None:
    promise = opened().page.locator("#promise").inner_text()
    assert promise == "Computed on this server; nothing is stored, unless you keep a report."


def test_hostile_names_stay_text_in_stored_reports(opened: Callable[..., Tab]) -> None:
    tab = opened()
    tab.pick("Paste")
    tab.page.fill("#paste-file", "id,u,v\n" + ROWS)
    tab.page.fill("#f-name_u", HOSTILE)
    tab.submit()
    tab.verdict()
    keep(tab)
    assert tab.page.locator("#result script, #result img[src=x]").count() == 0
    with tab.page.expect_popup() as popup:
        tab.page.locator(".kept a").click()
    popup.value.wait_for_load_state()
    assert HOSTILE in popup.value.locator("body").inner_text()
    assert popup.value.locator("script, img[src=x]").count() == 0


STORE_AWAY = {
    "type": "/docs/problems#store-away",
    "title": "The database of jobs is away",
    "status": 503,
    "detail": "The database cannot be reached <img src=x onerror=alert(1)>.",
}
REFUSALS = {
    "away": (503, {"retry-after": "5"}, json.dumps(STORE_AWAY), "onerror=alert(1)>. Try again in 5 s."),
    "large": (413, {}, json.dumps({"title": "Too large", "detail": "The body is too large."}), "too large."),
    "a proxy": (502, {}, "<html>Bad gateway</html>", "The server answered with status 502."),
    "no place": (200, {}, "<!doctype html>", "The server did not say where it is."),
    "an odd place": (200, {"content-location": "javascript:alert(1)"}, "", "did not say where it is."),
}


@pytest.mark.parametrize("refusal", REFUSALS)
def test_a_refusal_says_why_and_the_answer_stays(opened: Callable[..., Tab], refusal: str) -> None:
    status, headers, body, said = REFUSALS[refusal]
    tab = opened()
    tab.refused = 1
    tab.example()

    def refuse(route: Route) -> None:
        route.fulfill(status=status, headers=headers, body=body)

    tab.page.route("**/*store=1*", refuse)
    tab.page.get_by_role("button", name=KEEP, exact=True).click()
    message = tab.page.get_by_role("status").filter(has_text="The report was not kept.")
    message.wait_for()
    assert message.inner_text().endswith(said)
    assert tab.page.locator(".kept a, .curl img").count() == 0
    assert tab.page.locator("#verdict").is_visible()
    tab.page.unroute("**/*store=1*")
    assert keep(tab)  # the next press tries again


def test_a_read_only_database_is_reported(
    visit: Callable[..., Tab], start: Callable[..., Server], tmp_path: Path
) -> None:
    file = tmp_path / "jobs.sqlite"
    file.write_bytes(b"this is no database" * 100)
    server = start(workers=1, jobs_url=f"sqlite:///{file}", jobs_embedded_worker=False)
    tab = visit(url=f"{server.url}/")
    tab.refused = 1
    tab.example()
    tab.page.get_by_role("button", name=KEEP, exact=True).click()
    message = tab.page.get_by_role("status").filter(has_text="The report was not kept.")
    message.wait_for()
    assert "The database of jobs cannot be reached" in message.inner_text()
    assert re.search(r"Try again in \d+ s\.$", message.inner_text())


def test_the_link_is_right_behind_a_path_prefix(visit: Callable[..., Tab], keeper: Server) -> None:
    with proxied(keeper.url) as behind:
        tab = visit(url=behind)
        tab.example()
        link = keep(tab)
        assert link.startswith(f"{behind}v1/results/r_")
        assert httpx.get(link).status_code == 200


@pytest.mark.parametrize("phone", [False, True])
def test_axe_has_no_findings_and_no_element_overflows(opened: Callable[..., Tab], phone: bool) -> None:
    tab = opened(size=PHONE, dark=True) if phone else opened()
    tab.example()
    tab.pictured()
    keep(tab)
    assert findings(tab.page, "kept") == []
    assert tab.page.evaluate(EXCESS) == 0
    link = tab.page.locator(".kept a").bounding_box()
    assert link is not None
    assert link["height"] >= 24


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
    assert "for 7 days. Only holders of the same API key can open it." in card(tab)
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
