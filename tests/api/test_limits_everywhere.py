"""One limit for bodies, whatever they are and wherever they go: as sent, as inflated, declared or not (goal 9)."""

from __future__ import annotations

import gzip
from collections.abc import AsyncIterator, Iterator

import pytest
from backports import zstd

from exactperm.service.messages import CONSUMED
from exactperm.settings import Settings
from tests.api.conftest import Service, problem, running
from tests.api.test_hostile_corpus import PATHS

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
WAYS = [(kind, media) for kind, types in CONSUMED.items() for media in types]


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
def test_so_is_one_whose_length_nobody_declared(small: Service, kind: str, media: str) -> None:
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
