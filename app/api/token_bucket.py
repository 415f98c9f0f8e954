"""A token bucket of processor time."""

from __future__ import annotations

# Pieces of work are short: one that took far longer was stopped together with its process, and others need not pay for it.
MOST_OWED = 10.0  # times what is saved


class TokenBucket:
    """Earns `share` seconds per second, and holds at most `saved_s`; the last piece of work may overdraw it, within reason."""

    def __init__(self, share: float, saved_s: float) -> None:
        self._share = share
        self._saved_s = saved_s
        self._left_s = saved_s
        self._at = 0.0

    def left(self, now: float) -> bool:
        """Whether the bucket holds any time at `now`, in seconds of a monotonic clock."""
        self._left_s = min(self._saved_s, self._left_s + self._share * (now - self._at))
        self._at = now
        return self._left_s > 0.0

    def spend(self, seconds: float) -> None:
        """Spend `seconds`."""
        self._left_s = max(self._left_s - seconds, -MOST_OWED * self._saved_s)
