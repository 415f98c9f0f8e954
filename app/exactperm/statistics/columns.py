"""Columns of items: selection, order and concatenation; missing outcomes, summary rows, repeated samples."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from fractions import Fraction
from itertools import chain
from typing import Any, TypeVar, cast

import numpy as np

from ..engine.lattice import EXACT_DOUBLE, Integers, Whole, exact_total
from ..errors import Choice, InvalidTest, choices_of, marked
from .effects import (
    MAX_INTEGER,
    MAX_WIDE_ITEMS,
    Lattice,
    on_lattice,
    require_items,
    require_same_length,
    taken_weights,
)
from .item_ids import order_of_items
from .paired import (
    Column,
    Correction,
    Gaps,
    NamedCounts,
    Paired,
    Pairing,
    Repeated,
    Scores,
    Slices,
    StatisticSpec,
    Weights,
    lengths_of,
    samples_in,
)

AnyColumn = TypeVar("AnyColumn")


def taken(column: AnyColumn, items: Integers) -> AnyColumn:
    """Select the values of a column of any kind at the given positions, in their order; None stays None."""
    values: Any = column
    if values is None:
        return column
    selected: Any
    if isinstance(values, np.ndarray):
        selected = values[items]
    elif isinstance(values, Repeated):
        starts = np.cumsum(values.lengths) - values.lengths
        kept = values.lengths[items]
        # Sample i of an item is i places after the first.
        first = np.repeat(starts[items] - (np.cumsum(kept) - kept), kept)
        selected = Repeated(values.values[first + np.arange(len(first))], kept)
    elif isinstance(values, NamedCounts):
        selected = NamedCounts(taken(values.columns, items), values.by_item)
    elif isinstance(values, Mapping):
        selected = {key: counts[items] for key, counts in values.items()}
    else:
        selected = [values[item] for item in items.tolist()]
    return cast("AnyColumn", selected)


def joined(columns: Sequence[Any], refusal: InvalidTest) -> Any:
    """Concatenate columns of one kind; integers next to decimals become decimals, or are refused where that changes
    one.

    Only counts that all columns have are joined.
    """
    first = columns[0]
    if isinstance(first, Mapping):
        common = set.intersection(*map(set, columns))
        return {
            name: joined([column[name] for column in columns], refusal) for name in first if name in common
        }
    if any(isinstance(column, Repeated) for column in columns):
        # A single score counts as one sample.
        lengths = np.concatenate([lengths_of(column) for column in columns])
        return Repeated(joined([samples_in(column) for column in columns], refusal), lengths)
    if not isinstance(first, np.ndarray):
        return list(chain.from_iterable(columns))
    filled = [column for column in columns if len(column)] or [first]
    if len({column.dtype.kind for column in filled}) > 1:
        for column in filled:
            if column.dtype == np.int64 and max(-int(column.min()), int(column.max())) > EXACT_DOUBLE:
                raise refusal
    return np.concatenate(filled)


def first_seen(codes: Integers) -> Integers:
    """Renumber codes from 0 in order of first appearance, shape (n,)."""
    _, first, where = np.unique(codes, return_index=True, return_inverse=True)
    order = np.empty(len(first), dtype=np.int64)
    order[np.argsort(first)] = np.arange(len(first))
    return np.asarray(order[where.reshape(-1)])


@dataclass(frozen=True, slots=True)
class SelectedIds(Sequence[str | int]):
    """The ids at some positions; few of them are ever read."""

    ids: Sequence[str | int]
    positions: Integers

    def __len__(self) -> int:
        return len(self.positions)

    def __getitem__(self, index: Any) -> Any:
        return self.ids[int(self.positions[index])]

    def __iter__(self) -> Iterator[str | int]:
        return map(self.ids.__getitem__, self.positions.tolist())


def taken_pairing(pairing: Pairing, items: Integers) -> Pairing:
    """Select the pairing of some items; clusters are renumbered in order of first appearance."""
    clusters, n_clusters = None, None
    if pairing.clusters is not None:
        clusters = first_seen(pairing.clusters[items])
        n_clusters = int(clusters.max(initial=-1)) + 1
    slices = pairing.slices and replace(pairing.slices, codes=taken(pairing.slices.codes, items))
    ids = None if pairing.ids is None else SelectedIds(pairing.ids, items)
    return replace(pairing, clusters=clusters, n_clusters=n_clusters, ids=ids, order=None, slices=slices)


def slices_of(labels: Sequence[Any]) -> Slices:
    """Read the label of each item, or its list of labels, which may be empty; raises InvalidTest at `/<item>`."""
    known: dict[str, tuple[str, ...]] = {}
    listed = []
    for index, label in enumerate(labels):
        names_of = known.get(label) if type(label) is str else None
        if names_of is None:
            names_of = _names_of(label, index)
            if type(label) is str:
                known[label] = names_of
        listed.append(names_of)
    names = tuple(sorted({name for each in listed for name in each}))
    code = {name: place for place, name in enumerate(names)}
    lengths = np.fromiter(map(len, listed), dtype=np.int64, count=len(listed))
    codes = np.fromiter(
        map(code.__getitem__, chain.from_iterable(listed)), dtype=np.int64, count=int(lengths.sum())
    )
    return Slices(names, Repeated(codes, lengths))


_MOST_LABEL_CHARS = 200


def _names_of(label: Any, index: int) -> tuple[str, ...]:
    """Return the distinct names of an item's slices, without blanks."""
    names = []
    for entry in label if isinstance(label, list) else [label]:
        name = str(entry).lower() if isinstance(entry, bool) else "" if entry is None else str(entry).strip()
        if not isinstance(entry, str | int | None) or len(name) > _MOST_LABEL_CHARS:
            detail = (
                f"A slice is a text of at most {_MOST_LABEL_CHARS} characters, an integer, true or false. An item may have a "
                "list of them, or null."
            )
            raise InvalidTest.at(f"/{index}", "not_a_slice", detail)
        names += [name] if name else []
    return tuple(dict.fromkeys(names))


