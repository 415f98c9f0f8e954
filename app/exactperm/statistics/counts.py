"""Named counts per item and system: F1 and related scores, ratios, and expressions over the sums of the counts."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from typing import cast

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers
from ..errors import InvalidTest, pointer_token
from . import formula
from .effects import MAX_INTEGER, Additive, Joint, require_items, require_same_length
from .expression import POINTER, parse
from .formula import Node
from .paired import Column, Counts, DataWarning, StatisticSpec, Systems
from .quantity import Formula
from .reduction import difference_of_scores, totals
from .sum_function import score_of


@dataclass(frozen=True, slots=True)
class Variant:
    """A set of counts that determines a statistic: their names, the score, and which count cannot exceed which."""

    names: tuple[str, ...]
    expression: str
    at_most: tuple[tuple[str, str], ...] = ()


_RETRIEVED = (("tp", "predicted"), ("tp", "gold"))
_CONFUSION = ("tp", "fp", "fn", "tn")
_ALL = "(tp + fp + fn + tn)"
# The agreement expected by chance (Cohen 1960) times the square of the total. It is linear where gold is shared.
_CHANCE = "((tp + fp) * (tp + fn) + (fn + tn) * (fp + tn))"


def _root(sizes: str) -> str:
    """Return the root of a count, at least 1; where the count is 0 the numerator is 0, and so is the score.

    Roots of single whole numbers have bounded errors in doubles, even at 0; the root of a rounded product does not.
    """
    return f"sqrt(max(1, {sizes}))"


VARIANTS: Mapping[str, tuple[Variant, ...]] = {
    # The paper's own form: incorrect = fp + fn (Zmigrod, Vieira & Cotterell 2022, section 3).
    "f1": (
        Variant(("tp", "incorrect"), "tp / (tp + incorrect / 2)"),
        Variant(("tp", "fp", "fn"), "2 * tp / (2 * tp + fp + fn)"),
        Variant(("tp", "predicted", "gold"), "2 * tp / (predicted + gold)", _RETRIEVED),
    ),
    "precision": (
        Variant(("tp", "fp"), "tp / (tp + fp)"),
        Variant(("tp", "predicted"), "tp / predicted", _RETRIEVED[:1]),
    ),
    "recall": (Variant(("tp", "fn"), "tp / (tp + fn)"), Variant(("tp", "gold"), "tp / gold", _RETRIEVED[1:])),
    "accuracy": (
        Variant(("correct", "total"), "correct / total", (("correct", "total"),)),
        Variant(("correct", "incorrect"), "correct / (correct + incorrect)"),
    ),
    "jaccard": (
        Variant(("tp", "incorrect"), "tp / (tp + incorrect)"),
        Variant(("tp", "fp", "fn"), "tp / (tp + fp + fn)"),
        Variant(("tp", "predicted", "gold"), "tp / (predicted + gold - tp)", _RETRIEVED),
    ),
    # scikit-learn's matthews_corrcoef, cohen_kappa_score (replace_undefined_by=0) and balanced_accuracy_score (a class
    # absent from gold does not count), and imbalanced-learn's specificity_score and geometric_mean_score.
    "mcc": (
        Variant(
            _CONFUSION,
            f"(tp * tn - fp * fn) / ({_root('tp + fp')} * {_root('tp + fn')} * {_root('tn + fp')} * {_root('tn + fn')})",
        ),
    ),
    "kappa": (Variant(_CONFUSION, f"({_ALL} * (tp + tn) - {_CHANCE}) / ({_ALL} * {_ALL} - {_CHANCE})"),),
    "balanced_accuracy": (
        Variant(_CONFUSION, "(tp / (tp + fn) + tn / (tn + fp)) / (min(1, tp + fn) + min(1, tn + fp))"),
    ),
    "g_mean": (Variant(_CONFUSION, f"sqrt(tp) * sqrt(tn) / ({_root('tp + fn')} * {_root('tn + fp')})"),),
    "specificity": (Variant(("tn", "fp"), "tn / (tn + fp)"),),
    "npv": (Variant(("tn", "fn"), "tn / (tn + fn)"),),
}
MIN_BETA, MAX_BETA = 1e-6, 1e6
# The number of cached trees of named scores; each beta has a tree.
_CACHE_SIZE = 32


def reduce_counts(data: Counts, spec: StatisticSpec) -> Additive | Joint:
    """Return the test of f(sums of U's counts) - f(sums of V's); additive where every denominator is shared.

    Raises InvalidTest when counts are missing, not whole or negative, or a parameter is wrong.
    """
    require_counts(data)
    names, node, pointer = _SCORES.get(spec.name, _named)(data, spec)
    u, v = table(data.u, names, "/u"), table(data.v, names, "/v")
    return difference_of_scores(spec.name, node, u, v, data.pairing, pointer)


def require_counts(data: Counts) -> None:
    """Refuse counts that cannot be paired: no counts, different names in u and v, different lengths."""
    if not data.u:
        raise InvalidTest.at("/u", "empty", "There are no counts: give at least one named count per item.")
    if set(data.u) != set(data.v):
        raise InvalidTest.at("/v", "different_counts", "u and v need the same counts, under the same names.")
    first = next(iter(data.u.values()))
    require_items(len(first), "/u")
    for pointer, system in (("/u", data.u), ("/v", data.v)):
        for name, column in system.items():
            require_same_length(
                len(first), len(column), f"{pointer}/{pointer_token(name)}", ("The first count", "this")
            )


def table(system: Mapping[str, Column], names: tuple[str, ...], pointer: str) -> Integers:
    """Return the named counts as integers, shape (N, m); refuse negative and fractional counts."""
    return np.stack([whole(system[name], f"{pointer}/{pointer_token(name)}") for name in names], axis=1)


def whole(column: Column, pointer: str) -> Integers:
    """Return a column of counts as integers; refuse the first that is negative or not whole."""
    wrong = (column < 0) | (column > MAX_INTEGER)
    if column.dtype != np.int64:
        wrong |= (column != np.rint(column)) | (np.abs(column) > EXACT_DOUBLE)
    if wrong.any():
        index = int(wrong.argmax())
        raise InvalidTest.at(
            f"{pointer}/{index}",
            "not_a_count",
            f"Count {index} is not a whole number between 0 and 2**53: counts are 0, 1, 2, ...",
        )
    return column.astype(np.int64)


Score = tuple[tuple[str, ...], Node, str]


def _named(data: Counts, spec: StatisticSpec) -> Score:
    return _fitting(data, spec.name, VARIANTS[spec.name])


def _fitting(data: Counts, name: str, variants: tuple[Variant, ...]) -> Score:
    """Choose the first variant whose counts are all present; other complete variants must agree with it."""
    present = [variant for variant in variants if set(variant.names) <= set(data.u)]
    if not present:
        sets = "; or ".join(", ".join(variant.names) for variant in variants)
        raise InvalidTest.at("/u", "missing_counts", f"{name} needs the counts {sets}.")
    nodes = [_parsed(variant) for variant in present]
    for variant in present:
        refuse_excess(data, variant.at_most)
    if len(present) == 1:
        return present[0].names, nodes[0], ""
    for pointer, system in (("/u", data.u), ("/v", data.v)):
        sums = [totals(table(system, variant.names, pointer)) for variant in present]
        scores = {score_of(Formula(node), row) for node, row in zip(nodes, sums, strict=True)}
        if len(scores) > 1:
            sets = " and ".join(f"({', '.join(variant.names)})" for variant in present)
            detail = f"The counts {sets} give different values of {name}: give only one set."
            raise InvalidTest.at(pointer, "ambiguous_counts", detail)
    return present[0].names, nodes[0], ""


@lru_cache(maxsize=_CACHE_SIZE)
def _parsed(variant: Variant) -> Node:
    return parse(variant.expression, variant.names)


def refuse_excess(data: Counts, pairs: tuple[tuple[str, str], ...]) -> None:
    """Refuse items where the first count of a pair exceeds the second."""
    for pointer, system in (("/u", data.u), ("/v", data.v)):
        for part, total in pairs:
            excess = system[part] > system[total]
            if excess.any():
                index = int(excess.argmax())
                detail = f"Item {index} has more {part} than {total}."
                raise InvalidTest.at(
                    f"{pointer}/{pointer_token(part)}/{index}", "inconsistent_counts", detail
                )


# Totals that a system does not choose: the questions of an item, or those of a class.
_OUT_OF = (("total",), ("correct", "incorrect"), _CONFUSION, ("gold",), ("tp", "fn"), ("tn", "fp"))
_WITH_TOTALS = {name: sets for name, sets in VARIANTS.items() if name not in {"precision", "npv"}}
_WITH_TOTALS["fbeta"] = VARIANTS["f1"]
_LEAST_TOTALS = 10


def totals_warning(data: Counts, spec: StatisticSpec) -> DataWarning | None:
    """Warn if nearly all items have a larger total in one system, as sums over more runs do.

    A ratio's denominator may be part of the result, such as a time, so that a gate still decides.
    """
    names = _out_of(set(data.u), spec)
    if names is None:
        return None
    u, v = (np.sum([side[name] for name in names], axis=0) for side in (data.u, data.v))
    side, larger = _larger(u, v)
    if not side:
        return None
    detail = f"{'u' if side > 0 else 'v'} has a larger {' + '.join(names)} on {larger:,} of {len(u):,} items. {_MORE_RUNS}"
    return DataWarning("/v", "totals_differ", detail, undecidable=spec.name != "ratio")


def board_totals_warning(systems: Systems, spec: StatisticSpec) -> DataWarning | None:
    """Warn about the first pair of a board's systems in which one has the larger totals, if any."""
    columns = cast("Mapping[str, Mapping[str, Column]]", systems.columns)
    names = _out_of(set(next(iter(columns.values()))), spec)
    if names is None:
        return None
    # Most systems have the same totals, so few remain to compare.
    distinct: dict[bytes, tuple[str, Integers, Integers]] = {}
    for name, column in columns.items():
        total = np.sum([column[count] for count in names], axis=0)
        where = systems.present.get(name, np.arange(len(total)))
        distinct.setdefault(where.tobytes() + total.tobytes(), (name, where, total))
    for (u, where_u, of_u), (v, where_v, of_v) in itertools.combinations(
        list(distinct.values())[:_MOST_TOTALS], 2
    ):
        _, in_u, in_v = np.intersect1d(where_u, where_v, assume_unique=True, return_indices=True)
        side, larger = _larger(of_u[in_u], of_v[in_v])
        if side:
            more, less = (json.dumps(name, ensure_ascii=False) for name in ((u, v) if side > 0 else (v, u)))
            counted = " + ".join(names)
            detail = f"{more} has a larger {counted} than {less} on {larger:,} of {len(in_u):,} items. {_MORE_RUNS}"
            return DataWarning("/systems", "totals_differ", detail, undecidable=False)
    return None


