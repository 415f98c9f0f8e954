"""Leaderboards through the front door: against enumeration, their plans, reports, refusals and data sets."""

import json
import math
import random
import re
from collections.abc import Iterator, Mapping
from fractions import Fraction
from itertools import combinations
from typing import Any
from xml.etree import ElementTree as ET

import numpy as np
import pytest

from exactperm.api.openapi.schemas import CompareAnswer, ComparePlanAnswer, PlanAnswer
from exactperm.settings import Settings
from tests.api.conftest import Service, answer_to, error_of, errors_of, problem, running
from tests.binary import npy
from tests.enumeration import by_signs, holm, share, signed_sums
from tests.settings_with import settings_with

PATH = "/v1/compare"
BOARDS: dict[str, dict[str, list[str]]] = {
    "right or wrong": {
        "A": list("11110111"),
        "B": list("10110100"),
        "C": list("10100000"),
        "D": list("00100010"),
    },
    "decimals": {
        "α": ["0.1", "0.25", "0.9", "0.75", "0.5", "1"],
        "b": ["0.05", "0.2", "0.8", "0.7", "0.55", "0.25"],
        "B": ["0.1", "0.2", "0.3", "0.4", "0.5", "0.6"],
    },
    "integers": {
        "x": ["20", "17", "3", "12", "9", "15", "20"],
        "y": ["19", "17", "2", "10", "11", "1", "20"],
        "z": ["0", "16", "1", "10", "5", "1", "3"],
        "z2": ["0", "16", "1", "10", "5", "1", "3"],
    },
}


def fractions(column: list[str]) -> list[Fraction]:
    return [Fraction(score) for score in column]


def request(columns: dict[str, list[str]], **options: Any) -> dict[str, Any]:
    return {
        "kind": "scores",
        "systems": {name: [float(score) for score in column] for name, column in columns.items()},
        **options,
    }


@pytest.mark.parametrize("name", BOARDS)
def test_a_small_board_is_that_of_all_exchanges(service: Any, name: str) -> None:
    columns = {system: fractions(column) for system, column in BOARDS[name].items()}
    said = answer(service, request(BOARDS[name], alpha=0.3))
    scores = {system: sum(column, Fraction(0)) / len(column) for system, column in columns.items()}
    best_first = sorted(scores, key=lambda system: (-scores[system], system))
    assert [system["name"] for system in said["systems"]] == best_first
    for system in said["systems"]:
        own = scores[system["name"]]
        assert system["score"] == pytest.approx(float(own), rel=1e-12)
        assert system["rank"] == 1 + sum(other > own for other in scores.values())
        assert system["n"] == len(columns[system["name"]])

    pairs = list(combinations(best_first, 2))
    assert [(pair["u"], pair["v"]) for pair in said["pairs"]] == pairs
    p = [by_signs(columns[u], columns[v]) for u, v in pairs]
    for pair, raw, adjusted in zip(said["pairs"], p, holm(p), strict=True):
        u, v = columns[pair["u"]], columns[pair["v"]]
        assert pair["p_value"] == pytest.approx(float(raw), rel=1e-9)
        assert pair["p_value_bounds"][0] <= pair["p_value"] <= pair["p_value_bounds"][1]
        assert pair["p_adjusted"] == pytest.approx(float(adjusted), rel=1e-9)
        assert pair["difference"] == pytest.approx(float(scores[pair["u"]] - scores[pair["v"]]), abs=1e-12)
        wins = sum(a > b for a, b in zip(u, v, strict=True))
        losses = sum(a < b for a, b in zip(u, v, strict=True))
        assert (pair["wins"], pair["losses"], pair["ties"]) == (wins, losses, len(u) - wins - losses)
        if pair["relation"] != "untestable":
            assert pair["relation"] == ("better" if adjusted <= Fraction("0.3") else "tied")
    assert said["family"]["size"] == len(pairs)
    assert said["family"]["adjust"] == "holm"
    assert said["datasets"] is None
    assert said["overall"] is None


def test_the_order_of_systems_and_of_members_changes_nothing(service: Any) -> None:
    columns = BOARDS["integers"]
    one = answer(service, request(columns))
    backwards = dict(reversed(request(dict(reversed(columns.items()))).items()))
    other = answer(service, backwards)
    del one["runtime"], other["runtime"]
    assert one == other
    changed = answer(service, request({**columns, "x": ["19", *columns["x"][1:]]}))
    assert changed["id"] != one["id"]


