"""Refusal of a test that cannot end before its deadline, so that it does not occupy a worker until then."""

from __future__ import annotations

from math import ceil

from ..errors import Flaw, PlanTooLarge
from ..execution.ipc import TooLong
from ..service.media_types import JSON, MULTIPART
from ..service.messages import Job


def over_deadline(job: Job, body: bytes | bytearray, planned: TooLong, longest_s: float) -> PlanTooLarge:
    """The error for a test predicted to take far longer than its deadline; deadlines are at most `longest_s`.

    Its pointer is where the deadline is, or can be, set.
    """
    needed_s = ceil(planned.seconds)
    choose = "a cheaper method, or fewer samples (POST /v1/plan predicts what each method costs)."
    if needed_s <= longest_s:
        advice = f"Set timeout_s to {needed_s} or more, or choose {choose}"
    else:
        advice = f"This server allows no deadline above {longest_s:g} s: choose {choose}"
    detail = (
        f"The test was not started: it is predicted to take {planned.seconds:.3g} s, and its deadline is "
        f"{planned.deadline_s:g} s. {advice}"
    )
    return PlanTooLarge(detail, flaws=(Flaw(_pointer(job, body), "over_deadline", detail),))


def _pointer(job: Job, body: bytes | bytearray) -> str:
    if job.timeout_s is not None or job.kind == "batch":
        return "/?timeout_s"
    if job.body.media_type == MULTIPART:
        return "/options/timeout_s"
    if job.body.media_type != JSON:
        return "/?timeout_s"
    if job.kind != "gate":
        return "/timeout_s"
    # The body was decoded in another process. In a gate of several metrics each has its own deadline.
    return "/metrics" if b'"metrics"' in body else "/request/timeout_s"
