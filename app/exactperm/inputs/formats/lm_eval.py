"""Sample logs of lm-evaluation-harness (`--log_samples`): one JSON object a document and filter.

Every metric is a key of the object; its key is (doc_id, filter), as one file is one task. The file is opened for
appending by the harness, so a key may be there twice after a second run. (lm_eval/evaluator.py,
lm_eval/loggers/evaluation_tracker.py.)

`word_perplexity`, `byte_perplexity` and `bits_per_byte` hold the document's log-likelihood and its number of words or bytes;
the metric is exp of minus their ratio over all documents (bits per byte: the ratio over ln 2). `perplexity` holds the
log-likelihood alone, and is exp of minus its mean. Words and bytes are those of the same texts, so that swapping two
systems' outputs leaves the sum of both totals as it is: the p-value of the total log-likelihood is that of the
perplexity. What is read is minus the log-likelihood in nats, as it is written. IFEval's `inst_level_*` hold a list of booleans;
the metric is the share of true over all instructions. (lm_eval/api/task.py, process_results; lm_eval/api/metrics.py,
weighted_perplexity, bits_per_byte; lm_eval/tasks/ifeval/utils.py, agg_inst_level_acc.)
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from ...answers.reading import Remark
from ...errors import Choice, InvalidTest
from ...statistics.paired import StatisticSpec
from ..quoting import escaped, quoted
from .eval_logs import one_of
from .file_names import task_in
from .format import FirstLook, Format, Sign
from .json_records import cluster_of, key_of, lines_of
from .metrics import measured, metric_of
from .number_text import NumberReader
from .reader import ReaderOptions, Reading, choose
from .roles import both
from .shapes import DESCRIBED, Object, Row, Rows, metric_chosen, reading
from .source import Source, parsed_once

MARKS = ("filter", "doc_hash", "filtered_resps")  # beside doc_id; or a list of metrics
NO_FILTER = "none"
UNITS = {"word_perplexity": "words", "byte_perplexity": "bytes", "bits_per_byte": "bytes"}
PERPLEXITY = "perplexity"
NLL = "nll"  # negative log-likelihood
OF_LIKELIHOODS = (
    "A document's score is minus its log-likelihood, in nats. Both systems' texts are the same, so that the p-value is that of "
    "the perplexity as well."
)
RIGHT_OF = ("right", "instructions")
RATIO = StatisticSpec("ratio", {"numerator": RIGHT_OF[0], "denominator": RIGHT_OF[1]})
OF_LISTS = (
    "A document has a list of right and wrong; the statistic is the share of right over all instructions."
)


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Scores of two models on one task, or of two filters of one model."""
    notes: list[Any] = []
    first, second = both(files, format_)
    filters, (u, v) = zip(*(
        _rows(source, role, options, notes) for source, role in ((first, "u"), (second, "v"))
    ), strict=True)  # fmt: skip
    if first is second and filters[0] == filters[1] and options.metric_u == options.metric_v:
        why = "One file is compared with itself only by two filters (or by `metric_u` and `metric_v`). "
        what = "two filters, u's and, with `filter_v`, v's"
        raise choose(first.pointer, "filter_u", what, [filters[0]], why, values=())
    if filters[0] != filters[1] and not (options.filter_u and options.filter_v):
        detail = f"u has the filter {quoted(filters[0])} and v has {quoted(filters[1])}; give `filter_u` and `filter_v` if this is intended."
        chosen = {"filter_u": filters[0], "filter_v": filters[1]}
        choices = (Choice(f"{filters[0]} against {filters[1]}", chosen),)
        raise InvalidTest.at(v.source.pointer, "filter_mismatch", detail, choices)
    metrics = _metrics(u, v, options)
    named = escaped(metrics[0]) if metrics[0] == metrics[1] else " and ".join(map(escaped, metrics))
    notes.append(f"The metric is {named}; the filters are {filters[0][:40]} (u) and {filters[1][:40]} (v).")
    prompts = [{row.key: row.values.get("prompt_hash") for row in table.rows} for table in (u, v)]
    differ = sum(prompts[1].get(key, value) != value for key, value in prompts[0].items())
    u.notes = (f"The prompts of {differ:,} documents differ between u and v.",) if differ else ()
    names = None if first is not second else filters if filters[0] != filters[1] else metrics
    special = _kind(metrics[0], u.rows[0]) if metrics[0] == metrics[1] else None
    known: Object = {"metric": metric_of(metrics[0]), "higher_is_better": _direction(u, metrics[0])}
    if special == NLL:
        for table in (u, v):
            _read_likelihoods(table, metrics[0], options, notes)
        known = {"metric": NLL, "higher_is_better": False}
    elif special is not None:
        for table in (u, v):
            _read_shares(table, metrics[0])
        known = {"metric": metrics[0], "higher_is_better": True, "counted": RIGHT_OF, "statistic": RATIO}
    elif metrics[0] != metrics[1]:  # chosen so, by metric_u and metric_v
        said = measured(*metrics, v.source.pointer, chosen=True)
        known = {"metric": said.metric, "direction_question": said.direction_question}
    for table, metric in zip((u, v), metrics, strict=True):
        for row in table.rows:
            if metric not in row.values:
                raise table.source.refused(
                    row.path, "missing_field", f"there is no {escaped(metric)}.", metric
                )
    return reading(u, v, (u.rows, v.rows), metrics, options, notes, format_, names=names, **known)


