"""Test `POST /v1/batch`: each request gets the bytes of its endpoint, in order; an invalid one does not affect others."""

import gzip
import json
import random
import time
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.service.batch import handle_batch
from exactperm.service.messages import Body, Job, RenderedResponse, limits_of
from exactperm.service.pipeline import handle
from exactperm.settings import Settings
from tests.api.conftest import Service, answer_to, error_of, problem, running
from tests.settings_with import settings_with

PATH = "/v1/batch"
NDJSON = "application/x-ndjson"
SMALL = {"kind": "scores", "request": {"u": [1, 0, 1], "v": [0, 0, 1]}}
ROOM = 8_000_000
PATHS = {"gate": "/v1/gate", "compare": "/v1/compare", "power": "/v1/power"}


@pytest.fixture(scope="module")
def two_workers() -> Iterator[Service]:
    yield from running(settings_with(workers=2, batch_answer_bytes=ROOM))


def drawn(seed: int) -> dict[str, Any]:
    """A request of any kind; one in four is wrong."""
    random_ = random.Random(seed)
    n = random_.randrange(2, 30)
    u, v = ([random_.randrange(4) for _ in range(n)] for _ in "uv")
    counts = {
        name: [[a, b] for a, b in zip(one, one[::-1], strict=True)] for name, one in (("u", u), ("v", v))
    }
    kinds: dict[str, Any] = {
        "scores": {"u": u, "v": v, "alternative": random_.choice(["two-sided", "greater"])},
        "effects": {"stay": u, "swap": v},
        "counts": {**counts, "fields": ["correct", "total"], "statistic": {"name": "ratio"}},
        "predictions": {"gold": u, "u": v, "v": u[::-1]},
        "gate": {"kind": "scores", "request": {"u": [0] * n, "v": [1] * n}},
        "compare": {"kind": "scores", "systems": {"A": u, "B": v, "C": u[::-1]}},
        "power": {"solve": "power", "design": {"kind": "binary", "p10": 0.1, "p01": 0.05}, "n": [n * 10]},
    }
    kind = random_.choice(sorted(kinds))
    request = kinds[kind]
    if random_.random() < 0.25:
        wrong: dict[str, Any] = random_.choice([{"nonsense": 1}, {"u": "text"}, {"timeout_s": -1}])
        request = {**request, **wrong}
    return {"kind": kind, "request": request}


def alone(service: Any, one: dict[str, Any]) -> Any:
    return service.post(PATHS.get(one["kind"], f"/v1/tests/{one['kind']}"), one["request"])


def same(value: Any) -> Any:
    """An answer or a problem without members that differ between sendings."""
    return {name: member for name, member in value.items() if name not in {"runtime", "instance"}}


def test_each_is_answered_as_by_its_own_endpoint(service: Any) -> None:
    tests = [drawn(seed) for seed in range(60)]
    answered = service.post(PATH, {"tests": tests})
    assert answered.status_code == 200
    results = answered.json()["results"]
    assert len(results) == len(tests)
    statuses = []
    for one, result in zip(tests, results, strict=True):
        own = alone(service, one)
        statuses.append(own.status_code)
        assert result["status"] == own.status_code, one
        member = "problem" if own.headers["content-type"].startswith("application/problem") else "answer"
        assert set(result) == {"status", member}
        assert json.dumps(same(result[member])) == json.dumps(same(own.json()))
    assert {200, 409, 422} <= set(statuses)
    counts = answered.json()["counts"]
    refused = sum("problem" in result for result in results)
    assert counts == {"tests": 60, "answered": 60 - refused, "problems": refused}
    assert 5 < refused < 40


def test_lines_in_and_lines_out(service: Any) -> None:
    tests = [drawn(seed) for seed in range(12)]
    text = (
        "\r\n".join(json.dumps(one) for one in tests[:6])
        + "\n\n{broken\n"
        + "\n".join(map(json.dumps, tests[6:]))
    )
    answered = service.post(PATH, content=text.encode(), headers={"content-type": NDJSON, "accept": NDJSON})
    assert answered.headers["content-type"] == NDJSON
    lines = [json.loads(line) for line in answered.text.splitlines()]
    whole = service.post(PATH, {"tests": tests}).json()["results"]
    assert (lines[6]["status"], lines[6]["problem"]["type"]) == (400, "/docs/problems#malformed-body")
    del lines[6]
    assert [(one["status"], same(next(iter(list(one.values())[1:])))) for one in lines] == [
        (one["status"], same(next(iter(list(one.values())[1:])))) for one in whole
    ]


