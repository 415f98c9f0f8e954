"""Times of benchmarks: pytest-benchmark (`--benchmark-json`) and hyperfine (`--export-json`).

Two files, one for each version of what is measured; a benchmark is an item, identified by its name in pytest and by its
command in hyperfine. Its times are averaged where the file has them (pytest-benchmark writes them with
--benchmark-save-data), else their mean is taken as it is written. Less is better. Of more times in one file
the first count, as many as the other has: the mean of more times varies less, the least of more is less. Numbers as they are written
need as many times in both, or those that pytest-benchmark chose by the same options: then they are part of what is measured.
(pytest-benchmark: docs/usage.rst, `stats`; hyperfine: src/export/json.rs, src/benchmark/benchmark_result.rs.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidTest
from .. import ndjson
from .format import FirstLook, Format, Sign
from .number_text import Number, NumberReader
from .outputs_by_id import SystemOutputs, Value, scores_reading
from .reader import Finding, ReaderOptions, Reading, choose
from .roles import both
from .source import Source

ROLES = ("u", "v")
USES = frozenset(("metric", "on_missing", "missing_range", "decimals"))
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Layout:
    """Where a tool keeps its benchmarks, and what of them: the list, the object with the numbers, the times."""

    benchmarks: str
    numbers: str | None
    times: str
    metrics: tuple[str, ...]

    def path(self, index: int, *inner: str) -> str:
        """The pointer to a benchmark's number, below the file's."""
        return "/".join(
            (self.benchmarks, str(index), *(() if self.numbers is None else (self.numbers,)), *inner)
        )


_PYTEST = Layout("benchmarks", "stats", "data", ("mean", "median", "min", "max"))
_HYPERFINE = Layout("results", None, "times", ("mean", "median", "min", "max", "user", "system"))


def read_pytest(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Two files of pytest-benchmark."""
    return _reading(files, options, format_, _PYTEST)


