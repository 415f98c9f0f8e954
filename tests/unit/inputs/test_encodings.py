from __future__ import annotations

import gzip
import io
import sys

import pytest

from exactperm.errors import BodyTooLarge, MalformedBody
from exactperm.inputs import encodings
from exactperm.inputs.encodings import decode, inflated

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"id,u,v\n" + b"".join(b"%d,%d,%d\n" % (n, n % 7, n % 5) for n in range(50_000))
CHECKED = {int(zstd.CompressionParameter.checksum_flag): 1}
COMPRESSED = {"gzip": gzip.compress(TEXT), "zstd": zstd.compress(TEXT, options=CHECKED)}
CODINGS = pytest.mark.parametrize("coding", COMPRESSED)


@CODINGS
def test_a_body_comes_back_as_it_was(coding: str) -> None:
    assert decode(COMPRESSED[coding], coding, max_bytes=len(TEXT)) == TEXT


@CODINGS
def test_several_members_or_frames_are_one_body(coding: str) -> None:
    assert decode(COMPRESSED[coding] * 2, coding, max_bytes=2 * len(TEXT)) == TEXT * 2


@CODINGS
@pytest.mark.parametrize("kept", [5, 0.5, -1], ids=["header", "half", "last-byte"])
def test_a_truncated_body_is_malformed_wherever_it_ends(coding: str, kept: float) -> None:
    body = COMPRESSED[coding]
    cut = body[: int(len(body) * kept)] if kept == 0.5 else body[: int(kept)]
    with pytest.raises(MalformedBody, match="truncated"):
        decode(cut, coding, max_bytes=len(TEXT))


@CODINGS
def test_a_body_is_given_up_when_it_is_over_the_cap(coding: str) -> None:
    with pytest.raises(BodyTooLarge):
        decode(COMPRESSED[coding], coding, max_bytes=len(TEXT) - 1)


@CODINGS
def test_a_bomb_costs_no_more_than_the_cap(coding: str) -> None:
    zeros = bytes(2**28)
    bomb = gzip.compress(zeros, 1) if coding == "gzip" else zstd.compress(zeros)
    del zeros
    with pytest.raises(BodyTooLarge):
        decode(bomb, coding, max_bytes=2**20)


@CODINGS
def test_damage_and_trailing_garbage_are_malformed(coding: str) -> None:
    body = bytearray(COMPRESSED[coding])
    body[len(body) // 2] ^= 0xFF
    with pytest.raises(MalformedBody):
        decode(bytes(body), coding, max_bytes=len(TEXT))
    with pytest.raises(MalformedBody):
        decode(COMPRESSED[coding] + b"garbage", coding, max_bytes=2 * len(TEXT))
    with pytest.raises(MalformedBody):
        decode(b"", coding, max_bytes=10)


def test_a_window_beyond_what_http_allows_is_refused() -> None:
    parameter = zstd.CompressionParameter
    wide = zstd.compress(TEXT * 30, options={parameter.window_log: 27, parameter.content_size_flag: 0})
    with pytest.raises(MalformedBody):
        decode(wide, "zstd", max_bytes=2**30)


def test_padding_with_zeros_after_gzip_is_no_garbage() -> None:
    assert decode(COMPRESSED["gzip"] + bytes(512), "gzip", max_bytes=len(TEXT)) == TEXT


@CODINGS
def test_a_file_is_inflated_by_its_first_bytes(coding: str) -> None:
    assert inflated(COMPRESSED[coding], max_bytes=len(TEXT)) == TEXT
    assert inflated(TEXT, max_bytes=1) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_body_of_nothing_but_members_is_refused(coding: str) -> None:
    one = gzip.compress(b"") if coding == "gzip" else zstd.compress(b"")
    with pytest.raises(MalformedBody, match="more than"):
        decode(one * 5000, coding, max_bytes=1000)


SKIPPABLE = b"\x50\x2a\x4d\x18" + bytes(4)  # a zstd frame of nothing
ZEROS = bytes(60_000)


@pytest.mark.parametrize(
    ("coding", "body", "refused"),
    [
        ("gzip", gzip.compress(b"") * 100_000, True),
        ("gzip", (gzip.compress(b"") + ZEROS) * 300, False),
        ("gzip", (gzip.compress(b"") + ZEROS) * 1100, True),
        ("gzip", gzip.compress(b"1,2\n" * 20_000) * 300, False),
        ("zstd", SKIPPABLE * 1_000_000, True),
        ("zstd", zstd.compress(b"1,2\n" * 20_000) * 300, False),
    ],
    ids=["members", "padding", "more-padding", "blocks", "skippable", "frames"],
)
def test_a_body_of_many_members_is_read_about_once_and_refused_where_it_goes_too_far(
    coding: str, body: bytes, *, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal read
            piece = super().read(size)
            read += len(piece)
            return piece

    monkeypatch.setattr(encodings, "BytesIO", Counting)
    if refused:
        with pytest.raises(MalformedBody, match="more than 1000"):
            decode(body, coding, max_bytes=2**26)
    else:
        decode(body, coding, max_bytes=2**26)
    members = 1000 if refused else 300
    assert read <= 2 * min(len(body), members * (len(ZEROS) + 100)) + 2 * members * encodings.FED_BYTES


@CODINGS
@pytest.mark.parametrize("size", [1, 2, 7, 65_535, 65_536, 65_537, 262_144, 262_145, 1_000_000])
def test_wherever_a_piece_ends_the_body_is_the_same(
    coding: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = bytes(index * 7919 % 251 for index in range(min(size, 70_000))) * max(1, size // 70_000)
    packed = gzip.compress(text) if coding == "gzip" else zstd.compress(text)
    for fed in (
        (1, 5, len(packed), len(packed) + 1) if len(packed) < 5000 else (len(packed) - 1, len(packed), 4096)
    ):
        monkeypatch.setattr(encodings, "FED_BYTES", fed)
        assert decode(packed * 2, coding, max_bytes=2 * len(text)) == text * 2
        with pytest.raises(MalformedBody, match="truncated"):
            decode(packed[:-1], coding, max_bytes=len(text))
