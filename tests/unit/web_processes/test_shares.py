"""Test that limits hold for all web processes together, or are documented as limits of each."""

import pytest

from exactperm.settings import Settings
from exactperm.web_processes.parent import DIVIDED, share_of


@pytest.mark.parametrize("processes", [2, 3, 4])
def test_shares_add_up_to_the_limit_and_are_rounded_up(processes: int) -> None:
    settings = Settings(workers=8, web_processes=processes)
    alone = Settings(workers=8, web_processes=1)
    for name in (*DIVIDED, "job_streams", "queue_seconds"):  # each process had all streams
        limit = getattr(alone, name)
        shares = [getattr(share_of(settings, number, processes), name) for number in range(processes)]
        assert limit - processes < sum(shares) < limit + processes


def test_each_queue_has_room_for_the_largest_body() -> None:
    settings = Settings(web_processes=16, max_body_bytes=2**27)
    assert share_of(settings, 0, 16).queue_bytes == 2**27


# How many web processes a machine has by default: they grow with its processors, and each keeps workers of its own.


@pytest.mark.parametrize(
    ("workers", "web_processes"), [(1, 1), (2, 1), (7, 1), (8, 2), (16, 4), (64, 16), (200, 16)]
)
def test_small_tests_have_a_web_process_for_every_four_workers(workers: int, web_processes: int) -> None:
    settings = Settings(workers=workers)
    assert settings.web_processes == web_processes
    shares = [share_of(settings, number, web_processes).workers for number in range(web_processes)]
    assert sum(shares) == workers
    assert min(shares) >= min(workers, 4)
