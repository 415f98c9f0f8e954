"""A gate's question of data with missing outcomes: both extreme fillings, so that the verdict holds under every one."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

from ..additive_test import AdditiveTest
from ..paired_test import Prepared
from ..rounded_test import RoundedTest
from .outcome import MarginTest, Outcome, greatest_known


@dataclass(frozen=True, slots=True)
class OverFillings:
    """One question put to the filling that is worst for U and to the one that is best.

    One-sided p-values are monotone in every outcome (`statistics.columns`), so that those of all fillings lie between the two.
    """

    worst: MarginTest
    best: MarginTest
    # What could be attained on the complete items alone: a filling may make all others ties.
    attainable: float

    @property
    def seconds(self) -> float:
        """Predicted time of both."""
        return self.worst.seconds + self.best.seconds

    def run(self) -> Outcome:
        """The outcome with the larger p-value, and bounds that hold under every filling."""
        outcomes = self.worst.run(), self.best.run()
        larger = max(outcomes, key=lambda outcome: outcome.log10_p_value)
        lows, highs = zip(*(outcome.p_value_bounds for outcome in outcomes), strict=True)
        return replace(
            larger,
            p_value_bounds=(min(lows), max(highs)),
            exact=all(outcome.exact for outcome in outcomes),
            min_attainable_p=greatest_known(
                self.attainable, *(outcome.min_attainable_p for outcome in outcomes)
            ),
            missing=True,
        )


def over_fillings(prepared: Prepared, put: Callable[[Prepared], MarginTest]) -> OverFillings:
    """The question that `put` makes of a prepared test, of both fillings."""
    fillings = prepared.fillings
    assert fillings is not None
    assert isinstance(
        prepared.test, AdditiveTest | RoundedTest
    )  # the statistics that have bounds are additive
    worst, best = (
        put(replace(prepared, test=test, fillings=None)) for test in (fillings.worst, fillings.best)
    )
    return OverFillings(worst, best, math.ldexp(1.0, -prepared.test.form.nonzero))
