"""Answers kept for those who ask the same again: bounded by bytes and by entries, the least recently used go first."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")
OVERHEAD_BYTES = 1_000  # of an entry: key, headers, objects


@dataclass(frozen=True, slots=True)
class Kept(Generic[Value]):
    """An answer, its size, and when it was kept."""

    value: Value
    size: int
    at: float


class Cache(Generic[Value]):
    """Keys are digests of whole requests. Nothing here ever expires: the same request has the same answer."""

    def __init__(self, max_bytes: int, max_entries: int) -> None:
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._kept: OrderedDict[bytes, Kept[Value]] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._kept)

    @property
    def on(self) -> bool:
        """Whether anything is kept at all."""
        return self._max_bytes > 0 and self._max_entries > 0

    def get(self, key: bytes) -> Kept[Value] | None:
        """The answer to a request, if it is known; it is then the most recently used."""
        found = self._kept.get(key)
        if found is not None:
            self._kept.move_to_end(key)
        return found

    def put(self, key: bytes, value: Value, size: int, now: float) -> None:
        """Keep an answer of so many bytes, unless it is larger than an eighth of all there is room for."""
        size += OVERHEAD_BYTES
        if not self.on or size > self._max_bytes // 8 or key in self._kept:
            return
        self._kept[key] = Kept(value, size, now)
        self.size += size
        while self.size > self._max_bytes or len(self._kept) > self._max_entries:
            _, oldest = self._kept.popitem(last=False)
            self.size -= oldest.size
