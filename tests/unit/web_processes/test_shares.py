"""Limits of the service hold for all its web processes together, or the documentation says that they are of each."""

from __future__ import annotations

import pytest

from exactperm.settings import Settings
from exactperm.web_processes.parent import DIVIDED, share_of


@pytest.mark.parametrize("processes", [2, 3, 4])
def test_shares_add_up_to_the_limit_and_are_rounded_up(processes: int) -> None:
    settings = Settings(workers=8)
    assert "job_streams" in DIVIDED  # each process had all of them
    for name in DIVIDED:
        limit = getattr(settings, name)
        shares = [getattr(share_of(settings, number, processes), name) for number in range(processes)]
        assert limit <= sum(shares) < limit + processes or name == "queue_bytes"
