"""Warnings about a p-value: code and sentence."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from ..answers.test import ItemLevel, WarningRecord
from ..engine.lattice import Reals, digits_and_places, needs_more_digits, shortest_decimals
from ..errors import InvalidTest, PlanTooLarge
from ..presentation.numbers import p_number
from ..statistics.correction import correction_warning
from ..statistics.counts import totals_warning
from ..statistics.effects import weights_warning
from ..statistics.item_ids import summary_warning
from ..statistics.labels import label_warnings
from ..statistics.paired import (
    Column,
    Counts,
    DataWarning,
    Paired,
    Pairing,
    Predictions,
    Repeated,
    Scores,
    StatisticSpec,
)
from ..statistics.pairwise.data import PAIRWISE, pair_warnings
from .certificate import PlannedTest, Result, mid_p_value, undecided
from .options import Options

# Floating-point dust: scores whose last digits are of arithmetic and not of measurement, and what p they hide


# How many values are examined at all, and how long the test of the likely scores may take.
_MOST_VALUES = 400_000
_MAX_SECONDS = 0.25
_DECIMALS = 12
_MAX_DENOMINATOR = 1_000
# Dust is of so many last places of the largest score.
ULPS = 32
# Scores printed with at least so many decimals may be fractions; that they are by chance has this probability.
_FEWEST_PRINTED = 4
_LARGE = 1e11
_CHANCE = 1e-9
_TRIED_FIRST = 20


Planning = Callable[[Paired, StatisticSpec, Options], PlannedTest]
Change = Callable[[Reals], Reals]


@dataclass(frozen=True, slots=True)
class Dust:
    """Scores with dust: the warning about them, and the test of the likely scores, if that is cheap."""

    seen: str
    likely: str | None
    test: PlannedTest | None

    @property
    def seconds(self) -> float:
        """Predicted time of `warning`."""
        return 0.0 if self.test is None else self.test.seconds

    def warning(self) -> WarningRecord:
        """The warning."""
        if self.test is None:
            return WarningRecord("float_dust", f"{self.seen}.")
        p = self.test.solve().answer.p_value
        return WarningRecord("float_dust", f"{self.seen}. {self.likely} p would be {p_number(p)}.")


def planned_dust(data: Paired, spec: StatisticSpec, options: Options, plan: Planning | None) -> Dust | None:
    """Look for dust and plan the test without it; None if there is none. `plan` makes a test of data, None plans none."""
    if not isinstance(data, Scores) or spec.parameters.get("unit") is not None:
        return None
    columns = [_values(side) for side in (data.u, data.v)]
    if all(column.dtype == np.int64 for column in columns):
        return None
    values = np.concatenate([column.astype(np.float64) for column in columns])
    if len(values) > _MOST_VALUES or _are_short(values):
        return None
    found = _likely_scores(values)
    if found is None:
        return None
    seen, likely, change, size = found
    if likely is None or plan is None:
        return Dust(seen, likely, None)
    meant = spec if size is None else StatisticSpec(spec.name, {**spec.parameters, "unit": f"1/{size}"})
    try:
        test = plan(data if change is None else _mapped(data, change), meant, options.alone(method="auto"))
    except (InvalidTest, PlanTooLarge):
        return Dust(seen, None, None)
    return Dust(seen, likely, test if test.seconds <= _MAX_SECONDS else None)


def _are_short(values: Reals) -> bool:
    """Whether all print with fewer than _FEWEST_PRINTED decimals and 15 digits, as most scores do: these have no dust."""
    power = 10.0 ** (_FEWEST_PRINTED - 1)
    return bool(
        np.abs(values).max(initial=0.0) < _LARGE and (np.rint(values * power) / power == values).all()
    )


def _likely_scores(values: Reals) -> tuple[str, str | None, Change | None, int | None] | None:
    """The dust in words, the likely scores in words, and how to get them: a change, or a denominator. None without dust."""
    count, distinct = int(np.count_nonzero(needs_more_digits(values))), np.unique(values)
    if count == 0:
        size, places = _printed(distinct)
        seen = f"The scores look like multiples of 1/{size} printed with {places} decimals, which breaks ties"
        if size is None:
            return None
    else:
        seen = (
            f"{count:,} of {len(values):,} scores have 16 or 17 significant digits, as floating-point arithmetic leaves "
            "them: ties are those of the doubles as they are, and `decimals` rounds"
        )
        narrow = _narrow(distinct)
        if narrow is not None:
            return seen, narrow[1], narrow[0], None
        if _near(distinct, 10.0**_DECIMALS, _slack(distinct)).all():
            return seen, f'With 12 decimals ("decimals": {_DECIMALS})', _to_twelve, None
        size = _denominator(distinct, _slack(distinct))
    likely = None if size is None else f'As multiples of 1/{size} ("unit": "1/{size}")'
    return seen, likely, None, size


def _printed(distinct: Reals) -> tuple[int | None, int]:
    """The denominator of thirds and the like that were printed with a few decimals, None for others; and the decimals."""
    parts = digits_and_places(distinct)
    places = 0 if parts is None else int(parts[1].max(initial=0))
    if parts is None or not _FEWEST_PRINTED <= places <= _DECIMALS:
        return None, places
    # Numbers with fewer decimals may be exact.
    cut = int(np.count_nonzero(parts[1] == places))
    size = _denominator(distinct, 0.5000001 * 10.0**-places)
    if size is not None:
        exact = np.abs(distinct * size - np.rint(distinct * size)) <= 1e-9
        if (size * 10.0**-places) ** cut > _CHANCE or exact.all():
            return None, places
    return size, places


def _narrow(distinct: Reals) -> tuple[Change, str] | None:
    """How to read numbers that are all of single precision, and what to say of it."""
    with np.errstate(over="ignore"):
        if not np.array_equal(distinct.astype(np.float32), distinct):
            return None
    shortest = shortest_decimals(distinct, np.dtype(np.float32))
    parts = digits_and_places(shortest)
    places = _DECIMALS + 1 if parts is None else int(parts[1].max(initial=0))
    option = f' ("decimals": {places})' if places <= _DECIMALS else ""
    return (
        lambda values: shortest_decimals(values, np.dtype(np.float32)),
        f"They are of single precision (float32); as the decimals that those print as{option}",
    )


def _denominator(distinct: Reals, slack: float) -> int | None:
    """The smallest r up to 1,000 with all numbers within `slack` of multiples of 1/r."""
    sizes = np.arange(2.0, _MAX_DENOMINATOR + 1)
    for number in distinct[:: max(len(distinct) // _TRIED_FIRST, 1)]:
        sizes = sizes[_near(number, sizes, slack)]
        if not len(sizes):
            return None
    return next((int(size) for size in sizes if _near(distinct, size, slack).all()), None)


def _near(numbers: Reals, sizes: float | Reals, slack: float) -> NDArray[np.bool_]:
    """Which are within `slack` of multiples of 1 / size."""
    with np.errstate(over="ignore"):  # the largest doubles have no dust
        return np.asarray(np.abs(np.rint(numbers * sizes) / sizes - numbers) <= slack)


def _slack(distinct: Reals) -> float:
    """What dust there may be on scores of this size; little against twelve decimals."""
    largest = float(np.abs(distinct).max(initial=0.0))
    return min(ULPS * math.ulp(largest), 1e-14)


def _to_twelve(values: Reals) -> Reals:
    return np.asarray(np.rint(values * 10.0**_DECIMALS) / 10.0**_DECIMALS)


def _values(side: Column | Repeated) -> Column:
    return side.values if isinstance(side, Repeated) else side


def _mapped(data: Scores, change: Change) -> Scores:
    """The same data with every number changed."""

    def changed(side: Column | Repeated) -> Column | Repeated:
        values = change(_values(side).astype(np.float64))
        return Repeated(values, side.lengths) if isinstance(side, Repeated) else values

    return replace(data, u=changed(data.u), v=changed(data.v))


# Signs of a mistake in the data: warnings of a test, refusals of a gate


def data_warnings(data: Paired, spec: StatisticSpec) -> tuple[DataWarning, ...]:
    """Few items left, averages among the items, labels that never match gold; raises InvalidTest if that is certain."""
    of_items = [mostly_dropped(data.pairing)]
    if data.pairing.ids is not None:
        of_items.append(summary_warning(data.pairing))
    labels: list[DataWarning] = []
    if isinstance(data, Predictions):
        labels = pair_warnings(data, spec) if spec.name in PAIRWISE else label_warnings(data, spec)
    beside = None
    if isinstance(data, Scores) and data.correction is not None:
        beside = correction_warning(data.correction)
    totals = totals_warning(data, spec) if isinstance(data, Counts) else None
    dust = weights_warning(data.weights) if isinstance(data, Scores) and data.weights is not None else None
    return (*(warning for warning in (*of_items, totals, dust, beside) if warning is not None), *labels)


def mostly_dropped(pairing: Pairing) -> DataWarning | None:
    """The warning that more than half of a column's items were left out, if they were."""
    matched, largest = pairing.matched, pairing.largest
    if matched is None or largest is None or 2 * matched >= largest:
        return None
    detail = (
        f"Only {matched:,} of {largest:,} items were compared: the others have no counterpart or no value, and on_missing "
        "left them out. The rest may not be representative: check that the ids are spelled the same and that no run "
        "stopped early, or give only the items to compare."
    )
    return DataWarning("/on_missing", "mostly_dropped", detail)


