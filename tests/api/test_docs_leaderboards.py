"""What docs/leaderboards.md says of adjustments, relations, pictures and refusals is what the service does."""

from __future__ import annotations

import json
import math
import re
import shlex
from typing import Any, get_args

import pytest

from exactperm.answers.board import Adjust, Relation
from exactperm.inference.compare.board import CONTROLS
from exactperm.reports.representations import BoardPicture
from tests.docs_pages import ROOT, first_cells, read, section

PAGE = "docs/leaderboards.md"
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
    "item_mismatch": (
        "id,system,question,score\n1,A,x,1\n1,B,y,0\n2,A,z,1\n2,B,w,0\n",
        "/line/3/3",
    ),
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
    "no_weights": (
        {"systems": SCORES, "weights": [1, 2, 3], "statistic": {"name": "sign"}},
        "/weights",
    ),
    "not_a_weight": ({"systems": SCORES, "weights": [0, 2, 3]}, "/weights/0"),
}


def test_every_adjustment_has_its_row_and_says_what_it_controls() -> None:
    rows = [line for line in section(PAGE, "Which adjustment?").splitlines() if line.startswith("| `")][1:]
    assert [row.split("`")[1] for row in rows] == list(get_args(Adjust))
    for row in rows:
        name, cell = row.split("`")[1], row.split(" | ")[2]
        words = ("familywise", "false discovery rate", "any dependence", "positive dependence", "nothing")
        for word in words:
            assert (word in cell) == (word in CONTROLS[name]), (name, word)  # type: ignore[index]


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
    assert said in " ".join(section(PAGE, "Which adjustment?").split())


def test_every_relation_and_every_picture_has_a_row(service: Any) -> None:
    cells = " ".join(first_cells(section(PAGE, "Read it")))
    assert set(get_args(Relation)) <= set(re.findall(r"`(\w+)`", cells))
    reports = section(PAGE, "Reports and pictures")
    pictures = [cell for cell in first_cells(reports) if "?" not in cell]
    assert [cell.strip("`") for cell in pictures] == list(get_args(BoardPicture))
    for name in get_args(BoardPicture):
        answer = service.post(f"/v1/compare?format=svg&picture={name}", content=TABLE, headers=CSV)
        assert answer.status_code == 200, name


def test_what_the_page_says_of_its_first_board_is_so(service: Any) -> None:
    board = service.post("/v1/compare", content=TABLE, headers=CSV).json()
    letters = {system["name"]: set(system["letters"]) for system in board["systems"]}
    assert letters["tuned"] & letters["large"] == {"a"}
    assert letters["tuned"] & letters["chat"] & letters["base"] == {"b"}
    relations = {(pair["u"], pair["v"]): pair["relation"] for pair in board["pairs"]}
    assert relations["large", "chat"] == "better"
    assert [relations[name, "small"] for name in letters if name != "small"] == ["better"] * 4
    assert [len(cluster) for cluster in board["groups"]["clusters"]] == [4, 1]


def test_every_code_of_the_table_of_refusals_is_tried() -> None:
    codes = re.findall(r"`(\w+)`", " ".join(first_cells(section(PAGE, "Refused"))))
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
