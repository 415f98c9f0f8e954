"""Messages between the web process and its workers: a job and its rendered response, as plain data that pickles small."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from ..reports.picture.canvas import Theme
from ..reports.representations import JSON, TEXT, BoardPicture, BoardTable

TestKind = Literal["effects", "scores", "counts", "predictions"]
Kind = TestKind | Literal["files", "plan", "gate", "compare", "power", "batch"]
Source = Literal["computed", "kept", "shared"]
# Whether an answer can be kept: there is a database, there is none, it is part of a list, there is no server.
Keeps = Literal["kept", "off", "listed", "alone"]
# Headers that are about one sending of an answer.
OF_THE_CALL = frozenset({"server-timing", "age"})


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that limit a request, and how many workers there are for a long one."""

    max_body_bytes: int
    max_items: int
    max_samples: int
    max_name_chars: int
    max_form_parts: int
    max_gate_metrics: int
    max_systems: int
    max_comparisons: int
    max_timeout_s: float
    max_batch_tests: int
    batch_test_seconds: float
    batch_answer_bytes: int
    workers: int
    long_test_seconds: float
    engine_budget_operations: int
    engine_budget_bytes: int
    retry_after_s: int
    worker_memory_bytes: int = 2**30


@dataclass(frozen=True, slots=True)
class Body:
    """The headers of a body: its media type, the boundary of a multipart body, its content coding."""

    media_type: str
    coding: str | None = None
    boundary: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One request without its body. Times are `time.monotonic()`, which all processes of a machine share.

    `timeout_s` is the deadline that the query asks for, known before the body is read. `with_line`: before the JSON stands
    the line of the text, for callers in this process who show both. `store` is what the body says of keeping the answer.
    """

    kind: Kind
    body: Body
    query: tuple[tuple[str, str], ...]
    representation: str  # the name of one in exactperm.reports.representations
    request_id: str
    received_at: float
    submitted_at: float
    limits: Limits
    theme: Theme = "light"
    picture: BoardPicture = "leaderboard"
    table: BoardTable = "systems"
    timeout_s: float | None = None
    with_line: bool = False
    keeps: Keeps = "alone"
    store: bool | None = None

    def submitted(self, at: float) -> Job:
        """The same job, submitted at another time; `dataclasses.replace` takes longer than to make it again."""
        return Job(
            self.kind, self.body, self.query, self.representation, self.request_id, self.received_at, at, self.limits,
            self.theme, self.picture, self.table, self.timeout_s, self.with_line, self.keeps,
            self.store,
        )  # fmt: skip

    def deadline_s(self, asked_s: float | None) -> float | None:
        """The shortest deadline that body and query ask for, within the server's limit; None for its default."""
        timeouts = [seconds for seconds in (asked_s, self.timeout_s) if seconds is not None]
        return min([self.limits.max_timeout_s, *timeouts]) if timeouts else None

    @property
    def reported_in(self) -> str:
        """The representation whose renderer in `reports` is used; JSON alone has none."""
        return TEXT if self.with_line and self.representation == JSON else self.representation


@dataclass(frozen=True, slots=True)
class WorkStats:
    """What was computed for an answer, for logs and metrics: method, items, seconds of waiting and computing.

    `compute_s` is None for an answer computed for another request: `kept` in the cache, or `shared` with it.
    """

    method: str
    n: int
    queue_s: float
    compute_s: float | None
    source: Source = "computed"


@dataclass(frozen=True, slots=True)
class RenderedResponse:
    """An answer ready to be sent: the bytes `before`, `own` and `after`, in this order.

    `own` differs between equal requests: the runtime of a test, the instance of a problem. The bytes around it are
    shared by equal requests without a copy. `began_at`, the time its computation began, is None for problems, which are
    never kept. `store` is what the body says of keeping the answer.
    """

    status: int
    headers: tuple[tuple[str, str], ...]
    before: bytes
    began_at: float | None = None
    work: WorkStats | None = None
    own: bytes = b""
    after: bytes = b""
    store: bool | None = None

    @property
    def body(self) -> bytes:
        """The whole content."""
        return b"".join((self.before, self.own, self.after)) if self.own else self.before

    @property
    def size(self) -> int:
        """Bytes of the whole content."""
        return len(self.before) + len(self.own) + len(self.after)
