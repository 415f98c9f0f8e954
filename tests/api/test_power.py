"""Power over HTTP: published figures, R, simulation of the request itself, borders, refusals, representations."""

import itertools
import json
import math
import shutil
import subprocess
import time
from collections.abc import Sequence
from fractions import Fraction
from itertools import takewhile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from exactperm.service.messages import Body, Job, limits_of
from exactperm.service.pipeline import planned
from exactperm.settings import Settings
from tests.api.conftest import errors_of
from tests.fuzz.test_cost import Told

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


def test_a_pilots_power_matches_simulated_tests(service: Any) -> None:
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
def test_unanswerable_requests_are_refused_with_place_and_reason(
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
        {
            "effect": 0.05,
            "n": 283,
            "n_always": 283,
            "power": first["solution"]["power"],
            "floor": None,
            "false_alarm": None,
            "runs": None,
            "standard_error": None,
        }
    )


ENORMOUS = [100_003, -2, -100_002]


def pilot(u: Sequence[float], **question: Any) -> dict[str, Any]:
    request = {"u": list(u), "v": [0] * len(u), **question.pop("request", {})}
    return {"design": {"kind": "pilot", "request_kind": "scores", "request": request}, **question}


def predicted(body: dict[str, Any]) -> float:
    """Seconds that are planned."""
    now = time.monotonic()
    job = Job("power", Body("application/json"), (), "json", "borders", now, now, limits_of(Settings()))
    return planned(job, json.dumps(body).encode(), Told())[1].seconds


def signs(n: int) -> np.ndarray[Any, Any]:
    return np.array(list(itertools.product((1, -1), repeat=n)))


def significant(u: Sequence[float], alpha: float, *, mid: bool = False) -> tuple[Any, Any]:
    """(sum, whether it is significant) for all signs of the differences, two-sided."""
    sums = signs(len(u)) @ np.abs(np.array(u, dtype=np.int64))
    sizes = np.abs(sums)
    more, ties = (sizes[:, None] < sizes).sum(axis=1), (sizes[:, None] == sizes).sum(axis=1)
    return sums, (more + ties * (0.5 if mid else 1.0)) / len(sums) <= alpha


@pytest.mark.parametrize(
    "u",
    [
        ENORMOUS,
        [10**6 + 3, -2, -(10**6) - 2],
        [10**9, 1, 2, 3, 4, 5, 6, 7],
        [10] * 7 + [3],
        [2**k for k in range(12)],
    ],
)
@pytest.mark.parametrize("alpha", [0.0625, 0.25, 0.5])
def test_enormous_differences_and_gaps_are_those_of_all_signs(
    service: Any, u: Sequence[float], alpha: float
) -> None:
    sums, rejected = significant(u, alpha)
    body = pilot(u, solve="effect", alpha=alpha)
    assert predicted(body) < 0.5
    answer = asked(service, body)
    assert answer["method"]["exact"]
    assert (answer["critical_difference"] is None) == (not rejected.any())
    if not rejected.any():
        assert [warning["code"] for warning in answer["warnings"]] == ["alpha_unattainable"]
        return
    n, sizes = len(u), np.abs(np.array(u, dtype=np.int64))
    assert answer["critical_difference"] == pytest.approx(np.abs(sums[rejected]).min() / n, rel=1e-12)
    assert answer["actual_alpha"] == pytest.approx(rejected.mean(), rel=1e-9)
    effect = answer["solution"]["effect"] * n
    # The tilt with this mean, by bisection over magnitudes; then the power by all signs.
    low, high = -60.0, 5.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (
            (middle, high) if (sizes * np.tanh(np.exp(middle) * sizes / 2)).sum() < effect else (low, middle)
        )
    chances = np.exp(np.exp(low) * (sums - sums.max()) / 2.0)
    assert (chances[rejected].sum() / chances.sum()) == pytest.approx(0.8, abs=1e-5)


def test_a_search_for_items_among_enormous_differences_ends(service: Any) -> None:
    body = pilot(ENORMOUS, solve="n", effect=1_000)
    assert predicted(body) < 10
    found = asked(service, body)["solution"]
    # Nearly a normal law: (z_0.975 + z_0.8)^2 times the mean square over the effect's.
    about = (1.959964 + 0.841621) ** 2 * float(np.mean(np.square(ENORMOUS))) / 1_000**2
    assert found["n"] == pytest.approx(about, rel=0.01)
    assert found["power"] >= 0.8


