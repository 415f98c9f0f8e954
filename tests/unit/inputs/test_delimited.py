"""Tables as the body of a test: at C speed, and any other as the same file is read."""

from __future__ import annotations

import csv
import io
import time
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.errors import ExactpermError, MalformedBody
from exactperm.inputs import delimited
from exactperm.service.messages import CSV, TSV, Body, Job, Kind, limits_of
from exactperm.service.parse import parse_test
from exactperm.settings import Settings
from tests.refusals import refused, refused_alone

NUMBER = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False, width=32))
LIMITS = limits_of(Settings(workers=1))


def read(body: bytes, delimiter: str = ",", kind: Kind = "scores") -> Any:
    now = time.monotonic()
    job = Job(kind, Body(CSV if delimiter == "," else TSV), (), "json", "x", now, now, LIMITS)
    return parse_test(job, body).data


@given(
    st.lists(st.tuples(NUMBER, NUMBER), min_size=1),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_two_columns_are_read_as_they_were_written(
    rows: list[tuple[float, float]], delimiter: str, end: str
) -> None:
    body = "".join(f"{u!r}{delimiter}{v!r}{end}" for u, v in rows).encode()
    table = read(body, delimiter)
    assert table.u.tolist() == [u for u, _ in rows]
    assert table.v.tolist() == [v for _, v in rows]
    assert (table.pairing.ids, table.pairing.clusters) == (None, None)


@given(st.lists(st.tuples(st.text(max_size=4), NUMBER, NUMBER), min_size=1))
def test_quoted_ids_survive(rows: list[tuple[str, float, float]]) -> None:
    # Ids that are names of metrics alone would be averages.
    clean = {a.replace("\0", "").strip().encode("utf-8", "replace").decode(): (u, v) for a, u, v in rows}
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows(
        [("id", "u", "v"), *((f"key {a}", u, v) for a, (u, v) in clean.items())]
    )
    table = read(text.getvalue().encode("utf-8", "replace"))
    assert table.u.tolist() == [u for u, _ in clean.values()]
    assert list(table.pairing.ids) == [f"key {a}".strip() for a in clean]


@pytest.mark.parametrize(
    "body",
    [
        "v,id,u\n0.5,a,1\n1.5,b,2\n", "v, id ,U\n0.5,a,1\n1.5,b,2\n", 'v,id,u\n0.5,a,"1"\n1.5,b,2\n',
        "v,id,u\n\n.5,a,1\n1.5,b,2", "v,question_id,u\n0.5,a,1\n1.5,b,2\n", "v;id;u\n0,5;a;1\n1,5;b;2\n",
    ],
)  # fmt: skip
def test_a_header_may_have_any_order_and_both_readers_agree(body: str) -> None:
    table = read(body.encode())
    assert (table.u.tolist(), table.v.tolist()) == ([1, 2], [0.5, 1.5])
    assert list(table.pairing.ids) == ["a", "b"]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (b"1,2\n3", "/line/2", "wrong_field_count"),
        (b"1,2\n3,4,5", "/line/2", "wrong_field_count"),
        (b"1,2\n\n3,x", "/line/3/2", "not_a_number"),
        (b"1,2\n3,", "/line/2", "missing_value"),
        (b"1,nan", "/line/1", "missing_value"),
        (b"1e999,1", "/line/1/1", "not_a_number"),
        (b"1_0,2", "/line/1/1", "not_a_number"),
        (b"1," + b"9" * 100_000, "/line/1/2", "not_a_number"),
        (b"1," + b"9" * 300, "/line/1/2", "integer_too_large"),
        (b"id,u,v\na,1,2\nb,2,x", "/line/3/3", "not_a_number"),
        (b"id,u,v\na,1,2\na,2,1", "/line/3/1", "duplicate_id"),
        (b"u,v,u\n1,2,3", "/line/1/3", "duplicate_column"),
        (b"", "", "no_items"),
        (b"\n\n", "", "no_items"),
        (b"u,v\n", "", "no_items"),
    ],
)
def test_errors_name_the_line_and_the_field(body: bytes, pointer: str, code: str) -> None:
    with refused(code, pointer):
        read(body)


@pytest.mark.parametrize("body", [b"\xff,1", b'"1,2', b"1,2\0"])
def test_what_is_not_text_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read(body)


@given(st.binary(max_size=60) | st.text('0123456789.,-+e\n\r\t"uvid', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        table = read(body)
    except ExactpermError:
        return
    assert len(table.u) == len(table.v) > 0


def plain(counts: Any) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    u, v = ({name: column.tolist() for name, column in own.items()} for own in (counts.u, counts.v))
    return u, v


@pytest.mark.parametrize(
    "body", [b"8,2,6,1\n3,3,5,2\n", b"8,2,6,1\r\n3,3,5,2", b"\xef\xbb\xbf8, 2,6,1\n\n3,3,5,2\n"]
)
def test_four_columns_without_a_header_are_the_authors_own(body: bytes) -> None:
    assert plain(read(body, kind="counts")) == (
        {"tp": [8, 3], "incorrect": [2, 3]},
        {"tp": [6, 5], "incorrect": [1, 2]},
    )


def test_a_header_names_any_counts_in_any_order() -> None:
    body = (
        b"cluster\tref_words_v\tid\terrors_u\terrors_v\tref_words_u\nc\t10\ta\t1\t2\t10\nc\t7\tb\t0\t3\t7\n"
    )
    table = read(body, "\t", "counts")
    assert plain(table) == (
        {"errors": [1, 0], "ref_words": [10, 7]},
        {"errors": [2, 3], "ref_words": [10, 7]},
    )
    assert list(table.pairing.ids) == ["a", "b"]
    assert table.pairing.n_clusters == 1


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (b"1,2,3,4\n1,2,3\n", "/line/2", "wrong_field_count"),
        (b"1,2,3,4\n1,x,3,4\n", "/line/2/2", "not_a_number"),
        (b"tp_u,tp_v,fn_u\n1,2,3\n", "/line/1/3", "unknown_column"),
        (b"tp_u,tp_v,tp_u\n1,2,3\n", "/line/1/3", "duplicate_column"),
        (b"tp_u,tp_v\n", "", "no_items"),
        (b"tp_u,tp_v\n1,inf\n", "/line/2/2", "not_a_number"),
        (b"tp_u,tp_v\n1,-2\n", "/line/2/2", "not_a_count"),
        (b"\n", "", "no_items"),
    ],
)
def test_what_is_wrong_with_counts_is_told_by_line_and_field(body: bytes, pointer: str, code: str) -> None:
    with refused_alone(code, pointer):
        read(body, kind="counts")


def test_the_quick_and_the_slow_way_agree() -> None:
    lines = [f"{n % 9},{n % 4},{n % 7},{n % 3}" for n in range(1_000)]
    quick = "\n".join(lines).encode()
    assert delimited.plain_counts(quick, ",") is not None
    slow = "\n".join([*lines, "", ""]).replace("3,", "3 ,").encode()
    assert delimited.plain_counts(slow, ",") is None
    assert plain(read(quick, kind="counts")) == plain(read(slow, kind="counts"))
    numbers = np.arange(1_000) % 7
    rows = "\n".join(f"{n},{n + 1}" for n in numbers)
    assert read(rows.encode()).u.tolist() == read(f"# note\n{rows}".encode()).u.tolist() == numbers.tolist()


def test_scores_are_not_read_as_counts() -> None:
    with refused("other_kind"):
        read(b"id,u,v\na,1,2\n", kind="counts")