def taken_correction(correction: Correction, items: Integers) -> Correction:
    """Select the correction of some items, in their order."""
    columns = {
        name: Scores(taken(covariate.u, items), taken(covariate.v, items))
        for name, covariate in correction.columns.items()
    }
    return replace(correction, columns=columns, labelled=taken(correction.labelled, items))


def in_order_of_ids(data: Paired) -> Paired:
    """Sort the items by their ids, where they have any, so that nothing depends on the order of the input."""
    order = order_of_items(data.pairing)
    if order is None:
        return data
    return taken_items(data, order)


def taken_items(data: Paired, items: Integers) -> Paired:
    """Select the items at these positions, in their order: all of them where outcomes are missing."""
    changed: dict[str, Any] = {"pairing": taken_pairing(data.pairing, items)}
    for name in (column.name for column in fields(data) if column.name != "pairing"):
        value = getattr(data, name)
        if isinstance(value, Gaps):
            # Complete items come first.
            if value.clusters is not None:
                clusters = np.concatenate([value.clusters[items], value.clusters[len(items) :]])
                value = replace(value, clusters=first_seen(clusters))
            changed[name] = value
        elif isinstance(value, Correction):
            changed[name] = taken_correction(value, items)
        else:
            moved: Any = taken_weights(value, items) if isinstance(value, Weights) else taken(value, items)
            changed[name] = first_seen(moved) if name == "groups" and moved is not None else moved
    return replace(data, **changed)


