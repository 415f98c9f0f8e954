"""A bucket fills with time up to what may be saved, and is overdrawn by one piece of work at most."""

from __future__ import annotations

import random

import pytest

from exactperm.api.endpoint import TokenBucket


def test_over_a_long_time_no_more_is_spent_than_the_share_and_what_was_saved() -> None:
    chance, bucket = random.Random(0), TokenBucket(0.1, 0.05)
    now = spent = 0.0
    for _ in range(20_000):
        now += chance.expovariate(500.0)
        if bucket.left(now):
            piece = chance.uniform(0.0, 0.004)
            bucket.spend(piece)
            spent += piece
    assert 0.1 * now <= spent <= 0.1 * now + 0.05 + 0.004


def test_what_was_overdrawn_has_to_be_made_up_first() -> None:
    bucket = TokenBucket(0.5, 1.0)
    assert bucket.left(100.0)
    bucket.spend(3.0)
    assert not bucket.left(103.9)
    assert bucket.left(104.1)


@pytest.mark.parametrize("idle_s", [10.0, 1e9])
def test_no_more_is_saved_than_may_be(idle_s: float) -> None:
    bucket = TokenBucket(0.5, 1.0)
    assert bucket.left(idle_s)
    bucket.spend(1.0)
    assert not bucket.left(idle_s)


def test_a_process_that_was_stopped_for_an_hour_in_the_middle_works_again_soon() -> None:
    bucket = TokenBucket(0.5, 0.1)
    assert bucket.left(1000.0)
    bucket.spend(3600.0)
    assert bucket.left(4601.0)
