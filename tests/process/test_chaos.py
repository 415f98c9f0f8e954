"""The short form of loadtest.chaos: workers die and stop under mixed load, and afterwards nothing is amiss."""

from __future__ import annotations

import asyncio

import pytest

from loadtest.chaos import chaos
from tests.process.conftest import PROC

pytestmark = [
    pytest.mark.process,
    pytest.mark.skipif(not PROC.is_dir(), reason="descriptors and children are read in /proc"),
]


def test_after_workers_died_at_random_the_answer_is_right_and_nothing_is_left_behind() -> None:
    outcome = asyncio.run(chaos(kills=6, seed=1, gap_s=0.2))
    assert outcome.blows.killed == 6
    assert outcome.faults == []
