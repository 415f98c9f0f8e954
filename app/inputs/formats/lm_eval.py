"""Sample logs of lm-evaluation-harness (`--log_samples`): one JSON object a document and filter.

Every metric is a key of the object; its key is (doc_id, filter), as one file is one task. The file is opened for
appending by the harness, so a key may be there twice after a second run. (lm_eval/evaluator.py,
lm_eval/loggers/evaluation_tracker.py.)
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import Choice, InvalidTest
from ...inference.reading import Remark
from .. import ndjson
from ..quoting import escaped, quoted
from . import likelihoods
from .count_files import require_same
from .format import FirstLook, Format, Sign
from .json_records import key_of
from .metrics import Measured, measured
from .number_text import NumberReader
from .outputs_by_id import Check, SystemOutputs, counts, matched, scores_reading
from .reader import ReaderOptions, Reading, choose, only_or_chosen
from .roles import both
from .source import Source

MARKS = ("filter", "doc_hash", "filtered_resps")  # beside doc_id; or a list of metrics
ROLES = ("u", "v", "file")
USES = frozenset(
    (
        "filter",
        "filter_u",
        "filter_v",
        "metric",
        "metric_u",
        "metric_v",
        "on_missing",
        "on_mismatch",
        "missing_range",
        "decimals",
        "clusters",
    )
)
NAME = re.compile(r"samples_(?P<task>.+)_\d{4}-\d\d-\d\dT")
NO_FILTER = "none"
MUST_AGREE = ("doc_hash", "target_hash")


@dataclass(frozen=True, slots=True)
class Samples:
    """The records of one filter of one file."""

    source: Source
    filter: str
    records: list[ndjson.Record]


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two models on one task, or of two filters of one model."""
    notes: list[str] = []
    first, second = both(files, format_)
    u = _samples(first, options.filter_u or options.filter, "u", options, notes)
    v = _samples(second, options.filter_v or options.filter, "v", options, notes)
    if first is second and u.filter == v.filter and options.metric_u == options.metric_v:
        why = "One file is compared with itself only by two filters (or by `metric_u` and `metric_v`). "
        what = "two filters, u's and, with `filter_v`, v's"
        raise choose(first.pointer, "filter_u", what, [u.filter], why, values=())
    if u.filter != v.filter and not (options.filter_u and options.filter_v):
        detail = f"u has the filter {quoted(u.filter)} and v has {quoted(v.filter)}; give `filter_u` and `filter_v` if this is intended."
        both_filters = Choice(f"{u.filter} against {v.filter}", {"filter_u": u.filter, "filter_v": v.filter})
        raise InvalidTest.at(v.source.pointer, "filter_mismatch", detail, (both_filters,))
    _compare_tasks(first, second, notes)
    metrics = _metrics(u, v, options)
    named = escaped(metrics[0]) if metrics[0] == metrics[1] else " and ".join(map(escaped, metrics))
    notes.append(f"The metric is {named}; the filters are {u.filter[:40]} (u) and {v.filter[:40]} (v).")
    filters = (u.filter, v.filter)
    names = None if first is not second else filters if u.filter != v.filter else metrics
    if metrics[0] == metrics[1]:
        special = _special(u, v, metrics[0], options, notes, format_, names)
        if special is not None:
            return special
    systems = [_outputs(samples, metric, options) for samples, metric in zip((u, v), metrics, strict=True)]
    said = Measured(metrics[0])
    if metrics[0] != metrics[1]:  # chosen so, by metric_u and metric_v
        said = measured(*metrics, v.source.pointer, chosen=True)
    return scores_reading(
        systems[0], systems[1], options, notes, format_, clustered=options.clusters is not None, check=_checker(u, v),
        more_notes=_unchecked(u, v), names=names, metric=said.metric,
        higher_is_better=_direction(u, metrics[0]) if metrics[0] == metrics[1] else None,
        direction_question=said.direction_question,
    )  # fmt: skip


