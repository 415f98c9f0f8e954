"""Asking the database of jobs: what it refuses becomes a problem. Nothing of its engine is imported before it is asked."""

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
    """Run it in a thread of our own: what waits for a database that is away must not keep tests from theirs."""
    return asyncio.get_running_loop().run_in_executor(_threads(), function, *arguments)


@cache
def _threads() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(THREADS, thread_name_prefix="exactperm-jobs")


def asked(jobs: Jobs, ask: Callable[[], T], settings: Settings) -> T:
    """What the database says; raises the errors of the API."""
    from ..jobs.database import reachable
    from ..jobs.model import KeyReused, NoRoom, NoShare, StoreAway

    try:
        with jobs.patience(), reachable():
            return ask()
    except StoreAway:
        detail = "The database of jobs cannot be reached, or does not take what is written. Tests are still answered; the log of the service says why."
        raise StoreUnreachable(detail, retry_after_s=max(5, settings.retry_after_s)) from None
    except KeyReused:
        detail = "This Idempotency-Key was used for another request. Choose a new one for a new request."
        raise KeyConflict(detail) from None
    except NoShare as full:
        wait = min(3_600, max(1, math.ceil(0.1 * full.seconds / max(settings.workers, 1))))
        if full.own:
            detail = "Too many jobs of this API key have not ended yet. Wait until some have."
            raise TooManyJobs(detail, retry_after_s=wait) from None
        raise Overloaded("Too many jobs wait. Try again later.", retry_after_s=wait) from None
    except NoRoom:
        detail = (
            f"Results and answers that are kept for this API key take {settings.jobs_key_bytes:,} bytes, all that it may have. "
            "Delete jobs that you no longer need, wait until some expire, or ask without store."
        )
        raise TooManyJobs(detail, retry_after_s=3_600) from None


async def with_permalink(
    jobs: Jobs, settings: Settings, owner: str, rendered: RenderedResponse
) -> RenderedResponse:
    """An answer that is kept for the retention time; its Content-Location says where."""
    from ..jobs.worker import stored_of

    stored = stored_of(rendered)
    name = await in_thread(asked, jobs, lambda: jobs.keep(owner, stored), settings)
    return replace(rendered, headers=(*rendered.headers, ("content-location", f"/v1/results/{name}")))
