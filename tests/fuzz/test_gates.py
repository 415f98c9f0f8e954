"""Gates of a few units through the front door, against every swap in fractions: p, the least p of any outcome, the verdict."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import product
from random import Random
from typing import Any

import pytest
from hypothesis import given, strategies as st

from tests.enumeration import holm
from tests.fuzz.asgi import GENERATED, InProcess, examples
from tests.fuzz.joint_cases import NAMED, Value, over

Statistic = Callable[[Sequence[bool]], Value]
_LABELS = "abc"
_ALPHAS = [0.05, 0.05, 0.125, 0.25, 0.0625, 0.3, 0.5]
_POLICIES = ["no_regression", "no_regression", "no_regression", "non_inferior", "improve", "equivalent"]


@dataclass(frozen=True)
class OneSided:
    """p of what was observed, of the most extreme outcome, and what may decide: (p, p), or p with half of its ties off."""

    p: Fraction
    least: Fraction
    low: Fraction
    high: Fraction


@dataclass(frozen=True)
class GateMetric:
    """A metric of the request; `shifted` gives the statistic with a difference taken off U, for every choice of swaps."""

    request: dict[str, Any]
    units: int
    shifted: Callable[[Fraction], Statistic]
    policy: str
    margin: Fraction
    alpha: Fraction
    higher: bool
    mid: bool
    mid_is_known: bool

    @property
    def items(self) -> int:
        """How many items it has."""
        request = self.request["request"]
        column = request["stay"] if "stay" in request else request["u"]
        return len(next(iter(column.values())) if isinstance(column, dict) else column)

    @property
    def same(self) -> bool:
        """Whether both systems have the same values on every item."""
        request = self.request["request"]
        if "stay" in request:
            return bool(request["stay"] == request["swap"] and sum(request["stay"]) == 0)
        return bool(request["u"] == request["v"])

    @property
    def is_open(self) -> bool:
        """Whether they differ in nothing that the statistic sees: the service may tell this from `same`, or not."""
        return not self.same and set(self.values()) == {Fraction(0)}

    def values(self, difference: Fraction = Fraction(0)) -> list[Value]:
        """The statistic under every swap, that of what was observed first."""
        statistic = self.shifted(difference)
        return [statistic(chosen) for chosen in product((False, True), repeat=self.units)]

    def one_sided(self, greater: bool, difference: Fraction) -> OneSided:
        """The test of U - V above (or below) a difference."""
        values = self.values(difference)
        toward = [None if value is None else value if greater else -value for value in values]
        observed = toward[0]
        assert observed is not None
        largest = max(value for value in toward if value is not None)
        p, least = (
            Fraction(sum(value is None or value >= end for value in toward), len(toward))
            for end in (observed, largest)
        )
        if not self.mid:
            return OneSided(p, least, p, p)
        if not self.mid_is_known:
            return OneSided(p, least, p / 2, p)
        mid = p - Fraction(sum(value == observed for value in toward), 2 * len(toward))
        return OneSided(mid, least / 2, mid, mid)


@dataclass(frozen=True)
class Verdict:
    """What a metric must say; `least` is None where the policy has two tests."""

    verdict: str
    p_adjusted: Fraction
    least: Fraction | None


def verdicts(metrics: Sequence[GateMetric]) -> list[Verdict]:
    """By the policies as they are documented."""
    tests, different = [], []
    for metric in metrics:
        margin = metric.margin
        if metric.policy == "equivalent":
            above, below = metric.one_sided(True, -margin), metric.one_sided(False, margin)
            tests.append(max((above, below), key=lambda test: test.p))
            low, high = max(above.low, below.low), max(above.high, below.high)
            tests[-1] = OneSided(tests[-1].p, max(above.least, below.least), low, high)
            either = metric.one_sided(True, margin), metric.one_sided(False, -margin)
            smaller = min(either, key=lambda test: test.high).high
            different.append(min(Fraction(1), 2 * smaller) * len(metrics) <= metric.alpha)
            continue
        greater = (metric.policy != "no_regression") == metric.higher
        size = margin if metric.policy == "improve" else -margin
        tests.append(metric.one_sided(greater, size if metric.higher else -size))
        different.append(False)
    points, lows, highs = (holm([getattr(test, name) for test in tests]) for name in ("p", "low", "high"))
    found = []
    for index, metric in enumerate(metrics):
        others = [test.high for test in tests]
        others[index] = tests[index].least
        shown, open_ = highs[index] <= metric.alpha, lows[index] <= metric.alpha
        if metric.policy == "equivalent":
            verdict = "pass" if shown and not different[index] else "inconclusive"
            if different[index] and not shown:
                verdict = "fail"
        elif metric.policy != "no_regression":
            verdict = "pass" if shown else "fail"
        elif shown:
            verdict = "fail"
        else:
            hopeless = holm(others)[index] > metric.alpha
            verdict = "inconclusive" if open_ or (hopeless and not metric.same) else "pass"
        least = None if metric.policy == "equivalent" else tests[index].least
        found.append(Verdict(verdict, points[index], least))
    return found


def gate_case(random: Random) -> tuple[dict[str, Any], list[GateMetric]]:
    """A request, and its metrics: one to three of scores, counts, labels or effects, with clusters or without."""
    alpha, higher = random.choice(_ALPHAS), random.random() < 0.7
    count = random.choice([1, 1, 1, 2, 3])
    metrics: list[GateMetric] = []
    while len(metrics) < count:
        metric = _metric(random, alpha, higher)
        metrics += [] if metric.is_open else [metric]
    request: dict[str, Any] = {"on_inconclusive": random.choice(["pass", "fail"]), "alpha": alpha}
    if count == 1:
        return {**request, **metrics[0].request}, metrics
    named = [{"name": f"m{index}", **metric.request} for index, metric in enumerate(metrics)]
    return {**request, "metrics": named}, metrics


def _metric(random: Random, alpha: float, higher: bool) -> GateMetric:
    make = random.choice([_sums, _sums, _quantiles, _quantiles, _quantiles, _counts, _labels, _effects])
    kind, request, units, shifted, margins = make(random)
    policy = random.choice(_POLICIES if margins else _POLICIES[:-1])
    margin = random.choice([*margins, *margins, 0.0]) if margins else 0.0
    if policy == "equivalent":
        margin = random.choice(margins)
    mid = make not in {_counts, _labels} and random.random() < 0.15
    terms: dict[str, Any] = {"policy": policy, "higher_is_better": higher}
    if margin:
        terms["margin"] = margin
    whole = {**request, "pmf": "none", **({"significance": "mid_p"} if mid else {})}
    return GateMetric(
        {"kind": kind, "request": whole, **terms}, units, shifted, policy, Fraction(repr(margin)), Fraction(alpha),
        higher, mid, make in {_sums, _effects},
    )  # fmt: skip


Made = tuple[str, dict[str, Any], int, Callable[[Fraction], Statistic], list[float]]


def _clusters(random: Random, items: int) -> tuple[dict[str, Any], list[list[int]]]:
    """The request's clusters, or none, and the items of each unit."""
    if items < 3 or random.random() < 0.6:
        return {}, [[item] for item in range(items)]
    codes = [random.randrange(random.randint(2, items)) for _ in range(items)]
    return {"clusters": codes}, [
        [i for i in range(items) if codes[i] == code] for code in dict.fromkeys(codes)
    ]


