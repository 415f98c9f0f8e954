"""Test that README.md and docs/ match the service, and that `/docs/guide` serves them offline."""

import argparse
import json
import math
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, get_args
from urllib.parse import urldefrag, urljoin

import httpx
import pytest

from exactperm.answers.board import Adjust, Relation
from exactperm.api import pages
from exactperm.inference.compare.board import CONTROLS
from exactperm.reports.representations import BoardPicture
from tests import docs_pages
from tests.api.conftest import Service, problem
from tests.docs_pages import GUIDE, ROOT, first_cells, read, section

HOST = "localhost:8000"
CHANGES = {"runtime", "versions", "instance"}  # from run to run, or from release to release


@dataclass(frozen=True)
class Shown:
    """A curl line of a page and the block below it."""

    page: str
    command: str
    language: str
    output: str


SHOWN = [
    Shown(page, *groups)
    for page in GUIDE
    for groups in re.findall(
        r"^```sh\n(curl .*?)\n```\n\n```(json|text|markdown)\n(.*?)```$",
        docs_pages.read(page),
        re.MULTILINE | re.DOTALL,
    )
]


def sent(service: Service, command: str) -> httpx.Response:
    """Run a curl command in process; unknown options are an error."""
    parser = argparse.ArgumentParser("curl", exit_on_error=False)
    parser.add_argument("url")
    parser.add_argument("-H", "--header", action="append", default=[])
    parser.add_argument("-d", "--data", "--data-binary", dest="data")
    parser.add_argument("-F", "--form", action="append", default=[])
    parser.add_argument("--fail-with-body", action="store_true")
    options = parser.parse_args(shlex.split(command.replace("\\\n", " "))[1:])
    assert options.url.startswith(HOST)
    if options.form:
        parts = [part.split("=", maxsplit=1) for part in options.form]
        files = [
            (role, (Path(text[1:]).name, (ROOT / text[1:]).read_bytes()))
            for role, text in parts
            if text[0] == "@"
        ]
        fields = {name: text for name, text in parts if text[0] != "@"}
        return service.request("POST", options.url.removeprefix(HOST), files=files, data=fields)
    data: str = options.data
    content = (ROOT / data[1:]).read_bytes() if data.startswith("@") else data.encode()
    headers = dict(re.split(r": *", header, maxsplit=1) for header in options.header)
    return service.request("POST", options.url.removeprefix(HOST), content=content, headers=headers)


def same(answer: Any, shown: Any) -> bool:
    """Equal, but for the last digits of logarithms and roots on another machine."""
    if isinstance(answer, dict) and isinstance(shown, dict):
        return list(answer) == list(shown) and all(same(answer[name], shown[name]) for name in answer)
    if isinstance(answer, list) and isinstance(shown, list):
        return len(answer) == len(shown) and all(map(same, answer, shown))
    if isinstance(answer, float) and isinstance(shown, float):
        return answer == pytest.approx(shown, rel=1e-13)
    return bool(answer == shown)


def lasting(answer: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in answer.items() if name not in CHANGES}


def test_the_readme_starts_with_make_serve_one_curl_line_and_its_answer_in_one_line() -> None:
    readme = docs_pages.read("README.md")
    serve, curl = readme.index("    make serve"), readme.index("```sh\ncurl ")
    assert serve < curl < 1_000
    assert SHOWN[0].page == "README.md"
    assert SHOWN[0].language == "text"
    assert SHOWN[0].output.count("\n") == 1
    assert len(readme.encode()) <= 12_000


def test_every_curl_line_is_followed_by_its_output() -> None:
    # At the beginning of a line: those inside recipes and in indented blocks need a key or another server.
    lines = [line for page in GUIDE for line in re.findall(r"^curl .*", docs_pages.read(page), re.MULTILINE)]
    assert len(SHOWN) == len(lines) >= 9


@pytest.mark.parametrize("shown", SHOWN, ids=[f"{shown.page}-{number}" for number, shown in enumerate(SHOWN)])
def test_a_curl_line_gives_the_shown_answer(
    service: Any, shown: Shown, request: pytest.FixtureRequest
) -> None:
    """The layout of JSON is by hand, so that `--rewrite` leaves it alone."""
    response = sent(service, shown.command)
    if shown.language == "json":
        answer, expected = response.json(), json.loads(shown.output)
        assert list(answer) == list(expected)
        assert same(lasting(answer), lasting(expected)), (answer, expected)
    else:
        assert response.status_code == (409 if "--fail-with-body" in shown.command else 200), response.text
        if request.config.getoption("rewrite") and response.text != shown.output:
            command = f"{shown.command}\n```\n\n```{shown.language}\n"
            docs_pages.rewrite(shown.page, command + shown.output, command + response.text)
            return
        assert response.text == shown.output


