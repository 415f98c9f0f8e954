"""F1 of labels against all 2**n swaps up to n = 14, and meeting in the middle against listing at n = 20."""

from __future__ import annotations

import itertools
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from exactperm.engine.lattice import canonical_form
from exactperm.engine.one_sum import enumeration, meet_in_the_middle
from exactperm.engine.plan import Budget
from exactperm.engine.probability import region
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Predictions, StatisticSpec

WAYS: dict[str, dict[str, Any]] = {
    "binary": {"average": "binary", "positive": 1},
    "micro": {"average": "micro", "labels": [1, 2]},
    "macro": {"average": "macro"},
}


def f1(tp: int, said: int, true: int) -> Fraction:
    return Fraction(2 * tp, said + true) if said + true else Fraction(0)


def score(way: str, gold: NDArray[np.int64], said: NDArray[np.int64]) -> Fraction:
    """scikit-learn's F1 with zero_division=0, in fractions; macro is over the classes in gold or predicted."""
    classes = sorted({*gold.tolist(), *said.tolist()} | ({1, 2} if way != "macro" else set()))
    table = {
        one: (int(((said == one) & (gold == one)).sum()), int((said == one).sum()), int((gold == one).sum()))
        for one in classes
    }
    if way == "binary":
        return f1(*table[1])
    if way == "micro":
        return f1(*(sum(table[one][part] for one in (1, 2)) for part in range(3)))
    return sum((f1(*table[one]) for one in classes), Fraction(0)) / len(classes)


def brute_force(way: str, gold: NDArray[np.int64], u: NDArray[np.int64], v: NDArray[np.int64]) -> Fraction:
    inside, target = 0, abs(score(way, gold, u) - score(way, gold, v))
    differ = np.flatnonzero(u != v)
    for signs in itertools.product((False, True), repeat=len(differ)):
        first, second = u.copy(), v.copy()
        flipped = differ[np.array(signs, dtype=bool)]
        first[flipped], second[flipped] = v[flipped], u[flipped]
        inside += abs(score(way, gold, first) - score(way, gold, second)) >= target
    return Fraction(inside, 2 ** len(differ))


@pytest.mark.parametrize("items", [5, 9, 14])
@pytest.mark.parametrize("way", WAYS)
def test_f1_of_labels_has_the_p_value_of_all_swaps(way: str, items: int) -> None:
    generator = np.random.default_rng([items, len(way)])
    classes = 2 if way == "binary" else 3
    gold = generator.integers(0, classes, items)
    u = np.where(generator.random(items) < 0.6, gold, generator.integers(0, classes, items))
    v = np.where(generator.random(items) < 0.85, (u + 1) % classes, u)
    data = Predictions(gold.tolist(), u.tolist(), v.tolist())
    found = run_test(data, StatisticSpec("f1", WAYS[way]), Options(), Budget())
    truth = brute_force(way, gold, u, v)
    assert found.method.exact
    assert found.p_value == pytest.approx(float(truth), rel=1e-12)


def test_meeting_in_the_middle_equals_listing_at_20_items() -> None:
    effects = np.random.default_rng(20).integers(-(10**9), 10**9, 20)
    form = canonical_form(effects)
    tail = region(form, int(effects.sum()), "two-sided")
    assert meet_in_the_middle.probability(form, tail) == enumeration.probability(form, tail)
