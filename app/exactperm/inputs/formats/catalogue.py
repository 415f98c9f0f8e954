"""List all formats by name, and read uploaded files with the right one."""

from __future__ import annotations

import difflib
import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from operator import itemgetter

from ...answers.reading import Guessed
from ...errors import InvalidTest, choices_of, marked
from ...statistics.catalogue import STATISTICS
from ...statistics.names import of_name
from ...statistics.paired import Predictions, Scores
from ...statistics.pairwise.data import PAIRWISE
from ..alignment import BOUNDS
from ..format import FirstLook, Format, Sign
from ..options import CORRECTIONS
from ..outcomes import refuse_metrics_for_ids
from ..quoting import quoted
from ..reader import UTF8_BOM, Kind, ReaderOptions, Reading, Source, UploadedFile, no_bounds, sources
from . import asr, beside_gold, conll, labels, mt, numpy_files, sample_logs, tables, tasks, tool_shapes, trec
from .eval_logs import LOGS
from .roles import only
from .workbook import as_text

AUTO = "auto"
NAMED = 8  # formats in a sentence
MARKDOWN_RULE = re.compile(r"[|\s:-]*-[|\s:-]*")
ZERO = "zero"
# The titles of the kinds of data in files; statistics are grouped by them.
KINDS: Mapping[Kind, str] = {
    "scores": "Scores, one number per item",
    "counts": "Counts per item",
    "predictions": "Labels and tags, with gold",
    "segments": "Translations, with references",
}
# In the order in which they are listed; among equal signs the first wins.
_ALL: tuple[Format, ...] = (
    asr.FORMAT, mt.COUNTS, beside_gold.OF_LABELS, mt.METRICS, beside_gold.OF_SCORES,
    tables.MQM, tables.TSV, tables.CSV, tables.JSONL,
    tool_shapes.JSON_OBJECT.format, numpy_files.FORMAT, sample_logs.LM_EVAL,
    *(shape.format for shape in (sample_logs.INSPECT, *LOGS, *tool_shapes.SHAPES)),
    conll.CONLLU, conll.CONLL, trec.FORMAT, mt.FAIRSEQ, mt.TEXTS,
)  # fmt: skip
FORMATS: Mapping[str, Format] = {format_.name: format_ for format_ in _ALL}
if len(FORMATS) < len(_ALL):
    _twice = next(name for name in FORMATS if sum(format_.name == name for format_ in _ALL) > 1)
    raise TypeError(f"Two formats are called {_twice}: an installed package has one of that name.")
ALIASES: Mapping[str, str] = {alias: format_.name for format_ in _ALL for alias in format_.aliases}
# Options that only tables have.
TABLE_OPTIONS = frozenset(("decimal", "delimiter", "id_column", "score_column", "system_column"))
# Statistics of one label per item.
OF_LABELS = frozenset(
    entry.name
    for entry in STATISTICS["predictions"]
    if not {"tags", "rankings"} & set(entry.data) or "labels" in entry.data
)
RANKED, LABELLED = beside_gold.OF_SCORES.name, beside_gold.OF_LABELS.name
# Formats of a table or of lines that may have a column of gold.
TABLES = frozenset(("csv", "tsv", "jsonl"))
# `statistic` may also name the statistic to compute, which readers do not check.
ALWAYS = frozenset(("sheet", "statistic"))


