"""Test repeated tests and gates: e-values over HTTP."""

import itertools
import json
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from tests.api.conftest import answer_to, error_of
from tests.enumeration import by_signs

ANYTIME = {"mode": "anytime"}
U, V = [1] * 10 + [0] * 2, [0] * 10 + [1] * 2


def answer_of(service: Any, **body: Any) -> Any:
    return answer_to(service.post("/v1/tests/scores", {"u": U, "v": V, **body}))


def decided(service: Any, u: Any, v: Any, **terms: Any) -> Any:
    return service.post("/v1/gate", {"kind": "scores", "request": {"u": u, "v": v}, **terms})


def test_wins_and_losses_have_their_e_value(service: Any) -> None:
    answer = answer_of(service, sequential=ANYTIME)
    assert answer["e_value"] == pytest.approx(2.7033072, abs=5e-8)
    assert answer["log10_e_value"] == pytest.approx(math.log10(answer["e_value"]))
    assert answer["p_anytime"] == pytest.approx(1 / answer["e_value"])
    assert answer["p_value"] < 0.05
    assert not answer["significant"]


def test_no_e_values_without_the_option(service: Any) -> None:
    answer = answer_of(service)
    assert {answer[name] for name in ("e_value", "log10_e_value", "p_anytime", "curtailed")} == {None}
    assert answer["significant"]


def test_the_mean_over_all_exchanges_of_the_request_is_one(service: Any) -> None:
    u, v = [3, 1, 4, 1, 5], [2, 7, 1, 8, 2]
    values = []
    for swaps in itertools.product((False, True), repeat=5):
        a, b = zip(*((y, x) if swap else (x, y) for x, y, swap in zip(u, v, swaps, strict=True)), strict=True)
        body = {
            "u": list(a),
            "v": list(b),
            "sequential": {"scale": 7},
            "alternative": "greater",
            "pmf": "none",
        }
        values.append(service.post("/v1/tests/scores", body).json()["e_value"])
    assert math.fsum(values) / 32 == pytest.approx(1.0, abs=1e-12)


def test_earlier_batches_multiply(service: Any) -> None:
    alone = answer_of(service, sequential=ANYTIME)["e_value"]
    after = answer_of(service, sequential={**ANYTIME, "prior_log_e": math.log(10)})
    assert after["e_value"] == pytest.approx(10 * alone)
    assert after["significant"]


def _significant(u: Any, v: Any) -> bool:
    """The two-sided sign flip test at 0.05, by all flips."""
    return by_signs(u, v) <= Fraction(1, 20)


@pytest.mark.parametrize(("wins", "losses"), [(6, 0), (5, 1), (4, 1), (3, 3), (7, 0), (1, 0)])
@pytest.mark.parametrize("left", [0, 1, 2, 3])
def test_curtailed_means_that_no_completion_changes_the_verdict(
    service: Any, wins: int, losses: int, left: int
) -> None:
    u, v = [1] * wins + [0] * losses, [0] * wins + [1] * losses
    planned = {"planned_n": len(u) + left, "max_difference": 1}
    said = service.post("/v1/tests/scores", {"u": u, "v": v, "sequential": planned}).json()["curtailed"]
    completions = itertools.combinations_with_replacement(((1, 0), (0, 1), (1, 1), (0.5, 0)), left)
    verdicts = {
        _significant([*u, *(a for a, _ in rest)], [*v, *(b for _, b in rest)]) for rest in completions
    }
    # These are some of the completions: a verdict that changes among them is open.
    assert not (said and len(verdicts) > 1)
    if left == 0:
        assert said


def test_decided_tests_are_curtailed_and_open_ones_are_not(service: Any) -> None:
    decided = {"u": [1] * 30, "v": [0] * 30}
    for planned, said in ((31, True), (300, False)):
        sequential = {"planned_n": planned, "max_difference": 1}
        answer = service.post("/v1/tests/scores", {**decided, "sequential": sequential}).json()
        assert answer["curtailed"] is said


