"""Test `store` in a body, which stores an answer like `?store=1`, whichever process computes or caches it."""

import json
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

import exactperm
from exactperm.ops.keys import new_key
from exactperm.settings import Settings
from tests.api.conftest import Service, errors_of, problem, running
from tests.settings_with import settings_with

SMALL = {"u": [1, 0, 1, 2, 5], "v": [0, 0, 1, 1, 2]}
LONG = {**SMALL, "method": "monte_carlo", "samples": 400_000}
TEST = {"kind": "scores", "request": SMALL}
BOARD = {"kind": "scores", "systems": {"A": [1, 1, 1, 0], "B": [1, 0, 1, 0], "C": [0, 0, 1, 0]}}
BODIES: dict[str, dict[str, Any]] = {
    "/v1/tests/scores": SMALL,
    "/v1/tests/effects": {"stay": [3, -1, 0, 2]},
    "/v1/tests/counts": {"u": {"tp": [1, 2], "incorrect": [1, 1]}, "v": {"tp": [1, 1], "incorrect": [1, 2]}},
    "/v1/tests/predictions": {"gold": ["N", "V"], "u": ["N", "V"], "v": ["V", "V"]},
    "/v1/gate": TEST,
    "/v1/compare": BOARD,
    "/v1/power": {"design": {"kind": "sd", "sd": 0.3}, "solve": "n", "effect": 0.05},
    "/v1/plan": TEST,
    "/v1/batch": {"tests": [TEST]},
}
KEY, DIGEST = new_key()
OTHER, OTHER_DIGEST = new_key()
FILE = {"file": ("scores.csv", b"u,v\n1,0\n2,1\n1,1\n")}
LIST_OF_SMALL = {"kind": "batch", "request": {"tests": [TEST]}}


class Keeping:
    """A service that stores answers, with a key."""

    def __init__(self, service: Service) -> None:
        self._service = service

    def ask(self, method: str, path: str, key: str = KEY, **options: Any) -> httpx.Response:
        headers = {"authorization": f"Bearer {key}", **options.pop("headers", {})}
        return self._service.request(method, path, headers=headers, **options)

    def post(self, path: str, body: Any, **options: Any) -> httpx.Response:
        return self.ask("POST", path, json=body, **options)

    def kept(self, answered: httpx.Response) -> str:
        """The permalink, which has the same bytes and is of this key alone."""
        place: str = answered.headers["content-location"]
        assert place.startswith("/v1/results/r_")
        found = self.ask("GET", place)
        assert (found.status_code, found.content) == (answered.status_code, answered.content)
        assert found.headers["content-type"] == answered.headers["content-type"]
        assert self.ask("GET", place, OTHER).status_code == 404
        assert self._service.request("GET", place).status_code == 401
        return place


@pytest.fixture(scope="module")
def keeping(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Keeping]:
    url = f"sqlite:///{tmp_path_factory.mktemp('store')}/jobs.sqlite"
    digests = f"{DIGEST},{OTHER_DIGEST}"
    for service in running(settings_with(workers=1, jobs_url=url, api_key_digests=digests, job_streams=1)):
        yield Keeping(service)


@pytest.mark.parametrize("path", BODIES)
def test_store_in_the_body_works_as_in_the_query(keeping: Keeping, path: str) -> None:
    body = BODIES[path]
    plain, by_query = keeping.post(path, body), keeping.post(f"{path}?store=1", body)
    asked, refused = keeping.post(path, {**body, "store": True}), keeping.post(path, {**body, "store": False})
    assert {one.status_code for one in (plain, by_query, asked, refused)} == {200}, asked.text
    assert keeping.kept(by_query) != keeping.kept(asked)
    for one in (by_query, asked, refused):
        assert one.headers.get("etag") == plain.headers.get("etag")
        assert comparable(one.content) == comparable(plain.content)
    assert "content-location" not in plain.headers
    assert "content-location" not in refused.headers


def comparable(content: bytes) -> Any:
    """An answer but for its times."""
    value = json.loads(content)
    value.pop("runtime", None)
    for one in value.get("results", ()):
        one["answer"].pop("runtime")
    return value


@pytest.mark.parametrize("path", BODIES)
@pytest.mark.parametrize("wrong", [1, "true", None, [True]], ids=repr)
def test_only_a_boolean_asks(keeping: Keeping, path: str, wrong: Any) -> None:
    assert errors_of(keeping.post(path, {**BODIES[path], "store": wrong})) == [("/store", "bool_type")]


@pytest.mark.parametrize("path", BODIES)
def test_a_body_and_a_query_that_contradict_each_other_are_refused(keeping: Keeping, path: str) -> None:
    for query, body in (("1", False), ("0", True)):
        assert errors_of(keeping.post(f"{path}?store={query}", {**BODIES[path], "store": body})) == [
            ("/?store", "given_twice")
        ]
    keeping.kept(keeping.post(f"{path}?store=1", {**BODIES[path], "store": True}))
    assert "content-location" not in keeping.post(f"{path}?store=0", {**BODIES[path], "store": False}).headers


