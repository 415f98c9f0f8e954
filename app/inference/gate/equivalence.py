"""The gate policy `equivalent`: two one-sided tests of a margin, and whether a difference beyond it is shown.

Two one-sided tests (TOST): Schuirmann 1987, *Journal of Pharmacokinetics and Biopharmaceutics* 15:657-680. Both null
hypotheses, U - V <= -margin and U - V >= margin, are rejected at alpha each; the larger of both p-values is that of
the intersection-union test (Berger 1982, *Technometrics* 24:295-300), which needs no further adjustment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from fractions import Fraction

from ...engine.plan import Budget
from ..paired_test import Prepared
from .margin import Question, margin_test
from .outcome import MarginTest, Outcome, greatest_known
from .record import EquivalenceRecord, GateTerms


@dataclass(frozen=True, slots=True)
class EquivalenceTest:
    """Four one-sided tests of a margin.

    `above` is greater than -margin and `below` less than +margin: both are shown of equivalent systems. `beyond` is
    greater than +margin and `short` less than -margin: either shows that they are not.
    """

    above: MarginTest
    below: MarginTest
    beyond: MarginTest
    short: MarginTest

    @property
    def seconds(self) -> float:
        """Predicted time of all four."""
        return sum(test.seconds for test in (self.above, self.below, self.beyond, self.short))

    def run(self) -> Outcome:
        """The one of both tests with the larger p-value, with bounds of the larger; and what the others say."""
        above, below = self.above.run(), self.below.run()
        larger = max(above, below, key=lambda outcome: outcome.log10_p_value)
        lows, highs = zip(above.p_value_bounds, below.p_value_bounds, strict=True)
        either = self.beyond.run(), self.short.run()
        record = EquivalenceRecord(
            p_value_above=above.p_value,
            log10_p_value_above=above.log10_p_value,
            p_value_below=below.p_value,
            log10_p_value_below=below.log10_p_value,
            p_value_different=min(1.0, 2.0 * min(outcome.p_value for outcome in either)),
            log10_p_value_different=min(
                0.0, math.log10(2.0) + min(outcome.log10_p_value for outcome in either)
            ),
            p_value_different_bounds=(
                min(1.0, 2.0 * min(outcome.p_value_bounds[0] for outcome in either)),
                min(1.0, 2.0 * min(outcome.p_value_bounds[1] for outcome in either)),
            ),
        )
        return replace(
            larger,
            p_value_bounds=(max(lows), max(highs)),
            min_attainable_p=greatest_known(above.min_attainable_p, below.min_attainable_p),
            exact=above.exact and below.exact,
            equivalence=record,
        )


def equivalence_test(prepared: Prepared, terms: GateTerms, budget: Budget) -> EquivalenceTest:
    """Plan the four tests; raises what `margin_test` raises."""
    margin = Fraction(repr(float(terms.margin)))
    return EquivalenceTest(
        above=margin_test(prepared, Question("greater", -margin), budget),
        below=margin_test(prepared, Question("less", margin), budget),
        beyond=margin_test(prepared, Question("greater", margin), budget),
        short=margin_test(prepared, Question("less", -margin), budget),
    )
