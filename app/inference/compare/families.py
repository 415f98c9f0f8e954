"""The tests of several boards as one family."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import accumulate
from typing import Any, TypeVar

import numpy as np

from .pair_tests import PairTests

_T = TypeVar("_T")


def joined(boards: Sequence[PairTests]) -> PairTests:
    """All tests of the boards, one after the other; `u` and `v` remain positions in their own boards."""
    if len(boards) == 1:
        return boards[0]
    starts = [0, *accumulate(len(board) for board in boards)]

    def of(functions: Sequence[Callable[..., _T]]) -> Callable[..., _T]:
        def call(i: int, *rest: object) -> _T:
            board = bisect_right(starts, i) - 1
            return functions[board](i - starts[board], *rest)

        return call

    def of_all(functions: Sequence[Callable[..., _T] | None]) -> Callable[..., _T] | None:
        given = [function for function in functions if function is not None]
        return of(given) if len(given) == len(boards) else None

    columns: dict[str, Any] = {
        name: np.concatenate([getattr(board, name) for board in boards]) for name in _COLUMNS
    }
    return PairTests(
        **columns,
        method=tuple(name for board in boards for name in board.method),
        fraction=of([board.fraction for board in boards]),
        attained=of_all([board.attained for board in boards]),
        null_key=of_all([board.null_key for board in boards]),
        support=of_all([board.support for board in boards]),
    )


_COLUMNS = (
    "u", "v", "n", "wins", "ties", "losses", "difference", "sign", "p", "p_low", "p_high",
    "log10_p", "log10_low", "log10_high", "attainable", "exact", "sampled",
)  # fmt: skip
