"""How much is generated: with FUZZ_TIMES=100 (what `make fuzz` sets) a hundred times as much as is written there, new in each run.

The short form, which continuous integration runs, is a third of it, and always the same.
"""

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
    """A third of `count` examples in the short form; in the long form `TIMES` times `count`."""
    return settings(
        max_examples=count * TIMES if TIMES > 1 else max(2, -(-count // 3)),
        derandomize=TIMES == 1,
        database=None,
        deadline=None,
        suppress_health_check=CHECKS,
    )
