"""Read scores of two systems in tables and JSON records, and counts in tables, from files or from a body with both systems.

Wide `id,u,v[,cluster,weight]`, long `id,system,score`, a file for each system, and the headerless forms: two columns (scores of U and V),
four (tp and incorrect of each, as the files of rycolab/paired-perm-test), and in two files one column each. JSON lines, or one array, are
read likewise: their fields are the columns, and a list of numbers holds several samples of the item. WMT's MQM scores (`system score
seg_id`, separated by blanks) are the long form.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ...answers.reading import Read, Remark
from ...errors import InvalidTest, choices_of, mapped, marked
from ...statistics.columns import slices_of, taken
from ...statistics.paired import Column, Counts, Repeated, Scores, StatisticSpec
from .. import columns, delimited, outcomes, roles
from ..alignment import Positions, align, numbered
from ..columns import counts
from ..delimited import HEADERLESS_COUNTS, is_quoted
from ..format import FirstLook, Format, Sign
from ..frame import NO_HEADER, Frame, Rows, frame_of, taken_rows
from ..json_records import SLICES, holds_table, labels_in_cell
from ..names import RUN, SCORE, SEED, folded, is_one_of
from ..number_text import NumberReader, Value, are_data, is_missing, is_numeric
from ..outcomes import MOST_METRICS, refuse_summaries
from ..quoting import NAMED, escaped, quoted, some
from ..reader import Finding, ReaderOptions, Reading, Source, choose, in_words
from ..roles import Cells, Key, Places, Side
from .outputs_by_id import MEAN, PAIRED_BY_ORDER, SystemOutputs, scores_reading
from .roles import Measured, Systems, both, by_names, is_context, measured, metric_of, two_systems

ROLES = ("u", "v", "file")
JSON_LINES = "jsonl"
USES = frozenset((
    "id_column", "score_column", "system_column", "system_u", "system_v", "clusters", "slices", "on_missing", "missing_range",
    "decimals", "metric", "on_mismatch", "label_column", "covariates", "correction",
))  # fmt: skip
OF_RECORDS = USES | {"path"}
OF_TABLES = USES | {"delimiter", "decimal"}
WITHOUT_IDS = (b"u,v", b"u\tv")
PLAIN_DELIMITERS: Mapping[str, delimited.Delimiter] = {"csv": ",", "tsv": "\t"}
# The default statistics of known counts; for other counts the caller must name one.
COUNT_STATISTICS = (
    ({"tp", "incorrect"}, StatisticSpec("f1")),
    ({"tp", "fp", "fn"}, StatisticSpec("f1")),
    ({"tp", "predicted", "gold"}, StatisticSpec("f1")),
    ({"correct", "total"}, StatisticSpec("accuracy")),
    ({"correct", "incorrect"}, StatisticSpec("accuracy")),
    ({"errors", "ref_words"}, StatisticSpec("ratio", {"numerator": "errors", "denominator": "ref_words"})),
)
# Columns of rows that are not items, with messages: results of cocodataset/cocoapi, and a curve as TensorBoard saves it.
NO_ITEMS = {
    ("image_id", "category_id", "score"): ("detections in images, whose scores do not say whether they are right: give a number for each image"),
    ("Wall time", "Step", "Value"): ("points of a training curve: give the scores of the items of the evaluation"),
}  # fmt: skip
CHOOSE_RUNS = "choose_runs"


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read scores, or counts if the columns are counts."""
    notes: list[str] = []
    first, second = both(files, format_)
    if first is not second:
        are_json = [FirstLook({source.role: source}).is_json for source in (first, second)]
        mixed = are_json[0] != are_json[1]  # one is JSON, the other a table
        frames = [
            frame_of(source, options, notes, is_json=is_json if mixed else format_ == JSON_LINES)
            for source, is_json in zip((first, second), are_json, strict=True)
        ]
        roles.refuse_unknown_key(frames, options)
        return _two_files(frames, options, notes, format_)
    quick = _plain(first, options, format_)
    if quick is not None:
        return quick
    frame = frame_of(first, options, notes, is_json=format_ == JSON_LINES)
    roles.refuse_unknown_key([frame], options)
    if not frame.has_header:
        items = of_outcomes(frame, options, notes)
        return (_headerless if items is frame else _wide)(items, options, notes, format_)
    system = roles.system_of(frame, options)
    if system is not None:
        return _long(frame, system, options, notes, format_)
    names = [name.lower() for name in frame.names if frame.is_table]
    # A column `<count>_u` with a matching `<count>_v`.
    counted = any(f"{name[:-2]}_v" in names for name in names if name.endswith("_u") and len(name) > 2)
    return (_counts if counted and not roles.asked_beside(options) else _wide)(frame, options, notes, format_)