@pytest.mark.parametrize("path", BODIES)
def test_without_a_database_it_is_the_same_refusal(service: Service, path: str) -> None:
    asked = problem(service.post(path, {**BODIES[path], "store": True}), 501)
    by_query = problem(service.post(f"{path}?store=1", BODIES[path]), 501)
    assert {**asked, "instance": ""} == {**by_query, "instance": ""}
    assert service.post(path, {**BODIES[path], "store": False}).status_code == 200


def test_no_computation_if_the_answer_cannot_be_stored(service: Service) -> None:
    endless = {"stay": [[1, 2]] * 50, "swap": [[2, 1]] * 50, "statistic": {"expression": "x1 / x2"},
               "method": "monte_carlo", "samples": 50_000, "store": True}  # fmt: skip
    refused = service.post("/v1/tests/effects", endless)
    assert problem(refused, 501)["type"] == "/docs/problems#jobs-off"


def test_a_request_for_a_worker_is_kept_and_so_is_its_answer_from_the_cache(keeping: Keeping) -> None:
    body = {**LONG, "store": True}
    first, second = keeping.post("/v1/tests/scores", body), keeping.post("/v1/tests/scores", body)
    assert second.headers["server-timing"].startswith("cache;desc=hit")
    assert keeping.kept(first) != keeping.kept(second)
    assert "age" in second.headers
    assert "age" not in keeping.ask("GET", second.headers["content-location"]).headers
    other = keeping.post("/v1/tests/scores?store=0", body)
    assert [one["pointer"] for one in problem(other, 422)["errors"]] == ["/?store"]
    plain = keeping.post("/v1/tests/scores", LONG)
    assert plain.headers["etag"] == first.headers["etag"]
    assert "content-location" not in plain.headers
    keeping.kept(keeping.post("/v1/tests/scores?store=1", LONG))


def test_each_request_that_shares_a_computation_gets_a_permalink(keeping: Keeping) -> None:
    body = {**LONG, "seed": 4, "store": True}
    with ThreadPoolExecutor(6) as pool:
        asked = list(pool.map(lambda _: keeping.post("/v1/tests/scores", body), range(6)))
    assert {one.status_code for one in asked} == {200}
    assert len({keeping.kept(one) for one in asked}) == 6


@pytest.mark.parametrize(
    "gate", [TEST, {"metrics": [{**TEST, "name": "a"}, {**TEST, "name": "b"}]}], ids=["one", "two"]
)
def test_a_failed_gate_is_kept(keeping: Keeping, gate: dict[str, Any]) -> None:
    text = json.dumps(gate).replace('"u"', '"w"').replace('"v"', '"u"').replace('"w"', '"v"')
    failed = keeping.post("/v1/gate", {**json.loads(text), "alpha": 0.4, "store": True})
    assert failed.status_code == 409, failed.text
    keeping.kept(failed)


def test_a_report_is_kept_as_it_is(keeping: Keeping) -> None:
    place = keeping.kept(keeping.post("/v1/tests/scores?format=html", {**SMALL, "store": True}))
    assert keeping.ask("GET", place).headers["content-type"].startswith("text/html")


@pytest.mark.parametrize("path", ["/v1/tests/files", "/v1/gate", "/v1/power", "/v1/compare"])
def test_a_form_has_a_field(keeping: Keeping, path: str) -> None:
    files: Any = FILE
    if path == "/v1/compare":
        files = {"file": ("board.csv", b"id,A,B,C\n1,1,0,0\n2,1,1,0\n3,1,0,1\n")}
    plain = keeping.ask("POST", path, files=files)
    assert plain.status_code == 200, plain.text
    asked = keeping.ask("POST", path, files=files, data={"store": "true"})
    keeping.kept(asked)
    assert asked.headers["etag"] == plain.headers["etag"]
    assert errors_of(keeping.ask("POST", path, files=files, data={"store": "yes"})) == [
        ("/options/store", "bool_type")
    ]
    twice = problem(keeping.ask("POST", f"{path}?store=0", files=files, data={"store": "true"}), 422)
    assert [one["pointer"] for one in twice["errors"]] == ["/?store"]


@pytest.mark.parametrize(
    ("path", "in_file"),
    [
        ("/v1/tests/files", {**SMALL, "store": True}),
        ("/v1/tests/files", {"kind": "scores", "request": {**SMALL, "store": True}}),
        ("/v1/gate", {**TEST, "store": True}),
        ("/v1/compare", {**BOARD, "store": True}),
    ],
)
def test_a_request_in_a_file_has_it_too(keeping: Keeping, path: str, in_file: Any) -> None:
    keeping.kept(keeping.ask("POST", path, files={"file": ("r.json", json.dumps(in_file))}))


@pytest.mark.parametrize(("path", "in_file"), [("/v1/tests/files", SMALL), ("/v1/gate", TEST)])
def test_a_field_goes_with_a_request_in_a_file(keeping: Keeping, path: str, in_file: Any) -> None:
    file = {"file": ("r.json", json.dumps(in_file))}
    keeping.kept(keeping.ask("POST", path, files=file, data={"store": "true"}))


