"""Samples with a control variate, through the front door, against every swap, from each score's definition."""

import math
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction
from random import Random
from secrets import randbits
from typing import Any

import pytest

from tests.enumeration import SIDES, by_swaps
from tests.fuzz.asgi import CHEAP, GENERATED, TIMES, InProcess, in_process
from tests.fuzz.joint_cases import joint_case
from tests.fuzz.test_midpoint import BLEU, bleu_score, chrf_score

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
    truth = by_swaps(list(zip(gold, u, strict=True)), list(zip(gold, v, strict=True)), score, side, _NEAR)
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
    return "counts", request, by_swaps(rows[0], rows[1], bleu if kind == "bleu" else chrf, side, _NEAR)


CHRF = tuple(f"{kind}_{n}" for kind in ("hyp", "ref", "match") for n in (1, 2))


def _bleu_row(random: Random, reference: int) -> list[int]:
    length = random.randint(4, 14)
    totals = [length - n for n in range(_ORDERS)]
    correct, most = [], min(length, reference)
    for total in totals:
        most = random.randint(0, min(most, total))
        correct.append(most)
    return [length, reference, *correct, *totals]


def _chrf_row(random: Random, reference: int) -> list[int]:
    predicted, true = [random.randint(3, 14) - n for n in range(2)], [reference - n for n in range(2)]
    return [*predicted, *true, *(random.randint(0, min(pair)) for pair in zip(predicted, true, strict=True))]


def bleu(rows: Sequence[Sequence[int]]) -> float:
    return bleu_score([sum(column) for column in zip(*rows, strict=True)])


def chrf(rows: Sequence[Sequence[int]]) -> float:
    return chrf_score([sum(column) for column in zip(*rows, strict=True)])


CASES = 50


@pytest.fixture(scope="module")
def roomy() -> Iterator[InProcess]:
    """With a budget for samples of every statistic: exact decisions on Matthews' correlation take their time."""
    with in_process(
        CHEAP.model_copy(
            update={"engine_budget_operations": 2_000_000_000, "engine_budget_bytes": 200_000_000}
        )
    ) as running:
        yield running


def answered(service: InProcess, kind: str, request: dict[str, Any]) -> dict[str, Any] | None:
    """The answer; None for a refusal of a statistic that has no value as observed."""
    result: dict[str, Any]
    status, result = service.post(f"/v1/tests/{kind}", request)
    if status == 422:
        assert {error["code"] for error in result["errors"]} == {"undefined_statistic"}, result
        return None
    assert status == 200, (result, request)
    return result


def check_controlled(answer: dict[str, Any], request: dict[str, Any]) -> None:
    """The estimate follows from its reported parts, and is not called exact."""
    drawn, (low, high) = answer["method"]["monte_carlo"], answer["p_value_bounds"]
    assert (answer["method"]["exact"], answer["method"]["relative_error_bound"]) == (False, None)
    assert answer["p_value_bounds_kind"] == "confidence"
    assert drawn["samples"] == request["samples"]
    assert drawn["p_value_plain"] == (drawn["exceedances"] + 1) / (drawn["samples"] + 1)
    assert drawn["gained"] <= drawn["exceedances"]
    raw = drawn["control_p_value"] + (drawn["gained"] - drawn["lost"]) / drawn["samples"]
    expected = min(max(raw if raw > 0.0 else drawn["p_value_plain"], low), high)
    assert math.isclose(answer["p_value"], expected, rel_tol=1e-12)
    assert 0.0 < low <= answer["p_value"] <= high <= 1.0
    assert answer["min_attainable_p"] <= high
    assert answer["significant"] == (high <= answer["alpha"])
    straddles = low <= answer["alpha"] < high
    assert ("alpha_within_bounds" in {warning["code"] for warning in answer["warnings"]}) == straddles


@pytest.mark.slow
def test_controlled_intervals_hold_every_swap(roomy: InProcess) -> None:
    controlled, missed = 0, []
    for number in range(CASES * TIMES):
        seed = number if TIMES == 1 else randbits(63)
        kind, request, truth = controlled_case(Random(seed))
        answer = answered(roomy, kind, request)
        if truth is None or answer is None:
            assert truth is None
            assert answer is None
            continue
        drawn = answer["method"]["monte_carlo"]
        if drawn is None or drawn["control"] is None:
            continue
        controlled += 1
        assert drawn["control"] == "midpoint"
        check_controlled(answer, request)
        low, high = answer["p_value_bounds"]
        if not Fraction(low) * (1 - Fraction(1, 10**9)) <= truth <= Fraction(high) * (1 + Fraction(1, 10**9)):
            missed.append((seed, low, float(truth), high))
    GENERATED["samples with a control variate"] += controlled
    GENERATED["intervals of them that miss"] += len(missed)
    assert controlled >= CASES * TIMES // 2
    assert len(missed) <= max(controlled // 100, 1), missed
