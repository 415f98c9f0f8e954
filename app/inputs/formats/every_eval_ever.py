"""Every Eval Ever, instance level (schema instance_level_eval 0.2): one reader for Inspect, HELM and lm-eval logs.

A line is one sample of one evaluation; its key is (evaluation_name, sample_id), and `sample_hash` must agree.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...errors import InvalidTest
from .. import ndjson
from ..quoting import escaped
from .format import FirstLook, Format, Sign
from .json_records import key_of, metadata_key
from .number_text import Number, NumberReader
from .outputs_by_id import Check, SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading, choose, only_or_chosen
from .roles import needed
from .source import Source

ROLES = ("u", "v")
USES = frozenset(("task", "metric", "clusters", "on_missing", "missing_range", "decimals"))
METRICS = ("score", "is_correct")

Records = list[ndjson.Record]


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two models on one evaluation."""
    notes: list[str] = []
    metric = options.metric or "score"
    if metric not in METRICS:
        raise choose("/options/metric", "metric", "metric", list(METRICS))
    number_reader = NumberReader.of(options)
    systems, names, kept = [], [], []
    for role in ("u", "v"):
        source = needed(files, role, format_)
        records = _records(source, options, notes)
        systems.append(_outputs(source, records, metric, number_reader, options))
        names.append(_model(source, records))
        kept.append(records)
    more_notes = [
        f"The number is evaluation.{metric}; whether lower is better is in the aggregate file, not in this one."
    ]
    if any("sample_hash" not in record.value for records in kept for record in records):
        more_notes.insert(0, "sample_hash is not everywhere: it was compared only where it is.")
    return scores_reading(
        systems[0], systems[1], options, notes, format_, clustered=options.clusters is not None, check=_checker(*kept),
        more_notes=more_notes, names=(names[0], names[1]), metric=metric,
    )  # fmt: skip


def _records(source: Source, options: ReaderOptions, notes: list[str]) -> Records:
    """The samples of the evaluation that was chosen, or of the only one."""
    by_evaluation: dict[str, Records] = {}
    for record in ndjson.records(source.lines(notes), source.pointer):
        path = f"line/{record.line}"
        name = key_of(record.value.get("evaluation_name"), source, path, "evaluation_name")
        by_evaluation.setdefault(name, []).append(record)
    if not by_evaluation:
        raise source.empty()
    several = f"{source.label} has several evaluations. "
    chosen = only_or_chosen(list(by_evaluation), options.task, source.pointer, "task", "evaluation", several)
    others = sum(map(len, by_evaluation.values())) - len(by_evaluation[chosen])
    if others:
        notes.append(f"{source.role}: {others:,} lines of other evaluations were skipped.")
    return by_evaluation[chosen]


def _model(source: Source, records: Records) -> str:
    """The one model of the file; raises InvalidTest when there are several."""
    models = list(dict.fromkeys(str(record.value.get("model_id", source.name)) for record in records))
    if len(models) > 1:
        detail = f"{source.label} has samples of {len(models)} models; give each its own file."
        raise InvalidTest.at(source.pointer, "several_models", detail)
    return models[0]


def _outputs(
    source: Source, records: Records, metric: str, number_reader: NumberReader, options: ReaderOptions
) -> SystemOutputs:
    outputs = SystemOutputs(source)
    for record in records:
        path = f"line/{record.line}"
        outputs.add(
            key_of(record.value.get("sample_id"), source, path, "sample_id"),
            _value(source, record, metric, number_reader),
            path,
            metadata_key(record.value, options.clusters, source, path),
        )
    return outputs


def _value(source: Source, record: ndjson.Record, metric: str, number_reader: NumberReader) -> Number | None:
    """The number; a sample that ended in an error has none, whatever its field says."""
    if record.value.get("error") is not None:
        return None
    evaluation = record.value.get("evaluation")
    if not isinstance(evaluation, dict) or metric not in evaluation:
        detail = f"there is no evaluation.{escaped(metric)}."
        raise source.refused(record.line, "missing_field", detail, "evaluation", metric)
    return number_reader.of_json(evaluation[metric], source.line(record.line, "evaluation", metric))


def _checker(u: Records, v: Records) -> Check:
    def check(_u: SystemOutputs, place_u: int, second: SystemOutputs, place_v: int) -> None:
        mine, other = u[place_u], v[place_v]
        hashes = mine.value.get("sample_hash"), other.value.get("sample_hash")
        if None not in hashes and hashes[0] != hashes[1]:
            detail = f"sample_hash is not that of u (line {mine.line:,} there): these are different samples."
            raise second.source.refused(other.line, "sample_hash_mismatch", detail, "sample_hash")

    return check


def _sign(look: FirstLook) -> Sign:
    record = look.record or {}
    return Sign.MARK if "evaluation" in record and "sample_id" in record else Sign.NONE


FORMAT = Format(
    "every-eval-ever", read, ROLES, USES, "Every Eval Ever, instance level",
    kinds=("scores",), aliases=("eee",), sign=_sign,
)  # fmt: skip