@pytest.mark.parametrize(
    "wrong",
    [3, None, [], {}, {"kind": "scores"}, {"request": {}}, {"kind": "nope", "request": {}}, {"kind": 1, "request": 2},
     {**SMALL, "more": 1}, {"kind": "scores", "request": [1]}, {"kind": "files", "request": {}},
     {"kind": "batch", "request": {"tests": [SMALL]}}, {"kind": "plan", "request": {}}],
)  # fmt: skip
def test_an_invalid_request_has_a_problem_in_its_place(service: Any, wrong: Any) -> None:
    assert [
        one["status"] for one in answer_to(service.post(PATH, {"tests": [SMALL, wrong, SMALL]}))["results"]
    ] == [200, 422, 200]


@pytest.mark.parametrize(
    ("body", "status", "pointer"),
    [
        (b"", 400, None), (b"[]", 422, ""), (b"{}", 422, "/tests"), (b'{"tests": []}', 422, "/tests"),
        (b'{"tests": {}}', 422, "/tests"), (b'{"tests": [1], "more": 1}', 422, "/more"),
        (b'{"tests": [1], "tests": [1]}', 422, ""), (b'{"tests": [1]} x', 400, None), (b'{"tests": [1', 400, None),
        (b"\xff", 400, None), (b'{"tests": ' + b"[" * 100_000, 400, None),
    ],
)  # fmt: skip
def test_a_body_that_is_not_a_list_is_refused(
    service: Any, body: bytes, status: int, pointer: str | None
) -> None:
    refused = problem(service.post(PATH, content=body, headers={"content-type": "application/json"}), status)
    if pointer is not None:
        assert [one["pointer"] for one in refused["errors"]] == [pointer]


def test_more_than_the_limit_is_refused_before_anything_is_computed(service: Any) -> None:
    most = Settings().max_batch_tests
    assert error_of(service.post(PATH, {"tests": [SMALL] * (most + 1)}))[1] == "too_many_tests"
    text = (json.dumps(SMALL) + "\n") * (most + 1)
    problem(service.post(PATH, content=text.encode(), headers={"content-type": NDJSON}), 422)


