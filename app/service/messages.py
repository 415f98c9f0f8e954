"""What a request for a test needs to be answered anywhere, and what the answer is: plain data that pickles small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..reports.picture.style import Theme

TestKind = Literal["effects", "scores", "counts", "predictions"]
Kind = TestKind | Literal["files", "plan", "gate"]
Source = Literal["computed", "kept", "shared"]


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that decide what a test may ask for."""

    max_body_bytes: int
    max_items: int
    max_samples: int
    max_name_chars: int
    max_form_parts: int
    max_gate_metrics: int
    max_timeout_s: float
    budget_operations: int
    budget_bytes: int
    retry_after_s: int


@dataclass(frozen=True, slots=True)
class Body:
    """What the headers say of a body: its media type, the boundary of a multipart one, its content coding."""

    media_type: str
    coding: str | None = None
    boundary: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One request without its body. Times are `time.monotonic()`, which all processes of a machine share."""

    kind: Kind
    body: Body
    query: tuple[tuple[str, str], ...]
    representation: str  # the name of one in app.reports.representations
    request_id: str
    received_at: float
    submitted_at: float
    limits: Limits
    theme: Theme = "light"


@dataclass(frozen=True, slots=True)
class Work:
    """What was computed for an answer, for whoever counts: the method, the items, seconds waiting and computing.

    `compute_s` is None for an answer that was computed for another request: it was `kept`, or is `shared` with it.
    """

    method: str
    n: int
    queue_s: float
    compute_s: float | None
    source: Source = "computed"


@dataclass(frozen=True, slots=True)
class Rendered:
    """An answer ready to be sent: `before`, `own` and `after`, end to end.

    `own` is the part that differs from request to request: the runtime of a test, the instance of a problem. The parts
    around it are shared, uncopied and unread, by all who ask the same. `began_at`, when its computation began, is None
    for problems: these are never kept.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    before: bytes
    began_at: float | None = None
    work: Work | None = None
    own: bytes = b""
    after: bytes = b""

    @property
    def body(self) -> bytes:
        """The whole content."""
        return b"".join((self.before, self.own, self.after)) if self.own else self.before

    @property
    def size(self) -> int:
        """Bytes of the whole content."""
        return len(self.before) + len(self.own) + len(self.after)