def _plain(source: Source, options: ReaderOptions, format_: str) -> Reading | None:
    """Read the usual file, [id,]u,v[,cluster] without missing values or options, ten times faster; None for any other."""
    content = source.content
    if options.given() or format_ not in PLAIN_DELIMITERS or b" " in content:
        return None
    if content.count(b"\n") > options.max_items:
        return None  # the slow reader refuses it early
    plain = delimited.plain_table(content, PLAIN_DELIMITERS[format_])
    if plain is None or "weights" in plain or ("ids" not in plain and not content.startswith(WITHOUT_IDS)):
        return None
    u, v, ids = plain["u"], plain["v"], plain.get("ids")
    try:
        pairing = align({"/u": u, "/v": v}, ids=ids, clusters=plain.get("clusters")).pairing
    except InvalidTest:
        return None  # the slow reader names the line
    read = [Read(role, len(u), source.label, source.name[:80]) for role in ("u", "v")]
    notes = (*(() if ids is not None else (PAIRED_BY_ORDER,)), *read)
    return Reading("scores", Scores(u, v, replace(pairing, matched=len(u))), MEAN, notes, format_)


def outputs_of(
    frame: Frame, scores: Sequence[str], places: Places, reader: NumberReader, rows: Rows | None = None, system: str | None = None, *,
    gaps: bool = False,
) -> list[SystemOutputs]:  # fmt: skip
    """The outputs of systems, each in a column of these rows (None: all); rows with the same key are its samples; `gaps` as in `Frame.values`.

    Raises InvalidTest if a key is missing, repeats where it may not (for `system` of a long table; "" on a board) or has two clusters,
    or if a value is not a number.
    """
    key, at_rows = places.key, np.arange(frame.n) if rows is None else rows
    columns: list[Any] = [
        _checked(frame, score, frame.values(score, reader, rows, gaps=gaps), at_rows) for score in scores
    ]
    ids, empty = ids_of(frame, key, at_rows), [0] * len(columns)
    for score in scores if not (key.columns and frame.is_table) else scores[:1]:  # by keys once
        refuse_metrics(frame, key, score)
    if not key.columns:
        refuse_averages(frame, (*scores, places.cluster))
    clusters: Any = None if places.cluster is None else frame.texts(places.cluster, at_rows)
    weights: Any = None if places.weight is None else _weights(frame, places.weight, at_rows, reader)
    if key.columns and not key.numbered and not frame.is_unique(key.columns, rows):
        if not key.repeats:
            raise _twice(frame, ids, at_rows, key, system)
        codes = numbered(ids)[0]
        order, lengths = np.argsort(codes, kind="stable"), np.bincount(codes)
        if (
            clusters is not None and key.run is not None
        ):  # run r of all items of a cluster is exchanged together
            order = np.lexsort((numbered(frame.texts(key.run, at_rows))[0], codes))
        first = order[np.cumsum(lengths) - lengths]
        before = first[codes].tolist()
        for column, what in ((clusters, "cluster"), (weights, "weight")):
            at = next((at for at, one in enumerate(column or ()) if one != column[before[at]]), None)
            if at is not None:
                here, there = (quoted(str(column[row])) for row in (at, before[at]))
                detail = f"the item {quoted(ids[at])} has the {what} {here} here and {there} before."
                raise frame.refused(int(at_rows[at]), "", f"{what}_mismatch", detail)
        empty = [column.count(None) if isinstance(column, list) else 0 for column in columns]
        for score, column in zip(scores, columns, strict=True) if clusters is not None and any(empty) else ():
            if None in column:
                detail = "a run has no value, and the items of a cluster need the same runs."
                raise frame.refused(int(at_rows[column.index(None)]), score, "missing_value", detail)
        columns = [_joined(column, order, lengths) for column in columns]
        ids = taken(ids, first)
        clusters, weights = (column and taken(column, first) for column in (clusters, weights))
        at_rows = at_rows[first]
    context = {
        folded(name): frame.column(name)
        if len(at_rows) == frame.n
        else taken_rows(frame.column(name), at_rows)
        for name in (frame.names if frame.has_header else ())
        if is_context(name) and name not in (*scores, places.cluster, places.weight, *key.columns)
    }
    if places.slices is not None:
        labels = taken_rows(frame.column(places.slices), at_rows)
        context[SLICES] = list(map(labels_in_cell, labels)) if frame.is_table else labels
    nothing: list[str | None] = [None] * len(ids)
    systems = [
        SystemOutputs(
            frame.source, not key.columns, ids, column, Cells(frame, at_rows, score, places), clusters or nothing, weights or nothing,
            context=context, empty=without,
        )
        for score, column, without in zip(scores, columns, empty, strict=True)
    ]  # fmt: skip
    if not frame.is_table:
        for score in scores:
            _refuse_requests(frame, score, key)
    return systems


