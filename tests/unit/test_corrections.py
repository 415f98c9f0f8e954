"""A judge corrected by people's labels, and covariates: against all swaps in fractions, coefficients computed anew in each."""

import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import pytest

from exactperm import test as run_test
from tests.enumeration import SIDES, share

Pairs = Sequence[tuple[Fraction, Fraction]]


def rounded(number: Fraction) -> Fraction:
    """Three significant digits, halves to even, by the text of a decimal."""
    if not number:
        return number
    power = next(k for k in range(400, -400, -1) if abs(number) >= Fraction(10) ** k)
    step = Fraction(10) ** (power - 2)
    return round(number / step) * step


def of_labels(
    judge: Pairs, people: Pairs, labelled: Sequence[int], codes: Sequence[int], given: Fraction | None
) -> tuple[Fraction, Fraction]:
    """(T, lambda) as the formulas of the definition have them."""
    n_all, n = len(judge), len(labelled)
    dj = [a - b for a, b in judge]
    dh = {i: people[at][0] - people[at][1] for at, i in enumerate(labelled)}
    lam = given
    if lam is None:
        above, below = Fraction(0), Fraction(0)
        for code in set(codes):
            own = [i for i in range(n_all) if codes[i] == code]
            fixed = sum((dh[i] for i in own if i in dh), Fraction(0)) / n
            moving = sum((dj[i] / n_all - (dj[i] / n if i in dh else 0) for i in own), Fraction(0))
            above, below = above - fixed * moving, below + moving * moving
        lam = above / below if below else Fraction(0)
        lam = min(max(Fraction(round(lam * 1000), 1000), Fraction(0)), Fraction(1))
    return lam * sum(dj) / n_all + sum(dh[i] - lam * dj[i] for i in labelled) / n, lam


def exchanged(pairs: Pairs, chosen: Sequence[bool]) -> list[tuple[Fraction, Fraction]]:
    return [(b, a) if swap else (a, b) for (a, b), swap in zip(pairs, chosen, strict=True)]


def drawn(rng: random.Random, n: int) -> list[tuple[Fraction, Fraction]]:
    values = rng.choice([(0, 1), (0, 1, 2, 3), (Fraction(1, 10), Fraction(1, 4), 0, Fraction(-7, 20))])
    return [(Fraction(rng.choice(values)), Fraction(rng.choice(values))) for _ in range(n)]


def numbers(pairs: Pairs, side: int) -> list[float | int]:
    return [int(one[side]) if one[side].denominator == 1 else float(one[side]) for one in pairs]


def decimal(number: Fraction) -> Fraction:
    return Fraction(str(float(number)))


def judged(rng: random.Random) -> None:
    n_all = rng.randint(2, 6)
    labelled = sorted(rng.sample(range(n_all), rng.randint(2, n_all)))
    judge, people = drawn(rng, n_all), drawn(rng, len(labelled))
    codes = [rng.randrange(n_all) for _ in range(n_all)] if rng.random() < 0.3 else list(range(n_all))
    given = rng.choice([None, None, Fraction(1, 2), Fraction(0), Fraction(1)])
    side = rng.choice(SIDES)
    units = sorted(set(codes))
    values, shares = [], set()
    for mask in range(2 ** len(units)):
        swap = [bool(mask >> units.index(codes[i]) & 1) for i in range(n_all)]
        value, lam = of_labels(
            exchanged(judge, swap), exchanged(people, [swap[i] for i in labelled]), labelled, codes, given
        )
        values.append(value)
        shares.add(lam)
    labels: list[list[Any]] = [[None] * n_all, [None] * n_all]
    for at, i in enumerate(labelled):
        labels[0][i], labels[1][i] = (numbers(people, k)[at] for k in (0, 1))
    answer = run_test(
        numbers(judge, 0), numbers(judge, 1), labels={"u": labels[0], "v": labels[1]}, clusters=list(map(str, codes)),
        alternative=side, exact_fraction=True, **({} if given is None else {"correction": {"lambda": float(given)}}),
    )  # fmt: skip
    assert len(shares) == 1
    assert answer.p_value_fraction is not None
    assert answer.p_value_fraction.value == share(values, side)
    assert answer.statistic.observed == pytest.approx(float(values[0]), abs=1e-15)
    assert answer.statistic.u is not None
    assert answer.statistic.v is not None
    assert answer.statistic.u - answer.statistic.v == pytest.approx(float(values[0]), abs=1e-14)


def test_every_swap_with_labels() -> None:
    rng = random.Random(7)
    for _ in range(1_000):
        judged(rng)


def test_worked() -> None:
    answer = run_test([1, 0, 1, 1], [0, 1, 0, 1], labels={"u": [1, 0, None, None], "v": [0, 0, None, None]})
    assert (answer.statistic.observed, answer.p_value) == (0.66675, 0.25)
