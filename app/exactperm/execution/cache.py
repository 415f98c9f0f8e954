"""A cache of answers, bounded by bytes and by entries; the least recently used are evicted first."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Generic, TypeVar

Value = TypeVar("Value")
OVERHEAD_BYTES = 1_000  # per entry: key, headers, objects


@dataclass(frozen=True, slots=True)
class Entry(Generic[Value]):
    """An answer, its size in bytes, and when it was stored."""

    value: Value
    size: int
    at: float


class Cache(Generic[Value]):
    """Keys are digests of whole requests. Entries never expire: the same request has the same answer."""

    def __init__(self, max_bytes: int, max_entries: int) -> None:
        self._max_bytes = max_bytes
        self._max_entries = max_entries
        self._entries: OrderedDict[bytes, Entry[Value]] = OrderedDict()
        self.size = 0

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def on(self) -> bool:
        """Whether anything is cached at all."""
        return self._max_bytes > 0 and self._max_entries > 0

    def get(self, key: bytes) -> Entry[Value] | None:
        """The entry of a request, or None; it becomes the most recently used."""
        entry = self._entries.get(key)
        if entry is not None:
            self._entries.move_to_end(key)
        return entry

    def put(self, key: bytes, value: Value, size: int, now: float) -> None:
        """Store an answer of `size` bytes, unless it is larger than an eighth of the cache."""
        size += OVERHEAD_BYTES
        if not self.on or size > self._max_bytes // 8 or key in self._entries:
            return
        self._entries[key] = Entry(value, size, now)
        self.size += size
        while self.size > self._max_bytes or len(self._entries) > self._max_entries:
            _, oldest = self._entries.popitem(last=False)
            self.size -= oldest.size
