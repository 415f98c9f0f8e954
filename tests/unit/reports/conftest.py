from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from app.inference.record import (
    Caution,
    ItemsRecord,
    LatticeRecord,
    MethodRecord,
    NullRecord,
    StatisticRecord,
    TestRecord,
)

RECORD = TestRecord(
    digest="9f86d081884c7d65" * 4,
    p_value=0.0625,
    log10_p_value=-1.2041199826559248,
    p_value_bounds=(0.0625, 0.0625),
    p_value_bounds_kind="certified",
    p_value_fraction=None,
    significant=False,
    alpha=0.05,
    min_attainable_p=0.0625,
    alternative="two-sided",
    test="permutation",
    statistic=StatisticRecord("mean_difference", 0.056, 0.866, 0.81),
    items=ItemsRecord(n=5, nonzero=5, clusters=None, wins=5, ties=0, losses=0),
    method=MethodRecord("fft", True, 3.1e-14, "cheapest exact method", LatticeRecord(0.01, 4, 46), None),
    null=NullRecord(0.0, 0.021, -0.056, 0.056, None, None, None),
    warnings=(Caution("alpha_unattainable", "No result could be significant."),),
    name_u="U",
    name_v="V",
)


@pytest.fixture
def record() -> Callable[..., TestRecord]:
    def make(**changes: Any) -> TestRecord:
        return replace(RECORD, **changes)

    return make
