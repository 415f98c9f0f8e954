"""The SHA-256 of a body, taken by a thread while the body is still arriving.

Hashing 16 MB takes 10 ms, in which the loop would serve nobody; done afterwards in a thread the request would wait for
it. Small bodies are never hashed before somebody asks: most of them are answered without.
"""

from __future__ import annotations

import asyncio
import hashlib
from typing import Any

BLOCK_BYTES = 2**20  # 0.6 ms: less is not worth a thread
MOST_PIECES = 512  # a body of tiny pieces must not become a list of a million
MOST_WAITING_BYTES = 2**23  # then the body waits for its digest


class BodyDigest:
    """Is given the pieces of one body in their order."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()
        self._waiting: list[bytes] = []
        self._size = 0
        self._under_way: asyncio.Future[None] | None = None

    async def take(self, piece: bytes) -> None:
        """One more piece; it must not change any more."""
        self._waiting.append(piece)
        self._size += len(piece)
        if self._size < BLOCK_BYTES and len(self._waiting) < MOST_PIECES:
            return
        if self._under_way is not None and not self._under_way.done():
            if self._size < MOST_WAITING_BYTES and len(self._waiting) < MOST_PIECES:
                return
            await self._under_way
        self._under_way = self._begun()

    async def finished(self) -> Any:
        """The hash object of all pieces; the caller may add to it."""
        if self._under_way is not None:
            await self._under_way
        if self._size >= BLOCK_BYTES:
            await self._begun()
        _update(self._digest, self._waiting)
        self._waiting, self._size = [], 0
        return self._digest

    def _begun(self) -> asyncio.Future[None]:
        pieces, self._waiting, self._size = self._waiting, [], 0
        return asyncio.get_running_loop().run_in_executor(None, _update, self._digest, pieces)


def _update(digest: Any, pieces: list[bytes]) -> None:
    for piece in pieces:
        digest.update(piece)
