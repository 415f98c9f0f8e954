"""Jobs as JSON and as events."""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..jobs.model import JobRow


def location_of(job: str) -> str:
    """The path of a job."""
    return f"/v1/jobs/{job}"


def view_of(row: JobRow) -> dict[str, Any]:
    """What there is to know of a job."""
    return {
        "id": row.id,
        "kind": row.kind,
        "state": row.state,
        "progress": row.tests_done / row.tests if row.tests else float(row.state == "succeeded"),
        "tests": row.tests,
        "tests_done": row.tests_done,
        "chunks": row.chunks,
        "predicted_seconds": row.seconds,
        "algorithm": row.algorithm,
        "created": _moment(row.created),
        "ended": _moment(row.ended),
        "expires": _moment(row.expires),
        "result": f"{location_of(row.id)}/result" if row.state == "succeeded" else None,
        "problem": None if row.problem is None else json.loads(row.problem),
    }


def _moment(seconds: float | None) -> str | None:
    """A time as RFC 3339 has it, to the millisecond."""
    if seconds is None:
        return None
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def etag_of(view: dict[str, Any]) -> str:
    """Changes whenever the view does."""
    return f'"{hashlib.sha256(json.dumps(view).encode()).hexdigest()[:16]}"'


def matches(asked: str | None, etag: str) -> bool:
    """Whether an If-None-Match header names an entity tag (RFC 9110, section 13.1.2: compared weakly)."""
    if asked is None:
        return False
    tags = {tag.strip().removeprefix("W/") for tag in asked.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags


def event_of(row: JobRow) -> bytes:
    """A server-sent event: `progress`, or at last the state; its id is the number of tests that are done."""
    name = "progress" if row.active else row.state
    return f"id: {row.tests_done}\nevent: {name}\ndata: {json.dumps(view_of(row))}\n\n".encode()
