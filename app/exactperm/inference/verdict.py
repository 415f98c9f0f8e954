"""Verdicts and sentences from the one-sided tests of metrics."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Literal, TypeVar

from ..answers.gate import (
    PRESUMED,
    TARGETS,
    Decision,
    GateTerms,
    MetricRecord,
    OneSidedTest,
    OnInconclusive,
    Policy,
    Procedure,
    Verdict,
)
from ..answers.test import StatisticRecord, TestRecord
from ..engine.one_sum.methods import FRACTION_METHODS
from ..engine.probability import SMALLEST
from ..presentation.numbers import exactly, probability
from ..presentation.words import decision_p_text
from ..statistics.names import direction, measured
from .certificate import flaw_of_numbers, is_at_most
from .one_sided import Outcome

# Holm's step-down adjustment: several tests at once, the chance of any false finding at most alpha


_Number = TypeVar("_Number", float, Fraction | float)


def holm(p_values: Sequence[_Number]) -> list[_Number]:
    """Adjusted p-values, in the order given (Holm 1979, *Scandinavian Journal of Statistics* 6:65-70).

    The k-th smallest of m is multiplied by m - k + 1, is at least the one before it, and at most 1. Monotone in
    every p-value, so that bounds may be adjusted like the values they bound. Fractions stay fractions.
    """
    return _stepped_down(p_values, lambda factor, p: min(factor * p, 1.0))


def holm_log10(log10_p_values: Sequence[float]) -> list[float]:
    """The same in logarithms, for p-values too small for a double."""
    return _stepped_down(log10_p_values, lambda factor, log10_p: min(math.log10(factor) + log10_p, 0.0))


def _stepped_down(values: Sequence[_Number], multiplied: Callable[[int, _Number], _Number]) -> list[_Number]:
    adjusted: list[_Number] = [0.0] * len(values)
    largest: _Number = -math.inf
    for rank, index in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = max(largest, multiplied(len(values) - rank, values[index]))
        adjusted[index] = largest
    return adjusted


# Below this, multiples of a p-value come from its logarithm: the double has no digits left.
_NORMAL = 1e-300

Finding = Literal[
    "shown", "not_shown", "bounds_straddle", "unattainable", "not_known", "different", "missing_straddle"
]


@dataclass(frozen=True, slots=True)
class Judgement:
    """The judgement of one test at its alpha, after Holm.

    `shown`: the conservative end of the p-value's bounds is at most alpha. `bounds_straddle`: alpha lies between the
    bounds, which are `bounds` after Holm. `unattainable`: not shown, and no outcome on these items could have shown it;
    `attainable` is the least adjusted p-value there could have been, the other metrics being as they are. `not_known`: not
    shown, and whether any outcome could have shown it is not known. `different`: a
    difference of at least the margin is shown, where equivalence was asked for. `family` counts the tests adjusted together.
    """

    decision: Decision
    finding: Finding
    bounds: tuple[float, float]
    attainable: float
    family: int = 1


def judgements(outcomes: Sequence[Outcome], terms: Sequence[GateTerms]) -> list[Judgement]:
    """Adjust the family and compare every metric with its own alpha.

    Raises ArithmeticError for an outcome that is not a p-value: nothing can be decided by it, least of all a pass.
    """
    for outcome in outcomes:
        flaw = flaw_of_numbers(outcome.p_value, outcome.log10_p_value, outcome.p_value_bounds)
        if flaw is not None:
            raise ArithmeticError(f"a p-value without a certificate: {flaw}")
    highs = [outcome.high for outcome in outcomes]
    adjusted = zip(
        holm([outcome.p_value for outcome in outcomes]),
        holm_log10([outcome.log10_p_value for outcome in outcomes]),
        holm([_low(outcome) for outcome in outcomes]),
        holm(highs),
        strict=True,
    )
    judged = []
    for index, (outcome, (p, log10_p, low, high)) in enumerate(zip(outcomes, adjusted, strict=True)):
        known = outcome.min_attainable_p
        least = outcome.attainable_at_most if known is None else known
        attainable, alpha = holm([*highs[:index], least, *highs[index + 1 :]])[index], terms[index].alpha
        # A multiple of the smallest double would say too much.
        never_zero = p if p >= _NORMAL else max(10.0**log10_p, outcome.p_value, SMALLEST)
        decision = Decision(
            **{field.name: getattr(outcome, field.name) for field in fields(OneSidedTest)},
            p_value_adjusted=never_zero,
            log10_p_value_adjusted=log10_p,
            significant=is_at_most(high, alpha),
            equivalence=outcome.equivalence,
        )
        finding = _finding(low, high, attainable, alpha, known=known is not None)
        if finding == "bounds_straddle" and outcome.missing:
            finding = "missing_straddle"
        if _is_different(outcome, len(outcomes), alpha):
            # Both cannot be true: if alpha is so large that both are shown, nothing is decided.
            finding = "not_shown" if finding == "shown" else "different"
        judged.append(
            Judgement(decision, finding, (float(low), float(high)), float(attainable), len(outcomes))
        )
    return judged


def _low(outcome: Outcome) -> float | Fraction:
    """The lower bound of a p-value: of `decides_from` at most the p-value itself."""
    if outcome.decides_from is not None:
        return min(outcome.decides_from, outcome.p_value)
    return outcome.p_value_bounds[0] if outcome.ratio is None else outcome.ratio


def _is_different(outcome: Outcome, family: int, alpha: float) -> bool:
    """Whether a difference of at least the margin is shown, by Bonferroni's adjustment over the family.

    Of each metric's two claims, equivalent and different, one is true, so that Holm's steps would save nothing here.
    """
    equivalence = outcome.equivalence
    return equivalence is not None and family * equivalence.p_value_different_bounds[1] <= alpha


def _finding(
    low: float | Fraction, high: float | Fraction, attainable: float | Fraction, alpha: float, *, known: bool
) -> Finding:
    if is_at_most(high, alpha):
        return "shown"
    if is_at_most(low, alpha):
        return "bounds_straddle"
    if is_at_most(attainable, alpha):
        return "not_shown"
    return "unattainable" if known else "not_known"


def verdict_of(policy: Policy, finding: Finding, *, same: bool = False, waiting: bool = False) -> Verdict:
    """The policy's verdict.

    non_inferior, improve and at_least pass only when shown. no_regression and not_below fail only when a regression is shown; they cannot tell
    when the bounds straddle alpha, and when no outcome on these items could have shown one, or that is not known,
    unless the systems are the `same` on every item: then nothing has become worse. equivalent passes when both its
    tests are shown, fails when a difference of at least the margin is, and is inconclusive between the two. If missing
    outcomes could change it, the verdict is inconclusive. A sequential gate is `waiting` until all planned items are
    present: claims not yet shown continue.
    """
    if waiting and finding != "shown":
        return "continue"
    if finding == "missing_straddle":
        return "inconclusive"
    if policy == "equivalent":
        return "pass" if finding == "shown" else "fail" if finding == "different" else "inconclusive"
    if policy not in PRESUMED:
        return "pass" if finding == "shown" else "fail"
    if finding == "shown":
        return "fail"
    return "pass" if finding == "not_shown" or (same and finding == "unattainable") else "inconclusive"


def overall(verdicts: Sequence[Verdict]) -> Verdict:
    """Fail when one fails, else inconclusive when one is, else continue when one waits, else pass."""
    worst: tuple[Verdict, ...] = ("fail", "inconclusive", "continue")
    return next((verdict for verdict in worst if verdict in verdicts), "pass")


# The sentences of a gate. Systems are "candidate" and "baseline"; names are shortened and escaped


_NAME_CHARS = 80
_NAMES = 10

Words = dict[str, str]

_HYPOTHESES: dict[Policy, str] = {
    "no_regression": "The candidate is not worse than {baseline}{by} ({statistic}), unless shown otherwise.",
    "non_inferior": "The candidate is shown not to be worse than {baseline}{by} ({statistic}).",
    "improve": "The candidate is shown to be better than {baseline}{by} ({statistic}).",
    "equivalent": "The candidate is shown to differ from {baseline} by less than {margin} ({statistic}).",
    "at_least": "The candidate is shown to be better than the threshold {threshold} ({statistic}).",
    "not_below": "The candidate is not worse than the threshold {threshold} ({statistic}), unless shown otherwise.",
}
_SHOWN: dict[Policy, str] = {
    "no_regression": "the candidate is significantly worse than {baseline}{by}",
    "non_inferior": "the candidate is shown not to be worse than {baseline}{by}",
    "improve": "the candidate is significantly better than {baseline}{by}",
    "equivalent": "the candidate is shown to differ from {baseline} by less than {margin}",
    "at_least": "the candidate is shown to be better than the threshold {threshold}",
    "not_below": "the candidate is significantly worse than the threshold {threshold}",
}
_NOT_SHOWN: dict[Policy, str] = {
    "no_regression": "the candidate is not significantly worse than {baseline}{by}",
    "non_inferior": "it is not ruled out that the candidate is worse than {baseline}{by}",
    "improve": "the candidate is not significantly better than {baseline}{by}",
    "equivalent": "neither a difference below {margin} from {baseline} is shown, nor one of at least that",
    "at_least": "it is not shown that the candidate is better than the threshold {threshold}",
    "not_below": "the candidate is not significantly worse than the threshold {threshold}",
}
_PROCEDURES: dict[Procedure, str] = {
    "bootstrap": "the paired bootstrap",
    "e_value": "an e-value, which holds for any number of looks; p is its inverse",
    "tango_score": "Tango's score test of paired proportions, which is asymptotic",
    "binomial": "the exact binomial test",
    "convex_bound": "a bound that holds for all scores in their range; the exact p-value is at most that",
}
# Policies that fail where nothing is decided.
_SHOWN_ONLY = frozenset({"non_inferior", "improve", "at_least"})
_HEADS: dict[Verdict, str] = {
    "pass": "Passed",
    "fail": "Failed",
    "inconclusive": "Inconclusive",
    "continue": "Undecided yet",
}


def words_of(terms: GateTerms, against: str | None) -> Words:
    """The baseline, with its name in quotes, which a name itself cannot close, and the margin, as sentences have them."""
    name = "" if against is None else short(against).replace('"', "'")
    margin = exactly(terms.margin)
    by = f" by more than {margin}" if terms.margin else ""
    threshold = "" if terms.threshold is None else exactly(terms.threshold)
    baseline = f'the baseline "{name}"' if name else "the baseline"
    return {"baseline": baseline, "by": by, "margin": margin, "threshold": threshold}


def hypothesis(terms: GateTerms, statistic: StatisticRecord, words: Words) -> str:
    """The hypothesis of the policy, in a sentence."""
    named = f"{measured(statistic.name, statistic.metric, short)}; {direction(terms.higher_is_better)}"
    return _HYPOTHESES[terms.policy].format(statistic=named, **words)


def reason(
    terms: GateTerms,
    judgement: Judgement,
    record: TestRecord,
    family: str | None,
    words: Words,
    *,
    same: bool = False,
) -> str:
    """The reason for the metric's verdict: the p-value against alpha, the conclusion, and the procedure.

    `same`: no item differs.
    """
    outcome = (_SHOWN if judgement.finding == "shown" else _NOT_SHOWN)[terms.policy]
    outcome = outcome.format(**words)
    if judgement.finding == "different":
        return " ".join([_different(terms, judgement, family, words), *_procedure(terms, judgement, record)])
    if judgement.finding == "missing_straddle":
        outcome = "undecided, because it depends on the missing outcomes"
    if judgement.finding == "bounds_straddle":
        outcome = f"undecided, so {outcome}" if terms.policy in _SHOWN_ONLY else "undecided"
    sentences = [f"{_comparison(terms, judgement, family)}: {outcome}."]
    if judgement.finding == "unattainable" and same:
        sentences.append("No item differs between the two.")
    elif judgement.finding == "unattainable":
        least = probability(judgement.attainable, math.log10(judgement.attainable), terms.alpha)
        few = "there are too few" if terms.policy in TARGETS else "too few of them differ"
        sentences.append(f"No outcome on these items could have had p below {least}: {few}.")
    if judgement.finding == "not_known":
        sentences.append(
            "Whether any outcome on these items could have had p at or below alpha is not known."
        )
    if judgement.finding == "bounds_straddle":
        finer = (
            "More items"
            if terms.policy in TARGETS or record.method.name in FRACTION_METHODS
            else "The method rational"
            if judgement.decision.exact
            else "More samples, or a finer precision,"
        )
        sentences.append(f"{finer} would decide.")
    sentences.extend(_procedure(terms, judgement, record))
    return " ".join(sentences)


def slices_reason(
    terms: GateTerms, judgement: Judgement, worst: str, family: str | None, words: Words
) -> str:
    """The sentence on the smallest p-value of the slices."""
    named = short(worst).replace('"', "'")
    which = f'the slice "{named}"' if judgement.finding == "shown" else "no slice"
    outcome = f"{which} is significantly worse than {words['baseline']}{words['by']}"
    if judgement.finding == "bounds_straddle":
        outcome = "undecided"
    if judgement.finding == "unattainable":
        outcome += ", which too few items differ to show"
    if judgement.finding == "not_known":
        outcome += ", as far as is known"
    return f"Slices: {_comparison(terms, judgement, family)}: {outcome}."


def _different(terms: GateTerms, judgement: Judgement, family: str | None, words: Words) -> str:
    """That a difference of at least the margin is shown, by the p-value of that and not of equivalence."""
    equivalence = judgement.decision.equivalence
    assert equivalence is not None
    p = min(1.0, judgement.family * equivalence.p_value_different)
    log10_p = min(0.0, math.log10(judgement.family) + equivalence.log10_p_value_different)
    adjusted = f" (Bonferroni-adjusted over {family})" if family is not None else ""
    return (
        f"p = {probability(p, log10_p, terms.alpha)} <= alpha = {exactly(terms.alpha)}{adjusted}: the candidate is shown to "
        f"differ from {words['baseline']} by {words['margin']} or more."
    )


def _comparison(terms: GateTerms, judgement: Judgement, family: str | None) -> str:
    decision, alpha = judgement.decision, terms.alpha
    p = decision_p_text(decision, alpha)
    adjusted = f" (Holm-adjusted over {family})" if family is not None else ""
    if judgement.finding in {"bounds_straddle", "missing_straddle"}:
        low, high = judgement.bounds
        return f"p = {p} lies in [{low!r}, {high!r}], on both sides of alpha = {exactly(alpha)}{adjusted}"
    sign = "<=" if decision.significant else ">"
    return f"p = {p} {sign} alpha = {exactly(alpha)}{adjusted}"


def _procedure(terms: GateTerms, judgement: Judgement, record: TestRecord) -> list[str]:
    """The basis of a margin's test; empty for the ordinary one."""
    decision = judgement.decision
    if decision.procedure in _PROCEDURES:
        return [f"By {_PROCEDURES[decision.procedure]}."]
    if not terms.margin:
        return []
    what = "items' differences" if record.items.clusters is None else "clusters' summed differences"
    kind = "exact permutation test" if decision.exact else "permutation test"
    return [
        f"By the {kind} of the {what} shifted by the margin; it takes them to scatter symmetrically round their mean."
    ]


