"""The mode Leaderboard: many systems in a table that sorts, two of them with their test, pictures; wrong data, hostile names, small screens."""

import csv
import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Tab
from tests.browser.test_axe import findings
from tests.browser.test_comfort import EXCESS, PHONE, SMALL, SMALLEST_TARGET
from tests.browser.test_handing_over import DROP, copied, run, saved
from tests.browser.test_refusing import HOSTILE
from tests.process.conftest import Server, until

NAMES = ["atlas-70b", "birch-32b", "cedar-8b", "delta-8b", "ember-3b", "flint-1b", "random"]
RANKED = "tbody tr th button.system"


def opened(visit: Callable[..., Tab], **options: object) -> Tab:
    """The page in the mode Leaderboard."""
    tab = visit(**options)
    tab.pick("Leaderboard")
    return tab


def ranked(tab: Tab) -> list[str]:
    """The systems from top to bottom of the table."""
    return tab.page.locator(f".standings {RANKED}").all_inner_texts()


def head(tab: Tab, title: str) -> None:
    """Press a header of the table of systems."""
    tab.page.locator(".standings").get_by_role("button", name=title, exact=True).click()


def order(tab: Tab, title: str) -> str | None:
    heads = tab.page.locator(".standings").get_by_role("columnheader", name=title, exact=True)
    return heads.get_attribute("aria-sort")


def choose(tab: Tab, *names: str) -> None:
    for name in names:
        tab.page.locator(".standings").get_by_role("button", name=name, exact=True).click()


def sent(tab: Tab, server: Server, **fields: str) -> dict[str, object]:
    """The service's answer to the pasted text."""
    text = tab.page.locator("#paste-file").input_value()
    answer = httpx.post(f"{server.url}/v1/compare", files={"file": ("pasted.txt", text)}, data=fields)
    return dict(answer.json())


def wide(rows: int, names: list[str], seed: int = 1) -> str:
    """A table of right and wrong answers; the systems' skills fall from the first to the last."""
    draw = random.Random(seed)
    lines = [
        ",".join(
            [
                f"q{row}",
                *(f"{draw.random() < 0.95 - 0.6 * place / len(names):d}" for place in range(len(names))),
            ]
        )
        for row in range(rows)
    ]
    return "\n".join([",".join(["id", *names]), *lines, ""])


def test_the_examples_are_boards_and_their_numbers_are_those_of_the_service(
    visit: Callable[..., Tab], server: Server
) -> None:
    tab = opened(visit)
    titles = tab.page.locator("#examples button").all_inner_texts()
    assert len(titles) == 3
    for title in titles:
        assert tab.example(title)
    assert tab.example("Seven models") == (
        "The best of 7 systems is among atlas-70b and birch-32b, with 95 % confidence."
    )
    answer = sent(tab, server)
    systems = answer["systems"]
    assert isinstance(systems, list)
    assert ranked(tab) == [system["name"] for system in systems] == NAMES
    cells = tab.page.locator(".standings tbody tr").nth(2).locator("td").all_inner_texts()
    third = systems[2]
    assert cells == [
        "3", f"{third['score']:.4g}", f"{third['rank_low']}–{third['rank_high']}",
        third["letters"], str(third["cluster"]), str(third["better_than"]),
    ]  # fmt: skip
    assert tab.page.locator(".best").count() == sum(system["in_best_set"] for system in systems) == 2
    lines = [
        place
        for place, (above, below) in enumerate(itertools.pairwise(systems))
        if above["cluster"] != below["cluster"]
    ]
    drawn = tab.page.locator(".standings tbody tr").evaluate_all(
        "rows => rows.flatMap((row, place) => row.classList.contains('ends-cluster') ? [place] : [])"
    )
    assert drawn == lines != []


