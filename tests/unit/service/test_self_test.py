"""The three p-values known beforehand: counted here once more by brute force, and missed when they are wrong."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.service.self_test import KNOWN, Known, self_test


def test_they_come_out_right() -> None:
    assert self_test(KNOWN, b"", Unbounded()) == []


@pytest.mark.parametrize("known", [known for known in KNOWN if len(known.stay) <= 20])
def test_the_literals_are_what_counting_all_assignments_gives(known: Known) -> None:
    observed = abs(sum(known.stay))
    sums = (
        sum(sign * value for sign, value in zip(signs, known.stay, strict=True))
        for signs in itertools.product((1, -1), repeat=len(known.stay))
    )
    assert known.p_value == sum(abs(value) >= observed for value in sums) / 2 ** len(known.stay)


@pytest.mark.parametrize("number", range(len(KNOWN)))
def test_a_wrong_one_is_named(number: int) -> None:
    wrong = [*KNOWN]
    wrong[number] = replace(wrong[number], p_value=wrong[number].p_value * (1 + 1e-6))
    assert self_test(tuple(wrong), b"", Unbounded()) == [KNOWN[number].name]