def _rows(source: Source, role: str, options: ReaderOptions, notes: list[Any]) -> tuple[str, Rows]:
    """The filter that was chosen, or the only one there is, and its documents."""
    wanted = getattr(options, f"filter_{role}") or options.filter
    by_filter = _by_filter(source, notes)
    option = "filter" if wanted is None or options.filter is not None else f"filter_{role}"
    chosen, records = one_of(source, by_filter, wanted, option, "filter", notes)
    # Older logs have no hashes.
    described = [
        name for name in ("doc", "target") if not any(f"{name}_hash" in value for _, value in records)
    ]
    rows = [
        Row(
            key_of(value["doc_id"], source, path, "doc_id"), value, path, runs=_repeats(value),
            cluster=cluster_of(options.clusters, source, path, value, "", "doc"), context={name: value.get(name) for name in described},
            same={name: (value.get(name), f"{path}/{name}") for name in ("doc_hash", "target_hash")},
        )
        for path, value in records
    ]  # fmt: skip
    first = rows[0]
    listed = first.values.get("metrics")
    names = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
    usable = [
        name for name in names if not isinstance(first.values.get(name), list | dict) or _kind(name, first)
    ]
    table = Rows(source, rows, task=task_in(source.name), called="", of_corpus=True, at_rows=True)
    numbers = [  # lmms-eval and old logs do not list their metrics
        name for name, value in first.values.items()
        if name not in ("doc_id", "target") and (isinstance(value, int | float) or _kind(name, first))
    ]  # fmt: skip
    table.metrics = usable or (numbers or list(first.values) if not names else [])
    if usable and all(name in UNITS for name in usable):
        table.metric = usable[0]  # all are the same log-likelihoods
    return chosen, table


@parsed_once
def _by_filter(source: Source, notes: list[Any]) -> dict[str, list[tuple[str, Object]]]:
    by_filter: dict[str, list[tuple[str, Object]]] = {}
    for path, value in lines_of(source, source.lines(notes)):
        if "doc_id" not in value:
            raise source.refused(path, "missing_field", "there is no doc_id; is this a sample log?", "doc_id")
        by_filter.setdefault(str(value.get("filter", NO_FILTER)), []).append((path, value))
    return by_filter


def _repeats(record: Object) -> int:
    """How often the document was answered: a list for each request, which majorities and pass@k are taken of."""
    requests = record.get("resps")
    answers = requests[0] if isinstance(requests, list) and requests else None
    return len(answers) if isinstance(answers, list) else 1


def _metrics(u: Rows, v: Rows, options: ReaderOptions) -> tuple[str, str]:
    """The metrics chosen for u and v, or the only one that is a number of the item."""
    if options.metric_u is None and options.metric_v is None:
        metric = metric_chosen(u, options)
        return metric, metric_chosen(v, replace(options, metric=metric))
    chosen: list[str] = []
    for table, role, wanted in ((u, "u", options.metric_u), (v, "v", options.metric_v)):
        if wanted is None and options.metric is None:
            raise choose(table.source.pointer, f"metric_{role}", f"metric of {role}", table.names)
        chosen.append(metric_chosen(table, replace(options, metric=wanted or options.metric)))
    for table, metric in zip((u, v), chosen, strict=True):
        if chosen[0] != chosen[1] and _kind(metric, table.rows[0]):
            detail = f"{escaped(metric)} is compared with itself alone."
            raise table.source.refused(table.rows[0].path, "metric_mismatch", detail, metric)
    return chosen[0], chosen[1]


