"""Assignments without a value count as extreme: the answer says so, and no gate passes because of them."""

from __future__ import annotations

from typing import Any

import pytest

from tests.api.conftest import Service
from tests.oracles import swaps

RATIO = {"name": "ratio", "numerator": "errors", "denominator": "words"}


def request(words_u: list[int], words_v: list[int], **options: Any) -> dict[str, Any]:
    """U makes nine errors on every item and V one."""
    n = len(words_u)
    u, v = {"errors": [9] * n, "words": words_u}, {"errors": [1] * n, "words": words_v}
    return {"u": u, "v": v, "statistic": RATIO, "pmf": "none", **options}


def undefined(words_u: list[int], words_v: list[int]) -> float:
    """The share of the assignments that leave a system without words."""
    states = list(swaps(words_u, words_v))
    return sum(not (sum(own) and sum(other)) for own, other in states) / len(states)


@pytest.mark.parametrize("method", ["auto", "enumeration", "dp", "grid", "monte_carlo"])
def test_a_regression_that_no_outcome_could_show_is_inconclusive(service: Service, method: str) -> None:
    """All words are in one item of each system: half the assignments give all of them to one system."""
    words_u, words_v = [10] + [0] * 11, [0, 10] + [0] * 10
    assert undefined(words_u, words_v) == 0.5
    asked = {"kind": "counts", "request": request(words_u, words_v, method=method), "higher_is_better": False}
    answer = service.post("/v1/gate", asked)
    metric = answer.json()["metrics"][0]
    assert metric["verdict"] == answer.json()["verdict"] == "inconclusive"
    # And the one outcome with all errors of U's kind where both have words.
    assert metric["decision"]["min_attainable_p"] == 0.5 + 2.0**-12
    assert {"undefined_outcomes", "alpha_unattainable"} <= {one["code"] for one in metric["test"]["warnings"]}
    assert service.post("/v1/gate", {**asked, "on_inconclusive": "fail"}).status_code == 409


@pytest.mark.parametrize("alternative", ["greater", "less", "two-sided"])
@pytest.mark.parametrize(
    ("words_u", "words_v"),
    [([3, 0, 2, 0], [0, 4, 0, 1]), ([1, 0, 0, 0, 0, 0], [1, 2, 0, 0, 3, 0]), ([2, 0, 5], [1, 0, 0])],
)
def test_the_least_p_value_is_that_of_the_assignments_without_a_value(
    service: Service, words_u: list[int], words_v: list[int], alternative: str
) -> None:
    answer = service.post("/v1/tests/counts", request(words_u, words_v, alternative=alternative)).json()
    assert answer["method"]["exact"]
    share = undefined(words_u, words_v)
    assert ("undefined_outcomes" in {one["code"] for one in answer["warnings"]}) == (share > 0)
    assert share <= answer["min_attainable_p"] <= answer["p_value"]


@pytest.mark.parametrize("method", ["enumeration", "dp", "grid"])
def test_nothing_is_said_where_every_assignment_has_a_value(service: Service, method: str) -> None:
    """A state without words lies on the lattice, between others, and is out of reach."""
    answer = service.post("/v1/tests/counts", request([5, 3, 4], [3, 5, 2], method=method))
    assert answer.json()["method"]["name"] == method
    codes = {one["code"] for one in answer.json()["warnings"]}
    assert "undefined_outcomes" not in codes
    assert answer.json()["min_attainable_p"] == 0.25


@pytest.mark.parametrize("method", ["enumeration", "grid", "dp"])
def test_states_without_a_value_that_no_assignment_reaches_are_no_fault(
    service: Service, method: str
) -> None:
    """Between the least and the largest sums lie some of which the formula has no value, far from all that occur."""
    body = {
        "u": {"a": [47, 7, 26, 9], "b": [32, 6, 41, 1], "c": [3, 0, 0, 37]},
        "v": {"a": [38, 0, 0, 0], "b": [8, 20, 5, 0], "c": [8, 35, 12, 19]},
        "statistic": {"name": "expression", "expression": "(a+b)/(c+1) - a/(b+1)"},
        "alternative": "less",
        "pmf": "none",
        "method": method,
    }
    answer = service.post("/v1/tests/counts", body)
    assert answer.status_code == 200, answer.text
    assert answer.json()["p_value"] == pytest.approx(0.875)
    assert "undefined_outcomes" not in {one["code"] for one in answer.json()["warnings"]}
