"""The checks of the health routes: whether the service is alive, and whether it is ready."""

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
        """The self-test ran; `wrong` names the failed cases."""
        self._wrong = wrong

    def not_alive(self) -> str | None:
        """Why the service should be restarted: work is pending and no worker makes progress. A busy service is alive."""
        return "Work is pending and no worker makes progress." if self._executor.stalled else None

    def not_ready(self) -> str | None:
        """Why no requests should be sent to this service."""
        if self._drain.begun:
            return "The service is shutting down."
        if self._wrong is None:
            return "The self-test has not run yet."
        if self._wrong:
            return f"The self-test failed: {', '.join(self._wrong)}."
        return None if self._executor.ready else "No worker is ready."
