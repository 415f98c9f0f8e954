"""Differences of means or pass rates when the runs of an item are reassigned between the systems.

Under the null, an item's n_i runs of U and m_i runs of V are independent draws of one law. All C(n_i + m_i, n_i)
ways to assign them are equally likely, independently between items (Mantel & Haenszel 1959; van Elteren 1960). With
one run each this is the paired test, with one item the two-sample permutation test.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from ..engine.finite_laws.form import (
    CoarseLaws,
    FiniteLaws,
    coarse_laws,
    grouped_laws,
    relabelled,
    right_or_wrong,
    steps_to_list,
)
from ..engine.finite_laws.methods import steps_wanted
from ..engine.lattice import Integers, LatticeOverflowError, Whole, exact_total, sum_by_cluster
from ..errors import Choice, InvalidTest, marked
from .columns import OF_RUNS, RIGHT, k_of, multiples, pass_rates, samples_of, unequal_runs, unit_of
from .effects import (
    MAX_INTEGER,
    on_lattice,
    reduced_weights,
    require_items,
    require_same_length,
    require_unweighted,
)
from .paired import Paired, Scores, StatisticSpec, kind_of, lengths_of, samples_in

WITHOUT_RUNS = (Choice("exchange items, the means of their runs", {"exchange": "items"}),)
ROUNDED = (Choice("round the scores to 2 decimals", {"decimals": "2"}),)
# Of the bracket that rounded laws are for.
_PRECISION = 1e-3
# Elementary steps of listing all laws: about two seconds.
_MOST_STEPS = 30_000_000
# The same of runs that are rounded for it, and the fewest sums of a unit that rounding leaves.
_STEPS_ROUNDED, _FEWEST_SUMS = 5_000_000, 1024
# Squares of longer differences, summed, are no doubles.
_MOST_BITS = 500


@dataclass(frozen=True, slots=True)
class Runs:
    """t = unit * S, S the sum of independent finite laws, one for each unit whose runs are reassigned together.

    `ahead`, shape (M,), is the sign of U's mean minus V's in each unit. `score_u` and `score_v` are the means, sums or
    pass rates of the systems, `samples` their total numbers of runs. `coarse` are laws that were rounded since
    no 64-bit lattice holds their sum: `form` is theirs.
    """

    name: str
    form: FiniteLaws
    observed: int
    unit: Fraction
    items: int
    clusters: int | None
    ahead: Integers
    score_u: Fraction | None
    score_v: Fraction | None
    samples: tuple[int, int] | None
    coarse: CoarseLaws | None = None


@dataclass(frozen=True, slots=True)
class _Side:
    """The concatenated integer runs of one system, the number of runs of each unit, and the weight of a run by unit."""

    values: Whole
    lengths: Integers
    factors: Whole

    def sums(self) -> Whole:
        """Sum the runs of each unit, shape (M,)."""
        return np.asarray(np.add.reduceat(self.values, np.cumsum(self.lengths) - self.lengths))

    def totals(self) -> Whole:
        """Return factor * sum of the runs of each unit, shape (M,)."""
        return np.asarray(self.sums() * self.factors)


def require_exchange(kind: str, name: str) -> None:
    """Refuse a statistic without a test that exchanges runs; raises InvalidTest."""
    if kind != "scores" or name not in OF_RUNS:
        detail = f"{name} has no test that exchanges runs: use mean_difference or sum_difference, or leave exchange out."
        raise InvalidTest.at("/exchange", "exchange_needs_means", detail, WITHOUT_RUNS)


def require_runs(data: Paired, name: str) -> Scores:
    """Return the data if its runs can be exchanged; raises InvalidTest."""
    require_exchange(kind_of(data), name)
    assert isinstance(data, Scores)
    if data.correction is not None:
        detail = "Labels and covariates correct a test that exchanges items: leave them or exchange out."
        raise InvalidTest.at("/exchange", "correction_needs_items", detail, WITHOUT_RUNS)
    return data


def by_runs(data: Scores, spec: StatisticSpec) -> Scores:
    """For `average` runs, weight each item by its number of runs; raises InvalidTest for weights or pass rates."""
    if spec.parameters.get("average") != "runs":
        return data
    if data.weights is not None:
        require_unweighted("average: runs")
    if spec.parameters.get("repeats") in {"any", "all"}:
        detail = (
            f"With {marked('repeats', spec.parameters['repeats'])} an item has one result: leave average out."
        )
        raise InvalidTest.at("/statistic/average", "average_needs_means", detail)
    return replace(data, weights=reduced_weights(Fraction(1), lengths_of(data.u)))


def reduce_runs(data: Scores, spec: StatisticSpec, margin: Fraction = Fraction(0)) -> Runs:
    """Reduce a difference of means, sums or pass rates to the test that exchanges runs; raises InvalidTest.

    A `margin` is first subtracted from the statistic, by an equal shift of every run of U.
    """
    require_items(len(data.u), "/u")
    require_same_length(len(data.u), len(data.v), "/v", ("u", "v"))
    require_runs(data, spec.name)
    if margin and _right_or_wrong(data):
        detail = "Runs that are right or wrong have no margin when runs are exchanged: exchange items, or leave the margin out."
        raise InvalidTest.at("/margin", "margin_needs_items", detail, WITHOUT_RUNS)
    if k_of(spec) is not None or spec.parameters.get("repeats") in {"any", "all"}:
        return _pass_rates(by_runs(data, spec), spec)
    values, unit = _values(data, spec)
    lengths = [lengths_of(side) for side in (data.u, data.v)]
    pooled = spec.parameters.get("average") == "runs"
    if margin:
        # The rise of the statistic when every run of U rises by one.
        rise = Fraction(1)
        if spec.name == "sum_difference":
            rise = Fraction(len(values[0])) if pooled else _scale(data, spec) * _weight(data)
        step = margin / rise / unit
        values = [column.astype(object) * step.denominator for column in values]
        values[0] = values[0] - step.numerator
        unit /= step.denominator
    if pooled:
        by_runs(data, spec)
        runs = [int(sizes.sum()) for sizes in lengths]
        mean = spec.name == "mean_difference"
        common = math.lcm(*runs) if mean else 1
        unit /= common
        factors = [
            np.full(len(sizes), common // total if mean else 1, dtype=object)
            for sizes, total in zip(lengths, runs, strict=True)
        ]
    else:
        common = math.lcm(*np.unique(np.concatenate(lengths)).tolist())
        unit *= _scale(data, spec) / common
        factors = [common // sizes.astype(object) for sizes in lengths]
    weights = None if data.weights is None else data.weights.values
    sides = [
        _side(column, sizes, each, weights)
        for column, sizes, each in zip(values, lengths, factors, strict=True)
    ]
    scores = [unit * sum(side.totals().tolist()) for side in sides]
    u, v = _clustered(data, *sides)
    observed = sum(u.totals().tolist()) - sum(v.totals().tolist())
    ahead = np.sign(u.sums().astype(object) * v.lengths - v.sums().astype(object) * u.lengths)
    laws, error, expected = _laws(u, v)
    seen = observed, ahead.astype(np.int64)
    return _problem(data, spec, laws, seen, unit, (scores[0], scores[1]), error, expected)


def _right_or_wrong(data: Scores) -> bool:
    columns = [samples_in(side) for side in (data.u, data.v)]
    return any(all(bool(((column == 0) | (column == right)).all()) for column in columns) for right in RIGHT)


def _scale(data: Scores, spec: StatisticSpec) -> Fraction:
    """Return the factor of the sum of the weighted items."""
    if spec.name == "sum_difference":
        return Fraction(1) if data.weights is None else data.weights.unit
    return 1 / _weight(data)


def _weight(data: Scores) -> Fraction:
    """Return the sum of the weights, in their unit."""
    return Fraction(len(data.u) if data.weights is None else sum(data.weights.values.tolist()))


def _values(data: Scores, spec: StatisticSpec) -> tuple[list[Whole], Fraction]:
    """Return all runs of U and of V as integers, and their unit."""
    unit = unit_of(spec.parameters.get("unit"))
    if unit is not None:
        return [multiples(data.u, unit, "/u"), multiples(data.v, unit, "/v")], unit
    lattice = on_lattice(samples_in(data.u), samples_in(data.v), exactly=True)
    return list(lattice.columns), lattice.unit


def _side(values: Whole, lengths: Integers, factors: Whole, weights: Whole | None) -> _Side:
    """Multiply the runs by the weights of their items; int64 where all sums fit."""
    size = exact_total(np.abs(values)) * int(factors.max()) * (1 if weights is None else int(weights.max()))
    kind = np.int64 if size < MAX_INTEGER else object
    counted: Whole = values.astype(kind)
    if weights is not None:
        counted = counted * np.repeat(weights.astype(kind), lengths)
    return _Side(counted, lengths, factors.astype(kind))


def _clustered(data: Scores, u: _Side, v: _Side) -> tuple[_Side, _Side]:
    """Merge the runs of clusters: run r of all items of a cluster becomes one run, the sum of their values."""
    codes, clusters = data.pairing.clusters, data.pairing.n_clusters
    if codes is None or clusters is None:
        return u, v
    require_same_length(len(data.u), len(codes), "/clusters", ("The data", "clusters"))
    sides = []
    for side in (u, v):
        lengths = np.zeros(clusters, dtype=np.int64)
        lengths[codes] = side.lengths
        differ = lengths[codes] != side.lengths
        if differ.any():
            raise InvalidTest.at(
                f"/clusters/{int(differ.argmax())}",
                "cluster_runs_differ",
                "Run r of all items of a cluster is exchanged together, so that they need equal numbers of runs of each system: "
                "this item differs from others of its cluster. Leave out clusters, or the runs that some items lack.",
            )
        starts = np.cumsum(lengths) - lengths
        within = np.arange(len(side.values)) - np.repeat(np.cumsum(side.lengths) - side.lengths, side.lengths)
        places = np.repeat(starts[codes], side.lengths) + within
        values = sum_by_cluster(side.values, places, int(lengths.sum()))
        member = np.zeros(clusters, dtype=np.int64)
        member[codes] = np.arange(len(codes))
        sides.append(_Side(values, lengths, side.factors[member]))
    return sides[0], sides[1]


@dataclass(frozen=True, slots=True)
class _Unit:
    """The ascending runs of a unit, of which U takes `n`, the weights of a run by system, and the number of such units."""

    runs: tuple[int, ...]
    n: int
    of_u: int
    of_v: int
    count: int

    @property
    def share(self) -> Fraction:
        """U's share of the runs."""
        return Fraction(self.n, len(self.runs))

    @property
    def few(self) -> int:
        """The smaller number of runs of a system."""
        return min(self.n, len(self.runs) - self.n)

    def law(self, grain: int, rounded: tuple[int, ...]) -> dict[int, int]:
        """The law of its difference, of runs `rounded` to multiples of the grain, with the mean of the exact one but for half a unit."""
        if grain == 1:
            return relabelled(self.runs[: self.n], self.runs[self.n :], self.of_u, self.of_v)
        total = sum(self.runs)
        shift = (
            round(self.share * (total - grain * sum(rounded))) * (self.of_u + self.of_v) - self.of_v * total
        )
        parts = relabelled(rounded[: self.n], rounded[self.n :], grain * (self.of_u + self.of_v), 0)
        return {part + shift: ways for part, ways in parts.items()}


