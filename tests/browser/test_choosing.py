"""Refusals on the page: the ways out are buttons, only the fields that matter open, and the words are the page's own."""

from __future__ import annotations

import re
from collections.abc import Callable

from playwright.sync_api import Locator

from tests.browser.conftest import Tab
from tests.process.conftest import until

LONG = "id,system,acc,f1\n" + "".join(
    f"q{n},{name},{n % 2},{(n + len(name)) % 3}\n" for n in range(12) for name in ("A", "BB")
)
NAMELESS = "id,gpt-4,llama\n" + "".join(f"q{n},{n % 10 > 0:d},{n % 2}\n" for n in range(40))
BOARD = "id,ada,bob,cyd\n" + "".join(f"q{n},{n % 2},{n % 3 > 0:d},1\n" for n in range(30))
GAPS = "id,u,v\na,1,0\nb,1,\nc,0,1\nd,1,0\n"


def send(tab: Tab, text: str, mode: str = "", submit: str = "Compare") -> None:
    if mode:
        tab.pick(mode)
    tab.pick("Paste")
    tab.page.fill("#paste-file", text)
    tab.refused = 1
    tab.submit(submit)
    tab.problem()


def ways(tab: Tab) -> Locator:
    return tab.page.locator("#problem .choices button")


def options(tab: Tab) -> list[str]:
    """The names of the fields below "More options" that can be seen."""
    fields = tab.page.locator("#more [name]").all()
    return [str(field.get_attribute("name")) for field in fields if field.is_visible()]


def test_a_choice_is_pressed_and_the_request_is_sent_with_it(visit: Callable[..., Tab]) -> None:
    tab = visit()
    send(tab, LONG)
    assert ways(tab).all_inner_texts() == ["acc", "f1"]
    assert tab.page.get_by_role("group", name="Column of scores").get_by_role("button").count() == 2
    assert "score_column" not in tab.problem()
    ways(tab).nth(1).click()
    assert tab.verdict() == "A and BB have the same F1 (p = 1)."
    assert tab.page.locator("#f-score_column").input_value() == "f1"
    assert "--form-string score_column=f1" in (tab.page.locator("#curl").text_content() or "")


def test_the_candidate_of_a_gate_is_chosen_by_its_name(visit: Callable[..., Tab]) -> None:
    tab = visit()
    send(tab, NAMELESS, "Decide (gate)", "Decide")
    said = tab.problem()
    assert 'Nothing says which of "gpt-4" and "llama" is the candidate.' in said
    assert "system_u" not in said
    assert options(tab) == ["system_u", "system_v"]
    ways(tab).filter(has_text="llama is the candidate").click()
    assert tab.verdict() == "llama is shown to be worse than gpt-4 (Mean score, higher is better)."
    ways_back = tab.page.locator("#f-system_u"), tab.page.locator("#f-system_v")
    assert [field.input_value() for field in ways_back] == ["llama", "gpt-4"]


def test_missing_items_are_left_out_by_a_press_and_in_the_words_of_the_list(
    visit: Callable[..., Tab],
) -> None:
    tab = visit()
    send(tab, GAPS)
    said = tab.problem()
    assert "“Items only one system has”: “Leave them out, and count them”" in said
    assert "on_missing" not in said
    assert 'the first is "b" at line 3)' in said
    assert options(tab) == ["on_missing"]
    ways(tab).first.click()
    tab.verdict()
    assert tab.row("Items").startswith("3")
    assert tab.page.locator("#f-on_missing").input_value() == "drop"


def test_the_baseline_of_a_leaderboard_is_chosen_of_those_there_are(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Leaderboard")
    tab.page.select_option("#f-compare", "baseline")
    send(tab, BOARD, submit="Rank systems")
    assert ways(tab).all_inner_texts() == ["ada", "bob", "cyd"]
    ways(tab).nth(1).click()
    assert re.match("Of 2 other systems, .* than bob", tab.verdict())


def test_of_three_systems_two_are_chosen_one_after_the_other(visit: Callable[..., Tab]) -> None:
    tab = visit()
    send(tab, BOARD)
    ways(tab).filter(has_text="cyd").click()
    until(lambda: ways(tab).all_inner_texts() == ["ada", "bob"], "the baseline is asked for")
    ways(tab).filter(has_text="ada").click()
    assert "mean score of cyd is" in tab.verdict()


def test_choices_need_no_mouse(visit: Callable[..., Tab]) -> None:
    tab = visit()
    send(tab, LONG)
    for _ in range(2):  # the link to the box, the first button
        tab.page.keyboard.press("Tab")
    assert tab.page.evaluate("document.activeElement.textContent") == "acc"
    tab.page.keyboard.press("Enter")
    assert tab.verdict()
    assert tab.page.evaluate("document.activeElement.id") == "verdict"


def test_a_wrong_option_opens_alone_and_all_options_are_a_press_away(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.page.get_by_text("More options").click()
    every = options(tab)
    assert len(every) > 30
    tab.page.fill("#f-clusters", "nowhere")
    tab.page.get_by_text("More options").click()
    send(tab, NAMELESS)
    assert options(tab) == ["clusters"]
    all_options = tab.page.get_by_role("button", name="All options")
    all_options.click()
    assert options(tab) == every
    assert all_options.is_hidden()
    assert tab.page.evaluate("document.activeElement.textContent") == "More options"


def test_hostile_choices_stay_text(visit: Callable[..., Tab]) -> None:
    tab = visit()
    hostile = "<img src=x onerror=alert(1)>"
    send(tab, f"id,system,{hostile},f1\n" + "".join(f"q{n},{s},{n % 2},1\n" for n in range(4) for s in "AB"))
    assert ways(tab).first.inner_text() == hostile
    assert tab.page.locator("#problem img").count() == 0
