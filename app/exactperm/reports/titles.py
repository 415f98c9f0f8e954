"""Statistics, verdicts and systems in words."""

from __future__ import annotations

from typing import NamedTuple

from ..answers.gate import GateRecord, MetricRecord, Verdict
from ..answers.test import TestRecord
from ..statistics.measured import Say, measured, metric_title

_ROLES = ("candidate", "baseline")
VERDICTS: dict[Verdict, str] = {
    "pass": "PASS",
    "fail": "FAIL",
    "inconclusive": "INCONCLUSIVE",
    "continue": "CONTINUE",
}
SYMBOLS: dict[Verdict, str] = {"pass": "✓", "fail": "✗", "inconclusive": "?", "continue": "…"}  # fmt: skip


class Names(NamedTuple):
    """The names of the two systems, escaped."""

    u: str
    v: str


def measured_in(record: TestRecord, say: Say) -> str:
    """The same of a test."""
    return measured(record.statistic.name, record.statistic.metric, say)


def by_name(statistic: str, metric: str | None, say: Say) -> str:
    """The statistic as requests call it, and the metric as files do: `ratio` of `wer`."""
    return say(statistic) if metric in {None, statistic} else f"{say(statistic)} of {say(metric or '')}"


def metric_name(metric: MetricRecord, say: Say) -> str:
    """A gate's metric as people call it, or by the name that the request gave it."""
    statistic = metric.test.statistic
    if metric.name in {statistic.metric, statistic.name}:
        return metric_title(statistic.name, statistic.metric, say)
    return say(metric.name)


def names_of(record: TestRecord, say: Say) -> Names:
    """The labels of the systems, with (U) and (V) where they are equal; "the candidate" where none was given."""
    if (record.name_u, record.name_v) == _ROLES:
        return Names("the candidate", "the baseline")
    u, v = say(record.name_u), say(record.name_v)
    return Names(f"{u} (U)", f"{v} (V)") if u == v else Names(u, v)


def head(gate: GateRecord) -> str:
    """The verdict in capitals; an inconclusive one says what it counts as."""
    if gate.verdict != "inconclusive":
        return VERDICTS[gate.verdict]
    return f"{VERDICTS[gate.verdict]}, counted as a {'pass' if gate.passed else 'failure'}"


def capitalised(sentence: str) -> str:
    """A capital for our own words; names of systems stay as they are written."""
    return sentence[0].upper() + sentence[1:] if sentence.startswith(("the ", "on ", "of ")) else sentence
