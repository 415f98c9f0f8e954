"""Names are data: whatever they hold, an answer out of the cache is the answer that was computed."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator

import httpx
import pytest

from exactperm.settings import Settings
from tests.api.conftest import Service, running

CHANCE = random.Random(0)
U, V = [CHANCE.random() for _ in range(300)], [0.5] * 300
NAMES = ('"runtime":{', 'x"runtime":{"queue_ms":1}y', '"instance": "', "{}", 'NaN "runtime":{}')
OF_TESTS = ("json", "text", "markdown", "csv", "html", "svg")
FORMATS: dict[str, tuple[str, ...]] = {"/v1/tests/scores": OF_TESTS, "/v1/gate": (*OF_TESTS, "junit")}


@pytest.fixture(scope="module")
def keeping() -> Iterator[Service]:
    yield from running(Settings(workers=1, inplace_share=0))


def asked(path: str, name: str) -> object:
    test = {"u": U, "v": V, "names": {"u": name, "v": "V"}}
    if path == "/v1/gate":
        return {"metrics": [{"name": name, "kind": "scores", "request": test, "higher_is_better": True}]}
    return test


def of_the_request_alone(response: httpx.Response) -> object:
    """The content without what says how long this request took."""
    if response.headers["content-type"] != "application/json":
        return response.content
    return {name: value for name, value in response.json().items() if name != "runtime"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("path", "form"), [(path, form) for path in FORMATS for form in FORMATS[path]])
def test_a_kept_answer_is_the_computed_one_whatever_the_names_say(
    keeping: Service, path: str, form: str, name: str
) -> None:
    first, second = (keeping.post(f"{path}?format={form}", asked(path, name)) for _ in range(2))
    assert first.status_code == second.status_code
    assert first.status_code in {200, 409}, first.text
    assert "hit" in second.headers["server-timing"]
    assert of_the_request_alone(second) == of_the_request_alone(first)
    if form == "json":
        assert second.json()["runtime"]["engine_ms"] == 0.0
        assert list(second.json()) == list(first.json())
        text = json.dumps(second.json()["runtime"], separators=(",", ":"))
        assert second.text.count(f'"runtime":{text},"versions":') == 1
