"""promptfoo results (`promptfoo eval -o results.json`, version 3): prompts and providers are columns of one table.

Two columns of one file, or one column of each of two files. A test is identified by its variables and
description; in one file also by its assertions. `--repeat` runs a test several times: its scores are averaged. A row
with failureReason 2 ended in an error of the provider and has no score, whatever its field says.
(src/types/index.ts: EvaluateResult, EvaluateSummaryV3.)
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidTest
from .. import ndjson
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .metrics import metric_of
from .number_text import Number, NumberReader
from .outputs_by_id import SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading, RoleQuestion, choose
from .roles import both, by_names, role_question
from .source import Source

ROLES = ("u", "v", "file")
USES = frozenset(("system_u", "system_v", "metric", "clusters", "on_missing", "missing_range", "decimals"))
OF_A_ROW = frozenset(("promptIdx", "promptId", "prompt", "testCase", "testIdx", "vars", "namedScores"))
ERROR = 2
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Export:
    """The rows of one file with their indices, and its columns by (promptIdx, provider)."""

    source: Source
    rows: list[Row]
    path: tuple[str, ...]
    columns: dict[tuple[int, str], list[int]]

    def called(self, column: tuple[int, str]) -> str:
        """The labels of a column's provider and prompt; the provider's id if there are none.

        The label of a prompt without one is its own text, which tells nothing about its role.
        """
        row = self.rows[self.columns[column][0]]
        parts = [part for part in (row.get("provider"), row.get("prompt")) if isinstance(part, dict)]
        labels = [part.get("label") for part in parts if part.get("label") != part.get("raw")]
        named = [label for label in labels if isinstance(label, str) and label]
        return " ".join(named) or column[1]

    def title(self, column: tuple[int, str]) -> str:
        """The column's unique name, for when its provider alone is ambiguous."""
        return f"{column[0]}:{column[1]}"


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two columns."""
    notes: list[str] = []
    first, second = both(files, format_)
    left = export_of(first, notes)
    right = left if first is second else export_of(second, notes)
    question = None
    if first is second:
        columns, question = _two(left, options, notes)
    else:
        columns = _one(left, options.system_u, "system_u"), _one(right, options.system_v, "system_v")
    number_reader = NumberReader.of(options)
    systems = [
        outputs_of(export, column, options, number_reader, alone=first is second, notes=notes)
        for export, column in zip((left, right), columns, strict=True)
    ]
    others = sum(map(len, left.columns.values())) - len(left.columns[columns[0]])
    if first is second:
        others -= len(left.columns[columns[1]])
    if others:
        notes.append(f"{others:,} rows of other columns were skipped.")
    names = columns[0][1], columns[1][1]
    if names[0] == names[1]:
        names = left.title(columns[0]), right.title(columns[1])
    return scores_reading(
        systems[0], systems[1], options, notes, format_, clustered=options.clusters is not None, names=names,
        metric=None if options.metric is None else metric_of(options.metric),
        higher_is_better=True,  # a score is the degree to which an assertion holds
        role_question=question,
    )  # fmt: skip


def export_of(source: Source, notes: list[str]) -> Export:
    """The rows and columns of a file; raises MalformedBody or InvalidTest where it is no export."""
    document = ndjson.decoded(source.text(notes), source.pointer, source.label)
    path: tuple[str, ...] = ()
    while isinstance(document, dict) and "results" in document and len(path) < 2:
        document, path = document["results"], (*path, "results")
    if not isinstance(document, list) or not all(isinstance(row, dict) for row in document):
        detail = (
            f"{source.label}: there is no list results.results; export with promptfoo eval -o results.json."
        )
        if document and isinstance(document, dict):
            detail += " Averages of lm-evaluation-harness have no items: run it with --log_samples, and give samples_*.jsonl."
        raise InvalidTest.at(source.at(*path), "missing_field", detail)
    columns: dict[tuple[int, str], list[int]] = {}
    for index, row in enumerate(document):
        provider = row.get("provider")
        name = provider.get("id") if isinstance(provider, dict) else provider
        if not isinstance(name, str):
            raise InvalidTest.at(
                source.at(*path, index, "provider"), "missing_field", "This row has no provider."
            )
        prompt = row.get("promptIdx", 0)
        columns.setdefault((prompt if isinstance(prompt, int) else 0, name), []).append(index)
    if not columns:
        raise source.empty()
    return Export(source, document, path, dict(sorted(columns.items())))


def _two(
    export: Export, options: ReaderOptions, notes: list[str]
) -> tuple[tuple[tuple[int, str], tuple[int, str]], RoleQuestion | None]:
    """The two columns, and what a gate must ask if nothing tells which is the candidate's."""
    columns = list(export.columns)
    if options.system_u is None and options.system_v is None and len(columns) == 2:
        called = [export.called(column) for column in columns]
        by_role = by_names(called) if called[0] != called[1] else None
        u, v = reversed(columns) if by_role and by_role[0] == called[1] else columns
        titles = export.title(u), export.title(v)
        how = "by their names" if by_role else "in the order of the file"
        notes.append(f"u is column {titles[0][:80]} and v is column {titles[1][:80]}, {how}.")
        return (u, v), None if by_role else role_question(called, titles)
    chosen = _one(export, options.system_u, "system_u"), _one(export, options.system_v, "system_v")
    if chosen[0] == chosen[1]:
        detail = "`system_u` and `system_v` are the same column."
        raise InvalidTest.at(export.source.pointer, "same_system", detail)
    return chosen, None