def test_the_same_board_in_every_media_type_has_the_same_systems_and_pairs(service: Any) -> None:
    columns = BOARDS["right or wrong"]
    names, rows = list(columns), list(zip(*columns.values(), strict=True))
    table = "\n".join([",".join(names), *(",".join(row) for row in rows)]) + "\n"
    lines = "\n".join(
        json.dumps({"id": f"q{item}", "system": name, "score": int(score)})
        for item, row in enumerate(rows)
        for name, score in zip(names, row, strict=True)
    )
    array = npy(np.array(rows, dtype=float))
    ids = {"ids": [f"q{item}" for item in range(len(rows))]}
    bodies = [
        service.post(PATH, json=request(columns)),
        service.post(PATH, json=request(columns, **ids)),
        service.body(PATH, table.encode(), "text/csv"),
        service.body(PATH, table.replace(",", "\t").encode(), "text/tab-separated-values"),
        service.body(PATH, lines.encode(), "application/x-ndjson"),
        service.body(f"{PATH}?systems={','.join(names)}", array, "application/x-npy"),
    ]
    for answered in bodies:
        assert answered.status_code == 200, answered.text[:500]
        for member in ("systems", "pairs", "groups", "family"):
            assert answered.json()[member] == bodies[0].json()[member]


def test_options_of_a_table_are_query_parameters(service: Any) -> None:
    table = b"id,A,B,C\nq1,1,1,0\nq2,1,0,0\nq3,1,1,1\nq4,0,1,0\nq5,1,0,0\n"
    query = "adjust=bh&compare=baseline&baseline=C&alternative=greater&alpha=0.2"
    said = service.body(f"{PATH}?{query}", table, "text/csv").json()
    assert [(pair["u"], pair["v"]) for pair in said["pairs"]] == [("A", "C"), ("B", "C")]
    known = {"exact": 2, "bracketed": 0, "sampled": 0}
    family = {"adjust": "bh", "size": 2, "alpha": 0.2, "controls": "", "certainty": known}
    assert said["family"] | {"controls": ""} == family
    assert (said["compare"], said["baseline"], said["groups"]) == ("baseline", "C", None)
    # Three items on which A alone is right: one exchange in eight is as far in this direction.
    assert said["pairs"][0]["p_value"] == 0.125


def test_several_data_sets_have_a_board_each(service: Any) -> None:
    boards = {name: request(columns) for name, columns in BOARDS.items()}
    body = {
        "kind": "scores",
        "datasets": {name: {"systems": board["systems"]} for name, board in boards.items()},
        "aggregate": None,
    }
    said = answer(service, body)
    assert [said[member] for member in ("systems", "pairs", "groups", "family", "overall")] == [None] * 5
    assert list(said["datasets"]) == sorted(BOARDS)
    for name, board in said["datasets"].items():
        alone = answer(service, boards[name])
        assert {member: alone[member] for member in board if member != "warnings"} == {
            member: value for member, value in board.items() if member != "warnings"
        }


def test_an_answer_has_an_id_an_etag_and_a_signature(service: Any) -> None:
    body = request(BOARDS["right or wrong"]) | {"seed": 157}  # in no other test, so that no answer is kept
    answered = service.post(PATH, json=body)
    said = answered.json()
    assert re.fullmatch(r"c_[0-9a-f]{16}", said["id"])
    assert answered.headers["etag"] == f'W/"{said["id"]}"'
    version = said["versions"]["algorithm"]
    assert said["signature"] == (
        f"exactperm|alg:{version}|compare|holm|mean_difference|systems:4|pairs:6|sha:{said['id'][2:10]}"
    )
    assert re.fullmatch(r"queue;dur=[\d.]+, compute;dur=[\d.]+", answered.headers["server-timing"])


def without_runtime(body: bytes) -> bytes:
    before, _, after = body.partition(b'"runtime":')
    return before + after.partition(b"}")[2]


def test_in_place_in_a_worker_and_from_the_cache_the_bytes_are_the_same(
    service: Any, worker_service: Any
) -> None:
    drawn = random.Random(3)
    body = request({name: [str(drawn.randint(0, 1)) for _ in range(40)] for name in "abcdef"})
    here, there, kept = (one.post(PATH, json=body) for one in (service, worker_service, worker_service))
    assert without_runtime(here.content) == without_runtime(there.content) == without_runtime(kept.content)
    assert "age" not in there.headers
    assert kept.headers["age"] == "0"
    assert kept.headers["server-timing"].startswith("cache;desc=hit")
    assert kept.json()["runtime"]["engine_ms"] == 0.0


