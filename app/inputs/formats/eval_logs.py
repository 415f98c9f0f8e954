"""Logs of frameworks for evaluation whose format is a shape: lighteval, HELM, OpenAI evals, Every Eval Ever and RunFrames.

Sources: lighteval/logging/info_loggers.py, DetailsLogger.Detail; helm/benchmark/metrics/metric.py, PerInstanceStats,
metrics/statistic.py, Stat, metrics/metric_name.py; evals/record.py, RecorderBase, LocalRecorder; Every Eval Ever's schema
instance_level_eval 0.2.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTest
from ...inference.reading import Remark
from .. import ndjson
from ..quoting import escaped, quoted
from .format import FirstLook
from .json_records import Record, key_of, metadata_key, read_records
from .metrics import metric_of
from .reader import ReaderOptions, choose, only_or_chosen
from .shapes import USES, Row, Rows, Shape
from .source import Source

Object = dict[str, Any]
Files = Mapping[str, Source]


# lighteval, details of a task: parquet, JSON lines or one array. Before 0.11 a detail has `example` and an object `metrics`; later `doc`
# (with an id), `model_response` and `metric`. Older ones have no ids: they are paired by their order, and must ask the same.

OLD, NEW = "metrics", "metric"
BESIDE_OLD = frozenset(("example", "full_prompt", "instruction", "gold_index", "cont_tokens"))
BESIDE_NEW = frozenset(("doc", "model_response"))


def _is_lighteval(look: FirstLook) -> bool:
    record = look.first_object
    old = isinstance(record.get(OLD), dict) and bool(BESIDE_OLD & record.keys())
    return old or (isinstance(record.get(NEW), dict) and record.keys() >= BESIDE_NEW)


def _lighteval(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    records = read_records(source, notes, flat=False).records
    ids = [_document(record).get("id") for record in records]
    with_ids = all(key not in (None, "") for key in ids)
    rows = []
    for index, (record, key) in enumerate(zip(records, ids, strict=True)):
        field = next((name for name in (OLD, NEW) if isinstance(record.value.get(name), dict)), None)
        if field is None:
            detail = f"{source.label}, {record.path}: there is no object metrics or metric; is this a detail of lighteval?"
            raise InvalidTest.at(f"{source.pointer}/{record.path}/{OLD}", "missing_field", detail)
        numbers = {name: value for name, value in record.value[field].items() if value is not None}
        if options.metric is not None and isinstance(numbers.get(options.metric), list | dict):
            detail = f"{source.label}, {record.path}: {escaped(options.metric)} is no number of the sample: it is of the whole corpus."
            place = f"{source.pointer}/{record.path}/{field}/{escaped(options.metric)}"
            raise InvalidTest.at(place, "corpus_metric", detail)
        question = _document(record).get("query") or record.value.get("example")
        rows.append(
            Row(
                key_of(key, source, f"{record.path}/doc", "id") if with_ids else str(index), numbers, record.path, field,
                runs=_answers(record.value), same={"question": (question, record.path)},
            )
        )  # fmt: skip
    names = [name for name, value in rows[0].values.items() if not isinstance(value, list | dict | str)]
    if not names:
        detail = f"{source.label}: no metric of this task is a number of each sample: they are of the whole corpus."
        raise InvalidTest.at(f"{source.pointer}/{records[0].path}", "corpus_metric", detail)
    return Rows(source, rows, metrics=names, by_order=not with_ids)


def _document(record: Record) -> Object:
    doc = record.value.get("doc")
    return doc if isinstance(doc, dict) else {}


def _answers(record: Object) -> int:
    """How many answers were drawn, which majorities, means and pass@k are taken of."""
    response = record.get("model_response")
    texts = response.get("text") if isinstance(response, dict) else record.get("predictions")
    return len(texts) if isinstance(texts, list) else 1


# HELM, per_instance_stats.json or display_predictions.json. An entry is an instance in one trial (and under one perturbation) with statistics
# of one metric; further metrics have entries of their own. A statistic is `{"name": {"name", "split"}, "count", "sum", "mean"}`, or a
# number by its name. Trials of an instance are averaged; instances are those without perturbation.

# What a run says of itself, and not of what the model answered.
BOOKKEEPING = re.compile(
    r"num_.*|finish_reason_.*|inference_.*|training_.*|batch_size|max_prob|predicted_index|logprob|prompt_.*"
)
NO_SPLIT = "none"


def _is_helm(look: FirstLook) -> bool:
    first = look.first_object if look.is_json and look.text.lstrip().startswith("[") else {}
    return "instance_id" in first and isinstance(first.get("stats"), list | dict)


def _helm(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    entries = ndjson.decoded(source.text(notes), source.pointer, source.label)
    if not isinstance(entries, list):
        detail = f"{source.label}: this is not a list of instances; per_instance_stats.json is one."
        raise InvalidTest.at(source.pointer, "not_a_list", detail)
    if not entries:
        raise source.empty()
    trials: dict[tuple[str, int], Row] = {}
    splits: dict[str, str] = {}
    perturbed = 0
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("stats"), list | dict):
            detail = f"{source.label}: entry {index:,} has no stats."
            raise InvalidTest.at(source.at(index, "stats"), "missing_field", detail)
        if entry.get("perturbation") is not None:
            perturbed += 1
            continue
        key = key_of(entry.get("instance_id"), source, str(index), "instance_id")
        trial = entry.get("train_trial_index", 0)
        if type(trial) is not int:
            place = source.at(index, "train_trial_index")
            raise InvalidTest.at(place, "not_a_number", f"{source.label}: a trial is an integer.")
        for name, split, value, path, count in _statistics(source, entry["stats"], index):
            splits[key] = split or splits.get(key, NO_SPLIT)
            row = trials.setdefault(
                (key, trial), Row(key, {}, f"instance/{escaped(key)}", None, runs={}, places={})
            )
            _add(source, row, name, value, path, count)
    several = f"{source.label} has instances of {len(set(splits.values()))} splits. "
    found = list(dict.fromkeys(splits.values()))
    if not found:
        raise source.empty()
    split = only_or_chosen(found, options.filter, source.pointer, "filter", "split", several)
    rows = [row for row in trials.values() if splits[row.key] == split]
    others = sum(own != split for own in splits.values())
    if others:
        notes.append(Remark(source.role, f"{others:,} instances of other splits were skipped."))
    if perturbed:
        notes.append(Remark(source.role, f"{perturbed:,} entries of perturbed instances were skipped."))
    if split != NO_SPLIT:
        notes.append(Remark(source.role, f"the split is {split[:40]}."))
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    usable = [name for name in names if BOOKKEEPING.fullmatch(name) is None] or names
    return Rows(source, rows, metrics=usable, repeats=True)


def _add(source: Source, row: Row, name: str, value: Any, path: str, count: int) -> None:
    assert isinstance(row.values, dict)
    assert isinstance(row.places, dict)
    assert isinstance(row.runs, dict)
    before, where = row.values.setdefault(name, value), row.places.setdefault(name, path)
    row.runs.setdefault(name, count)
    if before != value or type(before) is not type(value):
        detail = (
            f"{source.label}: {escaped(name)} of the instance {quoted(row.key)} is {quoted(value)} at {path} and "
            f"{quoted(before)} at {where}; it must be one number."
        )
        raise InvalidTest.at(f"{source.pointer}/{path}", "duplicate_id", detail)


def _statistics(source: Source, stats: Any, index: int) -> list[tuple[str, str | None, Any, str, int]]:
    """Name, split, value, path and number of observations of each statistic of an entry, without those under a perturbation."""
    if isinstance(stats, dict):
        return [(name, None, value, f"{index}/stats/{escaped(name)}", 1) for name, value in stats.items()]
    rows = []
    for position, stat in enumerate(stats):
        name = stat.get("name") if isinstance(stat, dict) else None
        label = name.get("name") if isinstance(name, dict) else name
        if not isinstance(label, str):
            detail = f"{source.label}: a statistic of entry {index:,} has no name."
            raise InvalidTest.at(source.at(index, "stats", position), "missing_field", detail)
        context = name if isinstance(name, dict) else {}
        if context.get("perturbation") is not None:
            continue
        split, count = context.get("split"), stat.get("count", 1)
        # One observation is its sum, as written; of several (completions) HELM's own mean is taken.
        which = "mean" if "sum" not in stat or (count != 1 and "mean" in stat) else "sum"
        value = stat.get(which) if count != 0 else None
        path = f"{index}/stats/{position}/{which}"
        rows.append(
            (
                label,
                split if isinstance(split, str) else None,
                value,
                path,
                count if type(count) is int else 1,
            )
        )
    return rows


# OpenAI evals, the log of a run: one event a line below a line with its specification. `match` events say whether an answer was right,
# `metrics` events hold numbers by name. A sample without one (an error, a crash) is missing.

SPEC, REPORT = "spec", "final_report"
MATCH, METRICS = "match", "metrics"
EVENT = frozenset(("run_id", "sample_id", "type", "data"))


def _is_oaieval(look: FirstLook) -> bool:
    record = look.record or {}
    spec = record.get(SPEC)
    run = isinstance(spec, dict) and bool({"eval_name", "completion_fns", "run_id"} & spec.keys())
    return run or record.keys() >= EVENT


def _oaieval(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    spec: Object = {}
    finished = False
    samples: dict[str, Row] = {}
    events: dict[str, list[Row]] = {MATCH: [], METRICS: []}
    for record in ndjson.records(source.lines(notes), source.pointer):
        value, line = record.value, record.line
        kind, data = value.get("type"), value.get("data", {})
        if isinstance(value.get(SPEC), dict) and "type" not in value:
            if spec:
                raise source.refused(
                    line, "several_runs", "a second run begins here: give each run its own file."
                )
            spec = value[SPEC]
        elif REPORT in value and "type" not in value:
            finished = True
        elif isinstance(kind, str) and isinstance(data, dict):
            if value.get("sample_id") is None:
                continue  # of the whole run
            key = key_of(value["sample_id"], source, f"line/{line}", "sample_id")
            samples.setdefault(key, Row(key, {}, f"line/{line}"))
            if kind in events:
                numbers = {name: one for name, one in data.items() if isinstance(one, bool | int | float)}
                events[kind].append(Row(key, numbers, f"line/{line}", "data"))
        else:
            detail = "this is neither an event with type and data, nor the spec or final report of a run."
            raise source.refused(line, "not_an_event", detail)
    if not samples:
        raise source.empty()
    if not finished:
        if not options.allow_incomplete:
            detail = (
                f"{source.label}: the log has no {REPORT}: the run did not finish. Finish it, or give `allow_incomplete=true` to test "
                "the samples that it has."
            )
            raise InvalidTest.at(source.pointer, "incomplete_log", detail)
        notes.append(Remark(source.role, "the run did not finish; read because of allow_incomplete: true."))
    named = {kind: {name for row in rows for name in row.values} for kind, rows in events.items()}
    kind = METRICS if options.metric in named[METRICS] or not events[MATCH] else MATCH
    rows = [*samples.values(), *events[kind]]
    if not named[MATCH] | named[METRICS]:
        detail = f"{source.label}: there are no match and no metrics events with numbers: this eval scores nothing by sample."
        raise InvalidTest.at(source.pointer, "no_scores", detail)
    functions = spec.get("completion_fns")
    name = ", ".join(map(str, functions)) if isinstance(functions, list) and functions else source.name
    names = [
        *dict.fromkeys(name for row in events[METRICS] for name in row.values),
        *(["correct"] if events[MATCH] else []),
    ]
    agree = {"eval": (spec.get("eval_name"), f"line/1/{SPEC}/eval_name")}
    metric = "correct" if kind == MATCH and options.metric is None else None
    return Rows(source, rows, name, metric, names, agree=agree, repeats=True)


# Every Eval Ever, instance level: a line is one sample of one evaluation, whose key is (evaluation_name, sample_id).

EEE_METRICS = ("score", "is_correct")


def _is_eee(look: FirstLook) -> bool:
    record = look.record or {}
    return "evaluation" in record and "sample_id" in record


def _eee(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    metric = options.metric or EEE_METRICS[0]
    if metric not in EEE_METRICS:
        raise choose("/options/metric", "metric", "metric", list(EEE_METRICS))
    by_evaluation: dict[str, list[ndjson.Record]] = {}
    for record in ndjson.records(source.lines(notes), source.pointer):
        name = key_of(record.value.get("evaluation_name"), source, f"line/{record.line}", "evaluation_name")
        by_evaluation.setdefault(name, []).append(record)
    if not by_evaluation:
        raise source.empty()
    several = f"{source.label} has several evaluations. "
    chosen = only_or_chosen(list(by_evaluation), options.task, source.pointer, "task", "evaluation", several)
    others = sum(map(len, by_evaluation.values())) - len(by_evaluation[chosen])
    if others:
        notes.append(Remark(source.role, f"{others:,} lines of other evaluations were skipped."))
    records = by_evaluation[chosen]
    models = list(dict.fromkeys(str(record.value.get("model_id", source.name)) for record in records))
    if len(models) > 1:
        detail = f"{source.label} has samples of {len(models)} models; give each its own file."
        raise InvalidTest.at(source.pointer, "several_models", detail)
    rows = []
    for record in records:
        value, path = record.value, f"line/{record.line}"
        evaluation = value.get("evaluation")
        failed = (
            value.get("error") is not None
        )  # a sample that ended in an error has no score, whatever its field says
        if not failed and (not isinstance(evaluation, dict) or metric not in evaluation):
            detail = f"there is no evaluation.{escaped(metric)}."
            raise source.refused(record.line, "missing_field", detail, "evaluation", metric)
        numbers = {metric: None if failed or not isinstance(evaluation, dict) else evaluation[metric]}
        rows.append(
            Row(
                key_of(value.get("sample_id"), source, path, "sample_id"), numbers, path, "evaluation",
                cluster=metadata_key(value, options.clusters, source, path),
                same={"sample_hash": (value.get("sample_hash"), f"{path}/sample_hash")},
            )
        )  # fmt: skip
    hashed = all("sample_hash" in record.value for record in records)
    direction = f"The number is evaluation.{metric}; whether lower is better is in the aggregate file, not in this one."
    unhashed = "sample_hash is not everywhere: it was compared only where it is."
    said = (direction,) if hashed else (unhashed, direction)
    clustered = options.clusters is not None
    return Rows(source, rows, models[0], metric, measured=metric, clustered=clustered, notes=said)


# RunFrames of evalsig: `{run_id, model_id, task_id, metric_name, items: [{item_id, score, cluster_id?}]}`, one a system.


def _is_run_frame(look: FirstLook) -> bool:
    items = look.whole.get("items")
    first = items[0] if isinstance(items, list) and items else None
    return isinstance(first, dict) and "item_id" in first


def _run_frame(source: Source, options: ReaderOptions, notes: list[str], files: Files) -> Rows:
    if options.clusters not in (None, "cluster_id"):
        detail = "RunFrames have `clusters=cluster_id` only."
        raise InvalidTest.at("/options/clusters", "invalid_option", detail)
    frame = ndjson.decoded(source.text(notes), source.pointer, source.label)
    if not isinstance(frame, dict) or not isinstance(frame.get("items"), list):
        detail = f"{source.label}: this is not a RunFrame, an object with a list of items."
        raise InvalidTest.at(source.at("items"), "missing_field", detail)
    rows = []
    for index, item in enumerate(frame["items"]):
        path = f"items/{index}"
        if not isinstance(item, dict):
            raise InvalidTest.at(source.at("items", index), "not_an_object", "An item is not an object.")
        if "score" not in item:
            raise InvalidTest.at(
                source.at("items", index, "score"), "missing_field", "This item has no score."
            )
        cluster = item.get("cluster_id")
        cluster = None if cluster is None else key_of(cluster, source, path, "cluster_id")
        key = key_of(item.get("item_id"), source, path, "item_id")
        rows.append(Row(key, {"score": item["score"]}, path, cluster=cluster))
    metric = frame.get("metric_name")
    return Rows(
        source, rows, str(frame.get("model_id", source.name)), "score",
        measured=metric_of(metric) if isinstance(metric, str) else None,
        agree={name: (frame.get(name), name) for name in ("task_id", "metric_name")},
        clustered=any(row.cluster is not None for row in rows),
    )  # fmt: skip


LOGS = (
    Shape("every-eval-ever", "Every Eval Ever, instance level", _is_eee, _eee, uses=USES | {"task", "clusters"}, aliases=("eee",)),
    Shape("helm", "HELM, per_instance_stats.json of a run", _is_helm, _helm, uses=USES | {"filter"}, aliases=("per_instance_stats",)),
    Shape("lighteval", "lighteval, details of a task: parquet or JSON lines", _is_lighteval, _lighteval),
    Shape("openai-evals", "OpenAI evals, the log of a run", _is_oaieval, _oaieval, uses=USES | {"allow_incomplete"}, aliases=("oaieval",)),
    Shape(
        "evalsig", "RunFrame {model_id, items: [{item_id, score}]}", _is_run_frame, _run_frame,
        uses=USES - {"metric"} | {"clusters"}, aliases=("runframe",),
    ),
)  # fmt: skip
