from __future__ import annotations

import pytest
from hypothesis import given, strategies as st

from exactperm.ops.tracing import parent_of

TRACE, SPAN = "0af7651916cd43dd8448eb211c80319c", "b7ad6b7169203331"


@pytest.mark.parametrize(("flags", "sampled"), [("00", False), ("01", True), ("ff", True), ("02", False)])
def test_the_callers_span_is_taken_from_a_valid_header(flags: str, sampled: bool) -> None:
    assert parent_of(f"00-{TRACE}-{SPAN}-{flags}".encode()) == (TRACE, SPAN, sampled)


def test_a_later_version_is_read_as_far_as_it_is_known() -> None:
    assert parent_of(f"01-{TRACE}-{SPAN}-01-what-comes".encode()) == (TRACE, SPAN, True)
    assert parent_of(f"cc-{TRACE}-{SPAN}-01".encode()) == (TRACE, SPAN, True)


@pytest.mark.parametrize(
    "header",
    [
        "",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-1",
        f"00-{TRACE}-{SPAN}-01\r\nX: y",
        f"00-{TRACE}-{SPAN}-01\n",
        f"00-{TRACE[1:]}-{SPAN}-01",
        f"01-{TRACE}-{SPAN}-01.more",
        f" 00-{TRACE}-{SPAN}-01",
    ],
)
def test_what_is_not_valid_is_not_believed(header: str) -> None:
    assert parent_of(header.encode()) is None


@given(st.binary(max_size=100))
def test_nothing_makes_it_fail_and_what_it_finds_is_hexadecimal(header: bytes) -> None:
    found = parent_of(header)
    assert found is None or (int(found.trace_id, 16) and int(found.span_id, 16))