def _beside(
    sides: Sequence[tuple[Frame, Places, Rows | None]], options: ReaderOptions, notes: list[Any], systems: Sequence[str] = ()
) -> dict[str, Sequence[SystemOutputs]]:  # fmt: skip
    """The labels or covariates of both systems by name, which are in columns of one table where these are the `systems`' too."""
    option = "label_column" if options.label_column else "covariates"
    columns_beside = roles.asked_beside(options)
    if not columns_beside:
        return {}
    if systems:
        pairs = [roles.pair_beside(sides[0][0], option, text, systems) for text in columns_beside.values()]
    else:
        # One name is that of the column on both sides.
        halves = [(text.split(":") * 2)[:2] for text in columns_beside.values()]
        frames = [frame for frame, _, _ in sides]
        pairs = [
            (str(frames[0].chosen(option, u.strip())), str(frames[1].chosen(option, v.strip()))) for u, v in halves
        ]  # fmt: skip
    # Covariates are no scores, which `decimals` rounds.
    reader_options = options if options.label_column else replace(options, decimals=None)
    outputs = []
    for side, (frame, places, rows) in enumerate(sides):
        names = [pair[side] for pair in pairs]
        outputs.append(
            outputs_of(frame, names, places, frame.reader_of(names, reader_options, notes), rows, gaps=True)
        )
    return dict(zip(columns_beside, zip(*outputs, strict=True), strict=True))


def _checked(frame: Frame, score: str, values: Column | list[Value], rows: Rows) -> Column | list[Value]:
    """The values, as a column if each is one number; raises InvalidTest at numbers that no column keeps exactly."""
    if not isinstance(values, list):
        return values
    each = [value if isinstance(value, tuple) else () if value is None else (value,) for value in values]
    at = np.repeat(rows, np.fromiter(map(len, each), dtype=np.int64, count=len(each)))
    column = mapped(
        lambda pointer: frame.place(int(at[int(pointer[1:])]), score),
        columns.numbers, list(itertools.chain.from_iterable(each)), may_hold_booleans=False,
    )  # fmt: skip
    return column if set(map(type, values)) <= {int, float} else values


def ids_of(frame: Frame, key: Key, rows: Rows) -> list[str]:
    """The ids of rows: their keys, or their numbers; raises InvalidTest."""
    if not key.columns:
        return list(map(str, range(len(rows))))
    parts = [frame.texts(name, rows) for name in key.columns]
    if key.numbered:
        times: dict[str, Iterator[int]] = {}
        return [f"{one}/{next(times.setdefault(one, itertools.count(1)))}" for one in parts[0]]
    if len(parts) == 1:
        return parts[0]
    joined = list(map("/".join, zip(*parts, strict=True)))
    if len(set(joined)) == len(set(zip(*parts, strict=True))):
        return joined
    return [", ".join(map(quoted, each)) for each in zip(*parts, strict=True)]


def _weights(frame: Frame, name: str, rows: Rows, reader: NumberReader) -> list[str | None]:
    """The weight of each row as text for `weights_of`; decimal commas are read as in the scores."""
    texts = [None if value is None else str(value).strip() for value in taken_rows(frame.column(name), rows)]
    if not reader.comma:
        return texts
    return [text.replace(",", ".", 1) if text is not None and "." not in text else text for text in texts]


def _joined(column: Column | list[Value], order: Positions, lengths: Positions) -> Repeated | list[Value]:
    """Join the values of the rows of each item, its samples, by their order and number; rows without a value are no samples."""
    if isinstance(column, np.ndarray):
        return Repeated(column[order], lengths)
    values: list[Value] = []
    for places in np.split(order, np.cumsum(lengths)[:-1]):
        group = [value if isinstance(value, tuple) else (value,) for value in taken(column, places)]
        numbers = tuple(number for value in group for number in value if number is not None)
        values.append(column[int(places[0])] if len(group) == 1 else numbers or None)
    return values


def _twice(frame: Frame, ids: Sequence[str], rows: Rows, key: Key, system: str | None = None) -> InvalidTest:
    """The refusal of an id that repeats, or has two values of a system."""
    seen: dict[str, int] = {}
    for row, one in zip(rows.tolist(), ids, strict=True):
        before = seen.setdefault(one, row)
        if before != row:
            break
    where = in_words(frame.path(before))
    if system:
        detail = (
            f"the item {quoted(one)} has two values of {system}: here and at {where}. Give one, or their mean; or number the runs in "
            "the id, with the item as cluster."
        )
        return frame.refused(row, "", "duplicate_value", detail)
    run = frame.find(RUN)
    ways = "ids must be unique. If they are runs, say so in a column run."
    if run is not None:
        ways = f"ids must be unique, or the values of {quoted(run)} of an item."
    detail = f"the id {quoted(one)} is already at {where}; {ways}"
    of_board = frame.source.is_body or system is not None
    column = key.columns[0] if of_board and len(key.columns) == 1 else ""
    return frame.refused(row, column, "duplicate_id", detail)