_MORE_RUNS = (
    "Sums over more runs, or over other questions, vary differently, so that even identical systems would "
    "differ: count the same number of runs of each item in both."
)
_MOST_TOTALS = 50  # distinct totals, compared pair by pair


def _out_of(counted: set[str], spec: StatisticSpec) -> tuple[str, ...] | None:
    """Return the totals among the counts."""
    if spec.name == "ratio":
        names = (str(spec.parameters["denominator"]),)
        return names if set(names) <= counted else None
    fitting = [
        set(variant.names) for variant in _WITH_TOTALS.get(spec.name, ()) if set(variant.names) <= counted
    ]
    # Other counts do not bear on the statistic.
    taken = set().union(*fitting)
    return next((names for names in _OUT_OF if set(names) <= taken), None)


def _larger(u: Integers, v: Integers) -> tuple[int, int]:
    """Return which system has the larger totals on nearly all items where they differ (1, -1, or 0 for neither), and on
    how many.
    """
    more, less = int((u > v).sum()), int((v > u).sum())
    if more + less < _LEAST_TOTALS or 20 * min(more, less) > more + less:
        return 0, 0
    return (1 if more > less else -1), max(more, less)


def beta_of(spec: StatisticSpec, default: int = 1) -> Fraction:
    """Read the parameter beta: recall weighs beta times as much as precision (van Rijsbergen 1979)."""
    beta = spec.parameters.get("beta")
    if beta is None:
        return Fraction(default)
    if isinstance(beta, bool) or not isinstance(beta, int | float) or not MIN_BETA <= beta <= MAX_BETA:
        detail = f"beta must be a number between {MIN_BETA:g} and {MAX_BETA:g}."
        raise InvalidTest.at("/statistic/beta", "out_of_range", detail)
    return Fraction(repr(beta))


