"""Whether the service lives and whether it can take work, in one place: what the health routes say."""

from __future__ import annotations

from ..execution.executor import Executor
from .drain import Drain


class HealthChecks:
    """Reads the executor, the drain and the result of the self-test."""

    def __init__(self, executor: Executor, drain: Drain) -> None:
        self._executor = executor
        self._drain = drain
        self._wrong: list[str] | None = None

    def tested(self, wrong: list[str]) -> None:
        """The self-test ran; `wrong` names what did not come out as it should."""
        self._wrong = wrong

    def not_alive(self) -> str | None:
        """Why a restart is due: work is there, and no worker has moved for a while. Merely busy is alive."""
        return "Work is waiting and no worker gets on with it." if self._executor.stalled else None

    def not_ready(self) -> str | None:
        """Why no request should be sent here."""
        if self._drain.begun:
            return "The service is shutting down."
        if self._wrong is None:
            return "The self-test has not run yet."
        if self._wrong:
            return f"The self-test failed: {', '.join(self._wrong)}."
        return None if self._executor.ready else "No worker is ready."
