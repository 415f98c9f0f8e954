"""How certain a number is (exact, bracketed, sampled or asymptotic), in words."""

from __future__ import annotations

import math
from typing import Literal

from ..answers.gate import Decision, MetricRecord, digits_of_decision
from ..answers.test import ConfidenceInterval, ItemLevel, MonteCarloRecord, TestRecord
from ..presentation.numbers import (
    SMALLEST_WRITTEN,
    enclosing,
    exactly,
    known_digits,
    number,
    percent,
    probability,
)

Kind = Literal["exact", "bracketed", "sampled", "asymptotic"]

_EMPTY_TAIL = "bootstrap_empty_tail"
_CONTROLLED = ", with a control variate"


def kind(record: TestRecord) -> Kind:
    """How certain the p-value is, in one word."""
    if record.method.exact:
        return "exact"
    return "sampled" if record.method.monte_carlo is not None else "bracketed"


def manner(record: TestRecord) -> str:
    """How certain the p-value is, in some words more where samples had help."""
    return f"{kind(record)}{_CONTROLLED if _is_controlled(record) else ''}"


def kind_of_decision(decision: Decision) -> Kind:
    """How certain the p-value behind a verdict is, in one word."""
    if decision.p_value_bounds_kind == "asymptotic":
        return "asymptotic"
    if decision.p_value_bounds_kind == "confidence":
        return "sampled"
    return "exact" if decision.exact else "bracketed"


def manner_of_decision(metric: MetricRecord) -> str:
    """How certain the p-value behind a verdict is, in some words more where samples had help.

    Tests of margins are of one sum, whose samples need no control variate: with one, the decision is the test itself.
    """
    known = kind_of_decision(metric.decision)
    return f"{known}{_CONTROLLED if known == 'sampled' and _is_controlled(metric.test) else ''}"


def _is_controlled(record: TestRecord) -> bool:
    drawn = record.method.monte_carlo
    return drawn is not None and drawn.control is not None


def p_text(record: TestRecord) -> str:
    """The p-value, on its own side of alpha; a sampled one with the digits of its interval."""
    digits = known_digits(record.p_value, record.p_value_bounds_kind, *record.p_value_bounds)
    return probability(record.p_value, record.log10_p_value, record.alpha, digits=digits)


def item_level_p_text(level: ItemLevel, alpha: float) -> str:
    """The p-value by item: a sampled one has no interval here."""
    return probability(level.p_value, level.log10_p_value, alpha, digits=6 if level.exact else 3)


def plain_probability(p: float | None, *landmarks: float) -> str:
    """A probability that is no p-value of a record of its own; a double holds it."""
    if p is None:
        return "unknown"
    return probability(p, math.log10(p), *landmarks)


def decision_p_text(decision: Decision, alpha: float) -> str:
    """The p-value behind a verdict, adjusted for several metrics, on its own side of alpha."""
    digits = digits_of_decision(decision)
    return probability(decision.p_value_adjusted, decision.log10_p_value_adjusted, alpha, digits=digits)


def undecided(record: TestRecord) -> bool:
    """Whether alpha lies between the bounds of the p-value, so that significance is open.

    With missing outcomes the bounds are those over all that these may be.
    """
    if record.missing is not None:
        low, high = record.missing.p_value
        return low <= record.alpha < high and not record.significant
    low, high = record.p_value_bounds
    return low <= record.alpha < high and low < high


def of_the_missing(record: TestRecord) -> str | None:
    """What missing outcomes leave open, in a sentence; None where none is missing."""
    missing = record.missing
    if missing is None:
        return None
    worst, best = (number(end, 0.0) for end in missing.difference)
    low, high = enclosing(*missing.p_value, record.alpha)
    outcomes = "1 outcome is" if missing.n == 1 else f"{missing.n:,} outcomes are"
    decided = "significant" if record.significant else "not significant"
    so = (
        "whether it is significant depends on them"
        if undecided(record)
        else f"whatever they are, it is {decided} at {exactly(record.alpha)}"
    )
    return (
        f"{outcomes} missing, and the numbers above are of the complete items alone. Over all items the difference is between "
        f"{worst} and {best}, and p between {low} and {high}: {so}."
    )