def test_the_fields_that_the_readme_shows_are_in_the_answer_as_json(service: Any) -> None:
    (block,) = docs_pages.blocks("README.md", "json")
    expected = json.loads(block)
    answer = sent(service, SHOWN[0].command.replace("?format=text", "")).json()
    assert {name: answer[name] for name in expected} == expected


PAGE, ADJUSTMENTS = "docs/leaderboards.md", "docs/adjustments.md"
TABLE = (ROOT / "openapi/examples/files/board.csv").read_bytes()
CSV = {"content-type": "text/csv"}
SCORES = {"A": [1, 1, 0], "B": [1, 0, 0], "C": [0, 0, 0]}
SETS = {"x": {"systems": SCORES}, "y": {"systems": SCORES}}

# code: (request as JSON, or a table; pointer)
REFUSED: dict[str, tuple[dict[str, Any] | str, str]] = {
    "too_few_systems": ({"systems": {"A": [1, 0]}}, "/systems"),
    "too_many_systems": ({"systems": {f"s{place}": [0] for place in range(1_001)}}, "/systems"),
    "too_many_comparisons": ({"systems": {f"s{place}": [0] for place in range(800)}}, "/compare"),
    "duplicate_name": ({"systems": ["A", "A"], "scores": [[1, 0]]}, "/systems/1"),
    "duplicate_value": ("id,system,score\n1,A,1\n1,A,0\n1,B,1\n", "/line/3"),
    "unequal_repeats": ({"systems": {"A": [[1, 0], [1]], "B": [[1], [1]]}}, "/systems/B/0"),
    "ragged": ({"systems": ["A", "B"], "scores": [[1, 0], [1]]}, "/scores/1"),
    "length_mismatch": ({"systems": {"A": [1, 0], "B": [1]}}, "/systems/B"),
    "unmatched_ids": ({"systems": {"A": {"x": 1, "y": 0}, "B": {"x": 1}}}, "/systems/B"),
    "no_common_ids": ({"systems": {"A": {"x": 1}, "B": {"z": 1}}, "on_missing": "complete"}, "/systems/A"),
    "no_header": ("1,0\n1,1\n", "/line/1"),
    "columns_are_metrics": ("id,accuracy,wer\n1,1,0\n2,1,1\n", "/line/1"),
    "averages_only": ("metric,A,B\nbleu,30,28\nchrf,55,53\n", "/line/2"),
    "item_mismatch": ("id,system,question,score\n1,A,x,1\n1,B,y,0\n2,A,z,1\n2,B,w,0\n", "/line/3/3"),
    "choose_direction": (
        {
            "kind": "counts",
            "systems": {"A": {"a": [1, 2]}, "B": {"a": [1, 3]}},
            "statistic": {"name": "expression", "expression": "a"},
        },
        "/higher_is_better",
    ),
    "unknown_system": ({"systems": SCORES, "compare": [["A", "Z"]]}, "/compare/0/1"),
    "missing": ({"systems": SCORES, "compare": "baseline"}, "/baseline"),
    "one_sided_all_pairs": ({"systems": SCORES, "alternative": "greater"}, "/alternative"),
    "same_system": ({"systems": SCORES, "compare": [["A", "A"]]}, "/compare/0"),
    "duplicate_pair": ({"systems": SCORES, "compare": [["A", "B"], ["B", "A"]]}, "/compare/1"),
    "superfluous": ({"systems": SCORES, "family": "all"}, "/family"),
    "adjust_needs_exact_tests": (
        {"systems": SCORES, "adjust": "holm_discrete", "method": "bounds"},
        "/adjust",
    ),
    "null_not_exact": (
        {
            "systems": {
                name: [(place * step % 1) * 10.0**-place for place in range(1, 17) for _ in range(20)]
                for name, step in (("A", 0.1234567890123), ("B", 0.7654321098765))
            },
            "adjust": "holm_discrete",
        },
        "/adjust",
    ),
    "no_macro": ({"datasets": SETS, "statistic": {"name": "sign"}}, "/aggregate"),
    "combine_needs_macro": ({"datasets": SETS, "combine": "fisher", "aggregate": "micro"}, "/combine"),
    "combine_and_adjust": ({"datasets": SETS, "combine": "fisher", "adjust": "holm_discrete"}, "/combine"),
    "no_weights": ({"systems": SCORES, "weights": [1, 2, 3], "statistic": {"name": "sign"}}, "/weights"),
    "not_a_weight": ({"systems": SCORES, "weights": [0, 2, 3]}, "/weights/0"),
}


