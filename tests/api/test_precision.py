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
