"""A precision that nothing can reach is no fault of the service."""

from __future__ import annotations

import pytest

from tests.api.conftest import Service

U, V = [1.123456789123, 0.3, 3], [0.25, 1, 4]


@pytest.mark.parametrize("precision", [5e-324, 1e-310, 2.3e-308, 1e-300, 1e-281, 1e-100])
@pytest.mark.parametrize("items", [1, 30])
def test_however_fine_a_precision_the_request_is_answered_or_refused(
    service: Service, precision: float, items: int
) -> None:
    test = {"u": U * items, "v": V * items, "method": "bounds", "precision": precision}
    answers = [
        service.post("/v1/tests/scores", test),
        service.post("/v1/plan", {"kind": "scores", "request": test}),
    ]
    assert {answer.status_code for answer in answers} <= {200, 422}, answers[0].text
    if answers[0].status_code == 200:
        low, high = answers[0].json()["p_value_bounds"]
        assert low <= answers[0].json()["p_value"] <= high


SPIKY = [1e9, 0.3, 1.0, 2e-9] * 11


@pytest.mark.parametrize("precision", [5e-324, 1e-300, 1e-17, 0.5])
@pytest.mark.parametrize("level", [None, 1e-300, 1e-17, 0.95, 1 - 2.0**-53])
@pytest.mark.parametrize("method", ["auto", "bounds"])
def test_precisions_and_levels_at_their_ends_are_answered_or_refused(
    service: Service, precision: float, level: float | None, method: str
) -> None:
    """Distinct effects too many to be listed: brackets of the p-value, and of the ends of the interval."""
    u = [score + index * 1e-7 for index, score in enumerate(SPIKY)]
    test = {"u": u, "v": [0.5] * len(u), "method": method, "precision": precision}
    if level is not None:
        test["confidence_level"] = level
    answer = service.post("/v1/tests/scores", test)
    assert answer.status_code in {200, 422}, answer.text
    if answer.status_code == 200:
        body = answer.json()
        low, high = body["p_value_bounds"]
        assert 0.0 <= low <= body["p_value"] <= high <= 1.0
        assert (
            (body["confidence_interval"] is not None)
            or level is None
            or "interval_not_available" in answer.text
        )
