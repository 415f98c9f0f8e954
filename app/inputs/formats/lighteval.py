"""lighteval: the details of a task, as the parquet that it writes, as JSON lines or as one array of objects.

A detail of versions before 0.11 has `example`, `full_prompt`, …, and `metrics`, an object of numbers by name; later ones have
`doc` (with an id), `model_response` and `metric`. Older details have no ids: they are paired by their order, and both systems must
have been asked the same. (lighteval/logging/info_loggers.py, DetailsLogger.Detail.)
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ...errors import InvalidTest
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .json_records import Record, Records, key_of, read_records
from .number_text import NumberReader
from .outputs_by_id import Check, SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading, choose, only_or_chosen
from .roles import needed
from .source import Source

ROLES = ("u", "v")
USES = frozenset(("metric", "on_missing", "missing_range", "decimals"))
OLD, NEW = "metrics", "metric"
BESIDE_OLD = frozenset(("example", "full_prompt", "instruction", "gold_index", "cont_tokens"))
BESIDE_NEW = frozenset(("doc", "model_response"))


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two models on one task."""
    notes: list[str] = []
    u, v = (read_records(needed(files, role, format_), notes, flat=False) for role in ("u", "v"))
    metric = _metric(u, options)
    reader = NumberReader.of(options)
    first, second = (_outputs(file, metric, reader) for file in (u, v))
    notes.append(f"The metric is {escaped(metric)}.")
    return scores_reading(first, second, options, notes, format_, check=_checker(u, v), metric=metric)


def _numbers(record: Record, source: Source) -> tuple[str, dict[str, Any]]:
    """The field of the metrics and what it holds; empty ones are those that other samples of the file have."""
    for name in (OLD, NEW):
        value = record.value.get(name)
        if isinstance(value, dict):
            return name, {metric: own for metric, own in value.items() if own is not None}
    detail = (
        f"{source.label}, {record.path}: there is no object metrics or metric; is this a detail of lighteval?"
    )
    raise InvalidTest.at(f"{source.pointer}/{record.path}/{OLD}", "missing_field", detail)


def _metric(file: Records, options: ReaderOptions) -> str:
    _, values = _numbers(file.records[0], file.source)
    names = [name for name, value in values.items() if not isinstance(value, list | dict | str)]
    if options.metric is not None:
        if options.metric not in values:
            why = f"There is no metric {quoted(options.metric)}. "
            raise choose(file.pointer, "metric", "metric", names or list(values), why)
        return options.metric
    if not names:
        detail = f"{file.source.label}: no metric of this task is a number of each sample: they are of the whole corpus."
        raise InvalidTest.at(file.pointer, "corpus_metric", detail)
    return only_or_chosen(names, None, file.pointer, "metric", "metric")


def _outputs(file: Records, metric: str, reader: NumberReader) -> SystemOutputs:
    source = file.source
    with_ids = all(_id(record) is not None for record in file.records)
    outputs = SystemOutputs(source, by_order=not with_ids)
    for index, record in enumerate(file.records):
        field, values = _numbers(record, source)
        path = f"{record.path}/{field}/{escaped(metric)}"
        value = values.get(metric)
        if isinstance(value, list | dict):
            detail = f"{source.label}, {record.path}: {escaped(metric)} is no number of the sample: it is of the whole corpus."
            raise InvalidTest.at(f"{source.pointer}/{path}", "corpus_metric", detail)
        key = str(index) if not with_ids else key_of(_id(record), source, f"{record.path}/doc", "id")
        outputs.add(key, reader.of_json(value, f"{source.pointer}/{path}"), path)
        if _answers(record) > 1:
            outputs.runs[key] = _answers(record)
    return outputs


def _answers(record: Record) -> int:
    """How many answers were drawn, which majorities, means and pass@k are taken of."""
    response = record.value.get("model_response")
    texts = response.get("text") if isinstance(response, dict) else record.value.get("predictions")
    return len(texts) if isinstance(texts, list) else 1


def _id(record: Record) -> Any:
    """The id that the document has; None where there is none."""
    doc = record.value.get("doc")
    key = doc.get("id") if isinstance(doc, dict) else None
    return None if key == "" else key


def _question(record: Record) -> Any:
    """What was asked, without the examples before it, which may differ."""
    doc = record.value.get("doc")
    return doc.get("query") if isinstance(doc, dict) else record.value.get("example")


def _checker(u: Records, v: Records) -> Check:
    def check(_u: SystemOutputs, place_u: int, _v: SystemOutputs, place_v: int) -> None:
        """The same question on both sides."""
        mine, other = _question(u.records[place_u]), _question(v.records[place_v])
        if None not in (mine, other) and mine != other:
            path = v.records[place_v].path
            detail = f"{v.source.label}, {path}: this is another question than u has at {u.records[place_u].path}: "
            detail += "the two files are not about the same samples."
            raise InvalidTest.at(f"{v.source.pointer}/{path}", "question_mismatch", detail)

    return check


def _sign(look: FirstLook) -> Sign:
    record = look.first_object
    old = isinstance(record.get(OLD), dict) and bool(BESIDE_OLD & record.keys())
    new = isinstance(record.get(NEW), dict) and record.keys() >= BESIDE_NEW
    return Sign.MARK if old or new else Sign.NONE


FORMAT = Format(
    "lighteval", read, ROLES, USES, "lighteval, details of a task: parquet or JSON lines", kinds=("scores",), sign=_sign,
)  # fmt: skip
