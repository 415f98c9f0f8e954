"""Logs of Inspect: the `.json` form, one EvalLog object, and the `.eval` form, a zip archive.

Read here with zipfile and json: of an archive only the header and the summaries are needed. A letter is a score as in
Inspect's own accuracy(), C 1, I 0, P 1/2, but N (no answer) is missing: Inspect counts it as 0, as on_missing zero does here.
(inspect_ai/log/_log.py, log/_recorders/eval.py, scorer/_metric.py.)
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...errors import Choice, InvalidTest, choices_of
from ...inference.reading import Remark
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .inspect_archive import Log, load
from .json_records import key_of, metadata_key
from .metrics import metric_of
from .number_text import Number, NumberReader, parsed
from .outputs_by_id import SystemOutputs, Value, require_as_many_runs, scores_reading
from .reader import ReaderOptions, Reading, choose, only_or_chosen
from .roles import needed
from .source import Source

ROLES = ("u", "v")
USES = frozenset(
    (
        "scorer",
        "metric",
        "reduce_epochs",
        "allow_incomplete",
        "clusters",
        "on_missing",
        "on_mismatch",
        "missing_range",
        "decimals",
    )
)
CONTEXT = ("input", "target")
LETTERS: Mapping[str, Number] = {"C": 1, "I": 0, "P": 0.5}
NO_ANSWER, ZERO = "N", "zero"
EACH_EPOCH = (
    Choice(
        "Pair epoch by epoch; a sample's epochs swap as a whole",
        {"reduce_epochs": "none", "on_missing": "drop"},
    ),
)
WORDS: Mapping[str, Number] = {"yes": 1, "true": 1, "no": 0, "false": 0}  # as Inspect's value_to_float


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two models, or solvers, on one task."""
    notes: list[str] = []
    logs = [_log(needed(files, role, format_), options, notes) for role in ("u", "v")]
    scorers = [_scorer(log, options) for log in logs]
    if scorers[0] != scorers[1]:
        detail = f"u is scored by {quoted(scorers[0])} and v by {quoted(scorers[1])}; choose a scorer that both have."
        raise InvalidTest.at(logs[1].source.pointer, "scorer_mismatch", detail)
    if logs[0].task != logs[1].task:
        notes.append(f"The logs are of two tasks, {logs[0].task[:60]} (u) and {logs[1].task[:60]} (v).")
    notes.append(f"The scorer is {scorers[0][:60]}.")
    number_reader = NumberReader.of(options)
    if options.on_missing == ZERO:
        notes.append("N, no answer, counts 0 (on_missing: zero), as Inspect's accuracy() counts it.")
    systems = [_outputs(log, scorers[0], options, number_reader, notes) for log in logs]
    options = replace(options, on_missing="error") if options.on_missing == ZERO else options
    require_as_many_runs(systems[0], systems[1], EACH_EPOCH)
    clustered = options.clusters is not None or options.reduce_epochs == "none"
    names = (logs[0].model, logs[1].model)
    metric = scorers[0] if options.metric is None else f"{scorers[0]}/{options.metric}"
    return scores_reading(
        systems[0], systems[1], options, notes, format_, clustered=clustered, names=names, metric=metric_of(metric),
        higher_is_better=True if all(_graded(log, scorers[0]) for log in logs) else None,
    )  # fmt: skip


def _graded(log: Log, scorer: str) -> bool:
    """Whether the scores are letters or booleans (right or wrong), so that higher is better, whatever the scorer's name."""
    scores = [_scores(sample).get(scorer) for sample in log.samples]
    values = [score.get("value") for score in scores if isinstance(score, dict)]
    return all(isinstance(value, bool) or value in (*LETTERS, NO_ANSWER) for value in values)


def _log(source: Source, options: ReaderOptions, notes: list[str]) -> Log:
    log = load(source, options.max_inflated_bytes, notes)
    if log.status != "success":
        if not options.allow_incomplete:
            detail = (
                f"{source.label}: the status of this log is {quoted(log.status)}, not success. Finish the evaluation, or "
                "give `allow_incomplete=true` to test the samples that it has."
            )
            choices = choices_of("allow_incomplete", {"true": "Test the samples that it has"})
            raise InvalidTest.at(source.at("status"), "incomplete_log", detail, choices)
        notes.append(
            f"{source.label}: the status is {log.status[:20]}; read because of allow_incomplete: true."
        )
    if not log.samples:
        raise source.empty()
    return log


def _scorer(log: Log, options: ReaderOptions) -> str:
    """The scorer chosen, or the only one there is."""
    scorers: dict[str, None] = {}
    for sample in log.samples:
        scorers.update(dict.fromkeys(_scores(sample)))
    if not scorers:
        detail = f"{log.source.label}: no sample of this log has a score. Score it first (inspect score)."
        raise InvalidTest.at(f"{log.source.pointer}/{log.path(0)}/scores", "unscored", detail)
    return only_or_chosen(list(scorers), options.scorer, log.source.pointer, "scorer", "scorer")


