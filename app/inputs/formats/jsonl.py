"""Generic JSON: lines of objects, or one array, with an id and a number each.

Two files `{id, score}` (or `correct`, or any field chosen); or one file `{id, u, v}` or `{id, system, score}`. A list
of numbers is several samples of the item.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidTest
from ...statistics.summary_rows import summary_rows
from ..quoting import escaped, quoted
from .format import FirstLook, Format, Sign
from .hidden_ids import end_rows, refuse_hidden_ids
from .json_fields import (
    cluster_field,
    id_field,
    score_field,
    system_field,
    system_score_fields,
    weight_field,
)
from .json_records import Record, Records, key_of, read_records, value_of
from .metrics import direction_question, metric_of, metric_of_both, metric_of_columns
from .number_text import NumberReader
from .outputs_by_id import SystemOutputs, Value, scores_reading
from .reader import ReaderOptions, Reading, RoleQuestion, choose
from .roles import both, two_systems
from .source import Source

ROLES = ("u", "v", "file")
USES = frozenset(
    (
        "id_column", "score_column", "system_column", "metric", "system_u", "system_v", "clusters", "on_missing", "missing_range",
        "decimals",
    )
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Systems:
    """The outputs of both systems, and what the names in the files say of the metric and of the systems.

    The questions are those of `Reading`.
    """

    u: SystemOutputs
    v: SystemOutputs
    metric: str | None
    names: tuple[str, str] | None = None
    role_question: RoleQuestion | None = None
    direction_question: str | None = None
    score_names: tuple[str, str] | None = None


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems."""
    notes: list[str] = []
    first, second = both(files, format_)
    if first is not second:
        systems = _two_files(read_records(first, notes), read_records(second, notes), options, notes)
    else:
        systems = _one_file(read_records(first, notes), options, notes)
    u, v = systems.u, systems.v
    clustered = any(cluster is not None for outputs in (u, v) for cluster in outputs.clusters)
    return scores_reading(
        u, v, options, notes, format_, clustered=clustered,
        names=systems.names, metric=systems.metric, role_question=systems.role_question,
        direction_question=systems.direction_question, score_names=systems.score_names,
    )  # fmt: skip


def _two_files(first: Records, second: Records, options: ReaderOptions, notes: list[str]) -> Systems:
    fields = score_field(first, options), score_field(second, options)
    u, v = outputs_of(first, options, fields[0]), outputs_of(second, options, fields[1])
    if u.by_order and v.by_order:
        refuse_hidden_ids(_shared_fields(first, second, fields), second.source.pointer)
    notes += [
        f"{role}: the score of an item is its {quoted(field)}."
        for role, field in zip("uv", fields, strict=True)
    ]
    metric = metric_of_both(fields[0], fields[1], second.pointer)
    return Systems(u, v, metric, direction_question=direction_question(*fields), score_names=fields)


def _shared_fields(
    first: Records, second: Records, scores_of: tuple[str, str]
) -> Iterator[tuple[str, list[Any], list[Any]]]:
    """The fields that all records of both files have, one after the other; those of the scores are left out."""
    for name in first.fields:
        if name in first.common and name in second.common and name != scores_of[0] and name != scores_of[1]:
            yield name, first.column(name), second.column(name)


def _one_file(file: Records, options: ReaderOptions, notes: list[str]) -> Systems:
    system = system_field(file, options)
    if system is None:
        columns = system_score_fields(file, options, notes)
        u, v = (outputs_of(file, options, name) for name in (columns.u, columns.v))
        question = direction_question(columns.u, columns.v)
        return Systems(
            u, v, metric_of_columns((columns.u, columns.v)), columns.names, columns.question, question
        )
    if id_field(file, options) is None:  # the order of a system's records among the others' is no pairing
        raise choose(file.pointer, "id_column", "field of ids", list(file.first))
    groups: dict[str, list[Record]] = {}
    for record in file.records:
        name = key_of(record.value.get(system), file.source, record.path, system)
        groups.setdefault(name, []).append(record)
    chosen = two_systems(list(groups), options, file.source, notes)
    field = score_field(file, options, system)
    u, v = (
        outputs_of(Records.of(file.source, groups[name]), options, field) for name in (chosen.u, chosen.v)
    )
    others = len(file.records) - len(u) - len(v)
    if others:
        notes.append(f"{others:,} lines of {len(groups) - 2} other systems were skipped.")
    notes.append(f"The score of an item is its {quoted(field)}.")
    return Systems(u, v, metric_of(field), chosen.names, chosen.question)