def _units(u: _Side, v: _Side) -> Iterator[_Unit]:
    """Yield the distinct units."""
    sizes = np.stack([u.lengths, v.lengths], axis=1)
    starts_u, starts_v = np.cumsum(u.lengths) - u.lengths, np.cumsum(v.lengths) - v.lengths
    for n, m in np.unique(sizes, axis=0).tolist():
        at = np.flatnonzero((u.lengths == n) & (v.lengths == m))
        runs = np.concatenate(
            [
                u.values[np.add.outer(starts_u[at], np.arange(n))],
                v.values[np.add.outer(starts_v[at], np.arange(m))],
            ],
            axis=1,
        )
        runs.sort(axis=1)
        # A constant in all runs of a unit cancels where U's runs have the same total weight as V's.
        alike = u.factors[at] * n == v.factors[at] * m
        runs = runs - np.where(alike, runs[:, 0], 0)[:, None]
        groups = Counter(
            zip(map(tuple, runs.tolist()), u.factors[at].tolist(), v.factors[at].tolist(), strict=True)
        )
        for (row, of_u, of_v), count in groups.items():
            yield _Unit(row, n, of_u, of_v, count)


def _laws(u: _Side, v: _Side) -> tuple[list[tuple[Mapping[int, int], int]], Fraction, Fraction]:
    """Return the laws of the units with their numbers, the most by which rounding moves S, and E S.

    Runs with too many ways to list are rounded: a run then moves by half a grain, and n runs of n + m, with the same mean, by n m / (n + m).
    """
    units = list(_units(u, v))
    grain, rows = 1, [unit.runs for unit in units]
    if sum(steps_to_list(unit.runs, unit.n) for unit in units) > _MOST_STEPS:
        sums = 4 * _STEPS_ROUNDED // sum(unit.few * len(unit.runs) for unit in units)
        if sums < _FEWEST_SUMS:
            detail = "These runs can be reassigned in too many ways to list: round the scores, so that more of them are equal."
            raise InvalidTest.at("", "effects_too_large", detail, ROUNDED)
        grain = max(sum(unit.runs[-unit.few :]) - sum(unit.runs[: unit.few]) for unit in units) // sums + 1
        rows = [tuple((2 * run + grain) // (2 * grain) for run in unit.runs) for unit in units]
    error = mean = Fraction(0)
    for unit in units:
        weight = unit.count * (unit.of_u + unit.of_v)
        mean += weight * unit.share * sum(unit.runs) - unit.count * unit.of_v * sum(unit.runs)
        error += weight * ((1 - unit.share) * unit.n * grain + 1)
    laws: list[tuple[Mapping[int, int], int]] = [
        (unit.law(grain, row), unit.count) for unit, row in zip(units, rows, strict=True)
    ]
    return laws, error if grain > 1 else Fraction(0), mean


def _pass_rates(data: Scores, spec: StatisticSpec) -> Runs:
    """Return the test of pass@k or pass^k; the numbers of right runs are hypergeometric."""
    rule, k = str(spec.parameters["repeats"]), k_of(spec)
    if data.pairing.clusters is not None:
        detail = f"With {marked('repeats', rule)} runs are exchanged item by item: leave clusters out."
        raise InvalidTest.at("/clusters", "exchange_needs_means", detail)
    lengths = [lengths_of(side) for side in (data.u, data.v)]
    differ = lengths[0] != lengths[1]
    if k is None and differ.any():
        at = int(differ.argmax())
        raise unequal_runs(f"/v/{at}", int(lengths[1][at]), int(lengths[0][at]))
    rates = pass_rates(data, spec)
    weights = np.ones(len(data.u), np.int64) if data.weights is None else data.weights.values
    u, v = (weights.astype(object) * rates.of(*side) for side in zip(lengths, rates.right, strict=True))
    each = (*lengths, rates.right[0] + rates.right[1], weights)
    units = Counter(zip(*(column.tolist() for column in each), strict=True))

    def law(n: int, m: int, total: int, weight: int) -> Mapping[int, int]:
        ways: Counter[int] = Counter()
        for c, number in right_or_wrong(total, n + m, n).items():
            ways[weight * (rates.scores[n, c] - rates.scores[m, total - c])] += number
        return ways

    unit = rates.unit * _scale(data, spec)
    sums = sum(u.tolist()), sum(v.tolist())
    seen = sums[0] - sums[1], np.sign(u - v).astype(np.int64)
    laws = ((law(*unit_of_runs), count) for unit_of_runs, count in units.items())
    return _problem(data, spec, laws, seen, unit, (unit * sums[0], unit * sums[1]))


def _problem(
    data: Scores,
    spec: StatisticSpec,
    laws: Iterable[tuple[Mapping[int, int], int]],
    seen: tuple[int, Integers],
    unit: Fraction,
    scores: tuple[Fraction, Fraction],
    error: Fraction = Fraction(0),
    mean: Fraction = Fraction(0),
) -> Runs:
    form, coarse = sum_of_laws(laws, len(data.u), "/u", error)
    coarse = replace(coarse, mean=mean) if coarse is not None and error else coarse
    return Runs(
        spec.name, form, seen[0], unit, len(data.u), data.pairing.n_clusters, seen[1], *scores, samples_of(data), coarse
    )  # fmt: skip


def sum_of_laws(
    laws: Iterable[tuple[Mapping[int, int], int]], items: int, pointer: str, error: Fraction = Fraction(0)
) -> tuple[FiniteLaws, CoarseLaws | None]:
    """Put laws (see `grouped_laws`) on one lattice, rounded where their sum outgrows 64 bits or has an `error`; raises InvalidTest."""
    listed = list(laws)
    if not error:
        with suppress(LatticeOverflowError):
            return grouped_laws(listed, items), None
    if max(max(law) - min(law) for law, _ in listed).bit_length() > _MOST_BITS:
        detail = "The scores spread over too many orders of magnitude: leave tiny ones out, or round them."
        raise InvalidTest.at(pointer, "number_too_large", detail)
    coarse = coarse_laws(listed, items, steps_wanted(items, _PRECISION), error=error)
    return coarse.form, coarse