def refuse_metrics(frame: Frame, key: Key, score: str) -> None:
    """Refuse a frame whose rows are metrics or otherwise not items, or whose only row holds averages; raises InvalidTest."""
    for names, what in NO_ITEMS.items() if frame.has_header else ():
        if set(names) <= set(frame.names):
            raise frame.refused(0, score, "no_items", f"these are {what}.")
    if frame.has_header and frame.n <= MOST_METRICS:
        shown = {name: frame.column(name) for name in frame.names if name in frame.common}
        refuse_summaries(shown, key.columns, score, frame.place(0), f"{frame.source.label}: ")


def refuse_averages(frame: Frame, beside: Collection[str | None]) -> None:
    """Refuse a row of averages at an end of a frame without a key, where it would be paired as an item. Columns `beside` are skipped."""
    if not frame.has_header or (frame.n == 1 and not frame.is_table):
        return
    average = roles.averages_row(frame, [name for name in frame.names if name not in beside])
    if average is not None:
        row, name = average
        detail = f"{escaped(name)} is {quoted(str(frame.cell(row, name)))}: a row of averages or totals is not an item. "
        detail += f"Remove it; or give {marked('id_column', name)}, if it is an item."
        raise frame.refused(row, name, "summary_row", detail)


def _refuse_requests(frame: Frame, score: str, key: Key) -> None:
    """Refuse lists that may be the columns of requests: in one record, or in several without ids."""
    with_ids, n = bool(key.columns), frame.n
    are_lists = all(isinstance(value, list) for value in frame.column(score))
    if not are_lists or (with_ids and (n > 1 or key.chosen)):
        return
    which, code = "" if with_ids else " without an id", "one_item_of_lists"
    detail = (
        f"the file has one object{which}, with a list for {escaped(score)}, which would be one "
        'item. Give one object a line for each item; or, if it is many items, a JSON request: {"u": […], "v": […]}. '
        "If it is one item, name the field of ids (`id_column`)."
    )
    if n > 1:
        code = "requests_for_items"
        detail = (
            f"{n:,} objects without ids, with a list for {escaped(score)} in each. Several requests "
            "are not one test: send them one by one, or as the metrics of a gate. If they are items with repeated samples, "
            "give each an id, or name the field of ids (`id_column`)."
        )
    raise InvalidTest.at(frame.place(0, score), code, f"{frame.source.label}: {detail}")


def runs_findings(frame: Frame, key: Key, options: ReaderOptions) -> tuple[Finding, ...]:
    """The findings that rows with the same key were averaged although nothing shows that they are runs, and that a run may be one of all items."""
    if (
        key.run is not None
        and is_one_of(key.run, SEED)
        and options.exchange != "items"
        and roles.cluster_of(frame, options) is None
    ):
        items, runs, both = (
            len(set(frame.keys_together(of) or ()))
            for of in (key.columns, (key.run,), (*key.columns, key.run))
        )
        if min(items, runs) > 1 and both == items * runs:
            detail = (
                f"Every item has every {quoted(key.run)}, and each item's runs were exchanged separately. If it is the seed of a training, which "
                "all items share, runs of different items are not independent: give a column with one value for all items as `clusters`."
            )
            return (Finding("runs_may_be_shared", detail, frame.top, asks=False),)
    if not key.samples:
        return ()
    name = ", ".join(map(quoted, key.columns))
    detail = (
        f"{name} repeats, and no column names the run of a row: the rows of one {name} were averaged, and "
        "swap as a whole. Give `repeats=mean` if they are samples of one item; or "
        f"{marked('clusters', ','.join(key.columns))} to average nothing."
    )
    choices = choices_of("repeats", {"mean": f"Average the rows of one {','.join(key.columns)[:40]}"})
    return (Finding(CHOOSE_RUNS, detail, frame.top, choices),)


def _counts_in(frame: Frame, options: ReaderOptions) -> tuple[str, ...]:
    """The counts in a file of one system, if it has no score and none is chosen."""
    names = {name.lower() for name in frame.names}
    chosen = options.score_column or options.metric or frame.find(SCORE)
    if not (frame.is_table and frame.has_header) or chosen is not None or roles.asked_beside(options):
        return ()
    return next((tuple(sorted(each)) for each, _ in COUNT_STATISTICS if each <= names), ())


