"""Test cached answers with any names, and a self-test that fails."""

import json
import random
from collections.abc import Iterator
from dataclasses import replace

import httpx
import pytest

from exactperm.ops.keys import new_key
from exactperm.service.pipeline import KNOWN
from exactperm.settings import Settings
from tests.api.conftest import Service, problem, running

BODY = {"stay": [5, -3, 2, 7, 1, 4], "names": {"u": "new", "v": "old"}}


def ask(service: Service, path: str = "/v1/tests/effects", **headers: str) -> httpx.Response:
    return service.post(path, BODY, headers=headers)


@pytest.fixture(scope="module")
def keeping() -> Iterator[Service]:
    yield from running(Settings(workers=1, inplace_share=0, cache_bytes=3 * 2**15))


def test_a_repeated_request_gets_the_cached_answer_with_its_age(keeping: Service) -> None:
    first, second = ask(keeping), ask(keeping)
    assert "cache" not in first.headers["server-timing"]
    assert "age" not in first.headers
    assert second.headers["server-timing"].startswith("cache;desc=hit, total;dur=")
    assert int(second.headers["age"]) >= 0
    said, again = first.json(), second.json()
    assert said.pop("runtime")["engine_ms"] > 0
    runtime = again.pop("runtime")
    assert (runtime["engine_ms"], runtime["queue_ms"]) == (0.0, 0.0)
    assert again == said
    assert second.headers["etag"] == first.headers["etag"] == f'W/"{said["id"]}"'


def test_another_representation_is_another_answer_of_the_same_tag(keeping: Service) -> None:
    json, text = ask(keeping), ask(keeping, "/v1/tests/effects?format=text")
    assert text.text.startswith("p=")
    assert text.headers["etag"] == json.headers["etag"]
    assert ask(keeping, "/v1/tests/effects?format=text").content == text.content


@pytest.mark.slow
def test_cached_answers_are_separate_for_each_key() -> None:
    keys = [new_key() for _ in range(2)]
    digests = ",".join(digest for _, digest in keys)
    for service in running(Settings(workers=1, inplace_share=0, api_key_digests=digests)):
        mine, other = ({"authorization": f"Bearer {key}"} for key, _ in keys)
        assert "hit" not in ask(service, **mine).headers["server-timing"]
        foreign = ask(service, **other)
        assert foreign.status_code == 200
        assert "cache" not in foreign.headers["server-timing"]
        assert "age" not in foreign.headers
        for headers in (mine, other):
            assert "hit" in ask(service, **headers).headers["server-timing"]


def test_problems_are_not_kept(keeping: Service) -> None:
    for _ in range(2):
        response = keeping.post("/v1/tests/effects", {"stay": []})
        assert problem(response, 422)
        assert "age" not in response.headers


def test_no_more_answers_are_kept_than_the_settings_say(keeping: Service) -> None:
    def timing(first: int) -> str:
        body = {"stay": [first, -3, 2]}
        return str(keeping.post("/v1/tests/effects", body).headers["server-timing"])

    for number in range(1, 5):
        assert "hit" not in timing(number)
    assert "hit" in timing(4)
    assert "hit" not in timing(1)


@pytest.mark.slow
def test_the_settings_can_turn_the_cache_off() -> None:
    for service in running(Settings(workers=1, inplace_share=0, cache_bytes=0)):
        assert all("cache" not in ask(service).headers["server-timing"] for _ in range(2))


@pytest.mark.slow
def test_a_wrong_self_test_refuses_readiness_with_the_reason_and_no_answer_is_trusted(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("exactperm.main.KNOWN", (replace(KNOWN[0], p_value=0.5), *KNOWN[1:]))
    for service in running(Settings(workers=1)):
        said = problem(service.get("/readyz"), 503)
        assert said["detail"] == "The self-test failed: five-wins."
        assert service.get("/livez").status_code == 200  # a restart would not mend it
    assert "the self-test failed, the service will not be ready: five-wins" in caplog.text


def test_readiness_is_there_after_a_right_one(service: Service) -> None:
    assert service.get("/readyz").json() == {"status": "ok"}


CHANCE = random.Random(0)
U, V = [CHANCE.random() for _ in range(300)], [0.5] * 300
NAMES = ('"runtime":{', 'x"runtime":{"queue_ms":1}y', '"instance": "', "{}", 'NaN "runtime":{}')
OF_TESTS = ("json", "text", "markdown", "csv", "html", "svg")
FORMATS: dict[str, tuple[str, ...]] = {"/v1/tests/scores": OF_TESTS, "/v1/gate": (*OF_TESTS, "junit")}


@pytest.fixture(scope="module")
def keeping_all() -> Iterator[Service]:
    yield from running(Settings(workers=1, inplace_share=0))


def asked(path: str, name: str) -> object:
    test = {"u": U, "v": V, "names": {"u": name, "v": "V"}}
    if path == "/v1/gate":
        return {"metrics": [{"name": name, "kind": "scores", "request": test, "higher_is_better": True}]}
    return test


def of_the_request_alone(response: httpx.Response) -> object:
    """The content without the durations of this request."""
    if response.headers["content-type"] != "application/json":
        return response.content
    return {name: value for name, value in response.json().items() if name != "runtime"}


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(("path", "form"), [(path, form) for path in FORMATS for form in FORMATS[path]])
def test_a_cached_answer_equals_the_computed_one_with_any_names(
    keeping_all: Service, path: str, form: str, name: str
) -> None:
    first, second = (keeping_all.post(f"{path}?format={form}", asked(path, name)) for _ in range(2))
    assert first.status_code == second.status_code
    assert first.status_code in {200, 409}, first.text
    assert "hit" in second.headers["server-timing"]
    assert of_the_request_alone(second) == of_the_request_alone(first)
    if form == "json":
        assert second.json()["runtime"]["engine_ms"] == 0.0
        assert list(second.json()) == list(first.json())
        text = json.dumps(second.json()["runtime"], separators=(",", ":"))
        assert second.text.count(f'"runtime":{text},"versions":') == 1
