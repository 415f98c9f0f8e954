"""Test that expressions are priced before they run: large ones are refused, ties are priced, and only small ones run in place."""

import json
import time
from itertools import product
from random import Random
from typing import Any

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.service.kinds import Kind
from exactperm.service.messages import Body, Job, RenderedResponse, limits_of
from exactperm.service.pipeline import Later, handle, handle_in_place
from exactperm.settings import Settings
from tests.api.conftest import error_of, errors_of, problem

EFFECTS = "/v1/tests/effects"
TWELVE = {
    "stay": [[i + 1, i * 7 % 11 + 1] for i in range(12)],
    "swap": [[i * 5 % 13 + 1, i + 2] for i in range(12)],
}
TIES = "log(x1*x2)-log(x1)-log(x2)"
ENGINE_SECONDS = Settings().inplace_engine_seconds


def effects(expression: str, data: dict[str, Any] | None = None, **options: Any) -> dict[str, Any]:
    return {**(data or TWELVE), "statistic": {"expression": expression}, **options}


def drawn(items: int, most: int, width: int = 2) -> dict[str, Any]:
    random = Random(1)
    return {
        side: [[random.randint(1, most) for _ in range(width)] for _ in range(items)]
        for side in ("stay", "swap")
    }


class StopHereError(Exception):
    """Nothing is run: only the prediction is tested."""


class Asking(Unbounded):
    """A control that records the prediction and stops the call there; reading a small body is not predicted."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def plan(self, seconds: float) -> None:
        self.seconds += seconds
        if seconds:
            raise StopHereError


def predicted(body: dict[str, Any]) -> float:
    """A worker's prediction for a test of effects."""
    asking = Asking()
    handle(job("effects"), json.dumps(body).encode(), asking)
    return asking.seconds


def job(kind: Kind) -> Job:
    now = time.monotonic()
    return Job(kind, Body("application/json"), (), "json", "x", now, now, limits_of(Settings()))


def looked_at(body: dict[str, Any], kind: Kind = "effects") -> RenderedResponse | Later:
    """The web process's treatment of a request."""
    return handle_in_place(job(kind), json.dumps(body).encode(), ENGINE_SECONDS, 1 << 17)


@pytest.mark.parametrize("factors", [20, 50, 60, 66])
def test_products_of_big_constants_are_refused(service: Any, factors: int) -> None:
    said = problem(service.post(EFFECTS, effects("(x1+1e300)*" * factors + "x2")), 422)
    assert [(flaw["pointer"], flaw["code"]) for flaw in said["errors"]] == [
        ("/statistic/expression", "expression_too_large")
    ]
    assert "bits" in said["detail"]


def test_constants_that_fold_are_refused_before_they_grow(service: Any) -> None:
    assert (
        error_of(service.post(EFFECTS, effects("*".join(["1e300"] * 100) + "*x1")))[1]
        == "expression_too_large"
    )


def test_the_largest_expressions_that_are_taken_do_not_run_in_place() -> None:
    for factors in (2, 4, 7):
        expression = "*".join(["(x1+1e300)/(x2+1e300)"] * factors)
        assert isinstance(looked_at(effects(expression)), Later)


@pytest.mark.parametrize(
    ("expression", "data"),
    [
        ("x1*" * 189 + "x1", {"stay": [[30, 1], [19, 2]], "swap": [[20, 5], [44, 1]]}),
        ("*".join(["(x1+x2)"] * 60) + "*1e250", TWELVE),
        ("exp(x1*100)", TWELVE),
        ("exp(exp(exp(x1)))", TWELVE),
    ],
)
def test_values_beyond_a_double_are_refused(service: Any, expression: str, data: dict[str, Any]) -> None:
    assert error_of(service.post(EFFECTS, effects(expression, data)))[1] == "value_too_large"


@pytest.mark.parametrize("test", ["permutation", "bootstrap"])
@pytest.mark.parametrize(
    ("expression", "code"),
    [
        ("a*" * 150 + "b", "value_too_large"),
        ("exp(a*3)", "value_too_large"),
        ("(a+1e300)*" * 10 + "b/1e300", "value_too_large"),
        ("a*b*1e-300*1e-100", "value_too_small"),
        ("exp(-a*9)/b", "value_too_small"),
    ],
)
def test_no_kind_of_test_computes_with_values_beyond_doubles(
    service: Any, test: str, expression: str, code: str
) -> None:
    u = {"a": [3, 4, 5, 9, 10, 300], "b": [2, 2, 1, 5, 6, 700]}
    v = {"a": [5, 4, 1, 9, 11, 3], "b": [1, 2, 1, 7, 6, 70]}
    body = {"u": u, "v": v, "test": test, "statistic": {"name": "expression", "expression": expression}}
    assert errors_of(service.post("/v1/tests/counts", body)) == [("/statistic/expression", code)]


def test_a_bootstrap_whose_resamples_overflow_is_refused(service: Any) -> None:
    body = effects("exp(x1*x1/7)", {"stay": [[30], [1], [2]], "swap": [[1], [2], [9]]}, test="bootstrap")
    assert error_of(service.post(EFFECTS, body))[1] == "value_too_large"


