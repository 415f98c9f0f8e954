"""The identity of a request: equal for what is equal, different for everything that may change the answer."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.inference.digest import request_digest
from exactperm.inference.options import Options
from exactperm.statistics.paired import Effects, Paired, Pairing, Predictions, Scores, StatisticSpec

MEAN = StatisticSpec("mean_difference")
U, V = np.array([3, 1, 2]), np.array([1, 1, 0])
PLAIN = Scores(U, V)


def digest(
    data: Paired, spec: StatisticSpec = MEAN, options: Options | None = None, algorithm: str = "1"
) -> str:
    return request_digest(data, spec, options or Options(), algorithm)


def grouped(*codes: int) -> Pairing:
    return Pairing(np.array(codes, dtype=np.int64), max(codes) + 1)


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1), min_size=1, max_size=20))
def test_integers_and_equal_floats_are_the_same_request(values: list[int]) -> None:
    whole, real = np.array(values, dtype=np.int64), np.array(values, dtype=np.float64)
    assert digest(Scores(whole, whole)) == digest(Scores(real, real)) == digest(Scores(whole, real))
    assert digest(Effects(whole)) == digest(Effects(real))


def test_minus_zero_is_zero() -> None:
    assert digest(Effects(np.array([0.0, 1.0]))) == digest(Effects(np.array([-0.0, 1.0])))
    half = Effects(np.array([0.0, 0.5])), Effects(np.array([-0.0, 0.5]))
    assert digest(half[0]) == digest(half[1])


def test_the_digest_does_not_depend_on_memory_layout_or_width() -> None:
    wide = np.array([[3, 9], [1, 9], [2, 9]], dtype=np.int64)
    assert digest(Scores(wide[:, 0], V)) == digest(PLAIN)
    swapped = U.astype(">i8")
    assert digest(Scores(swapped, V)) == digest(PLAIN)


DIFFERENT_OPTIONS: list[dict[str, Any]] = [
    {"alternative": "greater"},
    {"alternative": "less"},
    {"method": "fft"},
    {"method": "monte_carlo"},
    {"test": "bootstrap"},
    {"samples": 20_001},
    {"seed": 1},
    {"precision": 1e-4},
    {"alpha": 0.01},
    {"confidence_level": 0.95},
    {"pmf": "none"},
    {"exact_fraction": True},
    {"name_u": "A"},
    {"name_v": "A"},
]
DIFFERENT_DATA: list[Paired] = [
    Scores(V, U),
    Scores(np.array([3, 1, 3]), V),
    Scores(U[:2], V[:2]),
    Scores(np.array([3, 2, 1]), np.array([1, 0, 1])),
    Scores(np.array([3.5, 1.5, 2.5]), np.array([1.5, 1.5, 0.5])),
    Scores(U * 1000, V * 1000),
    Scores(U * 10**6, V * 10**6),
    Scores(U * 10**12, V * 10**12),
    replace(PLAIN, pairing=grouped(0, 0, 1)),
    replace(PLAIN, pairing=grouped(0, 1, 1)),
    replace(PLAIN, pairing=grouped(0, 1, 2)),
    Effects(U),
    Effects(U, V),
    Effects(U, -U),
    Predictions([3, 1, 2], [1, 1, 0], [1, 1, 0]),
    Predictions(["3", "1", "2"], ["1", "1", "0"], ["1", "1", "0"]),
    Predictions([("3",), ("1",), ("2",)], [("1",), ("1",), ("0",)], [("1",), ("1",), ("0",)]),
]


def test_whatever_may_change_the_answer_changes_the_digest() -> None:
    found = [digest(PLAIN)]
    found += [digest(PLAIN, options=Options(**options)) for options in DIFFERENT_OPTIONS]
    found += [digest(data) for data in DIFFERENT_DATA]
    found += [
        digest(PLAIN, StatisticSpec("sum_difference")),
        digest(PLAIN, StatisticSpec("signed_rank", {"zero_method": "pratt"})),
        digest(PLAIN, StatisticSpec("signed_rank", {"zero_method": "zsplit"})),
        digest(PLAIN, StatisticSpec("signed_rank")),
        digest(PLAIN, algorithm="2"),
    ]
    assert all(len(one) == 64 and set(one) <= set("0123456789abcdef") for one in found)
    for one, other in itertools.combinations(range(len(found)), 2):
        assert found[one] != found[other], (one, other)


@pytest.mark.parametrize("field", ["by_id", "matched", "only_u"])
def test_how_items_were_matched_is_no_part_of_the_request(field: str) -> None:
    """Ids only pair: after that, the same numbers are the same test."""
    pairing = Pairing(**{field: True if field == "by_id" else 3})  # type: ignore[arg-type]
    assert digest(replace(PLAIN, pairing=pairing)) == digest(PLAIN)


def test_the_order_of_parameters_is_not_the_caller_s_business() -> None:
    one = StatisticSpec("signed_rank", {"zero_method": "pratt", "other": 1})
    other = StatisticSpec("signed_rank", {"other": 1, "zero_method": "pratt"})
    assert digest(PLAIN, one) == digest(PLAIN, other)