def _scores(random: Random, values: Sequence[int]) -> tuple[list[int], list[int]]:
    """Two columns; often few items differ, and sometimes none."""
    items = random.randint(1, 9)
    u = [random.choice(values) for _ in range(items)]
    tied = random.choice([0.0, 0.0, 0.3, 0.8, 1.0])
    return u, [one if random.random() < tied else random.choice(values) for one in u]


def _sums(random: Random) -> Made:
    name = random.choice(["mean_difference", "mean_difference", "sum_difference", "sign"])
    u, v = _scores(random, random.choice([[0, 1], [0, 1, 2, 3], [-1, 2, 5, 12]]))
    clustered, units = _clusters(random, len(u))
    two_valued = len({*u, *v, 0}) <= 2  # right or wrong: a margin is tested by another, asymptotic test
    margins = [] if name == "sign" or two_valued else [0.25, 0.5, 1.0, 2.0]

    def shifted(difference: Fraction) -> Statistic:
        each = difference if name == "mean_difference" else difference / len(u)
        single = [Fraction(one - other) - each for one, other in zip(u, v, strict=True)]
        if name == "sign":
            single = [Fraction((effect > 0) - (effect < 0)) for effect in single]
        scale = Fraction(1, len(u)) if name == "mean_difference" else Fraction(1)
        effects = [scale * sum((single[item] for item in unit), Fraction(0)) for unit in units]
        return lambda chosen: sum((-e if s else e for e, s in zip(effects, chosen, strict=True)), Fraction(0))

    return "scores", {"u": u, "v": v, "statistic": {"name": name}, **clustered}, len(units), shifted, margins