def _scores(sample: dict[str, Any]) -> dict[str, Any]:
    by_scorer = sample.get("scores")
    if isinstance(by_scorer, dict):
        return by_scorer
    single = sample.get("score")  # very early logs
    return {"score": single} if isinstance(single, dict) else {}


def _outputs(
    log: Log, scorer: str, options: ReaderOptions, number_reader: NumberReader, notes: list[Any]
) -> SystemOutputs:
    """The log's scores by sample id; epochs are combined, or each is an item."""
    epochs: dict[str, dict[int, tuple[Value, int]]] = {}
    for index, sample in enumerate(log.samples):
        key = key_of(sample.get("id"), log.source, log.path(index), "id")
        epoch = sample.get("epoch", 1)
        if not isinstance(epoch, int):
            raise InvalidTest.at(
                f"{log.source.pointer}/{log.path(index)}/epoch", "not_a_key", "An epoch must be an integer."
            )
        of_sample = epochs.setdefault(key, {})
        if epoch in of_sample:
            detail = f"{log.source.label}: the sample {quoted(key)} has epoch {epoch} twice."
            raise InvalidTest.at(f"{log.source.pointer}/{log.path(index)}/id", "duplicate_id", detail)
        of_sample[epoch] = (_value(log, index, scorer, options, number_reader), index)
    outputs = SystemOutputs(log.source)
    context = {name: outputs.context.setdefault(name, []) for name in CONTEXT}
    for key, runs in epochs.items():
        described = next(iter(runs.values()))[1]
        copies = len(runs) if options.reduce_epochs == "none" else 1
        for name, values in context.items():
            values.extend([log.samples[described].get(name)] * copies)
        if options.reduce_epochs == "none":
            for epoch, (value, index) in runs.items():
                own = metadata_key(log.samples[index], options.clusters, log.source, log.path(index)) or key
                outputs.add(f"{key} epoch {epoch}", value, log.path(index), own)
            continue
        value, index, outputs.runs[key] = _reduced(log, runs, options, notes)
        outputs.add(
            key,
            value,
            log.path(index),
            metadata_key(log.samples[index], options.clusters, log.source, log.path(index)),
        )
    most = max(map(len, epochs.values()))
    if most > 1:
        how = {"mean": "averaged", "max": "reduced to their maximum", "none": "taken as items of one cluster"}
        notes.append(
            Remark(log.source.role, f"up to {most} epochs of a sample were {how[options.reduce_epochs]}.")
        )
    return outputs


def _reduced(
    log: Log, runs: dict[int, tuple[Value, int]], options: ReaderOptions, notes: list[Any]
) -> tuple[Value, int, int]:
    """The score of a sample, the epoch to point to, and of how many epochs the score is."""
    numbers = [value for value, _ in runs.values() if isinstance(value, int | float)]
    missing = [index for value, index in runs.values() if value is None]
    first = next(iter(runs.values()))[1]
    if missing and (not numbers or options.on_missing != "drop"):
        return None, missing[0], 0
    if missing:
        notes.append(
            Remark(log.source.role, f"{len(missing)} epochs of a sample without a score were left out.")
        )
    if options.reduce_epochs == "max":
        return max(numbers), first, len(numbers)
    return (tuple(numbers) if len(numbers) > 1 else numbers[0]), first, len(numbers)


def _value(
    log: Log, index: int, scorer: str, options: ReaderOptions, number_reader: NumberReader
) -> Number | None:
    """The score of a sample; none when it ended in an error, was invalidated, or was not scored."""
    sample = log.samples[index]
    if sample.get("error") is not None or sample.get("invalidation") is not None:
        return None
    score = _scores(sample).get(scorer)
    if not isinstance(score, dict):
        return None
    path = [log.path(index), "scores", escaped(scorer), "value"]
    value = score.get("value")
    if isinstance(value, dict):
        if options.metric is None or options.metric not in value:
            pointer = "/".join((log.source.pointer, *path))
            raise choose(pointer, "metric", "value", list(value), f"{quoted(scorer)} gives several values. ")
        value = value[options.metric]
        path.append(escaped(options.metric))
    if value == NO_ANSWER and options.on_missing == ZERO:
        return 0
    return _number(value, number_reader, "/".join((log.source.pointer, *path)))


def _number(value: Any, number_reader: NumberReader, pointer: str) -> Number | None:
    if isinstance(value, str):
        if value == NO_ANSWER:
            return None
        number = LETTERS.get(value, WORDS.get(value.lower(), parsed(value)))
        if number is None:
            detail = "A score must be a number, a boolean, or one of the letters C, I, P and N."
            raise InvalidTest.at(pointer, "not_a_number", detail)
        value = number
    return number_reader.of_json(value, pointer)


def _sign(look: FirstLook) -> Sign:
    log = look.is_archive or (isinstance(look.document.get("eval"), dict) and "status" in look.document)
    return Sign.MARK if log else Sign.NONE


FORMAT = Format(
    "inspect", read, ROLES, USES, "Inspect logs, .json and .eval", kinds=("scores",), sign=_sign, zero=True
)
