from __future__ import annotations

import io

import numpy as np
import pytest

from exactperm.errors import InputError, InvalidTest, MalformedBody
from exactperm.inputs.formats.numpy_files import table_of as read
from tests.refusals import refused


def saved(array: np.ndarray, *, allow_pickle: bool = False) -> bytes:
    stream = io.BytesIO()
    np.save(stream, array, allow_pickle=allow_pickle)
    return stream.getvalue()


@pytest.mark.parametrize("dtype", ["<i8", ">i4", "u1", "?", "<f8", ">f4", "f2"])
@pytest.mark.parametrize("order", ["C", "F"])
def test_two_columns_are_scores_of_any_plain_type_and_order(dtype: str, order: str) -> None:
    array = np.array([[1, 0], [0, 1], [1, 1]], dtype=dtype, order=order)  # type: ignore[call-overload]
    table = read(saved(array))
    assert table["u"].tolist() == [1, 0, 1]
    assert table["v"].tolist() == [0, 1, 1]
    assert table["u"].dtype == (np.float64 if "f" in dtype else np.int64)


def test_four_columns_are_counts() -> None:
    table = read(saved(np.array([[8, 2, 6, 1], [3, 3, 5, 2]])))
    assert {name: column.tolist() for name, column in table["u"].items()} == {
        "tp": [8, 3],
        "incorrect": [2, 3],
    }
    assert {name: column.tolist() for name, column in table["v"].items()} == {
        "tp": [6, 5],
        "incorrect": [1, 2],
    }


def test_doubles_stay_what_they_are() -> None:
    array = np.array([[0.1, 0.2], [1 / 3, 1e-300]])
    table = read(saved(array))
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
        read(saved(array, allow_pickle=array.dtype.hasobject))


@pytest.mark.parametrize("shape", [(3,), (3, 3), (2, 2, 2), (), (0, 2)])
def test_other_shapes_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(InvalidTest):
        read(saved(np.zeros(shape)))


@pytest.mark.parametrize("rows", [10**15, 10**30, 4, -1])
def test_a_header_that_claims_more_than_is_there_is_refused_before_allocation(rows: int) -> None:
    body = saved(np.zeros((3, 2)))
    header = body.replace(b"(3, 2)", f"({rows}, 2)".encode())
    shift = len(header) - len(body)
    where = header.index(b"}") + 1
    header = header[:where] + header[where + shift :]  # the padding gives what the number takes
    with pytest.raises(InputError):
        read(header)


def test_every_cut_of_a_file_is_refused() -> None:
    body = saved(np.array([[1, 2], [3, 4]]))
    for length in range(len(body)):
        with pytest.raises(MalformedBody):
            read(body[:length])


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
def test_what_is_no_npy_is_malformed(body: bytes) -> None:
    with pytest.raises(MalformedBody):
        read(body)


def test_a_number_that_is_not_finite_is_named() -> None:
    with refused(None, "/1/1"):
        read(saved(np.array([[1.0, 2.0], [3.0, np.nan]])))


def test_unsigned_integers_beyond_int64_are_refused() -> None:
    with refused(None, "/1/1"):
        read(saved(np.array([[1, 2], [3, 2**63]], dtype=np.uint64)))
