"""Logs of Inspect: the `.json` form, one EvalLog object, and the `.eval` form, a zip archive.

Read here with zipfile and json: of an archive only the header and the summaries are needed. A letter is a score as in
Inspect's own accuracy(), C 1, I 0, P 1/2, but N (no answer) is missing: Inspect counts it as 0, as on_missing zero does here.
(inspect_ai/log/_log.py, log/_recorders/eval.py, scorer/_metric.py.)
"""

from __future__ import annotations

import io
import zipfile
from collections.abc import Collection, Mapping
from typing import Any, NamedTuple

from ...answers.reading import Remark
from ...errors import BodyTooLarge, Choice, Flaw, MalformedBody
from .. import ndjson
from ..quoting import escaped, quoted
from .format import FirstLook
from .json_records import cluster_of, key_of
from .metrics import metric_of
from .number_text import Number, parsed
from .reader import ReaderOptions, choose, only_or_chosen
from .shapes import DESCRIBED, Files, Object, Row, Rows, Shape, refuse_incomplete
from .source import DAMAGED, READABLE, ZIP_MAGIC, Source

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


class Sample(NamedTuple):
    """A sample of a log in one epoch, with its pointer below the file's."""

    path: str
    value: Object

    @property
    def scores(self) -> Object:
        """Its scores by scorer; very early logs have one, without a name."""
        by_scorer, single = self.value.get("scores"), self.value.get("score")
        if isinstance(by_scorer, dict):
            return by_scorer
        return {"score": single} if isinstance(single, dict) else {}


def _rows(source: Source, options: ReaderOptions, notes: list[Any], files: Files) -> Rows:
    header, samples = load(source, options.max_inflated_bytes, notes)
    status, about = str(header.get("status", "unknown")), header["eval"]
    if status != "success":
        why = f"the status of this log is {quoted(status)}, not success"
        refuse_incomplete(source, why, options, notes, "status")
    if not samples:
        raise source.empty()
    scorers = list(dict.fromkeys(name for sample in samples for name in sample.scores))
    if not scorers:
        detail = "no sample of this log has a score. Score it first (inspect score)."
        raise source.refused(samples[0].path, "unscored", detail, "scores")
    scorer = only_or_chosen(scorers, options.scorer, source.pointer, "scorer", "scorer")
    metric = options.metric or scorer
    epochs: dict[str, set[int]] = {}
    rows = []
    for sample in samples:
        path, value = sample
        key, epoch = key_of(value.get("id"), source, path, "id"), value.get("epoch", 1)
        if not isinstance(epoch, int):
            raise source.refused(path, "not_a_key", "an epoch must be an integer.", "epoch")
        if epoch in epochs.setdefault(key, set()):
            raise source.refused(
                path, "duplicate_id", f"the sample {quoted(key)} has epoch {epoch} twice.", "id"
            )
        epochs[key].add(epoch)
        cluster = cluster_of(options.clusters, source, path, value, "metadata")
        if options.reduce_epochs == "none":
            key, cluster = f"{key} epoch {epoch}", cluster or key
        number, place = _number(source, sample, scorer, options)
        context = {name: value.get(name) for name in ("input", "target")}
        rows.append(
            Row(
                key,
                {metric: number},
                path,
                cluster=cluster,
                places={metric: place},
                run=epoch,
                context=context,
            )
        )
    said = [f"The scorer is {scorer[:60]}."]
    if options.on_missing == ZERO:
        said.append("N, no answer, counts 0 (on_missing: zero), as Inspect's accuracy() counts it.")
    most = max(map(len, epochs.values()))
    if most > 1:
        how = {"mean": "averaged", "max": "reduced to their maximum", "none": "taken as items of one cluster"}
        notes.append(
            Remark(source.role, f"up to {most} epochs of a sample were {how[options.reduce_epochs]}.")
        )
    # Letters and booleans are right or wrong, whatever the scorer is called.
    values = [
        sample.scores[scorer].get("value")
        for sample in samples
        if isinstance(sample.scores.get(scorer), dict)
    ]
    graded = all(isinstance(value, bool) or value in (*LETTERS, NO_ANSWER) for value in values)
    return Rows(
        source, rows, str(about.get("model", source.name)), metric, called="", measured=metric_of(scorer if options.metric is None else f"{scorer}/{metric}"),
        higher_is_better=True if graded else None, agree={"scorer": (scorer, "")}, task=str(about.get("task", "")) or None,
        repeats=True, most=options.reduce_epochs == "max", partial=True, at_rows=True, ways=(EACH_EPOCH,), notes=tuple(said),
    )  # fmt: skip


