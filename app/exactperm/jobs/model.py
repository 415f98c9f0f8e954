"""Jobs as plain data: their states, rows and limits, and the body of `POST /v1/jobs`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from ..service.batch import Item, elements, head_of, item_of, kind_of_json, members_of, text_of
from ..service.kinds import OF_JOBS
from ..service.messages import AT_STORE, STORE, of_a_list, refuse_to_store

State = Literal["queued", "running", "succeeded", "failed", "cancelled"]
ACTIVE: tuple[State, ...] = ("queued", "running")
ID_BYTES = 16  # 128 random bits: ids cannot be guessed


@dataclass(frozen=True, slots=True)
class JobPlan:
    """A validated request, cut into chunks.

    Attributes
    ----------
    kind, head
        The kind of the request, and the request without its body (JSON).
    tests, seconds
        The number of tests, and their predicted seconds on one processor.
    chunks
        The work of each chunk, as JSON: slices of pairs, or a number of tests of a list.
    pieces
        The compressed body; for a list, the part of each chunk.
    """

    kind: str
    head: dict[str, Any]
    tests: int
    seconds: float
    chunks: tuple[Any, ...]
    pieces: tuple[bytes, ...]


@dataclass(frozen=True, slots=True)
class JobRow:
    """A stored job; times are seconds since 1970 by the database's clock."""

    id: str
    kind: str
    state: State
    tests: int
    tests_done: int
    chunks: int
    seconds: float
    algorithm: str
    created: float
    ended: float | None
    expires: float | None
    problem: str | None
    expired: bool = False

    @property
    def active(self) -> bool:
        """Whether it has not ended."""
        return self.state in ACTIVE


@dataclass(frozen=True, slots=True)
class Work:
    """The data of a job that a worker needs for a chunk."""

    state: State
    kind: str
    head: dict[str, Any]
    chunks: tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class Stored:
    """A stored answer: the bytes around the part that differs between equal requests, and the headers."""

    status: int
    headers: tuple[tuple[str, str], ...]
    before: bytes
    own: bytes
    after: bytes

    @property
    def size(self) -> int:
        """Bytes of the whole content."""
        return len(self.before) + len(self.own) + len(self.after)


@dataclass(frozen=True, slots=True)
class Shares:
    """The quotas: predicted seconds and jobs of one key, seconds of all keys together, and stored bytes of one key."""

    key_seconds: float
    key_jobs: int
    all_seconds: float
    key_bytes: int


class KeyReused(Exception):
    """The idempotency key was used for another request."""


class NoShare(Exception):
    """Too much work is queued, by this key (`own`) or by all; `seconds` of work come first."""

    def __init__(self, seconds: float, *, own: bool) -> None:
        super().__init__(seconds, own)
        self.seconds = seconds
        self.own = own


class NoRoom(Exception):
    """The stored bytes of this key are at their limit."""


class StoreAway(Exception):
    """The database cannot be reached, or refuses to write; the text is the reason for the log."""


BATCH = "batch"


@dataclass(frozen=True, slots=True)
class Envelope:
    """The kind of a job, and the representation of its answer."""

    kind: str
    representation: str = "json"

    def only(self, body: bytes | bytearray) -> Item:
        """Return the only request."""
        request = members_of(text_of(body), "")["request"]
        return Item(head_of(self.kind, self.representation), request.encode())

    def items(self, body: bytes | bytearray, most: int) -> list[Item]:
        """Return the requests of a list; raises InvalidTest if it is not a list, or longer than `most`."""
        request = members_of(text_of(body), "")["request"]
        pointer = "/request/tests"
        members = members_of(request, "/request", ("tests",), (STORE,))
        at = f"/request{AT_STORE}"
        refuse_to_store(of_a_list(members.get(STORE), at), pointer=at)
        tests = elements(members["tests"], most, pointer)
        return [item_of(text, f"{pointer}/{at}") for at, text in enumerate(tests)]


def kind_of(body: bytes | bytearray) -> str:
    """Return the kind that a body names, of `OF_JOBS`.

    Raises
    ------
        MalformedBody: it is not JSON.
        InvalidTest: it has no kind, or an unknown one.
    """
    return kind_of_json(members_of(text_of(body), "")["kind"], OF_JOBS, "/kind")
