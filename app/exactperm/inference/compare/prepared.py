"""A comparison that was validated and planned: what it will do and cost, and where its errors point to."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from ...answers.test import ReadingRecord, WarningRecord
from ...engine.lattice import Integers
from ...errors import pointer_token, relocated
from ...statistics.paired import Systems
from .adjustment import FEW
from .comparison import Comparison
from .max_t import PlannedMaxT
from .pair_intervals import PairIntervals
from .pair_tests import PairTests
from .pairs import PlannedPairs
from .signed_sums import PairSums
from .system_scores import Score, system_sizes

_OF_DATA = ("/systems", "/gold", "/clusters", "/ids", "/scores", "/weights")
# What any board takes, however small: its tests' arrays, groups and record. A thousand small data sets are mostly this.
_SECONDS_PER_BOARD = 8e-4
# Adjustment, groups and records of one test, and more where its family is adjusted as fractions; and one attainable p-value,
# where these are listed.
_SECONDS_PER_TEST, _SECONDS_PER_FRACTION, _SECONDS_PER_VALUE = 6e-6, 8e-6, 2.5e-6


@dataclass(frozen=True, slots=True)
class PreparedBoard:
    """The systems of one data set, `name` (None for the only one), and the planned tests of their pairs.

    `pairs`, shape (m, 2), are positions in `systems.names`. `intervals` is there when a confidence level was given, `sums`
    for max_t. The `overall` board has no name either, and is of the items of all data sets.
    """

    name: str | None
    systems: Systems
    scores: tuple[Score, ...]
    pairs: Integers
    planned: PlannedPairs
    intervals: PairIntervals | None
    warnings: tuple[WarningRecord, ...] = ()
    overall: bool = False
    sums: PairSums | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """The systems, by code point."""
        return self.systems.names

    @property
    def tests(self) -> int:
        """How many."""
        return len(self.pairs)

    @property
    def seconds(self) -> float:
        """Predicted time of the tests and the intervals."""
        return self.planned.seconds + (0.0 if self.intervals is None else self.intervals.seconds)

    @property
    def longest_seconds(self) -> float:
        """What these take at the most."""
        return self.planned.longest_seconds + (0.0 if self.intervals is None else self.intervals.seconds)

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of the pairs from `start` to `stop`; raises what they raise, with pointers into the request."""
        with relocated(of_overall if self.overall else partial(inside, prefix_of(self.name))):
            return self.planned.solve(start, stop)


@dataclass(frozen=True, slots=True)
class PreparedCompare:
    """A comparison that was validated and planned, and has not run; `max_t` its families, where these are adjusted so.

    `reading` is how files were read, for the record.
    """

    comparison: Comparison
    boards: tuple[PreparedBoard, ...]
    warnings: tuple[WarningRecord, ...] = ()
    max_t: tuple[PlannedMaxT, ...] = ()
    reading: ReadingRecord | None = None

    @property
    def tests(self) -> int:
        """How many tests there are on all boards."""
        return sum(board.tests for board in self.boards)

    @property
    def seconds(self) -> float:
        """Predicted engine time of the whole answer."""
        return sum(board.seconds for board in self.boards) + self._adjusting

    @property
    def longest_seconds(self) -> float:
        """What it takes at the most, infinite where that is not known."""
        return sum(board.longest_seconds for board in self.boards) + self._adjusting

    @property
    def _adjusting(self) -> float:
        """Adjustment, groups and records."""
        listed = 0.0
        sizes = [board.tests for board in self.boards]
        families = [sum(sizes)] if self.comparison.family == "all" else sizes
        as_fractions = sum(tests for tests in families if tests <= FEW)
        if self.comparison.adjust == "holm_discrete":
            for board in self.boards:
                items = max(system_sizes(board.systems), default=0)
                # Pairs that differ on as many items have the same; about half of half the items.
                listed += min(board.tests, items) * items / 4.0
        return (
            _SECONDS_PER_BOARD * len(sizes)
            + _SECONDS_PER_TEST * sum(sizes)
            + _SECONDS_PER_FRACTION * as_fractions
            + _SECONDS_PER_VALUE * listed
            + sum(family.seconds for family in self.max_t)
        )


def prefix_of(name: str | None) -> str:
    """The pointer of a data set; "" for the only one."""
    return "" if name is None else f"/datasets/{pointer_token(name)}"


def of_overall(pointer: str) -> str:
    """The data of an overall board is that of all data sets: what is wrong with it is that it is put together."""
    return "/aggregate" if pointer.startswith(_OF_DATA) else pointer


def inside(prefix: str, pointer: str) -> str:
    """Pointers to data are into their data set, others to the request."""
    return prefix + pointer if pointer.startswith(_OF_DATA) else pointer
