"""The numbers of a report, each under its name."""

from __future__ import annotations

from app.inference.gate_record import MetricRecord
from app.inference.record import TestRecord
from app.reports.labels import short
from app.reports.numerals import exactly as given, number, number as beside, percent, probability
from app.reports.sentence import certainty

Rows = list[tuple[str, str]]


def rows(record: TestRecord) -> Rows:
    """Everything that a reader may want to look up."""
    statistic, items, method = record.statistic, record.items, record.method
    found: Rows = [
        ("p-value", probability(record.p_value, record.log10_p_value, record.alpha)),
        ("known", certainty(record)),
        ("alternative", record.alternative),
        ("level alpha", given(record.alpha)),
        (f"observed {statistic.name}", number(statistic.observed)),
    ]
    for name, score in ((record.name_u, statistic.u), (record.name_v, statistic.v)):
        if score is not None:
            found.append((short(name), number(score)))
    found += _effects(record)
    found.append(("items", f"{items.n:,}"))
    if items.clusters is not None:
        found.append(("clusters", f"{items.clusters:,}"))
    if record.item_level is not None:
        level = record.item_level
        found.append(("p-value by item", probability(level.p_value, level.log10_p_value, record.alpha)))
    found += [
        ("wins, ties, losses", f"{items.wins:,}, {items.ties:,}, {items.losses:,}"),
        ("smallest p these items can give", number(record.min_attainable_p)),
        ("method", f"{method.name}: {method.reason}"),
    ]
    if method.relative_error_bound is not None:
        found.append(("relative error at most", number(method.relative_error_bound)))
    return found


def _effects(record: TestRecord) -> Rows:
    found: Rows = []
    interval, size = record.confidence_interval, record.effect_size
    if interval is not None:
        low = "minus infinity" if interval.low is None else beside(interval.low, 0.0)
        high = "infinity" if interval.high is None else beside(interval.high, 0.0)
        found.append(
            (
                f"{percent(interval.level)} confidence interval",
                f"{low} to {high} ({interval.method}, {interval.kind})",
            )
        )
    if size is not None and size.cohens_d_z is not None:
        found.append(("Cohen's d_z", number(size.cohens_d_z)))
    if size is not None and size.cliffs_delta is not None:
        found.append(("Cliff's delta", number(size.cliffs_delta)))
    if size is not None and size.discordant is not None:
        pair = size.discordant
        odds = "infinite" if pair.odds is None else number(pair.odds)
        high = "infinity" if pair.odds_high is None else number(pair.odds_high)
        found.append(
            (
                "right alone",
                f"{pair.only_u:,} and {pair.only_v:,}; odds {odds}, {number(pair.odds_low)} to {high}",
            )
        )
    return found


def decision_rows(metric: MetricRecord) -> Rows:
    """What the verdict of a gate's metric rests on."""
    terms, decision = metric.terms, metric.decision
    p = probability(decision.p_value, decision.log10_p_value, terms.alpha)
    found: Rows = [
        ("policy", terms.policy),
        ("margin", given(terms.margin)),
        ("better is", "higher" if terms.higher_is_better else "lower"),
        ("p-value of the decision", p),
    ]
    adjusted = probability(decision.p_value_adjusted, decision.log10_p_value_adjusted, terms.alpha)
    if decision.log10_p_value_adjusted != decision.log10_p_value:
        found.append(("adjusted", adjusted))
    how = "exact" if decision.exact else decision.p_value_bounds_kind
    found.append(("decided by", f"{decision.procedure}, {how}"))
    return found
