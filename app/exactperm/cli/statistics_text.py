"""The statistics as lines of text, by what one has and what one asks."""

from __future__ import annotations

from collections.abc import Iterator

from ..statistics.catalogue import DATA, ENTRIES, QUESTIONS, by_data_and_question

_WIDTH = 22


def statistics_text() -> str:
    """What one has, below it what one asks, and below that a line for each statistic: name, meaning, other names."""
    return "\n".join(_lines()) + "\n"


def _lines() -> Iterator[str]:
    before = None
    for (data, question), entries in by_data_and_question(ENTRIES).items():
        if data != before:
            yield from ([] if before is None else [""])
            yield DATA[data]
            before = data
        yield f"  {QUESTIONS[question]}"
        for entry in entries:
            others = f" [{', '.join(entry.known_as)}]" if entry.known_as else ""
            yield f"    {entry.name:<{_WIDTH}}{entry.meaning}{others}"
