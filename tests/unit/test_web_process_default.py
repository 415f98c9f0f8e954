"""How many web processes a machine has by default: they grow with its processors, and each keeps workers of its own."""

import pytest

from exactperm.settings import Settings
from exactperm.web_processes.parent import share_of


@pytest.mark.parametrize(
    ("workers", "web_processes"), [(1, 1), (2, 1), (7, 1), (8, 2), (16, 4), (64, 16), (200, 16)]
)
def test_small_tests_have_a_web_process_for_every_four_workers(workers: int, web_processes: int) -> None:
    settings = Settings(workers=workers)
    assert settings.web_processes == web_processes
    shares = [share_of(settings, number, web_processes).workers for number in range(web_processes)]
    assert sum(shares) == workers
    assert min(shares) >= min(workers, 4)
