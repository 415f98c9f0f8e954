"""Lines of text with ids: NIST `.trn`, `words (utterance-id)`, and ids in front of lines, as Kaldi and others write them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InvalidTest
from ...extras import missing
from ..quoting import quoted
from .source import Source

UTTERANCE = re.compile(r"(?P<words>.*)\((?P<id>[^()\s]+)\)\s*")
IN_FRONT = re.compile(r"(?P<id>[^\s;|]+)(?:[ \t]*\|\|\|[ \t]*|\t|;|(?P<blank> +)|$)(?P<words>.*)")
LEAST_LINES = 3
LEAST_COMMON, LEAST_WITH_DIGITS = 0.9, 0.8


@dataclass(frozen=True, slots=True)
class InFront:
    """Ids in front of the lines of a file, and the texts after them; `blank` where only a blank is between."""

    ids: list[str]
    texts: list[str]
    blank: bool


def ids_in_front(files: Sequence[Sequence[str]]) -> list[InFront] | None:
    """The ids in front of all lines of files; None where these are words.

    Ids are unique in each file, nine of ten are in all files, and four of five have a digit.
    """
    found = []
    for lines in files:
        matches = [IN_FRONT.fullmatch(line) for line in lines]
        split = [match for match in matches if match is not None]
        ids = [match["id"] for match in split]
        if len(split) < max(len(lines), LEAST_LINES) or len(set(ids)) < len(ids):
            return None
        blank = any(match["blank"] is not None for match in split)
        found.append(InFront(ids, [match["words"] for match in split], blank))
    common = set(found[0].ids).intersection(*(one.ids for one in found[1:]))
    if len(common) < LEAST_COMMON * max(len(one.ids) for one in found):
        return None
    with_digits = sum(any(map(str.isdigit, key)) for key in common)
    return found if with_digits >= LEAST_WITH_DIGITS * len(common) else None


@dataclass(frozen=True, slots=True)
class Transcript:
    """The words of every utterance, and its line."""

    source: Source
    words: dict[str, list[str]]
    lines: dict[str, int]


def transcript(source: Source, notes: list[str]) -> Transcript:
    """Read a file; raises InvalidTest naming a line without an id, or with one that was there before."""
    words: dict[str, list[str]] = {}
    lines: dict[str, int] = {}
    read = source.lines(notes)
    filled = [line for line in read if line.strip()]
    pattern = UTTERANCE
    if not any(map(UTTERANCE.fullmatch, filled)) and ids_in_front([filled]) is not None:
        pattern = IN_FRONT
    for number, line in enumerate(read, 1):
        if not line.strip():
            continue
        match = pattern.fullmatch(line)
        if match is None:
            raise source.refused(
                number, "no_id", "there is no (utterance-id) at the end, and none in front of every line."
            )
        key = match["id"]
        if key in lines:
            detail = f"the utterance {quoted(key)} is already on line {lines[key]:,}."
            raise source.refused(number, "duplicate_id", detail)
        words[key], lines[key] = match["words"].split(), number
    if not words:
        raise source.empty()
    if source.role in ("ref", "gold"):
        notes.append(f"{len(words):,} references read from {source.label}.")
    return Transcript(source, words, lines)


def word_errors(references: Sequence[Sequence[str]], hypotheses: Sequence[Sequence[str]]) -> list[int]:
    """Substitutions, deletions and insertions of every utterance, by jiwer (the optional extra `asr`).

    Raises
    ------
    InvalidTest
        jiwer is not installed.
    """
    try:
        import jiwer
    except ImportError:
        detail = f"{missing('asr')}; or give counts per utterance."
        raise InvalidTest.at("/files/ref", "missing_extra", detail) from None
    aligned = jiwer.process_words([" ".join(w) for w in references], [" ".join(w) for w in hypotheses])
    return [
        sum(
            max(chunk.ref_end_idx - chunk.ref_start_idx, chunk.hyp_end_idx - chunk.hyp_start_idx)
            for chunk in chunks
            if chunk.type != "equal"
        )
        for chunks in aligned.alignments
    ]
