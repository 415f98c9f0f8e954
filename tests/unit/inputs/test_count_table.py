from __future__ import annotations

import pytest

from app.errors import InvalidTest
from app.inputs.count_table import CountTable, read


def plain(table: CountTable) -> tuple[dict[str, list[int]], dict[str, list[int]]]:
    u = {name: column.tolist() for name, column in table.u.items()}
    return u, {name: column.tolist() for name, column in table.v.items()}


@pytest.mark.parametrize(
    "body", [b"8,2,6,1\n3,3,5,2\n", b"8,2,6,1\r\n3,3,5,2", b"\xef\xbb\xbf8, 2,6,1\n\n3,3,5,2\n"]
)
def test_four_columns_without_a_header_are_the_authors_own(body: bytes) -> None:
    assert plain(read(body, ",")) == (
        {"tp": [8, 3], "incorrect": [2, 3]},
        {"tp": [6, 5], "incorrect": [1, 2]},
    )


def test_a_header_names_any_counts_in_any_order() -> None:
    body = (
        b"cluster\tref_words_v\tid\terrors_u\terrors_v\tref_words_u\nc\t10\ta\t1\t2\t10\nc\t7\tb\t0\t3\t7\n"
    )
    table = read(body, "\t")
    assert plain(table) == (
        {"errors": [1, 0], "ref_words": [10, 7]},
        {"errors": [2, 3], "ref_words": [10, 7]},
    )
    assert table.ids == ["a", "b"]
    assert table.clusters == ["c", "c"]


@pytest.mark.parametrize(
    ("body", "pointer", "code"),
    [
        (b"1,2,3,4\n1,2,3\n", "/line/2", "wrong_field_count"),
        (b"1,2,3,4\n1,x,3,4\n", "/line/2/2", "not_a_number"),
        (b"tp_u,tp_v,fn_u\n1,2,3\n", "/line/1/3", "unknown_column"),
        (b"tp_u,tp_v,tp_u\n1,2,3\n", "/line/1/3", "duplicate_column"),
        (b"tp_u,tp_v\n", "", "no_items"),
        (b"tp_u,tp_v\n1,inf\n", "/line/2/2", "not_finite"),
        (b"\n", "", "no_items"),
    ],
)
def test_what_is_wrong_is_told_by_line_and_field(body: bytes, pointer: str, code: str) -> None:
    with pytest.raises(InvalidTest) as caught:
        read(body, ",")
    assert [(flaw.pointer, flaw.code) for flaw in caught.value.flaws] == [(pointer, code)]


def test_the_quick_and_the_slow_way_agree() -> None:
    lines = [f"{n % 9},{n % 4},{n % 7},{n % 3}" for n in range(1_000)]
    quick = read("\n".join(lines).encode(), ",")
    slow = read("\n".join([*lines, "", ""]).replace("3,", "3 ,").encode(), ",")
    assert plain(quick) == plain(slow)