def with_probability(record: TestRecord) -> str:
    """What follows "would come about with probability": the number, how it is known, and by which method."""
    method, p = record.method, p_text(record)
    certain = kind(record)
    if certain == "sampled" and method.monte_carlo is not None:
        low, high = enclosing(*record.p_value_bounds, record.alpha)
        drawn = method.monte_carlo
        control = "" if drawn.control is None else " and a control variate"
        return (
            f"of about {p} (99 % confidence {low} to {high}, estimated from {drawn.samples:,} samples with seed "
            f"{drawn.seed}{control}, {record.alternative})"
        )
    if any(warning.code == _EMPTY_TAIL for warning in record.warnings):
        return f"of at most {p} (a certified bound, {record.alternative}, by {method.name})"
    if certain == "bracketed" and record.p_value >= SMALLEST_WRITTEN:
        low, high = enclosing(*record.p_value_bounds, record.alpha)
        return f"between {low} and {high} (certified bounds of the exact value, {record.alternative})"
    return f"{p} ({certain}, {record.alternative}, by {method.name})"


def of_the_p_value(record: TestRecord) -> str:
    """A sentence on how the p-value was computed and how large its error can be."""
    method = record.method
    if kind(record) == "sampled" and method.monte_carlo is not None:
        drawn = method.monte_carlo
        if drawn.control is not None:
            return _of_the_control(drawn)
        return (
            f"Sampled: {drawn.exceedances:,} of {drawn.samples:,} random samples (seed {drawn.seed}) were at least as "
            f"extreme; the exact value lies inside its 99 % confidence interval with that confidence, not for certain."
        )
    if kind(record) == "bracketed":
        return "Bounded: the exact value lies between the two bounds, always; the p-value shown is a number inside."
    if not method.relative_error_bound:
        return f"Exact: computed by {method.name} in whole numbers, without rounding error."
    error = f"{method.relative_error_bound:.2g}"
    return f"Exact: computed by {method.name}; the rounding error is certified to be at most {error} of the value."


def _of_the_control(drawn: MonteCarloRecord) -> str:
    """What the samples add to the exact p-value of the linear part."""
    return (
        f"Sampled, with a control variate: the statistic's linear part about the mean of both systems has the exact p-value "
        f"{plain_probability(drawn.control_p_value)}; of {drawn.samples:,} random samples (seed {drawn.seed}) "
        f"{drawn.gained or 0:,} were at least as extreme where the linear part was not, and {drawn.lost or 0:,} the reverse. The "
        "exact value lies inside the 99 % confidence interval with that confidence, not for certain."
    )


def ends(interval: ConfidenceInterval) -> tuple[str | None, str | None]:
    """The ends of an interval, on their own sides of zero; certified ends are rounded outwards."""
    low, high = interval.low, interval.high
    if interval.kind in {"exact", "bounded"}:
        below, above = enclosing(0.0 if low is None else low, 0.0 if high is None else high, 0.0)
        return None if low is None else below, None if high is None else above
    return None if low is None else number(low, 0.0), None if high is None else number(high, 0.0)


def interval_text(interval: ConfidenceInterval) -> str:
    """The ends in words: "0.02 to 0.07", open where no data of this size can set an end."""
    low, high = ends(interval)
    if low is None and high is None:
        return "unbounded"
    if high is None:
        return f"{low} and above"
    return f"{high} and below" if low is None else f"{low} to {high}"


def of_the_interval(interval: ConfidenceInterval, alternative: str) -> str:
    """How an interval was computed and how certain its ends are."""
    if interval.method == "tango_score":
        return "Tango's score interval, asymptotic"
    if interval.method == "bootstrap_percentile":
        return f"percentiles of the bootstrap distribution, {interval.kind}"
    same = "inverting the same test" if alternative == "two-sided" else "inverting the two-sided test"
    if interval.kind == "bounded":
        return f"{same}, each end at most {number(interval.resolution)} too far out"
    return f"{same}, {interval.kind}"


def interval_sentence(record: TestRecord) -> str | None:
    """The interval in a sentence; None when none was requested or there is none."""
    interval = record.confidence_interval
    if interval is None:
        return None
    title = f"The {percent(interval.level)} confidence interval of the difference"
    if interval.low is None and interval.high is None:
        return f"{title} is unbounded: so few items cannot rule any difference out."
    how = of_the_interval(interval, record.alternative)
    return f"{title} is {interval_text(interval)} ({how})."
