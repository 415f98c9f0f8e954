"""Generic delimited files: wide `id,u,v[,cluster]`, long `id,system,score[,cluster]`, and the headerless forms.

A column `weight` holds what each item counts for.

A first column without a name is an index, as pandas and R write it: the ids of the items, unless it just counts the rows.
Columns of texts are no systems.

Headerless are two columns (scores of U and V) or four (tp and incorrect of each), as the files of
rycolab/paired-perm-test, and in two files one column each. WMT's MQM scores (`system score seg_id`, separated by
blanks) are the long form.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from ...errors import InvalidTest, relocated
from ...inference.reading import Read
from ...statistics.paired import Counts, Scores, StatisticSpec
from .. import count_table, delimited
from ..alignment import align
from ..names import SYSTEM_OR_RUN
from ..quoting import quoted
from .hidden_ids import averages_row, refuse_hidden_ids
from .metrics import direction_question, metric_of, metric_of_both, metric_of_columns
from .number_text import NumberReader
from .outputs_by_id import MEAN, PAIRED_BY_ORDER, SystemOutputs, scores_reading
from .reader import ReaderOptions, Reading, choose
from .roles import both, two_systems
from .source import Source
from .table import FileTable, table, weight_column
from .table_columns import (
    alike,
    key_columns,
    reader_of,
    score_column_of,
    shared_columns,
    systems,
)

ROLES = ("u", "v", "file")
WITHOUT_IDS = (b"u,v", b"u\tv")
USES = frozenset(
    (
        "id_column", "score_column", "system_column", "system_u", "system_v", "delimiter", "clusters", "on_missing", "missing_range",
        "decimal", "decimals", "metric",
    )
)  # fmt: skip
PLAIN_DELIMITERS: Mapping[str, delimited.Delimiter] = {"csv": ",", "tsv": "\t"}
# The default statistics of known counts; other counts need a named statistic.
COUNT_STATISTICS = (
    ({"tp", "incorrect"}, StatisticSpec("f1")),
    ({"tp", "fp", "fn"}, StatisticSpec("f1")),
    ({"tp", "predicted", "gold"}, StatisticSpec("f1")),
    ({"correct", "total"}, StatisticSpec("accuracy")),
    ({"correct", "incorrect"}, StatisticSpec("accuracy")),
    ({"errors", "ref_words"}, StatisticSpec("ratio", {"numerator": "errors", "denominator": "ref_words"})),
)


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores, or counts where the columns are counts."""
    notes: list[str] = []
    first, second = both(files, format_)
    if first is not second:
        return _two_files(
            table(first, options, notes), table(second, options, notes), options, notes, format_
        )
    quick = _plain(first, options, format_)
    if quick is not None:
        return quick
    whole = table(first, options, notes)
    if whole.header is None:
        return _headerless(whole, options, notes, format_)
    if options.system_column is not None or whole.find(SYSTEM_OR_RUN) is not None:
        return _long(whole, options, notes, format_)
    folded = [name.lower() for name in whole.header]
    if any(f"{name[:-2]}_v" in folded for name in folded if name.endswith("_u") and len(name) > 2):
        return _counts(whole, folded, options, notes, format_)
    return _wide(whole, options, notes, format_)


def _plain(source: Source, options: ReaderOptions, format_: str) -> Reading | None:
    """The usual file, [id,]u,v[,cluster] without missing values or options, ten times faster; None for any other."""
    content = source.content
    if options.given() or format_ not in PLAIN_DELIMITERS or b" " in content:
        return None
    if content.count(b"\n") > options.max_items:
        return None  # the slow reader refuses it before it is read
    plain = delimited.plain_table(content, PLAIN_DELIMITERS[format_])
    if plain is None or plain.weights is not None:
        return None
    if plain.ids is None and not content.startswith(WITHOUT_IDS):
        return None
    try:
        columns = {"/u": plain.u, "/v": plain.v}
        pairing = align(columns, ids=plain.ids, clusters=plain.clusters).pairing
    except InvalidTest:
        return None  # the slow reader names the line
    read = [Read(role, len(plain.u), source.label, source.name[:80]) for role in ("u", "v")]
    notes = (*(() if plain.ids is not None else (PAIRED_BY_ORDER,)), *read)
    pairing = replace(pairing, matched=len(plain.u))
    return Reading("scores", Scores(plain.u, plain.v, pairing), MEAN, notes, format_)


