"""Read logs of evaluation frameworks and of benchmarks, each a `Shape`.

Sources: lighteval/logging/info_loggers.py, DetailsLogger.Detail; helm/benchmark/metrics/metric.py, PerInstanceStats,
metrics/statistic.py, Stat, metrics/metric_name.py, presentation/summarize.py, DisplayPrediction; evals/record.py, RecorderBase,
LocalRecorder; Every Eval Ever's schema instance_level_eval 0.2; promptfoo, src/types/index.ts, EvaluateResult, EvaluateSummaryV3;
pytest-benchmark, docs/usage.rst, stats; hyperfine, src/export/json.rs, src/benchmark/benchmark_result.rs.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, TypeVar, cast

from ...answers.reading import Remark
from ...errors import InvalidTest
from ..format import FirstLook
from ..json_records import cluster_of, key_of, lines_of, read_records, slices_in
from ..quoting import escaped, quoted
from ..reader import Finding, ReaderOptions, Source, choose, only_or_chosen
from . import shapes
from .outputs_by_id import SystemOutputs
from .roles import metric_of
from .shapes import USES, Files, Object, Row, Rows, RowsOf, Shape, System, has, inner_object
from .tasks import task_in

T = TypeVar("T")

# lighteval, details of a task: parquet, JSON lines or one array. Before 0.11 a detail has `example` and an object `metrics`; later `doc`
# (with an id), `model_response` and `metric`. Older details have no ids: they are paired by order, and their questions must agree.

OLD, NEW = "metrics", "metric"
BESIDE_OLD = frozenset(("example", "full_prompt", "instruction", "gold_index", "cont_tokens"))
BESIDE_NEW = frozenset(("doc", "model_response"))


def _is_lighteval(look: FirstLook) -> bool:
    record = look.first_object
    old = isinstance(record.get(OLD), dict) and bool(BESIDE_OLD & record.keys())
    return old or (isinstance(record.get(NEW), dict) and record.keys() >= BESIDE_NEW)


def _lighteval(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    records = read_records(source, notes, flat=False).records
    docs = [inner_object(record.value, "doc") for record in records]
    with_ids = all(doc.get("id") not in (None, "") for doc in docs)
    rows = []
    for index, ((path, record), doc) in enumerate(zip(records, docs, strict=True)):
        field = next((name for name in (OLD, NEW) if isinstance(record.get(name), dict)), None)
        if field is None:
            detail = "there is no object metrics or metric; is this a detail of lighteval?"
            raise source.refused(path, "missing_field", detail, OLD)
        key = key_of(doc.get("id"), source, f"{path}/doc", "id") if with_ids else str(index)
        numbers = {name: value for name, value in record[field].items() if value is not None}
        # The numbers of answers of majorities, means and pass@k.
        answers = inner_object(record, "model_response").get("text") or record.get("predictions")
        runs = len(answers) if isinstance(answers, list) else 1
        question = doc.get("query") or record.get("example")
        gold = _lighteval_gold({**record, **doc})
        same = {"question": (question, path)}
        rows.append(Row(key, numbers, path, field, runs=runs, same=same, context=gold))
    names = [name for name, value in rows[0].values.items() if not isinstance(value, list | dict | str)]
    task = next((str(doc["task_name"]) for doc in docs if doc.get("task_name")), task_in(source.name))
    return Rows(source, rows, metrics=names, by_order=not with_ids, of_corpus=True, task=task)


def _lighteval_gold(doc: Object) -> Object:
    """The correct choices, whose order may differ between runs; else gold."""
    index, choices = doc.get("gold_index"), doc.get("choices")
    places: list[Any] = index if isinstance(index, list) else [index]
    if isinstance(choices, list) and all(type(one) is int and 0 <= one < len(choices) for one in places):
        return {"gold": ", ".join(str(choices[int(one)]) for one in places)}
    return {name: doc.get(name) or None for name in ("gold", "gold_index") if "choices" not in doc}


# HELM, per_instance_stats.json or display_predictions.json. An entry is an instance in one trial (and under one perturbation) with
# statistics of one metric; further metrics have entries of their own. A statistic is `{"name": {"name", "split"}, "count", "sum", "mean"}`,
# or a number by its name. Trials of an instance are averaged; instances are those without perturbation. Neither file holds the question of
# an instance.

# Numbers about the run instead of the answers.
BOOKKEEPING = re.compile(
    r"num_.*|finish_reason_.*|inference_.*|training_.*|batch_size|max_prob|predicted_index|logprob|prompt_.*"
)
NO_SPLIT = "none"


def _is_helm(look: FirstLook) -> bool:
    first = look.first_object if look.is_json and look.text.lstrip().startswith("[") else {}
    return "instance_id" in first and isinstance(first.get("stats"), list | dict)


def _helm(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    rows: list[Row] = []
    seen: dict[tuple[str, int, str], tuple[Any, str]] = {}
    splits: dict[str, str] = {}
    perturbed = 0
    for path, entry in source.objects(source.decoded(notes)):
        if not isinstance(entry.get("stats"), list | dict):
            raise source.refused(path, "missing_field", "this entry has no stats.", "stats")
        if entry.get("perturbation") is not None:
            perturbed += 1
            continue
        key = key_of(entry.get("instance_id"), source, path, "instance_id")
        trial = entry.get("train_trial_index", 0)
        if type(trial) is not int:
            raise source.refused(path, "not_a_number", "a trial is an integer.", "train_trial_index")
        for name, split, value, place, count in _statistics(source, entry["stats"], path):
            splits[key] = split or splits.get(key, NO_SPLIT)
            before, where = seen.setdefault((key, trial, name), (value, place))
            if before != value or type(before) is not type(value):
                detail = f"{escaped(name)} of the instance {quoted(key)} is {quoted(value)} here and {quoted(before)} at {where}; "
                raise source.refused(place, "duplicate_id", detail + "it must be one number.")
            if where == place:
                rows.append(Row(key, {name: value}, place, None, runs=count, run=trial))
    groups: dict[str, list[str]] = {}
    for key, rows_split in splits.items():
        groups.setdefault(rows_split, []).append(key)
    split, _ = chosen_group(source, groups, options.filter, "filter", "split", notes, "instances")
    rows = [row for row in rows if splits[row.key] == split]
    if perturbed:
        notes.append(Remark(source.role, f"{perturbed:,} entries of perturbed instances were skipped."))
    if split != NO_SPLIT:
        notes.append(Remark(source.role, f"the split is {split[:40]}."))
    names = list(dict.fromkeys(name for row in rows for name in row.values))
    usable = [name for name in names if BOOKKEEPING.fullmatch(name) is None] or names
    return Rows(source, rows, metrics=usable, repeats=True)


Statistic = tuple[str, str | None, Any, str, int]  # name, split, value, path, number of observations


def _statistics(source: Source, stats: Any, entry: str) -> Iterator[Statistic]:
    """The statistics of an entry, except perturbed ones."""
    if isinstance(stats, dict):
        for name, value in stats.items():
            yield name, None, value, f"{entry}/stats/{escaped(name)}", 1
        return
    for position, stat in enumerate(stats):
        about = stat.get("name") if isinstance(stat, dict) else None
        about = about if isinstance(about, dict) else {"name": about}
        path, name, split = f"{entry}/stats/{position}", about.get("name"), about.get("split")
        if not isinstance(name, str):
            raise source.refused(path, "missing_field", "this statistic has no name.")
        if about.get("perturbation") is None:
            count = stat.get("count", 1)
            # The value of one observation is its sum, as written; of several (completions), HELM's mean.
            which = "mean" if "sum" not in stat or (count != 1 and "mean" in stat) else "sum"
            value, runs = stat.get(which) if count != 0 else None, count if type(count) is int else 1
            yield name, split if isinstance(split, str) else None, value, f"{path}/{which}", runs


# OpenAI evals, the log of a run: one event a line below a line with its specification. `match` events record whether an answer was right,
# `metrics` events hold numbers by name. A sample without either (an error, a crash) is missing. Prompts depend on the completion function,
# so they are compared only if no expected answer is recorded.

SPEC, REPORT = "spec", "final_report"
MATCH, METRICS = "match", "metrics"
EVENT = frozenset(("run_id", "sample_id", "type", "data"))


def _is_oaieval(look: FirstLook) -> bool:
    record = look.record or {}
    run = {"eval_name", "completion_fns", "run_id"} & inner_object(record, SPEC).keys()
    return bool(run) or record.keys() >= EVENT


def _oaieval(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    spec: Object = {}
    finished = False
    samples: dict[str, Row] = {}
    events: dict[str, list[Row]] = {MATCH: [], METRICS: []}
    for path, value in lines_of(source, source.lines(notes)):
        kind, data = value.get("type"), value.get("data", {})
        if isinstance(value.get(SPEC), dict) and "type" not in value:
            if spec:
                detail = "a second run begins here: give each run its own file."
                raise source.refused(path, "several_runs", detail)
            spec = value[SPEC]
        elif REPORT in value and "type" not in value:
            finished = True
        elif not isinstance(kind, str) or not isinstance(data, dict):
            detail = "this is neither an event with type and data, nor the spec or final report of a run."
            raise source.refused(path, "not_an_event", detail)
        elif value.get("sample_id") is not None:  # without a sample it is about the whole run
            key = key_of(value["sample_id"], source, path, "sample_id")
            context: Any = samples.setdefault(key, Row(key, {}, path, context={})).context
            for name in {"expected", "prompt"} & data.keys():
                context.setdefault(name, data[name])
            if kind in events:
                events[kind].append(Row(key, shapes.numbers_in(data), path, "data"))
    if not samples:
        raise source.empty()
    if not finished:
        shapes.refuse_incomplete(source, f"the log has no {REPORT}: the run did not finish", options, notes)
    if any("expected" in row.context for row in samples.values()):
        for row in samples.values():
            cast("dict[str, Any]", row.context).pop("prompt", None)
    names = list(dict.fromkeys(name for row in events[METRICS] for name in row.values))
    if not names and not any(row.values for row in events[MATCH]):
        detail = "there are no match and no metrics events with numbers: this eval has no scores of samples."
        raise source.refused("", "no_scores", detail)
    kind = METRICS if options.metric in names or not events[MATCH] else MATCH
    functions = spec.get("completion_fns")
    name = ", ".join(map(str, functions)) if isinstance(functions, list) and functions else source.name
    agree = {"eval": (spec.get("eval_name"), f"line/1/{SPEC}/eval_name")}
    metric = "correct" if kind == MATCH and options.metric is None else None
    names += ["correct"] if events[MATCH] else []
    return Rows(source, [*samples.values(), *events[kind]], name, metric, names, agree=agree, repeats=True)


# Every Eval Ever, instance level: a line is one sample of one evaluation, whose key is (evaluation_name, sample_id).

EEE_METRICS = ("score", "is_correct")


def _eee(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    metric = options.metric or EEE_METRICS[0]
    if metric not in EEE_METRICS:
        raise choose("/options/metric", "metric", "metric", list(EEE_METRICS))
    by_evaluation: dict[str, list[tuple[str, Object]]] = {}
    for path, value in lines_of(source, source.lines(notes)):
        name = key_of(value.get("evaluation_name"), source, path, "evaluation_name")
        by_evaluation.setdefault(name, []).append((path, value))
    task, records = chosen_group(source, by_evaluation, options.task, "task", "evaluation", notes)
    models = list(dict.fromkeys(str(value.get("model_id", source.name)) for _, value in records))
    if len(models) > 1:
        detail = f"these are samples of {len(models)} models; give each its own file."
        raise source.refused("", "several_models", detail)
    rows = []
    for path, value in records:
        failed = value.get("error") is not None  # it has no score, even if its field has a value
        numbers = {} if failed else inner_object(value, "evaluation")
        if not failed and metric not in numbers:
            detail = f"there is no evaluation.{escaped(metric)}."
            raise source.refused(path, "missing_field", detail, "evaluation", metric)
        rows.append(Row(
            key_of(value.get("sample_id"), source, path, "sample_id"), {metric: numbers.get(metric)}, path, "evaluation",
            cluster=cluster_of(options.clusters, source, path, value, "metadata"),
            same={"sample_hash": (value.get("sample_hash"), f"{path}/sample_hash")},
            context={name: inner_object(value, "input").get(name) for name in ("raw", "reference")} | slices_in(options.slices, value, "metadata"),
        ))  # fmt: skip
    note = f"The number is evaluation.{metric}; whether lower is better is in the aggregate file, not in this one."
    return Rows(source, rows, models[0], metric, measured=metric, task=task, notes=(note,))


def chosen_group(
    source: Source, groups: dict[str, list[T]], wanted: str | None, option: str, what: str, notes: list[Any], of: str = "lines"
) -> tuple[str, list[T]]:  # fmt: skip
    """The chosen group of lines, or the only one, with its name."""
    if not groups:
        raise source.empty()
    several = f"{source.label} has {of} of {len(groups)} {what}s. "
    chosen = only_or_chosen(list(groups), wanted, source.pointer, option, what, several)
    others = sum(map(len, groups.values())) - len(groups[chosen])
    if others:
        notes.append(Remark(source.role, f"{others:,} {of} of other {what}s were skipped."))
    return chosen, groups[chosen]


# RunFrames of evalsig: `{run_id, model_id, task_id, metric_name, items: [{item_id, score, cluster_id?}]}`, one a system.


def _run_frame(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    if options.clusters not in (None, "cluster_id"):
        detail = "RunFrames have `clusters=cluster_id` only."
        raise InvalidTest.at("/options/clusters", "invalid_option", detail)
    frame, rows = source.decoded(notes), []
    if not isinstance(frame, dict) or not isinstance(frame.get("items"), list):
        detail = "this is not a RunFrame, an object with a list of items."
        raise source.refused("", "missing_field", detail, "items")
    for index, item in enumerate(frame["items"]):
        path = f"items/{index}"
        if not isinstance(item, dict):
            raise source.refused(path, "not_an_object", "this item is not an object.")
        if "score" not in item:
            raise source.refused(path, "missing_field", "this item has no score.", "score")
        cluster = item.get("cluster_id")
        cluster = None if cluster is None else key_of(cluster, source, path, "cluster_id")
        key = key_of(item.get("item_id"), source, path, "item_id")
        rows.append(Row(key, {"score": item["score"]}, path, cluster=cluster))
    metric = frame.get("metric_name")
    return Rows(
        source, rows, str(frame.get("model_id", source.name)), "score",
        measured=metric_of(metric) if isinstance(metric, str) else None,
        agree={name: (frame.get(name), name) for name in ("task_id", "metric_name")},
    )  # fmt: skip


# promptfoo (`promptfoo eval -o results.json`, version 3): prompts and providers are the systems of one table. A test is identified by its
# variables and description; in one file also by its assertions. `--repeat` runs a test several times; its scores are averaged. A row with
# failureReason 2 ended in an error of the provider and has no score, even if its field has a value.

OF_A_ROW = frozenset(("promptIdx", "promptId", "prompt", "testCase", "testIdx", "vars", "namedScores"))
ERROR = 2


def _is_promptfoo(look: FirstLook) -> bool:
    results = look.document.get("results")
    rows = results.get("results") if isinstance(results, dict) else results
    first = rows[0] if isinstance(rows, list) and rows else None
    row = isinstance(first, dict) and "provider" in first and bool(OF_A_ROW & first.keys())
    return row or {"evalId", "results"} <= look.document.keys()


def _promptfoo(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    value: Any = source.decoded(notes)
    at = ""
    while isinstance(value, dict) and "results" in value and at.count("results") < 2:
        value, at = value["results"], f"{at}/results".lstrip("/")
    if not isinstance(value, list) or not all(isinstance(row, dict) for row in value):
        detail = "there is no list results.results; export with promptfoo eval -o results.json."
        if value and isinstance(value, dict):
            detail += " Averages of lm-evaluation-harness have no items: run it with --log_samples, and give samples_*.jsonl."
        raise source.refused("", "missing_field", detail, *filter(None, at.split("/")))
    rows: list[Row] = []
    systems: dict[str, System] = {}
    for path, row in source.objects(value, at):
        provider = inner_object(row, "provider").get("id", row.get("provider"))
        if not isinstance(provider, str):
            raise source.refused(path, "missing_field", "this row has no provider.", "provider")
        prompt = row.get("promptIdx") if isinstance(row.get("promptIdx"), int) else 0
        title = f"{prompt}:{provider}"
        systems.setdefault(title, System(provider, _label(row, provider), (provider, str(prompt))))
        case, numbers = inner_object(row, "testCase"), {name: row.get(name) for name in ("score", "success")}
        identity = [row.get("vars", case.get("vars")), row.get("description", case.get("description"))]
        key = json.dumps([*identity, case.get("assert")] if len(files) == 1 else identity, sort_keys=True)
        named, metric = inner_object(row, "namedScores"), options.metric or "score"
        if row.get("failureReason") == ERROR:
            numbers, named = dict.fromkeys(numbers), dict.fromkeys(named)
        elif metric not in (row if metric in numbers else named):
            why = f"This row has no score {quoted(metric)}. "
            pointer = f"{source.pointer}/{path}/{escaped(metric)}"
            raise choose(pointer, "metric", "score", [*numbers, *named], why)
        run = row.get("testIdx")
        rows.append(Row(
            key, {**named, **numbers}, path, system=title,
            cluster=cluster_of(options.clusters, source, path, row, "vars", "testCase.metadata", "metadata"),
            context={"assert": case.get("assert") or None} | slices_in(options.slices, row, "vars", "testCase.metadata", "metadata"), run=run if type(run) is int else None,
            places={name: f"{path}/namedScores/{escaped(name)}" for name in named if name not in numbers},
        ))  # fmt: skip
    providers = Counter(each.name for each in systems.values())
    for title, each in systems.items():
        systems[title] = each if providers[each.name] == 1 else each._replace(name=title)
    rows.sort(key=lambda row: (int(row.system.partition(":")[0]), row.system))
    return Rows(
        source, rows, metric="score", measured=None if options.metric is None else metric_of(options.metric), called="",
        higher_is_better=True,  # scores grade how far the assertions hold
        systems_called=systems, repeats=True, partial=True, at_rows=True,
    )  # fmt: skip


def _label(row: Object, provider: str) -> str:
    """The labels of a row's provider and prompt, or the provider's id. promptfoo labels an unlabelled prompt by its text; this is ignored."""
    parts = (inner_object(row, "provider"), inner_object(row, "prompt"))
    labels = [part.get("label") for part in parts if part.get("label") != part.get("raw")]
    return " ".join(label for label in labels if isinstance(label, str) and label) or provider


# Times of benchmarks: pytest-benchmark (`--benchmark-json`) and hyperfine (`--export-json`). A benchmark is an item, identified by its name
# in pytest and by its command in hyperfine. Its times are averaged if the file has them (pytest-benchmark writes them with
# --benchmark-save-data), else the written mean is used. If one file has more times, only as many as in the other count, from the first:
# means of more times vary less, and minima are lower. Written numbers need equally many times in both files, unless pytest-benchmark chose
# the rounds by the same options: then the choice is part of the measurement.

TIMES, RULES = "times", "options"
NUMBERS = ("mean", "median", "min", "max")


def _benchmarks(at: str, inside: str, times: str, metrics: Sequence[str]) -> RowsOf:
    """Return the reader of a tool: `at` is the member with its benchmarks, `inside` that with numbers, `times` that with times."""

    def rows_of(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
        if options.metric not in (None, *metrics):
            raise choose(source.pointer, "metric", "number of a benchmark", list(metrics))
        value = source.decoded(notes)
        rows, failed, metric = [], 0, options.metric or TIMES
        benchmarks = value.get(at) if isinstance(value, dict) else None
        for path, row in source.objects(benchmarks, at, "missing_field"):
            numbers, below = (inner_object(row, inside), f"{path}/{inside}") if inside else (row, path)
            each: Any = numbers.get(times)
            rounds = numbers.get("rounds")
            has_times = isinstance(each, list) and len(each) > 0
            taken = times if metric == TIMES and has_times else "mean" if metric == TIMES else metric
            if numbers and taken not in numbers:
                raise source.refused(below, "missing_field", f"this benchmark has no {taken}.", taken)
            number: Any = numbers.get(taken)
            for place, one in enumerate(number) if isinstance(number, list) else (("", number),):
                if isinstance(one, bool):  # unlike scores, where true is 1
                    detail = "this is a boolean; a time in seconds is needed here."
                    raise source.refused(f"{below}/{taken}", "not_a_number", detail, place)
            if isinstance(number, list) and None in number:
                number = None
            # fullname in pytest, else name; the command in hyperfine, with the values of its parameters if there are any.
            names = (row.get("fullname"), row.get("name"), row.get("command"))
            key = next((name for name in names if isinstance(name, str) and name), None)
            if key is None:
                raise source.refused(path, "missing_field", "this benchmark has no name.")
            if row.get("parameters"):
                key += f" {json.dumps(row['parameters'], sort_keys=True)}"
            codes = row.get("exit_codes")
            failed += sum(code != 0 for code in codes) if isinstance(codes, list) else 0
            rounds = rounds if type(rounds) is int and rounds > 0 else 1
            rows.append(Row(
                key, {metric: number, RULES: row.get(RULES)}, below,
                places={metric: f"{below}/{taken}"}, runs=len(each) if has_times else rounds,
            ))  # fmt: skip
        if failed:
            note = f"{failed:,} runs ended with another exit code than 0; their times count."
            notes.append(Remark(source.role, note))
        score = "the mean of its times" if options.metric is None else f"the {options.metric} of its times"
        return Rows(
            source, rows, metric=TIMES, metrics=metrics, called="", measured="seconds", higher_is_better=False, at_rows=True,
            notes=(f"A benchmark is an item; its score is {score}, in seconds.",),
        )  # fmt: skip

    return rows_of


def _first_times(u: Rows, v: Rows, systems: Sequence[SystemOutputs], notes: list[Any]) -> tuple[Finding, ...]:
    """Take equally many times of a benchmark from both files; return a finding if there is only one benchmark."""
    mine, others = ({row.key: row.values for row in table.rows} for table in (u, v))
    cut = 0
    for key in mine.keys() & others.keys():
        times: Any = mine[key].get(TIMES), others[key].get(TIMES)
        rules = mine[key][RULES], others[key][RULES]
        if all(isinstance(values, list) for values in times):
            most = min(map(len, times))
            cut += len(times[0]) != len(times[1])
            for system in systems:
                value = system.values[system.index[key]]
                system.values[system.index[key]] = (value if isinstance(value, tuple) else (value,))[:most]
                system.runs[key] = most
        elif isinstance(rules[0], dict) and rules[0] == rules[1]:
            systems[0].runs[key] = systems[1].runs[key] = 1
    if cut:
        more = f"{cut:,} benchmarks have more times in one file"
        notes.append(f"{more}: the first count, as many as the other file has.")
    if [*map(len, systems)] != [1, 1]:
        return ()
    detail = (
        "Each file has one benchmark, which is one item, and its runs are not paired with those of the "
        "other: a paired test needs several items. Measure several commands or inputs, one item each."
    )
    return (Finding("one_item", detail, v.source.pointer),)


LOGS = (
    Shape("every-eval-ever", "Every Eval Ever, instance level", lambda look: {"evaluation", "sample_id"} <= (look.record or {}).keys(), _eee, uses=shapes.DESCRIBED | {"task", "clusters", "slices"}, aliases=("eee",)),
    Shape("helm", "HELM, per_instance_stats.json of a run", _is_helm, _helm, uses=USES | {"filter"}, aliases=("per_instance_stats",)),
    Shape("lighteval", "lighteval, details of a task: parquet or JSON lines", _is_lighteval, _lighteval),
    Shape("openai-evals", "OpenAI evals, the log of a run", _is_oaieval, _oaieval, uses=shapes.DESCRIBED | {"allow_incomplete"}, aliases=("oaieval",)),
    Shape(
        "evalsig", "RunFrame {model_id, items: [{item_id, score}]}", has("items", "item_id"), _run_frame,
        uses=USES - {"metric"} | {"clusters"}, aliases=("runframe",),
    ),
    Shape(
        "pytest-benchmark", "pytest --benchmark-json", lambda look: {"benchmarks", "machine_info"} <= look.document.keys(),
        _benchmarks("benchmarks", "stats", "data", NUMBERS), uses=USES, join=_first_times,
    ),
    Shape(
        "hyperfine", "hyperfine --export-json", has("results", "command", "mean"),
        _benchmarks("results", "", TIMES, (*NUMBERS, "user", "system")), uses=USES, join=_first_times,
    ),
    Shape("promptfoo", "promptfoo eval -o results.json", _is_promptfoo, _promptfoo, shapes.PAIR_ROLES, shapes.PAIR_OPTIONS | {"clusters", "on_mismatch", "slices"}),
)  # fmt: skip