def test_every_adjustment_has_a_row_with_its_guarantee() -> None:
    rows = [
        line for line in section(ADJUSTMENTS, "Which adjustment?").splitlines() if line.startswith("| `")
    ][1:]
    names: list[Adjust] = list(get_args(Adjust))
    assert [row.split("`")[1] for row in rows] == names
    for name, row in zip(names, rows, strict=True):
        cell = row.split(" | ")[2]
        words = ("familywise", "false discovery rate", "any dependence", "positive dependence", "nothing")
        for word in words:
            assert (word in cell) == (word in CONTROLS[name]), (name, word)


def test_the_figures_of_each_adjustment_are_the_services(service: Any) -> None:
    def adjusted(name: str) -> dict[str, Any]:
        answer = service.post(f"/v1/compare?adjust={name}", content=TABLE, headers=CSV).json()
        (pair,) = [pair for pair in answer["pairs"] if (pair["u"], pair["v"]) == ("tuned", "base")]
        return dict(pair)

    low, high = adjusted("max_t")["p_adjusted_bounds"]
    outward = f"{math.floor(low * 1e4) / 1e4:.4f} and {math.ceil(high * 1e4) / 1e4:.4f}"
    said = (
        f"has p = {adjusted('none')['p_value']:.3g} alone, {adjusted('holm')['p_adjusted']:.3g} by `holm`, "
        f"{adjusted('holm_discrete')['p_adjusted']:.3g} by `holm_discrete`, {adjusted('bh')['p_adjusted']:.3g} by `bh`, "
        f"and `max_t` puts it between {outward}."
    )
    assert said in " ".join(section(ADJUSTMENTS, "Which adjustment?").split())


def test_every_relation_and_every_picture_has_a_row(service: Any) -> None:
    cells = " ".join(first_cells(section(PAGE, "Read it")))
    assert set(get_args(Relation)) <= set(re.findall(r"`(\w+)`", cells))
    reports = section(PAGE, "Reports and pictures")
    pictures = [cell for cell in first_cells(reports) if "?" not in cell]
    assert [cell.strip("`") for cell in pictures] == list(get_args(BoardPicture))
    for name in get_args(BoardPicture):
        answer = service.post(f"/v1/compare?format=svg&picture={name}", content=TABLE, headers=CSV)
        assert answer.status_code == (422 if name == "frontier" else 200), name  # which needs costs


def test_statements_on_the_first_board_of_the_page_are_true(service: Any) -> None:
    board = service.post("/v1/compare", content=TABLE, headers=CSV).json()
    letters = {system["name"]: set(system["letters"]) for system in board["systems"]}
    assert letters["tuned"] & letters["large"] == {"a"}
    assert letters["tuned"] & letters["chat"] & letters["base"] == {"b"}
    relations = {(pair["u"], pair["v"]): pair["relation"] for pair in board["pairs"]}
    assert relations["large", "chat"] == "better"
    assert [relations[name, "small"] for name in letters if name != "small"] == ["better"] * 4
    assert [len(cluster) for cluster in board["groups"]["clusters"]] == [4, 1]


def test_every_code_of_the_table_of_refusals_is_tried() -> None:
    codes = re.findall(r"`(\w+)`", " ".join(first_cells(section("docs/problems.md", "Refused boards"))))
    assert sorted(codes) == sorted(REFUSED)


@pytest.mark.parametrize("code", REFUSED)
def test_a_refusal_has_its_code_and_pointer(service: Any, code: str) -> None:
    request, pointer = REFUSED[code]
    if isinstance(request, str):
        answer = service.post("/v1/compare", content=request.encode(), headers=CSV)
    else:
        answer = service.post("/v1/compare", json={"kind": "scores", **request})
    assert answer.status_code == 422
    assert (pointer, code) in [(flaw["pointer"], flaw["code"]) for flaw in answer.json()["errors"]]


def test_the_plan_says_tests_methods_and_seconds(service: Any) -> None:
    (command,) = re.findall(
        r"^ {4}curl localhost:8000/v1/plan(.*?)\n\n", read(PAGE), re.MULTILINE | re.DOTALL
    )
    words = shlex.split(command.replace("\\\n", " "))
    answer = service.post("/v1/plan", json=json.loads(words[words.index("-d") + 1])).json()
    assert (answer["tests"], answer["boards"][0]["methods"]) == (1, ["binomial"])
    assert answer["seconds"] > 0


SERVED = "/docs/guide"
ADDRESSES = [
    SERVED if name == "docs/README.md" else f"{SERVED}/{name.removeprefix('docs/').removesuffix('.md')}"
    for name in GUIDE
    if name.startswith("docs/")
]


