"""How much is generated: FUZZ_TIMES=100 (what `make fuzz` sets) is a hundred times the short form, with new examples each run."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable
from typing import Any

from hypothesis import HealthCheck, settings

GENERATED: Counter[str] = Counter()
TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
CHECKS = [HealthCheck.too_slow, HealthCheck.function_scoped_fixture, HealthCheck.data_too_large]


def examples(count: int) -> Callable[[Any], Any]:
    """`count` examples in the short form, always the same ones; in the long form `TIMES` as many, and new ones."""
    return settings(
        max_examples=count * TIMES,
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=CHECKS,
    )