# Missing outcomes, each anywhere in a range: the best and the worst filling for U. With high values for U's gaps and
# low ones for V's, every effect of an item is as large as possible; the reverse makes it as small as possible. P(sum of
# signed effects >= observed) is P(the effects whose sign is flipped add up to at most 0), which no effect raises: the
# one-sided p-values of the two fillings bound those of all other fillings. Under sign flips a two-sided p-value is the
# smaller of 1 and twice the smaller one-sided p-value, so those of the two fillings bound it as well, from above where
# zero does not lie between their differences. Both bounds are attained.


# Statistics that are monotone in the outcome of each item.
MONOTONE = ("mean_difference", "sum_difference", "sign")


def require_bounded(data: Scores, spec: StatisticSpec) -> None:
    """Refuse statistics and scores for which missing outcomes have no bounds; raises InvalidTest."""
    assert data.gaps is not None
    if spec.name not in MONOTONE:
        detail = (
            "The ranks of all items change with a missing outcome, so no two fillings bound the p-value: "
            f"use {', '.join(MONOTONE)}, or `on_missing=drop`."
        )
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    if data.correction is not None:
        detail = "Missing outcomes have no bounds with labels or covariates: set `on_missing=drop`."
        raise InvalidTest.at("/on_missing", "no_missing_bounds", detail)
    low, high = data.gaps.low, data.gaps.high
    for name, sides in (("u", (data.u, data.gaps.u)), ("v", (data.v, data.gaps.v))):
        for side in sides:
            values = samples_in(side)
            if len(values) and not (low <= float(values.min()) and float(values.max()) <= high):
                detail = (
                    f"{name} has scores outside of [{low:g}, {high:g}], the range assumed for a missing "
                    "outcome: set `missing_range` to the least and the largest possible score."
                )
                raise InvalidTest.at("/missing_range", "scores_outside_range", detail)


def filled(data: Scores, *, best: bool) -> Scores:
    """Return all items with the gaps filled in favour of U (`best`) or against it; complete items come first."""
    gaps = data.gaps
    assert gaps is not None
    of_u, of_v = (gaps.high, gaps.low) if best else (gaps.low, gaps.high)
    n_u, n_v = len(gaps.u), len(gaps.v)
    u = _joined(data.u, gaps.u, of_u, lengths_of(gaps.v), gaps.neither)
    v = _joined(data.v, gaps.v, of_v, lengths_of(gaps.u), gaps.neither)
    # U's items come before the gaps, V's after them.
    order = np.arange(len(data.u) + n_u + n_v + gaps.neither)
    first, start = len(data.v), len(data.v) + n_v
    behind = np.concatenate(
        [order[:first], order[start : start + n_u], order[first:start], order[start + n_u :]]
    )
    pairing = Pairing(gaps.clusters, gaps.n_clusters)
    return Scores(u, taken(v, behind), pairing)


def _joined(
    complete: Column | Repeated, alone: Column | Repeated, fill: float, others: Integers, neither: int
) -> Column | Repeated:
    """Build the column of a system: complete items, its items alone, and its gaps, with the other's numbers of samples."""
    lengths = np.concatenate(
        [lengths_of(complete), lengths_of(alone), others, np.ones(neither, dtype=np.int64)]
    )
    known = [samples_in(side) for side in (complete, alone)]
    number = int(others.sum()) + neither
    whole = float(fill).is_integer() and abs(fill) < EXACT_DOUBLE
    if not whole and any(
        len(side) and side.dtype == np.int64 and np.abs(side).max() >= EXACT_DOUBLE for side in known
    ):
        detail = "Scores this large are whole numbers only: give `missing_range` as whole numbers."
        raise InvalidTest.at("/missing_range", "scores_too_large", detail)
    filling = np.full(number, int(fill), dtype=np.int64) if whole else np.full(number, fill)
    values = np.concatenate([*(side for side in known if len(side)), filling])
    return values if (lengths == 1).all() else Repeated(values, lengths)


def missing_outcomes(data: Scores) -> int:
    """Count the missing outcomes; two for an item that neither system has."""
    gaps = data.gaps
    return 0 if gaps is None else len(gaps.u) + len(gaps.v) + 2 * gaps.neither