def _quantiles(random: Random) -> Made:
    interpolation = random.choice(["linear", "linear", "inverted_cdf"])
    u, v = _scores(random, random.choice([[0, 1], [0, 1, 2, 3], [0, 1, 2, 3], [-4, 0, 1, 7, 9]]))
    clustered, units = _clusters(random, len(u))
    q = random.choice([0.5, 0.5, 0.25, 0.333, 0.9])
    named: dict[str, Any] = (
        {"name": "median_difference"} if q == 0.5 else {"name": "quantile_difference", "q": q}
    )
    margins = [0.25, 0.5, 1.0, 2.0] if len({*u, *v}) > 2 else []

    def quantile(values: list[Fraction]) -> Fraction:
        ordered, exact = sorted(values), Fraction(repr(q))
        if interpolation == "inverted_cdf":
            return ordered[max(-(-(len(values) * exact) // 1), 1) - 1]
        place = (len(values) - 1) * exact
        low = place // 1
        high = min(low + 1, len(values) - 1)
        return ordered[low] + (place - low) * (ordered[high] - ordered[low])

    def shifted(difference: Fraction) -> Statistic:
        def statistic(chosen: Sequence[bool]) -> Fraction:
            one, other = [u_ - difference for u_ in map(Fraction, u)], list(map(Fraction, v))
            for unit, swapped in zip(units, chosen, strict=True):
                for item in unit if swapped else ():
                    one[item], other[item] = other[item], one[item]
            return quantile(one) - quantile(other)

        return statistic

    statistic = {**named, "interpolation": interpolation}
    return "scores", {"u": u, "v": v, "statistic": statistic, **clustered}, len(units), shifted, margins


def _counts(random: Random) -> Made:
    names, statistic, score = NAMED[random.choice(sorted(NAMED))]
    items, most = random.randint(1, 7), random.choice([1, 3, 1000])
    rows = [[[random.randint(0, most) for _ in names] for _ in range(items)] for _ in range(2)]
    for item in range(items):
        if random.random() < 0.3:
            rows[1][item] = list(rows[0][item])
    clustered, units = _clusters(random, items)

    def value(chosen: Sequence[bool]) -> Value:
        sums = [[0] * len(names), [0] * len(names)]
        for unit, swapped in zip(units, chosen, strict=True):
            for item in unit:
                for side in (0, 1):
                    own = rows[1 - side if swapped else side][item]
                    sums[side] = [a + b for a, b in zip(sums[side], own, strict=True)]
        one, other = score(sums[0]), score(sums[1])
        return None if one is None or other is None else one - other

    u, v = ({name: [row[k] for row in system] for k, name in enumerate(names)} for system in rows)
    return "counts", {"u": u, "v": v, "statistic": statistic, **clustered}, len(units), lambda _: value, []


def _labels(random: Random) -> Made:
    items = random.randint(1, 7)
    gold, u, v = ([random.choice(_LABELS) for _ in range(items)] for _ in range(3))
    for item in range(items):
        if random.random() < 0.4:
            u[item] = gold[item]
        if random.random() < 0.4:
            v[item] = u[item]
    statistic = random.choice(
        [{"name": "f1", "average": "macro"}, {"name": "f1", "average": "macro"}, {"name": "accuracy"}]
    )
    clustered, units = _clusters(random, items)

    def score(predicted: list[str]) -> Fraction:
        pairs = list(zip(gold, predicted, strict=True))
        if statistic["name"] == "accuracy":
            return Fraction(sum(a == b for a, b in pairs), items)
        each = []
        for label in sorted({*gold, *predicted}):
            hit = sum(a == b == label for a, b in pairs)
            each.append(over(2 * hit, sum((a == label) + (b == label) for a, b in pairs)) or Fraction(0))
        return sum(each, Fraction(0)) / len(each)

    def value(chosen: Sequence[bool]) -> Fraction:
        systems = [list(u), list(v)]
        for unit, swapped in zip(units, chosen, strict=True):
            for item in unit if swapped else ():
                systems[0][item], systems[1][item] = systems[1][item], systems[0][item]
        return score(systems[0]) - score(systems[1])

    request = {"gold": gold, "u": u, "v": v, "statistic": statistic, **clustered}
    return "predictions", request, len(units), lambda _: value, []


def _effects(random: Random) -> Made:
    items = random.randint(1, 8)
    stay, swap = ([random.randint(-3, 4) for _ in range(items)] for _ in range(2))

    def value(chosen: Sequence[bool]) -> Fraction:
        return Fraction(sum(b if s else a for a, b, s in zip(stay, swap, chosen, strict=True)))

    request = {"stay": stay, "swap": swap, "statistic": {"expression": "x1"}}
    return "effects", request, items, lambda _: value, []


WORST = ("fail", "inconclusive", "pass")


@examples(60)
@given(st.integers(0, 2**63))
def test_a_gate_says_what_every_swap_in_fractions_says(service: InProcess, seed: int) -> None:
    request, metrics = gate_case(Random(seed))
    defined = all(metric.values()[0] is not None for metric in metrics)
    status, answer = service.post("/v1/gate", request)
    GENERATED["gates"] += 1
    if not defined:
        assert status == 422, request
        # A single item is refused before its statistic is computed.
        single = {"one_item"} if any(metric.items == 1 for metric in metrics) else set()
        codes = {error["code"] for error in answer["errors"]}
        assert codes <= {"undefined_statistic"} | single, (request, answer)
        return
    if status == 422:
        codes = {error["code"] for error in answer["errors"]}
        assert codes <= {"labels_never_match", "one_item"}, (request, answer)
        assert ("one_item" in codes) == any(metric.items == 1 for metric in metrics), (request, answer)
        GENERATED["gates refused by their labels, or for one item"] += 1
        return
    assert status in {200, 409}, (request, answer)
    expected = verdicts(metrics)
    for metric, own, truth in zip(metrics, answer["metrics"], expected, strict=True):
        assert own["verdict"] == truth.verdict, (request, own["reason"])
        assert own["decision"]["p_value_adjusted"] == pytest.approx(float(truth.p_adjusted), rel=1e-9), (
            request
        )
        if truth.least is not None:
            assert own["decision"]["min_attainable_p"] == pytest.approx(float(truth.least), rel=1e-9), request
        judge_test(metric, own["test"], request)
        GENERATED[f"verdicts {truth.verdict}"] += 1
    overall = min((truth.verdict for truth in expected), key=WORST.index)
    passed = overall == "pass" or (overall == "inconclusive" and request["on_inconclusive"] == "pass")
    assert (answer["verdict"], answer["passed"]) == (overall, passed), request
    assert status == (200 if passed else 409)


def judge_test(metric: GateMetric, test: dict[str, Any], request: dict[str, Any]) -> None:
    """The test of no difference beside the decision: its p, the least one, and a range that holds what was observed."""
    values = metric.values()
    toward = 1 if test["alternative"] == "greater" else -1
    known = [value for value in values if value is not None]
    if test["alternative"] != "two-sided":
        largest = max(toward * value for value in known)
        least = Fraction(sum(value is None or toward * value == largest for value in values), len(values))
    else:
        largest = max(abs(value) for value in known)
        least = Fraction(sum(value is None or abs(value) == largest for value in values), len(values))
    assert test["min_attainable_p"] == pytest.approx(float(least), rel=1e-9), request
    low, high = test["null"]["min"], test["null"]["max"]
    assert low <= test["statistic"]["observed"] <= high, request
    assert test["null"]["range_exact"], request
    if len(known) == len(values):
        assert (low, high) == pytest.approx((float(min(known)), float(max(known))), rel=1e-9, abs=1e-12), (
            request
        )