def test_many_items_of_a_fine_pilot_are_rounded_and_say_so(service: Any) -> None:
    u = [616_162, 3_909, 3_627, 1, 35_876, -22_116, 78_016_257, 249]
    answer = asked(service, pilot(u, solve="effect", n=[10_000_000] * 3))
    assert not answer["method"]["exact"]
    about = (1.959964 + 0.841621) * float(np.sqrt(np.mean(np.square(u)) / 10_000_000))
    assert answer["solution"]["effect"] == pytest.approx(about, rel=1e-3)


def test_beside_an_enormous_difference_the_others_still_decide(service: Any) -> None:
    """Rounded by the sum's deviation they would be 0, and no outcome significant."""
    rng = np.random.default_rng(1)
    u = [float(x) for x in rng.integers(1, 10**9, 300)] + [1e15]
    answer = asked(service, pilot(u, solve="effect"))
    assert answer["critical_difference"] is not None
    test = {"u": u, "v": [0] * len(u), "power": 0.8}
    response = service.post("/v1/tests/scores", test).json()
    assert response["sensitivity"]["critical_difference"] == pytest.approx(
        answer["critical_difference"], rel=1e-6
    )


@pytest.mark.parametrize("request_kind", ["power", "gate"])
def test_with_the_mid_p_value_the_critical_difference_is_that_of_the_mid_p_value(
    service: Any, request_kind: str
) -> None:
    u = [1] * 7
    sums, rejected = significant(u, 0.1, mid=True)
    expected = np.abs(sums[rejected]).min() / len(u)
    assert expected < np.abs(sums[significant(u, 0.1)[1]]).min() / len(u)
    request = {"u": u, "v": [0] * 7, "significance": "mid_p", "alpha": 0.1}
    if request_kind == "power":
        said = service.post("/v1/tests/scores", {**request, "power": 0.8}).json()["sensitivity"]
        assert said["critical_difference"] == pytest.approx(expected)
        return
    # One-sided at half the level: the same sums.
    body = {"kind": "scores", "request": {**request, "alpha": 0.05}}
    said = service.post("/v1/gate?fail_status=200", body).json()["metrics"][0]["sensitivity"]
    assert said["critical_difference"] == pytest.approx(expected)


def test_an_effect_beyond_all_differences_is_refused_and_the_largest_is_certain(service: Any) -> None:
    problem = asked(service, pilot([1, 2, 3, 4, 5, 6], solve="power", effect=3.6), 422)
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == ("/effect", "effect_too_large")
    assert asked(service, pilot([1, 2, 3, 4, 5, 6], solve="power", effect=3.5))["solution"]["power"] == 1.0


def test_a_sum_that_grows_with_the_items_is_not_solved_for_them(service: Any) -> None:
    request = {"statistic": {"name": "sum_difference"}}
    problem = asked(service, pilot([1, 2, -3], solve="n", effect=3, request=request), 422)
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == ("/solve", "not_available")


@pytest.mark.parametrize("design", [{"kind": "sd", "sd": 1.0}, {"kind": "binary", "p10": 0.2, "p01": 0.1}])
def test_levels_next_to_zero_are_refused(service: Any, design: dict[str, Any]) -> None:
    body = {"design": design, "solve": "power", "n": 9, "effect": 0.1, "alpha": 5e-324, "comparisons": 3}
    problem = asked(service, body, 422)
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == ("/alpha", "out_of_range")


@pytest.mark.parametrize("alpha", [1e-300, 5e-324, 1 - 2**-53])
def test_sensitivity_of_a_test_at_any_level(service: Any, alpha: float) -> None:
    gate = {
        "kind": "scores",
        "request": {"u": [1, 2, 3, 4], "v": [0] * 4},
        "alpha": alpha,
    }
    response = service.post("/v1/gate?fail_status=200", gate)
    assert response.status_code == 200
    said = response.json()["metrics"][0]["sensitivity"]
    assert said is None if alpha > 0.8 else said["critical_difference"] is None


def test_a_curve_of_levels_that_its_own_items_cannot_attain_is_priced(service: Any) -> None:
    """Twenty-five items never have p at most 1e-9; four times as many do, and take their time."""
    u = np.random.default_rng(2).normal(size=25).round(6).tolist()
    body = pilot(u, solve="power", effect=0.01, alpha=1e-9)
    assert predicted(body) > 0.05
    assert len(asked(service, body)["curve"]) > 5