def read_hyperfine(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Two files of hyperfine."""
    return _reading(files, options, format_, _HYPERFINE)


def _reading(files: Mapping[str, Source], options: ReaderOptions, format_: str, layout: Layout) -> Reading:
    notes: list[str] = []
    first, second = both(files, format_)
    if options.metric is not None and options.metric not in layout.metrics:
        raise choose(first.pointer, "metric", "number of a benchmark", list(layout.metrics))
    (u, rules), (v, others) = (_outputs(source, options, layout, notes) for source in (first, second))
    findings: tuple[Finding, ...] = ()
    if len(u) == len(v) == 1:
        detail = (
            "Each file has one benchmark, which is one item, and its runs are not paired with those of the other: no paired test says "
            "much of it. Measure several commands or inputs, each an item."
        )
        findings = (Finding("one_item", detail, second.pointer),)
    cut = 0
    for key in u.index.keys() & v.index.keys():
        at = u.index[key], v.index[key]
        times = u.values[at[0]], v.values[at[1]]
        if all(isinstance(own, tuple) for own in times):
            most = u.runs[key] = v.runs[key] = min(map(len, times))
            cut += len(times[0]) != len(times[1])
            u.values[at[0]], v.values[at[1]] = (own[:most] for own in times)
        elif rules.get(key) is not None and rules.get(key) == others.get(key):
            u.runs[key] = v.runs[key] = 1
    if cut:
        notes.append(
            f"{cut:,} benchmarks have more times in one file: the first count, as many as the other file has."
        )
    taken = "the mean of its times" if options.metric is None else f"the {options.metric} of its times"
    return scores_reading(
        u, v, options, notes, format_,
        more_notes=(f"A benchmark is an item; its score is {taken}, in seconds.",),
        metric="seconds",
        higher_is_better=False,
        findings=findings,
    )  # fmt: skip


def _outputs(
    source: Source, options: ReaderOptions, layout: Layout, notes: list[str]
) -> tuple[SystemOutputs, dict[str, Row]]:
    """A file's benchmarks, and by what options the numbers of their times were chosen, where they were.

    Raises MalformedBody, and InvalidTest where it is no export.
    """
    document = ndjson.decoded(source.text(notes), source.pointer, source.label)
    rows = document.get(layout.benchmarks) if isinstance(document, dict) else None
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        detail = f"{source.label}: there is no list {layout.benchmarks} of benchmarks."
        raise InvalidTest.at(source.at(layout.benchmarks), "missing_field", detail)
    outputs, reader, failed = SystemOutputs(source), NumberReader.of(options), 0
    rules: dict[str, Row] = {}
    for index, row in enumerate(rows):
        value = _value(source, row, index, layout, options.metric, reader)
        name = _name(source, row, index, layout)
        outputs.add(name, value, layout.path(index))
        outputs.runs[name] = _times_of(row, layout)
        if isinstance(row.get("options"), dict):
            rules[name] = row["options"]
        codes = row.get("exit_codes")
        failed += sum(code != 0 for code in codes) if isinstance(codes, list) else 0
    if failed:
        notes.append(
            f"{source.label}: {failed:,} runs ended with another exit code than 0; their times count."
        )
    return outputs, rules


def _times_of(row: Row, layout: Layout) -> int:
    """How many times were taken; 1 where the file does not say it."""
    numbers = row if layout.numbers is None else row.get(layout.numbers)
    if not isinstance(numbers, dict):
        return 1
    times, rounds = numbers.get(layout.times), numbers.get("rounds")
    return (
        len(times)
        if isinstance(times, list) and times
        else rounds
        if type(rounds) is int and rounds > 0
        else 1
    )


def _name(source: Source, row: Row, index: int, layout: Layout) -> str:
    """fullname in pytest, else name; the command in hyperfine, with the values of its parameters if there are any."""
    for field in ("fullname", "name", "command"):
        name = row.get(field)
        if isinstance(name, str) and name:
            parameters = row.get("parameters")
            return f"{name} {json.dumps(parameters, sort_keys=True)}" if parameters else name
    detail = f"{source.label}: this benchmark has no name."
    raise InvalidTest.at(source.at(layout.benchmarks, index), "missing_field", detail)


def _value(
    source: Source, row: Row, index: int, layout: Layout, metric: str | None, reader: NumberReader
) -> Value:
    numbers = row if layout.numbers is None else row.get(layout.numbers)
    if not isinstance(numbers, dict):
        return None  # it did not run
    times = numbers.get(layout.times)
    if metric is None and isinstance(times, list) and times:
        return _times(source, times, layout.path(index, layout.times), reader)
    name = metric or "mean"
    pointer = f"{source.pointer}/{layout.path(index, name)}"
    if name not in numbers:
        raise InvalidTest.at(pointer, "missing_field", f"{source.label}: this benchmark has no {name}.")
    return _seconds(numbers[name], pointer, reader)


def _seconds(value: Any, pointer: str, reader: NumberReader) -> Number | None:
    """A time; true is none, though elsewhere it is a score of 1."""
    if isinstance(value, bool):
        raise InvalidTest.at(pointer, "not_a_number", "This is a boolean; a time in seconds is needed here.")
    return reader.of_json(value, pointer)


def _times(source: Source, times: Sequence[Any], path: str, reader: NumberReader) -> Value:
    read = [_seconds(time, f"{source.pointer}/{path}/{index}", reader) for index, time in enumerate(times)]
    known: tuple[Number, ...] = tuple(time for time in read if time is not None)
    return known if len(known) == len(read) else None


def _pytest_sign(look: FirstLook) -> Sign:
    document = look.document
    return (
        Sign.MARK
        if isinstance(document.get("benchmarks"), list) and "machine_info" in document
        else Sign.NONE
    )


def _hyperfine_sign(look: FirstLook) -> Sign:
    rows = look.document.get("results")
    first = rows[0] if isinstance(rows, list) and rows else None
    return Sign.MARK if isinstance(first, dict) and {"command", "mean"} <= set(first) else Sign.NONE


PYTEST = Format(
    "pytest-benchmark",
    read_pytest,
    ROLES,
    USES,
    "pytest --benchmark-json",
    kinds=("scores",),
    sign=_pytest_sign,
)
HYPERFINE = Format(
    "hyperfine",
    read_hyperfine,
    ROLES,
    USES,
    "hyperfine --export-json",
    kinds=("scores",),
    sign=_hyperfine_sign,
)