def test_twenty_systems_on_two_hundred_items(worker_service: Any) -> None:
    drawn = random.Random(20)
    columns = {
        f"system {number:02}": [str(int(drawn.random() < 0.3 + number / 40)) for _ in range(200)]
        for number in range(20)
    }
    said = answer(worker_service, request(columns))
    assert len(said["systems"]) == 20
    assert len(said["pairs"]) == said["family"]["size"] == 190
    assert all(pair["exact"] for pair in said["pairs"])
    by_name = {system["name"]: system for system in said["systems"]}
    for pair in said["pairs"]:
        assert by_name[pair["u"]]["rank"] <= by_name[pair["v"]]["rank"]
        share = set(by_name[pair["u"]]["letters"]) & set(by_name[pair["v"]]["letters"])
        assert bool(share) == (pair["relation"] not in {"better", "worse"})
    # One pair as the test of the two alone.
    u, v = said["pairs"][7]["u"], said["pairs"][7]["v"]
    alone = worker_service.post(
        "/v1/tests/scores", json={"u": [float(x) for x in columns[u]], "v": [float(x) for x in columns[v]]}
    ).json()
    assert said["pairs"][7]["p_value"] == pytest.approx(alone["p_value"], rel=1e-9)


@pytest.mark.parametrize("listed", ["all", "significant", "none"])
def test_listing_pairs_does_not_change_the_rest(service: Any, listed: str) -> None:
    body = request(BOARDS["right or wrong"], alpha=0.4)
    everything = answer(service, body)
    some = answer(service, {**body, "pairs": listed})
    assert some["systems"] == everything["systems"]
    assert some["family"] == everything["family"]
    wanted = {
        "all": {"better", "worse", "tied", "undecided", "untestable"},
        "significant": {"better", "worse"},
    }
    shown = [pair for pair in everything["pairs"] if pair["relation"] in wanted.get(listed, set())]
    assert some["pairs"] == shown


@pytest.mark.parametrize("scores", [(20, 3, 0), (1.0, 0.5, 0.0)])
def test_a_pair_without_common_items_only_attains_p_1_and_does_not_affect_holm_discrete(
    service: Any, scores: tuple[float, float, float]
) -> None:
    high, middle, low = scores
    items = [f"q{number}" for number in range(7)]
    three = {
        "A": dict.fromkeys(items, high),
        "B": dict.fromkeys(items[:6], middle),
        "C": {"elsewhere": low, **dict.fromkeys(items, low)},
    }
    body = {"kind": "scores", "adjust": "holm_discrete", "on_missing": "pairwise", "alpha": 0.07}
    without = answer(service, {**body, "systems": three})
    apart = {**three, "D": {"nowhere": middle}}
    said = answer(service, {**body, "systems": apart})
    by_names = {(pair["u"], pair["v"]): pair for pair in said["pairs"]}
    alone = [pair for names, pair in by_names.items() if "D" in names]
    assert [(pair["n"], pair["p_adjusted_bounds"], pair["relation"]) for pair in alone] == [
        (0, [1.0, 1.0], "untestable")
    ] * 3
    # F_k is 0 below 1: the other pairs are adjusted as if these were not there.
    for pair in without["pairs"]:
        assert by_names[pair["u"], pair["v"]] == pair
    # p is 1/64 once, which the others cannot attain, and 1/32 twice.
    assert sorted(pair["p_adjusted"] for pair in without["pairs"]) == [1 / 64, 1 / 16, 1 / 16]
    assert {pair["relation"] for pair in without["pairs"]} == {"better"}


@pytest.mark.parametrize("items", [1_070, 1_080, 2_005])
def test_underflow_gives_the_smallest_double_and_the_right_logarithm(service: Any, items: int) -> None:
    systems = {"A": [1] * items, "B": [0] * items, "C": [0] * items}
    pairs = answer(service, {"kind": "scores", "systems": systems, "adjust": "none"})["pairs"]
    true = Fraction(1, 2 ** (items - 1))
    for pair in pairs[:2]:
        assert pair["p_value"] == max(float(true), 5e-324) == pair["p_adjusted"]
        assert pair["log10_p_value"] == pytest.approx((1 - items) * math.log10(2), rel=1e-13)
        low, high = map(Fraction, pair["p_value_bounds"])
        assert low <= true <= high


WIDE = "id,A,B\nq1,1,0\nq2,1,1\nq3,0,0\nq4,1,0\nq5,0,0\nq6,1,0\n"
LONG = "id,system,score\n1,A,1\n1,B,0\n2,A,1\n2,B,1\n"


def counted(first: int) -> str:
    """A table whose column of ids has an unknown name, and only counts the rows."""
    lines = WIDE.splitlines()[1:]
    return "zeile,A,B\n" + "".join(f"{first + row},{line[3:]}\n" for row, line in enumerate(lines))


