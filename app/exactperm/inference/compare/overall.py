"""The overall board over several data sets: of all items, or from the one-sided p-values of the sets."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy import special

from ...answers.board import Combine
from ...answers.test import WarningRecord
from ...engine.lattice import EXACT_DOUBLE, Integers, Reals
from ...engine.plan import Budget
from ...engine.probability import SMALLEST
from ...errors import InvalidTest
from ...statistics.columns import joined
from ...statistics.effects import joined_weights
from ...statistics.labels import is_sequence
from ...statistics.paired import Pairing, StatisticSpec, SystemColumn, Systems
from ...statistics.pairwise.data import PAIRWISE
from ...statistics.reducers import mean_score
from ..options import Options
from .macro import macro_pairs
from .pair_tests import Listed, PairTests
from .pairs import GeneralPairs, PairIntervals, PlannedPairs, plan_pairs, reduced, scores_of
from .systems import Comparison, Score

# P-values of data sets combined into one (Fisher 1925; Stouffer et al. 1949)


_LN10 = math.log(10.0)
# The error of functions and sums of logarithms, relative to 1 + |log p|: some thousand roundings.
_MARGIN = 1e-11
# Differences that cancel to less than this part of their sizes count as none.
_NOTHING = 1e-12


@dataclass(frozen=True)
class CombinedPairs:
    """The pairs of an overall board, from the one-sided tests of D data sets.

    `greater` and `less` have the same pairs in the same order, each for one data set.
    """

    method: Combine
    greater: tuple[PlannedPairs, ...]
    less: tuple[PlannedPairs, ...]
    options: Options

    @property
    def seconds(self) -> float:
        """Predicted time of all pairs."""
        return sum(planned.seconds for planned in self._planned)

    @property
    def longest_seconds(self) -> float:
        """The highest predicted cost."""
        return sum(planned.longest_seconds for planned in self._planned)

    @property
    def methods(self) -> tuple[str, ...]:
        """How p-values are combined."""
        return (self.method,)

    @property
    def _planned(self) -> tuple[PlannedPairs, ...]:
        return {"greater": self.greater, "less": self.less}.get(
            self.options.alternative, (*self.greater, *self.less)
        )

    def solve(self, start: int = 0, stop: int | None = None) -> PairTests:
        """The tests of a slice of the pairs; raises InvalidTest and PlanTooLarge."""
        alternative = self.options.alternative
        if alternative != "two-sided":
            by_set = [planned.solve(start, stop) for planned in self._planned]
            return combined(by_set, self.method)
        above = combined([planned.solve(start, stop) for planned in self.greater], self.method)
        below = combined([planned.solve(start, stop) for planned in self.less], self.method)
        return doubled(above, below)


def combined_pairs(
    method: Combine,
    parts: Sequence[Systems],
    spec: StatisticSpec,
    options: Options,
    pairs: Integers,
    budget: Budget,
) -> CombinedPairs:
    """Plan the one-sided tests of data sets with the same systems; raises InvalidTest and PlanTooLarge."""
    above, below = (
        tuple(plan_pairs(part, spec, replace(options, alternative=side), pairs, budget) for part in parts)
        for side in ("greater", "less")
    )
    return CombinedPairs(method, above, below, options)


def combined(tests: Sequence[PairTests], method: Combine) -> PairTests:
    """The combination of the tests of D data sets, which are one-sided and to the same side."""
    first, sampled = tests[0], np.any([of_set.sampled for of_set in tests], axis=0)
    fold = _fisher if method == "fisher" else _stouffer
    log10_p, low, high, attainable = (
        fold(np.array([getattr(of_set, name) for of_set in tests]))
        for name in ("log10_p", "log10_low", "log10_high", "attainable")
    )
    difference = np.array(
        [math.fsum(each) / len(tests) for each in zip(*(of_set.difference for of_set in tests), strict=True)]
    )
    sizes = np.sum([np.abs(of_set.difference) for of_set in tests], axis=0)
    # Where lower is better, the sign is another one than that of the difference.
    turned = np.sign(np.sum([of_set.sign * np.sign(of_set.difference) for of_set in tests], axis=0))
    sign = np.where(np.abs(difference) * len(tests) <= _NOTHING * sizes, 0.0, np.sign(difference) * turned)
    return PairTests(
        u=first.u,
        v=first.v,
        n=_sum(tests, "n"),
        wins=_sum(tests, "wins"),
        ties=_sum(tests, "ties"),
        losses=_sum(tests, "losses"),
        difference=np.where(sign == 0.0, 0.0, difference),
        sign=sign.astype(np.int64),
        **_bounded(log10_p, low, high),
        attainable=np.minimum(attainable, 0.0),
        method=(method,) * len(first),
        exact=np.zeros(len(first), dtype=np.bool_),
        sampled=sampled,
        fraction=Listed((None,) * len(first)),
        notes=tuple(note for of_set in tests for note in of_set.notes),
    )


def doubled(above: PairTests, below: PairTests) -> PairTests:
    """The two-sided tests of `above`, to the greater side, and `below`, to the lesser: twice the smaller one, and its side.

    p is 1 if neither is smaller beyond rounding: no side could be claimed.
    """
    up = above.log10_p < below.log10_p
    none = np.abs(above.log10_p - below.log10_p) <= 2.0 * _MARGIN * (1.0 + np.abs(above.log10_p))
    highs = np.where(up, above.log10_high, below.log10_high)
    lows = np.minimum(above.log10_low, below.log10_low)
    logs = [
        np.where(none, 0.0, each + math.log10(2.0))
        for each in (np.minimum(above.log10_p, below.log10_p), lows, highs)
    ]
    least = np.minimum(np.minimum(above.attainable, below.attainable) + math.log10(2.0), 0.0)
    return replace(
        above,
        sign=np.where(none, 0, np.where(up, 1, -1)),
        **_bounded(*(np.minimum(each, 0.0) for each in logs)),
        attainable=least,
        sampled=(above.sampled | below.sampled) & ~none,
        notes=(*above.notes, *below.notes),
    )


def _sum(tests: Sequence[PairTests], name: str) -> Integers:
    return np.asarray(np.sum([getattr(of_set, name) for of_set in tests], axis=0), dtype=np.int64)


def _fisher(log10_p: Reals) -> Reals:
    """log10 P(chi2 of 2 D degrees >= -2 sum ln p), shape (m,), of logarithms of shape (D, m).

    With x = -sum ln p that is exp(-x) sum_{k < D} x^k / k!.
    """
    sets = len(log10_p)
    x = np.maximum(-log10_p.sum(axis=0) * _LN10, 0.0)
    powers = np.arange(sets)[:, None]
    terms = special.xlogy(powers, x) - special.gammaln(powers + 1.0)
    # An infinite sum of logarithms is p = 0: the lower bound of a sampled test.
    with np.errstate(invalid="ignore"):
        logs = special.logsumexp(terms, axis=0) - x
    return np.asarray(np.where(np.isinf(x), -np.inf, np.minimum(logs / _LN10, 0.0)))


def _stouffer(log10_p: Reals) -> Reals:
    """log10 P(Z >= sum z / sqrt(D)), z the normal quantiles of 1 - p; shapes as in `_fisher`."""
    z = special.ndtri_exp(np.minimum(log10_p * _LN10, 0.0))
    # A p-value of 1 is an infinite z, the strongest possible evidence.
    certain = np.any(np.isposinf(z), axis=0)
    with np.errstate(invalid="ignore"):
        logs = special.log_ndtr(z.sum(axis=0) / math.sqrt(len(z))) / _LN10
    return np.asarray(np.where(certain, 0.0, logs))


def _bounded(log10_p: Reals, low: Reals, high: Reals) -> dict[str, Any]:
    """p-values and bounds, widened by the error of the logarithms."""
    with np.errstate(invalid="ignore"):
        bottom = np.where(np.isneginf(low), -np.inf, low - _MARGIN * (1.0 + np.abs(low)))
    top = np.minimum(high + _MARGIN * (1.0 + np.abs(high)), 0.0)
    middle = np.clip(log10_p, bottom, top)
    with np.errstate(under="ignore"):
        p, least, most = (np.power(10.0, logs) for logs in (middle, bottom, top))
    least = np.where(least > 0.0, np.nextafter(least * (1.0 - _MARGIN), 0.0), 0.0)
    most = np.where(top == 0.0, 1.0, np.minimum(np.nextafter(most * (1.0 + _MARGIN), 1.0), 1.0))
    p = np.clip(np.maximum(p, SMALLEST), least, np.maximum(most, SMALLEST))
    return {
        "p": p,
        "p_low": least,
        "p_high": np.maximum(most, SMALLEST),
        "log10_p": middle,
        "log10_low": bottom,
        "log10_high": top,
    }


# The items of several data sets as one, for micro averages


def only(systems: Systems, names: Sequence[str]) -> Systems:
    """Some of the systems, in the order of `names`."""
    return replace(
        systems,
        columns={name: systems.columns[name] for name in names},
        present={name: systems.present[name] for name in names if name in systems.present},
    )


def joined_systems(parts: Sequence[Systems]) -> Systems:
    """All items of data sets with the same systems, of one kind, end to end.

    Ids and clusters belong to their data set: the same key in two sets is two items, or two clusters. Raises
    InvalidTest at /aggregate for integers that no double holds next to scores that are doubles.
    """
    detail = f"An integer is beyond {EXACT_DOUBLE} in size, and other data sets have decimals: scale the data down."
    refusal = InvalidTest.at("/aggregate", "integer_too_large", detail)
    sizes = [_size(part) for part in parts]
    starts = np.cumsum([0, *sizes])[:-1].tolist()
    names = parts[0].names
    golds = [part.gold for part in parts]
    return Systems(
        parts[0].kind,
        {name: joined([part.columns[name] for part in parts], refusal) for name in names},
        None if golds[0] is None else joined(golds, refusal),
        _pairing(parts, sizes),
        _present(parts, sizes, starts, names),
        joined_weights([(part.weights, size) for part, size in zip(parts, sizes, strict=True)]),
    )


def _size(systems: Systems) -> int:
    """N, at least up to the last item that any system has."""
    if systems.weights is not None:
        return len(systems.weights)
    if systems.gold is not None:
        return len(systems.gold)
    if systems.pairing.clusters is not None:
        return len(systems.pairing.clusters)
    complete = [_length(column) for name, column in systems.columns.items() if name not in systems.present]
    return max(*complete, *(int(items[-1]) + 1 for items in systems.present.values() if len(items)), 0, 0)


def _length(column: SystemColumn) -> int:
    return len(next(iter(column.values()), ()) if isinstance(column, Mapping) else column)


def _pairing(parts: Sequence[Systems], sizes: Sequence[int]) -> Pairing:
    if all(part.pairing.clusters is None for part in parts):
        return Pairing()
    codes, first = [], 0
    for part, size in zip(parts, sizes, strict=True):
        clusters, count = part.pairing.clusters, part.pairing.n_clusters
        if clusters is None or count is None:
            clusters, count = np.arange(size, dtype=np.int64), size
        codes.append(clusters + first)
        first += count
    return Pairing(clusters=np.concatenate(codes), n_clusters=first)


def _present(
    parts: Sequence[Systems], sizes: Sequence[int], starts: Sequence[int], names: Sequence[str]
) -> dict[str, Integers]:
    """Where the systems that lack items have some."""
    present = {}
    for name in names:
        if any(name in part.present for part in parts):
            shifted = [
                part.present.get(name, np.arange(size, dtype=np.int64)) + start
                for part, size, start in zip(parts, sizes, starts, strict=True)
            ]
            present[name] = np.concatenate(shifted)
    return present


_SHOWN = 5
# Statistics without a value per item to average within a data set.
_OF_PAIRS = ("sign", "signed_rank")
# Means of one value per item; `accuracy` of sequences is that of their tokens.
_OF_ITEMS = ("mean_difference", "exact_match", "accuracy")
# Order statistics: means of them are not order statistics.
_ORDERED = ("median_difference", "quantile_difference")


@dataclass(frozen=True, slots=True)
class OverallSystems:
    """The systems that all data sets have.

    Attributes
    ----------
    parts
        Their columns in each data set, in the order of the data sets.
    systems
        The same on all items, end to end.
    scores
        Macro: the mean of a system's scores on the data sets; micro: its score on all items.
    """

    parts: tuple[Systems, ...]
    systems: Systems
    scores: tuple[Score, ...]


def overall_systems(
    comparison: Comparison, scores: Sequence[Sequence[Score]]
) -> tuple[OverallSystems | None, tuple[WarningRecord, ...]]:
    """The data of the overall board, or None; `scores` are the systems' by data set.

    Systems missing from a data set are left out, with a warning. Raises InvalidTest at /aggregate or /combine.
    """
    datasets = tuple(comparison.datasets.values())
    if comparison.aggregate is None or None in comparison.datasets:
        return None, ()
    _require_sense(comparison)
    names = [name for name in datasets[0].names if all(name in systems.columns for systems in datasets)]
    warnings = _left_out(datasets, names)
    if not _pairs_left(comparison, names):
        return None, warnings
    parts = tuple(only(systems, names) for systems in datasets)
    systems = joined_systems(parts)
    if comparison.aggregate == "micro":
        means = scores_of(systems, comparison.spec, reduced(systems, comparison.spec))
    else:
        by_name = [
            dict(zip(part.names, each, strict=True)) for part, each in zip(datasets, scores, strict=True)
        ]
        means = tuple(mean_score([each[name] for each in by_name]) for name in names)
    return OverallSystems(parts, systems, means), warnings


def _require_sense(comparison: Comparison) -> None:
    name, combine = comparison.spec.name, comparison.combine
    if combine is not None and comparison.aggregate == "micro":
        detail = (
            f"{combine} combines the data sets' own p-values, each with the same weight, which goes with the mean over data sets: "
            "set aggregate to macro, or leave combine out."
        )
        raise InvalidTest.at("/combine", "combine_needs_macro", detail)
    if combine is None and comparison.aggregate == "macro" and name in _OF_PAIRS:
        detail = (
            f"{name} has no value per data set to average: set aggregate to micro (all items together), or "
            "to null (no overall board), or combine the data sets' p-values (combine: fisher or stouffer)."
        )
        raise InvalidTest.at("/aggregate", "no_macro", detail)
    if combine is None and comparison.aggregate == "macro" and name in _ORDERED:
        detail = (
            f"The mean over data sets of {name} cannot be tested: set aggregate to micro (all items "
            "together), or to null (no overall board), or combine the data sets' p-values (combine: fisher "
            "or stouffer)."
        )
        raise InvalidTest.at("/aggregate", "no_macro", detail)
    if comparison.aggregate == "micro" and name in PAIRWISE:
        detail = (
            f"{name} compares items with each other, and items of different data sets are not comparable: "
            "set aggregate to macro, or combine the data sets' p-values (combine: fisher or stouffer)."
        )
        raise InvalidTest.at("/aggregate", "no_micro", detail)
    if combine is not None and comparison.adjust in {"holm_discrete", "max_t"}:
        detail = f"{comparison.adjust} needs the null distributions of single tests, which combined p-values do not have: set adjust to holm."
        raise InvalidTest.at("/combine", "combine_and_adjust", detail)


def _pairs_left(comparison: Comparison, names: Sequence[str]) -> bool:
    """Whether the overall board has any pair to compare."""
    if comparison.design == "baseline" and comparison.baseline not in names:
        return False
    if comparison.design == "pairs":
        return any(u in names and v in names for u, v in comparison.pairs)
    return len(names) >= 2


def _left_out(datasets: Sequence[Systems], names: Sequence[str]) -> tuple[WarningRecord, ...]:
    others = sorted({name for systems in datasets for name in systems.names} - set(names))
    if not others:
        return ()
    shown = ", ".join(json.dumps(name, ensure_ascii=False) for name in others[:_SHOWN])
    more = f" and {len(others) - _SHOWN:,} more" if len(others) > _SHOWN else ""
    detail = f"The overall board is of the {len(names):,} systems that all {len(datasets):,} data sets have, without {shown}{more}."
    if len(names) < 2:
        detail = (
            f"There is no overall board: it needs at least two systems that all {len(datasets):,} data sets "
            f"have; there {'is one' if names else 'is none'}. Write the systems' names the same way in all "
            "data sets."
        )
    return (WarningRecord("not_in_all_datasets", detail),)


def overall_comparison(comparison: Comparison, names: Sequence[str]) -> Comparison:
    """The comparison of an overall board: without the pairs of systems that it lacks."""
    if comparison.design != "pairs":
        return comparison
    return replace(comparison, pairs=tuple((u, v) for u, v in comparison.pairs if u in names and v in names))


def _items_count_alike(parts: Sequence[Systems], spec: StatisticSpec) -> bool:
    """Whether the mean over data sets is the mean over all items: means of items, of as many in every data set."""
    if spec.parameters.get("average") == "runs":
        return False
    if spec.name not in _OF_ITEMS or any(part.present or part.weights is not None for part in parts):
        return False
    columns = [next(iter(part.columns.values())) for part in parts]
    if len({len(column) for column in columns}) != 1:
        return False
    return spec.name != "accuracy" or not any(is_sequence(item) for part in parts for item in part.gold or ())


def plan_overall(
    overall: OverallSystems, comparison: Comparison, pairs: Integers, budget: Budget
) -> tuple[PlannedPairs, PairIntervals | None]:
    """The planned tests and intervals of `pairs`, shape (m, 2): positions in the names of the overall systems.

    Raises InvalidTest and PlanTooLarge.
    """
    spec, options, systems = comparison.spec, comparison.options, overall.systems
    wanted = options.confidence_level is not None and comparison.listed != "none"
    nulls = comparison.adjust == "holm_discrete"
    everything = GeneralPairs(systems, spec, options, pairs, budget)
    if comparison.aggregate == "micro":
        planned = plan_pairs(systems, spec, options, pairs, budget, with_nulls=nulls)
        return planned, PairIntervals(everything) if wanted else None
    if comparison.combine is not None:
        # An interval would belong to another test, that of the mean.
        return combined_pairs(comparison.combine, overall.parts, spec, options, pairs, budget), None
    means = replace(everything, sets=overall.parts, with_nulls=nulls)
    intervals = PairIntervals(means) if wanted else None
    if _items_count_alike(overall.parts, spec):
        return plan_pairs(systems, spec, options, pairs, budget, with_nulls=nulls), intervals
    if options.exchange != "items":
        detail = "The mean over data sets has no test that exchanges runs: set aggregate to micro (all items together), or to null."
        raise InvalidTest.at("/aggregate", "no_macro", detail)
    return macro_pairs(means), intervals
