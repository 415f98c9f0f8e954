"""BLEU, chrF and TER of two systems' segments, or of statistics of segments that were counted elsewhere.

Swapping a segment swaps its row of sufficient statistics; the corpus score is a function of their sums. Texts are
counted by sacrebleu, which is imported only then.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from difflib import SequenceMatcher
from typing import Any

import numpy as np

from ..engine.lattice import Integers
from ..errors import InvalidTest
from ..extras import missing
from .additive_problem import Additive, clustered, require_items, require_same_length
from .corpus_scores import BLEU_ORDERS, Bleu, Chrf, Difference
from .counts import beta_of, refuse_excess, require_counts, table
from .expression import parse
from .joint_problem import Joint
from .measured import require_known
from .paired import Counts, Pairing, Segments, StatisticSpec
from .quantity import Quantity
from .reduction import difference_of_scores, own_score, require_room, totals
from .sum_function import FunctionOf

# How long sacrebleu will take to count the segments of a test, before it does


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


CHAR_ORDERS = 6
MAX_WORD_ORDERS = 4
# What a plan looks at: so many segments, so much of each.
_ESTIMATED_SEGMENTS, _ESTIMATED_CHARS = 50, 1000
# Above this, edits times the common multiple of the numbers of references might be rounded.
MAX_COMMON_REFERENCES = 10**6
TER_NAMES = ("edits", "ref_len")
_TER = parse("100 * edits / ref_len", TER_NAMES)
_BLEU_PAIRS = tuple((f"correct_{n}", f"total_{n}") for n in range(1, BLEU_ORDERS + 1))
BLEU_NAMES = ("sys_len", "ref_len", *(c for c, _ in _BLEU_PAIRS), *(t for _, t in _BLEU_PAIRS))


def reduce_segments(data: Segments, spec: StatisticSpec) -> Additive | Joint:
    """The test of corpus BLEU, chrF or TER of texts; raises InvalidTest, also when sacrebleu is not installed."""
    return reduce_corpus_counts(*counted(data, spec))


def counting_seconds(data: Segments, spec: StatisticSpec) -> float:
    """Predicted seconds of `counted`; none for what it refuses."""
    if spec.name != "ter":
        return predicted_seconds(data, spec.name, str.split)
    try:
        metric = _metric(spec)
    except InvalidTest:
        return 0.0
    return predicted_seconds(data, spec.name, lambda text: _words(metric, text))


def counted(data: Segments, spec: StatisticSpec, *, estimated: bool = False) -> tuple[Counts, StatisticSpec]:
    """The segments' statistics under the names that `reduce_corpus_counts` takes, and what to test of them.

    `estimated` statistics cost next to nothing, whatever the texts: they serve plans. Raises InvalidTest, also when
    sacrebleu is not installed.
    """
    _require_segments(data)
    metric = _metric(spec)
    count = _estimated if estimated else _statistics
    rows = [np.array(count(metric, system, data), dtype=np.float64) for system in (data.u, data.v)]
    names, parameters = BLEU_NAMES, {}
    if spec.name == "ter":
        # The reference length of an item is a mean over its references.
        common = math.lcm(*{len(references) for references in data.references})
        if common > MAX_COMMON_REFERENCES:
            detail = "The numbers of references differ too much for their mean lengths to be added exactly."
            raise InvalidTest.at("/references", "too_many_references", detail)
        names, rows = TER_NAMES, [np.rint(row * common) for row in rows]
    elif spec.name == "chrf":
        orders = rows[0].shape[1] // 3
        # sacrebleu's rows are (hyp, ref, match) for each order in turn.
        names = tuple(f"{kind}_{n}" for n in range(1, orders + 1) for kind in ("hyp", "ref", "match"))
        parameters = {"beta": spec.parameters.get("beta")}
    u, v = ({name: row[:, at].astype(np.int64) for at, name in enumerate(names)} for row in rows)
    return Counts(u, v, data.pairing), StatisticSpec(spec.name, parameters)


def reduce_corpus_counts(data: Counts, spec: StatisticSpec) -> Additive | Joint:
    """The test of a corpus score from rows of segment statistics under their names; raises InvalidTest."""
    require_counts(data)
    score: Quantity
    if spec.name == "chrf":
        orders = _orders(data)
        names = tuple(f"{kind}_{n}" for kind in ("hyp", "ref", "match") for n in range(1, orders + 1))
        pairs = tuple((f"match_{n}", f"{kind}_{n}") for kind in ("hyp", "ref") for n in range(1, orders + 1))
        score = Chrf(orders, beta_of(spec, default=2))
    else:
        names, pairs = (BLEU_NAMES, _BLEU_PAIRS) if spec.name == "bleu" else (TER_NAMES, ())
        score = Bleu()
    missing = [name for name in names if name not in data.u]
    if missing:
        detail = f"{spec.name} needs the counts {', '.join(names)}."
        raise InvalidTest.at("/u", "missing_counts", detail)
    u, v = table(data.u, names, "/u"), table(data.v, names, "/v")
    refuse_excess(data, pairs)
    if spec.name == "ter":
        return difference_of_scores(spec.name, _TER, u, v, data.pairing)
    return _difference(spec.name, score, u, v, data.pairing)


def _orders(data: Counts) -> int:
    """How many orders of chrF there are counts for: hyp_1, hyp_2, ... without a gap; at least one."""
    orders = 0
    while f"hyp_{orders + 1}" in data.u:
        orders += 1
    return max(orders, 1)


def _difference(name: str, score: Quantity, u: Integers, v: Integers, pairing: Pairing) -> Joint:
    sums = totals(u), totals(v)
    require_room(*sums)
    own = own_score(score, sums[0], "/u"), own_score(score, sums[1], "/v")
    items, u, v = len(u), clustered(u, pairing), clustered(v, pairing)
    function = FunctionOf(Difference(score))
    stay, swap = np.hstack([u, v]), np.hstack([v, u])
    return Joint(name, stay, swap, function, items, pairing.n_clusters, True, own[0], own[1])


def _require_segments(data: Segments) -> None:
    require_items(len(data.u), "/u")
    require_same_length(len(data.u), len(data.v), "/v", ("u", "v"))
    require_same_length(len(data.u), len(data.references), "/references", ("u", "references"))
    for index, references in enumerate(data.references):
        if not references:
            detail = f"Item {index} has no reference."
            raise InvalidTest.at(f"/references/{index}", "no_reference", detail)


def _metric(spec: StatisticSpec) -> Any:
    """sacrebleu's metric with its own defaults, and the parameters that were given."""
    require_known("segments", spec.name, spec.parameters)
    try:
        metrics: Any = importlib.import_module("sacrebleu.metrics")
    except ImportError as error:
        detail = f"{missing('mt')}; or post the segments' counts."
        raise InvalidTest.at("/statistic/name", "not_installed", detail) from error
    # Parameters have sacrebleu's names and defaults.
    given = {name: value for name, value in spec.parameters.items() if value is not None}
    if spec.name == "bleu":
        return metrics.BLEU(**given, force=True)
    if spec.name == "ter":
        return metrics.TER(**given)
    words = given.get("word_order", 0)
    if isinstance(words, bool) or not isinstance(words, int) or not 0 <= words <= MAX_WORD_ORDERS:
        detail = f"`word_order` must be an integer from 0 to {MAX_WORD_ORDERS}; 2 is chrF++."
        raise InvalidTest.at("/statistic/word_order", "out_of_range", detail)
    # Which of several references is best for a segment depends on beta.
    return metrics.CHRF(**given | {"beta": float(beta_of(spec, default=2))}, char_order=CHAR_ORDERS)


