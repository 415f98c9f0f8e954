"""A job is cut so that every test is in one chunk, and none is too many."""

from __future__ import annotations

import json
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.answers.test import Fraction2
from exactperm.errors import InvalidTest, MalformedBody
from exactperm.execution.ipc import Unbounded
from exactperm.inference.compare.binomial_values import BinomialValues
from exactperm.inference.compare.exact_values import Joined, Listed
from exactperm.inference.compare.sum_values import SumValues
from exactperm.jobs import work as codec
from exactperm.jobs.gateway import cutting_of
from exactperm.jobs.model import Envelope, JobPlan, kind_of
from exactperm.jobs.work import Submission, plan_job
from exactperm.service.batch import chunk_count, runs_of
from exactperm.service.compare.run import slices_of
from exactperm.settings import Settings

COSTS = st.lists(st.floats(0, 1e4) | st.just(0.0), max_size=300)


@given(COSTS, st.floats(1e-3, 10), st.integers(1, 50))
def test_runs_cover_every_test_once(costs: list[float], share: float, most: int) -> None:
    lengths = runs_of(costs, share, most)
    assert sum(lengths) == len(costs)
    assert len(lengths) <= most
    assert all(length > 0 for length in lengths)


@given(
    st.lists(st.tuples(st.integers(0, 400), st.floats(0, 100)), min_size=1, max_size=8), st.integers(1, 60)
)
def test_slices_cover_every_pair_once(boards: list[tuple[int, float]], wanted: int) -> None:
    seen = [
        (one.board, at)
        for part in slices_of(boards, wanted)
        for one in part
        for at in range(one.start, one.stop)
    ]
    assert sorted(seen) == [(board, at) for board, (tests, _) in enumerate(boards) for at in range(tests)]
    assert len(seen) == len(set(seen))


def test_how_many_chunks() -> None:
    assert [chunk_count(seconds, 0.5, 2_000) for seconds in (0.0, 0.5, 0.6, 1e9)] == [1, 1, 2, 2_000]
    assert chunk_count(float("inf"), 0.5, 2_000) == 2_000


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**30), 10**30) | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)  # fmt: skip


@given(st.dictionaries(st.text(max_size=5), JSON, max_size=5), st.sampled_from([None, 1, 3]), st.booleans())
def test_a_request_stays_byte_for_byte(request: dict[str, Any], indent: int | None, ascii_: bool) -> None:
    written = json.dumps(request, indent=indent, ensure_ascii=ascii_)
    body = f' {{"kind" : "scores",\n"request":{written} }} '.encode()
    assert kind_of(body) == "scores"
    assert Envelope("scores").only(body).content == written.encode()
    listed = f'{{"request": {{"tests": [{{"kind": "effects", "request": {written}}} , {{"request": {written}, "kind": "gate"}}]}}, "kind": "batch"}}'
    items = Envelope("batch").items(listed.encode(), 2)
    assert [(item.head["kind"], item.content) for item in items] == [
        ("effects", written.encode()),
        ("gate", written.encode()),
    ]


def test_an_integer_of_any_length_is_not_converted() -> None:
    body = b'{"kind": "scores", "request": {"u": [' + b"9" * 5_000_000 + b"]}}"
    assert len(Envelope("scores").only(body).content) > 5_000_000


@pytest.mark.parametrize(
    "body",
    [b"", b"[]x", b'{"kind": "scores", "request": {}', b'{"kind": "scores" "request": {}}', b"\xff", b'{"kind": "scores", "request": {}} {}',
     b'{"kind":"scores","request":' + b"[" * 200_000],
)  # fmt: skip
def test_what_is_not_json_is_refused(body: bytes) -> None:
    with pytest.raises((MalformedBody, InvalidTest)):
        Envelope("scores").only(body)


def test_a_key_that_comes_twice_is_refused() -> None:
    with pytest.raises(InvalidTest, match="twice"):
        kind_of(b'{"kind": "scores", "kind": "gate", "request": {}}')


def test_a_chunk_is_read_as_it_was_written() -> None:
    binomial = BinomialValues(np.array([5, 9]), np.array([4, 9]), two_sided=True)
    sums = SumValues((((1, 2), (3, 1)), ((2**70,), (1,))), two_sided=False)
    listed = Listed((Fraction2(3**50, 90), None))
    value = [
        (np.array([1.5, np.nan, -np.inf]), np.array([True, False]), np.zeros((0,), np.int64)),
        Joined((listed, binomial.fraction, sums.attained), (0, 2, 4)),
        (float("-inf"), None, "ü", Fraction(1, 3**80), 2**53 + 1),
        binomial.support,
    ]
    read = codec.loaded(codec.dumped(value))
    np.testing.assert_array_equal(read[0][0], value[0][0])  # type: ignore[index]
    assert [array.dtype for array in read[0]] == [np.float64, np.bool_, np.int64]
    assert read[2] == value[2]
    assert [read[1](at) for at in (0, 1, 2, 3)] == [
        listed(0),
        None,
        binomial.fraction(0),
        binomial.fraction(1),
    ]
    assert read[1](4, Fraction(1, 2)) == sums.attained(0, Fraction(1, 2))
    assert read[3](0) == binomial.support(0)


class Stranger:
    pass


@pytest.mark.parametrize("value", [Stranger(), len, {"a": 1}, b"", np.array(["text"]), [1].append])
def test_nothing_else_is_written(value: Any) -> None:
    with pytest.raises(TypeError):
        codec.dumped(value)


@pytest.mark.parametrize(
    "said",
    [
        {"record": ["Stranger", {}]}, {"record": ["Fraction2", {"more": 1}]}, {"method": [{"tuple": []}, "fraction"]},
        {"method": [{"record": ["Fraction2", {"numerator": 1, "log2_denominator": 1}]}, "__class__"]},
        {"array": ["|O", [1], 8]}, {"array": ["<f8", [9], 72]}, {"again": 0}, {"exec": "1"}, {"a": 1, "b": 2}, [1],
    ],
)  # fmt: skip
def test_nothing_else_is_read(said: Any) -> None:
    import zlib

    text = json.dumps(said).encode()
    with pytest.raises(ValueError, match="no chunk"):
        codec.loaded(zlib.compress(codec.LENGTH.pack(len(text)) + text))


def test_a_list_cannot_hide_what_it_costs() -> None:
    """Which tests are planned is not known beforehand: every tenth was, and the others could take hours in one chunk."""
    dear = {
        "u": [0.123457 * i % 1 for i in range(10)],
        "v": [0.5] * 10,
        "method": "monte_carlo",
        "samples": 10_000_000,
    }
    cheap = {"kind": "effects", "request": {"stay": [1] * 50}}
    tests = [cheap if at % 10 == 0 else {"kind": "scores", "request": dear} for at in range(1_000)]
    cutting = cutting_of(Settings())
    alone = plan_job(Submission("json", None, cutting, "x"), written("scores", dear), Unbounded())
    whole = plan_job(Submission("json", None, cutting, "x"), written("batch", {"tests": tests}), Unbounded())
    assert isinstance(alone, JobPlan)
    assert isinstance(whole, JobPlan)
    assert whole.seconds == pytest.approx(900 * alone.seconds, rel=0.5)
    assert max(whole.chunks) <= 100


def written(kind: str, request: Any) -> bytes:
    return json.dumps({"kind": kind, "request": request}).encode()