def _two_files(frames: Sequence[Frame], options: ReaderOptions, notes: list[Any], format_: str) -> Reading:
    """Read scores, or counts such as id,tp,fp,fn, from one file per system."""
    counted = _counts_in(frames[0], options)
    counted = counted if _counts_in(frames[1], options) == counted else ()
    columns = [
        [str(frame.find((name,))) for name in counted] or [roles.score_of(frame, options)] for frame in frames
    ]
    readers = [
        NumberReader.of(options) if counted else frame.reader_of(named, options, notes)
        for frame, named in zip(frames, columns, strict=True)
    ]
    if readers[0].percent != readers[1].percent:
        detail = "Only one of the files has percent signs in its scores: write both in the same way."
        raise InvalidTest.at(frames[1].place(0, columns[1][0]), "percent_mismatch", detail)
    others = (roles.cluster_of, roles.slices_of, *(() if counted else (roles.weight_of, roles.system_of)))
    sides = [
        Side(
            frame,
            frozenset((*named, *(of(frame, options) for of in others), *roles.beside_of(frame, options))),
        )
        for frame, named in zip(frames, columns, strict=True)
    ]
    keys = roles.keys_of(sides, options, notes)
    clusters = [roles.cluster_of(frame, options) for frame in frames]
    for frame, key, other, named in zip(frames, keys, keys[::-1], columns, strict=True):
        likely = [name for name in frame.names if frame.has_header and name not in named]
        if not key.columns and other.columns and likely:
            why = f"{frame.source.label}: this file has no ids and the other has; both need them. "
            raise choose(frame.source.pointer, "id_column", "column of ids", likely, why, "mixed_forms")
    if not counted and (clusters[0] is None) != (clusters[1] is None):
        detail = "One file has a cluster column and the other has none."
        raise InvalidTest.at(frames[1].source.pointer, "mixed_forms", detail)
    systems, of_rows = [], list[Places]()
    for frame, key, named, reader in zip(frames, keys, columns, readers, strict=True):
        roles.note_index(frame, key, notes)
        places = replace(Places.of(frame, options), key=key)
        if counted:
            places = replace(places, key=Key(key.columns), weight=None)
        (outputs,) = outputs_of(frame, named[:1], places, reader)
        of_rows.append(places)
        systems.append(replace(outputs, values=frame.tuples(named, reader)) if counted else outputs)
    u, v = systems
    if counted:
        spec = next(spec for each, spec in COUNT_STATISTICS if each == set(counted))
        return scores_reading(
            u, v, options, notes, format_, clustered=None not in clusters, counted=counted, statistic=spec,
            more_notes=[f"The counts of an item are {', '.join(counted)}."], metric="wer" if spec.name == "ratio" else None,
        )  # fmt: skip
    names, measure = None, Measured()
    if all(frame.has_header for frame in frames):
        names = columns[0][0], columns[1][0]
        measure = measured(*names, frames[1].top, both=lambda: _of_both(frames, options, keys))
        notes += measure.notes
        if not frames[0].is_table:
            notes += [
                Remark(role, f"the score of an item is its {quoted(name)}.")
                for role, name in zip("uv", names, strict=True)
            ]
    return scores_reading(
        u, v, options, notes, format_, clustered=None not in clusters, metric=measure.metric, direction_question=measure.direction_question,
        score_names=names, findings=(*measure.findings, *runs_findings(frames[0], keys[0], options)),
        id_column=",".join(keys[0].columns) if keys[0].shown else None,
        beside=_beside([(frame, places, None) for frame, places in zip(frames, of_rows, strict=True)], options, notes),
    )  # fmt: skip


def _of_both(frames: Sequence[Frame], options: ReaderOptions, keys: Sequence[Key]) -> list[str]:
    """The columns of numbers in both files that are not keys."""
    names = [
        [name for name in roles.others_of(frame, options, key.columns) if name in frame.common and not frame.is_text(name)]
        for frame, key in zip(frames, keys, strict=True)
    ]  # fmt: skip
    return [name for name in names[1] if name in names[0]]


