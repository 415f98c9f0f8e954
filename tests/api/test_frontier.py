"""Intervals of single systems, and the frontier of cost and quality: against fractions, SciPy, statsmodels and each other."""

import random
import shutil
import subprocess
from fractions import Fraction
from typing import Any

import pytest
from scipy import stats

import exactperm
from exactperm.answers.gate import Policy
from exactperm.inference.verdict import holm as adjusted_by_holm
from tests.api.conftest import Service, errors_of
from tests.enumeration import by_signs, holm

QUALITY = {"A": [1] * 9 + [0], "B": [0] * 7 + [1, 0, 0], "C": [1, 1, 1, 1, 0, 1, 1, 1, 1, 0]}
COST: dict[str, list[float]] = {"A": [1.0] * 10, "B": [2.0] * 9 + [1.0], "C": [3.0] * 10}


WITH_AND_WITHOUT: list[dict[str, Any]] = [{"frontier": {"cost": COST}}, {"frontier": {"cost": COST}}, {}]


def compare(service: Service, systems: Any, query: str = "", **options: Any) -> Any:
    return service.post(f"/v1/compare{query}", {"kind": "scores", "systems": systems, **options})


def test_right_or_wrong_systems_have_clopper_and_pearsons_interval(service: Any) -> None:
    rng = random.Random(1)
    for _ in range(20):
        n = rng.randint(3, 60)
        systems = {name: [int(rng.random() < 0.7) for _ in range(n)] for name in "ABC"}
        level = rng.choice((0.8, 0.9, 0.95, 0.99))
        answer = compare(service, systems, confidence_level=level, pairs="none").json()
        for system in answer["systems"]:
            expected = stats.binomtest(sum(systems[system["name"]]), n).proportion_ci(level, method="exact")
            found = system["interval"]
            assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-12)
            assert found["method"] == "clopper_pearson"


def test_the_worked_interval(service: Any) -> None:
    answer = compare(service, {"A": [1] * 9, "B": [1, 0, 1] * 3}, confidence_level=0.95).json()
    best = answer["systems"][0]["interval"]
    assert (best["low"], best["high"]) == (pytest.approx(0.66373, abs=5e-6), 1.0)


def test_scores_in_a_range_have_the_interval_of_a_bound(service: Any) -> None:
    rng = random.Random(2)
    systems = {name: [rng.randint(0, 10) / 2 for _ in range(30)] for name in "AB"}
    without = compare(service, systems, confidence_level=0.9).json()
    assert [system["interval"] for system in without["systems"]] == [None, None]
    answer = compare(service, systems, confidence_level=0.9, range=[0, 5]).json()
    for system in answer["systems"]:
        interval = system["interval"]
        assert interval["method"] == "convex_bound"
        assert interval["low"] < system["score"] < interval["high"]
        # Gates at half of the error agree with both ends.
        ends: list[tuple[str, Policy, int]] = [("low", "at_least", -1), ("high", "not_below", 1)]
        for end, policy, side in ends:
            for inside in (-1, 1):
                gate = exactperm.gate(
                    systems[system["name"]], policy=policy, threshold=interval[end] + 1e-6 * side * inside,
                    range=[0, 5], alpha=0.05,
                )  # fmt: skip
                assert (gate.p_value <= 0.05) == (inside > 0)


def test_other_systems_have_no_interval(service: Any) -> None:
    for options in (
        {"clusters": ["a", "b"] * 5},
        {"weights": [1, 2] * 5},
        {"statistic": "median_difference"},
    ):
        answer = compare(service, QUALITY, confidence_level=0.9, **options).json()
        assert [system["interval"] for system in answer["systems"]] == [None] * 3
    assert [one["interval"] for one in compare(service, QUALITY).json()["systems"]] == [None] * 3


