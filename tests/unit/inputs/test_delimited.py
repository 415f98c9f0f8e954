from __future__ import annotations

import csv
import io

import numpy as np
import pytest
from hypothesis import given, strategies as st

from app.errors import ExactpermError, InvalidTest, MalformedBody
from app.inputs import delimited

NUMBER = st.one_of(st.integers(-(2**53), 2**53), st.floats(allow_nan=False, allow_infinity=False, width=32))


@given(
    st.lists(st.tuples(NUMBER, NUMBER), min_size=1),
    st.sampled_from([",", "\t"]),
    st.sampled_from(["\n", "\r\n"]),
)
def test_two_columns_are_read_as_they_were_written(
    rows: list[tuple[float, float]], delimiter: delimited.Delimiter, end: str
) -> None:
    body = "".join(f"{u!r}{delimiter}{v!r}{end}" for u, v in rows).encode()
    table = delimited.read(body, delimiter)
    assert table.u.tolist() == [u for u, _ in rows]
    assert table.v.tolist() == [v for _, v in rows]
    assert (table.ids, table.clusters) == (None, None)


@given(st.lists(st.tuples(st.text(max_size=4), NUMBER, NUMBER, st.text(max_size=4)), min_size=1))
def test_quoted_ids_and_clusters_survive(rows: list[tuple[str, float, float, str]]) -> None:
    clean = [(a.replace("\0", ""), u, v, c.replace("\0", "")) for a, u, v, c in rows]
    text = io.StringIO(newline="")
    csv.writer(text, quoting=csv.QUOTE_ALL).writerows([("id", "u", "v", "cluster"), *clean])
    table = delimited.read(text.getvalue().encode("utf-8", "replace"), ",")
    assert table.u.tolist() == [u for _, u, _, _ in clean]
    assert table.ids == [a.encode("utf-8", "replace").decode() for a, _, _, _ in clean]


@pytest.mark.parametrize(
    "body",
    [
        "v,id,u\n0.5,a,1\n1.5,b,2\n",
        "v, id ,U\n0.5,a,1\n1.5,b,2\n",
        'v,id,u\n0.5,a,"1"\n1.5,b,2\n',
        "v,id,u\n\n.5,a,1\n1.5,b,2",
    ],
)
def test_a_header_may_have_any_order_and_both_readers_agree(body: str) -> None:
    table = delimited.read(body.encode(), ",")
    assert (table.u.tolist(), table.v.tolist(), table.ids) == ([1, 2], [0.5, 1.5], ["a", "b"])


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (b"1,2\n3", "/line/2", "wrong_field_count"),
        (b"1,2\n3,4,5", "/line/2", "wrong_field_count"),
        (b"1,2\n\n3,x", "/line/3/2", "not_a_number"),
        (b"1,2\n3,", "/line/2/2", "not_a_number"),
        (b"1,nan", "/line/1/2", "not_finite"),
        (b"1e999,1", "/line/1/1", "not_finite"),
        (b"1,true", "/line/1/2", "not_a_number"),
        (b"1_0,2", "/line/1/1", "not_a_number"),
        (b"1," + b"9" * 100_000, "/line/1/2", "not_a_number"),
        (b"1," + b"9" * 300, "/line/1/2", "integer_too_large"),
        (b"id,u,v\na,1,2\nb,2,x", "/line/3/3", "not_a_number"),
        (b"u,v,w\n1,2,3", "/line/1/3", "unknown_column"),
        (b"u,v,u\n1,2,3", "/line/1/3", "duplicate_column"),
        (b"", "", "no_items"),
        (b"\n\n", "", "no_items"),
        (b"u,v\n", "", "no_items"),
    ],
)
def test_errors_name_the_line_and_the_field(body: bytes, pointer: str, code: str) -> None:
    with pytest.raises(InvalidTest) as caught:
        delimited.read(body, ",")
    assert (caught.value.flaws[0].pointer, caught.value.flaws[0].code) == (pointer, code)


@pytest.mark.parametrize("body", [b"\xff,1", b'"1,2', b"1,2\0"])
def test_what_is_not_text_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        delimited.read(body, ",")


@given(st.binary(max_size=60) | st.text('0123456789.,-+e\n\r\t"uvid', max_size=60).map(str.encode))
def test_any_bytes_are_read_or_refused(body: bytes) -> None:
    try:
        table = delimited.read(body, ",")
    except ExactpermError:
        return
    assert len(table.u) == len(table.v) > 0
    assert np.isfinite(table.u).all()
