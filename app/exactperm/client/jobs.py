"""Jobs of a server: requests that outlive the connection. `Client.jobs` and `AsyncClient.jobs` have these methods.

A submission carries an idempotency key, so that sending it again after a lost connection makes no second job.
"""

from __future__ import annotations

import json
import uuid
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal
from urllib.parse import quote

import httpx

from . import calls
from .batch import Request, Result, result_or_problem, typed, wrapped
from .calls import Call
from .decode import decode
from .errors import ProblemError

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ENDED = frozenset({"succeeded", "failed", "cancelled"})
NDJSON = "application/x-ndjson"
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 2.0


@dataclass(frozen=True, slots=True)
class Job:
    """A job as it was when the server was asked; `raw` is the whole answer, with the problem of a job that failed."""

    id: str
    kind: str
    state: State
    progress: float
    tests: int
    tests_done: int
    predicted_seconds: float
    created: str
    ended: str | None
    expires: str | None
    raw: Mapping[str, Any]

    @property
    def done(self) -> bool:
        """Whether it has ended, well or not."""
        return self.state in ENDED


def submit_call(request: Request | Sequence[Request], key: str | None = None) -> Call:
    """The call that submits one request, or a list of them."""
    if isinstance(request, Sequence):
        content = b'{"kind":"batch","request":{"tests":[' + b",".join(map(wrapped, request)) + b"]}}"
    else:
        content = wrapped(request)
    return Call("/v1/jobs", content=content, headers=(("idempotency-key", key or uuid.uuid4().hex),))


def status_call(job: str) -> Call:
    """The call for the state of a job."""
    return Call(f"/v1/jobs/{quote(job, safe='')}", "GET")


def cancel_call(job: str) -> Call:
    """The call that cancels a job."""
    return Call(f"/v1/jobs/{quote(job, safe='')}/cancel")


def list_call(state: State | None = None, limit: int | None = None, after: str | None = None) -> Call:
    """The call for the newest jobs: of one state, so many, older than the job `after`."""
    given = {"state": state, "limit": limit, "after": after}
    query = tuple((name, str(value)) for name, value in given.items() if value is not None)
    return Call("/v1/jobs", "GET", query)


def delete_call(job: str) -> Call:
    """The call that cancels a job and forgets it."""
    return Call(f"/v1/jobs/{quote(job, safe='')}", "DELETE")


def result_call(job: str) -> Call:
    """The call for the result of a job."""
    return Call(f"/v1/jobs/{quote(job, safe='')}/result", "GET")


def job_of(response: httpx.Response) -> Job:
    """The job in an answer; raises ProblemError."""
    return decode(Job, calls.json_of(response))


def jobs_of(response: httpx.Response) -> list[Job]:
    """The jobs in an answer; raises ProblemError."""
    return [decode(Job, job) for job in calls.json_of(response)["jobs"]]


def result_of(response: httpx.Response) -> Result | list[Result | ProblemError]:
    """The result of a job: of one request, or of a list in its order, where a wrong request has its error."""
    calls.checked(response)
    if response.headers.get("content-type", "").startswith(NDJSON):
        return [result_or_problem(json.loads(line)) for line in response.content.splitlines()]
    return typed(calls.json_of(response))


def waits() -> Iterator[float]:
    """Seconds between two looks at a job."""
    wait = FIRST_WAIT_S
    while True:
        yield wait
        wait = min(LONGEST_WAIT_S, 1.5 * wait)


class Jobs:
    """The jobs of this client's API key."""

    def __init__(self, send: Callable[[Call], httpx.Response], sleep: Callable[[float], None]) -> None:
        self._send = send
        self._sleep = sleep

    def submit(self, request: Request | Sequence[Request], *, key: str | None = None) -> Job:
        """Submit a request made by `scores`, `gate`, `compare` and so on, or a list of them; `key` makes it the same job."""
        return job_of(self._send(submit_call(request, key)))

    def status(self, job: str) -> Job:
        """A job as it is now."""
        return job_of(self._send(status_call(job)))

    def wait(self, job: str, progress: Callable[[Job], None] | None = None) -> Job:
        """Wait until a job has ended; `progress` is called at every look."""
        for seconds in waits():
            now = self.status(job)
            if progress is not None:
                progress(now)
            if now.done:
                return now
            self._sleep(seconds)
        raise AssertionError

    def result(self, job: str) -> Result | list[Result | ProblemError]:
        """The result of a job that has succeeded; of a list as a list, where a wrong request has its error."""
        return result_of(self._send(result_call(job)))

    def cancel(self, job: str) -> Job:
        """Cancel a job, any number of times."""
        return job_of(self._send(cancel_call(job)))

    def list(
        self, state: State | None = None, *, limit: int | None = None, after: str | None = None
    ) -> list[Job]:
        """The newest jobs of this key, the newest first: of one `state`; for the next ones, `after` the last job's id."""
        return jobs_of(self._send(list_call(state, limit, after)))

    def delete(self, job: str) -> None:
        """Cancel a job and forget it, with its result."""
        calls.checked(self._send(delete_call(job)))


class AsyncJobs:
    """As `Jobs`, awaited."""

    def __init__(
        self,
        send: Callable[[Call], Awaitable[httpx.Response]],
        sleep: Callable[[float], Awaitable[None]],
    ) -> None:
        self._send = send
        self._sleep = sleep

    async def submit(self, request: Request | Sequence[Request], *, key: str | None = None) -> Job:
        """As `Jobs.submit`."""
        return job_of(await self._send(submit_call(request, key)))

    async def status(self, job: str) -> Job:
        """As `Jobs.status`."""
        return job_of(await self._send(status_call(job)))

    async def wait(self, job: str, progress: Callable[[Job], None] | None = None) -> Job:
        """As `Jobs.wait`."""
        for seconds in waits():
            now = await self.status(job)
            if progress is not None:
                progress(now)
            if now.done:
                return now
            await self._sleep(seconds)
        raise AssertionError

    async def result(self, job: str) -> Result | list[Result | ProblemError]:
        """As `Jobs.result`."""
        return result_of(await self._send(result_call(job)))

    async def cancel(self, job: str) -> Job:
        """As `Jobs.cancel`."""
        return job_of(await self._send(cancel_call(job)))

    async def list(
        self, state: State | None = None, *, limit: int | None = None, after: str | None = None
    ) -> list[Job]:
        """As `Jobs.list`."""
        return jobs_of(await self._send(list_call(state, limit, after)))

    async def delete(self, job: str) -> None:
        """As `Jobs.delete`."""
        calls.checked(await self._send(delete_call(job)))
