"""The page to the eye, to a screen reader, to the keyboard and on a phone."""

import re
from collections.abc import Callable

import httpx
from playwright.sync_api import Page

from tests.browser.conftest import DESKTOP, Tab
from tests.browser.proxy import proxied
from tests.process.conftest import Server, until

PHONE = (360, 740)
SMALLEST_TARGET = 44
EXCESS = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
# The element with the focus, or what stands for it, has an outline.
OUTLINED = """() => {
  const element = document.activeElement;
  const shown = [element, element.nextElementSibling, element.closest(".drop")].filter(Boolean);
  return shown.some((one) => {
    const style = getComputedStyle(one);
    return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
  });
}"""
SMALL = """() => [...document.querySelectorAll("button, select, input, textarea, summary, .top a, .foot a")]
  .filter((one) => one.checkVisibility())
  .map((one) => ["checkbox", "radio"].includes(one.type) ? one.closest("label") : one)
  .map((one) => [one.outerHTML.slice(0, 80), one.getBoundingClientRect().height])"""


def card_colour(page: Page) -> list[int]:
    """Red, green and blue of the card that the picture lies on."""
    colour = page.evaluate("getComputedStyle(document.querySelector('.picture')).backgroundColor")
    return [int(part) for part in colour[4:-1].split(",")]


def to(page: Page, selector: str, *, most: int = 60) -> None:
    """Press Tab until the focus is there; every stop on the way shows that it has the focus."""
    for _ in range(most):
        page.keyboard.press("Tab")
        assert page.evaluate(OUTLINED), page.evaluate("document.activeElement.outerHTML")
        if page.evaluate("wanted => document.activeElement.matches(wanted)", selector):
            return
    raise AssertionError(f"{selector} cannot be reached")


def test_a_narrow_screen_has_no_sideways_scrolling_and_targets_for_thumbs(visit: Callable[..., Tab]) -> None:
    tab = visit(size=PHONE)
    tab.refused = 1
    assert tab.page.evaluate(EXCESS) == 0
    tab.page.get_by_text("More options").click()
    assert tab.page.evaluate(EXCESS) == 0
    assert [one for one in tab.page.evaluate(SMALL) if one[1] < SMALLEST_TARGET] == []
    tab.example("Grouped items")
    tab.pictured()
    heading = tab.page.locator("#verdict").bounding_box()
    assert heading is not None
    assert 0 <= heading["y"] < PHONE[1]  # the page has gone to the answer
    tab.page.get_by_text("The same with curl").click()
    assert tab.page.evaluate(EXCESS) == 0
    tab.page.fill("#paste-file", f"id,u,v\n{'x' * 300},1,zero\n")
    tab.submit()
    tab.problem()
    assert tab.page.evaluate(EXCESS) == 0


def test_a_comparison_works_by_keyboard_alone(visit: Callable[..., Tab]) -> None:
    tab = visit()
    page = tab.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("location.hash") == "#form"
    to(page, 'input[name="source"]')
    page.keyboard.press("ArrowRight")
    to(page, "#paste-file")
    page.keyboard.type("0.85,0.80\n0.90,0.85\n0.78,0.75\n0.92,0.88\n0.88,0.82\n0.9,0.7\n")
    to(page, "#f-name_u")
    page.keyboard.type("mine")
    to(page, "#f-alternative")
    page.keyboard.press("ArrowDown")
    to(page, "summary")
    page.keyboard.press("Enter")
    to(page, "#f-clusters")
    to(page, "#submit")
    page.keyboard.press("Enter")
    assert "mine" in tab.verdict()
    assert tab.row("p-value").startswith("0.015625")  # one-sided: 1 / 2**6
    assert page.evaluate("document.activeElement.id") == "verdict"
    to(page, "button[data-format=html]")
    to(page, "summary")
    page.keyboard.press("Enter")
    to(page, "pre")