def _special(
    u: Samples,
    v: Samples,
    metric: str,
    options: ReaderOptions,
    notes: list[Any],
    format_: str,
    names: tuple[str, str] | None,
) -> Reading | None:
    """The reading of log-likelihoods, or of a list of right and wrong for each document; None of other metrics."""
    clustered, check = options.clusters is not None, _checker(u, v)
    values = [(samples, [record.value.get(metric) for record in samples.records]) for samples in (u, v)]
    if likelihoods.is_likelihood(metric, values[0][1][0]):
        read = [
            likelihoods.outputs(
                samples.source, metric, _rows(samples, metric, options.clusters), NumberReader.of(options)
            )
            for samples in (u, v)
        ]
        likelihoods.require_same_text(read[0], read[1])
        notes += [likelihoods.note(metric, one, role) for one, role in zip(read, "uv", strict=True)]
        return scores_reading(
            read[0].outputs, read[1].outputs, options, notes, format_, clustered=clustered, check=check,
            more_notes=(*_unchecked(u, v), likelihoods.WHAT), names=names, metric=likelihoods.METRIC, higher_is_better=False,
        )  # fmt: skip
    if not likelihoods.is_booleans(values[0][1][0]):
        return None
    rights = [
        likelihoods.rights(samples.source, _rows(samples, metric, options.clusters)) for samples in (u, v)
    ]
    require_same(rights[0], rights[1], 1, likelihoods.RIGHT_OF[1], "both systems need the same documents.")
    pairs = matched(
        rights[0], rights[1], on_missing=options.on_missing, notes=notes, clustered=clustered, check=check
    )
    notes += [*_unchecked(u, v), likelihoods.OF_LISTS]
    return Reading(
        "counts", counts(pairs, likelihoods.RIGHT_OF), likelihoods.RATIO, tuple(notes), format_, names=names,
        metric=metric, higher_is_better=True,
    )  # fmt: skip


def _rows(samples: Samples, metric: str, clusters: str | None) -> Iterator[likelihoods.Row]:
    """Line, document, value and cluster of each record."""
    for record in samples.records:
        path = f"line/{record.line}"
        key = key_of(record.value["doc_id"], samples.source, path, "doc_id")
        yield (
            record.line,
            key,
            record.value.get(metric),
            _cluster(record.value, clusters, samples.source, path),
        )


def _direction(samples: Samples, metric: str) -> bool | None:
    """The direction of a metric if the log has it, as `higher_is_better` of the harness's results; most do not."""
    direction = samples.records[0].value.get("higher_is_better")
    direction = direction.get(metric) if isinstance(direction, dict) else direction
    return direction if isinstance(direction, bool) else None


def _samples(
    source: Source, wanted: str | None, role: str, options: ReaderOptions, notes: list[Any]
) -> Samples:
    """The records of the filter that was chosen, or of the only one there is."""
    by_filter: dict[str, list[ndjson.Record]] = {}
    for record in ndjson.records(source.lines(notes), source.pointer):
        if "doc_id" not in record.value:
            raise source.refused(
                record.line, "missing_field", "there is no doc_id; is this a sample log?", "doc_id"
            )
        filter_ = record.value.get("filter", NO_FILTER)
        by_filter.setdefault(str(filter_), []).append(record)
    if not by_filter:
        raise source.empty()
    option = "filter" if wanted is None or options.filter is not None else f"filter_{role}"
    several = f"{source.label} has every document under {len(by_filter)} filters. "
    chosen = only_or_chosen(list(by_filter), wanted, source.pointer, option, "filter", several)
    others = sum(map(len, by_filter.values())) - len(by_filter[chosen])
    if others:
        notes.append(Remark(role, f"{others:,} lines of other filters were skipped."))
    return Samples(source, chosen, by_filter[chosen])


def _compare_tasks(first: Source, second: Source, notes: list[str]) -> None:
    tasks = [match["task"] for source in (first, second) if (match := NAME.search(source.name))]
    if len(set(tasks)) == 2:
        notes.append(f"By their names the files are of two tasks, {tasks[0][:40]} and {tasks[1][:40]}.")


def _metrics(u: Samples, v: Samples, options: ReaderOptions) -> tuple[str, str]:
    """The metrics chosen for u and v, or the only one that is a number of the item."""
    if (options.metric_u, options.metric_v) != (None, None):
        chosen = options.metric_u or options.metric, options.metric_v or options.metric
        for samples, metric, role in zip((u, v), chosen, "uv", strict=True):
            if metric is None:
                raise choose(samples.source.pointer, f"metric_{role}", f"metric of {role}", _names(samples))
            _require_metric(samples, metric)
        first, second = str(chosen[0]), str(chosen[1])
        if first != second:
            for samples, metric in ((u, first), (v, second)):
                record = samples.records[0]
                if likelihoods.is_special(metric, record.value[metric]):
                    detail = f"{escaped(metric)} is compared with itself alone."
                    raise samples.source.refused(record.line, "metric_mismatch", detail, metric)
        return first, second
    metric = _metric(u, v, options)
    return metric, metric


