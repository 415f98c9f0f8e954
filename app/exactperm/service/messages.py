"""Messages between the web process and its workers: a job and its rendered response, as plain data that pickles small."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from typing import Literal

from pydantic import BaseModel

from ..engine.plan import Budget
from ..errors import InvalidTest, JobsOff
from ..reports.picture.canvas import Theme
from ..reports.representations import JSON as JSON_NAME, TEXT, BoardPicture, BoardTable
from ..settings import Settings
from .kinds import Kind

Source = Literal["computed", "kept", "shared"]
# Whether an answer can be stored: with a database, without one, as part of a list, without a server.
Keeps = Literal["kept", "off", "listed", "alone"]
# Headers that concern one response only.
OF_THE_CALL = frozenset({"server-timing", "age"})


@dataclass(frozen=True, slots=True)
class Limits:
    """The settings that limit a request, and the number of workers for a long one."""

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

    @property
    def budget(self) -> Budget:
        """The engine's budget for a test."""
        return Budget(self.engine_budget_operations, self.engine_budget_bytes)


def limits_of(settings: Settings) -> Limits:
    """The settings that the pipeline needs, under their names."""
    return Limits(**{limit.name: getattr(settings, limit.name) for limit in fields(Limits)})


@dataclass(frozen=True, slots=True)
class Body:
    """The headers of a body: its media type, the boundary of a multipart body, its content coding."""

    media_type: str
    coding: str | None = None
    boundary: str = ""


@dataclass(frozen=True, slots=True)
class Job:
    """One request without its body. Times are `time.monotonic()`, which all processes of a machine share.

    `timeout_s` is the deadline that the query asks for, known before the body is read. `with_line`: put the line of
    text before the JSON, for local callers that show both. `store` is the body's flag.
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
        """The same job, submitted at another time; `dataclasses.replace` is slower than making it again."""
        return Job(
            self.kind, self.body, self.query, self.representation, self.request_id, self.received_at, at, self.limits,
            self.theme, self.picture, self.table, self.timeout_s, self.with_line, self.keeps,
            self.store,
        )  # fmt: skip

    def deadline_s(self, asked_s: float | None) -> float | None:
        """The shortest deadline of body and query, within the server's limit; None for its default."""
        timeouts = [seconds for seconds in (asked_s, self.timeout_s) if seconds is not None]
        return min([self.limits.max_timeout_s, *timeouts]) if timeouts else None

    @property
    def reported_in(self) -> str:
        """The representation with a renderer in `reports`; None for JSON."""
        return TEXT if self.with_line and self.representation == JSON_NAME else self.representation


@dataclass(frozen=True, slots=True)
class WorkStats:
    """The work behind an answer, for logs and metrics; `compute_s` is None if another request computed it (`kept` in the cache, or `shared`)."""

    method: str
    n: int
    queue_s: float
    compute_s: float | None
    source: Source = "computed"


@dataclass(frozen=True, slots=True)
class RenderedResponse:
    """An answer ready to be sent: the bytes `before`, `own` and `after`, in this order.

    `own` differs between equal requests: the runtime of a test, the instance of a problem. Equal requests share the
    bytes around it without a copy. `began_at`, the start of the computation, is None for problems, which are never
    cached. `store` is the body's flag.
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


# `store` in a body: whether to store the answer, and the refusals if it cannot be stored


STORE, AT_STORE = "store", "/store"  # the field of a body, and the query parameter
OFF = (
    "This service stores no jobs and no answers. Its operator can set EXACTPERM_JOBS_URL to "
    "sqlite:////path/jobs.sqlite or to a PostgreSQL database; until then, send tests one by one."
)
ALONE = "Only a server can store answers: leave store out, or ask a server."
LISTED = (
    "Single answers of a list or a job are not stored: leave store out here. A job stores its result "
    "anyway; for a list, give store next to its tests."
)
INSIDE = "Only the whole answer can be stored: give store at the top of the request, not inside a test."


def store_of(request: BaseModel) -> bool | None:
    """The flag of a request; None if absent."""
    return getattr(request, STORE) if STORE in request.model_fields_set else None


def asking(job: Job, store: bool | None) -> Job:
    """The job with the flag of its body, which travels with the answer; raises JobsOff, and InvalidTest within a list or a job."""
    if store is None:
        return job
    if job.keeps == "listed":
        refuse_to_store(store)
    if store and job.keeps != "kept":
        raise JobsOff(OFF if job.keeps == "off" else ALONE)
    return replace(job, store=store)


def refuse_to_store(store: bool | None, why: str = LISTED, pointer: str = AT_STORE) -> None:
    """Refuse to store a part of a list, a job or an answer; raises InvalidTest at the pointer."""
    if store:
        raise InvalidTest.at(pointer, "store_not_here", why)


def of_a_list(written: str | None, pointer: str = AT_STORE) -> bool | None:
    """The flag `store` of a list; raises InvalidTest at the pointer."""
    values: dict[str | None, bool | None] = {None: None, "true": True, "false": False}
    if written not in values:
        raise InvalidTest.at(pointer, "bool_type", "This must be a valid boolean.")
    return values[written]