def _headerless(frame: Frame, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    if (
        options.clusters
        or options.id_column
        or options.score_column
        or options.metric
        or roles.asked_beside(options)
    ):
        raise InvalidTest.at(frame.source.pointer, "no_header", NO_HEADER)
    width = len(frame.names)
    if width == len(HEADERLESS_COUNTS):
        return _counts(frame, options, notes, format_)
    if width != 2:
        detail = f"{width} columns without a header are ambiguous; two are u,v, four are "
        detail += f"{','.join(HEADERLESS_COUNTS)}; otherwise add a header."
        raise frame.refused(0, "", "wrong_field_count", detail)
    notes.append("There is no header: column 1 is u and column 2 is v.")
    u, v = outputs_of(frame, frame.names, Places(Key()), frame.reader_of(frame.names, options, notes))
    return scores_reading(u, v, options, notes, format_)


def of_outcomes(frame: Frame, options: ReaderOptions, notes: list[str]) -> Frame:
    """Unroll a table of outcomes (2x2 or of frequencies) into items; return any other frame unchanged."""
    if frame.n > outcomes.MOST_ROWS or len(frame.names) > outcomes.MOST_ROWS:
        return frame
    rows = [[str(frame.cell(row, name)) for name in frame.names] for row in range(frame.n)]
    header = frame.names if frame.has_header else rows.pop(0)  # only here 0 and 1 may be names of columns
    table = mapped(lambda _: frame.top, outcomes.unrolled, header, rows, has_header=frame.has_header)
    if table is None:
        return frame
    frame.source.refuse_more(len(table.rows), options.max_items)
    notes.append(f"{frame.source.label}: {table.note}")
    made = dict(zip(table.header, map(list, zip(*table.rows, strict=True)), strict=True))
    return Frame(
        frame.source, table.header, len(table.rows), made.__getitem__, lambda row: frame.path(table.origin[row] + (not frame.has_header)), top=frame.top
    )  # fmt: skip


def _wide(frame: Frame, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    frame = of_outcomes(frame, options, notes)
    places = Places.of(frame, options)
    # Columns that are systems, whatever their names.
    chosen = [name for name in (options.system_u, options.system_v, "u", "v") if name is not None]
    taken = places.beside | {frame.find((name,)) for name in chosen} | roles.beside_of(frame, options)
    (key,) = roles.keys_of([Side(frame, taken)], options, notes)
    places = replace(places, key=key)
    roles.note_index(frame, key, notes)
    systems = _two_columns(frame, options, key, notes)
    names = systems.u, systems.v
    reader = frame.reader_of(names, options, notes)
    u, v = outputs_of(frame, names, places, reader)
    measure = measured(*names, frame.top, one_table=True, chosen=bool(options.system_u or options.system_v))
    notes += measure.notes
    return scores_reading(
        u, v, options, notes, format_, clustered=places.cluster is not None, names=systems.names, metric=measure.metric,
        role_question=systems.question, direction_question=measure.direction_question,
        findings=(*measure.findings, *runs_findings(frame, key, options), *([] if places.cluster else _runs_finding(frame, key))),
        beside=_beside([(frame, places, None)] * 2, options, notes, names),
    )  # fmt: skip


def _runs_finding(frame: Frame, key: Key) -> Iterator[Finding]:
    """The finding that rows of several runs were paired by position, since no column identifies items."""
    run = None if key.columns else frame.find(RUN)
    if run is not None and 1 < len(set(map(str, frame.column(run)))) < frame.n:
        detail = f"{quoted(run)} names the run of a row, but no column names the item: each row was taken as a separate item. Give "
        detail += f"a column of ids; or {marked('clusters', run)} to swap each {run[:40]} as a whole; or remove the column."
        yield Finding(
            CHOOSE_RUNS, detail, frame.top, choices_of("clusters", {run: f"Each {run[:40]} swaps as a whole"})
        )


def _two_columns(frame: Frame, options: ReaderOptions, key: Key, notes: list[str]) -> Systems:
    """The columns of the two systems: the chosen ones, u and v, those whose names show the candidate, or the only two of numbers.

    A column `score` beside one other column is not a pair: the other may be a latency or a length.
    """
    keys = [*key.columns, key.run or key.columns[0]] if key.columns else []
    others = roles.others_of(frame, options, keys, least=2)
    wanted = {"u": options.system_u, "v": options.system_v}
    if set(wanted.values()) != {None}:
        for role, name in wanted.items() if not frame.is_table and len(others) != 2 else ():
            if name is None or frame.find((name,)) is None:
                left = [each for each in frame.names if each not in wanted.values()]
                raise choose(frame.top, f"system_{role}", f"field of {role}", left)
        known = {folded(name) for name in others}
        if (
            any(name is not None and folded(name) not in known for name in wanted.values())
            and len(others) != 2
        ):
            others = [name for name in frame.names if name not in keys]
        return two_systems(others, options, frame.source, notes)
    if {"u", "v"} <= {name.lower() for name in others}:
        return two_systems(others, options, frame.source, notes)
    numeric = [name for name in others if not frame.is_text(name)]
    texts = [name for name in others if frame.is_text(name)]
    of_one = any(is_one_of(name, SCORE) for name in numeric) and len({folded(name) for name in numeric}) > 1
    are_counts = not frame.is_table and all(name.lower().endswith(("_u", "_v")) for name in numeric)
    many = not frame.is_table and len(numeric) != 2
    if len(numeric) < 2 and (
        systems := roles.systems_shown(frame, key.columns)
    ):  # a row for each system of an item
        raise choose(frame.top, "system_column", "column of systems", systems)
    if (of_one or are_counts or many) and (len(numeric) < 2 or by_names(numeric) is None):
        what = "column" if frame.is_table else "field"
        raise choose(frame.top, "system_u", f"{what} of u", list(frame.names))
    if len(numeric) < 2 and texts:
        detail = f"two columns of scores are needed, and {', '.join(map(quoted, texts[:NAMED]))} {'holds' if len(texts) == 1 else 'hold'} texts"
        detail += f", such as {quoted(frame.cell(0, texts[0]))}. Write scores as numbers; labels are compared with gold (`format=labels`)."
        raise frame.refused(0, texts[0], "not_a_number", detail)
    if texts:
        notes.append(f"Columns of texts are not systems and were left out: {some(texts)}.")
    return two_systems(numeric if len(numeric) > 1 else others, options, frame.source, notes)


def rows_by_system(frame: Frame, columns: Sequence[str]) -> dict[tuple[str, ...], Rows]:
    """The rows of each system of a long table, or of each data set and system, in order of first appearance."""
    texts = [frame.texts(name) for name in columns]
    codes = numbered(texts[0] if len(texts) == 1 else zip(*texts, strict=True))[0]
    order = np.argsort(codes, kind="stable")
    parts = np.split(order, np.flatnonzero(np.diff(codes[order])) + 1)
    return {tuple(column[part[0]] for column in texts): part for part in parts}


def key_of_long(
    frame: Frame, taken: frozenset[str | None], rows: Iterable[Rows], options: ReaderOptions, notes: list[str]
) -> Key:
    """The key of a long table, which must have one, as the order of rows does not pair items. Raises InvalidTest."""
    sides = [Side(frame, taken, of_system) for of_system in rows]
    (key, *_) = roles.keys_of(sides, options, notes)
    if not key.columns:
        what = "column of ids" if frame.is_table else "field of ids"
        left = [name for name in frame.names if name not in taken]
        telling = [name for name in left if all(side.is_unique((name,)) for side in sides)]
        raise choose(frame.top, "id_column", what, telling or left or list(frame.names))
    roles.note_index(frame, key, notes)
    return key


def _long(frame: Frame, system: str, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    rows = {name: both for (name,), both in rows_by_system(frame, [system]).items()}
    chosen = two_systems(list(rows), options, frame.source, notes)
    score = roles.score_of(frame, options)
    places, both = Places.of(frame, options), (rows[chosen.u], rows[chosen.v])
    taken = places.beside | {system, score} | roles.beside_of(frame, options)
    key = key_of_long(frame, taken, both, options, notes)
    places, reader = replace(places, key=key), frame.reader_of([score], options, notes)
    (u,), (v,) = (outputs_of(frame, [score], places, reader, each) for each in both)
    others = frame.n - sum(map(len, both))
    if others:
        notes.append(f"{others:,} lines of {len(rows) - 2} other systems were skipped.")
    if not frame.is_table:
        notes.append(f"The score of an item is its {quoted(score)}.")
    return scores_reading(
        u, v, options, notes, format_, clustered=places.cluster is not None, names=chosen.names, metric=metric_of(score),
        role_question=chosen.question, findings=runs_findings(frame, key, options),
        beside=_beside([(frame, places, each) for each in both], options, notes),
    )  # fmt: skip


def _counts(frame: Frame, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    if options.decimals is not None or options.system_u or options.system_v:
        raise InvalidTest.at(
            "/options", "invalid_option", "Counts are used as they are: decimals and systems do not apply."
        )
    cluster, labels, key = roles.cluster_of(frame, options), roles.slices_of(frame, options), Key()
    by_name = {name.lower(): name for name in frame.names}
    if frame.has_header:
        (key,) = roles.keys_of(
            [Side(frame, frozenset((cluster, labels)))], replace(options, on_missing="error"), notes
        )
        key = Key(key.columns)
        roles.note_index(frame, key, notes)
    else:
        by_name = dict(zip(HEADERLESS_COUNTS, frame.names, strict=True))
    known = {*key.columns, cluster, labels, frame.index}
    for name, column in by_name.items():
        other = name[:-2] + ("_v" if name.endswith("_u") else "_u")
        if column not in known and (not name.endswith(("_u", "_v")) or len(name) < 3 or other not in by_name):
            detail = f"{quoted(column)} is neither id, cluster, nor one of a pair <count>_u, <count>_v."
            raise InvalidTest.at(frame.at_top(column), "unknown_column", detail)
    names = [name[:-2] for name, column in by_name.items() if name.endswith("_u") and column not in known]
    counts = [{name: _count(frame, by_name[f"{name}_{role}"], options) for name in names} for role in "uv"]
    rows = np.arange(frame.n)
    ids = ids_of(frame, key, rows) if key.columns else None
    if ids is not None and len(set(ids)) < len(ids):
        raise _twice(frame, ids, rows, key)
    clusters = None if cluster is None else frame.texts(cluster)
    pairing = align({"/u": rows, "/v": rows}, ids=ids, clusters=clusters).pairing
    if labels is not None:
        cells = list(map(labels_in_cell, frame.column(labels)))
        slices = mapped(lambda pointer: frame.place(int(pointer[1:]), labels), slices_of, cells)
        pairing = replace(pairing, slices=slices)
    notes.append(f"{frame.n:,} items read from {frame.source.label}.")
    spec = next((spec for each, spec in COUNT_STATISTICS if each <= set(names)), StatisticSpec("expression"))
    metric = "wer" if spec.name == "ratio" else None
    data = Counts(counts[0], counts[1], pairing)
    return Reading("counts", data, spec, tuple(notes), format_, metric=metric)


def _count(frame: Frame, name: str, options: ReaderOptions) -> Column:
    """The counts in a column, shape (n,); raises InvalidTest."""
    values = frame.counts(name, NumberReader.of(options))
    if isinstance(values, list) and None in values:
        raise frame.refused(values.index(None), name, "not_a_number", "a count is missing here.")
    return mapped(
        lambda pointer: frame.place(int(pointer[1:]), name), counts, values, may_hold_booleans=False
    )


# Formats and their signs


def _sign(look: FirstLook) -> Sign:
    """The sign of a table with known columns, or with two or four numbers per line without a header."""
    columns = look.columns
    known = {"u", "v"} <= columns or {"system", "score"} <= columns or {"id", "score"} <= columns
    counted = any(name.endswith("_u") and f"{name[:-2]}_v" in columns for name in columns)
    if known or counted or ("id" in columns and len(columns) >= 3):
        return Sign.HEADER
    fields = look.table[0] if look.table else []
    # Data without names: the first line has one number, or two or four that are not separated by blanks.
    are_data = len(fields) in ({1} if look.delimiter == " " else {1, 2, 4}) and _hold_numbers(fields)
    return Sign.LINES if look.rows and (are_data or _is_table(look)) else Sign.NONE


def _is_table(look: FirstLook) -> bool:
    """Whether there is a row of names above lines with equally many fields, one column of which holds numbers."""
    names, *lines = look.table or [[]]
    quoted_names = (
        look.delimiter in {" ", "\t"} and bool(look.rows) and is_quoted(look.rows[0], look.delimiter)
    )
    if not lines or are_data(names) or (look.delimiter == " " and not quoted_names):
        return False
    width = len(lines[0])  # with row names, as R's write.table writes them
    fits = width == len(names) + (quoted_names and width > len(names))
    even = fits and all(len(line) == width for line in lines)
    return even and any(_hold_numbers(column) for column in zip(*lines, strict=True))


def _hold_numbers(fields: Sequence[str]) -> bool:
    return any(map(is_numeric, fields)) and all(is_numeric(field) or is_missing(field) for field in fields)


MQM = Format(
    "mqm", read, ROLES, OF_TABLES, "WMT's long files: system score seg_id, separated by blanks",
    kinds=("scores",), delimiter="blank",
    sign=lambda look: Sign.HEADER if look.delimiter == " " and {"system", "seg_id"} <= look.columns else Sign.NONE,
)  # fmt: skip
TSV = Format(
    "tsv", read, ROLES, OF_TABLES, "as csv, with tabs", kinds=("scores", "counts"), delimiter="tab", suffixes=(".tsv", ".tab"),
    sign=lambda look: Sign.HEADER if look.delimiter == "\t" and _sign(look) is Sign.HEADER else Sign.NONE,
)  # fmt: skip
CSV = Format(
    "csv", read, ROLES, OF_TABLES, "wide id,u,v[,cluster]; long id,system,score; 2 or 4 columns without a header",
    kinds=("scores", "counts"), sign=_sign, suffixes=(".csv", ".xlsx", ".parquet"),
)  # fmt: skip


def _sign_of_lines(look: FirstLook) -> Sign:
    array = look.is_json and look.text.lstrip().startswith("[")
    if look.record is None and holds_table(look.document):
        return Sign.SHAPE
    return Sign.LINES if array or look.record is not None else Sign.NONE


JSONL = Format(
    JSON_LINES, read, ROLES, OF_RECORDS, "JSON: lines, an array or a table inside, of {id, score}, {id, u, v} or {id, system, score}",
    kinds=("scores",), aliases=("json", "ndjson"), sign=_sign_of_lines,
)  # fmt: skip
