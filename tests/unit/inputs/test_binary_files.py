"""Workbooks, Parquet and .npy."""

import io
import tracemalloc
import zipfile
from collections.abc import Callable
from datetime import date
from typing import Literal

import numpy as np
import pyarrow as pa
import pytest

from exactperm import extras
from exactperm.errors import BodyTooLarge, InputError, InvalidTest, MalformedBody
from exactperm.inputs.formats.catalogue import read
from exactperm.inputs.formats.numpy_files import table_of as read_npy
from exactperm.inputs.reader import ReaderOptions, UploadedFile
from exactperm.statistics.paired import Predictions
from tests.binary import npy, parquet_of, workbook
from tests.refusals import refused

from .reading import columns, read_files, refuses

# Spreadsheets and Parquet files are read as the same table in CSV; bombs and damage are refused, and cost little.


HEADER = ["id", "question", "model_a", "model_b"]
ROWS = [["a", "Why,\nsay?", 0.1, True], ["b", "When?", 1, False], ["c", "Who?", 0.35, True]]


PARQUET = parquet_of({name: [row[at] for row in ROWS] for at, name in enumerate(HEADER)})


@pytest.mark.parametrize("content", [workbook(Scores=[HEADER, *ROWS]), PARQUET], ids=["xlsx", "parquet"])
@pytest.mark.parametrize("format_", ["auto", "csv"])
def test_a_table_is_read_as_its_csv(format_: str, content: bytes) -> None:
    reading = read_files(format_, {"file": content})
    assert columns(reading) == ([0.1, 1, 0.35], [1, 0, 1])
    assert reading.data.pairing.ids == ["a", "b", "c"]
    assert any('sheet "Scores" was read' in note or "Parquet" in note for note in reading.notes)


def test_two_workbooks_and_labels_in_any_mixture() -> None:
    u = workbook(a=[["id", "score"], ["x", 1], ["y", 0]])
    v = parquet_of({"id": ["y", "x"], "score": [1, 0]})
    assert columns(read_files("auto", {"u": u, "v": v})) == ([1, 0], [0, 1])
    labels = {role: workbook(a=[["id", "label"], ["x", 1], ["y", 2]]) for role in ("gold", "u")}
    reading = read_files("auto", {**labels, "v": parquet_of({"id": ["x", "y"], "label": [1, 1]})})
    assert isinstance(reading.data, Predictions)
    assert (reading.data.gold, reading.data.u, reading.data.v) == ([1, 2], [1, 2], [1, 1])


def test_sheets_are_a_choice_and_rows_are_lines() -> None:
    content = workbook(
        Notes=[["made", date(2026, 1, 2)]], Scores=[["id", "u", "v"], [], ["a", 1, 0]], Empty=[]
    )
    refuses("choose_sheet", "/files/file", "csv", {"file": content}, '"Notes", "Scores".')
    assert columns(read_files("auto", {"file": content}, sheet="Scores")) == ([1], [0])
    refuses("choose_sheet", None, "csv", {"file": content}, sheet="x")
    wrong = workbook(a=[["id", "u", "v"], [], ["a", 1, "#DIV/0!"]])
    refuses(None, "/files/file/line/3/3", "csv", {"file": wrong})
    refuses(None, "/options/sheet", "csv", {"file": "id,u,v\na,1,0\n"}, sheet="a")


def test_single_precision_is_the_decimals_that_it_prints_as() -> None:
    content = parquet_of({"u": pa.array([0.1, 0.7], pa.float32()), "v": pa.array([0.25, 0.3], pa.float64())})
    assert columns(read_files("csv", {"file": content})) == ([0.1, 0.7], [0.25, 0.3])


def test_an_index_of_pandas_and_missing_values() -> None:
    content = parquet_of({"u": [1.0, None], "v": [0.5, 1.0], "__index_level_0__": ["q7", "q2"]})
    refuses("missing_value", None, "csv", {"file": content})
    reading = read_files("csv", {"file": content}, on_missing="drop")
    assert reading.data.pairing.ids == ["q7"]


def limited(content: bytes, limit: int) -> None:
    read({"file": UploadedFile("x", content)}, "csv", ReaderOptions(max_inflated_bytes=limit))


def rezipped(content: bytes, change: Callable[[str, bytes], bytes]) -> bytes:
    stream = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for info in old.infolist():
            new.writestr(info.filename, change(info.filename, old.read(info)))
    return stream.getvalue()


def with_sheet(xml: bytes) -> bytes:
    def change(name: str, content: bytes) -> bytes:
        return (
            content.replace(b"<sheetData></sheetData>", b"<sheetData>" + xml + b"</sheetData>")
            if "sheet1" in name
            else content
        )

    return rezipped(workbook(a=[]), change)


def entities(name: str, content: bytes) -> bytes:
    doctype = b'<!DOCTYPE x [<!ENTITY a "' + b"x" * 1000 + b'">]>'
    return content.replace(b"<worksheet", doctype + b"<worksheet", 1) if "sheet1" in name else content


def repeated(value: int) -> pa.Array:
    return pa.array(np.full(6_000_000, value, np.int8))


