"""The transport of tests in this process, for the command line: numerical libraries use one thread, as in a worker."""

from __future__ import annotations

import os

from ..execution.ipc import ONE_THREAD

os.environ.update(
    {name: os.environ.get(name, value) for name, value in ONE_THREAD.items()}
)  # before NumPy looks

from ..local.transport import InProcess

__all__ = ["InProcess"]
