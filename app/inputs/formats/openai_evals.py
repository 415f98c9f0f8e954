"""OpenAI evals: the log of a run, one event a line below a line with its specification.

`match` events say whether an answer was right, `metrics` events hold numbers by name. A sample may have several events of a kind,
which are averaged; a sample without one (an error, a crash) is missing. (evals/record.py, RecorderBase, LocalRecorder.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from ...errors import InvalidTest
from .. import ndjson
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .json_records import key_of
from .metrics import metric_of
from .number_text import Number, NumberReader
from .outputs_by_id import SystemOutputs, Value, scores_reading
from .reader import ReaderOptions, Reading, choose
from .roles import needed
from .source import Source

ROLES = ("u", "v")
USES = frozenset(("metric", "on_missing", "missing_range", "decimals", "allow_incomplete"))
SPEC, REPORT = "spec", "final_report"
MATCH, METRICS = "match", "metrics"
CORRECT = "correct"
EVENT = frozenset(("run_id", "sample_id", "type", "data"))


@dataclass(slots=True)
class Log:
    """The specification of a run and its events with scores: (line, sample, data) by type; every sample's first line."""

    source: Source
    spec: dict[str, Any] = field(default_factory=dict)
    finished: bool = False
    samples: dict[str, int] = field(default_factory=dict)
    events: dict[str, list[tuple[int, str, dict[str, Any]]]] = field(default_factory=dict)

    @property
    def model(self) -> str:
        """What was evaluated."""
        functions = self.spec.get("completion_fns")
        return (
            ", ".join(map(str, functions)) if isinstance(functions, list) and functions else self.source.name
        )


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two runs of one eval."""
    notes: list[str] = []
    u, v = (_log(needed(files, role, format_), options, notes) for role in ("u", "v"))
    evals = [log.spec.get("eval_name") for log in (u, v)]
    if None not in evals and evals[0] != evals[1]:
        detail = (
            f"u is of the eval {quoted(evals[0])} and v of {quoted(evals[1])}: these are different questions."
        )
        raise InvalidTest.at(v.source.line(1, SPEC, "eval_name"), "eval_mismatch", detail)
    kind, name = _metric(u, options)
    reader = NumberReader.of(options)
    first, second = (_outputs(log, kind, name, reader, notes) for log in (u, v))
    notes.append(f"The score of a sample is {escaped(name)} of its {kind} events.")
    return scores_reading(
        first, second, options, notes, format_, names=(u.model, v.model), metric=metric_of(name),
    )  # fmt: skip


def _log(source: Source, options: ReaderOptions, notes: list[str]) -> Log:
    log = Log(source)
    for record in ndjson.records(source.lines(notes), source.pointer):
        value, line = record.value, record.line
        if isinstance(value.get(SPEC), dict) and "type" not in value:
            if log.spec:
                raise source.refused(
                    line, "several_runs", "a second run begins here: give each run its own file."
                )
            log.spec = value[SPEC]
        elif REPORT in value and "type" not in value:
            log.finished = True
        elif isinstance(value.get("type"), str) and isinstance(value.get("data", {}), dict):
            if value.get("sample_id") is None:
                continue  # of the whole run
            key = key_of(value["sample_id"], source, f"line/{line}", "sample_id")
            log.samples.setdefault(key, line)
            if value["type"] in (MATCH, METRICS):
                log.events.setdefault(value["type"], []).append((line, key, value.get("data", {})))
        else:
            raise source.refused(
                line,
                "not_an_event",
                "this is neither an event with type and data, nor the spec or final report of a run.",
            )
    if not log.samples:
        raise source.empty()
    if not log.finished:
        detail = (
            f"{source.label}: the log has no {REPORT}: the run did not finish. Finish it, or give `allow_incomplete=true` to test "
            "the samples that it has."
        )
        if not options.allow_incomplete:
            raise InvalidTest.at(source.pointer, "incomplete_log", detail)
        notes.append(f"{source.role}: the run did not finish; read because of allow_incomplete: true.")
    return log


def _metric(log: Log, options: ReaderOptions) -> tuple[str, str]:
    """The type of events and the name of the number in them: as chosen, or what there is."""
    named = {
        kind: dict.fromkeys(
            name for _, _, data in events for name, value in data.items() if _is_number(value)
        )
        for kind, events in log.events.items()
    }
    wanted = options.metric
    if wanted is not None:
        for kind in (METRICS, MATCH):
            if wanted in named.get(kind, {}):
                return kind, wanted
    elif MATCH in named:
        return MATCH, CORRECT
    names = [*named.get(METRICS, {}), *([CORRECT] if MATCH in named else [])]
    if wanted is None and len(names) == 1:
        return METRICS, names[0]
    if not names:
        detail = f"{log.source.label}: there are no match and no metrics events with numbers: this eval scores nothing by sample."
        raise InvalidTest.at(log.source.pointer, "no_scores", detail)
    why = "" if wanted is None else f"There is no metric {quoted(wanted)}. "
    raise choose(log.source.pointer, "metric", "metric", names, why)


def _is_number(value: Any) -> bool:
    return isinstance(value, bool | int | float)


def _outputs(log: Log, kind: str, name: str, reader: NumberReader, notes: list[str]) -> SystemOutputs:
    source = log.source
    values: dict[str, list[Number | None]] = {}
    places: dict[str, int] = {}
    for line, key, data in log.events.get(kind, []):
        if name in data:
            values.setdefault(key, []).append(reader.of_json(data[name], source.line(line, "data", name)))
            places.setdefault(key, line)
    if not values:
        detail = f"{source.label} has no {kind} event with {escaped(name)}."
        raise InvalidTest.at(source.pointer, "no_scores", detail)
    several = sum(len(own) > 1 for own in values.values())
    if several:
        notes.append(f"{source.role}: {several:,} samples have several {kind} events, which are averaged.")
    outputs = SystemOutputs(source)
    for key, line in log.samples.items():
        own = values.get(key, [])
        numbers = tuple(number for number in own if number is not None)
        value: Value = (
            None if len(numbers) < len(own) or not own else numbers[0] if len(own) == 1 else numbers
        )
        outputs.add(key, value, f"line/{places.get(key, line)}")
    return outputs


def _sign(look: FirstLook) -> Sign:
    record = look.record or {}
    spec = record.get(SPEC)
    run = isinstance(spec, dict) and bool({"eval_name", "completion_fns", "run_id"} & spec.keys())
    return Sign.MARK if run or record.keys() >= EVENT else Sign.NONE


FORMAT = Format(
    "openai-evals", read, ROLES, USES, "OpenAI evals, the log of a run", kinds=("scores",), aliases=("oaieval",), sign=_sign,
)  # fmt: skip