def outputs_of(
    data: FileTable,
    value: int,
    options: ReaderOptions,
    number_reader: NumberReader,
    rows: list[int] | None = None,
) -> tuple[SystemOutputs, bool]:
    """One system's values in column `value` of these rows (all when None), and whether items have clusters."""
    key, cluster = key_columns(data, options)
    weight = weight_column(data, options)
    if key is None:
        _refuse_summary(data, value, cluster)
    outputs = SystemOutputs(data.source, by_order=key is None)
    for count, index in enumerate(range(len(data.rows)) if rows is None else rows):
        row = data.rows[index]
        number = number_reader.plain_text(row[value])
        outputs.add(
            str(count) if key is None else row[key].strip(),
            number if number is not None else number_reader.of_text(row[value], data.pointer(index, value)),
            f"line/{data.lines[index]}",
            None if cluster is None else row[cluster].strip(),
            None if weight is None else _weight(row[weight].strip(), number_reader),
        )
    return outputs, cluster is not None


def _weight(text: str, number_reader: NumberReader) -> str:
    """A weight as `weights_of` reads it; where its column is written as the scores are."""
    return text.replace(",", ".", 1) if number_reader.comma and "." not in text else text


def _refuse_summary(data: FileTable, value: int, cluster: int | None) -> None:
    """Refuse a row of averages if there is no column of ids: it would be paired by order, as an item.

    Raises
    ------
    InvalidTest
        The first or the last row is named `mean`, `total` or the like, in a column where no other row is.
    """
    for column, name in enumerate(data.header or []):
        row = None if column in (value, cluster) else averages_row(data.column(column))
        if row is not None:
            detail = f"the column {quoted(name)} says {quoted(data.rows[row][column])} here: a row of averages or totals is not an item. "
            detail += f"Remove it; or give id_column={name[:40]}, if it is an item."
            raise data.source.refused(data.lines[row], "summary_row", detail, column + 1)


def _two_files(
    first: FileTable, second: FileTable, options: ReaderOptions, notes: list[str], format_: str
) -> Reading:
    first, second = alike(first, second, options)
    values = score_column_of(first, options), score_column_of(second, options)
    readers = [
        reader_of(data, [value], options, notes) for data, value in zip((first, second), values, strict=True)
    ]
    if readers[0].percent != readers[1].percent:
        detail = (
            "The scores of one file have percent signs and those of the other have none: write both alike."
        )
        raise InvalidTest.at(second.pointer(0, values[1]), "percent_mismatch", detail)
    u, clustered_u = outputs_of(first, values[0], options, readers[0])
    v, clustered_v = outputs_of(second, values[1], options, readers[1])
    if clustered_u != clustered_v:
        detail = "One file has a cluster column and the other has none."
        raise InvalidTest.at(second.source.pointer, "mixed_forms", detail)
    if u.by_order and v.by_order:
        refuse_hidden_ids(shared_columns(first, second, values), second.source.line(1))
    metric = question = names = None
    if first.header is not None and second.header is not None:
        names = first.header[values[0]], second.header[values[1]]
        metric = metric_of_both(*names, second.source.line(1))
        question = direction_question(*names)
    return scores_reading(
        u, v, options, notes, format_, clustered=clustered_u, metric=metric, direction_question=question,
        score_names=names,
    )  # fmt: skip


