"""Test the page's gate: names of systems, questions about candidate and direction, and scores with gold."""

import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.browser.conftest import DATA, Tab
from tests.browser.test_axe import findings
from tests.browser.test_handing_over import DROP
from tests.browser.test_leaderboard import opened, ranked
from tests.process.conftest import Server

# Two systems, eight items, three runs each.
RUNS = "id,run,u,v\n" + "".join(
    f"q{item},{run},{(item + run) % 3 > 0:d},{item * run % 3 > 1:d}\n"
    for item in range(8)
    for run in range(3)
)


def table(first: str, second: str) -> str:
    """The first system is right on 36 of 40 items, the second on 20."""
    return f"id,{first},{second}\n" + "".join(f"q{n},{n % 10 > 0:d},{n % 2}\n" for n in range(40))


def decide(tab: Tab, text: str) -> None:
    tab.pick("Paste")
    tab.pick("Decide (gate)")
    tab.page.fill("#paste-file", text)
    tab.submit("Decide")


def test_a_baseline_in_the_first_column_is_not_the_candidate(visit: Callable[..., Tab]) -> None:
    tab = visit()
    decide(tab, table("baseline", "candidate"))
    assert (
        tab.verdict()
        == "The candidate is shown to be worse than the baseline (Mean score, higher is better)."
    )
    assert tab.page.locator(".badge").inner_text() == "Fail"
    assert tab.row("candidate") == "0.5"