def test_the_phases_are_announced(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.page.evaluate("""() => {
      window.said = [];
      const place = document.getElementById("announce");
      new MutationObserver(() => window.said.push(place.textContent)).observe(place, {childList: true});
    }""")
    tab.example()
    said = tab.page.evaluate("window.said")
    assert said[0] == "Uploading."
    assert said[-1] == "Done."
    assert tab.page.get_attribute("#announce", "aria-live") == "polite"


def test_the_dark_scheme_is_dark_down_to_the_picture(visit: Callable[..., Tab]) -> None:
    tab = visit(dark=True)
    tab.example()
    tab.pictured()
    background = tab.page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert max(int(part) for part in background[4:-1].split(",")) < 64
    assert any("theme=dark" in request.url for request in tab.requests)
    red, green, blue = card_colour(tab.page)
    paper = f"#{red:02x}{green:02x}{blue:02x}"
    scores = {"u": [1, 0, 1, 1], "v": [0, 0, 1, 0]}
    planned = {"design": {"kind": "binary", "u": 0.8, "v": 0.7, "discordance": 0.2}, "n": 500}
    bodies = {"tests/scores": scores, "power": planned, "compare": {"kind": "scores", "systems": scores}}
    for path, body in bodies.items():
        drawn = httpx.post(f"{tab.url}v1/{path}?format=svg&theme=dark", json=body)
        assert paper in drawn.text[:4000].lower(), path
    with tab.page.expect_request("**/*theme=light*"):
        tab.page.emulate_media(color_scheme="light")
    tab.pictured()


def test_the_gate_says_pass_fail_or_cannot_tell(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Decide (gate)")
    assert tab.page.locator("#f-alternative").is_hidden()
    tab.example("Scores")
    assert tab.page.locator(".badge").inner_text() == "Pass"
    tab.page.fill("#f-margin", "0.5")
    tab.pick("Improvement")
    tab.submit("Decide")
    assert tab.verdict() == (
        "reranked is not shown to be better than BM25 by more than 0.5 (Mean score, higher is better)."
    )
    assert tab.page.locator(".badge").inner_text() == "Fail"
    tab.pictured()
    assert "its p-value differs" in tab.page.locator("figcaption").inner_text()
    tab.page.fill("#paste-file", "id,u,v\na,0.2,0.5\nb,0.1,0.5\n")
    tab.page.fill("#f-margin", "none")
    tab.pick("No regression")
    tab.refused = 1
    tab.submit("Decide")
    assert "Margin" in tab.problem()
    assert tab.page.get_attribute("#f-margin", "aria-invalid") == "true"
    tab.page.fill("#f-margin", "0")
    tab.page.select_option("#f-on_inconclusive", "fail")
    tab.submit("Decide")
    tab.verdict()
    assert tab.page.locator(".badge").inner_text() == "Inconclusive"
    assert "counts an inconclusive result as a failure" in tab.page.locator(".verdict").inner_text()


def test_the_page_works_behind_a_path_prefix(visit: Callable[..., Tab], server: Server) -> None:
    with proxied(server.url) as behind:
        tab = visit(url=behind)
        tab.example()
        tab.pictured()
        addresses = [request.url for request in tab.requests if not request.url.startswith("blob:")]
        assert len(addresses) > 10
        assert all(address.startswith(behind) for address in addresses)
        assert behind.rstrip("/") in (tab.page.locator("#curl").text_content() or "")


def test_the_page_may_only_load_its_files(server: Server) -> None:
    answer = httpx.get(f"{server.url}/")
    policy = answer.headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert " style=" not in answer.text
    assert re.search(r"<(?:style|script(?! type=\"module\" src=))|\son\w+=", answer.text) is None
    assert httpx.get(f"{server.url}/page/nope.js").status_code == 404
    again = httpx.get(f"{server.url}/", headers={"if-none-match": answer.headers["etag"]})
    assert again.status_code == 304


PHONE_OF_NARROW = (390, 844)
ORDER = "[...document.querySelector('main').children].map((part) => part.id)"


def test_the_result_comes_before_the_form_once_there_is_one(visit: Callable[..., Tab]) -> None:
    tab = visit(size=PHONE_OF_NARROW)
    tab.refused = 1
    assert tab.page.evaluate(ORDER) == ["form", "output"]
    tab.example()
    assert tab.page.evaluate(ORDER) == ["output", "form"]
    assert tab.page.evaluate("document.activeElement.id") == "verdict"
    heading, form = (tab.page.locator(f"#{name}").bounding_box() for name in ("verdict", "form"))
    assert heading is not None
    assert form is not None
    assert 0 <= heading["y"] < PHONE_OF_NARROW[1] / 2
    assert heading["y"] < form["y"]
    tab.page.get_by_role("link", name="Change the request").click()
    assert tab.page.evaluate("document.activeElement.id") == "form"
    assert (
        tab.page.evaluate("document.getElementById('form').getBoundingClientRect().top")
        < PHONE_OF_NARROW[1] / 2
    )
    tab.page.fill("#paste-file", "id,u,v\na,1\n")
    tab.submit()
    tab.problem()
    assert tab.page.evaluate(ORDER) == ["form", "output"]
    assert tab.page.get_by_role("link", name="Change the request").is_hidden()


def test_a_wide_window_has_them_beside_each_other(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.example()
    assert tab.page.evaluate(ORDER) == ["form", "output"]
    # The page hears of another width with its next frame.
    tab.page.set_viewport_size({"width": PHONE_OF_NARROW[0], "height": PHONE_OF_NARROW[1]})
    until(lambda: tab.page.evaluate(ORDER) == ["output", "form"], "the result comes first")
    tab.page.set_viewport_size({"width": DESKTOP[0], "height": DESKTOP[1]})
    until(lambda: tab.page.evaluate(ORDER) == ["form", "output"], "the form comes first")
