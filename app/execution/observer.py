"""What the execution tells whoever counts: a hook, so that nothing here knows a metrics library."""

from __future__ import annotations

from typing import Protocol


class Observer(Protocol):
    """Told of every event, on the event loop; it must return at once and raise nothing."""

    def rejected(self, reason: str) -> None:
        """A call was refused: `queue_depth`, `queue_seconds`, `queue_bytes` or `stopping`."""

    def restarted(self, reason: str) -> None:
        """A worker ended and is replaced: it `died`, or was ended for `deadline`, `disconnect` or `memory`."""

    def queued(self, seconds: float) -> None:
        """A call waited so long for a worker."""

    def computed(self, seconds: float) -> None:
        """A call ran so long in a worker, to its end."""


class Unobserved:
    """Nobody counts."""

    def rejected(self, reason: str) -> None:
        """Nothing to do."""

    def restarted(self, reason: str) -> None:
        """Nothing to do."""

    def queued(self, seconds: float) -> None:
        """Nothing to do."""

    def computed(self, seconds: float) -> None:
        """Nothing to do."""