def read(files: Mapping[str, UploadedFile], format_: str, options: ReaderOptions) -> Reading:
    """Read files by role (`u`, `v`, `gold`, `ref`, `qrels`, `documents`, or `file` for both systems in one).

    Raises MalformedBody, and InvalidTest (also if the caller must choose); at `/files/<role>/…` and `/options/<name>`.
    """
    if not files:
        raise InvalidTest.at("/files", "missing_file", "There are no files; give u and v, or one file.")
    if any(file.parts for file in files.values()):
        return _read_several(files, format_, options)
    by_role, sheets = as_text(sources(files), options)
    name, guessed_by = format_of(by_role, format_, options)
    if guessed_by is None and "file" in by_role and by_role["file"].is_body:
        _refuse_ambiguous(
            FirstLook(by_role), name, options
        )  # a content type does not choose between labels and scores
    reader = FORMATS[name]
    only(by_role, reader.roles, name)
    refuse_unused(sorted(options.given()), reader.uses | ALWAYS, name)
    if options.on_missing == ZERO and not reader.zero:
        detail = f"The format {name} does not count missing items as 0; only trec (as trec_eval -c) and inspect do. Set `on_missing=drop`, or add them."
        raise InvalidTest.at("/options/on_missing", "no_zero", detail)
    if options.delimiter is None and reader.delimiter is not None:
        options = replace(options, delimiter=reader.delimiter)
    if guessed_by is not None and name == mt.TEXTS.name and options.statistic is None:
        mt.refuse_transcripts(by_role)
    reading = reader.read(by_role, options, name)
    if guessed_by is not None and may_be_either(guessed_by.name, name, options):
        assert isinstance(reading.data, Predictions)
        columns = dict(zip(reading.names or ("u", "v"), (reading.data.u, reading.data.v), strict=True))
        labels.refuse_untold(reading.default_statistic, reading.data.gold, columns)
    if options.on_missing == BOUNDS and not isinstance(reading.data, Scores):
        raise no_bounds()
    if "u" in by_role and "v" in by_role:
        reading = replace(reading, file_names=(by_role["u"].name, by_role["v"].name))
    if sheets:
        reading = replace(reading, facts=(*sheets, *reading.facts))
    if guessed_by is None:
        return reading
    guessed = Guessed(guessed_by.looked_at, name, reader.summary)
    return replace(reading, guessed=True, facts=(guessed, *reading.facts))


def format_of(
    by_role: Mapping[str, Source], format_: str, options: ReaderOptions
) -> tuple[str, Guess | None]:
    """The name of the format, and the guess if it was guessed; raises InvalidTest if no format fits."""
    name = ALIASES.get(format_.lower(), format_.lower())
    by_look = None
    if name == AUTO:
        for source in by_role.values():
            if not source.content.removeprefix(UTF8_BOM):
                raise source.empty()
        by_look = guess(by_role, options)
        name = _beside_gold(by_look.name, by_look.look, options)
    if name not in FORMATS:
        near = difflib.get_close_matches(name, [*FORMATS, *ALIASES], 2)
        meant = " or ".join(marked("format", one) for one in near)
        ways = f"did you mean {meant}?" if near else f"there are {_some([AUTO, *FORMATS])}."
        detail = f"There is no format {quoted(format_)}; {ways}"
        raise InvalidTest.at("/options/format", "unknown_format", detail)
    return name, by_look


def _refuse_ambiguous(look: FirstLook, name: str, options: ReaderOptions) -> None:
    """Refuse a table that may hold labels or scores, unless an option decides."""
    if name in TABLES and not options.given() & {"gold_column", "statistic", *CORRECTIONS}:
        labels.refuse_ambiguous(look, name, {options.system_u, options.system_v} - {None})


def _read_several(files: Mapping[str, UploadedFile], format_: str, options: ReaderOptions) -> Reading:
    """Read systems that have a file for each task."""
    some = {role: file.parts[0] if file.parts else file for role, file in files.items()}
    one_each, _ = as_text(sources(some), options)
    name, _ = format_of(one_each, format_, options)
    if not FORMATS[name].several:
        role = next(role for role, file in files.items() if file.parts)
        detail = (
            f"The format {name} takes one file {role}: it compares items within a file, and not over several."
        )
        raise InvalidTest.at(f"/files/{role}", "several_files", detail)

    def read_single(task_files: Mapping[str, UploadedFile], chosen: ReaderOptions) -> Reading:
        return read(task_files, format_, chosen)

    if tasks.are_runs(files, options):
        return tasks.read_runs(files, options, read_single)
    return tasks.read(files, options, read_single, drops="on_missing" in FORMATS[name].uses)


def _beside_gold(guessed: str, look: FirstLook, options: ReaderOptions) -> str:
    """The guessed format, or that of scores or labels with gold if a table may have gold and its column or the statistic is named."""
    if guessed not in {RANKED, LABELLED, *TABLES}:
        return guessed
    named = guessed in TABLES and options.given() & {"gold_column", "event_column"}
    may_hold_gold = named or guessed not in TABLES or labels.has_gold(look)
    may_hold_gold = may_hold_gold or ("file" in look.roles and not labels.has_counts(look))
    by_statistic = format_by_statistic(options.statistic) if may_hold_gold else None
    return by_statistic or (RANKED if named else guessed)


def may_be_either(guessed: str, name: str, options: ReaderOptions) -> bool:
    """Whether only the column of gold indicated that a table has scores, so that they may be labels."""
    return name == RANKED and guessed in TABLES and options.statistic is None


