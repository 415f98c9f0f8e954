"""Bodies, compressed or not: the same answers, and one limit as sent, as inflated, declared or not (goal 9)."""

import gzip
import json
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from backports import zstd

from exactperm.service.kinds import KINDS
from exactperm.settings import Settings
from tests.api.conftest import Service, answer_to, problem, running
from tests.api.test_hostile_corpus import PATHS

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

PATH = "/v1/tests/scores"
SMALL = json.dumps({"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}).encode()
CODINGS: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "zstd": zstd.compress}


def coded(service: Any, body: bytes, coding: str, path: str = PATH, media: str = "application/json") -> Any:
    return service.body(path, body, media, headers={"content-encoding": coding})


@pytest.mark.parametrize("coding", CODINGS)
def test_a_compressed_body_is_the_same_test(service: Any, worker_service: Any, coding: str) -> None:
    wanted = service.body(PATH, SMALL).json()["id"]
    for server in (service, worker_service):
        assert answer_to(coded(server, CODINGS[coding](SMALL), coding))["id"] == wanted


@pytest.mark.parametrize("coding", CODINGS)
def test_a_body_that_is_small_only_when_compressed_is_read(service: Any, coding: str) -> None:
    n = 40_000
    body = json.dumps({"u": [1] * n, "v": [0] * n}).encode()
    small = service.app.state.settings.inplace_body_bytes
    assert len(CODINGS[coding](body)) < small < len(body)
    assert answer_to(coded(service, CODINGS[coding](body), coding))["items"]["n"] == n


@pytest.mark.parametrize(
    ("path", "media", "body"),
    [
        ("/v1/plan", "application/json", b'{"kind":"scores","request":' + SMALL + b"}"),
        (f"{PATH}?statistic=sign", "text/csv", b"1,0\n0,1\n1,0\n"),
        ("/v1/tests/counts", "text/tab-separated-values", b"8\t2\t6\t1\n3\t3\t5\t2\n"),
        ("/v1/tests/effects", "application/x-ndjson", b'{"stay":3}\n{"stay":-1}\n'),
        ("/v1/tests/predictions", "application/x-ndjson", b'{"gold":"a","u":"a","v":"b"}\n'),
    ],
)
def test_every_endpoint_and_media_type_takes_codings(
    service: Any, path: str, media: str, body: bytes
) -> None:
    for name, compress in CODINGS.items():
        assert coded(service, compress(body), name, path, media).status_code == 200


@pytest.mark.parametrize("coding", ["br", "deflate", "gzip, gzip", "gzip, zstd", "x"])
def test_other_codings_and_several_of_them_are_a_415(service: Any, coding: str) -> None:
    problem(coded(service, gzip.compress(gzip.compress(SMALL)), coding), 415)


def test_codings_in_two_headers_are_several(service: Any) -> None:
    headers = [
        ("content-type", "application/json"),
        ("content-encoding", "gzip"),
        ("content-encoding", "gzip"),
    ]
    problem(service.request("POST", PATH, content=gzip.compress(SMALL), headers=headers), 415)


@pytest.mark.parametrize("coding", CODINGS)
@pytest.mark.parametrize("where", ["truncated", "garbage", "empty", "trailing garbage"])
def test_damaged_data_is_a_400(service: Any, coding: str, where: str) -> None:
    whole = CODINGS[coding](SMALL)
    damaged = {
        "truncated": whole[:-5],
        "garbage": SMALL,
        "empty": b"",
        "trailing garbage": whole + b"garbage",
    }
    problem(coded(service, damaged[where], coding), 400)


def test_a_wrong_checksum_is_a_400(service: Any) -> None:
    whole = gzip.compress(SMALL)
    problem(coded(service, whole[:-8] + bytes(4) + whole[-4:], "gzip"), 400)


@pytest.mark.parametrize("coding", CODINGS)
def test_a_bomb_stops_at_the_limit_of_a_plain_body(service: Any, coding: str) -> None:
    most = service.app.state.settings.max_body_bytes
    bomb = CODINGS[coding](b" " * (most + 1))
    assert len(bomb) < 3_000
    problem(coded(service, bomb, coding), 413)
    fits = CODINGS[coding](SMALL + b" " * (most - len(SMALL)))
    assert coded(service, fits, coding).status_code == 200


LIMIT = 20_000

JSON = b'{"stay": [' + b"1," * (LIMIT // 2) + b"1]}"
LINES = b'{"u": 1, "v": 0}\n' * (LIMIT // 16)
FORM_HEAD = b'--b\r\nContent-Disposition: form-data; name="u"; filename="u.csv"\r\n\r\n'
BODIES = {
    "application/json": JSON,
    "text/csv": b"1,0\n" * (LIMIT // 3),
    "text/tab-separated-values": b"1\t0\n" * (LIMIT // 3),
    "application/x-ndjson": LINES,
    "application/x-npy": b"\x93NUMPY\x01\x00v\x00" + b"\0" * LIMIT,
    "multipart/form-data": FORM_HEAD + b"1\n" * LIMIT + b"\r\n--b--\r\n",
}
WAYS = [(kind, media) for kind, row in KINDS.items() for media in row.consumed]


@pytest.fixture(scope="module")
def small() -> Iterator[Service]:
    yield from running(Settings(workers=1, max_body_bytes=LIMIT))


def sent(media: str) -> str:
    return f"{media}; boundary=b" if media.startswith("multipart") else media


@pytest.mark.parametrize(("kind", "media"), WAYS)
def test_a_body_over_the_limit_is_a_413(small: Service, kind: str, media: str) -> None:
    body = BODIES[media]
    assert len(body) > LIMIT
    problem(small.body(PATHS[kind], body, sent(media)), 413)


@pytest.mark.parametrize(("kind", "media"), WAYS)
def test_a_body_over_the_limit_without_a_length_is_a_413(small: Service, kind: str, media: str) -> None:
    async def pieces() -> AsyncIterator[bytes]:
        for begin in range(0, len(BODIES[media]), 1000):
            yield BODIES[media][begin : begin + 1000]

    response = small.request("POST", PATHS[kind], content=pieces(), headers={"content-type": sent(media)})
    assert "content-length" not in response.request.headers
    problem(response, 413)


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
@pytest.mark.parametrize(("kind", "media"), WAYS)
def test_so_is_one_that_inflates_beyond_it(small: Service, kind: str, media: str, coding: str) -> None:
    packed = gzip.compress(BODIES[media]) if coding == "gzip" else zstd.compress(BODIES[media])
    assert len(packed) < LIMIT
    headers = {"content-encoding": coding}
    problem(small.body(PATHS[kind], packed, sent(media), headers=headers), 413)


@pytest.mark.parametrize("path", ["/v1/tests/files", "/v1/gate"])
def test_so_is_a_file_of_a_form_that_inflates_beyond_it(small: Service, path: str) -> None:
    packed = gzip.compress(b"1\n" * LIMIT)
    body = FORM_HEAD + packed + b"\r\n--b--\r\n"
    problem(small.body(path, body, "multipart/form-data; boundary=b"), 413)


@pytest.mark.parametrize(("kind", "media"), WAYS)
def test_one_within_the_limit_is_read(small: Service, kind: str, media: str) -> None:
    response = small.body(PATHS[kind], BODIES[media][: LIMIT // 2], sent(media))
    assert response.status_code in {200, 400, 409, 422}