@pytest.mark.parametrize("power", [30, 60])
def test_exact_values_beyond_64_bits_compare_as_fractions(service: Any, power: int) -> None:
    expression = "*".join(["(x1+x2)"] * power)
    said = service.post(EFFECTS, effects(expression, pmf="none")).json()
    # The power of a positive sum is as extreme as the sum.
    sums = [[sum(row) for row in TWELVE[side]] for side in ("stay", "swap")]
    reached = sum(sum(choice) >= sum(sums[0]) for choice in product(*zip(*sums, strict=True)))
    assert said["p_value"] == pytest.approx(reached / 2**12, rel=1e-12)


def test_a_statistic_that_always_ties_is_priced_by_its_states() -> None:
    """This took some 100 microseconds per state and precision, and must not run in the event loop."""
    predictions = []
    for items, most in ((14, 6), (18, 16), (20, 30)):
        body = effects(TIES, drawn(items, most), method="dp")
        assert isinstance(looked_at(body), Later)
        predictions.append(predicted(body))
    assert predictions == sorted(predictions)
    assert predictions[0] > 0.01
    assert predictions[-1] > 20 * predictions[0]


def test_ties_of_irrational_values_are_found(service: Any) -> None:
    said = service.post(EFFECTS, effects("+".join([TIES] * 15), drawn(10, 6))).json()
    assert said["p_value"] == 1.0


def test_a_constant_statistic_is_free_and_certain(service: Any) -> None:
    body = effects("log(exp(1))", drawn(8, 9, 3), method="dp")
    assert predicted(body) < 0.01 * predicted(
        {**body, "statistic": {"expression": "log(exp(1))+log(x1*x2)-log(x1)-log(x2)"}}
    )
    said = service.post(EFFECTS, body).json()
    assert said["p_value"] == 1.0
    assert said["null"]["min"] == said["null"]["max"] == 1.0


def test_repeated_terms_are_added_up(service: Any) -> None:
    once = service.post(EFFECTS, effects("3*log(x1)+x2/x1", pmf="none")).json()
    often = service.post(EFFECTS, effects("log(x1)+x2/x1+log(x1)+log(x1)", pmf="none")).json()
    assert often["p_value"] == once["p_value"]


def test_terms_that_cancel_stay_undefined_where_they_were(service: Any) -> None:
    data = {"stay": [[-3], [1]], "swap": [[2], [5]]}
    assert error_of(service.post(EFFECTS, effects("x1*x1+log(x1)-log(x1)", data)))[1] == "undefined_statistic"


@pytest.mark.parametrize(
    "expression", ["exp(1)-log(a)/abs(a)", "sqrt(a)/b+log(b)-a/3+exp(-a)", "a/b+log(a)*sqrt(b)-1/3"]
)
def test_identical_systems_differ_by_exactly_nothing(service: Any, expression: str) -> None:
    counts = {"a": [3, 4, 5, 1], "b": [2, 2, 1, 7]}
    body = {"u": counts, "v": counts, "statistic": {"name": "expression", "expression": expression}}
    said = service.post("/v1/tests/counts", body).json()
    null = said["null"]
    assert said["p_value"] == 1.0
    assert said["statistic"]["observed"] == 0.0
    assert (null["mean"], null["min"], null["max"], null["sd"]) == (0.0, 0.0, 0.0, 0.0)


def test_a_long_expression_is_not_even_planned_in_place() -> None:
    assert isinstance(looked_at(effects("+".join(["log(x1+x2)"] * 30))), Later)


def test_ordinary_tests_of_counts_stay_in_place() -> None:
    body = {"u": {"tp": [8, 3, 7], "incorrect": [2, 3, 1]}, "v": {"tp": [6, 5, 7], "incorrect": [1, 2, 1]}}
    assert isinstance(looked_at({**body, "statistic": {"name": "f1"}}, "counts"), RenderedResponse)


def test_more_ties_than_were_planned_for_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.joint._SLACK", 0.0)
    monkeypatch.setattr("exactperm.inference.joint._SLACK_NS", 1e5)
    # As a worker runs it, here: expressions are not for the event loop.
    answered = handle(job("effects"), json.dumps(effects(TIES, drawn(8, 6))).encode(), Unbounded())
    assert answered.status == 422
    said = json.loads(answered.body)
    assert said["type"].endswith("#plan-too-large")
    assert "tell" in said["detail"]


@pytest.mark.slow
def test_a_sum_on_a_line_is_priced_with_its_solution() -> None:
    random = Random(3)
    stay, swap = ([[random.randint(0, 10**4) for _ in range(2)] for _ in range(64)] for _ in range(2))
    body = effects("1e-300-(x1+x2)", {"stay": stay, "swap": swap}, method="fft")
    asked = json.dumps({"kind": "effects", "request": body}).encode()
    began = time.process_time()
    answered = handle(job("effects"), json.dumps(body).encode(), Unbounded())
    took = time.process_time() - began
    assert answered.status == 200
    planned = json.loads(handle(job("plan"), asked, Unbounded()).body)["seconds"]
    assert took <= 3 * planned + 0.2


def test_resamples_whose_denominators_vary_much_are_priced_with_exact_values() -> None:
    """One resample near a division by zero widens the error of all, whose values are then counted exactly."""
    steady = {"stay": [[10**9 + i, 10**9 + 7 * i] for i in range(6)], "swap": [[i, i + 1] for i in range(6)]}
    near = {**steady, "stay": [[10**9 + i, (-1) ** i * 10**9 + 7 * i] for i in range(6)]}
    options = {"test": "bootstrap", "samples": 1_000_000}
    seconds = [predicted(effects("x1 / x2", data, **options)) for data in (steady, near)]
    assert seconds[1] > 2 * seconds[0] > 0