def _statistics(metric: Any, system: Sequence[str], data: Segments) -> list[list[float]]:
    """sacrebleu's sufficient statistics, a row for each segment."""
    # sacrebleu takes one document for each reference, None where an item has fewer of them.
    documents = list(itertools.zip_longest(*data.references))
    rows: list[list[float]] = metric._extract_corpus_statistics(list(system), documents)  # noqa: SLF001 -- no public way
    return rows


def _words(ter: Any, text: str) -> list[str]:
    """As TER compares them: in lower case, and with `normalized` punctuation apart, unless the parameters change that."""
    words: list[str] = ter._preprocess_segment(text).split()  # noqa: SLF001 -- no public way
    return words


def _estimated(metric: Any, system: Sequence[str], data: Segments) -> list[list[float]]:
    """Rows like `_statistics`, from the beginnings of a few segments, again and again; TER's by words alone."""
    if type(metric).__name__ == "TER":
        return [
            _estimated_edits(metric, text, references)
            for text, references in zip(system, data.references, strict=True)
        ]
    some = [text[:_ESTIMATED_CHARS] for text in system[:_ESTIMATED_SEGMENTS]]
    references = [[text[:_ESTIMATED_CHARS] for text in texts] for texts in data.references[: len(some)]]
    rows = _statistics(metric, some, Segments(some, some, references))
    return [rows[index % len(rows)] for index in range(len(system))]


def _estimated_edits(metric: Any, text: str, references: Sequence[str]) -> list[float]:
    words, others = _words(metric, text), [_words(metric, reference) for reference in references]
    edits = min(roughly_edits(words, other) for other in others)
    return [float(edits), sum(map(len, others)) / len(others)]
