"""The answer in sentences: what was tested, on how many items, how large the difference is, how sure one can be."""

from __future__ import annotations

from collections.abc import Callable

from app.inference.record import ConfidenceInterval, TestRecord
from app.reports.labels import short
from app.reports.numerals import exactly as given, number, number as beside, percent, probability

Quote = Callable[[str], str]

WORDS = {
    "mean_difference": "the mean score",
    "sum_difference": "the total score",
    "sign": "items won",
    "signed_rank": "the sum of signed ranks",
    "accuracy": "accuracy",
    "exact_match": "exact matches",
    "token_accuracy": "token accuracy",
    "f1": "F1",
    "fbeta": "F-beta",
    "span_f1": "F1 of entities",
    "span_precision": "precision of entities",
    "span_recall": "recall of entities",
    "mcc": "Matthews' correlation",
    "jaccard": "the Jaccard index",
    "bleu": "BLEU",
    "chrf": "chrF",
    "ter": "TER",
}
WAYS = {
    "two-sided": "at least this large, in either direction,",
    "greater": "at least as high",
    "less": "at least as low",
}
INTERVALS = {
    "test_inversion": "every difference that the same test would not reject",
    "tango_score": "by Tango's score method, asymptotic",
    "bootstrap_percentile": "percentiles of the bootstrap distribution",
}


def sentences(record: TestRecord, quote: Quote = short) -> tuple[str, ...]:
    """A few plain sentences; `quote` makes the systems' names harmless for where they go."""
    said = [observed(record, quote), chance(record)]
    if record.item_level is not None:
        level = record.item_level
        p = probability(level.p_value, level.log10_p_value, record.alpha)
        said.append(f"With every item by itself p would be {p}, but items of a cluster are not independent.")
    if record.confidence_interval is not None:
        said.append(interval(record.confidence_interval))
    return tuple(said)


def observed(record: TestRecord, quote: Quote = short) -> str:
    """What was found, before any probability."""
    statistic, u, v = record.statistic, record.statistic.u, record.statistic.v
    name_u, name_v = quote(record.name_u), quote(record.name_v)
    where = f"over {_items(record)}"
    if u is None or v is None:
        return f"The statistic {statistic.name} is {number(statistic.observed)} {where}."
    what = WORDS.get(statistic.name, statistic.name)
    first, second = (number(u), number(v)) if u == v else (beside(u, v), beside(v, u))
    if statistic.observed == 0.0:
        return f"{name_u} and {name_v} both have {first} in {what} {where}."
    side = "higher" if statistic.observed > 0.0 else "lower"
    by = number(abs(statistic.observed))
    return f"{name_u} has {first} and {name_v} {second} in {what} {where}: {name_u} is {side} by {by}."


def _items(record: TestRecord) -> str:
    items = record.items
    text = f"{items.n:,} item{'' if items.n == 1 else 's'}"
    if items.clusters is not None:
        text += f" in {items.clusters:,} cluster{'' if items.clusters == 1 else 's'}"
    return text


def chance(record: TestRecord) -> str:
    """The p-value, how it is known, and whether it is significant."""
    p = probability(record.p_value, record.log10_p_value, record.alpha)
    if record.test == "bootstrap":
        presumed = "If items were drawn anew and there were no true difference"
    else:
        presumed = "If it did not matter which system gave which output"
    about = "about " if record.method.monte_carlo is not None else ""
    so = "significant" if record.significant else "not significant"
    return (
        f"{presumed}, a difference {WAYS[record.alternative]} would come about with probability {about}{p} "
        f"({certainty(record)}): {so} at {given(record.alpha)}."
    )


def certainty(record: TestRecord) -> str:
    """How the p-value is known: exactly, between bounds, or from a sample."""
    low, high = record.p_value_bounds
    method, drawn = record.method.name, record.method.monte_carlo
    if drawn is not None:
        return (
            f"from {drawn.samples:,} random {'resamples' if record.test == 'bootstrap' else 'swaps'}; between "
            f"{beside(low, record.alpha)} and {beside(high, record.alpha)} with 99 % confidence"
        )
    if not record.method.exact:
        return (
            f"rigorous bounds: between {beside(low, record.alpha)} and {beside(high, record.alpha)}, always"
        )
    return f"exact, by {method}"


def interval(found: ConfidenceInterval) -> str:
    """A confidence interval in a sentence."""
    how = INTERVALS.get(found.method, found.method)
    if found.kind in {"bounded", "sampled"}:
        how += f"; {found.kind}"
    level = percent(found.level)
    if found.low is None and found.high is None:
        return f"No {level} confidence interval of the difference is bounded with so few items."
    low = "minus infinity" if found.low is None else beside(found.low, 0.0)
    high = "infinity" if found.high is None else beside(found.high, 0.0)
    return f"The {level} confidence interval of the difference is {low} to {high} ({how})."
