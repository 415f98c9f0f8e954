"""Small tests of several sums with their p-value by every swap, from each score's definition: what samples are held against."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from fractions import Fraction
from random import Random
from typing import Any

from tests.fuzz.joint_cases import SIDES, joint_case

Score = Callable[[Sequence[Any]], Any]
# Doubles that differ by less are equal; scores of such small counts that differ do so by far more.
_NEAR = 1e-9
_ORDERS = 4


def controlled_case(random: Random) -> tuple[str, dict[str, Any], Fraction | None]:
    """(kind, request, exact p-value), None where the statistic has no value as observed."""
    kind = random.choice(["formula", "macro", "mcc", "bleu", "chrf"])
    if kind == "formula":
        case = joint_case(random)
        return case.kind, {**case.request, **_sampled(random, case.request["alternative"])}, case.p_value()
    side = random.choice(SIDES)
    if kind in {"macro", "mcc"}:
        return _labels(random, kind, side)
    return _corpus(random, kind, side)


def _sampled(random: Random, side: str) -> dict[str, Any]:
    return {
        "alternative": side,
        "method": "monte_carlo",
        "pmf": "none",
        "samples": random.choice([50, 400, 4096, 5000]),
        "seed": random.randrange(2**32),
    }


def _labels(random: Random, kind: str, side: str) -> tuple[str, dict[str, Any], Fraction]:
    items, classes = random.randint(5, 10), random.choice([3, 4])
    gold, u, v = ([random.randrange(classes) for _ in range(items)] for _ in range(3))
    for row in (u, v):
        for item in range(items):
            if random.random() < 0.4:
                row[item] = gold[item]
    statistic = {"name": "f1", "average": "macro"} if kind == "macro" else {"name": "mcc"}
    request = {"gold": gold, "u": u, "v": v, "statistic": statistic, **_sampled(random, side)}
    score = macro_f1 if kind == "macro" else mcc
    truth = p_value(list(zip(gold, u, strict=True)), list(zip(gold, v, strict=True)), score, side)
    return "predictions", request, truth


def macro_f1(pairs: Sequence[tuple[int, int]]) -> Fraction:
    """scikit-learn's, over the labels of gold and predictions."""
    labels = {label for pair in pairs for label in pair}
    total = Fraction(0)
    for label in labels:
        right = sum(gold == label == found for gold, found in pairs)
        total += Fraction(2 * right, sum((gold == label) + (found == label) for gold, found in pairs))
    return total / len(labels)


def mcc(pairs: Sequence[tuple[int, int]]) -> float:
    """Gorodkin's, from its definition by covariances of indicators."""
    labels, size = {label for pair in pairs for label in pair}, len(pairs)

    def covariance(one: int, other: int) -> int:
        total = 0
        for label in labels:
            first = [pair[one] == label for pair in pairs]
            second = [pair[other] == label for pair in pairs]
            both = sum(a and b for a, b in zip(first, second, strict=True))
            total += size * both - sum(first) * sum(second)
        return total

    below = covariance(0, 0) * covariance(1, 1)
    return covariance(0, 1) / math.sqrt(below) if below else 0.0


def _corpus(random: Random, kind: str, side: str) -> tuple[str, dict[str, Any], Fraction]:
    draw, names = (_bleu_row, BLEU) if kind == "bleu" else (_chrf_row, CHRF)
    segments = random.randint(5, 9)
    rows = [[draw(random, 4 + item) for item in range(segments)] for _ in range(2)]
    columns = [{name: [row[k] for row in system] for k, name in enumerate(names)} for system in rows]
    statistic = {"name": kind} if kind == "bleu" else {"name": "chrf", "beta": 2}
    request = {"u": columns[0], "v": columns[1], "statistic": statistic, **_sampled(random, side)}
    return "counts", request, p_value(rows[0], rows[1], bleu if kind == "bleu" else chrf, side)


BLEU = (
    "sys_len",
    "ref_len",
    *(f"correct_{n}" for n in range(1, 5)),
    *(f"total_{n}" for n in range(1, 5)),
)
CHRF = tuple(f"{kind}_{n}" for n in (1, 2) for kind in ("hyp", "ref", "match"))


def _bleu_row(random: Random, reference: int) -> list[int]:
    length = random.randint(4, 14)
    totals = [length - n for n in range(_ORDERS)]
    correct, most = [], min(length, reference)
    for total in totals:
        most = random.randint(0, min(most, total))
        correct.append(most)
    return [length, reference, *correct, *totals]


def _chrf_row(random: Random, reference: int) -> list[int]:
    row = []
    for n in range(2):
        predicted, true = random.randint(3, 14) - n, reference - n
        row += [predicted, true, random.randint(0, min(predicted, true))]
    return row


def bleu(rows: Sequence[Sequence[int]]) -> float:
    """Papineni et al. (2002), with exponential smoothing."""
    system, reference, *counts = (sum(column) for column in zip(*rows, strict=True))
    if not any(counts[:_ORDERS]):
        return 0.0
    logs, smoothing = 0.0, 1.0
    for matched, possible in zip(counts[:_ORDERS], counts[_ORDERS:], strict=True):
        smoothing *= 1.0 if matched else 2.0
        logs += math.log((matched or 1.0 / smoothing) / possible)
    return 100.0 * math.exp(min(0.0, 1.0 - reference / system) + logs / _ORDERS)


def chrf(rows: Sequence[Sequence[int]]) -> float:
    """Popović (2015) with beta 2, of two orders."""
    sums = [sum(column) for column in zip(*rows, strict=True)]
    precision = sum(sums[3 * n + 2] / sums[3 * n] for n in range(2)) / 2.0
    recall = sum(sums[3 * n + 2] / sums[3 * n + 1] for n in range(2)) / 2.0
    return 100.0 * 5.0 * precision * recall / (4.0 * precision + recall) if precision else 0.0


def p_value(u: Sequence[Any], v: Sequence[Any], score: Score, side: str) -> Fraction:
    """The share of all swaps with a difference at least as extreme."""
    values: list[Any] = []
    for chosen in itertools.product((False, True), repeat=len(u)):
        one = [b if swapped else a for a, b, swapped in zip(u, v, chosen, strict=True)]
        other = [a if swapped else b for a, b, swapped in zip(u, v, chosen, strict=True)]
        values.append(score(one) - score(other))
    least = values[0] if side != "two-sided" else abs(values[0])
    if side == "two-sided":
        values = [abs(value) for value in values]
    if side == "less":
        least, values = -least, [-value for value in values]
    return Fraction(sum(value >= least - _NEAR for value in values), len(values))