def test_a_frontier_is_the_larger_of_two_one_sided_tests_adjusted_by_holm(service: Any) -> None:
    rng = random.Random(3)
    for case in range(40):
        n, names = rng.randint(2, 8), "ABCD"[: rng.randint(2, 4)]
        quality = {name: [rng.randint(0, 3) for _ in range(n)] for name in names}
        cost = {name: [rng.randint(0, 3) + ("ABCD".index(name)) for _ in range(n)] for name in names}
        higher = case % 3 > 0
        answer = compare(service, quality, frontier={"cost": cost}, alpha=0.2, higher_is_better=higher).json()
        pairs = answer["frontier"]["pairs"]
        assert [(pair["u"], pair["v"]) for pair in pairs] == [(u, v) for u in names for v in names if u != v]
        expected = []
        for pair in pairs:
            u, v = pair["u"], pair["v"]
            of_quality = by_signs(quality[u], quality[v], "greater" if higher else "less")
            of_cost = by_signs(cost[u], cost[v], "less")
            assert pair["p_quality"] == pytest.approx(float(of_quality), rel=1e-12)
            assert pair["p_cost"] == pytest.approx(float(of_cost), rel=1e-12)
            expected.append(max(of_quality, of_cost))
        adjusted = holm(expected)
        assert [pair["p_value"] for pair in pairs] == pytest.approx([float(p) for p in expected])
        assert [pair["p_adjusted"] for pair in pairs] == pytest.approx([float(p) for p in adjusted])
        for system in answer["frontier"]["systems"]:
            own = [p for p, pair in zip(adjusted, pairs, strict=True) if pair["v"] == system["name"]]
            assert system["p_adjusted"] == pytest.approx(float(min(own)))
            assert system["excluded"] == (min(own) <= Fraction(1, 5))
            assert (system["dominated_by"] is not None) == system["excluded"]
            assert system["cost"] == pytest.approx(sum(cost[system["name"]]) / n)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_holm_is_that_of_r() -> None:
    rng = random.Random(4)
    p = [rng.random() ** 3 for _ in range(30)]
    code = f"cat(format(p.adjust(c({','.join(map(repr, p))}), 'holm'), digits=17))"
    said = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout
    assert adjusted_by_holm(p) == pytest.approx(list(map(float, said.split())), rel=1e-12)


def test_costs_may_come_by_id_and_in_files(service: Any) -> None:
    by_list = compare(service, QUALITY, frontier={"cost": COST}).json()["frontier"]
    assert [one["name"] for one in by_list["systems"] if one["excluded"]] == ["B"]
    ids = [f"q{at}" for at in range(10)]
    by_id = {name: dict(zip(ids, column, strict=True)) for name, column in QUALITY.items()}
    turned = {name: dict(reversed(list(zip(ids, column, strict=True)))) for name, column in COST.items()}
    assert compare(service, by_id, frontier={"cost": turned}).json()["frontier"] == by_list
    rows = [
        f"{key},{name},{QUALITY[name][at]},{COST[name][at]}" for at, key in enumerate(ids) for name in QUALITY
    ]
    table = "\n".join(["id,system,score,usd", *rows]).encode()
    answer = service.post(
        "/v1/compare", files={"file": ("board.csv", table)}, data={"score_column": "score", "frontier": "usd"}
    )
    assert answer.json()["frontier"] == by_list
    in_body = service.body("/v1/compare?frontier=usd&score_column=score", table, "text/csv")
    assert in_body.json()["frontier"] == by_list
    parts = []
    for name in QUALITY:
        own = [f"{key},{QUALITY[name][at]},{COST[name][at]}" for at, key in enumerate(ids)]
        parts.append(("system", (f"{name}.csv", "\n".join(["id,score,usd", *own]).encode())))
    each = service.post("/v1/compare", files=parts, data={"score_column": "score", "frontier": "usd"})
    assert each.json()["frontier"] == by_list
    missing = service.post("/v1/compare", files=parts, data={"score_column": "score", "frontier": "eur"})
    assert errors_of(missing)[0][0].endswith(("/options/frontier", "/line/1"))
    here = exactperm.compare(QUALITY, frontier={"cost": COST})
    assert here.frontier is not None
    assert [(one.name, one.excluded) for one in here.frontier.systems] == [
        ("A", False),
        ("B", True),
        ("C", False),
    ]


def test_costs_are_part_of_the_question(service: Any) -> None:
    first, again, other = (compare(service, QUALITY, **options).json()["id"] for options in WITH_AND_WITHOUT)
    assert first == again != other
    assert compare(service, QUALITY).json()["frontier"] is None


@pytest.mark.parametrize(
    ("options", "pointer", "code"),
    [
        ({"frontier": {"cost": {"A": [1] * 10}}}, "/frontier/cost", "different_systems"),
        ({"frontier": {"cost": {**COST, "B": [1] * 9}}}, "/frontier/cost/B", "length_mismatch"),
        ({"frontier": {"cost": {**COST, "B": ["a"] * 10}}}, "/frontier/cost/B/0", "not_a_number"),
        ({"frontier": "cost"}, "/frontier", "frontier"),
        ({"frontier": {"price": COST}}, "/frontier", "frontier"),
        ({"range": [0, 1]}, "/range", "redundant"),
        ({"range": [0, 0.5], "confidence_level": 0.9}, "/systems/A/0", "outside_range"),
    ],
)
def test_refusals_have_their_place(service: Any, options: dict[str, Any], pointer: str, code: str) -> None:
    assert (pointer, code) in errors_of(compare(service, QUALITY, **options))


def test_a_frontier_is_of_one_data_set(service: Any) -> None:
    body = {"kind": "scores", "datasets": {"one": {"systems": QUALITY}}, "frontier": {"cost": COST}}
    assert errors_of(service.post("/v1/compare", body)) == [("/frontier", "superfluous")]