def test_a_press_on_a_header_sorts_and_so_does_the_keyboard(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    tab.example("Seven models")
    assert order(tab, "Rank") == "ascending"
    head(tab, "Rank")
    assert ranked(tab) == NAMES[::-1]
    assert order(tab, "Rank") == "descending"
    assert tab.page.locator(".ends-cluster").count() == 0  # the lines belong to the order of ranks
    head(tab, "Score")
    assert ranked(tab) == NAMES
    assert [order(tab, "Rank"), order(tab, "Score")] == [None, "descending"]
    tab.page.locator(".standings thead").get_by_role("button", name="Better than").focus()
    tab.page.keyboard.press("Enter")
    assert order(tab, "Better than") == "descending"
    tab.page.keyboard.press("Space")
    assert order(tab, "Better than") == "ascending"
    assert ranked(tab)[0] == "random"
    assert tab.page.evaluate("document.activeElement.textContent").startswith("Better than")


def test_two_chosen_systems_have_their_numbers_and_the_picture_of_their_test(
    visit: Callable[..., Tab], server: Server
) -> None:
    tab = opened(visit)
    tab.example("Seven models")
    choose(tab, "cedar-8b")
    assert "choose another" in tab.page.locator(".standings [role=status]").inner_text()
    choose(tab, "atlas-70b")
    pairs = sent(tab, server)["pairs"]
    assert isinstance(pairs, list)
    [pair] = [one for one in pairs if {one["u"], one["v"]} == {"atlas-70b", "cedar-8b"}]
    assert (pair["u"], pair["relation"]) == ("atlas-70b", "better")
    card = tab.page.locator("#pair")
    assert card.locator("h3").inner_text() == "atlas-70b and cedar-8b"
    assert card.locator(".said").inner_text() == "atlas-70b is significantly better than cedar-8b."
    assert tab.row("Adjusted p-value").startswith(f"{pair['p_adjusted']:.3g}")
    assert tab.row("Better, equal, worse").startswith(f"{pair['wins']} / {pair['ties']} / {pair['losses']}")
    tab.pictured("#pair")
    choose(tab, "birch-32b", "atlas-70b", "delta-8b")  # a third takes the place of the oldest
    assert card.locator("h3").inner_text() == "birch-32b and delta-8b"
    tab.pictured("#pair")
    choose(tab, "delta-8b")
    assert card.is_hidden()


def test_a_picture_of_another_test_is_not_shown(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    tab.example("Seven models")
    tab.page.route(
        "**/v1/tests/files?format=json", lambda route: route.fulfill(json={"log10_p_value": -1.25})
    )
    choose(tab, "atlas-70b", "cedar-8b")
    tab.page.locator("#pair").get_by_text("There is no picture").wait_for()
    assert tab.page.locator("#pair img").count() == 0
    assert not any("format=svg" in request.url and "tests" in request.url for request in tab.requests)


def test_a_row_of_the_pairs_chooses_its_two_systems(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    tab.example("Seven models")
    tab.page.get_by_text("All pairs (21;").click()
    pairs = tab.page.get_by_role("region", name="Pairs")
    pairs.get_by_role("button", name="Adjusted p").click()
    assert pairs.locator(RANKED).first.inner_text() == "atlas-70b – random"
    pairs.locator(RANKED).first.click()
    assert tab.page.locator("#pair h3").inner_text() == "atlas-70b and random"
    assert tab.page.evaluate("document.activeElement.closest('#pair') !== null")
    pressed = tab.page.locator(".standings [aria-pressed=true]").all_inner_texts()
    assert pressed == ["atlas-70b", "random"]


def test_a_dropped_table_with_data_sets_has_a_board_for_each(visit: Callable[..., Tab]) -> None:
    names = ["B, the second", "A"]
    rows = [
        [f"q{row}", name, str(int(row % 4 != 0 if name == "A" else row % 2)), dataset]
        for dataset, size in (("maths", 24), ("law", 16))
        for row in range(size)
        for name in names
    ]
    text = "id,system,score,dataset\n" + "".join(
        ",".join(f'"{field}"' if "," in field else field for field in row) + "\n" for row in rows
    )
    tab = opened(visit)
    carried = tab.page.evaluate_handle(DROP, [["long.csv", text]])
    tab.page.dispatch_event("body", "drop", {"dataTransfer": carried})
    assert tab.page.locator("#rows select").input_value() == "file"
    tab.submit("Rank systems")
    tab.verdict()
    titles = tab.page.locator("#board option").all_inner_texts()
    assert [title for title in titles if title != "Overall"] == ["law", "maths"]
    tab.page.select_option("#board", label="maths")
    scores = tab.page.locator(".standings tbody tr td:nth-of-type(2)").all_inner_texts()
    assert (ranked(tab), scores) == (["A", "B, the second"], ["0.75", "0.5"])
    choose(tab, *names)
    first = tab.row("p-value")
    tab.pictured("#pair")  # of maths alone: it is shown only for a test with the p-value of the board
    tab.page.select_option("#board", label="law")
    assert tab.page.locator("#pair").is_hidden()
    choose(tab, *names)
    assert tab.row("p-value") != first
    tab.pictured("#pair")


def test_several_files_are_a_system_each(visit: Callable[..., Tab], tmp_path: Path, server: Server) -> None:
    draw = random.Random(3)
    paths = [tmp_path / f"{name}.csv" for name in ("small.v1", "small", "large")]
    for skill, path in zip((0.4, 0.6, 0.9), paths, strict=True):
        path.write_text("id,score\n" + "".join(f"q{row},{draw.random() < skill:d}\n" for row in range(60)))
    tab = opened(visit)
    tab.page.set_input_files("#chooser", paths)
    roles = tab.page.locator("#rows select")
    assert [roles.nth(place).input_value() for place in range(3)] == ["system"] * 3
    tab.submit("Rank systems")
    tab.verdict()
    assert ranked(tab) == ["large", "small", "small.v1"]
    choose(tab, "small", "large")
    tab.pictured("#pair")
    code, output = run(copied(tab), tmp_path)
    assert code == 0
    files = [("system", (path.name, path.read_bytes())) for path in paths]
    assert json.loads(output)["id"] == httpx.post(f"{server.url}/v1/compare", files=files).json()["id"]


def test_a_baseline_brings_intervals_and_no_ranks(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    assert tab.page.locator("#f-baseline").is_hidden()
    assert tab.page.locator("#f-confidence_level").is_hidden()
    headline = tab.example("Against a baseline")
    assert re.match(
        r"Of 6 other systems, \d (is|are) significantly better than delta-8b, and \d significantly worse",
        headline,
    )
    assert tab.page.locator("#f-baseline").is_visible()
    heads = tab.page.locator(".standings thead th").all_inner_texts()
    assert [head.strip(" ▲") for head in heads] == [
        "Rank", "System", "Score", "Difference", "Adjusted p", "To the baseline",
    ]  # fmt: skip
    own = tab.page.locator(".standings tbody tr", has_text="delta-8b").locator("td").all_inner_texts()
    assert own[2:] == ["–", "–", "–"]
    choose(tab, "atlas-70b", "delta-8b")
    assert "95 %" in tab.row("Confidence interval")
    choose(tab, "birch-32b", "cedar-8b")
    assert "does not list the pair" in tab.page.locator("#pair").inner_text()
    tab.page.get_by_text("More options").click()
    tab.page.select_option("#f-pairs", "none")
    tab.submit("Rank systems")
    assert tab.verdict() == "The answer lists no pairs, so it does not show which differ."


def test_the_pictures_are_tabs_that_are_drawn_when_they_are_looked_at(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    tab.example("Seven models")
    image = tab.page.locator("#picture-panel img")
    image.wait_for(state="visible")
    pictures = [request.url for request in tab.requests if "picture=" in request.url]
    assert len(pictures) == 1
    tab.page.get_by_role("tab", name="Ranks").focus()
    for name, picture in (("Pairs", "heatmap"), ("Groups", "bars"), ("Differences", "forest")):
        with tab.page.expect_response(f"**picture={picture}*") as answer:
            tab.page.keyboard.press("ArrowRight")
        assert answer.value.status == 200
        assert tab.page.get_by_role("tab", selected=True).inner_text() == name
        until(lambda: image.evaluate("image => image.complete && image.naturalWidth > 0"), "a picture")
    with tab.page.expect_response("**theme=dark*"):
        tab.page.emulate_media(color_scheme="dark")


def test_errors_are_shown_at_their_fields(visit: Callable[..., Tab], tmp_path: Path) -> None:
    tab = opened(visit)
    tab.refused = 1
    before = len(tab.requests)
    tab.submit("Rank systems")
    assert "no data yet" in tab.problem()
    assert len(tab.requests) == before
    tab.example("Seven models")
    tab.page.fill("#paste-file", "id,a,b\nq1,1,0\nq2,1,zero\n")
    tab.submit("Rank systems")
    assert "All systems in one file, line 3, field 3" in tab.problem()
    assert tab.page.get_attribute("#paste-file", "aria-invalid") == "true"
    assert tab.page.locator("#result").is_hidden()
    tab.page.fill("#paste-file", "id,a,b\nq1,1,0\nq2,1,0\n")
    tab.page.select_option("#f-compare", "baseline")
    tab.page.fill("#f-baseline", "c")
    tab.submit("Rank systems")
    tab.page.locator("#f-baseline[aria-invalid=true]").wait_for()
    assert "There is no system" in tab.problem()
    tab.page.select_option("#f-compare", "all_pairs")
    paths = [tmp_path / "one.csv", tmp_path / "two.csv"]
    for path, value in zip(paths, ("1", "none at all"), strict=True):
        path.write_text(f"id,score\nq1,0\nq2,{value}\n")
    tab.page.set_input_files("#chooser", paths)
    tab.submit("Rank systems")
    wrong = tab.page.locator("#rows [aria-invalid=true]")
    wrong.wait_for()
    assert wrong.get_attribute("aria-label") == "Role of two.csv"
    assert "two, line 3" in tab.problem()


def test_hostile_names_stay_text(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    name = HOSTILE.replace('"', '""')
    rows = "".join(f"q{row},1,0\n" for row in range(12))
    tab.pick("Paste")
    tab.page.fill("#paste-file", f'id,"{name}",plain\n{rows}')
    tab.submit("Rank systems")
    assert HOSTILE in tab.verdict()
    assert HOSTILE in ranked(tab)
    choose(tab, HOSTILE, "plain")
    assert HOSTILE in tab.page.locator("#pair h3").inner_text()
    assert tab.page.locator("#result script, #result img[src=x]").count() == 0


def test_134_systems_stay_usable(visit: Callable[..., Tab], tmp_path: Path) -> None:
    path = tmp_path / "many.csv"
    path.write_text(wide(200, [f"system-{place:03}" for place in range(134)]))
    tab = opened(visit)
    tab.page.set_input_files("#chooser", path)
    tab.submit("Rank systems")
    tab.verdict()
    assert len(ranked(tab)) == 134
    assert tab.page.locator("#result tr").count() < 200  # the pairs are not drawn before they are looked at
    tab.page.get_by_text("All pairs (8,911;").click()
    pairs = tab.page.get_by_role("region", name="Pairs")
    expect(pairs.locator("tbody tr")).to_have_count(
        200
    )  # drawn after the page has heard that they were opened
    tab.page.get_by_role("button", name="Show 200 more of 8,911").click()
    expect(pairs.locator("tbody tr")).to_have_count(400)
    pairs.get_by_role("button", name="Difference").click()
    choose(tab, "system-000", "system-133")
    assert tab.page.locator("#pair h3").inner_text() == "system-000 and system-133"
    assert tab.page.evaluate(EXCESS) == 0
    tab.page.get_by_text("More options").click()
    tab.page.select_option("#f-pairs", "significant")
    tab.submit("Rank systems")
    tab.verdict()
    shown = tab.page.locator("details.card > summary").inner_text()
    listed, significant = re.findall(r"[\d,]+", shown)
    assert listed == significant
    assert f"{listed} of 8,911 pairs differ significantly" in tab.page.locator(".verdict").inner_text()


def test_the_answer_can_be_taken_away(visit: Callable[..., Tab], tmp_path: Path, server: Server) -> None:
    tab = opened(visit)
    tab.example("Seven models")
    with saved(tab, "Download CSV of systems", tmp_path).open(newline="") as file:
        assert [row["name"] for row in csv.DictReader(file)] == NAMES
    with saved(tab, "Download CSV of pairs", tmp_path).open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 21
    own = sent(tab, server)["id"]
    assert json.loads(saved(tab, "Download JSON", tmp_path).read_text())["id"] == own
    assert "atlas-70b" in saved(tab, "Download Markdown", tmp_path).read_text()
    assert "<svg" in saved(tab, "Download Report", tmp_path).read_text()
    code, output = run(copied(tab), tmp_path)
    assert code == 0
    assert json.loads(output)["id"] == own


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_has_no_serious_finding(visit: Callable[..., Tab], dark: bool) -> None:
    tab = opened(visit, dark=dark)
    tab.refused = 1
    tab.page.get_by_text("More options").click()
    assert findings(tab.page, "options") == []
    tab.page.get_by_text("More options").click()
    tab.example("Two data sets")
    tab.page.get_by_text("All pairs (").click()
    tab.page.locator("#picture-panel img").wait_for(state="visible")
    tab.page.select_option("#board", label="law")
    choose(tab, "atlas-70b", "random")
    tab.page.locator("#pair img").wait_for(state="visible")
    assert findings(tab.page, "result") == []
    tab.page.fill("#paste-file", "id,a,b\nq1,1\n")
    tab.submit("Rank systems")
    tab.problem()
    assert findings(tab.page, "error") == []


def test_a_narrow_screen_has_no_sideways_scrolling(visit: Callable[..., Tab]) -> None:
    tab = opened(visit, size=PHONE)
    tab.page.get_by_text("More options").click()
    assert tab.page.evaluate(EXCESS) == 0
    small = [one for one in tab.page.evaluate(SMALL) if one[1] < SMALLEST_TARGET]
    assert small == []
    tab.page.get_by_text("More options").click()
    tab.example("Seven models")
    choose(tab, "atlas-70b", "cedar-8b")
    tab.page.locator("#pair img").wait_for(state="visible")
    tab.page.get_by_text("All pairs (").click()
    tab.page.locator("#picture-panel img").wait_for(state="visible")
    assert tab.page.evaluate(EXCESS) == 0
    tab.page.locator("#picture-panel").get_by_role("button", name="Enlarge").click()
    assert tab.page.evaluate(EXCESS) == 0
    assert [one for one in tab.page.evaluate(SMALL) if one[1] < SMALLEST_TARGET] == []


def test_the_frontier_of_cost_and_quality(visit: Callable[..., Tab]) -> None:
    tab = opened(visit)
    tab.pick("Paste")
    rows = [(n, *one) for n in range(30) for one in (("A", n > 2, 1), ("B", n > 18, 3), ("C", n > 1, 5))]
    text = "id,system,score,price\n" + "".join(
        f"q{n},{name},{right:d},{cost}\n" for n, name, right, cost in rows
    )
    tab.page.fill("#paste-file", text)
    tab.page.get_by_text("More options").click()
    tab.page.fill("#f-frontier", "price")
    tab.submit("Rank systems")
    tab.verdict()
    cells = [row.locator("td").all_inner_texts() for row in tab.page.locator(".standings tbody tr").all()]
    assert [row[2:4] for row in cells] == [["5", "yes"], ["1", "yes"], ["3", "behind A"]]
    choose(tab, "A", "B")
    tab.pictured("#pair .picture")
    with tab.page.expect_response("**picture=frontier*") as picture:
        tab.page.get_by_role("tab", name="Costs").click()
    assert picture.value.status == 200
