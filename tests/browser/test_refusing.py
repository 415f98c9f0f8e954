from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

from tests.browser.conftest import Tab
from tests.process.conftest import until

HOSTILE = """<script>alert(1)</script><img src=x onerror=alert(2)>"'&amp;"""


def test_nothing_to_compare_is_said_before_anything_is_sent(visit: Callable[..., Tab]) -> None:
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
    assert "neither its first bytes nor its name tell the format" in tab.problem()
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
