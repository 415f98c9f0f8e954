"""Three known p-values, computed in a warm worker before the service reports that it is ready.

A wrong library, a faulty processor or an image built for another machine shows here: no answer is better than a wrong
one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..answers.test import Method
from ..engine.plan import Budget
from ..execution.ipc import Control
from ..inference.options import Options
from ..inference.paired_test import run_test
from ..statistics.paired import Effects, StatisticSpec

TOLERANCE = 1e-9  # relative; the methods promise far less
BUDGET = Budget(1_000_000_000, 100_000_000)
# Darwin's cross- and self-fertilised maize, differences in height in eighths of an inch.
DARWIN = (49, -67, 8, 16, 6, 23, 28, 41, 14, 29, 56, 24, 75, 60, -48)


@dataclass(frozen=True, slots=True)
class Known:
    """Effects whose two-sided p-value is known, and the method that must find it."""

    name: str
    stay: tuple[int, ...]
    method: Method
    p_value: float


KNOWN = (
    # All five differences point one way: two of the 2^5 assignments are as extreme.
    Known("five-wins", (1, 2, 3, 4, 5), "enumeration", 2 / 2**5),
    # The same with 60 items, where the tail is far below what floating-point sums of the law could show.
    Known("sixty-wins", (1,) * 60, "fft", 2.0**-59),
    # Fisher 1935, The Design of Experiments, section 21: 863 of the 2^15 sums are at least 314, so twice as many in size.
    Known("darwin", DARWIN, "dp", 2 * 863 / 2**15),
)


def self_test(job: tuple[Known, ...], body: bytes | bytearray, control: Control) -> list[str]:
    """The names of the tests whose p-value is wrong; runs in a worker."""
    return [known.name for known in job if not _agrees(known)]


def _agrees(known: Known) -> bool:
    data = Effects(np.array(known.stay, dtype=np.int64))
    spec = StatisticSpec("expression", {"expression": "x1"})
    record = run_test(data, spec, Options(method=known.method), BUDGET)
    return math.isclose(record.p_value, known.p_value, rel_tol=TOLERANCE, abs_tol=0.0)