def _names(samples: Samples) -> list[str]:
    listed = samples.records[0].value.get("metrics")
    return [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []


def _require_metric(samples: Samples, metric: str) -> None:
    record = samples.records[0]
    if metric not in record.value:
        why = f"There is no metric {quoted(metric)}. "
        raise choose(samples.source.line(record.line), "metric", "metric", _names(samples), why)


def _metric(u: Samples, v: Samples, options: ReaderOptions) -> str:
    """The metric chosen, or the only one that is a number of the item."""
    first = u.records[0]
    names = _names(u)
    if options.metric is not None:
        for samples in (u, v):
            _require_metric(samples, options.metric)
        return options.metric
    usable = [
        name
        for name in names
        if not isinstance(first.value.get(name), list | dict)
        or likelihoods.is_special(name, first.value[name])
    ]
    if usable and all(name in likelihoods.UNITS for name in usable):
        return usable[0]  # all are the same log-likelihoods
    if len(usable) == 1:
        return usable[0]
    if names and not usable:
        raise _corpus_metric(u.source, first.line, names[0])
    raise choose(u.source.line(first.line), "metric", "metric", usable or list(first.value))


def _corpus_metric(source: Source, line: int, metric: str) -> InvalidTest:
    detail = (
        f"{escaped(metric)} is a corpus metric: an item has only a part of it and no score of its own, so a mean "
        "over items would be another metric."
    )
    return source.refused(line, "corpus_metric", detail, metric)


def _outputs(samples: Samples, metric: str, options: ReaderOptions) -> SystemOutputs:
    source, number_reader = samples.source, NumberReader.of(options)
    outputs = SystemOutputs(source)
    for name, hash_ in zip(("doc", "target"), MUST_AGREE, strict=True):
        if not any(hash_ in record.value for record in samples.records):  # older logs have no hashes
            outputs.context[name] = [record.value.get(name) for record in samples.records]
    for record in samples.records:
        value, path = record.value, f"line/{record.line}"
        if metric not in value:
            raise source.refused(record.line, "missing_field", f"there is no {escaped(metric)}.", metric)
        if isinstance(value[metric], list | dict):
            raise _corpus_metric(source, record.line, metric)
        key = key_of(value["doc_id"], source, path, "doc_id")
        if _repeats(value) > 1:
            outputs.runs[key] = _repeats(value)
        outputs.add(
            key,
            number_reader.of_json(value[metric], source.line(record.line, metric)),
            path,
            _cluster(value, options.clusters, source, path),
        )
    return outputs


def _repeats(record: dict[str, Any]) -> int:
    """How often the document was answered: a list for each request, which majorities and pass@k are taken of."""
    requests = record.get("resps")
    answers = requests[0] if isinstance(requests, list) and requests else None
    return len(answers) if isinstance(answers, list) else 1


def _cluster(record: dict[str, Any], name: str | None, source: Source, path: str) -> str | None:
    """The cluster: a field of the record, or of its `doc`."""
    if name is None:
        return None
    doc = record.get("doc")
    inner = doc.get(name) if isinstance(doc, dict) else None
    return key_of(record.get(name, inner), source, path, name)


def _checker(u: Samples, v: Samples) -> Check:
    def check(_u: SystemOutputs, place_u: int, _v: SystemOutputs, place_v: int) -> None:
        """The same document and the same target on both sides; the prompt may differ legitimately."""
        mine, other = u.records[place_u], v.records[place_v]
        for name in MUST_AGREE:
            if name in mine.value and name in other.value and mine.value[name] != other.value[name]:
                detail = f"{name} of doc_id {quoted(mine.value['doc_id'])} is not that of u (line {mine.line:,} there): "
                detail += "the two files are not about the same documents."
                raise v.source.refused(other.line, f"{name}_mismatch", detail, name)

    return check


def _unchecked(u: Samples, v: Samples) -> list[str]:
    notes = []
    for name in MUST_AGREE:
        without = [s.source.role for s in (u, v) if any(name not in record.value for record in s.records)]
        if without:
            notes.append(
                f"{name} is not everywhere in {' and '.join(without)}: it was compared only where it is."
            )
    prompts = [{r.value["doc_id"]: r.value.get("prompt_hash") for r in s.records} for s in (u, v)]
    differ = sum(prompts[1].get(key, value) != value for key, value in prompts[0].items())
    if differ:
        notes.append(f"The prompts of {differ:,} documents differ between u and v.")
    return notes


def _sign(look: FirstLook) -> Sign:
    record = look.record or {}
    marked = any(mark in record for mark in MARKS) or isinstance(record.get("metrics"), list)
    return Sign.MARK if "doc_id" in record and marked else Sign.NONE


FORMAT = Format(
    "lm-eval", read, ROLES, USES, "lm-evaluation-harness --log_samples",
    kinds=("scores",), aliases=("lm-eval-harness", "lm-evaluation-harness"), sign=_sign,
)  # fmt: skip
