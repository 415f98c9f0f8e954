"""Which pairs of systems are tested, and the quickest way to do it."""

from __future__ import annotations

from typing import Protocol

from ...engine.lattice import Integers
from ...engine.plan import Budget
from ...errors import InvalidTest
from ...statistics.paired import StatisticSpec, Systems
from ..options import Options
from .binary import BinaryPairs, BinarySystems, binary_systems
from .general import GeneralPairs
from .integer_pairs import IntegerPairs
from .integer_systems import IntegerSystems, integer_systems
from .pair_tests import PairTests
from .system_scores import Score, system_scores

__all__ = ["PlannedPairs", "Reduced", "plan_pairs", "reduced"]

Reduced = BinarySystems | IntegerSystems


class PlannedPairs(Protocol):
    """The tests of pairs that were planned and have not run; picklable."""

    @property
    def seconds(self) -> float:
        """Predicted time of all of them."""
        ...

    @property
    def longest_seconds(self) -> float:
        """What they take at the most, infinite where that is not known."""
        ...

    @property
    def methods(self) -> tuple[str, ...]:
        """The methods that will run; where pairs are planned one by one, those of some of them."""
        ...

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of the pairs from `start` to `stop`; parts are put together by `columns.concatenated`."""
        ...


def reduced(systems: Systems, spec: StatisticSpec) -> Reduced | None:
    """The systems as what all their pairs can be tested from at once; None where each pair has its own test."""
    binary = binary_systems(systems, spec)
    return integer_systems(systems, spec) if binary is None else binary


def scores_of(systems: Systems, spec: StatisticSpec, once: Reduced | None) -> tuple[Score, ...]:
    """The score of each system, see `system_scores`; `once` are the same systems, `reduced`."""
    return system_scores(systems, spec) if once is None else once.scores


def plan_pairs(
    systems: Systems,
    spec: StatisticSpec,
    options: Options,
    pairs: Integers,
    budget: Budget,
    once: Reduced | None = None,
    *,
    with_nulls: bool = False,
) -> PlannedPairs:
    """Plan the tests of `pairs`, shape (m, 2): positions (u, v) in the systems' names.

    `once` are the systems as `reduced` gives them, if that is known; `with_nulls` asks for exact null
    distributions (`PairTests.attained`) where they can be had. Raises InvalidTest and PlanTooLarge.
    """
    if options.test != "permutation":
        raise InvalidTest.at("/test", "not_a_permutation", "Systems are compared by permutation tests only.")
    once = reduced(systems, spec) if once is None else once
    # A method that is asked for by name is run.
    if isinstance(once, BinarySystems) and options.method == "auto":
        return BinaryPairs(once, options, pairs)
    general = GeneralPairs(systems, spec, options, pairs, budget)
    if isinstance(once, IntegerSystems) and options.method == "auto" and not options.exact_fraction:
        return IntegerPairs(once, general, with_nulls)
    return general
