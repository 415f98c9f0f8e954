"""Leaderboards through the front door: every number of a small board by enumeration, and what holds for all answers."""

from __future__ import annotations

import io
import json
import math
import random
import re
from fractions import Fraction
from itertools import combinations, product
from typing import Any

import numpy as np
import pytest

from exactperm.api.openapi.schemas import CompareAnswer

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


def enumerated(u: list[Fraction], v: list[Fraction]) -> Fraction:
    """P(|T| >= |t|) over all exchanges of the two systems, item by item."""
    differences = [a - b for a, b in zip(u, v, strict=True)]
    sums = [
        sum((sign * difference for sign, difference in zip(signs, differences, strict=True)), Fraction(0))
        for signs in product((1, -1), repeat=len(differences))
    ]
    seen = max(sum(differences, Fraction(0)), -sum(differences, Fraction(0)))
    return Fraction(sum(max(each, -each) >= seen for each in sums), len(sums))


def holm(p: list[Fraction]) -> list[Fraction]:
    order = sorted(range(len(p)), key=lambda i: p[i])
    adjusted, highest = [Fraction(0)] * len(p), Fraction(0)
    for step, i in enumerate(order):
        highest = max(highest, min(Fraction(1), (len(p) - step) * p[i]))
        adjusted[i] = highest
    return adjusted


def request(columns: dict[str, list[str]], **options: Any) -> dict[str, Any]:
    return {
        "kind": "scores",
        "systems": {name: [float(score) for score in column] for name, column in columns.items()},
        **options,
    }


def answer(service: Any, body: dict[str, Any]) -> dict[str, Any]:
    answered = service.post(PATH, json=body)
    assert answered.status_code == 200, answered.text[:800]
    CompareAnswer.model_validate_json(answered.content)
    said: dict[str, Any] = answered.json()
    return said


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
    p = [enumerated(columns[u], columns[v]) for u, v in pairs]
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
    array = io.BytesIO()
    np.save(array, np.array(rows, dtype=float))
    ids = {"ids": [f"q{item}" for item in range(len(rows))]}
    bodies = [
        service.post(PATH, json=request(columns)),
        service.post(PATH, json=request(columns, **ids)),
        service.body(PATH, table.encode(), "text/csv"),
        service.body(PATH, table.replace(",", "\t").encode(), "text/tab-separated-values"),
        service.body(PATH, lines.encode(), "application/x-ndjson"),
        service.body(f"{PATH}?systems={','.join(names)}", array.getvalue(), "application/x-npy"),
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
    body = request(BOARDS["right or wrong"])
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
def test_which_pairs_are_listed_changes_nothing_else(service: Any, listed: str) -> None:
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
def test_a_pair_without_a_common_item_attains_p_1_alone_and_takes_nothing_from_holm_discrete(
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
def test_what_underflows_is_the_smallest_double_and_its_logarithm_is_right(service: Any, items: int) -> None:
    systems = {"A": [1] * items, "B": [0] * items, "C": [0] * items}
    pairs = answer(service, {"kind": "scores", "systems": systems, "adjust": "none"})["pairs"]
    true = Fraction(1, 2 ** (items - 1))
    for pair in pairs[:2]:
        assert pair["p_value"] == max(float(true), 5e-324) == pair["p_adjusted"]
        assert pair["log10_p_value"] == pytest.approx((1 - items) * math.log10(2), rel=1e-13)
        low, high = map(Fraction, pair["p_value_bounds"])
        assert low <= true <= high
