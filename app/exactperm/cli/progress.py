"""Progress on standard error: on a terminal one line that changes, elsewhere lines only when it takes long."""

from __future__ import annotations

import sys
import threading
import time
from types import TracebackType
from typing import Self, TextIO

AFTER_S = 1.0  # of one step, before anything is printed where there is no terminal
READING_AFTER_S = 5.0  # loading the libraries takes a while on a busy machine
EVERY_S = 0.25
LONG_S = 3600.0


class Progress:
    """Shows the current step from `__enter__` to `__exit__`, unless `quiet`."""

    def __init__(self, *, quiet: bool, stream: TextIO | None = None) -> None:
        self._stream = stream or sys.stderr
        self._quiet = quiet
        self._live = self._stream.isatty()
        self._started = self._since = time.monotonic()
        self._due = READING_AFTER_S
        self._doing = "reading"
        self._planned_s: float | None = None
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Self:
        if not self._quiet:
            self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._ended.set()
        if not self._quiet:
            self._thread.join(1.0)

    def doing(self, what: str, planned_s: float | None = None) -> None:
        """Begin a step; `planned_s` is how long it should take."""
        self._doing, self._planned_s = what, planned_s
        self._since, self._due = time.monotonic(), AFTER_S

    def _watch(self) -> None:
        """On a terminal a line that changes; elsewhere lines after 1, 2, 4, … seconds."""
        shown = False
        while not self._ended.wait(EVERY_S):
            if self._live:
                self._say(f"\r\x1b[K{self._line()}")
                shown = True
            elif time.monotonic() - self._since >= self._due:
                self._due *= 2
                self._say(f"{self._line()}\n")
        if shown:
            self._say("\r\x1b[K")

    def _line(self) -> str:
        planned = "" if self._planned_s is None else f", planned about {duration(self._planned_s)}"
        return f"exactperm: {self._doing}… {duration(time.monotonic() - self._started)}{planned}"

    def _say(self, text: str) -> None:
        try:
            self._stream.write(text)
            self._stream.flush()
        except (OSError, ValueError):
            self._ended.set()


def duration(seconds: float) -> str:
    """Seconds with a unit.

    >>> duration(0.04), duration(12.3), duration(200), duration(7200)
    ('0.04 s', '12 s', '3.3 min', '2 h')
    """
    if seconds < 1:
        return f"{seconds:.2g} s"
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.2g} min" if seconds < LONG_S else f"{seconds / LONG_S:.2g} h"
