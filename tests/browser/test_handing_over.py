"""Test files chosen on the page, and downloads."""

import csv
import json
import random
import re
import shutil
import subprocess
from collections.abc import Callable
from html.parser import HTMLParser
from pathlib import Path

import httpx
import pytest

from tests.browser.conftest import DATA, Tab
from tests.process.conftest import PATIENCE_S, Server

TRIVIA = [DATA / "eus_trivia" / name for name in ("gpt-4-0613.jsonl", "gpt-3.5-turbo-0125.jsonl")]
DROP = """files => {
  const carried = new DataTransfer();
  for (const [name, text] of files) carried.items.add(new File([text], name));
  return carried;
}"""


def asked(server: Server, files: dict[str, Path], **fields: str) -> httpx.Response:
    """The answer to the same files without a page."""
    parts = {role: (path.name, path.read_bytes()) for role, path in files.items()}
    return httpx.post(
        f"{server.url}/v1/tests/files", files=parts, data={"confidence_level": "0.95", **fields}
    )


def named(note: str, names: dict[str, str]) -> str:
    """A note of the service as the page shows it: with the names of systems and files."""
    return re.sub(r"^([uv])(?=[: ])", lambda found: names[found[1]], re.sub(r" [uv] \((.*?)\)", r" \1", note))


def test_an_example_is_one_press_away_from_its_verdict(visit: Callable[..., Tab]) -> None:
    tab = visit()
    assert tab.page.locator("#empty").is_visible()
    assert tab.example() == (
        "The mean score of new model is 0.2083 higher than that of old model: 0.7292 against 0.5208, "
        "and chance hardly explains this (p = 0.0213)."
    )
    assert tab.row("p-value").startswith("0.0212708\nexact")
    assert (
        tab.row("as a fraction") == "697 / 2¹⁵"
    )  # 13 wins of 16, either way: 2 (560 + 120 + 16 + 1) / 2**16
    assert tab.row("Wins, ties, losses of new model").startswith("13 / 32 / 3 items")
    assert tab.page.evaluate("document.activeElement.id") == "verdict"
    tab.pictured()


def test_every_example_is_a_valid_test(visit: Callable[..., Tab]) -> None:
    tab = visit()
    titles = tab.page.locator("#examples button").all_inner_texts()
    assert len(titles) == 4
    assert all("p =" in tab.example(title) for title in titles)


