"""All formats by name, and the one way from uploaded files to a reading."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from ...errors import InvalidTest
from ..pairing import shown
from . import (
    asr,
    conll,
    conllu,
    delimited_files,
    evalsig,
    every_eval_ever,
    inspect_log,
    jsonl,
    lm_eval,
    mt,
    promptfoo,
    trec,
)
from .guess import guess
from .reader import ReaderOptions, Reading, UploadedFile
from .roles import only
from .source import Source, sources

AUTO = "auto"


class Read(Protocol):
    """A reader: files by role and options in, a reading or an InputError out."""

    def __call__(self, files: Mapping[str, Source], options: ReaderOptions, format_: str) -> Reading:
        """Read, under the format's name."""


@dataclass(frozen=True, slots=True)
class Format:
    """A reader with the files it takes, the options it has a use for, and a line that says what it is.

    `statistics` are the values of the option `statistic` that it understands itself.
    """

    read: Read
    roles: tuple[str, ...]
    uses: frozenset[str]
    summary: str
    statistics: tuple[str, ...] = ()


_TABLE = (delimited_files.read, delimited_files.ROLES, delimited_files.USES)
FORMATS: Mapping[str, Format] = {
    "csv": Format(*_TABLE, "wide id,u,v[,cluster]; long id,system,score; 2 or 4 columns without a header"),
    "tsv": Format(*_TABLE, "as csv, with tabs"),
    "mqm": Format(*_TABLE, "WMT's long files: system score seg_id, separated by blanks"),
    "jsonl": Format(jsonl.read, jsonl.ROLES, jsonl.USES, "lines (or an array) of {id, score}, {id, u, v} or {id, system, score}"),
    "lm-eval": Format(lm_eval.read, lm_eval.ROLES, lm_eval.USES, "lm-evaluation-harness --log_samples"),
    "inspect": Format(inspect_log.read, inspect_log.ROLES, inspect_log.USES, "Inspect logs, .json and .eval"),
    "every-eval-ever": Format(
        every_eval_ever.read, every_eval_ever.ROLES, every_eval_ever.USES, "Every Eval Ever, instance level"
    ),
    "promptfoo": Format(promptfoo.read, promptfoo.ROLES, promptfoo.USES, "promptfoo eval -o results.json"),
    "evalsig": Format(evalsig.read, evalsig.ROLES, evalsig.USES, "RunFrame {model_id, items: [{item_id, score}]}"),
    "conllu": Format(
        conllu.read, conllu.ROLES, conllu.USES, "CoNLL-U, gold and two systems: UPOS, XPOS, LEMMA, UAS, LAS",
        conllu.STATISTICS,
    ),
    "conll": Format(conll.read, conll.ROLES, conll.USES, "CoNLL columns of BIO tags: entities"),
    "trec": Format(trec.read, trec.ROLES, trec.USES, "trec_eval -q output, or runs and qrels"),
    "asr": Format(asr.read, asr.ROLES, asr.USES, "word errors per utterance, or .trn transcripts", asr.STATISTICS),
    "mt": Format(mt.read, mt.ROLES, mt.USES, "parallel lines of text with references"),
    "mt-stats": Format(
        mt.read_statistics, mt.STATISTICS_ROLES, mt.STATISTICS_USES, "per-segment statistics of BLEU and TER",
        ("bleu", "ter"),
    ),
}  # fmt: skip
ALIASES = {
    "json": "jsonl",
    "ndjson": "jsonl",
    "lm-eval-harness": "lm-eval",
    "lm-evaluation-harness": "lm-eval",
    "iob2": "conll",
    "bio": "conll",
    "trn": "asr",
    "eee": "every-eval-ever",
    "runframe": "evalsig",
}
DEFAULT_DELIMITER = {"tsv": "tab", "mqm": "blank"}
# `statistic` may name a statistic of the data as well, which is not for the reader to judge.
ALWAYS = frozenset(("statistic",))


def read(files: Mapping[str, UploadedFile], format_: str, options: ReaderOptions) -> Reading:
    """Read files by role (`u`, `v`, `gold`, `ref`, `qrels`, `documents`, or `file` for both systems in one).

    Raises
    ------
    MalformedBody
        A file cannot be parsed as what it says it is; the line is named.
    InvalidTest
        What it says is no valid test, a choice must be made, or an option or a file has no use; pointers are
        `/files/<role>/…` and `/options/<name>`.
    """
    if not files:
        raise InvalidTest.at("/files", "missing_file", "There are no files; give u and v, or one file.")
    by_role = sources(files)
    name = ALIASES.get(format_.lower(), format_.lower())
    guessed = name == AUTO
    if guessed:
        name = guess(by_role)
    if name not in FORMATS:
        detail = f"There is no format {shown(format_)}; there are: auto, {', '.join(FORMATS)}."
        raise InvalidTest.at("/options/format", "unknown_format", detail)
    reader = FORMATS[name]
    only(by_role, reader.roles, name)
    _refuse_unused(options.given(), reader.uses | ALWAYS, name)
    if options.delimiter is None and name in DEFAULT_DELIMITER:
        options = replace(options, delimiter=DEFAULT_DELIMITER[name])
    reading = reader.read(by_role, options, name)
    if "u" in by_role and "v" in by_role:
        reading = replace(reading, file_names=(by_role["u"].name, by_role["v"].name))
    if not guessed:
        return reading
    note = f"The format was guessed from the files' first bytes: {name} ({reader.summary})."
    return replace(reading, guessed=True, notes=(note, *reading.notes))


def _refuse_unused(given: Collection[str], uses: Collection[str], name: str) -> None:
    for option in sorted(given):
        if option not in uses:
            detail = f"The format {name} has no use for {option}; it has for: {', '.join(sorted(uses))}."
            raise InvalidTest.at(f"/options/{option}", "unused_option", detail)