# Repeated samples of items: their means, and how they vary


# A distance of more than this share of the unit from its nearest multiple is not rounding.
TOLERANCE = Fraction(1, 4)
MAX_UNIT_PART = 10**15
# The largest number of bits of the least common multiple of the numbers of samples.
_MAX_COMMON_BITS = 2_000
_UNIT = re.compile(r"[0-9]{1,16}(\.[0-9]{1,16}|/[0-9]{1,16})?")
_ZERO = re.compile(r"/0+$")


def scores_by_item(data: Scores, spec: StatisticSpec, *, exactly: bool = False) -> Lattice:
    """Return the columns u and v with one score per item, after `per_item`: pass rates of `k` runs, or means (`item_scores`)."""
    if k_of(spec) is None:
        return item_scores(data, unit_of(spec.parameters.get("unit")), exactly=exactly)
    rates = pass_rates(data, spec)
    columns = [
        rates.of(lengths_of(side), right) for side, right in zip((data.u, data.v), rates.right, strict=True)
    ]
    room = sum(exact_total(column) for column in columns) < MAX_INTEGER
    return Lattice(rates.unit, tuple(column.astype(np.int64 if room else object) for column in columns))


def item_scores(data: Scores, unit: Fraction | None = None, *, exactly: bool = False) -> Lattice:
    """Return the columns u and v with one score per item, shape (N,) each.

    Means of repeated samples are exact on the lattice of the values over the least common multiple of the numbers of
    samples; with many items that outgrow 60 bits they are correctly rounded doubles instead. `unit` first moves every
    value to its nearest multiple; `exactly` forbids rounding of single scores, however many. Raises InvalidTest.
    """
    require_items(len(data.u), "/u")
    require_same_length(len(data.u), len(data.v), "/v", ("u", "v"))
    values = [samples_in(data.u), samples_in(data.v)]
    if unit is None:
        lattice = on_lattice(*values, exactly=exactly)
    else:
        lattice = Lattice(unit, (multiples(data.u, unit, "/u"), multiples(data.v, unit, "/v")))
    return _means(data, lattice)


def samples_of(data: Scores) -> tuple[int, int] | None:
    """Count all samples of u and of v; None when there is one score per item."""
    if not isinstance(data.u, Repeated) and not isinstance(data.v, Repeated):
        return None
    return len(samples_in(data.u)), len(samples_in(data.v))


def unit_of(unit_given: Any) -> Fraction | None:
    """Parse the parameter `unit`: a positive number, or text such as "1/30"."""
    if unit_given is None:
        return None
    text = (
        repr(unit_given)
        if isinstance(unit_given, int | float) and not isinstance(unit_given, bool)
        else str(unit_given)
    )
    # The pattern rejects exponents in texts, and so enormous powers of ten.
    written = isinstance(unit_given, float) or (_UNIT.fullmatch(text) is not None and not _ZERO.search(text))
    unit = Fraction(text) if written and text not in {"nan", "inf", "-inf"} else Fraction(0)
    if not 0 < unit.numerator <= MAX_UNIT_PART or unit.denominator > MAX_UNIT_PART:
        detail = (
            'unit must be a positive number, or a fraction such as "1/30", of which all scores are multiples.'
        )
        raise InvalidTest.at("/statistic/unit", "not_a_unit", detail)
    return unit


def multiples(side: Column | Repeated, unit: Fraction, pointer: str) -> Integers:
    """Return the multiple of the unit nearest to each value; refuse values that are not near one."""
    values = samples_in(side).astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore"):  # a value beyond all doubles is beyond EXACT_DOUBLE
        scaled = values * float(unit.denominator) / float(unit.numerator)
        nearest = np.rint(scaled)
        off = (np.abs(scaled - nearest) > float(TOLERANCE)) | (np.abs(nearest) >= EXACT_DOUBLE)
    if off.any():
        index = int(off.argmax())
        raise InvalidTest.at(
            f"{pointer}/{item_pointer(side, index)}",
            "off_unit",
            (
                f"The score is farther than unit/4 from every multiple of the unit {unit}: it is not a rounded "
                "multiple."
            ),
        )
    return nearest.astype(np.int64)