def _one(export: Export, wanted: str | None, option: str) -> tuple[int, str]:
    """The column of this provider, prompt index, or `promptIdx:provider`; or the only one there is."""
    columns = list(export.columns)
    if wanted is None and len(columns) == 1:
        return columns[0]
    matching = [c for c in columns if wanted in (c[1], str(c[0]), export.title(c))]
    if len(matching) != 1:
        titles = [export.title(column) for column in columns]
        raise choose(export.source.pointer, option, "column (promptIdx:provider)", titles)
    return matching[0]


def outputs_of(
    export: Export,
    column: tuple[int, str],
    options: ReaderOptions,
    number_reader: NumberReader,
    *,
    alone: bool,
    notes: list[str],
) -> SystemOutputs:
    """The column's scores by test; runs of one test together."""
    runs: dict[str, list[int]] = {}
    for index in export.columns[column]:
        runs.setdefault(_key(export.rows[index], alone=alone), []).append(index)
    outputs = SystemOutputs(export.source)
    repeated = 0
    for key, indices in runs.items():
        values = [_value(export, index, options.metric or "score", number_reader) for index in indices]
        repeated += len(values) > 1
        numbers = tuple(value for value in values if value is not None)
        missing = len(numbers) != len(values)
        path = "/".join((*export.path, str(indices[values.index(None) if missing else 0])))
        if missing and numbers and options.on_missing == "drop":
            notes.append(
                f"{export.title(column)[:80]}: {len(values) - len(numbers)} runs of a test without a score were left out."
            )
            missing = False
        value = None if missing else numbers if len(values) > 1 else numbers[0]
        outputs.add(key, value, path, _cluster(export, indices[0], options.clusters))
    if repeated:
        notes.append(
            f"{export.title(column)[:80]}: {repeated:,} tests were run several times; their scores are averaged."
        )
    return outputs


def _key(row: Row, *, alone: bool) -> str:
    """The identity of a test, as canonical JSON; its variables stay the same when a test is edited."""
    case = row.get("testCase")
    inner: Row = case if isinstance(case, dict) else {}
    identity = [row.get("vars", inner.get("vars")), row.get("description", inner.get("description"))]
    if alone:
        identity.append(inner.get("assert"))
    return json.dumps(identity, sort_keys=True)


def _value(export: Export, index: int, metric: str, number_reader: NumberReader) -> Number | None:
    row = export.rows[index]
    if row.get("failureReason") == ERROR:
        return None
    pointer = export.source.at(*export.path, index, metric)
    if metric in ("score", "success"):
        if metric not in row:
            raise InvalidTest.at(pointer, "missing_field", f"This row has no {metric}.")
        return number_reader.of_json(row[metric], pointer)
    named_scores = row.get("namedScores")
    scores_by_name = named_scores if isinstance(named_scores, dict) else {}
    if metric not in scores_by_name:
        why = f"This row has no score {quoted(metric)}. "
        raise choose(pointer, "metric", "score", ["score", "success", *scores_by_name], why)
    return number_reader.of_json(
        scores_by_name[metric], export.source.at(*export.path, index, "namedScores", metric)
    )


def _cluster(export: Export, index: int, name: str | None) -> str | None:
    """The cluster: a variable, or a member of the test's metadata."""
    if name is None:
        return None
    row = export.rows[index]
    case = row.get("testCase")
    metadata = case.get("metadata") if isinstance(case, dict) else None
    for mapping in (row.get("vars"), metadata, row.get("metadata")):
        if isinstance(mapping, dict) and isinstance(mapping.get(name), str | int):
            return str(mapping[name])
    detail = f"Neither vars nor metadata of this row have {escaped(name)}."
    raise InvalidTest.at(export.source.at(*export.path, index), "no_cluster", detail)


def _sign(look: FirstLook) -> Sign:
    """Rows of results.results (version 3), or of results, that name the prompt or the test beside the provider."""
    results = look.document.get("results")
    rows = results.get("results") if isinstance(results, dict) else results
    first = rows[0] if isinstance(rows, list) and rows else None
    row = isinstance(first, dict) and "provider" in first and bool(OF_A_ROW & first.keys())
    return Sign.MARK if row or {"evalId", "results"} <= look.document.keys() else Sign.NONE


FORMAT = Format(
    "promptfoo", read, ROLES, USES, "promptfoo eval -o results.json", kinds=("scores",), sign=_sign
)
