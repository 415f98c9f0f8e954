"""Systems for tests, and the p-values of their pairs from all 2**n exchanges, in fractions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np

from exactperm.engine.plan import Budget
from exactperm.inference.compare.pair_data import common_items
from exactperm.inference.compare.pair_tests import PairTests
from exactperm.inference.compare.pairs import plan_pairs
from exactperm.inference.options import Options
from exactperm.statistics.paired import Pairing, StatisticSpec
from exactperm.statistics.systems import Systems

Rows = list[Fraction]
# t of two systems' item scores.
OfPair = Callable[[Rows, Rows], Fraction]


def systems_of(
    columns: Sequence[Any], clusters: Sequence[int] | None = None, missing: float = 0.0, seed: int = 0
) -> Systems:
    """Systems s0, s1, ... with scores; of each but the last one a share of items is missing."""
    pairing = Pairing()
    if clusters is not None:
        pairing = Pairing(np.array(clusters, dtype=np.int64), len(set(clusters)))
    named, present = {}, {}
    for at, column in enumerate(columns):
        name, values = f"s{at}", np.array(column)
        values = values.astype(np.int64 if values.dtype.kind in "biu" else np.float64)
        own = np.flatnonzero(np.random.default_rng((seed, at)).random(len(values)) >= missing)
        if missing and at + 1 < len(columns) and len(own):
            present[name], values = own.astype(np.int64), values[own]
        named[name] = values
    return Systems("scores", named, pairing=pairing, present=present)


def pairs_of(systems: Systems) -> Any:
    """Every pair in both orders."""
    k = len(systems.names)
    return np.array([(u, v) for u in range(k) for v in range(k) if u != v], dtype=np.int64)


def every_pair(
    systems: Systems, statistic: str | StatisticSpec = "mean_difference", **options: Any
) -> PairTests:
    """The tests of every pair, by the way that is planned."""
    spec = StatisticSpec(statistic) if isinstance(statistic, str) else statistic
    return plan_pairs(systems, spec, Options(**options), pairs_of(systems), Budget()).solve()


def mean_difference(u: Rows, v: Rows) -> Fraction:
    return sum(u, Fraction(0)) / len(u) - sum(v, Fraction(0)) / len(v)


def sum_difference(u: Rows, v: Rows) -> Fraction:
    return sum(u, Fraction(0)) - sum(v, Fraction(0))


def sign(u: Rows, v: Rows) -> Fraction:
    return Fraction(sum((a > b) - (a < b) for a, b in zip(u, v, strict=True)))


def signed_rank(u: Rows, v: Rows) -> Fraction:
    """W+ - W- with midranks, zeros left out."""
    differences = [a - b for a, b in zip(u, v, strict=True) if a != b]
    sizes = sorted(map(abs, differences))
    total = Fraction(0)
    for d in differences:
        first, last = sizes.index(abs(d)) + 1, len(sizes) - sizes[::-1].index(abs(d))
        total += Fraction(first + last, 2) * (1 if d > 0 else -1)
    return total


STATISTICS: dict[str, OfPair] = {
    "mean_difference": mean_difference,
    "sum_difference": sum_difference,
    "sign": sign,
    "signed_rank": signed_rank,
}


class Exchanged:
    """All 2**n exchanges of the clusters of one pair: t as observed, and of every exchange."""

    def __init__(self, systems: Systems, statistic: OfPair, u: int, v: int) -> None:
        names = systems.names
        items = common_items(systems, names[u], names[v])
        n = len(systems.columns[names[u]]) if items is None else len(items)
        kept = list(range(n)) if items is None else items.tolist()
        one, other = (self._rows(systems, name, kept) for name in (names[u], names[v]))
        clusters = systems.pairing.clusters
        codes = list(range(n)) if clusters is None else [int(clusters[item]) for item in kept]
        distinct = sorted(set(codes))
        self.n, self.observed, self.all = n, statistic(one, other), []
        for exchange in product((False, True), repeat=len(distinct)):
            swap = dict(zip(distinct, exchange, strict=True))
            pairs = [(b, a) if swap[c] else (a, b) for a, b, c in zip(one, other, codes, strict=True)]
            self.all.append(statistic([a for a, _ in pairs], [b for _, b in pairs]))

    @staticmethod
    def _rows(systems: Systems, name: str, kept: list[int]) -> Rows:
        column: Any = systems.columns[name]
        own = systems.present.get(name)
        places = {int(item): at for at, item in enumerate(range(len(column)) if own is None else own)}
        return [Fraction(repr(column[places[item]].item())) for item in kept]

    def p(
        self, alternative: str, *, higher_is_better: bool = True, observed: Fraction | None = None
    ) -> Fraction:
        """The p-value of this alternative, `greater` that u is better; as if t had been `observed`."""
        turn = 1 if higher_is_better else -1
        at = turn * (self.observed if observed is None else observed)
        values = [turn * t for t in self.all]
        if alternative == "two-sided":
            extreme = sum(abs(t) >= abs(at) for t in values)
        else:
            extreme = sum(t >= at if alternative == "greater" else t <= at for t in values)
        return Fraction(extreme, len(values))

    def attainable(self, alternative: str, *, higher_is_better: bool = True) -> list[Fraction]:
        """All p-values that an outcome may have, ascending."""
        found = {self.p(alternative, higher_is_better=higher_is_better, observed=t) for t in set(self.all)}
        return sorted(found)
