"""Test that bombs are refused by their footers, directories, headers and lines, and other files priced before reading."""

import gc
import gzip
import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet as pq

from exactperm.errors import BodyTooLarge, MalformedBody
from exactperm.execution.ipc import Control
from exactperm.inputs import delimited, frame
from exactperm.inputs.delimited import guessed_delimiter
from exactperm.inputs.formats import catalogue, numpy_files, price, workbook
from exactperm.inputs.reader import ReaderOptions, Source, UploadedFile
from exactperm.service.compare.comparison import parse_compare
from exactperm.service.gate import parse_gate
from exactperm.service.kinds import Kind
from exactperm.service.messages import Body, Job, limits_of
from exactperm.service.parse import parse_test
from exactperm.service.power import parse_power
from exactperm.settings import Settings
from exactperm.statistics.paired import Scores
from tests.binary import npy, parquet_of, workbook as workbook_of, written
from tests.refusals import refused

SMALL = ReaderOptions(max_inflated_bytes=10_000, max_items=1_000)
ZEROS = np.zeros(2_000, dtype=np.int8)


def compressed(**columns: Any) -> bytes:
    return parquet_of(columns, compression="zstd")


def zip_of(**members: bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name.replace("__", "/"), content)
    return stream.getvalue()


HEAD = json.dumps({"eval": {"task": "t", "model": "m"}, "status": "success"}).encode()
BOMBS = {
    "parquet of many rows": compressed(u=ZEROS, v=ZEROS),
    "parquet of many columns": compressed(**{f"c{n}": ZEROS[:900] for n in range(12)}),
    "npz of zeros": written(lambda stream: np.savez_compressed(stream, u=np.zeros(2_000), v=np.zeros(2_000))),
    "log of Inspect": zip_of(**{"header.json": HEAD, "summaries.json": b"[" + b" " * 20_000 + b"]"}),
    "samples of Inspect": zip_of(**{"header.json": HEAD, "samples__1.json": b"{" + b" " * 20_000 + b"}"}),
    "workbook": workbook_of(x=[(1, 0)] * 1_000),
}
LONG = {
    "npy": npy(ZEROS),
    "npy of both": npy(np.zeros((2_000, 2), dtype=np.int8)),
    "npz": written(lambda stream: np.savez(stream, u=ZEROS, v=ZEROS)),
    "csv": b"u,v\n" + b"0,1\n" * 2_000,
    "csv without a header": b"0,1\n" * 2_000,
}


@pytest.fixture
def nothing_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fail the test if rows, members, arrays or lines are decoded."""

    def read(*_: Any, **__: Any) -> Any:
        pytest.fail("something was read")

    for owner, name in [
        (pq.ParquetFile, "iter_batches"), (zipfile.ZipFile, "open"), (numpy_files, "table_of"), (numpy_files, "vector_of"), (frame, "_split"),
        (delimited, "csv_rows"), (workbook, "written"),
    ]:  # fmt: skip
        monkeypatch.setattr(owner, name, read)


@pytest.mark.usefixtures("nothing_is_read")
@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_its_declared_size(name: str) -> None:
    with refused(None, "/files/u", error=BodyTooLarge):
        price.seconds(Source("u", "x", BOMBS[name]), SMALL)


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_by_its_reader_alone(name: str) -> None:
    with pytest.raises(BodyTooLarge):
        catalogue.read({role: UploadedFile("x", BOMBS[name]) for role in "uv"}, "auto", SMALL)


@pytest.mark.parametrize("name", LONG)
def test_more_items_than_allowed_are_refused_before_they_are_read(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of an archive the members are unpacked, within their limit, and no array is made of them."""
    for owner, reader in [
        (numpy_files, "table_of"),
        (numpy_files, "vector_of"),
        (frame, "_split"),
        (delimited, "csv_rows"),
    ]:
        monkeypatch.setattr(owner, reader, lambda *_: pytest.fail("something was read"))
    roles = ("u", "v") if name == "npy" else ("file",)
    files = {role: UploadedFile("x", LONG[name]) for role in roles}
    with pytest.raises(BodyTooLarge) as refused:
        catalogue.read(files, "auto", ReaderOptions(max_items=1_000))
    assert "at most 1,000 are allowed" in refused.value.detail