def refuse_undecidable(warnings: tuple[DataWarning, ...]) -> None:
    """Refuse data that no gate should decide by; raises InvalidTest."""
    for warning in warnings:
        if warning.undecidable:
            detail = f"{warning.detail} A gate does not decide on such data."
            raise InvalidTest.at(warning.pointer, warning.code, detail)


def warnings_of(
    options: Options, result: Result, item_level: ItemLevel | None, *, exact: bool
) -> tuple[WarningRecord, ...]:
    """The warnings of one test, most important first."""
    items, attainable = result.items, result.attainable_between[0]
    warnings = []
    if items.nonzero == 0:
        warnings.append(
            WarningRecord(
                "no_differences",
                "The systems do not differ on any item: every swap gives the same statistic.",
            )
        )
    elif attainable > options.alpha:
        warnings.append(
            WarningRecord(
                "alpha_unattainable",
                f"No outcome on these items could have p below {p_number(attainable, options.alpha, digits=3)}, which is above alpha = "
                f"{options.alpha}: {_units(items.nonzero)} too few.",
            )
        )
    warnings.extend(_of_the_method(options, result, exact=exact))
    if item_level and (item_level.p_value <= options.alpha) != (result.answer.p_value <= options.alpha):
        warnings.append(
            WarningRecord(
                "clusters_decide",
                f"By item the p-value would be {p_number(item_level.p_value, options.alpha, digits=3)}, on the other side of alpha = "
                f"{options.alpha}: items of a cluster are not independent, so the clustered test counts.",
            )
        )
    if options.significance == "mid_p" and mid_p_value(result.answer) is None:
        warnings.append(
            WarningRecord(
                "mid_p_not_known",
                "The mid-p-value is not known here: it is between half of p_value and p_value, and "
                "`significant` holds for certain.",
            )
        )
    warnings.extend(WarningRecord(code, detail) for code, detail in result.warnings)
    return tuple(warnings)


