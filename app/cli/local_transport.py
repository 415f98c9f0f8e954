"""The service without a server: requests of httpx are answered by the pipeline in this process.

They are read as a server reads them, multipart body and all, within the same limits (the settings EXACTPERM_…), so
that the answers are the same bytes. Nothing listens, and no process is started.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable
from typing import get_args

import httpx

from ..execution.ipc import ONE_THREAD

os.environ.update({name: os.environ.get(name, value) for name, value in ONE_THREAD.items()})

from ..api.negotiation import body_of, representation, theme
from ..errors import DeadlineExceeded, ExactpermError, OutOfMemory
from ..service import problems
from ..service.limits import limits_of
from ..service.media_types import MULTIPART, OFFERED
from ..service.messages import Job, Kind, Rendered, TestKind
from ..service.pipeline import handle
from ..settings import Settings

PATHS: dict[str, Kind] = {
    "/v1/plan": "plan",
    "/v1/gate": "gate",
    "/v1/tests/files": "files",
    **{f"/v1/tests/{kind}": kind for kind in get_args(TestKind)},
}
REQUEST_ID = "-"


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
        """Say how long the engine may need."""
        if self._planned is not None:
            self._planned(seconds)

    def left(self) -> float | None:
        """Seconds that are left; None without a deadline."""
        return None if self._ends is None else self._ends - time.monotonic()


class InProcess(httpx.BaseTransport):
    """Answers requests for tests, gates and plans; `planned` hears how many seconds the engine may need.

    The pipeline runs in a thread, so that this one can be interrupted, and can stop waiting at the deadline.
    """

    def __init__(self, settings: Settings, planned: Callable[[float], None] | None = None) -> None:
        self._limits = limits_of(settings)
        self._planned = planned

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        """Answer one request; problems are answers, too."""
        try:
            rendered = self._within_limit(self._job(request), request.read())
        except ExactpermError as error:
            rendered = problems.of_error(error, REQUEST_ID)
        return httpx.Response(rendered.status, headers=list(rendered.headers), content=rendered.body)

    def _job(self, request: httpx.Request) -> Job:
        kind = PATHS[request.url.path]
        query = tuple(request.url.params.multi_items())
        asked = dict(query)
        answer_in = representation(None, asked.get("format"), OFFERED[kind])
        media = request.headers["content-type"]
        now = time.monotonic()
        return Job(
            kind=kind,
            # The plan of files is for the command line only.
            body=body_of(media, None, "files" if media.startswith(MULTIPART) else kind),
            query=query,
            representation=answer_in,
            request_id=REQUEST_ID,
            received_at=now,
            submitted_at=now,
            limits=self._limits,
            theme=theme(asked.get("theme"), answer_in),
        )

    def _within_limit(self, job: Job, body: bytes) -> Rendered:
        found: list[Rendered] = []
        done = threading.Event()
        limit = Limit(self._planned)

        def compute() -> None:
            with contextlib.suppress(MemoryError):
                found.append(handle(job, body, limit))
            done.set()

        threading.Thread(target=compute, name="exactperm-compute", daemon=True).start()
        # The deadline is known only once the form has been read: look again and again.
        while not done.wait(0.05):
            left = limit.left()
            if left is not None and left <= 0:
                raise DeadlineExceeded(
                    "The answer was not ready in time. Allow more, or choose a cheaper method."
                )
        if not found:
            raise OutOfMemory(
                "The test needs more memory than there is. Choose a cheaper method, or send less."
            )
        return found[0]