def _direction(table: Rows, metric: str) -> bool | None:
    """The direction of a metric if the log has it, as `higher_is_better` of the harness's results; most do not."""
    direction = table.rows[0].values.get("higher_is_better")
    direction = direction.get(metric) if isinstance(direction, dict) else direction
    return direction if isinstance(direction, bool) else None


def _kind(metric: str, row: Row) -> str | None:
    """Why the values of a metric are not scores of documents: they are log-likelihoods, or lists of right and wrong."""
    value = row.values.get(metric)
    if (metric in UNITS and isinstance(value, list)) or (
        metric == PERPLEXITY and not isinstance(value, list | dict)
    ):
        return NLL
    return RIGHT_OF[0] if _are_booleans(value) else None


def _are_booleans(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(one, bool) for one in value)


def _read_likelihoods(table: Rows, metric: str, options: ReaderOptions, notes: list[Any]) -> None:
    """Take minus the log-likelihoods for the values, and note the metric itself, of all documents; raises InvalidTest."""
    source, reader, known = table.source, NumberReader.of(options), []
    for index, row in enumerate(table.rows):
        likelihood, units = row.values.get(metric), 1
        if metric in UNITS:
            if not isinstance(likelihood, list) or len(likelihood) != 2:
                detail = f"{metric} is not a log-likelihood and a number of {UNITS[metric]}."
                raise source.refused(row.path, "not_a_likelihood", detail, metric)
            likelihood, units = likelihood
        if type(units) is not int or not 0 < units < 2**53:
            detail = f"the number of {UNITS[metric]} is not a positive integer."
            raise source.refused(row.path, "not_a_count", detail, metric, 1)
        is_truth = isinstance(likelihood, bool)
        number = None if is_truth else reader.of_json(likelihood, f"{source.pointer}/{row.path}/{metric}")
        if is_truth or (number is not None and number > 0):
            detail = "a log-likelihood is not above 0; this is none, so that its direction is not known."
            raise source.refused(row.path, "not_a_likelihood", detail, metric)
        if number is not None:
            known.append((0 - number, units))
        value = None if number is None else 0 - number
        # Words or bytes, which are those of the text.
        same = {**row.same, "text": (units, row.path)}
        table.rows[index] = row._replace(values={metric: value}, same=same)
    total, size = math.fsum(value for value, _ in known), sum(units for _, units in known)
    mean = total / size if size else math.nan
    written = f"{math.exp(mean):.6g}" if mean < 700 else f"exp({mean:.6g})"
    if metric == "bits_per_byte":
        written = f"{mean / math.log(2):.6g}"
    notes.append(Remark(source.role, f"{metric} {written}, over {size:,} {UNITS.get(metric, 'documents')}."))
    table.notes += (OF_LIKELIHOODS,)


def _read_shares(table: Rows, metric: str) -> None:
    """Take how many are right, and of how many, for the values; raises InvalidTest where one is no list of booleans."""
    for index, row in enumerate(table.rows):
        value: Any = row.values.get(metric)
        if not _are_booleans(value):
            detail = "the value is no list of true and false, as that of the first document is."
            raise table.source.refused(row.path, "not_booleans", detail)
        same = {**row.same, RIGHT_OF[1]: (len(value), f"{row.path}/{RIGHT_OF[1]}")}
        table.rows[index] = row._replace(values={metric: (sum(value), len(value))}, same=same)
    table.notes += (OF_LISTS,)


def _sign(look: FirstLook) -> Sign:
    record = look.record or {}
    marked = any(mark in record for mark in MARKS) or isinstance(record.get("metrics"), list)
    return Sign.MARK if "doc_id" in record and marked else Sign.NONE


FORMAT = Format(
    "lm-eval", read, ("u", "v", "file"), DESCRIBED | {"filter", "filter_u", "filter_v", "metric_u", "metric_v", "clusters"},
    "lm-evaluation-harness --log_samples", kinds=("scores",), aliases=("lm-eval-harness", "lm-evaluation-harness"), sign=_sign,
)  # fmt: skip
