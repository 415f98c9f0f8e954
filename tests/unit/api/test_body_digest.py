"""The digest of a body does not depend on how it came."""

from __future__ import annotations

import asyncio
import hashlib
import random

import pytest

from app.api.body_digest import MOST_PIECES, BodyDigest


def digest_of(pieces: list[bytes]) -> bytes:
    async def take_all() -> bytes:
        digest = BodyDigest()
        for piece in pieces:
            await digest.take(piece)
            assert len(digest._waiting) <= MOST_PIECES
        found: bytes = (await digest.finished()).digest()
        return found

    return asyncio.run(take_all())


@pytest.mark.parametrize("sizes", [[], [1], [0, 5], [3] * 5_000, [65_536] * 300, [2**20, 1, 2**23, 7, 2**21]])
def test_the_digest_is_that_of_the_whole_whatever_the_pieces(sizes: list[int]) -> None:
    draw = random.Random(1)
    pieces = [draw.randbytes(size) for size in sizes]
    assert digest_of(pieces) == hashlib.sha256(b"".join(pieces)).digest()


def test_two_orders_of_the_same_pieces_differ() -> None:
    first, second = b"a" * 2**21, b"b" * 2**21
    assert digest_of([first, second]) != digest_of([second, first])
