"""The asynchronous client against the whole application in this process."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
import pytest

from exactperm.client import AsyncClient, InvalidTest, TooLarge, metric, scores
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.warm_start import lifespan

DATA = Path(__file__).parents[1] / "data"
Found = TypeVar("Found")
U, V = np.array([0.85, 0.90, 0.78, 0.92, 0.88]), np.array([0.80, 0.85, 0.75, 0.88, 0.82])


def asking(work: Callable[[AsyncClient], Awaitable[Found]], **settings: Any) -> Found:
    async def run() -> Found:
        app = create_app(Settings(workers=1, **settings))
        async with (
            lifespan(app),
            AsyncClient("http://test", transport=httpx.ASGITransport(app), retries=0) as client,
        ):
            return await work(client)

    return asyncio.run(run())


def without_runtime(raw: Any) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name != "runtime"}


@pytest.fixture(scope="module")
def found() -> dict[str, Any]:
    """One session with many questions: an application takes its time to start."""

    async def work(client: AsyncClient) -> dict[str, Any]:
        options: dict[str, Any] = {"alpha": 0.01, "names": ("new", "old"), "statistic": "sign"}
        rows = np.array([[8, 2, 6, 1], [3, 3, 5, 2], [7, 1, 7, 1]])
        u = {"tp": [8, 3, 7], "incorrect": [2, 3, 1]}
        v = {"tp": [6, 5, 7], "incorrect": [1, 2, 1]}
        many = await asyncio.gather(*(client.scores(U, V, seed=n) for n in range(20)))
        paths = {"u": DATA / "trec/eval.aplrob03a.txt", "v": str(DATA / "trec/eval.uic0301.txt")}
        with pytest.raises(InvalidTest) as refusal:
            await client.scores([1, 2, 3], [1, 2])
        return {
            "array": await client.scores(U, V, **options),
            "columns": await client.scores(np.column_stack([U, V]), **options),
            "json": await client.scores(U.tolist(), V.tolist(), **options),
            "count array": await client.counts(rows, alpha=0.1),
            "count json": await client.counts(u, v, alpha=0.1),
            "effects": await client.effects(U - V, statistic="abs(x1)"),
            "predictions": await client.predictions(
                ["N", "V"], ["N", "V"], ["V", "N"], alternative="greater"
            ),
            "files": await client.files(**paths, measure="map"),
            "gate": await client.gate([metric("a", scores(V, U)), metric("b", scores(U, V))], alpha=0.2),
            "mirrored": await client.gate(scores(V, U), alpha=0.2, higher_is_better=False),
            "plan": await client.plan(scores(U, V)),
            "meta": await client.meta(),
            "line": await client.report(scores(U, V), "text"),
            "many": many,
            "refusal": refusal.value,
        }

    return asking(work)


def test_arrays_and_json_give_the_same_answer(found: dict[str, Any]) -> None:
    expected = without_runtime(found["json"].raw)
    assert without_runtime(found["array"].raw) == expected
    assert without_runtime(found["columns"].raw) == expected
    assert without_runtime(found["count array"].raw) == without_runtime(found["count json"].raw)


def test_all_ways_to_ask_are_answered(found: dict[str, Any]) -> None:
    assert found["array"].p_value == 0.0625
    assert found["effects"].p_value == 0.0625
    assert found["predictions"].p_value == 0.25
    assert found["files"].reading.format == "trec"
    assert found["plan"].method == "enumeration"
    assert "permutation" in found["meta"].tests
    assert found["line"].startswith("p=0.0625 ")


def test_a_gate_fails_for_the_metric_that_is_worse(found: dict[str, Any]) -> None:
    result = found["gate"]
    assert (result.verdict, result.passed, result.correction) == ("fail", False, "holm")
    assert [one.verdict for one in result.metrics] == ["fail", "pass"]
    assert found["mirrored"].passed


def test_many_questions_at_once_get_their_own_answers(found: dict[str, Any]) -> None:
    assert {one.p_value for one in found["many"]} == {0.0625}


def test_a_refusal_points_at_what_is_wrong(found: dict[str, Any]) -> None:
    error = found["refusal"]
    assert error.errors[0].pointer == "/v"
    assert "u has 3 items and v has 2" in str(error)
    assert error.instance


@pytest.mark.slow
def test_a_body_over_the_limit_is_too_large() -> None:
    async def work(client: AsyncClient) -> None:
        with pytest.raises(TooLarge, match="limit"):
            await client.scores(np.ones(1000), np.zeros(1000))

    asking(work, max_body_bytes=1000)
