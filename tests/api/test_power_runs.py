"""More items or more runs: power of a pilot with runs, the best number of them, and refusals."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

import exactperm
from tests.api.test_runs import lines, refusal
from tests.unit.cli_asking import run
from tests.unit.statistics.test_run_variance import components, expected_error

ITEMS, RUNS = 30, 4


def pilot() -> tuple[list[list[int]], list[list[int]]]:
    draw = np.random.default_rng(8)
    easy = draw.random(ITEMS)
    better = np.clip(easy + draw.normal(0.1, 0.25, ITEMS), 0, 1)
    u, v = ((draw.random((ITEMS, RUNS)) < rates[:, None]).astype(int).tolist() for rates in (better, easy))
    return u, v


U, V = pilot()


def asked(service: Any, exchange: str = "items", **question: Any) -> Any:
    request = {"u": U, "v": V, "exchange": exchange}
    design = {"kind": "pilot", "request_kind": "scores", "request": request}
    return service.post("/v1/power", {"design": design, "solve": "power", "effect": 0.1, **question})


def parts(*, fixed: bool) -> tuple[float, float]:
    """The variances of an item's true difference, and of one run of both systems."""
    within = sum(float(components(side)[0] or 0) for side in (U, V))
    whole = expected_error(U, V, fixed=fixed) ** 2 * ITEMS
    return whole - within / RUNS, within


@pytest.mark.parametrize("exchange", ["items", "runs"])
@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
def test_power_is_that_of_the_normal_approximation(service: Any, exchange: str, alternative: str) -> None:
    between, within = parts(fixed=exchange == "runs")
    for n in (8, 30, 100):
        for runs in (1, 4, 10):
            answer = asked(service, exchange, n=n, runs_per_item=runs, alternative=alternative).json()
            sd = math.sqrt(between + within / runs)
            # The difference itself adds to the variance of the null.
            null = math.sqrt(sd**2 + 0.01 / (2 * runs - 1 if exchange == "runs" else 1))
            tails = 2 if alternative == "two-sided" else 1
            z = stats.norm.isf(0.05 / tails) * null / sd
            shift = 0.1 * math.sqrt(n) / sd
            power = stats.norm.sf(z - shift) + (stats.norm.cdf(-z - shift) if tails == 2 else 0)
            solution = answer["solution"]
            assert solution["power"] == pytest.approx(power, rel=1e-9)
            assert (solution["n"], solution["runs"]) == (n, runs)
            assert solution["standard_error"] == pytest.approx(sd / math.sqrt(n), rel=1e-12)
            assert (answer["method"]["name"], answer["method"]["exact"]) == ("normal", False)
    solved = asked(service, exchange, solve="n", runs_per_item=2).json()["solution"]
    back = asked(service, exchange, n=[solved["n"], solved["n"] - 1], runs_per_item=2).json()["curve"]
    assert back[0]["power"] >= 0.8 > back[1]["power"]
    found = asked(service, exchange, solve="effect", effect=None, n=50, runs_per_item=2).json()["solution"]
    again = asked(service, exchange, effect=found["effect"], n=50, runs_per_item=2).json()["solution"]
    assert again["power"] == pytest.approx(0.8, rel=1e-9)


def test_the_pilots_numbers_are_the_default(service: Any) -> None:
    answer = asked(service, "runs").json()
    assert (answer["solution"]["n"], answer["solution"]["runs"]) == (ITEMS, RUNS)
    advice = service.post("/v1/tests/scores", {"u": U, "v": V, "exchange": "runs"}).json()["repeats"][
        "advice"
    ]
    assert answer["solution"]["standard_error"] == pytest.approx(advice["standard_error"], rel=1e-12)
    # Items are exchanged: the power given the sizes of the differences, unless a number of runs is planned.
    plain = asked(service).json()
    assert (plain["method"]["name"], plain["solution"]["runs"]) == ("tilted_sum", None)