def _fbeta(data: Counts, spec: StatisticSpec) -> Score:
    square = beta_of(spec) ** 2
    weight = f"({square.numerator}/{square.denominator})"
    return _fitting(
        data,
        spec.name,
        (
            Variant(("tp", "fp", "fn"), f"(1 + {weight}) * tp / ((1 + {weight}) * tp + {weight} * fn + fp)"),
            Variant(
                ("tp", "predicted", "gold"),
                f"(1 + {weight}) * tp / ({weight} * gold + predicted)",
                _RETRIEVED,
            ),
        ),
    )


def _ratio(data: Counts, spec: StatisticSpec) -> Score:
    """Build numerator / denominator of two counts: WER, CER and TER from errors and reference length."""
    names: list[str] = []
    for role in ("numerator", "denominator"):
        name = spec.parameters.get(role)
        if name is None or name not in data.u:
            known = ", ".join(key[:40] for key in list(data.u)[:20])
            detail = f"ratio needs {role}, the name of one of the counts: {known}."
            raise InvalidTest.at(f"/statistic/{role}", "unknown_name", detail)
        names.append(str(name))
    if names[0] == names[1]:
        raise InvalidTest.at("/statistic/denominator", "same_count", "A count over itself is always 1.")
    return (names[0], names[1]), formula.divide(formula.variable(0), formula.variable(1)), ""


def _expression(data: Counts, spec: StatisticSpec) -> Score:
    names = tuple(data.u)
    text = spec.parameters.get("expression")
    if not isinstance(text, str):
        raise InvalidTest.at(POINTER, "missing", "The statistic expression needs the parameter expression.")
    node = parse(text, names)
    used = sorted(formula.variables(node))
    packed = formula.substitute(node, lambda index: formula.variable(used.index(index)))
    return tuple(names[index] for index in used) or names[:1], packed, POINTER


_SCORES: Mapping[str, Callable[[Counts, StatisticSpec], Score]] = {
    "fbeta": _fbeta,
    "ratio": _ratio,
    "expression": _expression,
}
