"""What the reader of a p-value should know: warnings with a code and a sentence."""

from __future__ import annotations

from ..answers.test import ItemLevel, WarningRecord
from ..errors import InvalidTest
from ..presentation.numbers import number
from ..statistics.columns import summary_warning
from ..statistics.counts import totals_warning
from ..statistics.labels import label_warnings
from ..statistics.numbers import weights_warning
from ..statistics.paired import Counts, DataWarning, Paired, Pairing, Predictions, Scores, StatisticSpec
from ..statistics.pairwise.data import PAIRWISE, pair_warnings
from .options import Options
from .result import Result, mid_p_value, undecided

# What makes the data of a test look like a mistake: warnings of a test, refusals of a gate


def data_warnings(data: Paired, spec: StatisticSpec) -> tuple[DataWarning, ...]:
    """Few items left, rows of averages among them, labels that never match gold; raises InvalidTest where that is certain."""
    of_items = (mostly_dropped(data.pairing), summary_warning(data.pairing))
    labels: list[DataWarning] = []
    if isinstance(data, Predictions):
        labels = pair_warnings(data, spec) if spec.name in PAIRWISE else label_warnings(data, spec)
    totals = totals_warning(data, spec) if isinstance(data, Counts) else None
    dust = weights_warning(data.weights) if isinstance(data, Scores) and data.weights is not None else None
    return (*(warning for warning in (*of_items, totals, dust) if warning is not None), *labels)


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
    """Refuse what no gate should decide by; raises InvalidTest."""
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
                f"No outcome on these items could have p below {number(attainable, options.alpha, 1.0, digits=3)}, which is above alpha = "
                f"{options.alpha}: {_units(items.nonzero)} too few.",
            )
        )
    warnings.extend(_of_the_method(options, result, exact=exact))
    if item_level and (item_level.p_value <= options.alpha) != (result.answer.p_value <= options.alpha):
        warnings.append(
            WarningRecord(
                "clusters_decide",
                f"By item the p-value would be {number(item_level.p_value, options.alpha, 1.0, digits=3)}, on the other side of alpha = "
                f"{options.alpha}: items of a cluster are not independent, so the clustered test counts.",
            )
        )
    if options.significance == "mid_p" and mid_p_value(result.answer) is None:
        warnings.append(
            WarningRecord(
                "mid_p_not_known",
                "The mid-p-value is not known here: it is between half of p_value and p_value, and `significant` says only what "
                "is certain of it.",
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
        f"The bracket is {size} wide, not {precision:g} as requested; the true p-value is inside p_value_bounds nevertheless. "
        "Ask for another method where one fits.",
    )


def _of_the_method(options: Options, result: Result, *, exact: bool) -> list[WarningRecord]:
    """What it means that the p-value is an estimate or a bracket."""
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
        advice = "ask for more samples to decide"
    elif answer.relative_error_bound is None:
        return []  # an upper bound for p = 0 has a warning of its own
    elif exact:
        warnings, advice = [], "they are as close as doubles can be; choose alpha before looking at the data"
    else:
        warnings = [] if answer.wider is None else [_wider(answer.wider, options.precision)]
        wanted = abs(options.alpha - answer.p_value) / options.alpha
        advice = f"ask for a precision below {max(wanted, 1e-12):.1g} to decide"
        if answer.wider is not None:
            advice = "it gets no narrower; samples (method monte_carlo) tell with 99 % confidence where p is"
    if undecided(answer, options.alpha):
        warnings.append(
            WarningRecord(
                "alpha_within_bounds",
                f"alpha = {options.alpha} lies inside p_value_bounds "
                f"[{number(low, options.alpha, 1.0)}, {number(high, options.alpha, 1.0)}]: {advice}.",
            )
        )
    return warnings
