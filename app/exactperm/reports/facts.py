"""All values of a record with their labels, in groups: the tables of an HTML report."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from ..answers.gate import MetricRecord, Procedure, digits_of_decision
from ..answers.test import (
    Alternative,
    ConfidenceInterval,
    Discordant,
    MonteCarloRecord,
    Resampling,
    TestRecord,
)
from ..presentation.escaping import short, single_line
from ..presentation.numbers import (
    SMALLEST_WRITTEN,
    apart,
    enclosing,
    exactly,
    number,
    percent,
    probability,
    signed,
)
from ..statistics.measured import direction
from .certainty import (
    decision_p_text,
    interval_text,
    item_level_p_text,
    kind,
    manner,
    manner_of_decision,
    of_the_interval,
    p_text,
    plain_probability,
)
from .sentence import over_items
from .titles import by_name, measured_in, names_of

_MINUS = re.compile(r"(?<![\w.])-(?=\d)")
_ALTERNATIVES: dict[Alternative, str] = {
    "two-sided": "in either direction",
    "greater": "U above V",
    "less": "U below V",
}
_NULLS: dict[Resampling, str] = {
    "permutation": "it does not matter which system gave which output",
    "bootstrap": "no difference; items drawn anew with replacement",
}
_PROCEDURES: dict[Procedure, str] = {
    "permutation": "paired permutation test",
    "bootstrap": "paired bootstrap",
    "tango_score": "Tango's score test of paired proportions, asymptotic",
    "e_value": "e-value of sign flips, which holds at every look",
}


@dataclass(frozen=True, slots=True)
class Fact:
    """A labelled value; the note says how it was computed."""

    label: str
    value: str
    note: str = ""

    @property
    def printed(self) -> str:
        """The value with real minus signs."""
        return _MINUS.sub("−", self.value)


@dataclass(frozen=True, slots=True)
class Group:
    """Facts that belong together."""

    title: str
    facts: tuple[Fact, ...]


def groups(record: TestRecord) -> tuple[Group, ...]:
    """All numbers of a test."""
    return (
        Group("Difference", tuple(_difference(record))),
        Group("Test", tuple(_test(record))),
        Group("Items", tuple(_items(record))),
        Group("Method", tuple(_method(record))),
        Group("Null distribution", tuple(_null(record))),
    )


def key_facts(record: TestRecord) -> tuple[Fact, ...]:
    """The four numbers that a reader looks for first."""
    facts = [Fact("p-value", p_text(record), f"{record.alternative}, {manner(record)}")]
    return (*facts, *_key_estimates(record))


def key_facts_of_metric(metric: MetricRecord) -> tuple[Fact, ...]:
    """The numbers behind one verdict of a gate."""
    decision, terms = metric.decision, metric.terms
    adjusted = decision.p_value_adjusted != decision.p_value
    note = (
        f"{'Holm-adjusted, ' if adjusted else ''}{manner_of_decision(metric)}; alpha {exactly(terms.alpha)}"
    )
    return (Fact("p-value", decision_p_text(decision, terms.alpha), note), *_key_estimates(metric.test))


def _key_estimates(record: TestRecord) -> Iterable[Fact]:
    scored = record.statistic.u is not None and record.statistic.v is not None
    yield Fact(
        "Difference" if scored else "Statistic",
        signed(record.statistic.observed) if scored else number(record.statistic.observed),
        _measured_and_better(record),
    )
    if record.confidence_interval is not None:
        yield _interval(record.confidence_interval, record.alternative)
    items = record.items
    clusters = "" if items.clusters is None else f"in {items.clusters:,} clusters"
    yield Fact("Items", f"{items.n:,}", clusters)


def _measured_and_better(record: TestRecord) -> str:
    """What the difference is of, and which direction is better."""
    better = direction(record.statistic.higher_is_better)
    return short(measured_in(record, single_line)) + (f"; {better}" if better else "")


def terms_group(metric: MetricRecord) -> Group:
    """The terms of one metric of a gate, and the test that decided."""
    terms, decision = metric.terms, metric.decision
    digits = digits_of_decision(decision)
    p = probability(decision.p_value, decision.log10_p_value, terms.alpha, digits=digits)
    facts = [
        *([] if metric.against is None else [Fact("Baseline", short(metric.against))]),
        Fact("Policy", terms.policy, single_line(metric.hypothesis)),
        Fact("Margin", exactly(terms.margin)),
        Fact("Better", "higher" if terms.higher_is_better else "lower"),
        Fact("Level alpha", exactly(terms.alpha)),
        Fact("Procedure", _PROCEDURES[decision.procedure]),
        Fact("Hypothesised difference", number(decision.difference), f"against {decision.alternative}"),
        Fact("p-value", p, f"one-sided, {manner_of_decision(metric)}"),
        Fact("p-value, adjusted", decision_p_text(decision, terms.alpha), "compared with alpha"),
    ]
    return Group("Gate", tuple(facts))


def _interval(interval: ConfidenceInterval, alternative: str) -> Fact:
    label = f"{percent(interval.level)} interval"
    return Fact(label, interval_text(interval), of_the_interval(interval, alternative))


def _difference(record: TestRecord) -> Iterable[Fact]:
    statistic, names = record.statistic, names_of(record, short)
    if statistic.u is not None and statistic.v is not None:
        u, v = apart(statistic.u, statistic.v)
        yield Fact(f"Score of {names.u}", u)
        yield Fact(f"Score of {names.v}", v)
        yield Fact(
            "Difference, U minus V", signed(statistic.observed), short(measured_in(record, single_line))
        )
    else:
        yield Fact("Statistic", number(statistic.observed), short(measured_in(record, single_line)))
    yield Fact("Statistic, by its name in requests", by_name(statistic.name, statistic.metric, short))
    if statistic.higher_is_better is not None:
        yield Fact("Better", "higher" if statistic.higher_is_better else "lower")
    if record.confidence_interval is not None:
        yield _interval(record.confidence_interval, record.alternative)
    sizes = record.effect_size
    if sizes is None:
        return
    if sizes.cohens_d_z is not None:
        yield Fact("Cohen's d_z", number(sizes.cohens_d_z), "mean difference over its standard deviation")
    if sizes.cliffs_delta is not None:
        yield Fact(
            "Cliff's delta", number(sizes.cliffs_delta), "P(U above V) minus P(U below V), over all pairs"
        )
    if sizes.discordant is not None:
        yield _discordant(sizes.discordant, record.confidence_interval)


def _discordant(seen: Discordant, interval: ConfidenceInterval | None) -> Fact:
    odds = "infinite" if seen.odds is None else number(seen.odds)
    high = "infinity" if seen.odds_high is None else number(seen.odds_high)
    level = f"{percent(interval.level)} interval " if interval else "interval "
    note = f"odds {odds}, {level}{number(seen.odds_low)} to {high} (Clopper and Pearson)"
    return Fact("Right by one system only", f"U {seen.only_u:,}, V {seen.only_v:,}", note)


def _test(record: TestRecord) -> Iterable[Fact]:
    yield Fact("p-value", p_text(record), manner(record))
    if kind(record) != "exact" and record.p_value >= SMALLEST_WRITTEN:
        low, high = enclosing(*record.p_value_bounds, record.alpha)
        sure = "99 % confidence" if record.p_value_bounds_kind == "confidence" else "certified"
        yield Fact("Bounds of the p-value", f"{low} to {high}", sure)
    yield Fact("log10 of the p-value", number(record.log10_p_value))
    if record.item_level is not None:
        level = record.item_level
        p = item_level_p_text(level, record.alpha)
        yield Fact("p-value by item", p, "as if clusters did not matter; the clustered one counts")
    yield Fact("Level alpha", exactly(record.alpha))
    least = record.min_attainable_p
    smallest = "not known" if least is None else probability(least, 0.0, record.alpha)
    yield Fact("Smallest attainable p", smallest)
    yield Fact("Alternative", record.alternative, _ALTERNATIVES[record.alternative])
    yield Fact("Null distribution", record.test, _NULLS[record.test])


def _items(record: TestRecord) -> Iterable[Fact]:
    items = record.items
    units = "items" if items.clusters is None else "clusters"
    yield Fact("Items", over_items(items))
    yield Fact(f"{units.capitalize()} with a difference", f"{items.nonzero:,}")
    yield Fact(
        "Wins, ties, losses of U", f"{items.wins:,} / {items.ties:,} / {items.losses:,}", f"by {units[:-1]}"
    )
    yield from _missing(record)


def _missing(record: TestRecord) -> Iterable[Fact]:
    """What missing outcomes leave open."""
    missing = record.missing
    if missing is None:
        return
    low, high = enclosing(*missing.p_value, record.alpha)
    worst, best = (number(end, 0.0) for end in missing.difference)
    yield Fact("Missing outcomes", f"{missing.n:,}", "anything in the range that was given")
    yield Fact("Difference over all items", f"{worst} to {best}", "worst and best for U")
    yield Fact("p-value over all items", f"{low} to {high}", "least and greatest, whatever the missing are")


def _method(record: TestRecord) -> Iterable[Fact]:
    method = record.method
    yield Fact("Method", method.name, single_line(method.reason))
    if method.relative_error_bound is not None:
        yield Fact("Relative error of p at most", f"{method.relative_error_bound:.2g}", "certified")
    if method.lattice is not None:
        lattice = method.lattice
        note = f"{lattice.weights:,} distinct weights, range {lattice.range:,}, rank {lattice.rank}"
        yield Fact("Lattice step", number(lattice.unit), note)
    if method.monte_carlo is not None:
        drawn = method.monte_carlo
        note = f"seed {drawn.seed}, {drawn.exceedances:,} at least as extreme"
        yield Fact("Samples", f"{drawn.samples:,}", note)
        yield Fact("Standard error of p", number(drawn.standard_error))
        yield from _control(drawn, record.alpha)


def _control(drawn: MonteCarloRecord, alpha: float) -> Iterable[Fact]:
    """What the control variate is, and what p would be without it."""
    if drawn.control is None:
        return
    note = f"{drawn.gained or 0:,} samples extreme without it, {drawn.lost or 0:,} not extreme with it"
    exact = plain_probability(drawn.control_p_value, alpha)
    yield Fact("Control variate", drawn.control, f"its own p is {exact}, exactly; {note}")
    yield Fact("p without it", plain_probability(drawn.p_value_plain, alpha), "(b + 1) / (K + 1)")


def _null(record: TestRecord) -> Iterable[Fact]:
    null = record.null
    yield Fact("Mean", number(null.mean))
    yield Fact("Standard deviation", number(null.sd))
    yield Fact("Smallest and largest", f"{number(null.min)} to {number(null.max)}")
    for name, value in null.quantiles or ():
        yield Fact(f"Quantile {name}", number(value))
