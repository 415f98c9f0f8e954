"""Generic JSON: lines of objects, or one array, with an id and a number each.

Two files `{id, score}` (or `correct`, or any field chosen); or one file `{id, u, v}` or `{id, system, score}`. A list
of numbers is several samples of the item.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from ...errors import InvalidTest
from ...statistics.paired import StatisticSpec
from ...statistics.summary_rows import summary_rows
from .. import ndjson
from ..quoting import quoted
from .format import FirstLook, Format, Sign
from .hidden_ids import refuse_hidden_ids
from .metrics import direction_question, metric_of, metric_of_both, metric_of_columns
from .number_text import Number, NumberReader
from .outputs_by_id import SystemOutputs, Value, matched, scores
from .reader import ReaderOptions, Reading, choose
from .roles import Systems, both, by_names, two_systems
from .source import Source, escaped
from .table import CLUSTER_NAME, ID_NAMES, SYSTEM_NAMES

ROLES = ("u", "v", "file")
USES = frozenset(
    (
        "id_column", "score_column", "system_column", "metric", "system_u", "system_v", "clusters", "on_missing",
        "decimals",
    )
)  # fmt: skip
SCORE_NAMES = ("score", "correct", "value", "accuracy", "acc", "exact_match", "is_correct")
MORE_ID_NAMES = (*ID_NAMES, "question_id", "idx")
MEAN = StatisticSpec("mean_difference")

Placed = tuple[str, dict[str, Any]]


@dataclass(frozen=True, slots=True)
class Named:
    """What names in the files say: the metric, the two systems, and what a gate must ask about these and about it."""

    metric: str | None
    systems: tuple[str, str] | None = None
    question: str | None = None
    direction_question: str | None = None
    score_names: tuple[str, str] | None = None


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two systems."""
    notes: list[str] = []
    first, second = both(files, format_)
    if first is not second:
        placed = list(records(first, notes)), list(records(second, notes))
        u, v = (_outputs(source, each, options) for source, each in zip((first, second), placed, strict=True))
        fields = [
            _score_field(each, options, f"{source.pointer}/{each[0][0]}")
            for source, each in zip((first, second), placed, strict=True)
        ]
        if u.by_order and v.by_order:
            besides = [
                _beside([record for _, record in each], field)
                for each, field in zip(placed, fields, strict=True)
            ]
            refuse_hidden_ids(besides[0], besides[1], second.pointer)
        notes += [
            f"{role}: the score of an item is its {quoted(field)}."
            for role, field in zip("uv", fields, strict=True)
        ]
        metric = metric_of_both(fields[0], fields[1], f"{second.pointer}/{placed[1][0][0]}")
        score_names = fields[0], fields[1]
        named = Named(metric, direction_question=direction_question(*score_names), score_names=score_names)
    else:
        u, v, named = _one_file(first, list(records(first, notes)), options, notes)
    clustered = any(cluster is not None for outputs in (u, v) for cluster in outputs.clusters)
    pairs = matched(u, v, on_missing=options.on_missing, notes=notes, clustered=clustered)
    notes.extend(NumberReader.of(options).note())
    return Reading(
        "scores", scores(pairs), MEAN, tuple(notes), format_,
        names=named.systems, metric=named.metric, role_question=named.question,
        direction_question=named.direction_question, score_names=named.score_names,
    )  # fmt: skip


def records(source: Source, notes: list[str]) -> Iterator[Placed]:
    """Every object with its path: a line, or an index of the one array. Numbers in an array are scores."""
    text = source.text(notes)
    if not text.strip():
        raise source.empty()
    if not text.lstrip().startswith("["):
        lines = (line.removesuffix("\r") for line in text.split("\n"))
        for record in ndjson.records(lines, source.pointer):
            yield f"line/{record.line}", record.value
        return
    for index, value in enumerate(ndjson.decoded(text, source.pointer, source.label)):
        if isinstance(value, dict):
            yield str(index), value
        elif isinstance(value, int | float) or value is None:
            yield str(index), {"score": value}
        else:
            raise InvalidTest.at(
                source.at(index), "not_an_object", "An element is neither an object nor a number."
            )


