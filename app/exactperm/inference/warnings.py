"""What the reader of a p-value should know: warnings with a code and a sentence."""

from __future__ import annotations

from ..answers.test import ItemLevel, WarningRecord
from ..presentation.numbers import number
from .options import Options
from .p_value import mid_p_value, undecided
from .prepared import Result


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