def overall_reason(
    metrics: Sequence[MetricRecord],
    verdict: Verdict,
    deciding: MetricRecord,
    family: str | None,
    on_inconclusive: OnInconclusive,
) -> str:
    """The gate's reason: which metrics decided, and the deciding one's own reason."""
    deciders = [metric.name for metric in metrics if metric.verdict == verdict]
    count = f" ({len(deciders)} of {family})" if family is not None else ""
    head = f"{_HEADS[verdict]} on {_listed(deciders)}{count}"
    tail = f" Counted as a {on_inconclusive}, as asked." if verdict == "inconclusive" else ""
    name = f"{short(deciding.name)}: " if len(deciders) > 1 else ""
    return f"{head}. {name}{deciding.reason}{tail}" if name else f"{head}: {deciding.reason}{tail}"


def short(name: str) -> str:
    """A caller's text on one line, without control and format characters, at most 80 characters."""
    kept = (" " if unicodedata.category(char)[0] in "CZ" else char for char in name)
    line = " ".join("".join(kept).split())
    cut = line if len(line) <= _NAME_CHARS else line[: _NAME_CHARS - 1] + "…"
    return cut or "(unnamed)"


def _listed(names: Sequence[str]) -> str:
    shown = [short(name) for name in names[:_NAMES]]
    if len(names) > _NAMES:
        shown.append(f"{len(names) - _NAMES} more")
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"