@pytest.mark.parametrize("cost", [0.5, 3, 20, 400])
def test_the_best_number_of_runs_is_the_cheapest(service: Any, cost: float) -> None:
    between, within = parts(fixed=False)
    answer = asked(service, solve="n", item_cost=cost).json()
    best = min(range(1, 1_001), key=lambda runs: (cost + runs) * (between + within / runs))
    assert answer["solution"]["runs"] == best
    assert abs(best - math.sqrt(within / between * cost)) < 1 or best == 1
    assert f"{best:,} run" in answer["sentence"]


@pytest.mark.parametrize(
    ("exchange", "runs", "least"),
    [("items", 2, 6), ("items", 9, 6), ("runs", 1, 6), ("runs", 2, 3), ("runs", 3, 2)],
)
def test_no_power_where_no_outcome_can_be_significant(
    service: Any, exchange: str, runs: int, least: int
) -> None:
    """2^(1 - n) <= 0.05 from 6 items on, 2 / C(2 r, r)^n earlier."""
    answer = asked(service, exchange, n=[least - 1, least], effect=0.5, runs_per_item=runs).json()
    assert answer["curve"][0]["power"] == 0 < answer["curve"][1]["power"]
    assert answer["critical_difference"] is None
    assert "alpha_unattainable" in [warning["code"] for warning in answer["warnings"]]
    solved = asked(service, exchange, solve="n", effect=5, power=0.1, runs_per_item=runs).json()
    assert solved["solution"]["n"] >= least


@pytest.mark.parametrize(
    ("exchange", "more", "place", "code"),
    [
        ("both", {}, "/design/request/exchange", "exchange_has_no_interval"),
        ("runs", {"item_cost": 3}, "/item_cost", "superfluous"),
        ("items", {"item_cost": 3, "runs_per_item": 2}, "/item_cost", "superfluous"),
        ("items", {"runs_per_item": 0}, "/runs_per_item", "greater_than_equal"),
        ("items", {"item_cost": 0}, "/item_cost", "greater_than"),
        ("runs", {"effect": None}, "/effect", "missing"),
    ],
)
def test_refusals(service: Any, exchange: str, more: Any, place: str, code: str) -> None:
    assert refusal(asked(service, exchange, **more)) == (place, code)


@pytest.mark.parametrize(
    "request_", [{"u": [1, 0], "v": [0, 1]}, {"u": [[1, 1]] * 3, "v": [[0, 0]] * 3}, {"u": U, "v": V, "statistic": "sign"},
                 {"u": U, "v": V, "weights": list(range(1, ITEMS + 1))}, {"u": U, "v": V, "statistic": {"repeats": "any", "k": 2}}],
)  # fmt: skip
def test_pilots_without_a_plan_of_runs(service: Any, request_: Any) -> None:
    design = {"kind": "pilot", "request_kind": "scores", "request": request_}
    asked_ = {"design": design, "solve": "power", "effect": 0.1, "runs_per_item": 2}
    assert refusal(service.post("/v1/power", asked_)) == ("/design/request", "no_runs")


@pytest.mark.parametrize("size", [1e-200, 1e200])
def test_runs_whose_variance_is_no_double_have_no_plan(service: Any, size: float) -> None:
    request = {"u": [[size, 0], [size, size]] * 3, "v": [[0, 0], [size, 0]] * 3}
    design = {"kind": "pilot", "request_kind": "scores", "request": request}
    question = {"design": design, "solve": "power", "effect": 0.1, "item_cost": 1e300}
    assert refusal(service.post("/v1/power", question)) == ("/design/request", "no_runs")


def test_items_that_hardly_differ_have_as_many_runs_as_there_can_be(service: Any) -> None:
    request = {"u": [[1, 0], [0, 1]] * 4, "v": [[0, 1], [1, 0]] * 4}
    design = {"kind": "pilot", "request_kind": "scores", "request": request}
    question = {"design": design, "solve": "n", "effect": 0.1, "item_cost": 1e300}
    assert service.post("/v1/power", question).json()["solution"]["runs"] == 1_000


