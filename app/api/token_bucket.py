"""A share of a processor's time for work that may come to nothing."""

from __future__ import annotations


class TokenBucket:
    """`share` seconds for every second that passes; what is not spent is saved up, `saved_s` at most.

    May be overdrawn by the last piece of work, and then recovers before there is any again.
    """

    def __init__(self, share: float, saved_s: float) -> None:
        self._share = share
        self._saved_s = saved_s
        self._left_s = saved_s
        self._at = 0.0

    def left(self, now: float) -> bool:
        """Whether there is any at `now`, in seconds of a clock that does not go back."""
        self._left_s = min(self._saved_s, self._left_s + self._share * (now - self._at))
        self._at = now
        return self._left_s > 0.0

    def spend(self, seconds: float) -> None:
        """So much was used."""
        self._left_s -= seconds
