"""The reduction of data and a statistic to a problem, and the mean of a statistic over several data sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from pkgutil import resolve_name
from typing import Any

import numpy as np

from ..engine.lattice import Integers, Whole, exact_total
from ..errors import InvalidTest
from . import formula
from .catalogue import ENTRIES, require_known
from .columns import per_item
from .correction import reduce_corrected, refuse_correction
from .effects import MAX_INTEGER, MAX_SHARES, Additive, Joint, common_unit, effects_on, times
from .paired import Paired, Scores, StatisticSpec, kind_of
from .pairwise.correlation import Correlation
from .quantity import Formula
from .scores import Quantiles
from .sum_function import FunctionOf

Problem = Additive | Joint | Quantiles | Correlation


Reducer = Callable[[Any, StatisticSpec], Problem]

# All reducers are imported at once, so that a wrong name fails at startup and not at a request.
_REDUCERS: Mapping[str, Reducer] = {
    entry.reducer: resolve_name(f"{__package__}.{entry.reducer}") for entry in ENTRIES
}


def reduce(data: Paired, spec: StatisticSpec) -> Problem:
    """Return the problem to solve for this statistic of this data; raises InvalidTest."""
    entry = require_known(kind_of(data), spec.name, spec.parameters)
    if isinstance(data, Scores) and data.correction is not None:
        refuse_correction(data, spec)
        return reduce_corrected(per_item(data, spec), spec)
    return _REDUCERS[entry.reducer](data, spec)


# Macro averages: t = (t_1 + ... + t_D) / D, and every unit of every data set swaps alone. For additive statistics this
# is one sum of weighted effects; for functions of several sums it is a function of the sums of all data sets.


Score = Fraction | float


def mean_of(problems: Sequence[Additive | Joint]) -> Additive | Joint:
    """Return the mean of the statistics of D data sets, each a difference of scores, or symmetric.

    Raises InvalidTest at /aggregate where the statistic is not a formula of sums.
    """
    additive = [problem for problem in problems if isinstance(problem, Additive)]
    if any(problem.swap is not None or problem.absolute for problem in additive):
        raise _no_mean(problems[0].name)
    return _sum_of(additive) if len(additive) == len(problems) else _function_of(problems)


def mean_score(scores: Sequence[Score]) -> Score:
    """Return the mean of scores, exact where all scores are."""
    if all(isinstance(score, Fraction) for score in scores):
        return Fraction(sum(scores)) / len(scores)
    return math.fsum(scores) / len(scores)


def _no_mean(name: str) -> InvalidTest:
    detail = (
        f"The mean of {name} over data sets cannot be tested: set aggregate to micro (all items together), "
        "or to null (no overall board)."
    )
    return InvalidTest.at("/aggregate", "no_macro", detail)


def _sum_of(problems: Sequence[Additive]) -> Additive:
    exact = [_exact_effects(problem) for problem in problems]
    base, factors = common_unit([unit / len(problems) for unit, _, _ in exact])
    effects = [times(factor, column) for factor, (_, column, _) in zip(factors, exact, strict=True)]
    off = max(factor * each for factor, (_, _, each) in zip(factors, exact, strict=True))
    unit, (stay,), rounding = effects_on(base, _joined(effects), error=off)
    shares = None if rounding is not None else _shares(problems)
    return Additive(
        name=problems[0].name,
        stay=stay,
        swap=None,
        unit=unit,
        items=sum(problem.items for problem in problems),
        clusters=_clusters(problems),
        score_u=_mean_of_known([problem.score_u for problem in problems]),
        score_v=_mean_of_known([problem.score_v for problem in problems]),
        sizes=shares,
        shiftable=shares is not None,
        rounding=rounding,
        pairwise=any(problem.pairwise for problem in problems),
    )


def _mean_of_known(scores: Sequence[Fraction | None]) -> Fraction | None:
    known = [score for score in scores if score is not None]
    return sum(known, Fraction(0)) / len(known) if len(known) == len(scores) else None


def _exact_effects(problem: Additive) -> tuple[Fraction, Whole, int]:
    """Return (unit, effects, error of each effect in units)."""
    rounding = problem.rounding
    if rounding is None:
        return problem.unit, problem.stay, 0
    if rounding.exact is None:
        return problem.unit, problem.stay, rounding.each
    return rounding.exact_unit, rounding.exact[0], 0


def _joined(columns: Sequence[Whole]) -> Whole:
    room = sum(exact_total(np.abs(column)) for column in columns) < MAX_INTEGER
    if room and all(column.dtype != object for column in columns):
        return np.concatenate([np.asarray(column, dtype=np.int64) for column in columns])
    return np.concatenate([np.asarray(column, dtype=object) for column in columns])


def _shares(problems: Sequence[Additive]) -> Integers | None:
    """Return the units' shares of a shift of t by a constant, equal in every data set.

    None where a data set's statistic cannot be shifted, or the effects are large integers.
    """
    if not all(problem.shiftable for problem in problems):
        return None
    sizes = [_sizes(problem) for problem in problems]
    _, factors = common_unit([Fraction(1, exact_total(column)) for column in sizes])
    # All data sets have equal shares.
    if len(problems) * factors[0] * exact_total(sizes[0]) >= MAX_SHARES:
        return None
    return np.concatenate([factor * column for factor, column in zip(factors, sizes, strict=True)])


def _sizes(problem: Additive) -> Integers:
    return np.ones(len(problem.stay), dtype=np.int64) if problem.sizes is None else problem.sizes


def _clusters(problems: Sequence[Additive | Joint]) -> int | None:
    """Return the number of units that swap, where any of them are clusters."""
    if all(problem.clusters is None for problem in problems):
        return None
    return sum(problem.items if problem.clusters is None else problem.clusters for problem in problems)


def _function_of(problems: Sequence[Additive | Joint]) -> Joint:
    """Return the function of blocks of sums, one for each data set: h is the mean of their functions."""
    stays, swaps, parts = [], [], []
    columns, scores_u, scores_v = 0, [], []
    for problem in problems:
        node = _node(problem, columns)
        parts.append(formula.scale(node, Fraction(1, len(problems))))
        stay, swap = _vectors(problem)
        stays.append(stay)
        swaps.append(swap)
        columns += stay.shape[1]
        scores_u.append(problem.score_u)
        scores_v.append(problem.score_v)
    known = None not in scores_u and None not in scores_v
    return Joint(
        name=problems[0].name,
        stay=_blocks(stays, columns),
        swap=_blocks(swaps, columns),
        function=FunctionOf(Formula(formula.add(*parts))),
        items=sum(problem.items for problem in problems),
        clusters=_clusters(problems),
        mirrored=all(isinstance(problem, Additive) or problem.mirrored for problem in problems),
        score_u=mean_score([score for score in scores_u if score is not None]) if known else None,
        score_v=mean_score([score for score in scores_v if score is not None]) if known else None,
    )


def _node(problem: Additive | Joint, first: int) -> formula.Node:
    """Return the statistic of one data set, of the sums from the `first` on."""
    if isinstance(problem, Additive):
        if problem.rounding is not None:
            raise _no_mean(problem.name)
        return formula.scale_variable(first, problem.unit)
    function = problem.function
    if not isinstance(function.quantity, Formula):
        raise _no_mean(problem.name)
    return formula.substitute(function.quantity.node, lambda index: formula.variable(first + index))


def _vectors(problem: Additive | Joint) -> tuple[Integers, Integers]:
    if isinstance(problem, Additive):
        return problem.stay[:, None], -problem.stay[:, None]
    return problem.stay, problem.swap


def _blocks(parts: Sequence[Integers], columns: int) -> Integers:
    """Place the parts on the diagonal, with zeros elsewhere, shape (M, columns)."""
    table = np.zeros((sum(map(len, parts)), columns), dtype=np.int64)
    row = column = 0
    for part in parts:
        table[row : row + part.shape[0], column : column + part.shape[1]] = part
        row, column = row + part.shape[0], column + part.shape[1]
    return table
