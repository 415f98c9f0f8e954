"""Where CPU is spent: worker processes, deadlines, admission and cancellation. Knows no HTTP and no statistics."""

from __future__ import annotations

from app.execution.executor import Executor
from app.execution.frames import Control, Unbounded

__all__ = ["Control", "Executor", "Unbounded"]