def format_by_statistic(statistic: str | None) -> str | None:
    """The format of scores or of labels with gold, by what the statistic compares; None for other statistics."""
    if statistic in PAIRWISE:
        return RANKED
    return LABELLED if statistic in OF_LABELS else None


@dataclass(frozen=True, slots=True)
class Guess:
    """The name of a format, and the evidence for it."""

    name: str
    look: FirstLook
    looked_at: str = "the files' first bytes"


def _beside_gold_file(options: ReaderOptions) -> str:
    """The format of files u and v with a file gold, by what the statistic compares; raises InvalidTest."""
    format_ = format_by_statistic(options.statistic)
    if format_ is None:
        detail = (
            "Predictions and gold have a file each, and nothing says how they are compared: give the statistic, such as "
            "`statistic=auc` of scores, or `statistic=accuracy` of labels."
        )
        titles = {"auc": "Scores, the higher for the label 1", "accuracy": "Labels, right or wrong"}
        choices = choices_of("statistic", titles)
        raise InvalidTest.at("/options/statistic", "choose_statistic", detail, choices)
    return format_


def guess(files: Mapping[str, Source], options: ReaderOptions) -> Guess:
    """Guess the format by the strongest sign in the files' first bytes, by file names, or by options of tables; raises InvalidTest.

    A format that does not take these roles is the last choice, since its refusal is more specific.
    """
    look = FirstLook(files)
    if len(look.rows) > 1 and look.rows[0].lstrip().startswith("|") and MARKDOWN_RULE.fullmatch(look.rows[1]):
        detail = "this is a Markdown table. Save it as CSV: a comma between columns, no line of dashes, no bold numbers."
        raise look.source.refused("", "markdown_table", detail)
    beside = options.given() & set(CORRECTIONS)  # a column called human is no gold then
    fitting = [format_ for format_ in _ALL if look.roles <= set(format_.roles) and beside <= format_.uses]
    best, sign = _strongest(fitting or _ALL, look)
    _refuse_ambiguous(look, best.name, options)
    if sign is not Sign.NONE:
        return Guess(best.name, look)
    is_text = not look.is_archive and not look.is_json
    if is_text and not look.text.strip():
        raise look.source.empty()
    for format_ in fitting if is_text else ():
        if look.name.endswith(format_.suffixes):
            return Guess(format_.name, look, "the name of a file")
    table_options = sorted(options.given() & TABLE_OPTIONS)
    table = tables.TSV if look.delimiter == "\t" else tables.CSV
    if is_text and table_options and table in fitting:
        return Guess(table.name, look, f"the option {table_options[0]}")
    best, sign = _strongest(_ALL, look)
    if sign is not Sign.NONE:
        of_gold = best.name in TABLES and look.roles == {"u", "v", "gold"}
        return Guess(_beside_gold_file(options) if of_gold else best.name, look)
    # A JSON object of numbers named after metrics, such as sacreBLEU and evaluate write.
    numbers = [name for name, value in look.whole.items() if type(value) in (int, float)]
    metrics = [name for name in (*numbers, str(look.whole.get("name"))) if of_name(name) is not None]
    refuse_metrics_for_ids(metrics if numbers else [], look.source.pointer, f"{look.source.label}: ")
    alike = [each for each in fitting if look.is_json == any("json" in suffix for suffix in each.suffixes)]
    likely = [each.name for each in alike or fitting or _ALL]
    detail = f"{look.source.label}: neither the first bytes nor the file name show the format; name it with `format`, such as {_some(likely)}."
    raise InvalidTest.at("/options/format", "unknown_format", detail)


def _strongest(formats: Sequence[Format], look: FirstLook) -> tuple[Format, Sign]:
    """The format with the strongest sign, the first of several, and the sign."""
    return max(((format_, format_.sign(look)) for format_ in formats), key=itemgetter(1))


def _some(names: Sequence[str]) -> str:
    """A few names of formats, tables first, and where to find the others."""
    first, more = sorted(names, key=lambda name: name not in {AUTO, *TABLES}), len(names) - NAMED
    return ", ".join(first[:NAMED]) + (f" and {more} more, which docs/files.md lists" if more > 0 else "")


def refuse_unused(option_names: Iterable[str], uses: Collection[str], name: str) -> None:
    """Refuse the first option that a format does not use; raises InvalidTest at `/options/<name>`."""
    for option in option_names:
        if option not in uses:
            detail = f"The format {name} does not use {marked(option)}; it uses: {', '.join(map(marked, sorted(uses)))}."
            raise InvalidTest.at(f"/options/{option}", "unused_option", detail)
