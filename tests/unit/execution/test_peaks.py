from __future__ import annotations

from exactperm.execution.memory import WORTH_BYTES, Peaks

MIB = 2**20


def test_memory_is_given_back_when_a_peak_is_over_and_not_while_requests_hold_it() -> None:
    peaks = Peaks(100 * MIB)
    assert not peaks.over(100 * MIB + WORTH_BYTES, 0)
    assert not peaks.over(600 * MIB, 490 * MIB)
    assert peaks.over(600 * MIB, 20 * MIB)
    peaks.gave_back(110 * MIB, 10 * MIB)
    assert not peaks.over(110 * MIB, 0)


def test_what_stays_is_not_asked_for_again_and_again() -> None:
    peaks = Peaks(100 * MIB)
    assert peaks.over(300 * MIB, 0)
    peaks.gave_back(300 * MIB, 0)
    assert not peaks.over(305 * MIB, 0)
    assert peaks.over(400 * MIB, 0)


def test_what_requests_held_at_the_time_is_given_back_when_they_have_gone() -> None:
    peaks = Peaks(100 * MIB)
    assert peaks.over(300 * MIB, 100 * MIB)
    peaks.gave_back(300 * MIB, 100 * MIB)
    assert not peaks.over(300 * MIB, 100 * MIB)
    assert peaks.over(300 * MIB, 0)
    assert peaks.over(210 * MIB, 0)  # they have gone, so that it is worth a try
    peaks.gave_back(210 * MIB, 0)
    assert not peaks.over(210 * MIB, 0)