def _one_file(
    source: Source, placed: list[Placed], options: ReaderOptions, notes: list[str]
) -> tuple[SystemOutputs, SystemOutputs, Named]:
    if not placed:
        raise source.empty()
    system = _named(placed, options.system_column, SYSTEM_NAMES)
    if system is None:
        wide = _fields(source, placed, options, notes)
        fields = wide.u, wide.v
        u, v = (_outputs(source, placed, options, field=name) for name in fields)
        directions = direction_question(*fields)
        return u, v, Named(metric_of_columns(fields), wide.names, wide.question, directions)
    if (
        _named(placed, options.id_column, MORE_ID_NAMES) is None
    ):  # several lines of an item have no order of their own
        raise choose(f"{source.pointer}/{placed[0][0]}", "id_column", "field of ids", list(placed[0][1]))
    groups: dict[str, list[Placed]] = {}
    for path, record in placed:
        groups.setdefault(key_of(record.get(system), source, path, system), []).append((path, record))
    chosen = two_systems(list(groups), options, source, notes)
    field = _score_field(placed, options, f"{source.pointer}/{placed[0][0]}", system)
    u, v = (_outputs(source, groups[name], options, field=field) for name in (chosen.u, chosen.v))
    others = len(placed) - len(groups[chosen.u]) - len(groups[chosen.v])
    if others:
        notes.append(f"{others:,} lines of {len(groups) - 2} other systems were skipped.")
    notes.append(f"The score of an item is its {quoted(field)}.")
    return u, v, Named(metric_of(field), chosen.names, chosen.question)


def _fields(source: Source, placed: list[Placed], options: ReaderOptions, notes: list[str]) -> Systems:
    """The fields of the two systems: as chosen, u and v, or by names that say who is the candidate.

    Beside texts and the like two fields of numbers need such names: one of them may be a length, or a latency.
    """
    path, first = placed[0]
    others = _other_fields(placed, options)
    scored = [name for name in others if isinstance(first.get(name), int | float | list | None)]
    chosen = (options.system_u, options.system_v) != (None, None)
    if {"u", "v"} <= {name.lower() for name in others}:
        return two_systems(others, options, source, notes)
    if chosen and len(others) != 2:
        for role, name in (("u", options.system_u), ("v", options.system_v)):
            if name is None or name.lower() not in {other.lower() for other in others}:
                raise choose(f"{source.pointer}/{path}", f"system_{role}", f"field of {role}", list(first))
        return two_systems(others, options, source, notes)
    told = by_names(scored) if len(scored) > 1 else None
    if not chosen and (told is None and (len(scored) != 2 or len(others) != 2 or _are_counts(scored))):
        raise choose(f"{source.pointer}/{path}", "system_u", "field of u", list(first))
    return two_systems(others if chosen else scored, options, source, notes)


def _are_counts(names: list[str]) -> bool:
    """Whether these are called as a table's counts are (tp_u, tp_v): their names say more than their order."""
    return all(name.lower().endswith(("_u", "_v")) for name in names)


def _all_fields(placed: list[Placed]) -> list[str]:
    """The fields of all records, in the order in which they first come."""
    kinds = dict.fromkeys(tuple(record) for _, record in placed)  # few: most records have the same fields
    return list(dict.fromkeys(name for names in kinds for name in names))


def _named(placed: list[Placed], wanted: str | None, names: tuple[str, ...]) -> str | None:
    """The field that is called `wanted`, or else by the first of these names; case does not matter, as in a table.

    A field counts that only some records have: those without it are then refused, rather than the field overlooked.
    """
    there = _all_fields(placed)
    folded = {name.lower(): name for name in reversed(there)}
    if wanted is not None:
        return wanted if wanted in there else folded.get(wanted.lower(), wanted)
    return next((name if name in there else folded[name] for name in names if name in folded), None)


def _other_fields(placed: list[Placed], options: ReaderOptions, system: str | None = None) -> list[str]:
    """The fields that are neither id, cluster nor system."""
    keys = {
        _named(placed, options.id_column, MORE_ID_NAMES),
        _named(placed, options.clusters, (CLUSTER_NAME,)),
        system,
    }
    return [name for name in _all_fields(placed) if name not in keys]


def _outputs(
    source: Source, placed: list[Placed], options: ReaderOptions, *, field: str | None = None
) -> SystemOutputs:
    if not placed:
        raise source.empty()
    key = _named(placed, options.id_column, MORE_ID_NAMES)
    score = field or _score_field(placed, options, f"{source.pointer}/{placed[0][0]}")
    cluster = _named(placed, options.clusters, (CLUSTER_NAME,))
    number_reader = NumberReader.of(options)
    outputs = SystemOutputs(source, by_order=key is None)
    for count, (path, record) in enumerate(placed):
        value: Value = number_reader.plain(record.get(score))
        if value is None:
            pointer = f"{source.pointer}/{path}/{escaped(score)}"
            if score not in record:
                detail = f"{source.label}, {path}: there is no field {escaped(score)}."
                raise InvalidTest.at(pointer, "missing_field", detail)
            value = value_of(record[score], number_reader, pointer)
        outputs.add(
            str(count) if key is None else key_of(record.get(key), source, path, key),
            value,
            path,
            None if cluster is None else key_of(record.get(cluster), source, path, cluster),
        )
    if key is None:
        _refuse_summary(source, placed, cluster)
    if options.id_column is None:
        _refuse_requests(source, placed, score, with_ids=key is not None)
    return outputs