@pytest.mark.slow
def test_a_list_is_divided_among_workers_and_joined_in_order(two_workers: Service) -> None:
    tests = [{"kind": "effects", "request": {"stay": [number, 1, 2]}} for number in range(1_000)]
    content = gzip.compress(json.dumps({"tests": tests}).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    results = two_workers.post(PATH, content=content, headers=headers).json()["results"]
    assert [one["answer"]["statistic"]["observed"] for one in results] == [
        number + 3 for number in range(1_000)
    ]


@pytest.mark.parametrize("query", ["?samples=10", "?theme=dark", "?format=text", "?store=1", "?timeout_s=-1"])
def test_options_of_tests_are_not_options_of_a_list(service: Any, query: str) -> None:
    assert service.post(PATH + query, {"tests": [SMALL]}).status_code in {422, 501}


def test_a_long_test_is_refused_in_its_place(service: Any) -> None:
    request = {
        "u": [round(0.123457 * i % 1, 6) for i in range(40_000)],
        "v": [0.5] * 40_000,
        "method": "monte_carlo",
    }
    long = {"kind": "scores", "request": {**request, "samples": 50_000}}
    short = {"kind": "scores", "request": {**request, "timeout_s": 2e-3}}
    results = service.post(PATH, {"tests": [SMALL, long, short, SMALL]}).json()["results"]
    assert [one["status"] for one in results] == [200, 422, 422, 200]
    for one in results[1:3]:
        assert one["problem"]["type"] == "/docs/problems#plan-too-large"
        assert "separately" in one["problem"]["detail"]


@pytest.mark.slow
def test_answers_that_fill_the_room_are_refused_in_their_place(two_workers: Service) -> None:
    request = {"stay": [997 * number for number in range(1, 400)], "method": "fft", "pmf": "full"}
    size = len(two_workers.post("/v1/tests/effects", request).content)
    assert size > ROOM / 10
    large = {"kind": "effects", "request": request}
    results = two_workers.post(PATH, {"tests": [SMALL, *[large] * 12, SMALL]}).json()["results"]
    fit = ROOM // size
    assert [one["status"] for one in results] == [200] * (1 + fit) + [422] * (12 - fit) + [200]
    assert "another list" in results[-2]["problem"]["detail"]


def test_a_list_of_costly_tests_asks_for_a_long_turn_once() -> None:
    """The plans show what the size does not: the batch must not run among short calls."""
    asked: list[float] = []

    class Lane:
        def deadline(self, seconds: float) -> None:
            raise AssertionError

        def plan(self, seconds: float) -> None:
            asked.append(seconds)

    limits = replace(limits_of(Settings(workers=1)), long_test_seconds=0.05)
    job = Job("batch", Body("application/json"), (), "json", "x", 0.0, 0.0, limits)
    u, v = [0.123457 * i % 1 for i in range(60)], [0.5] * 60
    costly = {"kind": "scores", "request": {"u": u, "v": v, "method": "monte_carlo", "samples": 60_000}}
    answered = handle_batch(job, json.dumps({"tests": [costly] * 12}).encode(), Lane())
    assert isinstance(answered, RenderedResponse)
    assert json.loads(answered.body)["counts"]["answered"] == 12
    by_bytes, by_plans = asked
    alone = Planned()
    handle(replace(job, kind="scores"), json.dumps(costly["request"]).encode(), alone)
    assert by_bytes < limits.long_test_seconds < by_plans
    assert by_plans == pytest.approx(12 * alone.seconds, rel=1e-6)


class Planned:
    """A control that adds up predictions."""

    seconds = 0.0

    def deadline(self, seconds: float) -> None: ...

    def plan(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.mark.slow
def test_the_limit_does_not_depend_on_the_division_of_a_list(two_workers: Service) -> None:
    """The first of several runs has all the large answers, which fit into the room of the list but not into its share."""
    request = {"stay": [997 * number for number in range(1, 400)], "method": "fft", "pmf": "full"}
    size = len(two_workers.post("/v1/tests/effects", request).content)
    large = {"kind": "effects", "request": request}
    few = ROOM // size - 1
    for count, refused in ((few, 0), (few + 3, 2)):
        results = two_workers.post(PATH, {"tests": [*[large] * count, *[SMALL] * 600]}).json()["results"]
        statuses = [one["status"] for one in results[:count]]
        assert statuses == [200] * (count - refused) + [422] * refused, statuses


SPACES = " " * 30_000_000


@pytest.mark.parametrize(
    ("text", "media_type"),
    [
        ("%s", "application/json"),
        ('{"tests"%s: [1]}', "application/json"),
        ('{"tests": [1%s, 2]}', "application/json"),
        ('{"tests": [{"kind": %s"scores"}]}', "application/json"),
        ('{"kind": %s"scores"}', NDJSON),
        ("%s", NDJSON),
    ],
)
def test_megabytes_of_space_cost_next_to_nothing(text: str, media_type: str) -> None:
    """These are a few kilobytes of gzip; processing them by character took seconds of a worker."""
    assert seconds_of((text % SPACES).encode(), media_type) < 0.6


def test_a_text_of_endless_lines_or_members_is_read_until_there_are_too_many() -> None:
    assert seconds_of(b"1\n" * 15_000_000, NDJSON) < 0.3
    assert seconds_of(b"\n" * 30_000_000, NDJSON) < 0.3
    keys = ",".join(f'"{number}":1' for number in range(600_000))
    assert seconds_of(f"{{{keys}}}".encode(), "application/json") < 0.3


def seconds_of(body: bytes, media_type: str) -> float:
    """Seconds of a processor that a list costs which has no good test."""
    job = Job("batch", Body(media_type), (), "json", "x", 0.0, 0.0, limits_of(Settings(workers=1)))
    began = time.process_time()
    answer = handle_batch(job, body, Unbounded())
    seconds = time.process_time() - began
    assert isinstance(answer, RenderedResponse)
    assert answer.status != 200 or b'"answered":0' in answer.body
    return seconds


def test_the_pointer_to_an_unknown_member_is_one_token(service: Any) -> None:
    refused = problem(service.post(PATH, {"tests": [SMALL], "a/b~c": 1}), 422)
    assert [one["pointer"] for one in refused["errors"]] == ["/a~1b~0c"]
    inside = service.post(PATH, {"tests": [{**SMALL, "/": 1}]}).json()["results"][0]["problem"]
    assert [one["pointer"] for one in inside["errors"]] == ["/~1"]