NUMBERS = ["NaN", "Infinity", "-Infinity", "1e400", "1e301", "-1e301", "7" * 400]


@pytest.mark.parametrize("number", NUMBERS)
@pytest.mark.parametrize("place", ["effect", "sd"])
def test_invalid_and_too_large_numbers_are_refused_at_their_place(
    service: Any, place: str, number: str
) -> None:
    body = {"design": {"kind": "sd", "sd": 0.4}, "solve": "n", "power": 0.8, "effect": 0.1}
    text = json.dumps(body).replace({"effect": "0.1", "sd": "0.4"}[place], number)
    response = service.body("/v1/power", text.encode())
    assert response.status_code in {400, 422}, response.text
    (flaw,) = response.json()["errors"]
    assert flaw["pointer"] == {"effect": "/effect", "sd": "/design/sd"}[place]
    assert flaw["code"] in {"out_of_range", "finite_number", "less_than_equal", "greater_than", "float_type"}


@pytest.mark.parametrize(
    ("sd", "effect", "needed"), [(1e300, 1e-9, None), (1e-310, 1e300, 1), (1e300, 1e300, 8)]
)
def test_sizes_at_the_ends_of_doubles_need_as_many_items_as_their_ratio_says(
    service: Any, sd: float, effect: float, needed: int | None
) -> None:
    """z = 1.96 + 0.8416 standard errors: 7.85 items where effect and sd are the same."""
    body = {"design": {"kind": "sd", "sd": sd}, "solve": "n", "power": 0.8, "effect": effect}
    assert asked(service, body)["solution"]["n"] == needed


@pytest.mark.parametrize("large", [1e18, 1e15, 1e200, 3e-310])
@pytest.mark.parametrize("solve", ["n", "effect", "power"])
def test_a_pilot_of_enormous_and_small_differences_is_answered_or_asks_to_round(
    service: Any, large: float, solve: str
) -> None:
    question: dict[str, dict[str, Any]] = {
        "n": {"effect": 0.02, "power": 0.8},
        "effect": {"n": 10**7},
        "power": {"n": 10**7, "effect": 0.02},
    }
    response = service.post("/v1/power", pilot([1, 0, 2.5, large], solve=solve, **question[solve]))
    if response.status_code == 422:
        (flaw,) = response.json()["errors"]
        assert flaw["pointer"] in {"/design/request", "/effect"}
        assert flaw["code"] in {"too_many_digits", "effect_too_large"}
    else:
        assert response.status_code == 200, response.text


ORACLE = Path(__file__).parents[1] / "oracles" / "power" / "pwr"
LINES = [line.split() for line in ORACLE.with_suffix(".txt").read_text("utf-8").splitlines()]
NORMAL = [list(map(float, line)) for line in takewhile(lambda line: line[0] != "p10", LINES[1:])]
BINARY_OF_POWER_IN_R = [list(map(float, line)) for line in LINES[len(NORMAL) + 2 :]]


def power(
    service: Any, design: dict[str, Any], n: float, alpha: float, two_sided: float, **more: Any
) -> float:
    question = {
        "solve": "power",
        "n": int(n),
        "alpha": alpha,
        "alternative": "two-sided" if two_sided else "greater",
    }
    answered = service.post("/v1/power", {"design": design, **question, **more})
    assert answered.status_code == 200, answered.text
    found: float = answered.json()["solution"]["power"]
    return found


def test_a_known_standard_deviation(service: Any) -> None:
    assert len(NORMAL) == 24 * 2
    for sd, effect, n, alpha, two_sided, expected in NORMAL:
        found = power(service, {"kind": "sd", "sd": sd}, n, alpha, two_sided, effect=effect)
        assert found == pytest.approx(expected, rel=1e-9), (sd, effect, n, alpha, two_sided)


def test_right_or_wrong_items(service: Any) -> None:
    assert len(BINARY_OF_POWER_IN_R) == 36
    for p10, p01, n, alpha, two_sided, expected in BINARY_OF_POWER_IN_R:
        found = power(service, {"kind": "binary", "p10": p10, "p01": p01}, n, alpha, two_sided)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-15), (p10, p01, n, alpha, two_sided)


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_gives_the_recorded_numbers() -> None:
    said = subprocess.run(["Rscript", ORACLE.with_suffix(".R")], capture_output=True, text=True, check=False)
    if "there is no package" in said.stderr:
        pytest.skip("pwr is not installed")
    assert said.stdout == ORACLE.with_suffix(".txt").read_text("utf-8")
