"""A gate that is asked again as items come in: an e-value in the place of the p-value, which holds at every look."""

from __future__ import annotations

import math
from dataclasses import dataclass

from ...engine.probability import SMALLEST
from ...errors import InvalidTest
from ..options import Sequential
from ..p_value import SMALLEST_NORMAL
from ..paired_test import Prepared
from ..record import SequentialRecord
from ..sequential import SequentialTest, sequential_test
from .margin import Question
from .outcome import Outcome
from .record import GateTerms


@dataclass(frozen=True, slots=True)
class AnytimeTest:
    """The policy's one-sided question, put to the e-value of the differences less the margin."""

    question: Question
    test: SequentialTest
    alpha: float

    @property
    def seconds(self) -> float:
        """Predicted time."""
        return 2.0 * self.test.seconds

    @property
    def longest_seconds(self) -> float:
        """The same where doubles do not decide."""
        return self.seconds + self.test.longest_seconds - self.test.seconds

    @property
    def is_complete(self) -> bool:
        """Whether all items that were planned are there, so that the verdict can wait no longer."""
        planned = self.test.asked.planned_n
        return planned is not None and self.test.items >= planned

    def record(self) -> SequentialRecord:
        """The e-value as the answer says it."""
        return self.test.record(self.alpha)

    def run(self) -> Outcome:
        """The p-value of any time, 1 / e; its upper bound is at most alpha only where the e-value is certain to reach 1 / alpha."""
        found = self.test.e_value()
        most = self.test.e_value(self._most())
        low, high = _inverse(found.log_e + found.error), _inverse(found.log_e - found.error)
        if low < SMALLEST_NORMAL:
            low = 0.0  # a subnormal double has not the digits of its logarithm
        if self.test.rejects(self.alpha):
            high = min(high, self.alpha)
        else:
            high = max(high, math.nextafter(self.alpha, 1.0))
            low = max(low, math.nextafter(self.alpha, 1.0)) if low <= self.alpha < high else low
        record = self.record()
        return Outcome(
            procedure="e_value",
            alternative=self.question.alternative,
            difference=float(self.question.difference),
            p_value=min(max(record.p_anytime, low), high),
            log10_p_value=record.log10_p_anytime,
            p_value_bounds=(low, high),
            p_value_bounds_kind="certified",
            exact=True,
            min_attainable_p=_inverse(most.log_e),
            waiting=not self.is_complete,
        )

    def _most(self) -> int:
        """The sum with every difference on the side of the alternative."""
        size = self.test.form.step * self.test.form.range // 2
        return size if self.question.alternative == "greater" else -size


def _inverse(log_e: float) -> float:
    """1 / e as a p-value: at most 1, and never 0; rounded up where it is subnormal."""
    p = math.exp(-max(log_e, 0.0))
    return p if p >= SMALLEST_NORMAL else p + SMALLEST


def anytime_test(prepared: Prepared, terms: GateTerms, question: Question, asked: Sequential) -> AnytimeTest:
    """Plan it; raises InvalidTest for what has no e-value."""
    if terms.policy == "equivalent":
        detail = "There is no e-value of equivalence: leave sequential out, or choose another policy."
        raise InvalidTest.at("/sequential", "not_available", detail)
    test = sequential_test(prepared.test.problem, asked, question.alternative, question.difference)
    return AnytimeTest(question, test, terms.alpha)
