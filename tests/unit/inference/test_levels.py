"""A system does not differ from itself more often than alpha says, whatever shape its data have (`tests/levels.py`)."""

from __future__ import annotations

import pytest

from tests.levels import DESIGNS, LIMIT, REFUSED, SETS, Design, rejections


@pytest.mark.parametrize("design", [one for one in DESIGNS if not one.listed], ids=lambda one: one.name)
def test_one_system_differs_from_itself_in_at_most_alpha_of_data_sets(design: Design) -> None:
    assert rejections(design) <= LIMIT * SETS


@pytest.mark.parametrize("design", REFUSED, ids=lambda one: one.name)
def test_what_is_refused_would_differ_far_more_often(design: Design) -> None:
    """Other numbers of runs: so much would be found here if they were taken."""
    assert rejections(design, 300) > 0.2 * 300
