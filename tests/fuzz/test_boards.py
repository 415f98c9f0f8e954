"""Leaderboards of every kind, malformed ones among them: answered or refused, and never a fault of the service."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, strategies as st

from app.service.media_types import CSV, JSON, NDJSON, NPY, TSV
from tests.fuzz.amount import examples
from tests.fuzz.asgi import InProcess
from tests.fuzz.boards import LINES, OF_ALL, OPTIONS, TABLES, arrays, boards, encoded
from tests.fuzz.mutations import STEPS, Steps, mutated

AS_JSON = [(b"content-type", JSON.encode())]
QUERIES = st.lists(st.sampled_from(OF_ALL), max_size=2, unique=True).flatmap(
    lambda names: st.tuples(*[st.tuples(st.just(name), st.sampled_from(OPTIONS[name])) for name in names])
)

# What says that a table has gold, and which column is what.
BESIDE = [
    [],
    [],
    [("gold_column", "label")],
    [("statistic", "auc")],
    [("statistic", "kendall"), ("groups", "group")],
]


@examples(120)
@given(boards())
def test_a_board_is_answered_or_refused(service: InProcess, request_: dict[str, Any]) -> None:
    service.judge("compare", b"", AS_JSON, encoded(request_))


@examples(40)
@given(boards())
def test_its_plan_is_answered_or_refused(service: InProcess, request_: dict[str, Any]) -> None:
    service.judge("plan", b"", AS_JSON, encoded({"kind": "compare", "request": request_}))


@examples(40)
@given(boards(), STEPS)
def test_damaged_bytes_are_answered_or_refused(
    service: InProcess, request_: dict[str, Any], steps: Steps
) -> None:
    service.judge("compare", b"", AS_JSON, mutated(encoded(request_), steps))


@pytest.mark.parametrize("media", [CSV, TSV, NDJSON, NPY])
def test_tables_lines_and_arrays_are_answered_or_refused(service: InProcess, media: str) -> None:
    tables = [table.replace(b",", b"\t") for table in TABLES] if media == TSV else list(TABLES)
    seeds = {NDJSON: list(LINES), NPY: arrays()}.get(media, tables)

    @examples(40)
    @given(
        st.sampled_from(seeds),
        STEPS,
        QUERIES,
        st.sampled_from([None, "A,B", "A,B,C,D", '["A","A"]']),
        st.sampled_from(BESIDE),
    )
    def check(
        seed: bytes,
        steps: Steps,
        query: list[tuple[str, Any]],
        systems: str | None,
        beside: list[tuple[str, str]],
    ) -> None:
        asked = [*query, *([("systems", systems)] if systems is not None else []), *beside]
        service.judge(
            "compare", urlencode(asked).encode(), [(b"content-type", media.encode())], mutated(seed, steps)
        )

    check()