def item_pointer(side: Column | Repeated, index: int) -> str:
    """Return the place of a number: that of its item, and of the run in it."""
    if not isinstance(side, Repeated):
        return str(index)
    ends = np.cumsum(side.lengths)
    item = int(np.searchsorted(ends, index, side="right"))
    return f"{item}/{index - int(ends[item] - side.lengths[item])}"


def _means(data: Scores, lattice: Lattice) -> Lattice:
    sides = (data.u, data.v)
    lengths = [side.lengths if isinstance(side, Repeated) else None for side in sides]
    common = math.lcm(*(int(n) for sizes in lengths if sizes is not None for n in np.unique(sizes)))
    if common == 1:
        return lattice
    magnitude = sum(exact_total(np.abs(column)) for column in lattice.columns)
    room = magnitude * common < MAX_INTEGER
    if room or (len(data.u) <= MAX_WIDE_ITEMS and common.bit_length() <= _MAX_COMMON_BITS):
        kind = np.int64 if room else object
        columns = tuple(
            _sums(column.astype(kind), sizes, common)
            for column, sizes in zip(lattice.columns, lengths, strict=True)
        )
        # The error of a mean is at most that of its samples.
        return Lattice(lattice.unit / common, columns, lattice.error * common)
    rounded = [
        _rounded_means(column, sizes, lattice.unit)
        for column, sizes in zip(lattice.columns, lengths, strict=True)
    ]
    means = on_lattice(*rounded)
    before = math.ceil(lattice.error * lattice.unit / means.unit)
    return Lattice(means.unit, means.columns, means.error + before + _ulps(rounded, means.unit))


def _ulps(columns: list[Column], unit: Fraction) -> int:
    """Return the last place of the largest number, in units, rounded up: it bounds the error of rounding to doubles."""
    largest = max(float(np.abs(column).max(initial=0.0)) for column in columns)
    return math.ceil(Fraction(math.ulp(largest)) / unit)