def test_two_chosen_files_are_u_and_v_and_can_be_swapped(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    tab.page.set_input_files("#chooser", TRIVIA)
    assert tab.page.locator("#f-name_u").input_value() == "gpt-4-0613"
    tab.submit()
    assert tab.verdict().startswith(
        "The accuracy of gpt-4-0613 is 0.15 higher than that of gpt-3.5-turbo-0125: 0.675 against 0.525, "
        "but chance alone can explain this (p = 0.146)"
    )
    answer = asked(
        server, dict(zip("uv", TRIVIA, strict=True)), name_u="gpt-4-0613", name_v="gpt-3.5-turbo-0125"
    ).json()
    assert answer["id"] in tab.row("Answer")
    notes = tab.page.locator(".notes", has_text="What was read").inner_text()
    own = {"u": "gpt-4-0613", "v": "gpt-3.5-turbo-0125"}
    assert all(named(note, own) in notes for note in answer["reading"]["notes"])
    tab.page.get_by_role("button", name="Swap gpt-4-0613 and gpt-3.5-turbo-0125").click()
    assert tab.page.locator("#f-name_u").input_value() == "gpt-3.5-turbo-0125"
    tab.submit()
    assert tab.verdict().startswith("The accuracy of gpt-3.5-turbo-0125 is 0.15 lower")


def test_dropped_files_find_their_roles_by_name(visit: Callable[..., Tab], server: Server) -> None:
    tab = visit()
    paths = {role: DATA / "conllu" / f"{role}.conllu" for role in ("crf", "gold", "perceptron")}
    carried = tab.page.evaluate_handle(DROP, [[path.name, path.read_text()] for path in paths.values()])
    tab.page.dispatch_event("body", "drop", {"dataTransfer": carried})
    roles = tab.page.locator("#rows select")
    assert [roles.nth(place).input_value() for place in range(3)] == ["u", "gold", "v"]
    tab.page.select_option("#f-format", "conllu")
    tab.page.select_option("#f-statistic", "upos")
    tab.submit()
    assert "The UPOS of crf is" in tab.verdict()
    files = {"u": paths["crf"], "v": paths["perceptron"], "gold": paths["gold"]}
    answer = asked(server, files, format="conllu", statistic="upos", name_u="crf", name_v="perceptron").json()
    assert answer["id"] in tab.row("Answer")


def test_a_format_offers_only_the_options_it_uses(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.page.select_option("#f-format", "conllu")
    statistics = tab.page.locator("#f-statistic option").evaluate_all("all => all.map(one => one.value)")
    assert {"upos", "las"} < set(statistics)
    assert "signed_rank" not in statistics
    tab.page.get_by_text("More options").click()
    assert tab.page.locator("#f-items").is_visible()
    assert tab.page.locator("#f-measure").count() == 0


def test_two_pasted_columns_and_two_boxes_are_the_same_test(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.pick("Paste")
    tab.page.fill("#paste-file", "0.85,0.80\n0.90,0.85\n0.78,0.75\n0.92,0.88\n0.88,0.82\n")
    tab.submit()
    assert "0.046 higher" in tab.verdict()
    assert tab.row("p-value").startswith("0.0625")
    assert "no outcome could have had p below 0.0625" in tab.page.locator(".verdict").inner_text()
    first = tab.row("Answer")
    tab.pick("A box for each")
    tab.page.fill("#paste-u", "0.85\n0.90\n0.78\n0.92\n0.88\n")
    tab.page.fill("#paste-v", "0.80\n0.85\n0.75\n0.88\n0.82\n")
    tab.submit()
    tab.verdict()
    assert tab.row("Answer") == first


def test_a_file_of_100_000_rows(visit: Callable[..., Tab], tmp_path: Path) -> None:
    draw = random.Random(0)
    rows = (f"{place},{draw.random() < 0.71:d},{draw.random() < 0.70:d}\n" for place in range(100_000))
    path = tmp_path / "large.csv"
    path.write_text("id,u,v\n" + "".join(rows))
    tab = visit()
    tab.page.set_input_files("#chooser", path)
    tab.submit()
    assert "mean score of U" in tab.verdict()
    assert tab.row("Items") == "100,000"
    tab.pictured()


def test_the_statistics_are_grouped_by_data(visit: Callable[..., Tab]) -> None:
    tab = visit()
    groups = tab.page.locator("#f-statistic optgroup").evaluate_all(
        "all => all.map(one => [one.label, [...one.children].map(option => option.value)])"
    )
    named = dict(groups)
    assert named["Right or wrong, per item"] == ["mean_difference", "sign"]
    assert {"kappa", "balanced_accuracy", "g_mean"} < set(named["Labels, with gold"])
    assert all(statistics for _, statistics in groups)


def test_the_options_that_a_statistic_has_are_sent(visit: Callable[..., Tab]) -> None:
    tab = visit()
    tab.example("Scores")
    tab.page.select_option("#f-statistic", "signed_rank")
    tab.page.select_option("#f-zero_method", "pratt")
    tab.page.select_option("#f-alternative", "greater")
    tab.page.fill("#f-alpha", "0.01")
    tab.submit()
    assert "ranks of the differences favour reranked" in tab.verdict()
    assert "Significant at 0.01" in tab.page.locator(".badge").inner_text()
    assert "is reranked greater?" in tab.row("Question")


SHORT = [  # p, log10 p, alpha, as it is written
    (0.0494999, -1.305, 0.05, "0.0495"),
    (0.0499999, -1.301, 0.05, "0.0499999"),  # not 0.0500, which would be read as not below
    (0.05000001, -1.301, 0.05, "0.05000001"),
    (0.05, -1.30103, 0.05, "0.05"),
    (0.04996, -1.30138, 0.2, "0.04996"),  # nor where another level was chosen
    (0.009996, -2.00017, 0.05, "0.009996"),
    (0.99996, -0.0000174, 0.05, "0.99996"),  # not 1
    (1.0, 0.0, 0.05, "1"),
    (0.00003051757, -4.5154, 0.05, "3.05 × 10⁻⁵"),
    (5e-324, -4816.52, 0.05, "3.02 × 10⁻⁴⁸¹⁷"),  # never 0
]


def test_p_is_never_rounded_into_a_lie(visit: Callable[..., Tab]) -> None:
    script = """async (given) => {
      const { shortProbability } = await import("./page/numbers.js");
      return given.map(([p, log10, alpha]) => shortProbability(p, log10, alpha));
    }"""
    written = visit().page.evaluate(script, [list(given[:3]) for given in SHORT])
    assert written == [said for *_, said in SHORT]


def test_a_file_for_each_task_is_sent_with_its_system(visit: Callable[..., Tab], tmp_path: Path) -> None:
    """Names show the roles of two files; roles of others are chosen, and no file is swapped or left out."""
    names = ["candidate-law.csv", "candidate-art.csv", "law.csv", "art.csv"]
    for name in names:
        (tmp_path / name).write_text("id,score\na,1\nb,0\n")
    tab = visit()
    tab.page.set_input_files("#chooser", [tmp_path / name for name in names])
    roles = tab.page.locator("#rows select")
    assert [roles.nth(place).input_value() for place in range(2)] == ["u", "u"]
    for place in (2, 3):
        roles.nth(place).select_option("v")
    assert [roles.nth(place).input_value() for place in range(4)] == ["u", "u", "v", "v"]
    assert tab.page.locator("#f-name_u").input_value() == ""
    tab.refused = 1
    tab.page.evaluate("""() => {
      const send = XMLHttpRequest.prototype.send;
      XMLHttpRequest.prototype.send = function (body) {
        window.sent = [...body].filter(([, part]) => part instanceof File).map(([role, file]) => [role, file.name]);
        return send.call(this, body);
      };
    }""")
    tab.submit()
    sent = tab.page.evaluate("window.sent")
    assert sent == [list(part) for part in zip(["u", "u", "v", "v"], names, strict=True)]


class Tags(HTMLParser):
    """The elements and the text of a document."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)

    def handle_data(self, data: str) -> None:
        self.text += data


def copied(tab: Tab) -> str:
    tab.page.get_by_role("button", name="Copy as curl").click()
    tab.page.get_by_text("Copied.").wait_for()
    return str(tab.page.evaluate("navigator.clipboard.readText()"))


def run(command: str, folder: Path) -> tuple[int, str]:
    if shutil.which("curl") is None:
        pytest.skip("curl is not installed")
    done = subprocess.run(
        ["sh", "-c", command], cwd=folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    return done.returncode, done.stdout


def saved(tab: Tab, name: str, tmp_path: Path) -> Path:
    with tab.page.expect_download() as waiting:
        tab.page.get_by_role("button", name=name, exact=True).click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    return path


def test_the_copied_curl_line_gives_the_same_answer_for_files_with_awkward_names(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    names = {
        "gpt-4-0613.jsonl": """it's $(a) "b;c",d\\e=@.jsonl""",
        "gpt-3.5-turbo-0125.jsonl": "`two` files.jsonl",
    }
    paths = [tmp_path / name for name in names.values()]
    for name, path in zip(names, paths, strict=True):
        shutil.copy(DATA / "eus_trivia" / name, path)
    tab = visit()
    tab.page.set_input_files("#chooser", paths)
    tab.page.fill("#f-name_u", "@u;type='x'\"$HOME")
    tab.page.select_option("#f-alternative", "greater")
    tab.submit()
    tab.verdict()
    code, output = run(copied(tab), tmp_path)
    answer = json.loads(output)
    assert code == 0
    assert answer["alternative"] == "greater"
    assert answer["id"] in tab.row("Answer")


def test_the_copied_curl_line_carries_pasted_text(visit: Callable[..., Tab], tmp_path: Path) -> None:
    tab = visit()
    tab.example("F1 from counts")
    code, output = run(copied(tab), tmp_path)
    assert code == 0
    assert json.loads(output)["id"] in tab.row("Answer")


def test_the_copied_curl_line_of_a_gate_fails_when_the_gate_fails(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = visit()
    tab.pick("Decide (gate)")
    tab.pick("Improvement")
    tab.pick("Paste")
    tab.page.fill("#paste-file", "id,u,v\na,0.5,0.5\nb,0.25,0.5\nc,0.75,0.5\n")
    tab.submit("Decide")
    tab.verdict()
    assert tab.page.locator(".badge").inner_text() == "Fail"
    code, output = run(copied(tab), tmp_path)
    assert code == 22  # --fail-with-body: 409
    assert json.loads(output)["verdict"] == "fail"


def test_the_report_and_the_tables_are_downloaded_and_can_be_read(
    visit: Callable[..., Tab], tmp_path: Path
) -> None:
    tab = visit()
    tab.example()
    report = saved(tab, "Download Report", tmp_path)
    assert report.suffix == ".html"
    parsed = Tags()
    parsed.feed(report.read_text())
    assert {"html", "svg", "table"} <= set(parsed.tags)
    assert "script" not in parsed.tags
    assert "0.0212708" in parsed.text
    answer = json.loads(saved(tab, "Download JSON", tmp_path).read_text())
    assert answer["id"] in tab.row("Answer")
    with saved(tab, "Download CSV", tmp_path).open(newline="") as file:
        assert len(list(csv.DictReader(file))) == 1
    assert "| `new model` |" in saved(tab, "Download Markdown", tmp_path).read_text()
    assert saved(tab, "Download Picture (SVG)", tmp_path).read_bytes().lstrip().startswith(b"<")
