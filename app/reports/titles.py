"""Statistics, verdicts and systems in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

from ..inference.gate.record import GateRecord, Verdict
from ..inference.record import TestRecord
from ..statistics.catalogue import ENTRIES
from ..statistics.metrics import METRICS

Say = Callable[[str], str]

# Scores are named after their metric, and an expression is a label.
_TITLES = {
    **{entry.name: entry.title for entry in ENTRIES if entry.kind not in {"effects", "scores"}},
    **{name: metric.title for name, metric in METRICS.items()},
}
del _TITLES["expression"]
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


def statistic_title(name: str, say: Say) -> str:
    """A known statistic in words, a formula as a label."""
    return _TITLES.get(name) or say(name)


def measured(record: TestRecord) -> str:
    """What was measured and the statistic of it, as a label: `wer (ratio)`, or the statistic alone where that is all."""
    name, metric = record.statistic.name, record.statistic.metric
    return name if metric in {None, name} else f"{metric} ({name})"


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
