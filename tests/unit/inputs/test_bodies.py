"""Bodies: content codings, tables, and how wide a table may be."""

import csv
import gzip
import io
import sys
import time
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.errors import BodyTooLarge, ExactpermError, MalformedBody
from exactperm.inputs import delimited, encodings, frame, json_records, json_text
from exactperm.inputs.columns import MAX_COLUMNS
from exactperm.inputs.encodings import decode, inflated
from exactperm.inputs.reader import ReaderOptions, Source
from exactperm.service.kinds import CSV, TSV, Kind
from exactperm.service.messages import Body, Job, limits_of
from exactperm.service.parse import parse_test
from exactperm.settings import Settings
from tests.refusals import refused, refused_alone

from .reading import read_files, refuses

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

TEXT = b"id,u,v\n" + b"".join(b"%d,%d,%d\n" % (n, n % 7, n % 5) for n in range(50_000))
CHECKED = {int(zstd.CompressionParameter.checksum_flag): 1}
COMPRESSED = {"gzip": gzip.compress(TEXT), "zstd": zstd.compress(TEXT, options=CHECKED)}
CODINGS = pytest.mark.parametrize("coding", COMPRESSED)


@CODINGS
def test_a_body_comes_back_as_it_was(coding: str) -> None:
    assert decode(COMPRESSED[coding], coding, max_bytes=len(TEXT)) == TEXT


@CODINGS
def test_several_members_or_frames_are_one_body(coding: str) -> None:
    assert decode(COMPRESSED[coding] * 2, coding, max_bytes=2 * len(TEXT)) == TEXT * 2


@CODINGS
@pytest.mark.parametrize("kept", [5, 0.5, -1], ids=["header", "half", "last-byte"])
def test_a_truncated_body_is_malformed_wherever_it_ends(coding: str, kept: float) -> None:
    body = COMPRESSED[coding]
    cut = body[: int(len(body) * kept)] if kept == 0.5 else body[: int(kept)]
    with pytest.raises(MalformedBody, match="truncated"):
        decode(cut, coding, max_bytes=len(TEXT))


@CODINGS
def test_a_body_is_given_up_when_it_is_over_the_cap(coding: str) -> None:
    with pytest.raises(BodyTooLarge):
        decode(COMPRESSED[coding], coding, max_bytes=len(TEXT) - 1)


@CODINGS
def test_a_bomb_costs_no_more_than_the_cap(coding: str) -> None:
    zeros = bytes(2**28)
    bomb = gzip.compress(zeros, 1) if coding == "gzip" else zstd.compress(zeros)
    del zeros
    with pytest.raises(BodyTooLarge):
        decode(bomb, coding, max_bytes=2**20)