def test_designs_without_runs(service: Any) -> None:
    for design in ({"kind": "sd", "sd": 1}, {"kind": "binary", "p10": 0.1, "p01": 0.05}):
        for name in ("runs_per_item", "item_cost"):
            question = {"design": design, "solve": "n", "effect": 0.1, name: 3}
            assert refusal(service.post("/v1/power", question)) == (f"/{name}", "superfluous")
    floor = {"design": {"kind": "runs", "v": V}, "solve": "floor", "runs_per_item": 2}
    assert refusal(service.post("/v1/power", floor)) == ("/runs_per_item", "superfluous")


def test_files_the_package_and_the_command_line(service: Any, tmp_path: Path) -> None:
    alone = asked(service, solve="n", item_cost=5).json()["solution"]
    files = {"u": ("u.jsonl", lines(U)), "v": ("v.jsonl", lines(V))}
    read = service.post(
        "/v1/power", files=files, data={"solve": "n", "effect": "0.1", "item_cost": "5"}
    ).json()
    assert read["solution"] == alone
    planned = exactperm.power(exactperm.scores(U, V), "n", effect=0.1, item_cost=5)
    assert (planned.solution.n, planned.solution.runs) == (alone["n"], alone["runs"])
    paths = [tmp_path / "new.jsonl", tmp_path / "old.jsonl"]
    for path, side in zip(paths, (U, V), strict=True):
        path.write_text(lines(side))
    question: Sequence[str] = ("power", *map(str, paths), "--solve", "n", "--effect", "0.1")
    done = run(*question, "--item-cost", "5")
    assert done.exit_code == 0, done.output
    assert f"n={alone['n']} " in done.output
    done = run(*question, "--exchange", "runs", "--runs-per-item", "3")
    assert done.exit_code == 0, done.output
    for data, place, code in (
        ({"exchange": "both"}, "/options/exchange", "exchange_has_no_interval"),
        ({"test": "bootstrap"}, "/options/test", "no_power"),
    ):
        assert refusal(
            service.post("/v1/power", files=files, data={"solve": "n", "effect": "0.1", **data})
        ) == (place, code)


@pytest.mark.parametrize("form", ["markdown", "html", "text", "csv"])
def test_reports(service: Any, form: str) -> None:
    request = {"design": {"kind": "pilot", "request_kind": "scores", "request": {"u": U, "v": V}}}
    says = service.post(
        f"/v1/power?format={form}", {**request, "solve": "n", "effect": 0.1, "runs_per_item": 3}
    )
    assert says.status_code == 200
    if form in ("markdown", "html"):
        assert "with 3 runs each" in says.text


@pytest.mark.parametrize(
    ("runs", "place"),
    [
        ([[1, 0], [0.5, 1]], "/design/v/1/0"),
        ({"a/b": [1, 0], "c": [1, 2]}, "/design/v/c/1"),
        ({"a/b": [1, 3]}, "/design/v/a~1b/1"),
        ({"a": 1, "b": 0.5}, "/design/v/b"),
        ([1, 0, 2], "/design/v/2"),
    ],
)
def test_a_floor_names_the_run_that_is_neither_right_nor_wrong(service: Any, runs: Any, place: str) -> None:
    """It named the column."""
    answered = service.post("/v1/power", {"design": {"kind": "runs", "v": runs}, "solve": "floor"})
    assert refusal(answered) == (place, "not_right_or_wrong")


@pytest.mark.parametrize("runs", [[[1, 0], [1, None]], [1, None], {"a": [None, 1]}])
def test_no_run_of_a_floor_can_be_left_out(service: Any, runs: Any) -> None:
    """The refusal named `on_missing`, which power does not have."""
    answered = service.post("/v1/power", {"design": {"kind": "runs", "v": runs}, "solve": "floor"})
    assert refusal(answered)[1] == "not_a_number"
    assert "on_missing" not in answered.text
