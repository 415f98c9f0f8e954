"""Messages between the web process and its workers: a job and its rendered response, as plain data that pickles small."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields, replace
from typing import Literal, get_args

from pydantic import BaseModel

from ..engine.plan import Budget
from ..errors import InvalidTest, JobsOff
from ..reports.picture.canvas import Theme
from ..reports.representations import (
    JSON as JSON_NAME,
    NDJSON as NDJSON_NAME,
    OF_A_COMPARISON,
    OF_A_GATE,
    OF_A_TEST,
    OF_POWER,
    TEXT,
    BoardPicture,
    BoardTable,
)
from ..settings import Settings

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

    @property
    def budget(self) -> Budget:
        """What the engine may take for a test."""
        return Budget(self.engine_budget_operations, self.engine_budget_bytes)


def limits_of(settings: Settings) -> Limits:
    """The part of the settings that the pipeline needs; the limits have the settings' names."""
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
        return TEXT if self.with_line and self.representation == JSON_NAME else self.representation


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


# Media types of requests, and in which representations each endpoint answers


JSON = "application/json"
CSV = "text/csv"
TSV = "text/tab-separated-values"
NDJSON = "application/x-ndjson"
NPY = "application/x-npy"
MULTIPART = "multipart/form-data"

OF_A_LIST = (JSON_NAME, NDJSON_NAME)
CONSUMED: Mapping[Kind, tuple[str, ...]] = {
    "effects": (JSON, NDJSON),
    "scores": (JSON, CSV, TSV, NDJSON, NPY),
    "counts": (JSON, CSV, TSV, NDJSON, NPY),
    "predictions": (JSON, NDJSON),
    "files": (MULTIPART,),
    "plan": (JSON,),
    "gate": (JSON, MULTIPART),
    "compare": (JSON, CSV, TSV, NDJSON, NPY, MULTIPART),
    "power": (JSON, MULTIPART),
    "batch": (JSON, NDJSON),
}
OFFERED: Mapping[Kind, tuple[str, ...]] = {
    **dict.fromkeys(get_args(TestKind), OF_A_TEST),
    "files": OF_A_TEST,
    "plan": (JSON_NAME,),
    "gate": OF_A_GATE,
    "compare": OF_A_COMPARISON,
    "power": OF_POWER,
    "batch": OF_A_LIST,
}


# `store` in a body: whether the answer is to be kept, and what says so where nothing can be


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
