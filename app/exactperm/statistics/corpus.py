"""BLEU, chrF and TER of the segments of two systems, or of segment statistics counted elsewhere.

Swapping a segment swaps its row of sufficient statistics; the corpus score is a function of their sums, as sacrebleu
computes it (Post 2018), on its scale of 0 to 100. Texts are counted by sacrebleu, which is imported only when needed.
"""

from __future__ import annotations

import importlib
import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from fractions import Fraction
from typing import Any

import flint
import numpy as np

from ..engine.lattice import Integers, Reals
from ..errors import InvalidTest
from ..extras import missing
from .catalogue import require_known
from .counts import beta_of, refuse_excess, require_counts, table
from .effects import Additive, Joint, clustered, require_items, require_same_length
from .evaluation import Approximation, Exact, Tangent, ball, combined, minus
from .expression import parse
from .paired import Counts, Pairing, Segments, StatisticSpec
from .quantity import Quantity, StateCost
from .reduction import difference_of_scores, observed_score, require_room, totals
from .sum_function import FunctionOf

# The scores, fast with error bounds and exactly


BLEU_ORDERS = 4
_U = 2.0**-52
# Of one corpus score, by the number of n-gram orders; see `quantity`.
_FILTER_NS, _FILTER_ORDER_NS = 8.0, 10.0
_BALL_NS, _BALL_ORDER_NS, _LAST_BALL_NS = 6_000.0, 6_000.0, 35_000.0


