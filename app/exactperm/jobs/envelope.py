"""The body of `POST /v1/jobs`: a kind and a request, which stays byte for byte what the kind's own endpoint would get."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

from ..errors import relocated
from ..service.batch import (
    Item,
    OfAList,
    elements,
    head_of,
    item_of,
    members_of,
    one_of,
    text_of,
)
from ..service.pointers import prefixed
from ..service.storing import STORE, of_a_list, refuse_to_store

BATCH = "batch"
# What a job can be. Each is answered as by its own endpoint; a list as one answer a line.
JobKind = Literal[OfAList, "batch"]
KINDS: tuple[str, ...] = get_args(JobKind)


@dataclass(frozen=True, slots=True)
class Envelope:
    """The kind of a job, and in which representation it is answered."""

    kind: str
    representation: str = "json"

    def only(self, body: bytes | bytearray) -> Item:
        """The one request."""
        request = members_of(text_of(body), "")["request"]
        return Item(head_of(self.kind, self.representation), request.encode())

    def items(self, body: bytes | bytearray, most: int) -> list[Item]:
        """The requests of a list; raises InvalidTest where it is none, or has more than `most`."""
        request = members_of(text_of(body), "")["request"]
        pointer = "/request/tests"
        members = members_of(request, "/request", ("tests",), (STORE,))
        with relocated(prefixed("/request")):
            refuse_to_store(of_a_list(members.get(STORE)))
        tests = elements(members["tests"], most, pointer)
        return [item_of(text, f"{pointer}/{at}") for at, text in enumerate(tests)]


def kind_of(body: bytes | bytearray) -> str:
    """The kind that a body names, of `KINDS`.

    Raises
    ------
        MalformedBody: it is not JSON.
        InvalidTest: it has no kind, or an unknown one.
    """
    return one_of(members_of(text_of(body), "")["kind"], KINDS, "/kind")
