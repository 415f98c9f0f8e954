"""Questions about power over HTTP: published figures, simulation of the request itself, refusals, representations."""

from __future__ import annotations

import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import stats

from tests.api.conftest import errors_of

BINARY = {"kind": "binary", "p10": 0.08, "p01": 0.05}


def asked(service: Any, body: dict[str, Any], status: int = 200) -> Any:
    response = service.post("/v1/power", body)
    assert response.status_code == status, response.text
    return response.json()


@pytest.mark.parametrize(
    ("design", "n", "power"),
    [
        ({"kind": "binary", "p10": 0.15, "p01": 0.10}, 200, 0.2497449),
        (BINARY, 1319, 0.8425310),
        ({"kind": "binary", "u": 0.83, "v": 0.80, "discordance": 0.13}, 1319, 0.8425310),
    ],
)
def test_binary_designs_have_the_published_power(service: Any, design: Any, n: int, power: float) -> None:
    answer = asked(service, {"design": design, "solve": "power", "n": n})
    assert answer["solution"]["power"] == pytest.approx(power, abs=5e-8)
    assert answer["solution"]["effect"] == pytest.approx(answer["curve"][0]["effect"])
    assert answer["method"]["exact"]


def test_four_numbers_fit_together(service: Any) -> None:
    needed = asked(service, {"design": BINARY, "solve": "n", "power": 0.9})["solution"]
    there = asked(service, {"design": BINARY, "solve": "power", "n": needed["n"]})
    before = asked(service, {"design": BINARY, "solve": "power", "n": needed["n"] - 1})
    assert there["solution"]["power"] >= 0.9 > before["solution"]["power"]
    found = asked(service, {"design": BINARY, "solve": "effect", "n": [needed["n"], 400], "power": 0.9})
    assert found["solution"]["effect"] == pytest.approx(0.03, rel=1e-3)
    assert [point["n"] for point in found["curve"]] == [needed["n"], 400]
    assert found["curve"][1]["effect"] > found["solution"]["effect"]
    assert there["actual_alpha"] <= 0.05


def test_from_the_lasting_size_on_the_power_is_always_there(service: Any) -> None:
    design = {"kind": "binary", "p10": 0.65, "p01": 0.35}
    found = asked(service, {"design": design, "solve": "n"})["solution"]
    assert found["n"] < found["n_always"]
    numbers = [
        found["n"] - 1,
        found["n"],
        found["n_always"] - 1,
        *range(found["n_always"], found["n_always"] + 40),
    ]
    curve = asked(service, {"design": design, "solve": "power", "n": numbers})["curve"]
    reached = [point["power"] >= 0.8 for point in curve]
    assert reached == [False, True, False, *[True] * 40]


def flipped(n: int, differ: int, effect: float, alternative: str) -> float:
    """The power of a sign test of `differ` of n items at 0.05, by SciPy: each favours the better system with chance q."""
    q = 0.5 + effect * n / (2.0 * differ)
    level = 0.05 / (2.0 if alternative == "two-sided" else 1.0)
    below = [stats.binom.cdf(count, differ, 0.5) <= level for count in range(differ)]
    count = below.index(False) - 1
    if count < 0:
        return 0.0
    wrong = stats.binom.cdf(count, differ, q) if alternative == "two-sided" else 0.0
    return float(stats.binom.sf(differ - count - 1, differ, q) + wrong)


@pytest.mark.parametrize(
    ("n", "wins", "losses", "effect", "alternative"),
    [
        (10, 5, 5, 0.4, "two-sided"),
        (40, 20, 20, 0.3, "greater"),
        (20, 8, 2, 0.25, "two-sided"),
        (36, 20, 3, 0.474, "greater"),
    ],
)
def test_a_pilot_of_one_size_says_from_where_on_the_power_is_there(
    service: Any, n: int, wins: int, losses: int, effect: float, alternative: str
) -> None:
    u, v = [3] * wins + [0] * (n - wins), [0] * wins + [3] * losses + [0] * (n - wins - losses)
    design = {"kind": "pilot", "request_kind": "scores", "request": {"u": u, "v": v}}
    body = {"design": design, "solve": "n", "effect": 3 * effect, "alternative": alternative}
    found = asked(service, body)["solution"]
    share = Fraction(wins + losses, n)

    def power(items: int) -> float:
        differ = math.ceil(items * share - Fraction(1, 2))  # halves go to those that are tied
        return 0.0 if differ == 0 else flipped(items, differ, effect, alternative)

    assert found["power"] == pytest.approx(power(found["n"]), abs=1e-9)
    assert found["n"] <= found["n_always"]
    assert found["n"] == found["n_always"] or power(found["n_always"] - 1) < 0.8
    assert all(power(items) >= 0.8 for items in range(found["n_always"], 3 * found["n_always"]))


def test_a_pilot_of_several_sizes_proves_no_lasting_number(service: Any) -> None:
    design = {"kind": "pilot", "request_kind": "scores", "request": {"u": [1, 2, 0, 1], "v": [0, 0, 0, 2]}}
    assert asked(service, {"design": design, "solve": "n", "effect": 0.3})["solution"]["n_always"] is None