def test_rows_of_several_systems_are_not_items() -> None:
    """600 items of three systems, and 300 lines of three tokens each."""
    rows = [(f"i{n}", system, n % 2) for n in range(600) for system in "abc"]
    lines = "".join(f"{key},{system},{score}\n" for key, system, score in rows).encode()
    options = ReaderOptions(max_items=1_000, system_u="a", system_v="b")
    columns = {name: [row[at] for row in rows] for at, name in enumerate(["id", "system", "score"])}
    for content in (b"id,system,score\n" + lines, compressed(**columns)):
        assert price.seconds(Source("file", "x", content), options) > 0
        reading = catalogue.read({"file": UploadedFile("x", content)}, "auto", options)
        assert isinstance(reading.data, Scores)
        assert len(reading.data.u) == 600


@pytest.mark.parametrize(
    "column",
    [[None, *["x" * 1_000] * 899], [[0] * 1_000] * 900, [{"a": [0] * 1_000}] * 900],
    ids=["texts", "lists", "records"],
)
def test_repeated_values_are_measured_before_they_become_text(
    column: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A dictionary has each text once, and lists of zeros are a few bytes for any total of the rows."""
    content = compressed(u=column, v=[1] * 900)
    assert len(content) < 5_000
    for name in ("written", "to_json"):
        monkeypatch.setattr(workbook, name, lambda *_, **__: pytest.fail("texts were written"))
    for role in ("file", "u"):
        files = {role: UploadedFile("x", content)}
        with pytest.raises(BodyTooLarge):
            catalogue.read(files, "auto", ReaderOptions(max_inflated_bytes=500_000))


def test_a_member_is_inflated_no_further_than_the_directory_declares(monkeypatch: pytest.MonkeyPatch) -> None:
    """A lie in the directory: a member of 50 MB that says that it has 100 bytes."""
    content = bytearray(zip_of(**{"header.json": HEAD, "summaries.json": b" " * 50_000_000}))
    size = (50_000_000).to_bytes(4, "little")
    while (at := content.find(size)) >= 0:
        content[at : at + 4] = (100).to_bytes(4, "little")
    read: list[int] = []
    inflate: Any = vars(zipfile.ZipExtFile)["_read1"]

    def counted(self: Any, n: int) -> bytes:
        piece: bytes = inflate(self, n)
        read.append(n)
        return piece

    monkeypatch.setattr(zipfile.ZipExtFile, "_read1", counted)
    with pytest.raises(Exception, match="damaged"):
        catalogue.read({role: UploadedFile("x", bytes(content)) for role in "uv"}, "auto", ReaderOptions())
    assert max(read) < 1_000


ROWS = 40_000
ORDERED: dict[str, dict[str, Any]] = {
    "integers": {"u": np.arange(ROWS) % 3, "v": np.arange(ROWS) % 2},
    "decimals": {"u": np.arange(ROWS) / 7, "v": np.arange(ROWS) / 9},
    "ids": {"id": np.arange(ROWS), "u": np.arange(ROWS) % 3, "v": np.arange(ROWS) % 2},
    "counts": {name: np.arange(ROWS) % 3 for name in ("tp_u", "incorrect_u", "tp_v", "incorrect_v")},
    "other names": {"a": np.arange(ROWS) % 3, "b": np.arange(ROWS) % 2},
    "labels": {"gold": ["x", "y"] * (ROWS // 2), "a": ["x"] * ROWS, "b": ["y"] * ROWS},
}


@pytest.mark.parametrize("name", ORDERED)
def test_requests_refused_for_their_memory_would_take_as_much(name: str) -> None:
    """Half of what reading it takes is refused by the footer, so that nothing that fits is."""
    content = compressed(**ORDERED[name])
    source = Source("file", "x", content)
    gc.collect()
    tracemalloc.start()
    try:
        catalogue.read({"file": UploadedFile("x", content)}, "auto", ReaderOptions())
        took = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    price.seconds(source, ReaderOptions(), most_bytes=took)
    with refused(None, "/files/file", "40,000 rows takes more memory", error=BodyTooLarge):
        price.seconds(source, ReaderOptions(), most_bytes=took // 4)


@pytest.mark.parametrize(("id_column", "status"), [((), 200), (("id",), 413)])
def test_nine_million_rows_are_read_or_refused_at_once(
    id_column: tuple[str, ...], status: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two columns of whole numbers fit into a worker; with texts beside them the footer says that they do not."""
    zeros = pa.array(np.zeros(9_000_000, dtype=np.int8))
    content = compressed(**dict.fromkeys((*id_column, "u", "v"), zeros))
    source = Source("file", "x", content)
    most = limits_of(Settings()).worker_memory_bytes
    if status == 200:
        price.seconds(source, ReaderOptions(), most_bytes=most)
        assert price.seconds(source, ReaderOptions()) < 5
        return
    monkeypatch.setattr(pq.ParquetFile, "iter_batches", lambda *_, **__: pytest.fail("something was read"))
    with pytest.raises(BodyTooLarge):
        price.seconds(source, ReaderOptions(), most_bytes=most)


INTEGER_TABLES: list[dict[str, Any]] = [
    {"u": pa.array([1, -2, 3], pa.int8()), "v": pa.array([2**63 - 1, -(2**63), 0], pa.int64())},
    {"id": [3, 1, 2], "u": [1, 0, 1], "v": [0, 0, 1]},
    {"a,b": [3, 1, 2], 'c"': [1, 0, 1]},
    {"u": pa.array([1, None, 3], pa.int32()), "v": [1, 2, 3]},
    {"u": pa.array([None, 1, None], pa.int32()), "v": pa.array([None, 2, None], pa.int32())},
    {"u": pa.array([2**64 - 1, 1, 0], pa.uint64()), "v": [1, 2, 3]},
    {"u": pa.array([], pa.int8()), "v": pa.array([], pa.int8())},
]


@pytest.mark.parametrize("columns", INTEGER_TABLES)
def test_integers_are_the_text_that_python_writes(
    columns: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    source = Source("file", "x", compressed(**columns))
    quick = workbook.csv_of_parquet(source, ReaderOptions())
    monkeypatch.setattr(workbook, "_kind", lambda _: "values")
    assert quick == workbook.csv_of_parquet(source, ReaderOptions())


def test_columns_are_counted_before_the_footer_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of more than are likely; a few more than allowed are counted by the library."""
    many, few = (compressed(**{f"c{n}": ZEROS[:2] for n in range(count)}) for count in (9_000, 4_097))
    for content in (few, many):
        if content is many:
            monkeypatch.setattr(pq, "ParquetFile", lambda *_, **__: pytest.fail("the footer was read"))
        with refused("too_many_columns"):
            workbook.csv_of_parquet(Source("file", "x", content), ReaderOptions())


LONG_TEXT = "x" * 100_000


@pytest.mark.parametrize(
    "column",
    [
        pa.array([LONG_TEXT.encode()]),
        pa.array([[LONG_TEXT]]),
        pa.array([[[LONG_TEXT.encode()]]]),
        pa.array([{"a": LONG_TEXT, "b": 1}]),
        pa.array([[("a", LONG_TEXT)]], pa.map_(pa.string(), pa.string())),
        pa.array([LONG_TEXT.encode()], pa.binary(100_000)),
    ],
    ids=lambda column: str(column.type),
)
def test_no_text_is_repeated_in_memory(column: pa.Array) -> None:
    """Bytes, and texts in lists and records: 4,000 of 100,000 characters in a file of some kilobytes."""
    u = pa.concat_arrays([column] * 4_000)
    content = compressed(u=u, v=np.zeros(4_000, dtype=np.int8))
    del u
    assert len(content) < 20_000
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(BodyTooLarge):
            catalogue.read({"file": UploadedFile("x", content)}, "auto", ReaderOptions())
    finally:
        pa.set_memory_pool(before)
    assert (pool.max_memory() or 0) < 20_000_000


def test_lists_of_zeros_are_read_a_few_at_a_time() -> None:
    """40,000,000 values in a file of some kilobytes."""
    values = pa.array(np.zeros(40_000_000, dtype=np.int8))
    lists = pa.ListArray.from_arrays(pa.array(np.arange(1_001, dtype=np.int32) * 40_000), values)
    content = compressed(u=lists, v=np.zeros(1_000, dtype=np.int8))
    del values, lists
    few = ReaderOptions(max_inflated_bytes=20_000_000)
    pool = pa.proxy_memory_pool(pa.default_memory_pool())
    before = pa.default_memory_pool()
    pa.set_memory_pool(pool)
    try:
        with pytest.raises(BodyTooLarge):
            catalogue.read({"file": UploadedFile("x", content)}, "auto", few)
    finally:
        pa.set_memory_pool(before)
    assert (pool.max_memory() or 0) < 60_000_000


@pytest.mark.parametrize("encoding", ["DELTA_BYTE_ARRAY", "DELTA_LENGTH_BYTE_ARRAY", "PLAIN"])
def test_texts_without_a_dictionary_are_read(encoding: str) -> None:
    """Of the texts of writers of version 2, pyarrow makes no dictionary."""
    rows = 5_000
    columns = {
        "id": [f"i{row}" for row in range(rows)],
        "u": [row % 2 for row in range(rows)],
        "v": [0] * rows,
    }
    encodings = {"id": encoding, "u": "DELTA_BINARY_PACKED", "v": "PLAIN"}
    content = parquet_of(columns, use_dictionary=False, column_encoding=encodings)
    reading = catalogue.read({"file": UploadedFile("x", content)}, "auto", ReaderOptions())
    assert isinstance(reading.data, Scores)
    assert np.asarray(reading.data.u).tolist() == columns["u"]


def test_a_page_that_does_not_have_its_checksum_is_damaged() -> None:
    """In a file with checksums no flipped bit of a page gives other numbers."""
    u = np.arange(500) * 7919 % 1009
    options: dict[str, Any] = {"compression": "none", "use_dictionary": False, "write_page_checksum": True}
    content = parquet_of({"u": u, "v": u * 0}, **options)
    at = content.index(u[100:110].astype("<i8").tobytes())
    damaged = bytearray(content)
    damaged[at] ^= 1
    good = catalogue.read({"file": UploadedFile("x", content)}, "auto", ReaderOptions())
    assert isinstance(good.data, Scores)
    assert np.asarray(good.data.u).tolist() == u.tolist()
    with pytest.raises(MalformedBody):
        catalogue.read({"file": UploadedFile("x", bytes(damaged))}, "auto", ReaderOptions())


def test_arrays_are_priced_by_their_elements() -> None:
    """Not by their bytes: numbers of one byte take as long as those of eight, and columns of both systems nearly none."""

    def priced(write: Callable[[io.BytesIO], Any]) -> float:
        return price.seconds(Source("file", "x", written(write)), ReaderOptions())

    short, long = np.zeros(100_000, dtype=np.int8), np.zeros(100_000)
    archives = [priced(partial(np.savez_compressed, u=one, v=one)) for one in (short, long)]
    assert archives[0] == pytest.approx(archives[1], rel=0.05)
    assert archives[0] == pytest.approx(2 * priced(lambda stream: np.save(stream, short)), rel=0.05)
    assert priced(lambda stream: np.save(stream, np.stack([long, long], axis=1))) < archives[0] / 20


@pytest.mark.parametrize(
    ("line", "delimiter"),
    [('"a,b";c;d', ";"), ('"a"",b";c;d', ";"), ('"a,b";"c;d', ";"), ('"a""";"b,c"', ";")],
)
def test_a_line_of_quotes_takes_the_memory_of_its_text(line: str, delimiter: str) -> None:
    """However many quotes are in it, and whichever are in pairs."""
    assert guessed_delimiter([line]) == delimiter
    long = line + '"' * 1_000_000
    tracemalloc.start()
    try:
        guessed_delimiter([long])
        assert tracemalloc.get_traced_memory()[1] < 10_000_000
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("rows", [1_000, 100_000])
def test_prices_grow_with_the_declared_size(rows: int) -> None:
    """Not below a fifth of what it took where the rates were measured, nor above twice that."""
    zeros = np.zeros(rows, dtype=np.int8)
    took = {  # microseconds a row
        6.9: compressed(a=zeros, b=zeros),
        0.2: compressed(u=zeros, v=zeros),
        7.5: b"0,1\n" * rows,
        5.8: b"0.123456,0.654321\n" * rows,
        6.4: b'{"u":1,"v":0}\n' * rows,
        1.4: npy(zeros),
    }
    for microseconds, content in took.items():
        seconds = price.seconds(Source("file", "x", content), ReaderOptions())
        assert 0.2 < seconds / (microseconds * 1e-6 * rows) < 2.0


class Heard:
    """A control that records, and the data read meanwhile."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, float]] = []

    def deadline(self, seconds: float) -> None:
        self.calls.append(("deadline", seconds))

    def plan(self, seconds: float) -> None:
        self.calls.append(("plan", seconds))


class BeforeReading(Exception):
    """The reader was called."""


PARSERS: dict[Kind, Callable[[Job, bytes, Control], object]] = {
    "files": parse_test, "gate": parse_gate, "compare": parse_compare, "power": parse_power,
}  # fmt: skip


@pytest.fixture
def no_reader(monkeypatch: pytest.MonkeyPatch) -> None:
    def begin(*_: Any, **__: Any) -> Any:
        raise BeforeReading

    monkeypatch.setattr(catalogue, "read", begin)
    monkeypatch.setattr("exactperm.service.compare.system_files.read_each", begin)


@pytest.mark.usefixtures("no_reader")
@pytest.mark.parametrize("kind", PARSERS)
def test_a_form_says_its_deadline_and_its_price_before_it_is_read(kind: Kind) -> None:
    content = gzip.compress(compressed(u=np.zeros(300_000, dtype=np.int8)))
    roles = ("system", "system") if kind == "compare" else ("u", "v")
    parts = [
        b'--x\r\ncontent-disposition: form-data; name="%s"; filename="%d"\r\n\r\n%s\r\n'
        % (role.encode(), number, content)
        for number, role in enumerate(roles)
    ]
    parts.append(b'--x\r\ncontent-disposition: form-data; name="timeout_s"\r\n\r\n25\r\n')
    if kind == "power":
        parts.append(b'--x\r\ncontent-disposition: form-data; name="solve"\r\n\r\nn\r\n')
    limits = limits_of(Settings())
    job = Job(kind, Body("multipart/form-data", None, "x"), (), "json", "", 0.0, 0.0, limits)
    heard = Heard()
    with pytest.raises(BeforeReading):
        PARSERS[kind](job, b"".join(parts) + b"--x--\r\n", heard)
    (first, deadline), (second, seconds) = heard.calls
    assert (first, deadline, second) == ("deadline", 25.0, "plan")
    assert seconds == pytest.approx(2 * 300_000 * 4e-6)