def _sums(values: Whole, lengths: Integers | None, common: int) -> Whole:
    """Return common * mean of each item."""
    if lengths is None:
        return values * common
    starts = np.cumsum(lengths) - lengths
    factors = np.array([common // n for n in lengths.tolist()], dtype=values.dtype)
    sums: Whole = np.add.reduceat(values, starts) * factors
    return sums


def _rounded_means(values: Whole, lengths: Integers | None, unit: Fraction) -> Column:
    """Return the double nearest to each item's mean."""
    sizes = np.ones(len(values), dtype=np.int64) if lengths is None else lengths
    starts = np.cumsum(sizes) - sizes
    sums = np.add.reduceat(values, starts).tolist()
    return np.array([float(Fraction(s, n) * unit) for s, n in zip(sums, sizes.tolist(), strict=True)])


# Samples of right-or-wrong items: right every time (pass^k), right at least once (pass@k)


# Statistics whose test may exchange runs.
OF_RUNS = ("mean_difference", "sum_difference")
EXCHANGE_RUNS = Choice("exchange the runs of each item", {"exchange": "runs"})
# The scores of a right sample; a wrong one scores 0.
RIGHT = (1, 100)


def per_item(data: Scores, spec: StatisticSpec) -> Scores:
    """Reduce repeated samples to one score per item where `repeats` is all or any, of all samples; return other data unchanged.

    An item is right where all (the least) or any (the largest) of its samples are: no arithmetic, hence exact.
    Raises InvalidTest for samples that are not right or wrong, and for unequal numbers of samples: more samples are
    less often all right and more often right at least once, so that exchanging unequal numbers would change the
    distribution even of identical systems.
    """
    if len(data.u) == len(data.v):
        _require_as_many({"/u": data.u, "/v": data.v}, {}, spec)
    if k_of(spec) is not None:
        return data
    rule = _rule_of_repeats(spec, (data.u, data.v))
    if rule is None:
        return data
    require_right_or_wrong((data.u, data.v), rule)
    u, v = (_reduced(side, rule) for side in (data.u, data.v))
    return replace(data, u=u, v=v)


def per_item_systems(
    columns: Mapping[str, Column | Repeated], present: Mapping[str, Integers], spec: StatisticSpec
) -> Mapping[str, Column | Repeated]:
    """Reduce repeated samples in the columns of many systems, by name; `present` as in `Systems`.

    Raises InvalidTest with pointers `<name>/<item of its column>`.
    """
    _require_as_many(columns, present, spec)
    if k_of(spec) is not None:
        return columns
    rule = _rule_of_repeats(spec, tuple(columns.values()))
    if rule is None:
        return columns
    require_right_or_wrong(tuple(columns.values()), rule)
    return {name: _reduced(column, rule) for name, column in columns.items()}


def _require_as_many(
    columns: Mapping[str, Column | Repeated], present: Mapping[str, Integers], spec: StatisticSpec
) -> None:
    """Refuse an item with more samples in one column than in another; raises InvalidTest at `<name>/<item>`."""
    if not any(isinstance(column, Repeated) for column in columns.values()):
        return
    last = max(int(items[-1]) for items in present.values()) if present else -1
    known = np.zeros(max(last + 1, *map(len, columns.values())), dtype=np.int64)
    for name, column in columns.items():
        lengths = lengths_of(column)
        where = present[name] if name in present else np.arange(len(lengths))
        before = known[where]
        differ = (before != lengths) & (before > 0)
        if differ.any():
            index = int(differ.argmax())
            here, other = int(lengths[index]), int(before[index])
            raise unequal_runs(f"{name}/{index}", here, other, choices=other_exchange(spec))
        known[where] = lengths


def other_exchange(spec: StatisticSpec) -> tuple[Choice, ...]:
    """Return the choice that allows unequal numbers of runs, where the statistic has one."""
    whole = spec.parameters.get("repeats") in {"all", "any"} and spec.parameters.get("k") is None
    return (EXCHANGE_RUNS,) if spec.name in OF_RUNS and not whole else ()


def unequal_runs(
    pointer: str, here: int, other: int, item: str = "This item", choices: tuple[Choice, ...] = ()
) -> InvalidTest:
    """Return the refusal of an item that was run `here` times here and `other` times by another system."""
    detail = (
        f"{item} has {here:,} {'run' if here == 1 else 'runs'} here and {other:,} in another system. "
        "Results of more runs have another distribution, so that even identical systems would differ: give "
        "both systems the same number of runs of every item, and leave out the surplus."
    )
    return InvalidTest.at(pointer, "unequal_repeats", detail, choices)


def _rule_of_repeats(spec: StatisticSpec, columns: Sequence[Column | Repeated]) -> str | None:
    """Return `all` or `any` where there are repeated samples."""
    rule = spec.parameters.get("repeats")
    several = any(isinstance(column, Repeated) for column in columns)
    return str(rule) if rule in {"all", "any"} and several else None


def require_right_or_wrong(sides: Sequence[Column | Repeated], rule: str) -> None:
    """Refuse samples that are neither 0 nor the score of a right one."""
    columns = [samples_in(side) for side in sides]
    for right in RIGHT:
        if all(bool(((column == 0) | (column == right)).all()) for column in columns):
            return
    detail = (
        f"With {marked('repeats', rule)} every sample must be right or wrong: 1 or 0, or 100 or 0 throughout."
    )
    raise InvalidTest.at("/statistic/repeats", "not_right_or_wrong", detail)


def k_of(spec: StatisticSpec) -> int | None:
    """Return the number of runs that pass@k or pass^k is about, None for all of an item; raises InvalidTest at /statistic/k."""
    k = spec.parameters.get("k")
    if k is not None and spec.parameters.get("repeats") not in {"all", "any"}:
        detail = "k is the number of runs of pass@k (`repeats=any`) or pass^k (`repeats=all`): set one of these, or leave k out."
        choices = choices_of("repeats", {"any": "Any of k runs is right", "all": "All of k runs are right"})
        raise InvalidTest.at("/statistic/k", "k_needs_all_or_any", detail, choices)
    if k is not None and k < 1:
        raise InvalidTest.at("/statistic/k", "out_of_range", "k must be at least 1.")
    return k


@dataclass(frozen=True, slots=True)
class PassRates:
    """Pass@k or pass^k: unit * scores[n, c] of an item with c right ones of n runs; `right` ones of each item of u and v.

    That is the share of the draws of k of its runs in which any, or all, are right (Chen et al. 2021, section 2.1).
    """

    unit: Fraction
    scores: Mapping[tuple[int, int], int]
    right: tuple[Integers, Integers]

    def of(self, lengths: Integers, right: Integers) -> Whole:
        """Return the scores of items, shape (n,)."""
        pairs = zip(lengths.tolist(), right.tolist(), strict=True)
        return np.array([self.scores[pair] for pair in pairs], dtype=object)


# Of all binomial coefficients together: about a second.
_MOST_BITS_OF_RATES = 50_000_000


def pass_rates(data: Scores, spec: StatisticSpec) -> PassRates:
    """Return the pass rates; raises InvalidTest for samples that are not right or wrong, or fewer than `k`."""
    rule, k = str(spec.parameters["repeats"]), k_of(spec)
    sides = data.u, data.v
    require_right_or_wrong(sides, rule)
    for name, side in zip("uv", sides, strict=True):
        few = lengths_of(side) < (k or 1)
        if few.any():
            at = int(few.argmax())
            has = int(lengths_of(side)[at])
            detail = f"k is {k}, and item {at} of {name} has {has} {'run' if has == 1 else 'runs'}: choose a k that every item has."
            raise InvalidTest.at("/statistic/k", "k_too_large", detail)
    score = max(int(samples_in(side).max()) for side in sides) or 1
    starts = [np.cumsum(lengths_of(side)) - lengths_of(side) for side in sides]
    right = [
        np.add.reduceat((samples_in(side) != 0).astype(np.int64), start)
        for side, start in zip(sides, starts, strict=True)
    ]
    sizes = np.unique(np.concatenate([lengths_of(side) for side in sides])).tolist()
    bits = sum((size + 1) * min(k or size, size - (k or size)) * size.bit_length() for size in sizes)
    if bits > _MOST_BITS_OF_RATES:
        detail = "The numbers of ways to draw k of so many runs are too long: choose a smaller k, or give fewer runs."
        raise InvalidTest.at("/statistic/k", "k_too_large", detail)
    ways = {size: math.comb(size, k or size) for size in sizes}
    common = math.lcm(*ways.values())
    scores = {
        (size, c): common // ways[size] * _passing(size, c, k or size, rule)
        for size in ways
        for c in range(size + 1)
    }
    return PassRates(Fraction(score, common), scores, (right[0], right[1]))


def _passing(runs: int, right: int, k: int, rule: str) -> int:
    """Count the draws of k runs, of C(runs, k), with any or with all of them right."""
    if rule == "all":
        return math.comb(right, k)
    return math.comb(runs, k) - math.comb(runs - right, k)


def _reduced(side: Column | Repeated, rule: str) -> Column:
    if not isinstance(side, Repeated):
        return side
    best = np.minimum if rule == "all" else np.maximum
    starts = np.cumsum(side.lengths) - side.lengths
    reduced: Column = best.reduceat(side.values, starts)
    return reduced
