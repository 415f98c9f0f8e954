"""Access to the job database, whose refusals become problems. The job engine is imported at the first use."""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Awaitable, Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Any, TypeVar

from starlette.requests import Request

from ..errors import KeyConflict, Overloaded, StoreUnreachable, TooManyJobs
from ..ops.keys import MAX_KEY_BYTES, SCHEME
from ..service.messages import RenderedResponse
from ..settings import Settings

if TYPE_CHECKING:
    from ..jobs.gateway import Jobs


ANONYMOUS = "anonymous"


def owner_of(request: Request, settings: Settings) -> str:
    """The digest of the API key, which the middleware has checked; one name for all where no keys are set."""
    if not settings.api_key_digests.strip():
        return ANONYMOUS
    key = request.headers.get("authorization", "").encode()[len(SCHEME) :].strip()[:MAX_KEY_BYTES]
    return hashlib.sha256(key).hexdigest()


T = TypeVar("T")
THREADS = 6  # as many as a service has connections


def in_thread(function: Callable[..., T], *arguments: Any) -> Awaitable[T]:
    """Run a function in our thread pool: calls that wait for a lost database must not take the threads of tests."""
    return asyncio.get_running_loop().run_in_executor(_threads(), function, *arguments)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="exactperm-jobs")


def query_store(jobs: Jobs, ask: Callable[[], T], settings: Settings) -> T:
    """Run a call of the database, turning its refusals into errors of the API."""
    from ..jobs.database import reachable
    from ..jobs.model import KeyReused, NoRoom, NoShare, StoreAway

    try:
        with jobs.patience(), reachable():
            return ask()
    except StoreAway:
        detail = (
            "The database of jobs cannot be reached, or refuses to write. Tests are still answered; "
            "the service's log has the reason."
        )
        raise StoreUnreachable(detail, retry_after_s=max(5, settings.retry_after_s)) from None
    except KeyReused:
        detail = "This Idempotency-Key was used for another request. Choose a new one for a new request."
        raise KeyConflict(detail) from None
    except NoShare as full:
        wait = min(3_600, max(1, math.ceil(0.1 * full.seconds / max(settings.workers, 1))))
        if full.own:
            detail = "Too many jobs of this API key are unfinished. Wait until some have ended."
            raise TooManyJobs(detail, retry_after_s=wait) from None
        raise Overloaded("Too many jobs are waiting. Try again later.", retry_after_s=wait) from None
    except NoRoom:
        detail = (
            f"Stored results and answers of this API key take all of its {settings.jobs_key_bytes:,} bytes. "
            "Delete jobs that you no longer need, wait until some expire, or omit store."
        )
        raise TooManyJobs(detail, retry_after_s=3_600) from None


async def with_permalink(
    jobs: Jobs, settings: Settings, owner: str, rendered: RenderedResponse
) -> RenderedResponse:
    """The answer, stored for the retention time; its Content-Location is the permalink."""
    from ..jobs.worker import stored_of

    stored = stored_of(rendered)
    name = await in_thread(query_store, jobs, lambda: jobs.keep(owner, stored), settings)
    return replace(rendered, headers=(*rendered.headers, ("content-location", f"/v1/results/{name}")))