def test_a_pilots_power_is_what_simulated_tests_find(service: Any) -> None:
    rng = np.random.default_rng(4)
    u, v = rng.integers(0, 11, 60), rng.integers(0, 11, 60)
    request = {"u": u.tolist(), "v": v.tolist()}
    design = {"kind": "pilot", "request_kind": "scores", "request": request}
    answer = asked(service, {"design": design, "solve": "effect"})
    critical = answer["critical_difference"]
    sizes = np.abs(u - v)
    sizes = sizes[sizes > 0]
    # The tilt with this mean difference, by bisection on the definition.
    low, high = 0.0, 5.0
    for _ in range(100):
        tilt = 0.5 * (low + high)
        mean = float((sizes * np.tanh(tilt * sizes / 2)).sum()) / 60
        low, high = (tilt, high) if mean < answer["solution"]["effect"] else (low, tilt)
    up = 1.0 / (1.0 + np.exp(-low * sizes))
    signs = np.where(rng.random((200_000, len(sizes))) < up, 1, -1)
    found = np.abs(signs @ sizes) / 60 >= critical - 1e-12
    assert found.mean() == pytest.approx(0.8, abs=4 * math.sqrt(0.16 / len(found)))
    # The critical difference is the least that the test itself calls significant.
    test = service.post("/v1/tests/scores", {**request, "power": 0.8}).json()
    assert test["sensitivity"]["critical_difference"] == pytest.approx(critical)
    assert test["sensitivity"]["minimum_detectable_effect"] == pytest.approx(answer["solution"]["effect"])


def test_comparisons_share_alpha(service: Any) -> None:
    shared = asked(service, {"design": BINARY, "solve": "power", "n": 900, "comparisons": 5})
    alone = asked(service, {"design": BINARY, "solve": "power", "n": 900, "alpha": 0.01})
    assert shared["solution"]["power"] == alone["solution"]["power"]
    assert shared["actual_alpha"] <= 0.01


def test_files_are_a_pilot(service: Any) -> None:
    rows = "".join(f"{i},{i % 3 > 0:d},{i % 4 > 1:d}\n" for i in range(40))
    fields = {"solve": "n", "effect": "0.1", "power": "0.9"}
    answer = service.post("/v1/power", files={"file": ("s.csv", f"id,u,v\n{rows}".encode())}, data=fields)
    assert answer.status_code == 200, answer.text
    columns = {
        name: [float(line.split(",")[at]) for line in rows.split()] for name, at in (("u", 1), ("v", 2))
    }
    design = {"kind": "pilot", "request_kind": "scores", "request": columns}
    same = asked(service, {"design": design, "solve": "n", "effect": 0.1, "power": 0.9})
    assert answer.json()["solution"] == same["solution"]
    twice = {**fields, "effect": ["0.1", "0.2"]}
    assert errors_of(
        service.post("/v1/power", files={"file": ("s.csv", f"id,u,v\n{rows}".encode())}, data=twice)
    ) == [("/options/effect", "duplicate_parameter")]


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"effect": "observed"}, "/effect", "observed_effect"),
        ({"design": {"kind": "binary", "p10": 0.1}}, "/design", "incomplete"),
        ({"design": {**BINARY, "sd": 1.0}}, "/design/sd", "superfluous"),
        ({"design": {"kind": "binary", "u": 0.9, "v": 0.1, "discordance": 0.2}}, "/design/discordance", "not_attainable"),
        ({"design": {"kind": "binary", "u": 0.9, "v": 0.1, "correlation": 0.9}}, "/design/correlation", "not_attainable"),
        ({"design": {"kind": "sd", "sd": 1.0}}, "/effect", "missing"),
        ({"effect": 0.5}, "/effect", "effect_too_large"),
        ({"alternative": "less"}, "/effect", "wrong_direction"),
        ({"n": 10}, "/n", "redundant"),
        ({"power": 0.01}, "/power", "out_of_range"),
        ({"solve": "effect"}, "/n", "missing"),
        ({"solve": "power", "n": 0}, "/n", "numbers_of_items"),
        ({"solve": "power", "n": []}, "/n", "numbers_of_items"),
        ({"solve": "power", "n": True}, "/n", "numbers_of_items"),
        (
            {"design": {"kind": "pilot", "request_kind": "scores", "request": {"u": [1, 2], "v": [1, 2, 3]}}, "effect": 1},
            "/design/request/v",
            "length_mismatch",
        ),
    ],
)  # fmt: skip
def test_what_cannot_be_answered_says_where_and_why(
    service: Any, change: Any, pointer: str, code: str
) -> None:
    problem = asked(service, {"design": BINARY, "solve": "n", **change}, 422)
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == (pointer, code)


def test_too_few_items_to_find_anything_say_so(service: Any) -> None:
    design = {"kind": "pilot", "request_kind": "scores", "request": {"u": [1, 2, 3], "v": [0, 2, 4]}}
    answer = asked(service, {"design": design, "solve": "effect"})
    assert answer["solution"]["effect"] is None
    assert answer["critical_difference"] is None
    assert [warning["code"] for warning in answer["warnings"]] == ["alpha_unattainable"]


@pytest.mark.parametrize("name", ["text", "markdown", "csv", "svg", "png", "html"])
def test_every_representation_has_the_answer(service: Any, name: str) -> None:
    body = {"design": BINARY, "solve": "n"}
    response = service.post(f"/v1/power?format={name}", body)
    assert response.status_code == 200, response.text
    if name != "png":
        assert "1185" in response.text or "1,185" in response.text
    assert service.post(f"/v1/power?format={name}", body).content == response.content


def test_the_report_has_its_picture_and_not_its_source(service: Any) -> None:
    text = service.post("/v1/power?format=html", {"design": BINARY, "solve": "n"}).text
    assert text.count("<svg") == text.count("</svg>") == 1
    assert "&lt;" not in text


def test_the_same_question_has_the_same_bytes(service: Any) -> None:
    body = {"design": {"kind": "sd", "sd": 0.3}, "solve": "n", "effect": 0.05}
    first, second = (asked(service, body) for _ in range(2))
    assert {**first, "runtime": None} == {**second, "runtime": None}
    assert not first["method"]["exact"]
    assert json.dumps(first["solution"]) == json.dumps(
        {"effect": 0.05, "n": 283, "n_always": 283, "power": first["solution"]["power"]}
    )