@CODINGS
def test_damage_and_trailing_garbage_are_malformed(coding: str) -> None:
    body = bytearray(COMPRESSED[coding])
    body[len(body) // 2] ^= 0xFF
    with pytest.raises(MalformedBody):
        decode(bytes(body), coding, max_bytes=len(TEXT))
    with pytest.raises(MalformedBody):
        decode(COMPRESSED[coding] + b"garbage", coding, max_bytes=2 * len(TEXT))
    with pytest.raises(MalformedBody):
        decode(b"", coding, max_bytes=10)


def test_a_window_beyond_what_http_allows_is_refused() -> None:
    parameter = zstd.CompressionParameter
    wide = zstd.compress(TEXT * 30, options={parameter.window_log: 27, parameter.content_size_flag: 0})
    with pytest.raises(MalformedBody):
        decode(wide, "zstd", max_bytes=2**30)


def test_zero_padding_after_gzip_is_accepted() -> None:
    assert decode(COMPRESSED["gzip"] + bytes(512), "gzip", max_bytes=len(TEXT)) == TEXT


@CODINGS
def test_a_file_is_inflated_by_its_first_bytes(coding: str) -> None:
    assert inflated(COMPRESSED[coding], max_bytes=len(TEXT)) == TEXT
    assert inflated(TEXT, max_bytes=1) == TEXT


@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_a_body_of_nothing_but_members_is_refused(coding: str) -> None:
    one = gzip.compress(b"") if coding == "gzip" else zstd.compress(b"")
    with pytest.raises(MalformedBody, match="more than"):
        decode(one * 5000, coding, max_bytes=1000)


SKIPPABLE = b"\x50\x2a\x4d\x18" + bytes(4)  # a zstd frame of nothing
ZEROS = bytes(60_000)


@pytest.mark.parametrize(
    ("coding", "body", "refused"),
    [
        ("gzip", gzip.compress(b"") * 100_000, True),
        ("gzip", (gzip.compress(b"") + ZEROS) * 300, False),
        ("gzip", (gzip.compress(b"") + ZEROS) * 1100, True),
        ("gzip", gzip.compress(b"1,2\n" * 20_000) * 300, False),
        ("zstd", SKIPPABLE * 1_000_000, True),
        ("zstd", zstd.compress(b"1,2\n" * 20_000) * 300, False),
    ],
    ids=["members", "padding", "more-padding", "blocks", "skippable", "frames"],
)
def test_a_body_of_many_members_is_read_about_once_and_refused_where_it_goes_too_far(
    coding: str, body: bytes, *, refused: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    read = 0

    class Counting(io.BytesIO):
        def read(self, size: int | None = -1, /) -> bytes:
            nonlocal read
            piece = super().read(size)
            read += len(piece)
            return piece

    monkeypatch.setattr(encodings, "BytesIO", Counting)
    if refused:
        with pytest.raises(MalformedBody, match="more than 1000"):
            decode(body, coding, max_bytes=2**26)
    else:
        decode(body, coding, max_bytes=2**26)
    members = 1000 if refused else 300
    assert read <= 2 * min(len(body), members * (len(ZEROS) + 100)) + 2 * members * encodings.FED_BYTES


@CODINGS
@pytest.mark.parametrize("size", [1, 2, 7, 65_535, 65_536, 65_537, 262_144, 262_145, 1_000_000])
def test_wherever_a_piece_ends_the_body_is_the_same(
    coding: str, size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = bytes(index * 7919 % 251 for index in range(min(size, 70_000))) * max(1, size // 70_000)
    packed = gzip.compress(text) if coding == "gzip" else zstd.compress(text)
    for fed in (
        (1, 5, len(packed), len(packed) + 1) if len(packed) < 5000 else (len(packed) - 1, len(packed), 4096)
    ):
        monkeypatch.setattr(encodings, "FED_BYTES", fed)
        assert decode(packed * 2, coding, max_bytes=2 * len(text)) == text * 2
        with pytest.raises(MalformedBody, match="truncated"):
            decode(packed[:-1], coding, max_bytes=len(text))


# Tables as the body of a test: at C speed, and any other as the same file is read.


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
def test_binary_data_is_malformed(body: bytes) -> None:
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
def test_errors_of_counts_are_refused_with_line_and_field(body: bytes, pointer: str, code: str) -> None:
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


# Wide files: refused at their first wide line, before it is split, and searched in one pass over their values.


TOO_WIDE = ",".join(["1"] * (MAX_COLUMNS + 1))
WIDEST = ",".join(f"c{i}" for i in range(MAX_COLUMNS - 2))


@pytest.fixture
def rows_parsed(monkeypatch: pytest.MonkeyPatch) -> list[list[str]]:
    """The rows that the csv module hands out."""
    rows: list[list[str]] = []
    reader = csv.reader

    class Counting:
        def __init__(self, lines: Iterator[str], **options: Any) -> None:
            self.inner = reader(lines, **options)

        @property
        def line_num(self) -> int:
            return self.inner.line_num

        def __iter__(self) -> Iterator[list[str]]:
            for row in self.inner:
                rows.append(row)
                yield row

    monkeypatch.setattr(csv, "reader", Counting)
    return rows


def test_a_wide_first_line_is_refused_before_anything_is_split(rows_parsed: list[list[str]]) -> None:
    refuses("too_many_columns", "/files/u/line/1", "csv", {"u": f"{TOO_WIDE}\n" * 50, "v": "1\n"})
    assert rows_parsed == []


def test_a_wide_line_further_down_is_refused_before_it_is_split(rows_parsed: list[list[str]]) -> None:
    refuses(
        "too_many_columns",
        "/files/file/line/3",
        "csv",
        {"file": f"id,u,v\na,1,2\n{TOO_WIDE}\nb,1,2\n"},
        on_missing="drop",
    )
    assert rows_parsed == [["id", "u", "v"], ["a", "1", "2"]]


def test_rows_of_another_width_end_the_reading_at_once(rows_parsed: list[list[str]]) -> None:
    refuses("wrong_field_count", "/files/file/line/2", "csv", {"file": "id,u,v\na,1\n" + "b,1,2\n" * 50})
    assert len(rows_parsed) == 2


def test_a_wide_line_with_quotes_is_the_last_that_is_split(rows_parsed: list[list[str]]) -> None:
    refuses("too_many_columns", None, "csv", {"u": f'"a",{TOO_WIDE}\n' * 50, "v": "1\n"})
    assert len(rows_parsed) == 1


@pytest.mark.parametrize("delimiter", ["tab", "blank"])
def test_wide_lines_without_quoting_are_not_split_to_their_end(delimiter: str) -> None:
    text = TOO_WIDE.replace(",", "\t" if delimiter == "tab" else "  ")
    refuses(
        "too_many_columns", "/files/u/line/1", "csv", {"u": f"{text}\n1\n", "v": "1\n"}, delimiter=delimiter
    )
    with pytest.raises(delimited.TooWide):
        list(frame._split([text], 0, "\t" if delimiter == "tab" else " "))


def test_commas_inside_a_quoted_field_of_several_lines_are_text() -> None:
    text = 'id,u,v,text\na,1,2,"one\n' + "," * (2 * MAX_COLUMNS) + '\nthree"\nb,2,1,four\n'
    assert len(read_files("csv", {"file": text}, system_u="u", system_v="v").data.u) == 2


def test_a_table_as_wide_as_may_be_is_read() -> None:
    row = ",x" * (MAX_COLUMNS - 2)
    reading = read_files("csv", {"file": f"u,v,{WIDEST}\n1,2{row}\n2,1{row}\n"})
    assert reading.kind == "scores"
    refuses("too_many_columns", None, "csv", {"file": f"u,v,more,{WIDEST}\n1,2,x{row}\n"})


def test_a_body_of_csv_has_the_same_limit(rows_parsed: list[list[str]]) -> None:
    body = Source("file", "", f"{TOO_WIDE}\n1,2\n".encode(), is_body=True)
    with refused("too_many_columns", "/line/1"):
        frame.table(body, ReaderOptions(), [])
    assert rows_parsed == []


def test_a_wide_record_is_refused_before_the_next_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    lines: list[str] = []
    decoded = json_text.decoded

    def counting(text: str, *arguments: Any) -> Any:
        lines.append(text)
        return decoded(text, *arguments)

    monkeypatch.setattr(json_text, "decoded", counting)
    members = ",".join(f'"c{i}":1' for i in range(MAX_COLUMNS + 1))
    refuses("too_many_fields", "/files/u/line/1", "jsonl", {"u": f"{{{members}}}\n" * 3, "v": '{"score":1}'})
    assert len(lines) == 1


def test_records_with_other_fields_each_are_counted_together() -> None:
    lines = "\n".join(f'{{"score":1,"c{i}":2}}' for i in range(MAX_COLUMNS))
    refuses("too_many_fields", "/files/u", "jsonl", {"u": lines, "v": lines})


def test_fields_that_few_records_have_are_not_looked_up_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    n = 1_000
    names = {f"c{i}": "mean" for i in range(n)}
    text = "\n".join(
        str(record).replace("'", '"')
        for record in ({"score": 1, **names}, *[{"score": 1}] * n, {"score": 1, **names})
    )
    looked_up = 0
    column = json_records.Records.column

    def counting(file: json_records.Records, field: str) -> list[Any]:
        nonlocal looked_up
        looked_up += len(file.records)
        return column(file, field)

    monkeypatch.setattr(json_records.Records, "column", counting)
    assert len(read_files("jsonl", {"u": text, "v": text}).data.u) == n + 2
    assert looked_up <= 2 * 2 * (n + 2)  # the scores of both files, and not a thousand fields


def test_a_row_of_averages_is_one_whose_name_occurs_once() -> None:
    rows = [f"q{i},{i % 2}" for i in range(300)]
    refuses(
        "summary_row",
        "/files/u/line/302/1",
        "csv",
        {role: "name,score\n" + "\n".join([*rows, "mean,0.5"]) for role in ("u", "v")},
    )
    twice = [*rows[:150], "mean,1", *rows[150:], "mean,0.5"]
    reading = read_files("csv", {role: "name,score\n" + "\n".join(twice) for role in ("u", "v")})
    assert len(reading.data.u) == 302
