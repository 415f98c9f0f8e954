"""What the reader of a p-value should know: warnings with a code and a sentence."""

from __future__ import annotations

from app.inference.options import Options
from app.inference.record import Caution, ItemsRecord


def cautions(
    options: Options,
    items: ItemsRecord,
    attainable: float,
    bounds: tuple[float, float],
    *,
    exact: bool,
) -> tuple[Caution, ...]:
    """The warnings of one test, most important first."""
    found = []
    if items.nonzero == 0:
        found.append(
            Caution(
                "no_differences",
                "The systems do not differ on any item: every swap gives the same statistic.",
            )
        )
    elif attainable > options.alpha:
        found.append(
            Caution(
                "alpha_unattainable",
                f"No outcome on these items could have p below {attainable:.3g}, which is above alpha = "
                f"{options.alpha}: {items.nonzero} units with a difference are too few.",
            )
        )
    if not exact:
        found.append(
            Caution(
                "sampled",
                "The p-value is a Monte Carlo estimate: the truth lies inside p_value_bounds with 99 % "
                "confidence. `method.reason` says why it was sampled.",
            )
        )
    if not exact and bounds[0] <= options.alpha <= bounds[1]:
        found.append(
            Caution(
                "alpha_within_bounds",
                f"alpha = {options.alpha} lies inside the 99 % interval of the sampled p-value: "
                "ask for more samples to decide.",
            )
        )
    return tuple(found)