@pytest.mark.parametrize("policy", ["improve", "non_inferior", "no_regression"])
@pytest.mark.parametrize("left", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_a_margin_counts_in_the_items_to_come(service: Any, policy: str, left: int, seed: int) -> None:
    """Against every completion by -1, 0 or 1, each tested by all flips of the differences less the margin."""
    draw = np.random.default_rng(seed)
    d = draw.choice([-1, 0, 1, 1], size=7)
    u, v = (d == 1).astype(int).tolist(), (d == -1).astype(int).tolist()
    sequential = {"scale": 2, "planned_n": 7 + left, "max_difference": 1}
    terms = {"policy": policy, "margin": 0.5, "alpha": 0.2, "sequential": sequential}
    said = decided(service, u, v, **terms).json()["metrics"][0]["curtailed"]
    shift, sign = (0.5 if policy == "improve" else -0.5), (-1 if policy == "no_regression" else 1)
    verdicts = set()
    for rest in itertools.combinations_with_replacement((-1, 0, 1), left):
        shifted = sign * (np.array([*d, *rest]) - shift)
        signs = np.array(list(itertools.product((1, -1), repeat=len(shifted))))
        verdicts.add(bool(np.mean(signs @ np.abs(shifted) >= shifted.sum() - 1e-9) <= 0.2))
    # Both extremes are among them, so that it is curtailed exactly where all agree.
    assert said == (len(verdicts) == 1)


def test_small_bodies_that_plan_many_items_cost_little(service: Any) -> None:
    """Ten million items to come are two numbers, not an array of them."""
    plan = {"planned_n": 10_000_000, "max_difference": 0.125}
    body = {"u": [0.1, 0.12, 0.05], "v": [0.0, 0.01, 0.1], "sequential": plan}
    answer = service.post("/v1/tests/scores", body).json()
    assert answer["curtailed"] is False


@pytest.mark.parametrize(
    ("change", "pointer", "code"),
    [
        ({"u": [5 * x for x in U]}, "/sequential/scale", "missing"),
        ({"clusters": [1] * 6 + [2] * 6}, "/sequential/scale", "missing"),
        ({"statistic": {"name": "signed_rank"}}, "/sequential", "not_available"),
        ({"test": "bootstrap"}, "/sequential", "not_available"),
        ({"weights": [1, 2] * 6}, "/sequential", "not_available"),
        ({"sequential": {"planned_n": 5}}, "/sequential/planned_n", "exceeded"),
        ({"u": [1e15 * x for x in U], "sequential": {"scale": 1e-300}}, "/sequential/scale", "out_of_range"),
        ({"sequential": {"planned_n": 50, "max_difference": 0.5}}, "/sequential/max_difference", "exceeded"),
        ({"sequential": {"mode": "peeking"}}, "/sequential/mode", "literal_error"),
    ],
)
def test_statistics_without_an_e_value_are_refused(
    service: Any, change: Any, pointer: str, code: str
) -> None:
    assert error_of(service.post("/v1/tests/scores", {"u": U, "v": V, "sequential": ANYTIME, **change})) == (
        pointer,
        code,
    )


BAD_PARTS = [
    ({"scale": -1}, "/scale", "greater_than"),
    ({"planned_n": 5}, "/planned_n", "exceeded"),
    ({"planned_n": 50, "max_difference": 0.5}, "/max_difference", "exceeded"),
    ({"prior_log_e": "much"}, "/prior_log_e", "float_type"),
    ({"mode": "peeking"}, "/mode", "literal_error"),
    ({"looks": 3}, "/looks", "unknown_field"),
    ("anytime", "", "model_type"),
]


@pytest.mark.parametrize(("sequential", "part", "code"), BAD_PARTS)
@pytest.mark.parametrize("path", ["/v1/tests/files", "/v1/gate", "lines"])
def test_a_part_of_a_field_or_a_parameter_is_named(
    service: Any, path: str, sequential: Any, part: str, code: str
) -> None:
    rows = "".join(f"{i},{u},{v}\n" for i, (u, v) in enumerate(zip(U, V, strict=True)))
    text = json.dumps(sequential)
    if path == "lines":
        body = "".join(f"{u} {v}\n" for u, v in zip(U, V, strict=True)).encode()
        query = {"sequential": text}
        response = service.body(
            "/v1/tests/scores", b"u,v\n" + body.replace(b" ", b","), "text/csv", params=query
        )
        pointer = f"/?sequential{part}"
    else:
        files = {"file": ("s.csv", f"id,u,v\n{rows}".encode())}
        response = service.post(path, files=files, data={"sequential": text})
        pointer = f"/options/sequential{part}"
    assert response.status_code == 422, response.text
    problem = response.json()
    assert (problem["errors"][0]["pointer"], problem["errors"][0]["code"]) == (pointer, code)


@pytest.mark.parametrize(
    ("policy", "factor", "planned", "verdict", "status"),
    [
        ("improve", 1, None, "continue", 200),
        ("improve", 8, None, "pass", 200),
        ("improve", 1, 12, "fail", 409),
        ("improve", -8, None, "continue", 200),
        ("non_inferior", 8, None, "pass", 200),
        ("no_regression", 8, None, "continue", 200),
        ("no_regression", -8, None, "fail", 409),
        ("no_regression", 1, 12, "pass", 200),
    ],
)
def test_a_gate_passes_fails_or_goes_on(
    service: Any, policy: str, factor: int, planned: int | None, verdict: str, status: int
) -> None:
    u, v = (U, V) if factor > 0 else (V, U)
    sequential = ANYTIME if planned is None else {**ANYTIME, "planned_n": planned}
    response = decided(service, u * abs(factor), v * abs(factor), policy=policy, sequential=sequential)
    assert (response.status_code, response.headers["x-verdict"]) == (status, verdict)
    answer = response.json()
    assert answer["verdict"] == verdict
    assert (answer["e_value"] >= 20) == (verdict in {"pass", "fail"} and planned is None)
    assert answer["metrics"][0]["decision"]["procedure"] == "e_value"


def test_a_margin_is_taken_off_every_item_first(service: Any) -> None:
    terms = {"policy": "non_inferior", "margin": 0.25, "sequential": {"scale": 2}}
    answer = decided(service, U, V, **terms).json()
    # The same by hand: every difference plus a quarter.
    shifted = service.post(
        "/v1/tests/scores",
        {"u": [x + 0.25 for x in U], "v": V, "alternative": "greater", "sequential": {"scale": 2}},
    ).json()
    assert answer["e_value"] == pytest.approx(shifted["e_value"], rel=1e-12)


@pytest.mark.slow
def test_false_alarms_over_all_looks_stay_below_alpha(service: Any) -> None:
    """A martingale by its definition: over all flips of twelve items, looked at after every item."""
    alarms = 0
    for signs in itertools.islice(itertools.product((1, -1), repeat=12), 0, 4096, 16):
        body = [
            {"u": [max(s, 0) for s in signs[:n]], "v": [max(-s, 0) for s in signs[:n]]} for n in (6, 9, 12)
        ]
        values = [
            service.post(
                "/v1/tests/scores", {**one, "sequential": ANYTIME, "alpha": 0.25, "pmf": "none"}
            ).json()
            for one in body
        ]
        alarms += any(value["significant"] for value in values)
    assert alarms / 256 <= 0.25


@pytest.mark.parametrize("policy", ["improve", "non_inferior", "no_regression"])
def test_thousands_of_wins_are_a_power_of_ten_and_no_500(service: Any, policy: str) -> None:
    """By hand: of n wins E is the mean over the tilts of (exp(t) / cosh(t)) ** n."""
    u, v = [1] * 3000, [0] * 3000
    if policy == "no_regression":
        u, v = v, u
    response = decided(service, u, v, policy=policy, sequential=ANYTIME)
    assert response.status_code == (409 if policy == "no_regression" else 200), response.text
    tilts = [2.0 ** (half / 2) for half in range(-14, 3)]
    logs = [3000 * (tilt - math.log(math.cosh(tilt))) for tilt in tilts]
    log_e = max(logs) + math.log(sum(math.exp(one - max(logs)) for one in logs) / len(logs))
    answer = response.json()
    decision = answer["metrics"][0]["decision"]
    for found in (answer, decision):
        assert found["log10_p_value"] == pytest.approx(-log_e / math.log(10), rel=1e-12)
        assert 0 < found["p_value"] < 1e-300
    assert 0 <= decision["p_value_bounds"][0] <= decision["p_value"] <= decision["p_value_bounds"][1] < 1e-300
    assert decision["min_attainable_p"] == pytest.approx(decision["p_value"], abs=1e-320)
    assert answer["verdict"] == ("fail" if policy == "no_regression" else "pass")
    assert f"e{math.floor(-log_e / math.log(10))}" in answer["reason"]


@pytest.mark.parametrize("planned", [None, 12])
@pytest.mark.parametrize("policy", ["improve", "non_inferior", "no_regression"])
@pytest.mark.parametrize("representation", ["html", "text", "markdown", "csv", "junit"])
def test_every_report_of_a_gate_that_is_asked_again_says_its_verdict(
    service: Any, representation: str, policy: str, planned: int | None
) -> None:
    terms: dict[str, Any] = {"policy": policy, "margin": 0.25}
    terms["sequential"] = {"scale": 2} if planned is None else {"scale": 2, "planned_n": planned}
    request = {"kind": "scores", "request": {"u": U, "v": V}, **terms}
    response = service.post(f"/v1/gate?fail_status=200&format={representation}", request)
    assert response.status_code == 200, response.text
    assert response.headers["x-verdict"] in response.text.lower()
    assert (
        "e-value" if representation == "html" else "e_value"
    ) in response.text or representation == "markdown"


def test_ties_do_not_undo_evidence_of_earlier_batches(service: Any) -> None:
    """An earlier batch nearly showed a regression; tied items cannot show it, so the gate stays undecided."""
    alone = decided(service, U, U, sequential={**ANYTIME, "planned_n": 12})
    assert alone.json()["verdict"] == "pass"
    said = decided(service, U, U, sequential={**ANYTIME, "planned_n": 12, "prior_log_e": math.log(19)})
    assert said.json()["verdict"] == "inconclusive"