def _number(source: Source, sample: Sample, scorer: str, options: ReaderOptions) -> tuple[Any, str]:
    """The score of a sample, None when it ended in an error, was invalidated, or was not scored; and where it is."""
    score, path = sample.scores.get(scorer), f"{sample.path}/scores/{escaped(scorer)}/value"
    gone = sample.value.get("error") is not None or sample.value.get("invalidation") is not None
    if gone or not isinstance(score, dict):
        return None, sample.path
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


def load(source: Source, max_bytes: int, notes: list[Any]) -> tuple[Object, list[Sample]]:
    """A log in either form: its header and its samples.

    Raises
    ------
    MalformedBody
        It is neither JSON nor a complete zip archive.
    InvalidTest
        It is not a log of Inspect, or its compression cannot be read here.
    BodyTooLarge
        The members that must be read are over `max_bytes`.
    """
    if source.content.startswith(ZIP_MAGIC):
        return _archive(source, max_bytes)
    header = _header(source, source.decoded(notes), "eval")
    if header.get("samples") is None:
        raise source.refused("", "no_samples", "the log was written without samples.", "samples")
    return header, _samples(source, header["samples"], "samples")


def _header(source: Source, value: Any, where: str) -> Object:
    if isinstance(value, dict) and isinstance(value.get("eval"), dict):
        return value
    raise source.refused("", "not_a_log", f"this is not a log of Inspect: there is no object {where}.")


def _samples(source: Source, values: Any, under: str) -> list[Sample]:
    if isinstance(values, list) and all(isinstance(value, dict) for value in values):
        return [Sample(f"{under}/{index}", value) for index, value in enumerate(values)]
    raise source.refused("", "not_a_log", "this is not a log of Inspect: samples are not a list of objects.")


def _archive(source: Source, max_bytes: int) -> tuple[Object, list[Sample]]:
    try:
        archive = zipfile.ZipFile(io.BytesIO(source.content))
    except DAMAGED:
        raise source.malformed(1, "not_a_zip", "the zip archive is damaged or truncated.") from None
    left = max_bytes

    def unpacked(name: str) -> Any:
        """A member, as long as all together are within the limit."""
        nonlocal left
        info = archive.getinfo(name)
        if info.file_size > left:
            raise source.too_large("unpacked, the log is larger than allowed.")
        if info.compress_type not in READABLE:
            detail = (
                f"{name[:80]} is compressed by method {info.compress_type}, and only stored and deflated members are read here. "
                "Convert it: inspect log convert --to json."
            )
            raise source.refused("", "unsupported_compression", detail, name)
        try:
            with archive.open(info) as member:
                # Without a size it would inflate all of it before it counts.
                content = member.read(info.file_size + 1)
        except DAMAGED:
            detail = f"{source.label}: the member {name[:80]} is damaged."
            raise MalformedBody(detail, flaws=(Flaw(source.at(name), "not_a_zip", detail),)) from None
        left -= len(content)
        text = Source(source.role, source.name, content).text([])
        return ndjson.decoded(text, source.at(name), f"{source.label}, {name[:80]}")

    with archive:
        names = archive.namelist()
        if len(names) > MAX_MEMBERS:
            raise BodyTooLarge(f"{source.label}: the archive has more than {MAX_MEMBERS:,} members.")
        if HEADER not in names:
            detail = f"the archive has no {HEADER}: the evaluation did not finish writing it."
            raise source.refused("", "incomplete_log", detail, "status")
        header = _header(source, unpacked(HEADER), f"eval in {HEADER}")
        if SUMMARIES in names:
            return header, _samples(source, unpacked(SUMMARIES), SUMMARIES)
        each = [(name, unpacked(name)) for name in names if _is_sample(name)]
        _samples(source, [value for _, value in each], SAMPLES)
        return header, [Sample(escaped(name), value) for name, value in each]


def _is_sample(name: str) -> bool:
    return name.startswith(SAMPLES) and name.endswith(".json")


def is_read(name: str, names: Collection[str]) -> bool:
    """Whether a member of an archive with these `names` is unpacked."""
    return name in {HEADER, SUMMARIES} or (_is_sample(name) and SUMMARIES not in names)


def _is_log(look: FirstLook) -> bool:
    return look.is_archive or (isinstance(look.document.get("eval"), dict) and "status" in look.document)


SHAPE = Shape(
    "inspect", "Inspect logs, .json and .eval", _is_log, _rows,
    uses=DESCRIBED | {"scorer", "reduce_epochs", "allow_incomplete", "clusters"}, zero=True,
)  # fmt: skip