def test_unknown_roles_are_asked_for_at_their_option(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.refused = 1
    decide(tab, table("gpt-4", "llama"))
    assert "Nothing says which" in tab.problem()
    assert tab.page.get_attribute("#f-system_u", "aria-invalid") == "true"
    assert tab.page.locator("#f-system_u").is_visible()
    tab.page.fill("#f-system_u", "llama")
    tab.page.fill("#f-system_v", "gpt-4")
    tab.submit("Decide")
    assert tab.verdict() == "llama is shown to be worse than gpt-4 (Mean score, higher is better)."


def test_the_interval_of_a_gate_fits_its_one_sided_level(visit: Callable[..., Tab]) -> None:
    tab = visit()
    decide(tab, table("new", "old"))
    assert tab.page.locator("#f-confidence_level").is_hidden()
    assert "90 % interval" in tab.page.locator(".verdict").inner_text()
    tab.page.fill("#f-alpha", "0.01")
    tab.submit("Decide")
    tab.verdict()
    assert "98 % interval" in tab.page.locator(".verdict").inner_text()


def test_the_direction_follows_the_metric_unless_chosen(visit: Callable[..., Tab]) -> None:
    tab = visit()
    decide(tab, table("latency_new", "latency_old"))
    assert tab.verdict() == "latency_new is shown to be worse than latency_old (latency, lower is better)."
    tab.page.select_option("#f-higher_is_better", "true")
    tab.submit("Decide")
    assert "(latency, higher is better)" in tab.verdict()
    assert "is usually better" in tab.page.locator(".warnings").inner_text()


def test_chosen_files_have_the_roles_that_their_names_say(visit: Callable[..., Tab], tmp_path: Path) -> None:
    paths = [tmp_path / "baseline.csv", tmp_path / "candidate.csv"]
    for path in paths:
        path.write_text("id,score\na,1\nb,0\n")
    tab = visit()
    tab.page.set_input_files("#chooser", paths)
    roles = tab.page.locator("#rows select")
    assert [roles.nth(place).input_value() for place in range(2)] == ["v", "u"]


def shown(tab: Tab) -> str:
    """The text of the result, without the closed command."""
    return tab.page.locator("#result").inner_text()


def test_numbers_and_metrics_have_one_form_in_all_sentences(visit: Callable[..., Tab]) -> None:
    tab = visit()
    decide(tab, "id,candidate,baseline\n" + "".join(f"q{n},{n % 30 == 0:d},1\n" for n in range(120)))
    tab.verdict()
    reason = tab.page.locator(".verdict p").nth(1).inner_text()
    assert re.match(r"p = \d\.\d+ × 10⁻³⁵ ≤ α = 0\.05: the candidate is significantly worse", reason)
    text = shown(tab)
    assert re.search(r"\de-\d|mean_difference|tango.score|<=|\balpha\b", text) is None
    assert "The candidate is shown to be worse than the baseline (Mean score, higher is better)." in text


@pytest.mark.parametrize("mode", ["Compare", "Decide (gate)"])
def test_systems_that_have_names_are_called_by_them(visit: Callable[..., Tab], mode: str) -> None:
    tab = visit()
    tab.pick(mode)
    tab.pick("Paste")
    tab.page.fill("#paste-file", "id,u,v\n" + "".join(f"q{n},{n % 3 > 0:d},{n % 2}\n" for n in range(20)))
    tab.page.fill("#f-name_u", "reranked")
    tab.page.fill("#f-name_v", "BM25")
    asked = tab.page.locator("#f-alternative option").nth(1).text_content()
    assert asked == "Is reranked greater than BM25?"
    tab.submit(mode.partition(" ")[0])
    tab.verdict()
    tab.pictured()
    assert re.findall(r"\b[UVuv]\b(?!,v|\[|$)", re.sub(r"wide id,u,v\S*", "", shown(tab))) == []
    assert tab.row("Wins, ties, losses of reranked")


def test_the_form_asks_about_names_as_soon_as_there_are_any(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = visit()
    for name in ("fresh", "stale"):
        (tmp_path / f"{name}.csv").write_text("id,score\na,1\nb,0\n")
    tab.page.set_input_files("#chooser", [tmp_path / "fresh.csv", tmp_path / "stale.csv"])
    assert "Do fresh and stale differ" in tab.page.locator("#f-alternative").inner_text()
    tab.page.get_by_role("button", name="Swap fresh and stale").click()
    assert "Do stale and fresh differ" in tab.page.locator("#f-alternative").inner_text()
    tab.pick("Leaderboard")
    tab.page.select_option("#f-compare", "baseline")
    tab.page.fill("#f-baseline", "stale")
    assert "Is a system greater than stale?" in tab.page.locator("#f-alternative").inner_text()
    tab.pick("Plan")
    assert "Do the candidate and the baseline differ" in tab.page.locator("#f-alternative").inner_text()


def test_a_gate_is_asked_again_as_items_come_in(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Decide (gate)")
    tab.pick("Improvement")
    assert tab.page.locator("#f-planned_n").is_hidden()
    tab.page.select_option("#f-looks", "anytime")
    tab.page.fill("#f-planned_n", "60")
    decide(tab, "id,candidate,baseline\n" + "".join(f"q{n},1,{n % 4 > 0:d}\n" for n in range(12)))
    assert tab.verdict().startswith(
        "It is not decided yet whether the candidate is better than the baseline ("
    )
    assert tab.page.locator(".badge").inner_text() == "Continue"
    early = tab.page.locator(".key").inner_text()
    assert "e-value" in early
    assert "20 decides" in early
    decide(tab, "id,candidate,baseline\n" + "".join(f"q{n},1,{n % 4 > 0:d}\n" for n in range(60)))
    assert tab.verdict().startswith("The candidate is shown to be better than the baseline (")
    assert tab.page.locator(".badge").inner_text() == "Pass"
    form = {"policy": "improve", "sequential": '{"mode": "anytime", "planned_n": 60}'}
    pasted = tab.page.locator("#paste-file").input_value()
    answer = httpx.post(f"{tab.url}v1/gate", data=form, files={"file": ("a.csv", pasted)}).json()
    assert float(tab.row("e-value").split("\n")[0]) == pytest.approx(answer["e_value"], rel=1e-5)
    tab.refused = 1
    tab.page.fill("#f-planned_n", "40")
    tab.submit("Decide")
    assert "There are already 60 items" in tab.problem()
    assert tab.page.get_attribute("#f-planned_n", "aria-invalid") == "true"
    tab.page.select_option("#f-looks", "")
    tab.submit("Decide")
    tab.verdict()
    assert "p-value of the gate" in tab.page.locator(".key").inner_text()


def test_a_difference_above_one_needs_its_scale_at_its_field(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.refused = 1
    tab.pick("Decide (gate)")
    tab.page.select_option("#f-looks", "anytime")
    decide(tab, "id,candidate,baseline\n" + "".join(f"q{n},{n % 7},{n % 5}\n" for n in range(30)))
    assert "Give the scale of differences" in tab.problem()
    assert tab.page.get_attribute("#f-look_scale", "aria-invalid") == "true"
    tab.page.fill("#f-look_scale", "7")
    tab.submit("Decide")
    assert "not decided yet whether the candidate is worse" in tab.verdict()


LONG = "id,system,{0}\n" + "".join(
    f"q{n},{s},{n % k:d}\n" for n in range(24) for s, k in (("new", 2), ("old", 3))
)


@pytest.mark.parametrize(
    ("metric", "shown"), [("acc", "accuracy"), ("alpha", "alpha"), ("line/3_e", "line/3_e")]
)
def test_the_name_of_the_metric_stands_once_in_the_hypothesis(
    visit: Callable[..., Tab], metric: str, shown: str
) -> None:
    tab = visit()
    tab.pick("Paste")
    tab.pick("Decide (gate)")
    tab.page.fill("#paste-file", LONG.format(metric))
    tab.page.select_option("#f-higher_is_better", "true")
    tab.submit("Decide")
    tab.verdict()
    policy = tab.row("Policy")
    assert f"({shown}; higher is better)" in policy, policy


def test_a_system_that_none_of_the_largest_moves_favour_still_has_moves(visit: Callable[..., Tab]) -> None:
    """Twelve items went one way and three the other; the ten that are listed all went one way."""
    tab = visit()
    scores = [(3, 0)] * 12 + [(0, 1)] * 3 + [(1, 1)] * 5
    decide(tab, "id,new,old\n" + "".join(f"q{n},{u},{v}\n" for n, (u, v) in enumerate(scores)))
    tab.verdict()
    moved = tab.page.locator(".moved").inner_text()
    assert "Toward old\nnone of the 10 that moved most" in re.sub(r"\n+", "\n", moved), moved
    decide(tab, "id,new,old\n" + "".join(f"q{n},{n % 3 % 2},0\n" for n in range(20)))
    tab.verdict()
    assert tab.page.locator(".moved").inner_text().endswith("none")


SMALL = DATA / "mtme" / "small"


def scored() -> str:
    """Two labels and three systems' scores; A is the best and C the worst."""
    generator = random.Random(13)
    rows = []
    for item in range(60):
        label = generator.random() < 0.4
        scores = [round(generator.gauss(label * skill, 1.0), 2) for skill in (2.5, 1.0, 0.0)]
        rows.append(",".join(map(str, [int(label), *scores, f"day{item % 3}", item % 2])))
    return "truth,A,B,C,day,seen\n" + "\n".join(rows) + "\n"


def dropped(tab: Tab, files: dict[str, str]) -> None:
    carried = tab.page.evaluate_handle(DROP, [[name, text] for name, text in files.items()])
    tab.page.dispatch_event("body", "drop", {"dataTransfer": carried})


def asked(server: Server, path: str, files: dict[str, Any], **fields: str) -> Any:
    """The answer to the same files without a page."""
    return httpx.post(f"{server.url}{path}", files=files, data=fields).json()


def test_an_auc_of_a_dropped_table(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    dropped(tab, {"scored.csv": scored()})
    tab.page.select_option("#f-format", "ranking")
    tab.page.select_option("#f-statistic", "auc")
    had = tab.page.locator("optgroup", has=tab.page.locator("option[value=auc]")).get_attribute("label")
    assert had == "Scores, with human scores or gold labels"
    assert tab.page.locator("#h-statistic").inner_text().startswith("How well does the order of scores agree")
    tab.page.get_by_text("More options").click()
    chosen = {"gold_column": "truth", "system_u": "A", "system_v": "B", "groups": "day"}
    for name, value in chosen.items():
        tab.page.fill(f"#f-{name}", value)
    tab.submit()
    assert "AUC of A" in tab.verdict()
    fields = {"format": "ranking", "statistic": "auc", "confidence_level": "0.95", **chosen}
    answer = asked(server, "/v1/tests/files", {"file": ("scored.csv", scored())}, **fields)
    assert answer["method"]["exact"]
    assert answer["id"] in tab.row("Answer")


def test_a_concordance_with_events(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    dropped(tab, {"scored.csv": scored()})
    tab.page.select_option("#f-format", "ranking")
    tab.page.select_option("#f-statistic", "concordance")
    tab.page.get_by_text("More options").click()
    chosen = {"gold_column": "C", "event_column": "seen", "system_u": "A", "system_v": "B"}
    for name, value in chosen.items():
        tab.page.fill(f"#f-{name}", value)
    tab.submit()
    assert "concordance of A" in tab.verdict()
    fields = {"format": "ranking", "statistic": "concordance", "confidence_level": "0.95", **chosen}
    answer = asked(server, "/v1/tests/files", {"file": ("scored.csv", scored())}, **fields)
    assert answer["id"] in tab.row("Answer")


def test_a_kendall_within_groups_of_three_dropped_files(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    roles = {"u": "chrF-refA", "v": "BLEU-refA", "gold": "en-de.mqm"}
    texts = {f"{name}.seg.score": (SMALL / f"{name}.seg.score").read_text() for name in roles.values()}
    dropped(tab, texts)
    for row, name in enumerate(tab.page.locator("#rows .name").all_inner_texts()):
        role = next(role for role, own in roles.items() if name.startswith(own))
        tab.page.locator("#rows select").nth(row).select_option(role)
    tab.page.select_option("#f-format", "mt-metrics-eval")
    tab.page.select_option("#f-statistic", "kendall")
    tab.page.get_by_text("More options").click()
    tab.page.fill("#f-groups", "system")
    tab.submit()
    tab.verdict()
    files = {role: (f"{name}.seg.score", texts[f"{name}.seg.score"]) for role, name in roles.items()}
    fields = {"format": "mt-metrics-eval", "statistic": "kendall", "groups": "system"}
    answer = asked(server, "/v1/tests/files", files, **fields)
    assert tab.row("p-value").startswith(f"{answer['p_value']:.6g}")
    assert "within each system" in tab.page.locator(".notes", has_text="What was read").inner_text()


def test_a_board_of_systems_beside_gold(visit: Callable[..., Tab], server: Server) -> None:
    tab = opened(visit)
    text = "\n".join(",".join(line.split(",")[:4]) for line in scored().splitlines()) + "\n"
    dropped(tab, {"scored.csv": text})
    tab.page.select_option("#f-format", "ranking")
    tab.page.select_option("#f-statistic", "auc")
    tab.page.get_by_text("More options").click()
    tab.page.fill("#f-gold_column", "truth")
    tab.submit("Rank systems")
    tab.verdict()
    fields = {"format": "ranking", "statistic": "auc", "gold_column": "truth"}
    answer = asked(server, "/v1/compare", {"file": ("scored.csv", text)}, **fields)
    assert ranked(tab) == [one["name"] for one in answer["systems"]] == ["A", "B", "C"]
    scores = tab.page.locator(".standings tbody tr td:nth-of-type(2)").all_inner_texts()
    assert [float(score) for score in scores] == [
        pytest.approx(one["score"], abs=1e-3) for one in answer["systems"]
    ]


def test_a_slice_that_became_worse_fails_the_gate(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Paste")
    tab.pick("Decide (gate)")
    rows = [(n, int(n > 6), int(n < 7), "de" if n < 7 else "fr") for n in range(14)]
    tab.page.fill(
        "#paste-file", "id,new,old,language\n" + "".join(f"{a},{b},{c},{d}\n" for a, b, c, d in rows)
    )
    tab.page.get_by_text("More options").click()
    tab.page.fill("#f-slices", "language")
    tab.page.select_option("#f-fail_if_any_slice", "true")
    tab.submit("Decide")
    tab.verdict()
    assert tab.page.locator(".badge").first.inner_text() == "Fail"
    cells = tab.page.locator("table.slices tbody tr").first.locator("th, td").all_inner_texts()
    assert cells == ["de", "7", "−1", "0.007813", "0.01556", "yes"]
    assert findings(tab.page, "slices") == []


def test_one_system_against_a_threshold(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.refused = 1
    tab.pick("Paste")
    tab.pick("Decide (gate)")
    tab.page.fill("#f-margin", "0.1")
    tab.pick("Not below a threshold")
    of_two = [tab.page.locator(f"#f-{name}") for name in ("margin", "name_v", "looks", "fail_if_any_slice")]
    of_two.append(tab.page.locator("#examples"))
    assert not any(field.is_visible() for field in of_two)
    tab.page.fill("#paste-file", "id,score\n" + "".join(f"q{n},{0.4 * (n > 10)}\n" for n in range(14)))
    tab.submit("Decide")
    assert "threshold" in tab.problem()
    assert tab.page.get_attribute("#f-threshold", "aria-invalid") == "true"
    tab.page.fill("#f-threshold", "0.5")
    tab.submit("Decide")
    assert "right or wrong" in tab.problem()
    tab.page.get_by_role("button", name="Scores from 0 to 1", exact=True).click()
    assert (
        tab.verdict()
        == "The candidate is shown to be worse than the threshold 0.5 (Mean score, higher is better)."
    )
    assert tab.page.locator("#f-range").input_value() == "[0,1]"
    assert tab.row("Threshold").startswith("0.5")
    assert findings(tab.page, "floor") == []
    tab.pick("No regression")
    assert all(field.is_visible() for field in of_two)
    assert tab.page.locator("#f-threshold").is_hidden()


def test_a_baseline_beside_a_threshold_is_settled_by_a_button(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.refused = 1
    columns = {role: f"id,score\n1,{n}\n2,1\n3,1\n" for role, n in (("new", 1), ("old", 0))}
    dropped(tab, {f"{role}.csv": text for role, text in columns.items()})
    tab.pick("Decide (gate)")
    tab.pick("At least a threshold")
    tab.page.fill("#f-threshold", "0.9")
    tab.submit("Decide")
    assert "leave the baseline out" in tab.problem()
    tab.page.get_by_role("button", name="Fail only if shown to be worse than the baseline").click()
    assert tab.verdict().startswith("It is undecided whether new is worse than old")


def test_both_exchanges_are_shown(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Paste")
    tab.page.fill("#paste-file", RUNS)
    tab.page.get_by_text("More options").click()
    tab.page.select_option("#f-exchange", "both")
    tab.submit()
    tab.verdict()
    assert tab.row("p-value, items exchanged") == tab.row("p-value").partition("\n")[0] == "0.0078125"
    assert tab.row("p-value, runs exchanged").startswith("0.006029")


def test_pass_at_k_of_runs_that_are_exchanged(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    tab.pick("Paste")
    tab.page.fill("#paste-file", RUNS)
    tab.page.select_option("#f-statistic", "mean_difference")
    tab.page.select_option("#f-repeats", "any")
    tab.page.fill("#f-k", "2")
    tab.page.get_by_text("More options").click()
    tab.page.select_option("#f-exchange", "runs")
    tab.submit()
    tab.verdict()
    fields = {"statistic": "mean_difference", "repeats": "any", "k": "2", "exchange": "runs"}
    answer = asked(server, "/v1/tests/files", {"file": ("pasted.txt", RUNS)}, **fields)
    assert answer["repeats"]["k"] == 2
    assert answer["id"] in tab.row("Answer")
    assert "If all runs of an item, of both systems, came from" in tab.page.locator(".verdict").inner_text()
    assert tab.row("Question").endswith("runs of each item exchanged: this speaks of new runs of these items")


def test_votes_show_which_place_won(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Paste")
    votes = [(n, *("XY" if n % 2 else "YX"), "model_a" if n % 3 else "tie") for n in range(24)]
    text = "question_id,model_a,model_b,winner\n" + "".join(f"q{n},{a},{b},{won}\n" for n, a, b, won in votes)
    tab.page.fill("#paste-file", text)
    tab.submit()
    tab.verdict()
    shown = tab.row("Won by the first / second shown")
    assert (
        shown
        == "16 / 0\nties: 8; if the place did not matter and both orders were asked or drawn, p = 3.052 × 10⁻⁵"
    )
