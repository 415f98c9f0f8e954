"""Boards for tests: right-or-wrong scores with their exact sign tests, and exact p-values without data."""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import cache
from itertools import combinations
from typing import Any

import numpy as np

from exactperm.answers.board import BoardRecord
from exactperm.inference.compare.board import Score, board_record
from exactperm.inference.compare.pair_tests import PairTests
from exactperm.inference.compare.systems import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import StatisticSpec


@cache
def sign_test(wins: int, losses: int) -> Fraction:
    """The two-sided exact p-value of a sign test [McNemar's exact test]."""
    n, least = wins + losses, min(wins, losses)
    tail = sum(math.comb(n, k) for k in range(least + 1))
    return min(Fraction(1), Fraction(2 * tail, 2**n))


@cache
def sign_support(n: int) -> tuple[Fraction, ...]:
    """All p-values that a sign test of n discordant items can have, ascending."""
    return tuple(sorted({sign_test(k, n - k) for k in range(n + 1)}))


def attained(support: Sequence[Fraction], x: Fraction) -> Fraction:
    """F(x), by its definition."""
    return max((value for value in support if value <= x), default=Fraction(0))


def log10(value: Fraction) -> float:
    return math.log10(value.numerator) - math.log10(value.denominator)


def of_counts(
    pairs: Sequence[tuple[int, int]], counts: Sequence[tuple[int, int, int]], *, know: str = "all"
) -> PairTests:
    """Sign tests of pairs (u, v) with (wins, ties, losses). `know`: all; fractions alone; or nothing but bounds."""
    p = [sign_test(wins, losses) for wins, _, losses in counts]
    supports = [sign_support(wins + losses) for wins, _, losses in counts]
    return of_fractions(
        p,
        pairs=pairs,
        counts=counts,
        attainable=[support[0] for support in supports],
        know=know,
        **({} if know != "all" else _null_of(counts, supports)),
    )


def _null_of(
    counts: Sequence[tuple[int, int, int]], supports: Sequence[Sequence[Fraction]]
) -> dict[str, Any]:
    return {
        "attained": lambda i, x: attained(supports[i], x),
        "null_key": lambda i: counts[i][0] + counts[i][2],
        "support": lambda i: supports[i],
    }


def of_fractions(
    p: Sequence[Fraction],
    *,
    pairs: Sequence[tuple[int, int]] | None = None,
    counts: Sequence[tuple[int, int, int]] | None = None,
    attainable: Sequence[Fraction] | None = None,
    know: str = "all",
    **null: Any,
) -> PairTests:
    """Tests with these exact p-values, and bounds one rounding around them."""
    m = len(p)
    at = np.array([(0, 1)] * m if pairs is None else pairs, np.int64).reshape(m, 2)
    wins, ties, losses = np.array([(1, 0, 0)] * m if counts is None else counts, np.int64).reshape(m, 3).T
    n = np.maximum(wins + ties + losses, 0)
    doubles = np.array([max(float(value), math.ulp(0.0)) for value in p], np.float64)
    logs = np.array([min(log10(value), 0.0) for value in p], np.float64)
    smallest = np.array([log10(value) for value in (attainable or [Fraction(1, 2**99)] * m)], np.float64)
    return PairTests(
        u=at[:, 0],
        v=at[:, 1],
        n=n,
        wins=wins,
        ties=ties,
        losses=losses,
        difference=(wins - losses) / np.maximum(n, 1),
        sign=np.sign(wins - losses),
        p=doubles,
        p_low=np.nextafter(doubles, 0.0),
        p_high=np.minimum(np.nextafter(doubles, np.inf), 1.0),
        log10_p=logs,
        log10_low=logs - 1e-12 * (1 - logs),
        log10_high=np.minimum(logs + 1e-12 * (1 - logs), 0.0),
        attainable=smallest,
        method=("fft",) * m,
        exact=np.ones(m, bool),
        sampled=np.zeros(m, bool),
        fraction=(lambda i: None) if know == "bounds" else (lambda i: p[i]),
        **null,
    )


def random_scores(rng: np.random.Generator, systems: int, items: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    """Right-or-wrong scores, shape (K, N), with systems that are alike, and often two that are the same."""
    easy = rng.random(items)
    level = rng.random(systems) * rng.choice([0.0, 0.5, 1.0, 1.0])
    scores: np.ndarray[Any, np.dtype[np.int64]] = np.asarray(
        rng.random((systems, items)) < 0.4 * easy + 0.6 * level[:, None], np.int64
    )
    if systems > 2 and rng.random() < 0.4:
        first, second = rng.choice(systems, 2, replace=False)
        scores[first] = scores[second]
    return scores


def all_pairs(scores: np.ndarray[Any, np.dtype[np.int64]], *, know: str = "all") -> PairTests:
    """The tests of all pairs of rows."""
    pairs = list(combinations(range(len(scores)), 2))
    differences = [scores[u] - scores[v] for u, v in pairs]
    counts = [(int((d > 0).sum()), int((d == 0).sum()), int((d < 0).sum())) for d in differences]
    return of_counts(pairs, counts, know=know)


def comparison(**given: Any) -> Comparison:
    """A comparison without data; options that are not of its tests belong to it."""
    own = {name: given.pop(name) for name in tuple(given) if name in Comparison.__slots__}
    return Comparison(
        {}, StatisticSpec("mean_difference"), Options(**{"higher_is_better": True, **given}), **own
    )


def board(
    scores: np.ndarray[Any, np.dtype[np.int64]], *, tests: PairTests | None = None, **given: Any
) -> BoardRecord:
    """The board of right-or-wrong scores."""
    size, items = scores.shape
    means: list[Score] = [Fraction(int(row.sum()), items) for row in scores]
    names = [f"s{k:03d}" for k in range(size)]
    return board_record(
        names, means, [items] * size, all_pairs(scores) if tests is None else tests, comparison(**given)
    )