# Made by the test that needs them: they take seconds, and every process of pytest reads this file.
BOMBS: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: with_sheet(b"<!--" + b" " * 20_000_000 + b"-->"),
    "far rows": lambda: with_sheet(b'<row r="999999999"><c r="A999999999"><v>1</v></c></row>'),
    "far columns": lambda: with_sheet(b'<row r="1"><c r="XFD1"><v>1</v></c></row>'),
    "wide rows": lambda: with_sheet(b'<row><c r="DZZ1"><v>1</v></c></row>' * 100_000),
    "entities": lambda: rezipped(workbook(a=[HEADER]), entities),
    "repeated text": lambda: parquet_of({"u": ["x" * 300_000] * 2_000, "v": ["y"] * 2_000}),
    "many rows": lambda: parquet_of({"u": repeated(0), "v": repeated(1)}),
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_within_the_limit(name: str) -> None:
    bomb = BOMBS[name]()
    assert len(bomb) < 400_000
    tracemalloc.start()
    try:
        with pytest.raises(InputError) as caught:
            limited(bomb, 10_000_000)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert (
        isinstance(caught.value, BodyTooLarge | MalformedBody)
        or caught.value.flaws[0].code == "too_many_columns"
    )
    assert peak < 120_000_000


@pytest.mark.parametrize(
    ("content", "code"),
    [
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + bytes(100), "spreadsheet"),
        (b"ARROW1\0\0" + bytes(100), "arrow_file"),
        (b"PAR1" + bytes(100) + b"PAR1", "not_parquet"),
        (workbook(a=[HEADER])[:400], "not_a_workbook"),
    ],
)
def test_unreadable_tables_are_refused_with_a_format_to_save(content: bytes, code: str) -> None:
    refuses(code, None, "auto", {"file": content})


def test_without_the_extra_the_answer_says_what_installs_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(extras, "_is_there", lambda module: module != "pyarrow")
    refuses(
        "missing_extra",
        None,
        "auto",
        {"file": workbook(a=[HEADER, *ROWS])},
        "exactperm[tables]",
        "save the table as CSV",
    )


@pytest.mark.parametrize("dtype", ["<i8", ">i4", "u1", "?", "<f8", ">f4", "f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_two_columns_are_scores_of_any_plain_type_and_order(dtype: str, order: Literal["C", "F"]) -> None:
    array = np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype, order=order)
    table = read_npy(npy(array))
    assert table["u"].tolist() == [1, 0, 1]
    assert table["v"].tolist() == [0, 1, 1]
    assert table["u"].dtype == (np.float64 if "f" in dtype else np.int64)


def test_four_columns_are_counts() -> None:
    table = read_npy(npy(np.array([[8, 2, 6, 1], [3, 3, 5, 2]])))
    assert {name: column.tolist() for name, column in table["u"].items()} == {
        "tp": [8, 3],
        "incorrect": [2, 3],
    }
    assert {name: column.tolist() for name, column in table["v"].items()} == {
        "tp": [6, 5],
        "incorrect": [1, 2],
    }


def test_doubles_stay_unchanged() -> None:
    array = np.array([[0.1, 0.2], [1 / 3, 1e-300]])
    table = read_npy(npy(array))
    assert np.array_equal(np.stack([table["u"], table["v"]], axis=1), array)


class Trap:
    def __reduce__(self) -> tuple[object, ...]:
        return (pytest.fail, ("an object was unpickled",))


@pytest.mark.parametrize(
    "array",
    [
        np.array([[Trap(), 1]], dtype=object),
        np.array([["a", "b"]]),
        np.array([[1j, 2]]),
        np.array([(1, 2)], dtype=[("u", "i8"), ("v", "i8")]),
        np.array([["2020-01-01", "2020-01-02"]], dtype="M8[D]"),
        np.zeros((3, 2), dtype=np.longdouble),
    ],
    ids=["object", "text", "complex", "structured", "datetime", "longdouble"],
)
def test_objects_and_other_types_are_refused_and_never_unpickled(array: np.ndarray) -> None:
    with pytest.raises(InvalidTest, match="never unpickled"):
        read_npy(npy(array, allow_pickle=array.dtype.hasobject))


@pytest.mark.parametrize("shape", [(3,), (3, 3), (2, 2, 2), (), (0, 2)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidTest):
        read_npy(npy(np.zeros(shape)))


@pytest.mark.parametrize("rows", [10**15, 10**30, 4, -1])
def test_a_header_that_claims_more_than_is_there_is_refused_before_allocation(rows: int) -> None:
    body = npy(np.zeros((3, 2)))
    header = body.replace(b"(3, 2)", f"({rows}, 2)".encode())
    shift = len(header) - len(body)
    where = header.index(b"}") + 1
    header = header[:where] + header[where + shift :]  # the padding gives what the number takes
    with pytest.raises(InputError):
        read_npy(header)


def test_every_cut_of_a_file_is_refused() -> None:
    body = npy(np.array([[1, 2], [3, 4]]))
    for length in range(len(body)):
        with pytest.raises(MalformedBody):
            read_npy(body[:length])


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"\x93NUMPY",
        b"\x93NUMPY\x03\x00" + b"\x00" * 20,
        b"\x93NUMPY\x02\x00\xff\xff\xff\x7f{",
        b"\x93NUMPY\x01\x00\x46\x00"
        + b"{'descr': '<f8', 'fortran_order': False, 'shape': (1.5, 2)}".ljust(70),
        b"\x93NUMPY\x01\x00\x46\x00" + b"__import__('os').abort()".ljust(70),
        b"PK\x03\x04",
    ],
    ids=["empty", "magic", "version-3", "long-header", "odd-shape", "code", "npz"],
)
def test_invalid_npy_files_are_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read_npy(body)


def test_a_number_that_is_not_finite_is_named() -> None:
    with refused(None, "/1/1"):
        read_npy(npy(np.array([[1.0, 2.0], [3.0, np.nan]])))


def test_unsigned_integers_beyond_int64_are_refused() -> None:
    with refused(None, "/1/1"):
        read_npy(npy(np.array([[1, 2], [3, 2**63]], dtype=np.uint64)))
