"""The service without a server: the pipeline answers httpx requests in this process.

It reads them like a server, within the same limits (the settings EXACTPERM_…), so that the answers are the same
bytes. Nothing listens, and no process is started.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import Any, cast

import httpx

from ..api.negotiation import board_picture, board_table, body_of, representation, theme
from ..errors import DeadlineExceeded, ExactpermError, OutOfMemory
from ..service import problems
from ..service.batch import handle_batch
from ..service.kinds import BY_PATH, KINDS, MULTIPART
from ..service.messages import Job, RenderedResponse, limits_of
from ..service.pipeline import handle
from ..service.query import timeout_of_query
from ..settings import Settings

REQUEST_ID = "-"
LOOK_S = 0.05  # period of checking the deadline


class Limit:
    """The deadline of one computation, counted from its start; a `Control`."""

    def __init__(self, planned: Callable[[float], None] | None) -> None:
        self._planned = planned
        self._started = time.monotonic()
        self._ends: float | None = None

    def deadline(self, seconds: float) -> None:
        """End it `seconds` after it began."""
        self._ends = self._started + seconds

    def plan(self, seconds: float) -> None:
        """Report how long the engine may need."""
        if self._planned is not None:
            self._planned(seconds)

    def left(self) -> float | None:
        """Seconds that are left; None without a deadline."""
        return None if self._ends is None else self._ends - time.monotonic()


class InProcess(httpx.BaseTransport):
    """Answers requests for tests, gates, comparisons and plans; `planned` is called with the engine's predicted
    seconds.

    The pipeline runs in another thread, so that the caller's can be interrupted and stops waiting at the deadline.
    `look` is called while the pipeline runs and stops it by raising; the caller then waits until it has stopped.
    `with_line` puts the line of text before the JSON of an answer.
    """

    def __init__(
        self,
        settings: Settings,
        planned: Callable[[float], None] | None = None,
        *,
        look: Callable[[], None] | None = None,
        with_line: bool = False,
    ) -> None:
        # The memory of this process is the caller's.
        self._limits = replace(limits_of(settings), worker_memory_bytes=sys.maxsize)
        self._planned = planned
        self._look = look
        self._with_line = with_line

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; problems are answers as well."""
        try:
            rendered = self._within_limit(self._job(request), request.read())
        except ExactpermError as error:
            rendered = problems.of_error(error, REQUEST_ID)
        return httpx.Response(rendered.status, headers=list(rendered.headers), content=rendered.body)

    def _job(self, request: httpx.Request) -> Job:
        kind = BY_PATH[request.url.path]
        query = tuple(request.url.params.multi_items())
        options = dict(query)
        answer_in = representation(None, options.get("format"), KINDS[kind].offered)
        media = request.headers["content-type"]
        now = time.monotonic()
        return Job(
            kind=kind,
            # A server does not plan files.
            body=body_of(media, None, "files" if media.startswith(MULTIPART) else kind),
            query=query,
            representation=answer_in,
            request_id=REQUEST_ID,
            received_at=now,
            submitted_at=now,
            limits=self._limits,
            theme=theme(options.get("theme"), answer_in),
            **({} if kind != "compare" else _of_a_board(options, answer_in)),
            timeout_s=timeout_of_query(query),
            with_line=self._with_line,
        )

    def _within_limit(self, job: Job, body: bytes) -> RenderedResponse:
        results: list[RenderedResponse] = []
        done = threading.Event()
        limit = Limit(self._planned)

        def compute() -> None:
            with contextlib.suppress(MemoryError, SystemExit), _one_blas_thread:
                results.append(_handled(job, body, limit))
            done.set()

        thread = threading.Thread(target=compute, name="exactperm-compute", daemon=True)
        thread.start()
        try:
            _wait(done, limit, self._look)
        except BaseException:  # an interrupt, too
            _stop(thread)
            while self._look is not None and thread.is_alive():
                thread.join(1.0)
                _stop(thread)  # again, since a callback from C may have swallowed it
            raise
        if not results:
            raise OutOfMemory(
                "The test needs more memory than there is. Choose a cheaper method, or send less."
            )
        return results[0]


class _OneBlasThread:
    """While tests are computed, NumPy's OpenBLAS has one thread, as in a server's workers; then as many as before.

    Its threads would wait for each other longer than these products take. Other libraries of BLAS stay as they are.
    """

    def __init__(self) -> None:
        self._lock, self._running, self._before = threading.Lock(), 0, 0

    def __enter__(self) -> None:
        with self._lock:
            if self._running == 0:
                self._before = openblas("get")()
                openblas("set")(1)
            self._running += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._running -= 1
            if self._running == 0:
                openblas("set")(self._before)


_one_blas_thread = _OneBlasThread()


@cache
def openblas(verb: str) -> Callable[..., int]:
    """OpenBLAS's function that gets or sets the number of threads."""
    library = ctypes.CDLL(sys.modules["numpy._core._multiarray_umath"].__file__)
    for name in ("scipy_openblas_{}_num_threads64_", "openblas_{}_num_threads64_", "openblas_{}_num_threads"):
        with contextlib.suppress(AttributeError):
            return cast("Callable[..., int]", getattr(library, name.format(verb)))
    return lambda *_: 1


def _handled(job: Job, body: bytes, limit: Limit) -> RenderedResponse:
    if job.kind != "batch":
        return handle(job, body, limit)
    alone = replace(job, limits=replace(job.limits, workers=1))  # no workers to divide it among
    answered = handle_batch(alone, body, limit)
    assert isinstance(answered, RenderedResponse)
    return answered


def _of_a_board(options: dict[str, str], answer_in: str) -> dict[str, Any]:
    """The options that only answers to comparisons have."""
    return {
        "picture": board_picture(options.get("picture"), answer_in),
        "table": board_table(options.get("table"), answer_in),
    }


def _wait(done: threading.Event, limit: Limit, look: Callable[[], None] | None) -> None:
    """Wait until it is done; raises DeadlineExceeded, or the exception of `look`. The deadline is known only once the
    body has been read.
    """
    while not done.wait(LOOK_S):
        if look is not None:
            look()
        left = limit.left()
        if left is not None and left <= 0:
            raise DeadlineExceeded(
                "The answer was not ready in time. Allow more, or choose a cheaper method."
            )


def _stop(thread: threading.Thread) -> None:
    """End an abandoned computation:

    SystemExit is raised in its thread once the current call into C has returned. Otherwise it would slow down a
    program that goes on, such as a notebook.
    """
    ctypes.pythonapi.PyThreadState_SetAsyncExc(
        ctypes.c_ulong(thread.ident or 0), ctypes.py_object(SystemExit)
    )
