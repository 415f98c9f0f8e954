"""Locust scenarios: a dashboard's mix, a pull request's gate with files, a laboratory's large F1. See README.md."""

import random

import numpy as np
from locust import HttpUser, between, task

from loadtest import workload

LINES = 300


def _lines(chance: float) -> bytes:
    return "".join(f'{{"id":{i},"score":{int(random.random() < chance)}}}\n' for i in range(LINES)).encode()


def _counts(pairs: np.ndarray) -> dict[str, list[int]]:
    return {"tp": pairs[:, 0].tolist(), "incorrect": pairs[:, 1].tolist()}


class Dashboard(HttpUser):
    """A dashboard: many small tests, now and then a plan or a text line."""

    weight = 10
    wait_time = between(0.1, 1.0)

    @task(10)
    def scores(self) -> None:
        drawn = workload.accuracy(1_000, seed=random.randrange(10**6))
        self.client.post("/v1/tests/scores", json={"u": drawn.u.tolist(), "v": drawn.v.tolist()})

    @task(2)
    def line(self) -> None:
        body = {"u": [1, 0, 1, 1, 1], "v": [0, 0, 1, 0, 0]}
        self.client.post("/v1/tests/scores?format=text", json=body, name="/v1/tests/scores text")

    @task(1)
    def plan(self) -> None:
        self.client.post("/v1/plan", json={"kind": "scores", "request": {"u": [1, 2, 3], "v": [0, 2, 1]}})


class PullRequest(HttpUser):
    """A gate with two files; 409 is an answer."""

    weight = 3
    wait_time = between(1, 5)

    @task
    def gate(self) -> None:
        files = {"u": ("u.jsonl", _lines(0.8)), "v": ("v.jsonl", _lines(0.78))}
        with self.client.post(
            "/v1/gate", files=files, data={"format": "jsonl"}, catch_response=True
        ) as response:
            if response.status_code in {200, 409}:
                response.success()


class Laboratory(HttpUser):
    """One long F1 after the other; obeys 503 with Retry-After of a full queue."""

    weight = 1
    wait_time = between(2, 10)

    @task
    def f1(self) -> None:
        drawn = workload.f1(3_000, seed=random.randrange(10**6))
        body = {
            "u": _counts(drawn.u),
            "v": _counts(drawn.v),
            "statistic": {"name": "f1"},
            "method": "monte_carlo",
        }
        self.client.post("/v1/tests/counts", json=body, name="/v1/tests/counts f1")
