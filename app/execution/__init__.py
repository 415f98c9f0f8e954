"""Worker processes: scheduling, deadlines and cancellation. Knows no HTTP and no statistics."""

from __future__ import annotations

from .executor import Executor
from .ipc import Control, Unbounded

__all__ = ["Control", "Executor", "Unbounded"]