def _refuse_requests(source: Source, placed: list[Placed], score: str, *, with_ids: bool) -> None:
    """Refuse lists that may as well be the columns of requests: one record of them, or several that have no ids."""
    if not all(isinstance(record.get(score), list) for _, record in placed) or (with_ids and len(placed) > 1):
        return
    pointer = f"{source.pointer}/{placed[0][0]}/{escaped(score)}"
    if len(placed) > 1:
        detail = (
            f"{source.label}: {len(placed):,} objects without ids, with a list for {escaped(score)} in each. Several requests "
            "are not one test: send them one by one, or as the metrics of a gate. If they are items with repeated samples, "
            "give each an id, or say id_column=<field>."
        )
        raise InvalidTest.at(pointer, "requests_for_items", detail)
    which = "" if with_ids else " without an id"
    detail = (
        f"{source.label}: the file has one object{which}, with a list for {escaped(score)}, which would be one "
        'item. Give one object a line for each item; or, if it is many items, a JSON request: {"u": […], "v": […]}. '
        "If it is one item, say id_column=<field>."
    )
    raise InvalidTest.at(pointer, "one_item_of_lists", detail)


def _refuse_summary(source: Source, placed: list[Placed], cluster: str | None) -> None:
    """Refuse an object of averages at either end where no field is known to hold ids."""
    for name in dict.fromkeys((*placed[0][1], *placed[-1][1])):
        values = [record.get(name) for _, record in placed]
        rows = summary_rows(values) if len(placed) > 1 and name != cluster else []
        if rows and all(values.count(values[row]) == 1 for row in rows):
            path, value = placed[rows[-1]][0], values[rows[-1]]
            detail = f"{source.label}, {path}: {escaped(name)} is {quoted(value)}: averages or totals are no item. "
            detail += f"Drop them; or say id_column={escaped(name)}, if it is one."
            raise InvalidTest.at(f"{source.pointer}/{path}/{escaped(name)}", "summary_row", detail)


def _beside(records: list[dict[str, Any]], score: str) -> dict[str, list[Any]]:
    """The fields beside the scores."""
    return {name: [record.get(name) for record in records] for name in records[0] if name != score}


def _score_field(
    placed: list[Placed], options: ReaderOptions, pointer: str, system: str | None = None
) -> str:
    """The field of scores: as chosen, by its name, or the only one that is no key."""
    wanted = options.score_column or options.metric
    if wanted is not None:
        return _named(placed, wanted, ()) or wanted
    record = placed[0][1]
    found = [name for name in record if name.lower() in SCORE_NAMES]
    if len(found) == 1:
        return found[0]
    others = _other_fields(placed, options, system)
    if len(others) == 1:
        return others[0]
    raise choose(pointer, "metric", "field of scores", found or list(record))


def value_of(value: Any, number_reader: NumberReader, pointer: str) -> Value:
    """A number, a list of numbers, or None when there is none."""
    if not isinstance(value, list):
        return number_reader.of_json(value, pointer)
    numbers: list[Number] = []
    for index, inner in enumerate(value):
        number = number_reader.of_json(inner, f"{pointer}/{index}")
        if number is None:
            raise InvalidTest.at(
                f"{pointer}/{index}", "missing_value", "One of several samples has no value."
            )
        numbers.append(number)
    return tuple(numbers) or None


def key_of(value: Any, source: Source, path: str, name: str) -> str:
    """An id or a cluster key as text; raises InvalidTest when it is neither a string nor an integer."""
    if isinstance(value, str):
        return value
    if isinstance(value, int):  # booleans too: true and false are fine names of clusters
        return str(value).lower() if isinstance(value, bool) else str(value)
    detail = f"{source.label}, {path}: {escaped(name)} must be a string or an integer."
    raise InvalidTest.at(f"{source.pointer}/{path}/{escaped(name)}", "not_a_key", detail)


def _sign(look: FirstLook) -> Sign:
    array = look.is_json and look.text.lstrip().startswith("[")
    return Sign.LINES if array or look.record is not None else Sign.NONE


FORMAT = Format(
    "jsonl", read, ROLES, USES, "lines (or an array) of {id, score}, {id, u, v} or {id, system, score}",
    kinds=("scores",), aliases=("json", "ndjson"), sign=_sign,
)  # fmt: skip
