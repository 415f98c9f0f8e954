"""How long sacrebleu will take to count the segments of a test, before it does.

BLEU and chrF take time in proportion to the text. TER tries shifts of words, at most some 1,000 for a segment and
reference, each with an edit distance of its own (sacrebleu's lib_ter, after Tercom): a segment of 200 words may take
seconds. How many shifts there are to try is estimated from the words that a plain alignment leaves unmatched.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher

from .paired import Segments

_SECONDS_PER_CHAR = {"bleu": 1.2e-6, "chrf": 3e-6, "ter": 5e-7}
_SECONDS_PER_SEGMENT = 5e-5
# Of lib_ter: how far words are shifted, how wide its edit distance is, how many shifts it tries in all, and how long
# the longest shifted phrase is.
_DISTANCE, _BEAM, _SHIFTS, _PHRASE = 50, 50, 1000, 10
_CELL_S, _COPIED_S, _SHIFT_S = 6.5e-7, 4e-8, 2e-5
# Longer segments are taken to need every shift.
_ALIGNED_WORDS = 300


def predicted_seconds(data: Segments, name: str, words: Callable[[str], Sequence[str]]) -> float:
    """Predicted seconds for the statistics of both systems' segments under bleu, chrf or ter, whose words those are."""
    references = sum(len(text) for texts in data.references for text in texts)
    chars = sum(map(len, data.u)) + sum(map(len, data.v)) + 2 * references
    seconds = 2 * _SECONDS_PER_SEGMENT * len(data.u) + _SECONDS_PER_CHAR[name] * chars
    if name != "ter":
        return seconds
    return seconds + sum(
        edit_seconds(words(text), words(reference))
        for system in (data.u, data.v)
        for text, references_of in zip(system, data.references, strict=True)
        for reference in references_of
    )


def edit_seconds(words: Sequence[str], reference: Sequence[str]) -> float:
    """Predicted seconds for the TER of one segment against one reference."""
    n, m = len(words), len(reference)
    distance = _CELL_S * n * min(m, _BEAM) + _COPIED_S * n * m
    if list(words) == list(reference):
        return distance
    return distance + _shifts(words, reference) * (0.8 * distance + _SHIFT_S)


def _shifts(words: Sequence[str], reference: Sequence[str]) -> int:
    """About how many shifts will be tried: pairs of equal words that are both out of place, and how they repeat."""
    if max(len(words), len(reference)) > _ALIGNED_WORDS:
        return _SHIFTS if set(words) & set(reference) else 0
    wrong, wanted = _unmatched(words, reference)
    at: dict[str, list[int]] = {}
    for position in wanted:
        at.setdefault(reference[position], []).append(position)
    tried = phrases = 0
    for position in wrong:
        for other in at.get(words[position], ()):
            if abs(position - other) > _DISTANCE:
                continue
            long = 0
            while (
                long < _PHRASE
                and position + long < len(words)
                and other + long < len(reference)
                and words[position + long] == reference[other + long]
            ):
                long += 1
                tried += long + 1
            phrases += 1
            if tried >= _SHIFTS:
                return _SHIFTS
    # Every shift that helps is followed by another round.
    return min(_SHIFTS, tried * (1 + min(phrases, len(wrong)) // 2))


def _unmatched(words: Sequence[str], reference: Sequence[str]) -> tuple[list[int], list[int]]:
    """The places of words and of reference words outside a longest-blocks alignment."""
    wrong, wanted = set(range(len(words))), set(range(len(reference)))
    for block in SequenceMatcher(None, words, reference, autojunk=False).get_matching_blocks():
        wrong -= set(range(block.a, block.a + block.size))
        wanted -= set(range(block.b, block.b + block.size))
    return sorted(wrong), sorted(wanted)


def roughly_edits(words: Sequence[str], reference: Sequence[str]) -> int:
    """Edits as far as the words alone tell, whatever their order: for plans, which must not cost what they predict."""
    missing = sum((Counter(words) - Counter(reference)).values())
    return max(missing, abs(len(words) - len(reference)))
