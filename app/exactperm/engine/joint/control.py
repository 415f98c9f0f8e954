"""A control variate for sampled swaps: one sum of the same coins, with an exactly known tail.

t is sampled; L = shift + sum of signs times effects correlates with it, and P(L in R) is known. With A = {t is
extreme},

    P(A) = P(L in R) + P(A, L not in R) - P(not A, L in R),

and only the last two, which are small where L agrees with t, come from samples (control variates: Hammersley &
Handscomb 1964, *Monte Carlo Methods*, section 5.5). Their counts are binomial, so Clopper & Pearson's intervals of
both, each with half of the error, bound the difference for any L, as long as R is fixed before the samples are drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..lattice import CanonicalForm, Integers, canonical_form
from ..one_sum.monte_carlo import CONFIDENCE, Estimate
from ..probability import Alternative, Probability, Region, region
from .form import JointForm

# P(L in its tail) below this has lost some or all digits.
_UNDERFLOWS = 1e-300


@dataclass(frozen=True, eq=False)
class Control:
    """L = shift + sum_j effects[j] (2 B_j - counts[j]), B_j the heads of vector j of a `JointForm`; shape (U,).

    `line` is L's canonical form, `region` the values of T in its tail, `tail` their probability.
    """

    effects: Integers
    base: int
    line: CanonicalForm
    region: Region
    tail: Probability

    def inside(self, moved: Integers) -> NDArray[np.bool_]:
        """Return where L is in its tail, given the sums of effects times heads."""
        totals = self.base + 2 * moved
        mask = np.zeros(len(moved), dtype=bool)
        for low, high in self.region.intervals:
            first, last = (self.line.offset + self.line.step * end for end in (low, high))
            mask |= (totals >= first) & (totals <= last)
        return mask


@dataclass(frozen=True, slots=True)
class Tail:
    """The tail of L that corresponds to the tail of t: a `Control` whose probability is not yet computed."""

    effects: Integers
    base: int
    line: CanonicalForm
    region: Region

    def known(self, tail: Probability) -> Control:
        """Return the control variate with P(L in its tail) = `tail`."""
        return Control(self.effects, self.base, self.line, self.region, tail)


def tail_of(form: JointForm, effects: Integers, shift: int, alternative: Alternative) -> Tail:
    """Return the tail of L at least as extreme as the observed L; `effects`, shape (U,), are those of the vectors."""
    each = canonical_form(np.repeat(effects, form.counts))
    line = CanonicalForm(each.offset + shift, each.step, each.weights, each.counts, each.items)
    base = shift - int((effects * form.counts).sum())
    observed = base + 2 * int((effects * form.heads).sum())
    return Tail(effects, base, line, region(line, observed, alternative))


@dataclass(frozen=True, slots=True)
class ControlledEstimate:
    """A sampled p-value with a control variate.

    Of the samples, `gained` have t in its tail but not L, `lost` the reverse; `plain` counts t alone; `tail` is P(L in
    R).
    """

    plain: Estimate
    tail: Probability
    gained: int
    lost: int

    @property
    def raw(self) -> float:
        """The unbiased estimate, which may lie outside [0, 1]."""
        return self.tail.p + (self.gained - self.lost) / self.plain.samples

    @property
    def standard_error(self) -> float:
        """The standard error of the estimate, with one discordant sample added."""
        samples = self.plain.samples
        discordant = (self.gained + self.lost + 1) / (samples + 1)
        moved = (self.gained - self.lost) / samples
        return math.sqrt(max(discordant - moved * moved, 0.0) / samples)

    def interval(self, confidence: float = CONFIDENCE) -> tuple[float, float]:
        """Return a confidence interval for the exact p-value, inside [0, 1]."""
        each = 0.5 * (1.0 + confidence)
        gained, lost = (
            Estimate(self.plain.samples, self.plain.seed, count).interval(each)
            for count in (self.gained, self.lost)
        )
        bound = self.tail.relative_error_bound + 2.0**-50
        p = self.tail.p
        least, most = p * (1.0 - bound) if p > _UNDERFLOWS else 0.0, min(p * (1.0 + bound), 1.0)
        # The loss is at most the tail of L, and the gain at most its complement.
        low = max(least - lost[1], 0.0) + gained[0]
        high = max(most - lost[0], 0.0) + min(gained[1], 1.0 - least)
        return min(max(low, 0.0), 1.0), min(high, 1.0)