def outputs_of(file: Records, options: ReaderOptions, score: str) -> SystemOutputs:
    """The values of one system, which are in the field `score`."""
    source = file.source
    key, cluster = id_field(file, options), cluster_field(file, options)
    weight = weight_field(file, options)
    number_reader = NumberReader.of(options)
    outputs = SystemOutputs(source, by_order=key is None)
    for index, (path, record) in enumerate(file.records):
        value: Value = number_reader.plain(record.get(score))
        if value is None:
            pointer = f"{source.pointer}/{path}/{escaped(score)}"
            if score not in record:
                detail = f"{source.label}, {path}: there is no field {escaped(score)}."
                raise InvalidTest.at(pointer, "missing_field", detail)
            value = value_of(record[score], number_reader, pointer)
        outputs.add(
            str(index) if key is None else key_of(record.get(key), source, path, key),
            value,
            path,
            None if cluster is None else key_of(record.get(cluster), source, path, cluster),
            None if weight is None or record.get(weight) is None else str(record[weight]),
        )
    if key is None:
        _refuse_summary(file, cluster)
    if options.id_column is None:
        _refuse_requests(file, score, with_ids=key is not None)
    return outputs


def _refuse_requests(file: Records, score: str, *, with_ids: bool) -> None:
    """Refuse lists that may as well be the columns of requests: one record of them, or several that have no ids."""
    n = len(file.records)
    if not all(isinstance(value, list) for value in file.column(score)) or (with_ids and n > 1):
        return
    pointer = f"{file.pointer}/{escaped(score)}"
    label = file.source.label
    if n > 1:
        detail = (
            f"{label}: {n:,} objects without ids, with a list for {escaped(score)} in each. Several requests "
            "are not one test: send them one by one, or as the metrics of a gate. If they are items with repeated samples, "
            "give each an id, or give id_column=<field>."
        )
        raise InvalidTest.at(pointer, "requests_for_items", detail)
    which = "" if with_ids else " without an id"
    detail = (
        f"{label}: the file has one object{which}, with a list for {escaped(score)}, which would be one "
        'item. Give one object a line for each item; or, if it is many items, a JSON request: {"u": […], "v": […]}. '
        "If it is one item, give id_column=<field>."
    )
    raise InvalidTest.at(pointer, "one_item_of_lists", detail)


def _refuse_summary(file: Records, cluster: str | None) -> None:
    """Refuse an object of averages at either end where no field is known to hold ids."""
    if len(file.records) == 1:
        return
    ends = [file.records[row] for row in end_rows(len(file.records))]
    suspects = {
        name: [ends[row] for row in rows]
        for name in dict.fromkeys((*file.first, *file.records[-1].value))
        if name != cluster and (rows := summary_rows([record.value.get(name) for record in ends]))
    }
    # One pass over the values that there are: records need not have the same fields.
    counts = Counter(
        (name, value)
        for record in file.records if suspects
        for name, value in record.value.items() if name in suspects and isinstance(value, str)
    )  # fmt: skip
    for name, records in suspects.items():
        if all(counts[name, record.value[name]] == 1 for record in records):
            path, record = records[-1]
            detail = f"{file.source.label}, {path}: {escaped(name)} is {quoted(record[name])}: averages or totals are not an item. "
            detail += f"Remove them; or give id_column={escaped(name)}, if it is an item."
            raise InvalidTest.at(f"{file.source.pointer}/{path}/{escaped(name)}", "summary_row", detail)


def _sign(look: FirstLook) -> Sign:
    array = look.is_json and look.text.lstrip().startswith("[")
    return Sign.LINES if array or look.record is not None else Sign.NONE


FORMAT = Format(
    "jsonl", read, ROLES, USES, "lines (or an array) of {id, score}, {id, u, v} or {id, system, score}",
    kinds=("scores",), aliases=("json", "ndjson"), sign=_sign,
)  # fmt: skip