def test_tables_have_the_query_and_compressed_bodies_theirs(keeping: Keeping) -> None:
    import gzip

    csv: dict[str, Any] = {"content": b"u,v\n1,0\n2,1\n1,1\n", "headers": {"content-type": "text/csv"}}
    keeping.kept(keeping.ask("POST", "/v1/tests/scores?store=1", **csv))
    packed = gzip.compress(json.dumps({**SMALL, "store": True}).encode())
    headers = {"content-type": "application/json", "content-encoding": "gzip"}
    keeping.kept(keeping.ask("POST", "/v1/tests/scores", content=packed, headers=headers))


INSIDE: list[tuple[str, Any, str]] = [
    ("/v1/gate", {"kind": "scores", "request": {**SMALL, "store": True}}, "/request/store"),
    (
        "/v1/gate",
        {"metrics": [{"name": "a", "kind": "scores", "request": {**SMALL, "store": True}}], "store": True},
        "/metrics/0/request/store",
    ),
    (
        "/v1/power",
        {
            "design": {"kind": "pilot", "request_kind": "scores", "request": {**SMALL, "store": True}},
            "solve": "effect",
            "n": 50,
        },
        "/design/request/store",
    ),
    ("/v1/jobs", {"kind": "scores", "request": {**SMALL, "store": True}}, "/request/store"),
    ("/v1/jobs", {"kind": "compare", "request": {**BOARD, "store": True}}, "/request/store"),
    ("/v1/jobs", {"kind": "gate", "request": {**TEST, "store": True}}, "/request/store"),
    ("/v1/jobs", {"kind": "batch", "request": {"tests": [TEST], "store": True}}, "/request/store"),
]


@pytest.mark.parametrize(("path", "body", "pointer"), INSIDE)
def test_a_part_of_an_answer_is_not_kept(keeping: Keeping, path: str, body: Any, pointer: str) -> None:
    assert errors_of(keeping.post(path, body)) == [(pointer, "store_not_here")]


@pytest.mark.parametrize(
    ("body", "pointer"), [({**TEST, "store": True}, "/store"), ({**LIST_OF_SMALL, "store": True}, "/store")]
)
def test_a_job_is_kept_anyway(keeping: Keeping, body: Any, pointer: str) -> None:
    said = problem(keeping.post("/v1/jobs", body), 422)
    assert [one["pointer"] for one in said["errors"]] == [pointer]


def test_a_metric_of_a_form_does_not_store_by_itself(keeping: Keeping) -> None:
    fields = {"metrics": json.dumps([{"store": True}])}
    assert errors_of(keeping.ask("POST", "/v1/gate", files=FILE, data=fields)) == [
        ("/options/metrics/0/store", "store_not_here")
    ]


def test_a_test_of_a_batch_is_refused_in_its_place(keeping: Keeping) -> None:
    tests = [TEST, {"kind": "scores", "request": {**SMALL, "store": True}}, TEST]
    answered = keeping.post("/v1/batch", {"tests": tests, "store": True})
    keeping.kept(answered)
    results = answered.json()["results"]
    assert [one["status"] for one in results] == [200, 422, 200]
    assert results[1]["problem"]["errors"][0]["code"] == "store_not_here"
    assert results[1]["problem"]["errors"][0]["pointer"] == "/store"


def test_a_plan_ignores_store(keeping: Keeping) -> None:
    planned = keeping.post("/v1/plan", {"kind": "scores", "request": {**SMALL, "store": True}})
    assert planned.status_code == 200
    assert "content-location" not in planned.headers


def test_a_problem_is_not_kept(keeping: Keeping) -> None:
    said = keeping.post("/v1/tests/scores", {"u": [1, 2], "v": [1], "store": True})
    problem(said, 422)
    assert "content-location" not in said.headers


def test_storing_needs_a_server() -> None:
    options: dict[str, Any] = {"store": True}
    with pytest.raises(Exception, match="Only a server can store answers"):
        exactperm.test(SMALL["u"], SMALL["v"], **options)


def test_the_stored_bytes_of_a_key_are_limited(tmp_path_factory: pytest.TempPathFactory) -> None:
    """A key over the limit is refused, but its tests are answered; other keys are unaffected."""
    url = f"sqlite:///{tmp_path_factory.mktemp('full')}/jobs.sqlite"
    settings = Settings(
        workers=1, jobs_url=url, jobs_key_bytes=2**20, api_key_digests=f"{DIGEST},{OTHER_DIGEST}",
        jobs_embedded_worker=False,
    )  # fmt: skip
    large = {"stay": [k % 997 + 1 for k in range(300)], "pmf": "full"}
    for service in running(settings):
        keeping = Keeping(service)
        refused = keeping.post("/v1/tests/effects?store=1", large)
        said = problem(refused, 429)
        assert said["type"].endswith("#too-many-requests")
        assert "1,048,576 bytes" in said["detail"]
        assert refused.headers["retry-after"] == "3600"
        for _ in range(3):
            keeping.kept(keeping.post("/v1/tests/scores?store=1", SMALL))
        assert keeping.post("/v1/tests/effects", large).status_code == 200
        other = keeping.ask("POST", "/v1/tests/scores?store=1", OTHER, json=SMALL)
        assert other.status_code == 200
