"""Child processes as the web process sees them: started or forked for it, watched, killed, waited for."""

from __future__ import annotations

import asyncio
import contextlib
import ctypes
import logging
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Sequence

from .ipc import ONE_THREAD

PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36  # prctl(2)

_libc = ctypes.CDLL(None)


class Child:
    """A child process with the id `pid`, which nobody else waits for.

    asyncio's own watchers know only processes that asyncio started. It may be created before the event loop runs, in
    which `watch` is then called.
    """

    def __init__(self, pid: int) -> None:
        self.pid = pid
        self.returncode: int | None = None
        self.exited = asyncio.Event()
        self._watched = False

    def watch(self) -> None:
        """Notice its exit, in the running event loop."""
        if self._watched:
            return
        self._watched = True
        loop = asyncio.get_running_loop()
        try:
            descriptor = os.pidfd_open(self.pid)
        except (AttributeError, OSError):  # not Linux, or a sandbox without it
            threading.Thread(
                target=self._wait, args=(loop,), name=f"wait for {self.pid}", daemon=True
            ).start()
        else:
            loop.add_reader(descriptor, self._reap, loop, descriptor)

    def kill(self) -> None:
        """Kill it at once; its id is its own until it has been waited for."""
        if self.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.pid, signal.SIGKILL)

    def _reap(self, loop: asyncio.AbstractEventLoop, descriptor: int) -> None:
        loop.remove_reader(descriptor)
        os.close(descriptor)
        _, status = os.waitpid(self.pid, 0)
        self._ended(status)

    def _wait(self, loop: asyncio.AbstractEventLoop) -> None:
        _, status = os.waitpid(self.pid, 0)
        with contextlib.suppress(RuntimeError):  # the loop is closed
            loop.call_soon_threadsafe(self._ended, status)

    def _ended(self, status: int) -> None:
        self.returncode = os.waitstatus_to_exitcode(status)
        self.exited.set()


def spawn(module: str, arguments: Sequence[str], descriptor: int) -> int:
    """Start `python -m module arguments` with the import path of this process; it inherits the file descriptor."""
    process = subprocess.Popen(  # noqa: S603  (our own module)
        [sys.executable, "-P", "-m", module, *arguments],
        stdin=subprocess.DEVNULL,
        pass_fds=(descriptor,),
        env={
            **os.environ,
            **ONE_THREAD,
            "PYTHONPATH": os.pathsep.join(entry or "." for entry in sys.path),
        },
    )
    process.returncode = 0  # `Child` waits for it
    return process.pid


def fork(main: Callable[[], None]) -> int:
    """Fork a child that runs `main` and exits; only where this process has neither threads nor an event loop."""
    pid = os.fork()
    if not pid:
        status = 1
        try:
            main()
            status = 0
        except SystemExit as end:
            status = end.code if isinstance(end.code, int) else 1
        except Exception:
            logging.getLogger(__name__).exception("a forked process failed")
        finally:
            os._exit(status)
    return pid


def adopt_grandchildren() -> bool:
    """Become the parent of grandchildren whose parent exits, and return whether that is so (Linux)."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        os.close(os.pidfd_open(os.getpid()))
    except OSError:
        return False
    return bool(_libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0)


def die_with_parent(parent: int) -> None:
    """Have the kernel kill this process when its parent, with this id, dies (Linux)."""
    _libc.prctl(PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)
    if os.getppid() != parent:  # it was faster
        os._exit(1)


def keep_from_children(*sockets: socket.socket) -> None:
    """Have every fork of this process close these sockets: what it serves ends with it."""

    def close() -> None:
        for one in sockets:
            one.close()

    os.register_at_fork(after_in_child=close)
