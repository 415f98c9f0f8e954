"""The pairs of a board as sums with one sign for each swapping unit: what `max_t` looks at together."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...engine.lattice import Integers, exact_total
from ...engine.max_t.family import SignedSums, signed_sums
from ...errors import InvalidTest, relocated
from ...statistics.paired import StatisticSpec, Systems
from ...statistics.problems import Additive
from ...statistics.reducers import reduce
from .binary import BinarySystems
from .integer_systems import IntegerSystems
from .pair_data import common_items, pair_data
from .pairs import Reduced
from .system_scores import pointers, system_sizes

# Right-or-wrong systems whose units are sure to repeat: as many different ones as there are subsets of the systems.
_REPEATING = 20


@dataclass(frozen=True)
class PairSums:
    """The pairs of one board, `pairs` (m, 2) as positions in the systems by code point.

    `once` are the systems as integers, where they lie on one lattice. `turned`: effects count for v and not for u.
    """

    systems: Systems
    spec: StatisticSpec
    pairs: Integers
    once: Reduced | None
    turned: bool = False

    @property
    def size(self) -> tuple[int, int, int]:
        """Tests, swapping units and columns of numbers, for the price."""
        tests, units = len(self.pairs), self._units
        if self._columns is None:
            return tests, units, tests
        systems = len(self.systems.names)
        if isinstance(self.once, BinarySystems) and systems <= _REPEATING:
            units = min(units, 8 << systems)
        return tests, units, systems

    def require_sums(self) -> None:
        """Raise InvalidTest where the first pair is not a sum of integers; the others are alike but for their values."""
        if self._columns is None and len(self.pairs):
            self._effects(*self.pairs[0].tolist())

    @cached_property
    def sums(self) -> SignedSums:
        """The sums of all pairs; raises InvalidTest where one is not a sum of integers."""
        u, v = self.pairs.T
        if self.turned:
            u, v = v, u
        if self._columns is not None:
            return signed_sums(self._columns, u, v)
        base = np.zeros((self._units, len(self.pairs)), dtype=np.int64)
        for k, pair in enumerate(self.pairs.tolist()):
            units, effects = self._effects(*pair)
            base[units, k] = -effects if self.turned else effects
        return signed_sums(base, np.arange(len(self.pairs)), np.full(len(self.pairs), -1))

    @cached_property
    def _columns(self) -> Integers | None:
        """Numbers of each system, shape (units, K), whose differences are the effects of all pairs; None for none."""
        once = self.once
        if once is None or once.there is not None:
            return None
        if isinstance(once, BinarySystems):
            return np.ascontiguousarray(once.right.T).astype(np.int64)
        return np.ascontiguousarray(once.swapping.T) if once.linear else None

    @cached_property
    def _units(self) -> int:
        """How many units swap on the whole board."""
        pairing, systems = self.systems.pairing, self.systems
        if pairing.n_clusters is not None:
            return pairing.n_clusters
        sizes = dict(zip(systems.names, system_sizes(systems), strict=True))
        sizes |= {name: int(own[-1]) + 1 for name, own in systems.present.items() if len(own)}
        return max(sizes.values())

    def _effects(self, u: int, v: int) -> tuple[Integers | slice, Integers]:
        """The units of a pair, and the effect of each as observed."""
        names = self.systems.names
        items = common_items(self.systems, names[u], names[v])
        if isinstance(self.once, IntegerSystems):
            return _all_or(items), self.once.effects(u, v)
        if isinstance(self.once, BinarySystems):
            right = self.once.right[[u, v]].astype(np.int64)
            difference = right[0] - right[1]
            return _all_or(items), difference if items is None else difference[items]
        with relocated(pointers(names[u], names[v])):
            data = pair_data(self.systems, names[u], names[v])
            if data is None:
                return slice(0), np.zeros(0, dtype=np.int64)
            problem = reduce(data, self.spec)
        clusters = self.systems.pairing.clusters
        if items is not None and clusters is not None:
            # As the clusters of a pair are numbered: in the order of their first items.
            items = np.fromiter(dict.fromkeys(clusters[items].tolist()), np.int64)
        return _all_or(items), _symmetric(problem)


def _all_or(items: Integers | None) -> Integers | slice:
    return slice(None) if items is None else items


def _symmetric(problem: object) -> Integers:
    """The effects of a sum that changes its sign when all units swap; raises InvalidTest for anything else."""
    if isinstance(problem, Additive) and problem.rounding is None and not problem.absolute:
        if problem.swap is None:
            return problem.stay
        if exact_total(problem.stay) == -exact_total(problem.swap):
            return problem.stay - problem.swap
    raise InvalidTest.at(
        "/adjust",
        "not_additive",
        "max_t compares sums of differences per item, on one decimal lattice, under common signs: this statistic or "
        "this data has none (F1 and other functions of several sums, scores with more digits than a double holds "
        "exactly). Use holm.",
    )
