"""A job that is submitted later is the same job."""

from __future__ import annotations

from dataclasses import fields, replace

from exactperm.service.limits import limits_of
from exactperm.service.messages import Body, Job
from exactperm.settings import Settings


def test_only_the_time_of_submission_changes() -> None:
    limits = limits_of(Settings(workers=1))
    job = Job(
        kind="compare", body=Body("text/csv", "gzip", "b"), query=(("a", "b"),), representation="svg", request_id="id",
        received_at=1.0, submitted_at=2.0, limits=limits, theme="dark", picture="forest", table="pairs", timeout_s=3.0,
        with_line=True, keeps="off", store=True,
    )  # fmt: skip
    plain = Job("effects", Body("application/json"), (), "json", "id", 1.0, 2.0, limits)
    ours = [field.name for field in fields(Job) if field.name not in {"submitted_at", "limits"}]
    same = [name for name in ours if getattr(job, name) == getattr(plain, name)]
    assert same == ["request_id", "received_at"]
    assert job.submitted(9.0) == replace(job, submitted_at=9.0)