class Links(HTMLParser):
    """The links, pictures and scripts of a page: (tag, attributes)."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def addresses(self) -> list[str]:
        return [str(attrs[name]) for _, attrs in self.tags for name in ("href", "src") if name in attrs]

    def anchors(self) -> set[str]:
        return {str(attrs["id"]) for _, attrs in self.tags if "id" in attrs}


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_of_docs_is_served_and_all_its_links_work(service: Any, address: str) -> None:
    response = service.get(address)
    assert response.status_code == 200
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    links = Links(response.text)
    assert "h1" in {tag for tag, _ in links.tags}
    for link in links.addresses():
        assert not link.startswith("/"), "a prefix of a proxy would be lost"
        if link.startswith("http"):
            continue
        target, anchor = urldefrag(urljoin(f"http://test{address}", link))
        found = service.get(target.removeprefix("http://test"))
        assert found.status_code == 200, link
        if anchor:
            assert anchor in Links(found.text).anchors(), link


@pytest.mark.parametrize("address", ADDRESSES)
def test_a_page_loads_only_local_styles_and_pictures(service: Any, address: str) -> None:
    response = service.get(address)
    policy = response.headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; style-src 'self'; img-src 'self'; ")
    for tag, attrs in Links(response.text).tags:
        assert tag not in {"script", "iframe", "style", "form"}
        assert "style" not in attrs
        assert not any(name.startswith("on") for name in attrs)
    assert "&lt;!--" not in response.text


def test_pictures_and_style_have_their_types(service: Any) -> None:
    style, picture = service.get(f"{SERVED}/style.css"), service.get(f"{SERVED}/figure1.svg")
    assert style.headers["content-type"].startswith("text/css")
    assert picture.headers["content-type"] == "image/svg+xml"
    assert "default-src 'none'" in picture.headers["content-security-policy"]


@pytest.mark.parametrize(
    "name", ["nothing", "README", "../pyproject.toml", "%2e%2e/%2e%2e/pyproject.toml", "comparing.md", ""]
)
def test_other_names_are_not_found(service: Any, name: str) -> None:
    problem(service.get(f"{SERVED}/{name}"), 404)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A docs/ of the test's own."""
    caches = (pages.pages, pages.pictures, pages.rendered, pages._contents)
    monkeypatch.setattr(pages, "FOLDERS", (tmp_path,))
    for cached in caches:
        cached.cache_clear()
    yield tmp_path
    monkeypatch.undo()
    for cached in caches:
        cached.cache_clear()


def test_html_in_a_page_is_text_and_a_comment_is_nothing(folder: Path) -> None:
    page = (
        "# Title\n\n<script>alert(1)</script>\n\ntext <b onclick='x()'>bold</b> <!-- mark --> "
        "[link](javascript:alert(1))\n\n<!-- table: x -->\n\n![picture](http://elsewhere/x.png)\n"
    )
    (folder / "README.md").write_text(page, encoding="utf-8")
    tags = Links(pages.rendered("README").partition("<main>")[2]).tags
    assert {tag for tag, _ in tags} <= {"h1", "p", "img"}
    assert "mark" not in pages.rendered("README")
    assert "table: x" not in pages.rendered("README")


def test_a_link_out_of_the_guide_becomes_the_name_of_the_file(folder: Path) -> None:
    (folder / "README.md").write_text("# A\n\n* [B](b.md)\n* [C](../c/README.md#d)\n", encoding="utf-8")
    (folder / "b.md").write_text("# B\n\n[up](README.md#a) [here](#b)\n", encoding="utf-8")
    assert re.findall(r'href="([^"]+)"', pages.rendered("b").partition("<main>")[2]) == ["../guide#a", "#b"]
    index = pages.rendered("README").partition("<main>")[2]
    assert re.findall(r'href="([^"]+)"', index) == ["guide/b"]
    assert "../c/README.md#d" in index


def test_examples_and_links_are_for_the_server_that_is_read(service: Any) -> None:
    at = {"host": "127.0.0.1:8431"}
    page = service.get(f"{SERVED}/comparing", headers=at).text
    assert "localhost:8000" not in page
    assert "curl &#x27;127.0.0.1:8431/v1/tests/" in page or "curl '127.0.0.1:8431/v1/tests/" in page
    assert '<a href="../../">http://127.0.0.1:8431/</a>' in page
    assert (
        urljoin("http://127.0.0.1:8431/below/docs/guide/comparing", "../../")
        == "http://127.0.0.1:8431/below/"
    )
    assert "localhost:8000" in service.get(f"{SERVED}/comparing", headers={"host": "localhost:8000"}).text


def test_an_invalid_host_is_not_written_into_a_page(service: Any) -> None:
    for host in ('x"><script>alert(1)</script>', "a b", "a/b", "x" * 300):
        page = service.get(f"{SERVED}/comparing", headers={"host": host})
        assert page.status_code != 200 or "localhost:8000" in page.text
        assert "<script" not in page.text