def _headerless(data: FileTable, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    if options.clusters or options.id_column or options.score_column or options.metric:
        raise InvalidTest.at(data.source.pointer, "no_header", "There is no header to find that column in.")
    width = len(data.rows[0])
    if width == 4:
        return _counts(data, count_table.HEADERLESS, options, notes, format_)
    if width != 2:
        detail = f"{width} columns without a header are ambiguous; two are u,v, four are "
        detail += f"{','.join(count_table.HEADERLESS)}; otherwise add a header."
        raise data.source.refused(data.lines[0], "wrong_field_count", detail)
    notes.append("There is no header: column 1 is u and column 2 is v.")
    reader = reader_of(data, (0, 1), options, notes)
    u, v = (outputs_of(data, column, options, reader)[0] for column in (0, 1))
    return scores_reading(u, v, options, notes, format_)


def _wide(data: FileTable, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    chosen = two_systems(systems(data, options, notes), options, data.source, notes)
    names = chosen.u, chosen.v
    columns = [data.position(name, f"system_{role}") for name, role in zip(names, "uv", strict=True)]
    reader = reader_of(data, columns, options, notes)
    u, clustered = outputs_of(data, columns[0], options, reader)
    v, _ = outputs_of(data, columns[1], options, reader)
    return scores_reading(
        u, v, options, notes, format_, clustered=clustered, names=chosen.names, metric=metric_of_columns(names),
        role_question=chosen.question, direction_question=direction_question(*names),
    )  # fmt: skip


def _long(data: FileTable, options: ReaderOptions, notes: list[str], format_: str) -> Reading:
    column = data.find(SYSTEM_OR_RUN)
    if options.system_column is not None:
        column = data.position(options.system_column, "system_column")
    assert column is not None
    if key_columns(data, options)[0] is None:
        raise choose(data.source.line(1), "id_column", "column of ids", data.header or [])
    rows: dict[str, list[int]] = {}
    for number, row in enumerate(data.rows):
        rows.setdefault(row[column].strip(), []).append(number)
    chosen = two_systems(list(rows), options, data.source, notes)
    names = chosen.u, chosen.v
    value = score_column_of(data, options)
    reader = reader_of(data, [value], options, notes)
    u, clustered = outputs_of(data, value, options, reader, rows[names[0]])
    v, _ = outputs_of(data, value, options, reader, rows[names[1]])
    others = len(data.rows) - len(u) - len(v)
    if others:
        notes.append(f"{others:,} lines of {len(rows) - 2} other systems were skipped.")
    metric = None if data.header is None else metric_of(data.header[value])
    return scores_reading(
        u, v, options, notes, format_, clustered=clustered, names=chosen.names, metric=metric,
        role_question=chosen.question,
    )  # fmt: skip


def _counts(
    data: FileTable, names: list[str], options: ReaderOptions, notes: list[str], format_: str
) -> Reading:
    if options.decimals is not None or options.system_u or options.system_v:
        raise InvalidTest.at(
            "/options", "invalid_option", "Counts are used as they are: decimals and systems do not apply."
        )
    try:
        with relocated(lambda pointer: data.source.pointer + pointer):
            counted = count_table.from_rows(names, list(zip(data.lines, data.rows, strict=True)))
            sides = {f"/u/{name}": column for name, column in counted.u.items()}
            sides |= {f"/v/{name}": column for name, column in counted.v.items()}
            pairing = align(sides, ids=counted.ids, clusters=counted.clusters).pairing
    except InvalidTest as error:
        flaw = error.flaws[0]
        if flaw.pointer.startswith(f"{data.source.pointer}/ids/"):
            line = data.lines[int(flaw.pointer.rpartition("/")[2])]
            raise data.source.refused(line, flaw.code, flaw.detail) from None
        raise
    notes.append(f"{len(data.rows):,} items read from {data.source.label}.")
    spec = next(
        (spec for names_, spec in COUNT_STATISTICS if names_ <= set(counted.u)), StatisticSpec("expression")
    )
    metric = "wer" if spec.name == "ratio" else None
    return Reading(
        "counts", Counts(counted.u, counted.v, pairing), spec, tuple(notes), format_, metric=metric
    )
