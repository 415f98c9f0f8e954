"""Systems whose scores lie on one common lattice: pairs are differences of integer columns, without reading data again.

P-values that are not small come at once for many pairs (`engine.one_sum.many`). Every other pair goes straight to its
canonical form, and from there to `rational` where that is cheap and to `fft`. What these cannot prove is tested as single
tests are.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...engine import methods
from ...engine.lattice import (
    EXACT_DOUBLE,
    CanonicalForm,
    Integers,
    canonical_form,
    decimal_lattice,
    exact_total,
    sum_by_cluster,
)
from ...engine.one_sum import rational
from ...engine.one_sum.attainable import smallest_attainable
from ...engine.one_sum.planner import fft_cost
from ...engine.probability import LN2, LN10, SMALLEST, Probability, region
from ...statistics.additive_problem import is_integral, single_items
from ...statistics.numbers import MAX_INTEGER
from ...statistics.paired import Column, StatisticSpec
from ...statistics.scores import signed_ranks
from ...statistics.systems import Systems
from ..certificate import flaw_of, require
from ..options import Alternative
from ..p_value import certified
from .at_once import at_once
from .binomial_tests import binomial_seconds, binomial_tests
from .columns import PairTest, from_rows, log10_bounds
from .general import GeneralPairs, single
from .pair_tests import PairTests
from .sum_values import null_of

_STATISTICS = ("mean_difference", "sum_difference", "sign", "signed_rank")
# Coefficients times limbs up to which the exact fraction costs no more than the transform.
_QUICK_FRACTION = 400
# The same where every null distribution is asked for, and a coefficient's seconds for each limb.
_ANY_FRACTION, _PER_LIMB = 200_000, 6e-7
# Pairs at a time. Whatever part of a board is asked for, the same ones go together.
_BLOCK = 256
# Seconds: for each pair, and each of its items.
_PER_PAIR, _PER_ITEM = 2.5e-4, 2e-8
_SAMPLED_PAIRS = 5


@dataclass(frozen=True)
class IntegerSystems:
    """K systems with scores unit * integers on N items.

    Attributes
    ----------
    values
        Shape (K, N), 0 where a system has no value; `there` says where it has, None for everywhere.
    unit
        What the integers count.
    clusters, n_clusters
        The code of each item, shape (N,), where items swap together.
    """

    spec: StatisticSpec
    values: Integers
    there: NDArray[np.bool_] | None
    unit: Fraction
    clusters: Integers | None
    n_clusters: int | None

    @cached_property
    def scores(self) -> tuple[Fraction, ...]:
        """The mean of each system, or the sum."""
        totals = self.values.sum(axis=1).tolist()
        if self.spec.name == "sum_difference":
            return tuple(total * self.unit for total in totals)
        return tuple(total * self.unit / n for total, n in zip(totals, self.sizes.tolist(), strict=True))

    @cached_property
    def sizes(self) -> Integers:
        """How many items each system has, shape (K,)."""
        if self.there is None:
            return np.full(len(self.values), self.values.shape[1], dtype=np.int64)
        return np.asarray(self.there.sum(axis=1), dtype=np.int64)

    @cached_property
    def _swapping(self) -> Integers:
        """What differences are taken of, shape (K, M): for means and sums clusters are added up before."""
        if self.clusters is None or self.n_clusters is None or not self.linear:
            return self.values
        return np.ascontiguousarray(sum_by_cluster(self.values.T, self.clusters, self.n_clusters).T)

    @property
    def linear(self) -> bool:
        """Whether the statistic is a difference of means or sums."""
        return self.spec.name in {"mean_difference", "sum_difference"}

    def items(self, u: int, v: int) -> int:
        """How many items both have."""
        return self.values.shape[1] if self.there is None else int((self.there[u] & self.there[v]).sum())

    def effects(self, u: int, v: int) -> Integers:
        """The effect of each unit with the systems as observed, shape (M,)."""
        difference: Integers = self._swapping[u] - self._swapping[v]
        if self.there is not None:
            difference = difference[self.there[u] & self.there[v]]
        if self.linear:
            return difference
        if self.spec.name == "sign":
            effects = np.asarray(np.sign(difference), dtype=np.int64)
        else:
            effects, _ = signed_ranks(difference, str(self.spec.parameters.get("zero_method") or "wilcox"))
        if self.clusters is None or self.n_clusters is None:
            return effects
        return sum_by_cluster(effects, self.clusters, self.n_clusters)

    def step(self, items: int) -> Fraction:
        """What one unit of an effect adds to the statistic of a pair with so many items."""
        if self.spec.name == "sign":
            return Fraction(1)
        if self.spec.name == "signed_rank":
            return Fraction(1, 2)
        return self.unit / items if self.spec.name == "mean_difference" else self.unit


@dataclass(frozen=True)
class IntegerPairs:
    """The tests of `general.pairs`, by their differences; by `general` where these prove nothing.

    `with_nulls` asks for the exact null distribution of every pair, as far as a lattice is not too long.
    """

    systems: IntegerSystems
    general: GeneralPairs
    with_nulls: bool = False

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs, from the forms of some."""
        pairs, items = len(self.general.pairs), int(self.systems.values.shape[1])
        if self._signs:
            return binomial_seconds(pairs, items) + pairs * (_PER_ITEM * items + 2e-5)
        return pairs * (_PER_PAIR + _PER_ITEM * items + sum(self._sampled))

    @property
    def longest_seconds(self) -> float:
        """A bound on it, but for pairs whose answers are not proven and go to `general`."""
        return 3.0 * self.seconds

    @property
    def methods(self) -> tuple[str, ...]:
        """One for all pairs of sign tests; otherwise the methods of some pairs."""
        if self._signs:
            return ("binomial",)
        alternative = single(self.general.options).alternative
        effects = [self.systems.effects(u, v) for u, v in self._some]
        known: Sequence[Probability | None] = [None] * len(effects)
        if alternative == "two-sided":
            known = at_once(effects, self._fractions)
        return tuple(sorted({self._method(*pair, alternative) for pair in zip(effects, known, strict=True)}))

    def _method(self, effects: Integers, known: Probability | None, alternative: Alternative) -> str:
        if known is not None:
            return "fft"
        form = canonical_form(effects)
        tail = region(form, exact_total(effects), alternative)
        few = rational.coefficients(form, tail) * (form.nonzero // 64 + 1) <= self._fractions
        return "rational" if few else "fft"

    @cached_property
    def _sampled(self) -> tuple[float, ...]:
        each = [self.systems.effects(u, v) for u, v in self._some]
        if self.with_nulls:
            forms = [canonical_form(one) for one in each]
            limbs = [form.range // 2 * (form.nonzero // 64 + 1) for form in forms]
            return (sum(min(work, _ANY_FRACTION) * _PER_LIMB for work in limbs) / max(len(each), 1),)
        known = at_once(each, _QUICK_FRACTION)
        left = (canonical_form(one) for one, answer in zip(each, known, strict=True) if answer is None)
        alone = [fft_cost(form).seconds for form in left if form.nonzero]
        return (sum(alone) / max(len(each), 1),)

    @property
    def _some(self) -> list[tuple[int, int]]:
        """Some pairs from all over the board."""
        pairs = self.general.pairs
        some = np.unique(np.linspace(0, len(pairs) - 1, min(len(pairs), _SAMPLED_PAIRS)).astype(int))
        return [(u, v) for u, v in pairs[some].tolist()]

    @property
    def _signs(self) -> bool:
        """Whether these are sign tests of single items, which are binomial."""
        return self.systems.spec.name == "sign" and self.systems.clusters is None

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        pairs = self.general.pairs[start:stop]
        if self._signs:
            return self._sign_tests(pairs)
        first, last = start, start + len(pairs)
        blocks = range(first - first % _BLOCK, last, _BLOCK)
        rows = [row for block in blocks for row in self._rows(block, first, last)]
        return from_rows(rows, two_sided=self.general.options.alternative == "two-sided")

    def _rows(self, block: int, first: int, last: int) -> list[PairTest]:
        """The tests from `first` to `last` of the pairs of a block: large p-values at once, the others one by one."""
        pairs = [(u, v) for u, v in self.general.pairs[block : block + _BLOCK].tolist()]
        effects = [self.systems.effects(u, v) for u, v in pairs]
        known: Sequence[Probability | None] = [None] * len(pairs)
        if self.general.options.alternative == "two-sided":
            known = at_once(effects, self._fractions)
        asked = range(max(first - block, 0), min(last - block, len(pairs)))
        return [self._row(*pairs[at], effects[at], known[at]) for at in asked]

    @property
    def _fractions(self) -> int:
        """Coefficients times limbs up to which a fraction is computed."""
        return _ANY_FRACTION if self.with_nulls else _QUICK_FRACTION

    def _keeps(self, form: CanonicalForm) -> bool:
        """Whether all attainable p-values can be listed."""
        return self.with_nulls and form.range // 2 * (form.nonzero // 64 + 1) <= _ANY_FRACTION

    def _sign_tests(self, pairs: Integers) -> PairTests:
        counts = np.zeros((len(pairs), 3), dtype=np.int64)
        for at, (u, v) in enumerate(pairs.tolist()):
            signs = self.systems.effects(u, v)
            counts[at] = np.count_nonzero(signs > 0), np.count_nonzero(signs < 0), len(signs)
        more, less, n = counts.T
        difference = (more - less).astype(np.float64)
        return binomial_tests(
            (pairs[:, 0], pairs[:, 1]),
            n,
            n,
            (more, less),
            difference,
            self.general.options,
            len(self.general.pairs),
        )

    def _row(self, u: int, v: int, effects: Integers, known: Probability | None) -> PairTest:
        systems, options = self.systems, single(self.general.options)
        items = systems.items(u, v)
        form, observed = canonical_form(effects), exact_total(effects)
        method = "fft"
        if known is None:
            tail = region(form, observed, options.alternative)
            limbs = form.nonzero // 64 + 1
            if rational.coefficients(form, tail) * limbs <= self._fractions:
                method = "rational"
            known = methods.exactly(method, form, tail)
        answer = certified(known)
        if items == 0 or flaw_of(answer, exact=True, least_log10=-form.nonzero * LN2 / LN10) is not None:
            return self.general.row(u, v)
        attainable = smallest_attainable(form, options.alternative, absolute=False)
        require(answer, exact=True, attainable=attainable)
        lower = self.general.options.higher_is_better is False
        more, less = int(np.count_nonzero(effects > 0)), int(np.count_nonzero(effects < 0))
        sign = (observed > 0) - (observed < 0)
        low, high = log10_bounds(answer)
        return PairTest(
            u=u,
            v=v,
            n=items,
            wins=less if lower else more,
            ties=len(effects) - more - less,
            losses=more if lower else less,
            difference=float(observed * systems.step(items)),
            sign=-sign if lower else sign,
            p=answer.p_value,
            p_low=answer.bounds[0],
            p_high=answer.bounds[1],
            log10_p=answer.log10_p_value,
            log10_low=low,
            log10_high=high,
            attainable=_log10(attainable, form, two_sided=options.alternative == "two-sided"),
            method=method,
            exact=True,
            sampled=False,
            fraction=answer.fraction,
            null=null_of(form) if self._keeps(form) else None,
        )


def _log10(attainable: float, form: CanonicalForm, *, two_sided: bool) -> float:
    """log10 of the least attainable p-value, also where it underflows."""
    if attainable > SMALLEST:
        return math.log10(attainable)
    return (int(two_sided) - form.nonzero) * (LN2 / LN10)


def integer_systems(systems: Systems, spec: StatisticSpec) -> IntegerSystems | None:
    """The systems on one lattice; None where they are not scores, or where no 64-bit lattice holds all of them."""
    pairing = systems.pairing
    if systems.kind != "scores" or spec.name not in _STATISTICS or spec.parameters.get("unit") is not None:
        return None
    columns = list(systems.columns.values())
    if not all(isinstance(column, np.ndarray) and len(column) for column in columns):
        return None
    clusters = None if single_items(pairing) else pairing.clusters
    if clusters is not None and systems.present:
        return None  # whom a cluster consists of differs from pair to pair
    lattice = _common_lattice(cast("list[Column]", columns))
    size = _size(systems)
    if lattice is None or size is None:
        return None
    unit, whole = lattice
    values, there = np.zeros((len(columns), size), dtype=np.int64), None
    if systems.present:
        there = np.zeros((len(columns), size), dtype=np.bool_)
    for at, (name, column) in enumerate(zip(systems.names, whole, strict=True)):
        where = systems.present.get(name, slice(None))
        values[at, where] = column
        if there is not None:
            there[at, where] = True
    return IntegerSystems(
        spec, values, there, unit, clusters, pairing.n_clusters if clusters is not None else None
    )


def _size(systems: Systems) -> int | None:
    """N; None if the columns do not agree on it."""
    complete = {len(column) for name, column in systems.columns.items() if name not in systems.present}
    if systems.pairing.clusters is not None:
        complete.add(len(systems.pairing.clusters))
    if len(complete) > 1:
        return None
    return max([*complete, *(int(own[-1]) + 1 for own in systems.present.values())])


def _common_lattice(columns: Sequence[Column]) -> tuple[Fraction, Sequence[Integers]] | None:
    """(unit, integers) of all columns; None where they are no decimals together, or too large to be added.

    Scores with more digits are read as doubles where they are compared with others like them, pair by pair.
    """
    if is_integral(*columns):
        unit, whole = Fraction(1), tuple(column.astype(np.int64, copy=False) for column in columns)
    else:
        integral = (column for column in columns if column.dtype == np.int64)
        if any(_largest(column) > EXACT_DOUBLE for column in integral):
            return None
        plain = decimal_lattice(*(column.astype(np.float64) for column in columns))
        if plain is None:
            return None
        unit, whole = plain
    room = sum(_largest(column) * len(column) for column in whole)
    return (unit, whole) if room < MAX_INTEGER else None


def _largest(column: Column) -> int:
    return int(max(abs(int(column.max(initial=0))), abs(int(column.min(initial=0)))))
