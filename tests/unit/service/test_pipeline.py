from __future__ import annotations

import json
import time

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.service.limits import limits_of
from exactperm.service.media_types import CSV, JSON
from exactperm.service.messages import Body, Job
from exactperm.service.pipeline import Later, handle, handle_in_place
from exactperm.service.query import timeout_of_query
from exactperm.settings import Settings

LIMITS = limits_of(Settings(workers=1))
LONG = {"u": [0.5, 1.25, 3.0] * 50, "v": [0.25, 1.5, 2.0] * 50, "method": "monte_carlo", "samples": 5_000_000}


@pytest.mark.parametrize(
    ("body", "query", "timeout_s"),
    [({"timeout_s": 0.5}, (), 0.5), ({}, (("timeout_s", "2"),), 2.0), ({}, (), None)],
)
def test_a_small_request_for_a_worker_takes_the_deadline_of_its_body_along(
    body: dict[str, float], query: tuple[tuple[str, str], ...], timeout_s: float | None
) -> None:
    now = time.monotonic()
    job = Job("scores", Body(JSON), query, "json", "x", now, now, LIMITS, timeout_s=timeout_of_query(query))
    found = handle_in_place(job, json.dumps(LONG | body).encode(), 0.005, 100_000)
    assert isinstance(found, Later)
    assert found.timeout_s == timeout_s
    assert found.seconds > 0.005


def test_a_table_with_many_flaws_is_not_read_again() -> None:
    now = time.monotonic()
    job = Job("scores", Body(CSV), (), "json", "x", now, now, LIMITS)
    refused = handle(job, b"id,u,v\n" + b"x,1,2\n" * 50, Unbounded())
    assert [flaw["pointer"] for flaw in json.loads(refused.body)["errors"]] == [
        f"/line/{line}/1" for line in range(3, 8)
    ]
