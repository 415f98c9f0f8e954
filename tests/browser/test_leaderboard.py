"""The mode Leaderboard: many systems in a table that sorts, two of them with their test, and pictures."""

from __future__ import annotations

import itertools
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import httpx

from tests.browser.boards import NAMES, RANKED, choose, head, opened, order, pair_pictured, ranked, sent
from tests.browser.conftest import Tab
from tests.browser.test_handing_over import DROP
from tests.browser.test_taking import copied, run
from tests.process.conftest import Server, until


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
    pair_pictured(tab)
    choose(tab, "birch-32b", "atlas-70b", "delta-8b")  # a third takes the place of the oldest
    assert card.locator("h3").inner_text() == "birch-32b and delta-8b"
    pair_pictured(tab)
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
    pair_pictured(tab)  # of maths alone: it is shown only for a test with the p-value of the board
    tab.page.select_option("#board", label="law")
    assert tab.page.locator("#pair").is_hidden()
    choose(tab, *names)
    assert tab.row("p-value") != first
    pair_pictured(tab)


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
    pair_pictured(tab)
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
    assert tab.verdict() == "The answer lists no pairs, so it does not say which differ."


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
