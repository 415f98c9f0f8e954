"""HELM: `per_instance_stats.json` of a run, or its `display_predictions.json`.

An entry is an instance in one trial (and under one perturbation), with statistics of one of the run's metrics; further metrics
have entries of their own for the same instance. A statistic is `{"name": {"name", "split", …}, "count", "sum", "mean", …}`,
in display_predictions a number by its name. Trials of an instance are averaged. Instances are those without perturbation.
(helm/benchmark/metrics/metric.py, PerInstanceStats; metrics/statistic.py, Stat; metrics/metric_name.py.)
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import InvalidTest
from .. import ndjson
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .json_records import key_of
from .number_text import Number, NumberReader
from .outputs_by_id import SystemOutputs, Value, scores_reading
from .reader import ReaderOptions, Reading, choose, only_or_chosen
from .roles import needed
from .source import Source

ROLES = ("u", "v")
USES = frozenset(("metric", "filter", "on_missing", "missing_range", "decimals"))
# What a run says of itself, and not of what the model answered.
BOOKKEEPING = re.compile(
    r"num_.*|finish_reason_.*|inference_.*|training_.*|batch_size|max_prob|predicted_index|logprob|prompt_.*"
)
NO_SPLIT = "none"


@dataclass(slots=True)
class Instances:
    """The values of every metric by instance and trial, where they stand, and of how many observations each is the mean.

    `perturbed` entries were skipped.
    """

    source: Source
    values: dict[str, dict[tuple[str, int], tuple[Any, str, int]]] = field(default_factory=dict)
    splits: dict[str, str] = field(default_factory=dict)
    perturbed: int = 0


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two runs of one scenario."""
    notes: list[str] = []
    both = [_instances(needed(files, role, format_), notes) for role in ("u", "v")]
    metric = _metric(both[0], options)
    split = _split(both[0], options)
    reader = NumberReader.of(options)
    u, v = (_outputs(one, metric, split, reader, notes) for one in both)
    perturbed = sum(one.perturbed for one in both)
    if perturbed:
        notes.append(f"{perturbed:,} entries of perturbed instances were skipped.")
    notes.append(
        f"The metric is {escaped(metric)}" + (f", of the split {split[:40]}." if split != NO_SPLIT else ".")
    )
    return scores_reading(u, v, options, notes, format_, metric=metric)


def _instances(source: Source, notes: list[str]) -> Instances:
    entries = ndjson.decoded(source.text(notes), source.pointer, source.label)
    if not isinstance(entries, list):
        detail = f"{source.label}: this is not a list of instances; per_instance_stats.json is one."
        raise InvalidTest.at(source.pointer, "not_a_list", detail)
    if not entries:
        raise source.empty()
    found = Instances(source)
    for index, entry in enumerate(entries):
        if not isinstance(entry, dict) or not isinstance(entry.get("stats"), list | dict):
            detail = f"{source.label}: entry {index:,} has no stats."
            raise InvalidTest.at(source.at(index, "stats"), "missing_field", detail)
        if entry.get("perturbation") is not None:
            found.perturbed += 1
            continue
        key = key_of(entry.get("instance_id"), source, str(index), "instance_id")
        trial = entry.get("train_trial_index", 0)
        if type(trial) is not int:
            raise InvalidTest.at(
                source.at(index, "train_trial_index"),
                "not_a_number",
                f"{source.label}: a trial is an integer.",
            )
        for name, split, value, path, count in _stats(source, entry["stats"], index):
            found.splits[key] = split or found.splits.get(key, NO_SPLIT)
            _add(found, name, (key, trial), value, path, count)
    return found


def _add(found: Instances, name: str, place: tuple[str, int], value: Any, path: str, count: int) -> None:
    before, where, _ = found.values.setdefault(name, {}).setdefault(place, (value, path, count))
    if before != value or type(before) is not type(value):
        detail = (
            f"{found.source.label}: {escaped(name)} of the instance {quoted(place[0])} is {quoted(value)} at {path} and "
            f"{quoted(before)} at {where}; it must be one number."
        )
        raise InvalidTest.at(f"{found.source.pointer}/{path}", "duplicate_id", detail)


def _stats(source: Source, stats: Any, index: int) -> list[tuple[str, str | None, Any, str, int]]:
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
        split = context.get("split")
        count = stat.get("count", 1)
        # One observation is its sum, as written; of several (completions) HELM's own mean is taken.
        which = "mean" if "sum" not in stat or (count != 1 and "mean" in stat) else "sum"
        value = stat.get(which) if count != 0 else None
        path = f"{index}/stats/{position}/{which}"
        observations = count if type(count) is int else 1
        rows.append((label, split if isinstance(split, str) else None, value, path, observations))
    return rows


def _metric(instances: Instances, options: ReaderOptions) -> str:
    names = list(instances.values)
    usable = [name for name in names if BOOKKEEPING.fullmatch(name) is None] or names
    if not names:
        raise instances.source.empty()
    if options.metric is not None:
        if options.metric not in names:
            why = f"There is no metric {quoted(options.metric)}. "
            raise choose(instances.source.pointer, "metric", "metric", usable, why)
        return options.metric
    return only_or_chosen(usable, None, instances.source.pointer, "metric", "metric")


def _split(instances: Instances, options: ReaderOptions) -> str:
    splits = list(dict.fromkeys(instances.splits.values()))
    several = f"{instances.source.label} has instances of {len(splits)} splits. "
    return only_or_chosen(splits, options.filter, instances.source.pointer, "filter", "split", several)


def _outputs(
    instances: Instances, metric: str, split: str, reader: NumberReader, notes: list[str]
) -> SystemOutputs:
    source = instances.source
    if metric not in instances.values:
        why = f"{source.label} has no metric {quoted(metric)}. "
        raise choose(source.pointer, "metric", "metric", list(instances.values), why)
    trials: dict[str, list[tuple[Number | None, str]]] = {}
    observations: Counter[str] = Counter()
    for (key, _), (written, path, count) in instances.values[metric].items():
        if instances.splits[key] == split:
            number = None if written is None else reader.of_json(written, f"{source.pointer}/{path}")
            trials.setdefault(key, []).append((number, path))
            observations[key] += count
    others = sum(own != split for own in instances.splits.values())
    if others:
        notes.append(f"{source.role}: {others:,} instances of other splits were skipped.")
    outputs = SystemOutputs(source, runs=dict(observations))
    for key in instances.splits:
        if instances.splits[key] != split:
            continue
        own = trials.get(key, [])
        numbers = tuple(number for number, _ in own if number is not None)
        value: Value = (
            None if len(numbers) < len(own) or not own else numbers[0] if len(own) == 1 else numbers
        )
        outputs.add(key, value, own[0][1] if own else f"instance/{escaped(key)}")
    return outputs


def _sign(look: FirstLook) -> Sign:
    array = look.is_json and look.text.lstrip().startswith("[")
    first = look.first_object if array else {}
    return Sign.MARK if "instance_id" in first and isinstance(first.get("stats"), list | dict) else Sign.NONE


FORMAT = Format(
    "helm", read, ROLES, USES, "HELM, per_instance_stats.json of a run", kinds=("scores",), aliases=("per_instance_stats",),
    sign=_sign,
)  # fmt: skip
