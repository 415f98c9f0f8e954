"""Refusals on the page: at their fields, with ways out that are buttons, and in the page's own words."""

import random
import re
from collections.abc import Callable
from pathlib import Path

from playwright.sync_api import Locator

from tests.browser.conftest import Tab
from tests.process.conftest import until

HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;"""


def test_missing_data_are_reported_before_sending(visit: Callable[..., Tab]) -> None:
    tab = visit()
    before = len(tab.requests)
    tab.submit()
    assert "no data yet" in tab.problem()
    assert tab.page.evaluate("document.activeElement.id") == "problem"
    assert tab.page.get_attribute("#chooser", "aria-invalid") == "true"
    assert len(tab.requests) == before


def test_293_items_against_294_are_refused_at_the_file_that_has_more(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    for role, size in (("u", 293), ("v", 294)):
        (tmp_path / f"{role}.txt").write_text("".join(f"{place % 2}\n" for place in range(size)))
    tab = visit()
    tab.refused = 1
    tab.page.set_input_files("#chooser", [tmp_path / "u.txt", tmp_path / "v.txt"])
    tab.submit()
    assert "u has 293 items and v has 294" in tab.problem()
    assert tab.page.evaluate("document.activeElement.id") == "problem"
    wrong = tab.page.locator("[aria-invalid=true]")
    assert wrong.count() == 1
    assert wrong.get_attribute("aria-label") == "Role of v.txt"
    assert tab.page.locator("#result").is_hidden()


def test_a_bad_line_is_named_and_its_link_leads_to_the_field(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.refused = 1
    tab.example()  # an older answer must not stand beside the refusal
    tab.page.fill("#paste-file", "id,u,v\na,1,0\nb,1\n")
    tab.submit()
    assert "line 3" in tab.problem()
    assert tab.page.locator("#problem .place").inner_text() == "Both systems in one file, line 3"
    assert tab.page.locator("#result").is_hidden()
    tab.page.locator("#problem a").click()
    assert tab.page.evaluate("document.activeElement.id") == "paste-file"
    described = tab.page.get_attribute("#paste-file", "aria-describedby") or ""
    assert "line 3" in tab.page.locator(f"#{described.split()[-1]}").inner_text()
    tab.page.fill("#paste-file", "id,u,v\na,1,0\nb,1,0\n")
    tab.submit()
    tab.verdict()
    assert tab.page.locator("[aria-invalid]").count() == 0


def test_binary_junk_is_refused_where_it_can_be_mended(visit: Callable[..., Tab], tmp_path: Path) -> None:
    (tmp_path / "junk.bin").write_bytes(bytes(range(256)) * 40)
    tab = visit()
    tab.refused = 2
    tab.page.set_input_files("#chooser", tmp_path / "junk.bin")
    tab.submit()
    assert "neither the first bytes nor the file name show the format" in tab.problem()
    assert tab.page.get_attribute("#f-format", "aria-invalid") == "true"
    tab.page.select_option("#f-format", "csv")
    tab.submit()
    tab.page.wait_for_selector("#problem:has-text('not UTF-8')")


def test_a_wrong_option_is_marked_even_when_it_is_folded_away(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.refused = 1
    tab.example()
    tab.page.get_by_text("More options").click()
    tab.page.fill("#f-clusters", "nowhere")
    tab.page.get_by_text("More options").click()
    tab.submit()
    assert "nowhere" in tab.problem()
    assert tab.page.locator("[aria-invalid=true]").count() == 1


def test_hostile_labels_stay_text(visit: Callable[..., Tab], tmp_path: Path) -> None:
    rows = "".join(
        f'"{HOSTILE.replace(chr(34), chr(34) * 2)}{place}",1,{place % 3 == 0:d}\n' for place in range(12)
    )
    path = tmp_path / "<img src=x onerror=alert(3)>.csv"
    path.write_text("id,u,v\n" + rows)
    tab = visit()
    tab.page.set_input_files("#chooser", path)
    tab.page.fill("#f-name_u", HOSTILE)
    tab.page.fill("#f-name_v", "=cmd()\u202e</h2>")
    tab.submit()
    assert f"mean score of {HOSTILE} is" in tab.verdict()
    tab.pictured()
    tab.page.get_by_text("The same with curl").click()
    assert tab.page.locator("#result script, #result img[src=x], #rows img, #form script").count() == 0
    assert tab.page.locator("#rows .file").inner_text().startswith("<img src=x onerror=alert(3)>.csv")


def test_cancel_stops_waiting_and_the_next_comparison_works(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    draw = random.Random(0)
    path = tmp_path / "real.csv"
    path.write_text(
        "id,u,v\n" + "".join(f"{place},{draw.random()},{draw.random()}\n" for place in range(3000))
    )
    tab = visit()
    tab.page.set_input_files("#chooser", path)
    tab.page.get_by_text("More options").click()
    tab.page.select_option("#f-method", "monte_carlo")
    tab.page.fill("#f-samples", "1000000")
    tab.submit()
    said = tab.page.locator("#progress-text")
    until(lambda: said.inner_text().startswith("Computing… 1 s"), "a second has passed")
    assert tab.page.locator("#submit").is_disabled()
    tab.page.get_by_role("button", name="Cancel").click()
    tab.page.locator("#progress").wait_for(state="hidden")
    assert tab.page.locator("#announce").inner_text() == "Cancelled."
    assert tab.page.locator("#verdict").count() == 0
    assert tab.page.evaluate("document.activeElement.id") == "submit"
    assert "new model" in tab.example()


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
