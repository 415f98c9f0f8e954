"""Test planning on the page: the numbers of `POST /v1/power`, errors at their fields, and a picture."""

import re
import shlex
from collections.abc import Callable

import httpx

from tests.browser.conftest import Tab

PILOT = "id,u,v\n" + "".join(f"q{n},{n * 7 % 10 / 10},{n * 3 % 10 / 10}\n" for n in range(40))


def plan(tab: Tab, **fields: str) -> str:
    for name, value in fields.items():
        tab.page.fill(f"#f-{name}", value)
    tab.submit("Plan")
    return tab.verdict()


def test_items_for_two_accuracies(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Plan")
    assert tab.page.locator("#data").is_hidden()
    said = plan(tab, u="0.9", v="0.85", discordance="0.15")
    design = {"kind": "binary", "u": 0.9, "v": 0.85, "discordance": 0.15}
    answer = httpx.post(f"{tab.url}v1/power", json={"design": design, "solve": "n", "power": 0.8}).json()
    assert said == answer["sentence"].replace("alpha", "α")
    assert f"{answer['solution']['n']:,}" in tab.page.locator(".key").inner_text()
    tab.page.wait_for_selector("figure.picture img")
    words = shlex.split(tab.page.locator("#curl").text_content() or "")
    assert (
        httpx.post(words[4], content=words[-1], headers={"content-type": "application/json"}).json()["id"]
        == answer["id"]
    )


def test_each_question_has_its_fields(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Plan")
    for solve, fields in {"n": "power", "power": "n", "effect": "n power"}.items():
        tab.page.select_option("#f-solve", solve)
        shown = [name for name in ("n", "power", "effect") if tab.page.locator(f"#f-{name}").is_visible()]
        assert shown == fields.split()
    tab.page.select_option("#f-solve", "power")
    assert re.match("500 items find a true difference of 0.03 with probability 0.4", plan(tab, n="500"))


def test_impossible_values_are_reported_at_their_field(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.refused = 2
    tab.pick("Plan")
    tab.page.fill("#f-discordance", "0.01")
    tab.submit("Plan")
    assert "Two systems with these accuracies cannot differ" in tab.problem()
    assert tab.page.get_attribute("#f-discordance", "aria-invalid") == "true"
    tab.page.fill("#f-discordance", "much")
    tab.submit("Plan")
    tab.page.wait_for_selector("#e-discordance:has-text('number')")


def test_a_pilot_and_its_least_difference(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Plan")
    tab.pick("A pilot")
    tab.pick("Paste")
    tab.page.fill("#paste-file", PILOT)
    tab.page.select_option("#f-solve", "effect")
    assert plan(tab).startswith("40 items find a true difference of 0.2")
    table = tab.page.locator("table.curve tbody tr")
    assert table.count() > 5
    assert "80 %" in tab.page.locator("table.curve .chosen").inner_text()
    assert "over 99.9 %" in tab.page.locator("table.curve").inner_text()
    tab.refused = 1
    tab.page.select_option("#f-solve", "n")
    tab.submit("Plan")
    tab.problem()
    assert tab.page.get_attribute("#f-effect", "aria-invalid") == "true"
