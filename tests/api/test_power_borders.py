"""Questions about power at their borders: enormous differences, gaps, levels that are met exactly, effects at their ends."""

from __future__ import annotations

import itertools
import json
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest

from exactperm.service.limits import limits_of
from exactperm.service.messages import Body, Job
from exactperm.service.pipeline import planned
from exactperm.settings import Settings
from tests.fuzz.test_cost import Told

ENORMOUS = [100_003, -2, -100_002]


def pilot(u: Sequence[float], **question: Any) -> dict[str, Any]:
    request = {"u": list(u), "v": [0] * len(u), **question.pop("request", {})}
    return {"design": {"kind": "pilot", "request_kind": "scores", "request": request}, **question}


def asked(service: Any, body: dict[str, Any], status: int = 200) -> Any:
    response = service.post("/v1/power", body)
    assert response.status_code == status, response.text
    return response.json()


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
    """Rounded by the sum's deviation they would be nothing, and no outcome significant."""
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
    body = {"kind": "scores", "request": {**request, "alpha": 0.05}, "fail_status": 200}
    said = service.post("/v1/gate", body).json()["metrics"][0]["sensitivity"]
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
def test_a_test_of_any_level_says_what_it_could_have_found(service: Any, alpha: float) -> None:
    gate = {
        "kind": "scores",
        "request": {"u": [1, 2, 3, 4], "v": [0] * 4},
        "alpha": alpha,
        "fail_status": 200,
    }
    response = service.post("/v1/gate", gate)
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
def test_a_number_that_is_none_or_too_large_is_refused_where_it_stands(
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
def test_a_pilot_of_enormous_and_small_differences_is_answered_or_says_what_to_round(
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
