"""Compressed bodies: the same answers, and never more than the limit of what they inflate to."""

from __future__ import annotations

import gzip
import json
import sys
from collections.abc import Callable
from typing import Any

import pytest

from tests.api.conftest import problem

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
        response = coded(server, CODINGS[coding](SMALL), coding)
        assert response.status_code == 200, response.text
        assert response.json()["id"] == wanted


@pytest.mark.parametrize("coding", CODINGS)
def test_what_is_small_only_while_it_is_compressed_is_read_all_the_same(service: Any, coding: str) -> None:
    n = 40_000
    body = json.dumps({"u": [1] * n, "v": [0] * n}).encode()
    small = service.app.state.settings.inplace_body_bytes
    assert len(CODINGS[coding](body)) < small < len(body)
    response = coded(service, CODINGS[coding](body), coding)
    assert response.status_code == 200, response.text
    assert response.json()["items"]["n"] == n


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
