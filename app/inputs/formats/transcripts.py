"""NIST `.trn` transcripts, one utterance a line: `words of the utterance (utterance-id)`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from ...errors import InvalidTest
from ...extras import missing
from ..quoting import quoted
from .source import Source

UTTERANCE = re.compile(r"(?P<words>.*)\((?P<id>[^()\s]+)\)\s*")


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
    for number, line in enumerate(source.lines(notes), 1):
        if not line.strip():
            continue
        match = UTTERANCE.fullmatch(line)
        if match is None:
            raise source.refused(number, "no_id", "there is no (utterance-id) at the end.")
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
