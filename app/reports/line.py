"""One line that a log can keep."""

from __future__ import annotations

from app.inference.record import ConfidenceInterval, TestRecord
from app.reports.labels import for_line
from app.reports.numerals import exactly as given, number, number as beside, probability


def line(record: TestRecord, test_id: str) -> str:
    """The answer in one line, without its end."""
    statistic, method, items = record.statistic, record.method, record.items
    words = [
        f"p={probability(record.p_value, record.log10_p_value, record.alpha)}",
        f"({kind(record)}, {method.name})",
        record.alternative,
        f"{statistic.name}={number(statistic.observed)}",
    ]
    for name, score in ((record.name_u, statistic.u), (record.name_v, statistic.v)):
        if score is not None:
            words.append(f"{for_line(name)}={number(score)}")
    if record.confidence_interval is not None:
        words.append(ends(record.confidence_interval))
    words.append(f"n={items.n}")
    if items.clusters is not None:
        words.append(f"clusters={items.clusters}")
    if record.item_level is not None:
        level = record.item_level
        words.append(f"p_by_item={probability(level.p_value, level.log10_p_value, record.alpha)}")
    words.append(f"{'significant' if record.significant else 'not significant'} at {given(record.alpha)}")
    words += [f"[{caution.code}]" for caution in record.warnings]
    return " ".join([*words, test_id])


def kind(record: TestRecord) -> str:
    """How sure the p-value is, in one word."""
    if record.method.exact:
        return "exact"
    return "sampled" if record.method.monte_carlo is not None else "bracketed"


def ends(interval: ConfidenceInterval) -> str:
    """A confidence interval as one word."""
    low = "-inf" if interval.low is None else beside(interval.low, 0.0)
    high = "inf" if interval.high is None else beside(interval.high, 0.0)
    return f"ci{given(interval.level)}=[{low},{high}]"