@pytest.mark.parametrize("first", [0, 1])
def test_a_column_that_counts_the_rows_is_not_a_system(service: Any, first: int) -> None:
    files = {"file": ("board.csv", counted(first))}
    said = problem(service.post("/v1/compare", files=files), 422)
    assert said["errors"][0]["code"] == "index_column"
    assert said["errors"][0]["pointer"] == "/files/file/line/1/1"
    chosen = service.post("/v1/compare", files=files, data={"systems": "A,B"})
    assert [one["name"] for one in chosen.json()["systems"]] == ["A", "B"]


def test_a_column_without_numbers_is_named(service: Any) -> None:
    said = problem(service.body("/v1/compare", LONG.replace("system", "sytem").encode(), "text/csv"), 422)
    assert said["errors"][0]["code"] == "choose_system_column"
    assert said["errors"][0]["choices"][0]["fields"] == {"system_column": "sytem"}


def test_a_column_of_texts_beside_systems_is_left_out_with_a_note(service: Any) -> None:
    answer = service.body("/v1/compare", WIDE.replace("id,", "question,").encode(), "text/csv").json()
    assert [one["name"] for one in answer["systems"]] == ["A", "B"]
    assert 'Columns of texts are not systems and were left out: "question".' in answer["reading"]["notes"]


def test_reading_names_the_files(service: Any) -> None:
    files = [("system", (f"{name}.csv", "id,score\n1,1\n2,0\n")) for name in ("new", "base")]
    notes = service.post("/v1/compare", files=files).json()["reading"]["notes"]
    assert {"new: 2 items read from new.csv.", "base: 2 items read from base.csv."} <= set(notes)


def test_a_missing_choice_lists_the_options(service: Any) -> None:
    said = problem(service.post("/v1/compare", json={"systems": {"A": [1, 0], "B": [0, 1]}}), 422)
    assert said["errors"][0]["pointer"] == "/kind"
    assert all(kind in said["detail"] for kind in ("scores", "counts", "predictions"))


@pytest.fixture(scope="module")
def boards() -> Iterator[Service]:
    """Use a separate service: large boards use up the share of time of small requests."""
    yield from running(Settings(workers=1))


def listed_answer(boards: Service, body: Any) -> dict[str, Any]:
    return answer_to(boards.post(PATH, body))


def many(count: int, kind: int = 0) -> dict[str, list[int]]:
    """That many systems on five items, right or wrong as the digits of their numbers are."""
    return {f"s{n:03}": [(n + kind) >> bit & 1 for bit in range(5)] for n in range(count)}


def test_a_large_board_lists_the_pairs_that_fit_and_counts_the_others(boards: Service) -> None:
    """150 systems on five items were 1 KB of scores and 4 MB of answer; 500 were 49 MB."""
    systems = many(150)
    body = {"kind": "scores", "systems": systems}
    whole = listed_answer(boards, {**body, "pairs": "all"})
    assert len(whole["pairs"]) == 150 * 149 // 2 == 11_175
    said = listed_answer(boards, body)
    assert said["pairs"] == whole["pairs"][:10_000]
    assert [said[name] == whole[name] for name in ("systems", "groups", "family", "id")] == [
        True,
        True,
        True,
        False,
    ]
    (warning,) = [one for one in said["warnings"] if one["code"] == "pairs_left_out"]
    assert warning["detail"].startswith("1,175 of 11,175 pairs are not listed")
    assert not any(one["code"] == "pairs_left_out" for one in whole["warnings"])
    rows = boards.post(f"{PATH}?format=csv&table=pairs", body).text.splitlines()
    assert len(rows) == 1 + 10_000
    assert "1,175 of 11,175 pairs are not listed" in rows[1]
    for form, shown in [
        ("markdown", "1,175 of 11,175 pairs"),
        ("html", "1,175 of 11,175 pairs"),
        ("text", "[pairs_left_out]"),
    ]:
        assert shown in boards.post(f"{PATH}?format={form}", body).text
    lines = (
        ",".join(systems)
        + "\n"
        + "".join(",".join(map(str, row)) + "\n" for row in zip(*systems.values(), strict=True))
    )
    for query, count in [("", 10_000), ("?pairs=all", 11_175)]:
        assert len(boards.body(PATH + query, lines.encode(), "text/csv").json()["pairs"]) == count