def _units(count: int) -> str:
    return "1 unit with a difference is" if count == 1 else f"{count:,} units with a difference are"


def _wider(width: float, precision: float) -> WarningRecord:
    size = f"{width:.2g} times its lower end" if width < 1e6 else "of no known lower end"
    return WarningRecord(
        "precision_not_reached",
        f"The bracket is {size} wide, not {precision:g} as requested; the true p-value is still inside "
        "p_value_bounds. Choose another method if one fits.",
    )


def _of_the_method(options: Options, result: Result, *, exact: bool) -> list[WarningRecord]:
    """Warnings about an estimated or bracketed p-value."""
    answer = result.answer
    low, high = answer.bounds
    if answer.monte_carlo is not None:
        estimate = "estimate" if answer.monte_carlo.control is None else "estimate with a control variate"
        warnings = [
            WarningRecord(
                "sampled",
                f"The p-value is a Monte Carlo {estimate}: the true p-value lies inside p_value_bounds with 99 % "
                "confidence. `method.reason` says why it was sampled.",
            )
        ]
        advice = "request more samples to decide"
    elif answer.relative_error_bound is None:
        return []  # an upper bound for p = 0 has a separate warning
    elif exact:
        warnings, advice = [], "they are as close as doubles can be; choose alpha before looking at the data"
    else:
        warnings = [] if answer.wider is None else [_wider(answer.wider, options.precision)]
        wanted = abs(options.alpha - answer.p_value) / options.alpha
        advice = f"request a precision below {max(wanted, 1e-12):.1g} to decide"
        if answer.wider is not None:
            advice = "it cannot get narrower; samples (method monte_carlo) locate p with 99 % confidence"
    if undecided(answer, options.alpha):
        warnings.append(
            WarningRecord(
                "alpha_within_bounds",
                f"alpha = {options.alpha} lies inside p_value_bounds "
                f"[{p_number(low, options.alpha)}, {p_number(high, options.alpha)}]: {advice}.",
            )
        )
    return warnings