@dataclass(frozen=True)
class Difference(Quantity):
    """score(x_0 .. x_{m-1}) - score(x_m .. x_{2m-1}): system U's score minus system V's."""

    score: Quantity

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See `quantity.Quantity`."""
        half = len(sums) // 2
        u, v = self.score.approximate(sums[:half]), self.score.approximate(sums[half:])
        value = u.value - v.value
        return Approximation(value, u.error + v.error + _U * np.abs(value))

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See `quantity.Quantity`."""
        half = len(row) // 2
        if row[:half] == row[half:]:
            return Fraction(0)
        u, v = (self.score.value_at(part, last=last) for part in (row[:half], row[half:]))
        return None if u is None or v is None else minus(u, v)

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """See `quantity.Quantity`."""
        one = self.score.cost(peaks[: len(peaks) // 2])
        return StateCost(2.0 * one.filter, one.exact, tuple(2.0 * ball for ball in one.balls))

    def tangent(self, point: Sequence[flint.arb]) -> Tangent | None:
        """See `quantity.Quantity`."""
        half = len(point) // 2
        u, v = (self.score.tangent(part) for part in (point[:half], point[half:]))
        if u is None or v is None:
            return None
        other = Tangent(v.value, {half + index: slope for index, slope in v.slopes.items()})
        return Tangent(u.value - v.value, combined((1, u), (-1, other)))


@dataclass(frozen=True)
class Bleu(Quantity):
    """Corpus BLEU of (sys_len, ref_len, correct_1..4, total_1..4) with exponential smoothing.

    100 BP (prod_n c_n / t_n)^(1/4) (Papineni et al. 2002); the z-th order without a match counts as
    1 / (2^z t_n) (Chen & Cherry 2014, method 3); 0 without any match or with an order that has no n-grams.
    """

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See `quantity.Quantity`."""
        system, reference, *counts = (np.asarray(column, dtype=np.float64) for column in sums)
        correct, total = counts[:BLEU_ORDERS], counts[BLEU_ORDERS:]
        matched: Reals = np.asarray(sum(correct))
        scored = np.asarray(matched > 0) & (system > 0) & (reference >= 0)
        product: Reals = np.asarray(1.0)
        smoothing: Reals = np.asarray(1.0)
        for matched, possible in zip(correct, total, strict=True):
            # A box may hold rows that no corpus can have, with negative counts: they score 0, as in `value_at`.
            scored = scored & (matched >= 0) & (possible > 0)
            smoothing = np.where(matched == 0, 2.0 * smoothing, smoothing)
            numerator = np.where(matched == 0, 1.0 / smoothing, matched)
            product = product * numerator / np.where(possible > 0, possible, 1.0)
        excess = reference / np.where(system > 0, system, 1.0)
        with np.errstate(invalid="ignore"):
            penalty = np.exp(np.minimum(1.0 - excess, 0.0))
            value = 100.0 * penalty * np.sqrt(np.sqrt(product))
        value = np.where(scored, value, 0.0)
        # 8 operations on the product, each root halving their share; 1 - excess is off by its own rounding.
        error = value * (_U * (24.0 + 4.0 * excess)) + 1e-300
        wrong = ~np.isfinite(value)
        shape = np.broadcast_shapes(*(column.shape for column in sums))
        return Approximation(
            np.broadcast_to(np.where(wrong, 0.0, value), shape), np.where(wrong, np.inf, error)
        )

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See `quantity.Quantity`."""
        system, reference = row[:2]
        correct, total = row[2 : 2 + BLEU_ORDERS], row[2 + BLEU_ORDERS :]
        if min(row) < 0 or not any(correct) or system == 0 or 0 in total:
            return Fraction(0)
        product, smoothing = Fraction(1), 1
        for matched, possible in zip(correct, total, strict=True):
            smoothing *= 1 if matched else 2
            product *= Fraction(matched, possible) if matched else Fraction(1, smoothing * possible)
        score: flint.arb = 100 * ball(product).sqrt().sqrt()
        if system >= reference:
            return score
        return score * ball(1 - Fraction(reference, system)).exp()

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """See `quantity.Quantity`."""
        return _cost(BLEU_ORDERS)

    def tangent(self, point: Sequence[flint.arb]) -> Tangent:
        """See `quantity.Quantity`; an order without any match has no slope, and 0 has none at all."""
        system, reference = point[:2]
        correct, total = point[2 : 2 + BLEU_ORDERS], point[2 + BLEU_ORDERS :]
        if not any(matched > 0 for matched in correct) or not all(x > 0 for x in (system, *total)):
            return Tangent(flint.arb(0), {})
        product, smoothing = flint.arb(1), 1
        for matched, possible in zip(correct, total, strict=True):
            smoothing *= 1 if matched > 0 else 2
            product *= matched / possible if matched > 0 else 1 / (smoothing * possible)
        score = 100 * product.sqrt().sqrt()
        excess = 1 - reference / system
        if excess < 0:
            score *= excess.exp()
        slopes = {}
        for order, (matched, possible) in enumerate(zip(correct, total, strict=True)):
            if matched > 0:
                slopes[2 + order] = score / (4 * matched)
            slopes[2 + BLEU_ORDERS + order] = -score / (4 * possible)
        if not excess > 0:
            # At equal lengths, the mean of the slopes of both sides.
            share = flint.arb(1) if excess < 0 else flint.arb(0.5)
            slopes[0] = share * score * reference / (system * system)
            slopes[1] = -share * score / system
        return Tangent(score, slopes)


@dataclass(frozen=True)
class Chrf(Quantity):
    """Corpus chrF of (hyp_1..n, ref_1..n, match_1..n): F-beta of mean precision and mean recall over the orders.

    Orders that hypothesis or reference lacks are left out of the means (Popović 2015, in sacrebleu's form).
    """

    orders: int
    beta: Fraction = Fraction(2)

    def approximate(self, sums: Sequence[Integers]) -> Approximation:
        """See `quantity.Quantity`."""
        columns = [np.asarray(column, dtype=np.float64) for column in sums]
        precision, recall, effective = (np.asarray(0.0) for _ in range(3))
        n = self.orders
        for predicted, true, match in zip(columns[:n], columns[n : 2 * n], columns[2 * n :], strict=True):
            both = (predicted > 0) & (true > 0)
            precision = precision + np.where(both, match / np.where(both, predicted, 1.0), 0.0)
            recall = recall + np.where(both, match / np.where(both, true, 1.0), 0.0)
            effective = effective + both
        factor = float(self.beta) ** 2
        below = (factor * precision + recall) * np.maximum(effective, 1.0)
        scored = below > 0.0
        value = 100.0 * (1.0 + factor) * precision * recall / np.where(scored, below, 1.0)
        value = np.where(scored, value, 0.0)
        # Sums of positive terms: every operation adds at most one rounding.
        return Approximation(value, np.abs(value) * (_U * (2.0 * n + 16.0)) + 1e-300)

    def value_at(self, row: Sequence[int], *, last: bool) -> Exact | None:
        """See `quantity.Quantity`."""
        precision, recall, effective = Fraction(0), Fraction(0), 0
        n = self.orders
        for predicted, true, match in zip(row[:n], row[n : 2 * n], row[2 * n :], strict=True):
            if predicted > 0 and true > 0:
                precision += Fraction(match, predicted)
                recall += Fraction(match, true)
                effective += 1
        factor = self.beta**2
        below = (factor * precision + recall) * max(effective, 1)
        return 100 * (1 + factor) * precision * recall / below if below > 0 else Fraction(0)

    def cost(self, peaks: Sequence[int]) -> StateCost:
        """See `quantity.Quantity`."""
        return _cost(self.orders)

    def tangent(self, point: Sequence[flint.arb]) -> Tangent:
        """See `quantity.Quantity`."""
        n, factor = self.orders, ball(self.beta**2)
        used = [k for k in range(n) if point[k] > 0 and point[n + k] > 0]
        precision = sum((point[2 * n + k] / point[k] for k in used), flint.arb(0))
        recall = sum((point[2 * n + k] / point[n + k] for k in used), flint.arb(0))
        below = factor * precision + recall
        if not below > 0:
            return Tangent(flint.arb(0), {})
        scale = 100 * (1 + factor) / len(used)
        by_precision = scale * recall * recall / (below * below)
        by_recall = scale * factor * precision * precision / (below * below)
        slopes = {}
        for k in used:
            predicted, true, match = point[k], point[n + k], point[2 * n + k]
            slopes[k] = -by_precision * match / (predicted * predicted)
            slopes[n + k] = -by_recall * match / (true * true)
            slopes[2 * n + k] = by_precision / predicted + by_recall / true
        return Tangent(scale * precision * recall / below, slopes)


def _cost(orders: int) -> StateCost:
    first = _BALL_NS + _BALL_ORDER_NS * orders
    return StateCost(_FILTER_NS + _FILTER_ORDER_NS * orders, None, (first, first + _LAST_BALL_NS))


# Predicted time of sacrebleu for the segments of a test


_SECONDS_PER_CHAR = {"bleu": 1.2e-6, "chrf": 3e-6, "ter": 5e-7}
_SECONDS_PER_SEGMENT = 5e-5
# Limits of lib_ter: the distance of shifts, the width of the edit distance, the total number of shifts tried, and the
# length of a shifted phrase.
_DISTANCE, _BEAM, _SHIFTS, _PHRASE = 50, 50, 1000, 10
_CELL_S, _COPIED_S, _SHIFT_S = 6.5e-7, 4e-8, 2e-5
# Longer segments are assumed to need every shift.
_ALIGNED_WORDS = 300


def predicted_seconds(data: Segments, name: str, words: Callable[[str], Sequence[str]]) -> float:
    """Predict the seconds for the statistics of both systems' segments under bleu, chrf or ter."""
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
    """Predict the seconds for the TER of one segment against one reference."""
    n, m = len(words), len(reference)
    distance = _CELL_S * n * min(m, _BEAM) + _COPIED_S * n * m
    if list(words) == list(reference):
        return distance
    return distance + _shifts(words, reference) * (0.8 * distance + _SHIFT_S)


def _shifts(words: Sequence[str], reference: Sequence[str]) -> int:
    """Estimate the number of shifts that will be tried, from pairs of equal words that are both out of place, and their
    repetitions.
    """
    if max(len(words), len(reference)) > _ALIGNED_WORDS:
        return _SHIFTS if set(words) & set(reference) else 0
    wrong, missing = _unmatched(words, reference)
    at: dict[str, list[int]] = {}
    for position in missing:
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
    # Every successful shift is followed by another round.
    return min(_SHIFTS, tried * (1 + min(phrases, len(wrong)) // 2))


def _unmatched(words: Sequence[str], reference: Sequence[str]) -> tuple[list[int], list[int]]:
    """Return the places of words and of reference words outside a longest-blocks alignment."""
    wrong, missing = set(range(len(words))), set(range(len(reference)))
    for block in SequenceMatcher(None, words, reference, autojunk=False).get_matching_blocks():
        wrong -= set(range(block.a, block.a + block.size))
        missing -= set(range(block.b, block.b + block.size))
    return sorted(wrong), sorted(missing)


def roughly_edits(words: Sequence[str], reference: Sequence[str]) -> int:
    """Estimate the edits from the words alone, regardless of order: for plans, which must not cost as much as the
    test.
    """
    missing = sum((Counter(words) - Counter(reference)).values())
    return max(missing, abs(len(words) - len(reference)))


CHAR_ORDERS = 6
MAX_WORD_ORDERS = 4
# The number of segments, and of characters of each, that a plan examines.
_ESTIMATED_SEGMENTS, _ESTIMATED_CHARS = 50, 1000
# Above this, edits times the common multiple of the numbers of references might be rounded.
MAX_COMMON_REFERENCES = 10**6
TER_NAMES = ("edits", "ref_len")
_TER = parse("100 * edits / ref_len", TER_NAMES)
_BLEU_PAIRS = tuple((f"correct_{n}", f"total_{n}") for n in range(1, BLEU_ORDERS + 1))
BLEU_NAMES = ("sys_len", "ref_len", *(c for c, _ in _BLEU_PAIRS), *(t for _, t in _BLEU_PAIRS))


def reduce_segments(data: Segments, spec: StatisticSpec) -> Additive | Joint:
    """Return the test of corpus BLEU, chrF or TER of texts; raises InvalidTest, also when sacrebleu is not
    installed.
    """
    return reduce_corpus_counts(*counted(data, spec))


def counting_seconds(data: Segments, spec: StatisticSpec) -> float:
    """Predict the seconds of `counted`; 0 for data it refuses."""
    if spec.name != "ter":
        return predicted_seconds(data, spec.name, str.split)
    try:
        metric = _metric(spec)
    except InvalidTest:
        return 0.0
    return predicted_seconds(data, spec.name, lambda text: _words(metric, text))


def counted(data: Segments, spec: StatisticSpec, *, estimated: bool = False) -> tuple[Counts, StatisticSpec]:
    """Count the segments under the names that `reduce_corpus_counts` takes; return the counts and the statistic to
    test.

    `estimated` statistics cost next to nothing for any texts: they serve plans. Raises InvalidTest, also when
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
            detail = (
                "The numbers of references differ too much for mean reference lengths to be added exactly."
            )
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
    """Return the test of a corpus score from rows of segment statistics under their names; raises InvalidTest."""
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
    """Count the orders of chrF that have counts: hyp_1, hyp_2, ... without a gap; at least one."""
    orders = 0
    while f"hyp_{orders + 1}" in data.u:
        orders += 1
    return max(orders, 1)


def _difference(name: str, score: Quantity, u: Integers, v: Integers, pairing: Pairing) -> Joint:
    sums = totals(u), totals(v)
    require_room(*sums)
    scores = observed_score(score, sums[0], "/u"), observed_score(score, sums[1], "/v")
    items, u, v = len(u), clustered(u, pairing), clustered(v, pairing)
    function = FunctionOf(Difference(score))
    stay, swap = np.hstack([u, v]), np.hstack([v, u])
    return Joint(name, stay, swap, function, items, pairing.n_clusters, True, scores[0], scores[1])


def _require_segments(data: Segments) -> None:
    require_items(len(data.u), "/u")
    require_same_length(len(data.u), len(data.v), "/v", ("u", "v"))
    require_same_length(len(data.u), len(data.references), "/references", ("u", "references"))
    for index, references in enumerate(data.references):
        if not references:
            detail = f"Item {index} has no reference."
            raise InvalidTest.at(f"/references/{index}", "no_reference", detail)


def _metric(spec: StatisticSpec) -> Any:
    """Create sacrebleu's metric from its defaults and the parameters of the statistic."""
    require_known("segments", spec.name, spec.parameters)
    try:
        metrics: Any = importlib.import_module("sacrebleu.metrics")
    except ImportError as error:
        detail = f"{missing('mt')}; or post the segments' counts."
        raise InvalidTest.at("/statistic/name", "not_installed", detail) from error
    # Parameters have sacrebleu's names and defaults.
    parameters = {name: value for name, value in spec.parameters.items() if value is not None}
    if spec.name == "bleu":
        return metrics.BLEU(**parameters, force=True)
    if spec.name == "ter":
        return metrics.TER(**parameters)
    words = parameters.get("word_order", 0)
    if isinstance(words, bool) or not isinstance(words, int) or not 0 <= words <= MAX_WORD_ORDERS:
        detail = f"`word_order` must be an integer from 0 to {MAX_WORD_ORDERS}; 2 is chrF++."
        raise InvalidTest.at("/statistic/word_order", "out_of_range", detail)
    # The best of several references for a segment depends on beta.
    return metrics.CHRF(**parameters | {"beta": float(beta_of(spec, default=2))}, char_order=CHAR_ORDERS)


def _statistics(metric: Any, system: Sequence[str], data: Segments) -> list[list[float]]:
    """Return sacrebleu's sufficient statistics, a row for each segment."""
    # sacrebleu takes one document for each reference, None where an item has fewer of them.
    documents = list(itertools.zip_longest(*data.references))
    rows: list[list[float]] = metric._extract_corpus_statistics(list(system), documents)  # noqa: SLF001 -- no public way
    return rows


def _words(ter: Any, text: str) -> list[str]:
    """Split words as TER compares them: in lower case, and with `normalized` punctuation apart, unless the parameters
    change that.
    """
    words: list[str] = ter._preprocess_segment(text).split()  # noqa: SLF001 -- no public way
    return words


def _estimated(metric: Any, system: Sequence[str], data: Segments) -> list[list[float]]:
    """Return rows like those of `_statistics`, repeated from the beginnings of a few segments; those of TER by words
    alone.
    """
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