def test_boards_of_data_sets_share_the_limit_of_pairs(boards: Service) -> None:
    sets = {f"d{n}": {"systems": many(90, n)} for n in range(2)}
    said = listed_answer(boards, {"kind": "scores", "datasets": sets})
    every = [said["overall"], *said["datasets"].values()]
    assert [len(board["pairs"]) for board in every] == [10_000 // 3] * 3
    for board in every:
        (warning,) = [one for one in board["warnings"] if one["code"] == "pairs_left_out"]
        assert warning["detail"].startswith("672 of 4,005 pairs are not listed")


def test_a_small_answer_lists_all_pairs(boards: Service) -> None:
    """Also with a baseline, of which none is left out."""
    for body in [
        {"kind": "scores", "systems": many(4)},
        {"kind": "scores", "systems": many(150), "compare": "baseline", "baseline": "s000"},
    ]:
        default, whole = (listed_answer(boards, {**body, **more}) for more in ({}, {"pairs": "all"}))
        assert {**default, "runtime": None} == {**whole, "runtime": None}


SYSTEMS = {"A": [1, 0, 1, 1], "B": [0, 0, 1, 0], "C": [1, 1, 1, 0]}
DECIMALS = {
    name: [0.125 * score + 0.01 * item for item, score in enumerate(own)] for name, own in SYSTEMS.items()
}


def planned(service: Any, request: dict[str, Any]) -> dict[str, Any]:
    answered = service.post("/v1/plan", json={"kind": "compare", "request": request})
    assert answered.status_code == 200, answered.text[:500]
    ComparePlanAnswer.model_validate_json(answered.content)
    said: dict[str, Any] = answered.json()
    return said


def test_the_plan_of_one_board(service: Any) -> None:
    said = planned(service, {"kind": "scores", "systems": SYSTEMS})
    assert (said["kind"], said["tests"]) == ("compare", 3)
    assert 0 < said["seconds"] <= said["longest_seconds"] < 1
    (board,) = said["boards"]
    assert {**board, "seconds": 0} == {
        "dataset": None, "systems": 3, "tests": 3, "methods": ["binomial"], "seconds": 0
    }  # fmt: skip
    assert "pairs" not in said


def test_the_plan_names_the_method_that_the_answer_has(service: Any) -> None:
    request = {"kind": "scores", "systems": DECIMALS}
    answered = service.post("/v1/compare", json=request).json()
    (board,) = planned(service, request)["boards"]
    assert board["methods"] == sorted({pair["method"] for pair in answered["pairs"]})


def test_the_plan_of_several_data_sets(service: Any) -> None:
    two = {"A": SYSTEMS["A"], "B": SYSTEMS["B"]}
    said = planned(
        service,
        {"kind": "scores", "datasets": {"y": {"systems": SYSTEMS}, "x": {"systems": two}}, "aggregate": None},
    )
    assert [(board["dataset"], board["systems"], board["tests"]) for board in said["boards"]] == [
        ("x", 2, 1),
        ("y", 3, 3),
    ]
    assert said["tests"] == 4


def test_more_pairs_take_longer(service: Any) -> None:
    few = {f"s{number}": SYSTEMS["A"] for number in range(5)}
    many = {f"s{number}": SYSTEMS["A"] for number in range(50)}
    seconds = [planned(service, {"kind": "scores", "systems": own})["seconds"] for own in (few, many)]
    assert seconds[0] < seconds[1]


def test_a_data_set_costs_something_however_small(service: Any) -> None:
    """300 boards of one pair take far longer than one board of 300 pairs."""
    two = {"systems": {"A": [1, 0, 1, 1], "B": [0, 0, 1, 0]}}
    sets = {"kind": "scores", "datasets": {f"d{number}": two for number in range(300)}, "aggregate": None}
    board = {"kind": "scores", "systems": {f"s{number}": SYSTEMS["A"] for number in range(25)}}
    many, one = planned(service, sets), planned(service, board)
    assert many["tests"] == one["tests"] == 300
    assert many["seconds"] > 10 * one["seconds"]


@pytest.mark.parametrize("name", ["bleu", "chrf"])
def test_pairs_of_corpus_scores_take_longer_than_those_of_class_f1(service: Any, name: str) -> None:
    texts = ["a cat on a mat", "the cat sat on the mat", "on the mat sat a cat", "a mat"]
    systems = {f"s{place}": texts[place:] + texts[:place] for place in range(4)}
    request = {"kind": "predictions", "gold": texts, "systems": systems}
    macro, micro = ({"name": "f1", "average": average} for average in ("macro", "micro"))
    corpus, of_classes, of_sums = (
        planned(service, {**request, "statistic": each})["seconds"] for each in ({"name": name}, macro, micro)
    )
    assert corpus > 1.5 * of_classes  # the least p of any outcome is a part of both prices
    assert corpus > 5 * of_sums


def test_a_test_is_planned_as_before(service: Any) -> None:
    answered = service.post("/v1/plan", json={"kind": "scores", "request": {"u": [1, 0, 1], "v": [0, 0, 1]}})
    assert answered.status_code == 200
    PlanAnswer.model_validate_json(answered.content)


TWO: dict[str, Any] = {"kind": "scores", "systems": {"A": [1, 0, 1], "B": [0, 0, 1]}}
THREE: dict[str, Any] = {"kind": "scores", "systems": {"A": [1, 0, 1], "B": [0, 0, 1], "C": [0, 1, 0]}}
REFUSED: dict[str, tuple[dict[str, Any], str, str]] = {
    "no kind": ({"systems": TWO["systems"]}, "/kind", "missing"),
    "one system": ({"kind": "scores", "systems": {"A": [1, 0]}}, "/systems", "too_few_systems"),
    "a text": ({"kind": "scores", "systems": {"A": [1, 0], "B": [1, "x"]}}, "/systems/B/1", "not_a_number"),
    "a text of a data set": (
        {"kind": "scores", "datasets": {"a/b": {"systems": {"A": [1, 0], "B": [1, "x"]}}}}, "/datasets/a~1b/systems/B/1", "not_a_number"
    ),
    "an unknown field": ({**TWO, "sistems": {}}, "/sistems", "unknown_field"),
    "an unknown baseline": ({**TWO, "compare": "baseline", "baseline": "Z"}, "/baseline", "unknown_system"),
    "no baseline": ({**TWO, "compare": "baseline"}, "/baseline", "missing"),
    "an unknown system": ({**TWO, "compare": [["A", "Z"]]}, "/compare/0/1", "unknown_system"),
    "a side of all pairs": ({**TWO, "alternative": "less"}, "/alternative", "one_sided_all_pairs"),
    "an unknown adjustment": ({**TWO, "adjust": "tukey"}, "/adjust", "literal_error"),
    "alpha": ({**TWO, "alpha": 2}, "/alpha", "less_than"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_refusals_point_to_the_error(service: Service, name: str) -> None:
    body, pointer, code = REFUSED[name]
    said = problem(service.post(PATH, json=body), 422)
    assert said["type"].endswith("#invalid-test")
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == (pointer, code)
    assert said["detail"].endswith((".", ")", "?"))


@pytest.mark.parametrize("name", [name for name in REFUSED if name != "no kind"])
def test_a_plan_points_below_the_request(service: Service, name: str) -> None:
    body, pointer, code = REFUSED[name]
    assert error_of(service.post("/v1/plan", json={"kind": "compare", "request": body})) == (
        f"/request{pointer}",
        code,
    )


@pytest.mark.parametrize(("content", "status"), [(b"{", 400), (b"[]", 422), (b"", 400), (b"\xff", 400)])
def test_bodies_that_are_not_requests_are_refused(service: Service, content: bytes, status: int) -> None:
    problem(service.body(PATH, content), status)


def test_heads_are_checked_as_those_of_tests(service: Service) -> None:
    problem(service.body(PATH, b"x", "text/html"), 415)
    problem(service.body(PATH, b"{}", headers={"accept": "image/gif"}), 406)
    assert service.get(PATH).status_code == 405
    for query, pointer, code in (
        ("format=docx", "/?format", "unknown_format"),
        ("theme=dark", "/?theme", "unused_parameter"),
        ("picture=pie", "/?picture", "unknown_picture"),
        ("picture=bars", "/?picture", "unused_parameter"),
        ("table=cells", "/?table", "unknown_table"),
        ("table=pairs", "/?table", "unused_parameter"),
        ("table=pairs&table=pairs", "/?table", "duplicate_parameter"),
        ("timeout_s=0", "/?timeout_s", "not_a_duration"),
        ("adjust=bh", "/?adjust", "unknown_parameter"),
    ):
        assert error_of(service.post(f"{PATH}?{query}", json=TWO)) == (pointer, code), query


def test_a_picture_or_a_table_is_of_a_comparison_alone(service: Service) -> None:
    assert (
        error_of(service.post("/v1/tests/scores?picture=bars", json={"u": [1], "v": [0]}))[1]
        == "unknown_parameter"
    )


@pytest.fixture(scope="module")
def narrow() -> Iterator[Service]:
    yield from running(
        settings_with(
            workers=1,
            max_systems=3,
            max_comparisons=4,
            engine_budget_operations=100_000,
            max_timeout_s=2.0,
            most_over_deadline=1.0,
        )
    )


def test_too_many_systems_or_pairs_are_refused_before_anything_runs(narrow: Service) -> None:
    assert narrow.post(PATH, json=THREE).status_code == 200
    four = {**THREE, "systems": {**THREE["systems"], "D": [1, 1, 1]}}
    said = problem(narrow.post(PATH, json=four), 422)
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == ("/systems", "too_many_systems")
    twice = {
        "kind": "scores",
        "datasets": {"x": {"systems": THREE["systems"]}, "y": {"systems": THREE["systems"]}},
        "aggregate": None,
    }
    said = problem(narrow.post(PATH, json=twice), 422)
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == ("/compare", "too_many_comparisons")
    assert narrow.post(PATH, json={**twice, "compare": "baseline", "baseline": "A"}).status_code == 200


def test_a_test_over_the_budget_is_refused(narrow: Service) -> None:
    columns = {
        name: [((item * step) % 1009) / 8 for item in range(2000)] for name, step in (("A", 7), ("B", 11))
    }
    said = problem(narrow.post(PATH, json={"kind": "scores", "systems": columns, "method": "dp"}), 422)
    assert said["type"].endswith("#plan-too-large")


def test_limits_are_published(narrow: Service) -> None:
    limits = narrow.get("/v1/meta").json()["limits"]
    assert (limits["max_systems"], limits["max_comparisons"]) == (3, 4)


def test_a_comparison_that_cannot_end_in_time_is_not_started(worker_service: Service) -> None:
    columns = {
        f"s{number:02}": [round(((item * (number + 3)) % 97) / 97, 3) for item in range(300)]
        for number in range(100)
    }
    body = {"kind": "scores", "systems": columns, "method": "dp", "timeout_s": 2.0}
    said = problem(worker_service.post(PATH, json=body), 422)
    assert said["type"].endswith("#plan-too-large")
    assert (said["errors"][0]["pointer"], said["errors"][0]["code"]) == ("/timeout_s", "over_deadline")


BODY = {"kind": "scores", "systems": {"A": [1] * 8, "B": [0] * 8, "C": [0, 1] * 4}}
TABLE = "id,A,B,C\n" + "".join(f"q{k},1,0,{k % 2}\n" for k in range(8))


@pytest.mark.parametrize("form", ["text", "markdown", "csv", "html", "svg", "png"])
def test_a_comparison_is_answered_in_every_form(service: Any, form: str) -> None:
    response = service.post(f"/v1/compare?format={form}", BODY)
    assert response.status_code == 200, response.text
    assert response.content


@pytest.mark.parametrize("picture", ["leaderboard", "heatmap", "bars", "forest"])
def test_a_picture_is_chosen(service: Any, picture: str) -> None:
    response = service.post(f"/v1/compare?format=svg&picture={picture}&theme=dark", BODY)
    assert ET.fromstring(response.text).get("id") == picture


def test_a_table_is_chosen(service: Any) -> None:
    systems, pairs = (
        service.post(f"/v1/compare?format=csv&table={table}", BODY).text for table in ("systems", "pairs")
    )
    assert len(systems.splitlines()) == len(pairs.splitlines()) == 4
    assert ",rank_low," in systems
    assert ",p_adjusted," in pairs


def test_a_picture_that_cannot_be_drawn_is_refused(service: Any) -> None:
    response = service.post("/v1/compare?format=svg&picture=heatmap", {**BODY, "pairs": "none"})
    refused = problem(response, 422)
    assert [flaw["pointer"] for flaw in refused["errors"]] == ["/?picture"]


def test_it_is_refused_of_a_table_too(service: Any) -> None:
    path = "/v1/compare?format=png&picture=bars&compare=baseline&baseline=A"
    response = service.body(path, TABLE.encode(), "text/csv")
    refused = problem(response, 422)
    assert [flaw["pointer"] for flaw in refused["errors"]] == ["/?picture"]


SETS: dict[str, dict[str, list[int]]] = {
    "mmlu": {"A": [1, 0, 1, 1, 1], "B": [0, 0, 1, 0, 0], "C": [0, 1, 1, 1, 0]},
    "gsm": {"A": [1, 1, 0], "B": [0, 1, 0], "C": [1, 1, 1]},
}


def body(sets: Mapping[str, Mapping[str, Any]] = SETS, **options: Any) -> dict[str, Any]:
    return {
        "kind": "scores",
        "datasets": {name: {"systems": columns} for name, columns in sets.items()},
        **options,
    }


def answer(service: Any, request: dict[str, Any]) -> dict[str, Any]:
    answered = service.post("/v1/compare", json=request)
    assert answered.status_code == 200, answered.text[:800]
    CompareAnswer.model_validate_json(answered.content)
    said: dict[str, Any] = answered.json()
    return said


def macro_p(u: str, v: str, weights: Mapping[str, list[Fraction]]) -> float:
    units: list[Fraction] = []
    for name, columns in SETS.items():
        below = 2 * sum(weights[name])
        units += [w / below * (a - b) for w, a, b in zip(weights[name], columns[u], columns[v], strict=True)]
    return float(share(signed_sums(units)))


def test_the_overall_board_is_one_exact_test(service: Any) -> None:
    said = answer(service, body())
    ones = {name: [Fraction(1)] * len(columns["A"]) for name, columns in SETS.items()}
    for pair in said["overall"]["pairs"]:
        assert pair["p_value"] == pytest.approx(macro_p(pair["u"], pair["v"], ones), rel=1e-12)
        assert pair["exact"]
    assert set(said["datasets"]) == set(SETS)
    assert said["systems"] is None or said["systems"] == []


def test_items_with_weights(service: Any) -> None:
    """By position or by id, as numbers or fractions: the same."""
    request = body()
    written: dict[str, list[Any]] = {"mmlu": ["1/3", 2, 0.1, 1, 5], "gsm": [3, "0.25", 1]}
    for name, own in written.items():
        request["datasets"][name]["weights"] = own
    said = answer(service, request)
    weights = {name: [Fraction(str(w)) for w in own] for name, own in written.items()}
    for pair in said["overall"]["pairs"]:
        assert pair["p_value"] == pytest.approx(macro_p(pair["u"], pair["v"], weights), rel=1e-12)
    keyed = body()
    for name, own in written.items():
        keyed["datasets"][name] = {
            "systems": {
                system: {f"q{i}": x for i, x in enumerate(column)} for system, column in SETS[name].items()
            },
            "weights": {f"q{i}": w for i, w in reversed(list(enumerate(own)))},
        }
    again = answer(service, keyed)
    assert again["overall"] == said["overall"]
    assert answer(service, body())["id"] != said["id"]


def test_a_system_that_a_data_set_lacks(service: Any) -> None:
    sets = {"mmlu": SETS["mmlu"], "gsm": {name: SETS["gsm"][name] for name in "AB"}}
    said = answer(service, body(sets))
    assert [system["name"] for system in said["overall"]["systems"]] == ["A", "B"]
    assert "not_in_all_datasets" in [warning["code"] for warning in said["overall"]["warnings"]]
    assert len(said["datasets"]["mmlu"]["systems"]) == 3


def test_no_overall_board_of_one_system(service: Any) -> None:
    sets = {
        "mmlu": {name: SETS["mmlu"][name] for name in "AB"},
        "gsm": {name: SETS["gsm"][name] for name in "AC"},
    }
    said = answer(service, body(sets))
    assert said["overall"] is None
    assert [warning["code"] for warning in said["warnings"]] == ["not_in_all_datasets"]
    assert error_of(service.post("/v1/compare", json=body(sets, aggregate="micro")))[0] == "/datasets"


@pytest.mark.parametrize(
    ("options", "pointer", "code"),
    [
        ({"statistic": {"name": "sign"}}, "/aggregate", "no_macro"),
        ({"combine": "fisher", "aggregate": "micro"}, "/combine", "combine_needs_macro"),
        ({"combine": "stouffer", "adjust": "holm_discrete"}, "/combine", "combine_and_adjust"),
    ],
)
def test_refusals(service: Any, options: dict[str, Any], pointer: str, code: str) -> None:
    assert errors_of(service.post("/v1/compare", json=body(**options))) == [(pointer, code)]


@pytest.mark.parametrize(
    ("dataset", "kind", "pointer"),
    [
        ({"weights": [1, 2, 0]}, "scores", "/datasets/gsm/weights/2"),
        ({"weights": [1, 2]}, "scores", "/datasets/gsm/weights"),
        ({"weights": {"a": 1}}, "scores", "/datasets/gsm/weights"),
        ({"weights": [1, 2, 3], "gold": [1, 1, 1]}, "predictions", "/datasets/gsm/weights"),
    ],
)
def test_wrong_weights(service: Any, dataset: dict[str, Any], kind: str, pointer: str) -> None:
    request = body({"gsm": SETS["gsm"]}, kind=kind)
    request["datasets"]["gsm"] |= dataset
    assert error_of(service.post("/v1/compare", json=request))[0] == pointer


def test_a_plan_names_the_overall_board(service: Any) -> None:
    said = answer_to(service.post("/v1/plan", json={"kind": "compare", "request": body()}))
    assert [board["dataset"] for board in said["boards"]] == ["gsm", "mmlu", None]
    assert said["tests"] == 9
