"""`store` in a body: whether the answer is to be kept, and what says so where nothing can be."""

from __future__ import annotations

from dataclasses import replace

from pydantic import BaseModel

from ..errors import InvalidTest, JobsOff
from .messages import Job

STORE = "store"  # the field of a body, and the query parameter
OFF = (
    "This service keeps no jobs and no answers. Its operator can set EXACTPERM_JOBS_URL, to sqlite:////path/jobs.sqlite or to "
    "a PostgreSQL database; until then, send tests one by one."
)
ALONE = "Nothing is kept without a server: leave store out, or ask a server that keeps answers."
LISTED = (
    "One answer of a list or of a job is not kept by itself: leave store out here. A job keeps its result anyway, and a "
    "list is kept by store next to its tests."
)
INSIDE = "What is kept is the whole answer: give store next to what this test is part of, not inside."


def store_of(request: BaseModel) -> bool | None:
    """What a request says; None where it leaves it out."""
    return getattr(request, STORE) if STORE in request.model_fields_set else None


def asking(job: Job, store: bool | None) -> Job:
    """The job with what its body says, which travels with the answer.

    Raises JobsOff: nothing is kept here; InvalidTest: the request is one of a list, or of a job.
    """
    if job.keeps == "listed":
        refuse_to_store(store)
    if store and job.keeps != "kept":
        raise JobsOff(OFF if job.keeps == "off" else ALONE)
    return replace(job, store=store)


def refuse_to_store(store: bool | None, why: str = LISTED) -> None:
    """Refuse to keep what a list or a job answers, or a part of an answer; raises InvalidTest at `/store`."""
    if store:
        raise InvalidTest.at(f"/{STORE}", "store_not_here", why)


def of_a_list(written: str | None) -> bool | None:
    """What the member `store` of a list says, as it is written; raises InvalidTest."""
    values: dict[str | None, bool | None] = {None: None, "true": True, "false": False}
    if written not in values:
        raise InvalidTest.at(f"/{STORE}", "bool_type", "This must be a valid boolean.")
    return values[written]
