"""Read sample logs of lm-evaluation-harness (`--log_samples`), with one JSON object per document and filter, and logs of Inspect.

In a log of the harness every metric is a member of the object, which is identified by (doc_id, filter), as one file is one task. The
harness appends to the file, so a second run repeats keys. (lm_eval/evaluator.py, lm_eval/loggers/evaluation_tracker.py.)

`word_perplexity`, `byte_perplexity` and `bits_per_byte` hold the document's log-likelihood and its number of words or bytes; the metric is
exp of minus their ratio over all documents (bits per byte: the ratio over ln 2). `perplexity` holds the log-likelihood alone, and is exp of
minus its mean. Both systems have the same words or bytes, so swapping outputs does not change them: the p-value of the total log-likelihood
is that of the perplexity. The score is minus the log-likelihood in nats, as written. IFEval's `inst_level_*` hold a list of booleans; the
metric is the share of true values over all instructions. (lm_eval/api/task.py, process_results; lm_eval/api/metrics.py,
weighted_perplexity, bits_per_byte; lm_eval/tasks/ifeval/utils.py, agg_inst_level_acc.)
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any

from ...answers.reading import Remark
from ...errors import BodyTooLarge, Choice, InvalidTest
from ...statistics.paired import StatisticSpec
from .. import json_text
from ..encodings import Archive
from ..format import FirstLook, Format, Sign
from ..json_records import cluster_of, key_of, lines_of, slices_in
from ..number_text import Number, NumberReader, parsed
from ..quoting import escaped, quoted
from ..reader import ZIP_MAGIC, ReaderOptions, Reading, Source, choose, only_or_chosen, parsed_once
from .eval_logs import chosen_group
from .roles import both, measured, metric_of
from .shapes import DESCRIBED, Files, Object, Row, Rows, Shape, metric_chosen, reading, refuse_incomplete
from .tasks import task_in

# Inspect: the `.json` form, one EvalLog object, and the `.eval` form, a zip archive of which only the header and the summaries are read.
# Letters score as in Inspect's accuracy(), C 1, I 0, P 1/2, except that N (no answer) is missing; Inspect counts it as 0, as on_missing
# zero does here. (inspect_ai/log/_log.py, log/_recorders/eval.py, scorer/_metric.py.)

HEADER = "header.json"
SUMMARIES = "summaries.json"
SAMPLES = "samples/"
MAX_MEMBERS = 1_000_000
LETTERS: Mapping[str, Number] = {"C": 1, "I": 0, "P": 0.5}
WORDS: Mapping[str, Number] = {"yes": 1, "true": 1, "no": 0, "false": 0}  # as Inspect's value_to_float
NO_ANSWER, ZERO = "N", "zero"
EACH_EPOCH = Choice(
    "Pair epoch by epoch; a sample's epochs swap as a whole", {"reduce_epochs": "none", "on_missing": "drop"}
)


def _scores_of(sample: Object) -> Object:
    """The scores of a sample by scorer; very early logs have one without a name."""
    by_scorer, single = sample.get("scores"), sample.get("score")
    if isinstance(by_scorer, dict):
        return by_scorer
    return {"score": single} if isinstance(single, dict) else {}


def _inspect_rows(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    header, samples = load(source, options.max_inflated_bytes, notes)
    status, about = str(header.get("status", "unknown")), header["eval"]
    if status != "success":
        why = f"the status of this log is {quoted(status)}, not success"
        refuse_incomplete(source, why, options, notes, "status")
    if not samples:
        raise source.empty()
    scorers = list(dict.fromkeys(name for _, sample in samples for name in _scores_of(sample)))
    if not scorers:
        detail = "no sample of this log has a score. Score it first (inspect score)."
        raise source.refused(samples[0][0], "unscored", detail, "scores")
    scorer = only_or_chosen(scorers, options.scorer, source.pointer, "scorer", "scorer")
    metric = options.metric or scorer
    epochs: dict[str, set[int]] = {}
    rows = []
    for path, value in samples:
        key, epoch = key_of(value.get("id"), source, path, "id"), value.get("epoch", 1)
        if not isinstance(epoch, int):
            raise source.refused(path, "not_a_key", "an epoch must be an integer.", "epoch")
        if epoch in epochs.setdefault(key, set()):
            detail = f"the sample {quoted(key)} has epoch {epoch} twice."
            raise source.refused(path, "duplicate_id", detail, "id")
        epochs[key].add(epoch)
        cluster = cluster_of(options.clusters, source, path, value, "metadata")
        if options.reduce_epochs == "none":
            key, cluster = f"{key} epoch {epoch}", cluster or key
        number, place = _number(source, path, value, scorer, options)
        context = {name: value.get(name) for name in ("input", "target")} | slices_in(
            options.slices, value, "metadata"
        )
        places = {metric: place}
        rows.append(
            Row(key, {metric: number}, path, cluster=cluster, places=places, run=epoch, context=context)
        )
    sentences = [f"The scorer is {scorer[:60]}."]
    if options.on_missing == ZERO:
        sentences.append("N, no answer, counts 0 (on_missing: zero), as in Inspect's accuracy().")
    most = max(map(len, epochs.values()))
    if most > 1:
        how = {
            "mean": options.done_with_runs,
            "max": "reduced to their maximum",
            "none": "taken as items of one cluster",
        }
        said_how = f"up to {most} epochs of a sample were {how[options.reduce_epochs]}."
        notes.append(Remark(source.role, said_how))
    # Letters and booleans mean right or wrong, whatever the name of the scorer.
    scores = [_scores_of(sample).get(scorer) for _, sample in samples]
    values = [score.get("value") for score in scores if isinstance(score, dict)]
    graded = all(isinstance(value, bool) or value in (*LETTERS, NO_ANSWER) for value in values)
    return Rows(
        source, rows, str(about.get("model", source.name)), metric, called="", measured=metric_of(scorer if options.metric is None else f"{scorer}/{metric}"),
        higher_is_better=True if graded else None, agree={"scorer": (scorer, "")}, task=str(about.get("task", "")) or None,
        repeats=True, most=options.reduce_epochs == "max", partial=True, at_rows=True, ways=(EACH_EPOCH,), notes=tuple(sentences),
    )  # fmt: skip


def _number(
    source: Source, place: str, sample: Object, scorer: str, options: ReaderOptions
) -> tuple[Any, str]:
    """The score of a sample and its path; None if the sample failed, was invalidated, or has no score."""
    score, path = _scores_of(sample).get(scorer), f"{place}/scores/{escaped(scorer)}/value"
    gone = sample.get("error") is not None or sample.get("invalidation") is not None
    if gone or not isinstance(score, dict):
        return None, place
    value = score.get("value")
    if isinstance(value, dict):
        if options.metric is None or options.metric not in value:
            why = f"{quoted(scorer)} gives several values. "
            raise choose(f"{source.pointer}/{path}", "metric", "value", list(value), why)
        value, path = value[options.metric], f"{path}/{escaped(options.metric)}"
    if value == NO_ANSWER:
        return 0 if options.on_missing == ZERO else None, path
    if isinstance(value, str):
        number = LETTERS.get(value, WORDS.get(value.lower(), parsed(value)))
        if number is None:
            detail = "a score must be a number, a boolean, or one of the letters C, I, P and N."
            raise source.refused(path, "not_a_number", detail)
        return number, path
    return value, path


def load(source: Source, max_bytes: int, notes: list[Any]) -> tuple[Object, list[tuple[str, Object]]]:
    """Load a log in either form: its header and its samples; raises MalformedBody, InvalidTest, and BodyTooLarge beyond `max_bytes`."""
    if source.content.startswith(ZIP_MAGIC):
        return _archive(source, max_bytes)
    header = _header(source, source.decoded(notes), "eval")
    if header.get("samples") is None:
        raise source.refused("", "no_samples", "the log was written without samples.", "samples")
    return header, source.objects(header["samples"], "samples", "not_a_log")


def _header(source: Source, value: Any, where: str) -> Object:
    if isinstance(value, dict) and isinstance(value.get("eval"), dict):
        return value
    raise source.refused("", "not_a_log", f"this is not a log of Inspect: there is no object {where}.")


def _archive(source: Source, max_bytes: int) -> tuple[Object, list[tuple[str, Object]]]:
    archive = Archive(source, max_bytes, "Convert it: inspect log convert --to json.")

    def unpacked(name: str) -> Any:
        content = archive.unpacked(opened, opened.getinfo(name))
        text = Source(source.role, source.name, content).text([])
        return json_text.decoded(text, source.at(name), f"{source.label}, {name[:80]}")

    with archive.opened() as opened:
        names = opened.namelist()
        if len(names) > MAX_MEMBERS:
            raise BodyTooLarge(f"{source.label}: the archive has more than {MAX_MEMBERS:,} members.")
        if HEADER not in names:
            detail = f"the archive has no {HEADER}: the evaluation did not finish writing it."
            raise source.refused("", "incomplete_log", detail, "status")
        header = _header(source, unpacked(HEADER), f"eval in {HEADER}")
        if SUMMARIES in names:
            return header, source.objects(unpacked(SUMMARIES), SUMMARIES, "not_a_log")
        members = [name for name in names if _is_sample(name)]
        samples = source.objects([unpacked(name) for name in members], SAMPLES, "not_a_log")
        return header, [(escaped(name), value) for name, (_, value) in zip(members, samples, strict=True)]


def _is_sample(name: str) -> bool:
    return name.startswith(SAMPLES) and name.endswith(".json")


def is_read(name: str, names: Collection[str]) -> bool:
    """Whether a member of an archive with these `names` is unpacked."""
    return name in {HEADER, SUMMARIES} or (_is_sample(name) and SUMMARIES not in names)


INSPECT = Shape(
    "inspect", "Inspect logs, .json and .eval",
    lambda look: look.is_archive or (isinstance(look.document.get("eval"), dict) and "status" in look.document), _inspect_rows,
    uses=DESCRIBED | {"scorer", "reduce_epochs", "allow_incomplete", "clusters", "slices"}, zero=True,
)  # fmt: skip


# lm-evaluation-harness

MARKS = ("filter", "doc_hash", "filtered_resps")  # members beside doc_id; or a list of metrics
NO_FILTER = "none"
UNITS = {"word_perplexity": "words", "byte_perplexity": "bytes", "bits_per_byte": "bytes"}
PERPLEXITY = "perplexity"
NLL = "nll"  # negative log-likelihood
OF_LIKELIHOODS = "A document's score is minus its log-likelihood, in nats. Both systems have the same texts, so the p-value is also that of the perplexity."
RIGHT_OF = ("right", "instructions")
RATIO = StatisticSpec("ratio", {"numerator": RIGHT_OF[0], "denominator": RIGHT_OF[1]})
OF_LISTS = (
    "A document has a list of booleans; the statistic is the share of true values over all instructions."
)


def read(files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
    """Read scores of two models on one task, or of two filters of one model."""
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
    # Some logs have the direction of metrics, as `higher_is_better` of the harness's results.
    better = u.rows[0].values.get("higher_is_better")
    better = better.get(metrics[0]) if isinstance(better, dict) else better
    known: Object = {
        "metric": metric_of(metrics[0]),
        "higher_is_better": better if isinstance(better, bool) else None,
    }
    if special == NLL:
        for table in (u, v):
            _read_likelihoods(table, metrics[0], options, notes)
        known = {"metric": NLL, "higher_is_better": False}
    elif special is not None:
        for table in (u, v):
            _read_shares(table, metrics[0])
        known = {"metric": metrics[0], "higher_is_better": True, "counted": RIGHT_OF, "statistic": RATIO}
    elif metrics[0] != metrics[1]:  # chosen by metric_u and metric_v
        measure = measured(*metrics, v.source.pointer, chosen=True)
        known = {"metric": measure.metric, "direction_question": measure.direction_question}
    for table, metric in zip((u, v), metrics, strict=True):
        for row in table.rows:
            if metric not in row.values:
                detail = f"there is no {escaped(metric)}."
                raise table.source.refused(row.path, "missing_field", detail, metric)
    return reading(u, v, (u.rows, v.rows), metrics, options, notes, format_, names=names, **known)


def _rows(source: Source, role: str, options: ReaderOptions, notes: list[Any]) -> tuple[str, Rows]:
    """The chosen filter, or the only one, and its documents."""
    wanted = getattr(options, f"filter_{role}") or options.filter
    by_filter = _by_filter(source, notes)
    option = "filter" if wanted is None or options.filter is not None else f"filter_{role}"
    chosen, records = chosen_group(source, by_filter, wanted, option, "filter", notes)
    # Older logs have no hashes.
    hashed = {name for name in ("doc", "target") if any(f"{name}_hash" in value for _, value in records)}
    described = [name for name in ("doc", "target") if name not in hashed]
    # The answers of a document: a list for each request, from which majorities and pass@k are computed.
    requests = [value.get("resps") for _, value in records]
    answers = [each[0] if isinstance(each, list) and each else None for each in requests]
    rows = [
        Row(
            key_of(value["doc_id"], source, path, "doc_id"), value, path, runs=len(answer) if isinstance(answer, list) else 1,
            cluster=cluster_of(options.clusters, source, path, value, "", "doc"), context={name: value.get(name) for name in described} | slices_in(options.slices, value, "", "doc"),
            same={name: (value.get(name), f"{path}/{name}") for name in ("doc_hash", "target_hash")},
        )
        for (path, value), answer in zip(records, answers, strict=True)
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


def _metrics(u: Rows, v: Rows, options: ReaderOptions) -> tuple[str, str]:
    """The metrics chosen for u and v, or the only one with a number per item."""
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
            detail = f"{escaped(metric)} can only be compared with itself."
            raise table.source.refused(table.rows[0].path, "metric_mismatch", detail, metric)
    return chosen[0], chosen[1]


def _kind(metric: str, row: Row) -> str | None:
    """The kind of a metric whose values are not scores of documents: log-likelihoods, or lists of booleans."""
    value = row.values.get(metric)
    if (metric in UNITS and isinstance(value, list)) or (
        metric == PERPLEXITY and not isinstance(value, list | dict)
    ):
        return NLL
    return RIGHT_OF[0] if _are_booleans(value) else None


def _are_booleans(value: Any) -> bool:
    return isinstance(value, list) and len(value) > 0 and all(isinstance(one, bool) for one in value)


def _read_likelihoods(table: Rows, metric: str, options: ReaderOptions, notes: list[Any]) -> None:
    """Replace the values by minus the log-likelihoods, and note the metric over all documents; raises InvalidTest."""
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
            detail = "a log-likelihood is at most 0, but this number is above, so its direction is not known."
            raise source.refused(row.path, "not_a_likelihood", detail, metric)
        if number is not None:
            known.append((0 - number, units))
        value = None if number is None else 0 - number
        # Words or bytes depend only on the text.
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
    """Replace the values by the numbers of true values and of all; raises InvalidTest if one is not a list of booleans."""
    for index, row in enumerate(table.rows):
        value: Any = row.values.get(metric)
        if not _are_booleans(value):
            detail = "the value is not a list of true and false, unlike that of the first document."
            raise table.source.refused(row.path, "not_booleans", detail)
        same = {**row.same, RIGHT_OF[1]: (len(value), f"{row.path}/{RIGHT_OF[1]}")}
        table.rows[index] = row._replace(values={metric: (sum(value), len(value))}, same=same)
    table.notes += (OF_LISTS,)


def _sign(look: FirstLook) -> Sign:
    record = look.record or {}
    marked = not record.keys().isdisjoint(MARKS) or isinstance(record.get("metrics"), list)
    return Sign.MARK if "doc_id" in record and marked else Sign.NONE


LM_EVAL = Format(
    "lm-eval", read, ("u", "v", "file"), DESCRIBED | {"filter", "filter_u", "filter_v", "metric_u", "metric_v", "clusters", "slices"},
    "lm-evaluation-harness --log_samples", kinds=("scores",), aliases=("lm-eval-harness", "lm-evaluation-harness"),
    sign=_sign,
)  # fmt: skip
