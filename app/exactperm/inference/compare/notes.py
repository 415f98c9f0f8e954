"""What single tests have to say, once for a board: each code with one sentence and the pairs that it is about."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ...answers.test import WarningRecord
from .pair_tests import PairTests

_SHOWN = 3


def noted(names: Sequence[str], tests: PairTests) -> tuple[WarningRecord, ...]:
    """The notes of a board's tests, by code in order of first appearance."""
    return about_pairs(names, tests, tests.notes)


def about_pairs(
    names: Sequence[str], tests: PairTests, notes: Iterable[tuple[int, str, str]]
) -> tuple[WarningRecord, ...]:
    """Notes (position of the test, code, sentence), one for each code; the sentence is that of its first test."""
    by_code: dict[str, dict[int, str]] = {}
    for test, code, detail in notes:
        by_code.setdefault(code, {}).setdefault(test, detail)
    return tuple(
        WarningRecord(code, f"{_pairs(names, tests, list(of))}: {next(iter(of.values()))}")
        for code, of in by_code.items()
    )


def _pairs(names: Sequence[str], tests: PairTests, positions: Sequence[int]) -> str:
    """Which pairs, by the names of their systems; the first few of many."""
    shown = [
        " and ".join(
            json.dumps(names[at], ensure_ascii=False) for at in sorted(map(int, (tests.u[i], tests.v[i])))
        )
        for i in positions[:_SHOWN]
    ]
    more = "" if len(positions) <= _SHOWN else f"; and {len(positions) - _SHOWN:,} more pairs"
    return f"{'; '.join(shown)}{more}"
