"""Statistics of pairs against their definitions under all swaps: ties, groups, clusters, events, every scale."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any

import pytest

from tests.fuzz.asgi import GENERATED, TIMES, InProcess

NAMES = ("auc", "concordance", "kendall", "pairwise_accuracy", "spearman")
SCALES = ("ranks", "raw", "standardized")
_SAME = Decimal(10) ** -60
_USUAL: tuple[tuple[float, ...], ...] = (
    (0.1, 0.2, 0.3),
    (0.5, 1.25, 2.0, 3.5, 4.0),
    tuple(k / 8 for k in range(40)),
    (-1, 0, 1, 2),
)
# z-scores of these would need more digits than the oracle has.
_EXTREMES: tuple[tuple[float, ...], ...] = (
    (0.0, -0.0, 5e-324, -5e-324, 1e-323),
    (1.7976931348623157e308, -1e308, 1e308, 1e-308, 0.5),
    (2**63 - 1, 2**63 - 2, -(2**63), 2**53 + 1, 2**53, 0),
    (0.30000000000000004, 0.3, 1 / 3, 0.1, 0.2),
)
# Groups up to, and of more than, the 64 items that are compared in blocks; their swaps are few, as their clusters are. And numbers at the ends of doubles and integers.
_MANY, _EXTREME = 0.03, 0.15

Number = Fraction | Decimal


@dataclass(frozen=True)
class Case:
    """One request."""

    body: dict[str, Any]

    def part(self, name: str) -> list[Any]:
        """A column; of groups, clusters and events one value for all where there are none."""
        default = {"groups": 0, "event": 1}.get(name)
        n = len(self.body["gold"])
        return list(self.body.get(name) or (range(n) if name == "clusters" else [default] * n))


def pair_case(source: random.Random, name: str) -> Case:
    """Up to nine items with many ties, or many in a few clusters; a case may turn out to have no comparable pair."""
    many = source.random() < _MANY
    n = source.choice((40, 64, 68) if many else (2, 3, 4, 5, 6, 7, 8, 8, 9))
    extreme = source.random() < _EXTREME
    values = source.choice(_EXTREMES if extreme else _USUAL)
    u, v = ([source.choice(values) for _ in range(n)] for _ in range(2))
    if (
        source.random() < 0.2 and not extreme
    ):  # one of the systems on a scale of its own: z-scores of unlike roots, and of equal values
        factor = source.choice((2, 3, 0.5))
        v = [x * factor for x in (source.sample(u, n) if source.random() < 0.5 else v)]
    statistic: dict[str, Any] = {"name": name}
    if name == "auc":
        labels = source.choice(((0, 1), ("no", "yes")))
        gold: list[Any] = [source.choice(labels) for _ in range(n)]
        if labels[1] == "yes":
            statistic["positive"] = "yes"
    else:
        gold = [source.choice((1, 2, 2.5, 4, 0.1)) for _ in range(n)]
    body: dict[str, Any] = {"gold": gold, "u": u, "v": v, "statistic": statistic}
    if source.random() < 0.5:
        body["groups"] = [source.choice("abc") for _ in range(n)]
        statistic["group_average"] = source.choice(("mean", "sum"))
    if many or source.random() < 0.4:
        body["clusters"] = [source.choice("pqrst") for _ in range(n)]
    if name == "concordance" and source.random() < 0.7:
        body["event"] = [source.choice((0, 1, True, False)) for _ in range(n)]
    if source.random() < 0.7:
        statistic["scale"] = source.choice(SCALES[:2] if extreme else SCALES)
    if name == "kendall" and source.random() < 0.7:
        statistic["variant"] = source.choice("abc")
        if statistic["variant"] == "c":
            statistic.pop("group_average", None)
    if name == "pairwise_accuracy" and source.random() < 0.7:
        statistic["epsilon"] = source.choice((0, 0.1, 0.2, 0.5, 1, 1.5))
    body["alternative"] = source.choice(("two-sided", "greater", "less"))
    return Case(body)


def answer_of(this: Case) -> tuple[Number, Number, Fraction] | None:
    """(score of U, score of V, p) by the definition under all swaps; None where nothing is comparable.

    ZeroDivisionError where a system of equal scores is to be standardized.
    """
    with localcontext() as context:
        context.prec = 120
        statistic = this.body["statistic"]
        scale = statistic.get("scale", "raw" if statistic["name"] == "pairwise_accuracy" else "ranks")
        u, v = (_scaled(this.body[role], scale) for role in "uv")
        clusters = this.part("clusters")
        keys = sorted(set(clusters))
        values: dict[tuple[int, ...], Any] = {}
        untied = scale == "ranks" and all(len(set(column)) == len(column) for column in (u, v))
        for swaps in itertools.product((0, 1), repeat=len(keys)):
            swapped = dict(zip(keys, swaps, strict=True))
            system = [b if swapped[key] else a for a, b, key in zip(u, v, clusters, strict=True)]
            score = _score(this, system, untied=untied)
            if score is None:
                return None
            values[swaps] = score
        differences = [
            one - values[tuple(1 - swap for swap in swaps)] for swaps, one in values.items()
        ]  # the first is as observed
        first = differences[0]
        reached = {
            "two-sided": sum(_order(abs(t), abs(first)) >= 0 for t in differences),
            "greater": sum(_order(t, first) >= 0 for t in differences),
            "less": sum(_order(t, first) <= 0 for t in differences),
        }[this.body["alternative"]]
        everything = list(values.values())
        return everything[0], everything[-1], Fraction(reached, len(differences))


def _scaled(column: Sequence[float], scale: str) -> list[Number]:
    exact = [Fraction(repr(x)) for x in column]
    if scale == "raw":
        return list(exact)
    if scale == "ranks":
        return [sum(y < x for y in exact) + Fraction(sum(y == x for y in exact) + 1, 2) for x in exact]
    mean = Fraction(sum(exact)) / len(exact)
    variance = sum(((x - mean) ** 2 for x in exact), Fraction(0)) / len(exact)
    if variance == 0:
        raise ZeroDivisionError
    root = _decimal(variance).sqrt()
    return [_decimal(x - mean) / root for x in exact]


def _decimal(x: Fraction) -> Decimal:
    return Decimal(x.numerator) / Decimal(x.denominator)


def _order(x: Number, y: Number, epsilon: Fraction = Fraction(0)) -> int:
    """1 if x is above y by more than epsilon, -1 if below, 0 if they tie."""
    if isinstance(x, Fraction) and isinstance(y, Fraction):
        return 0 if abs(x - y) <= epsilon else 1 if x > y else -1
    assert isinstance(x, Decimal)
    assert isinstance(y, Decimal)
    return 0 if abs(x - y) <= _decimal(epsilon) + _SAME else 1 if x > y else -1


def _score(this: Case, system: list[Number], *, untied: bool) -> Number | None:
    """The statistic of one system: of each group a numerator and a denominator, averaged or summed.

    Where neither system has ties, ranks that meet because they were exchanged (`untied`) are none in a denominator.
    """
    statistic, groups = this.body["statistic"], this.part("groups")
    parts = []
    for key in dict.fromkeys(groups):
        part = _group(this, system, untied, [i for i, group in enumerate(groups) if group == key])
        if part is not None:
            parts.append(part)
    if not parts:
        return None
    if (
        statistic["name"] == "spearman"
        or statistic.get("variant", "a" if statistic["name"] != "kendall" else "b") == "b"
    ):
        return _by_roots(parts, summed=statistic.get("group_average", "mean") == "sum")
    if statistic.get("group_average", "mean") == "sum":
        whole: Fraction = sum((top for top, _ in parts), Fraction(0)) / sum(bottom for _, bottom in parts)
        return whole
    mean: Fraction = sum((top / bottom for top, bottom in parts), Fraction(0)) / len(parts)
    return mean


def _by_roots(parts: Sequence[tuple[Any, Any]], *, summed: bool) -> Number:
    """Numerators over the roots of products of two spreads; 0 where there is no spread."""
    if summed:
        parts = [
            (sum(top for top, _ in parts), tuple(map(sum, zip(*(both for _, both in parts), strict=True))))
        ]
    values = [
        _decimal(Fraction(top)) / _decimal(Fraction(one * other)).sqrt() if one * other else Decimal(0)
        for top, (one, other) in parts
    ]
    return sum(values, Decimal(0)) / len(values)


def _group(this: Case, system: list[Number], untied: bool, items: list[int]) -> tuple[Fraction, Any] | None:
    statistic, gold, event = this.body["statistic"], this.body["gold"], this.part("event")
    name, n = statistic["name"], len(items)
    exact = gold if name == "auc" else [Fraction(repr(x)) for x in gold]
    if name == "auc":
        positive = statistic.get("positive", 1)
        pairs = [(i, j) for i in items for j in items if gold[i] == positive and gold[j] != positive]
        return _halves(system, pairs)
    if name == "concordance":  # j has its event, and i is known to have come later
        later = [
            (i, j)
            for i in items
            for j in items
            if event[j] and (exact[i] > exact[j] or (exact[i] == exact[j] and not event[i] and i != j))
        ]
        return _halves(system, later)
    both = list(itertools.combinations(items, 2))
    if name == "pairwise_accuracy":
        epsilon = Fraction(repr(statistic.get("epsilon", 0)))
        right = sum(_order(system[i], system[j], epsilon) == _order(exact[i], exact[j]) for i, j in both)
        return (Fraction(right), len(both)) if both else None
    if len({exact[i] for i in items}) < 2:
        return None
    if name == "kendall":
        concordant = sum(_order(system[i], system[j]) * _order(exact[i], exact[j]) for i, j in both)
        variant = statistic.get("variant", "b")
        if variant == "a":
            return Fraction(concordant), len(both)
        if variant == "b":
            spreads = [sum(_order(column[i], column[j]) != 0 for i, j in both) for column in (system, exact)]
            return Fraction(concordant), (len(both) if untied else spreads[0], spreads[1])
        classes = [
            sum(all(_order(column[i], column[j]) for j in items if j < i) for i in items)
            for column in (system, exact)
        ]
        least = min(n if untied else classes[0], classes[1])
        return Fraction(2 * concordant * least), n * n * (least - 1) or 1
    ranks = [_midrank([system[j] for j in items], system[i]) for i in items]
    wanted = [_midrank([exact[j] for j in items], exact[i]) for i in items]
    middle = Fraction(n + 1, 2)
    products = [(r - middle) * (g - middle) for r, g in zip(ranks, wanted, strict=True)]
    squares = [sum(((r - middle) ** 2 for r in column), Fraction(0)) for column in (ranks, wanted)]
    return sum(products, Fraction(0)), (Fraction(n**3 - n, 12) if untied else squares[0], squares[1])


def _halves(system: list[Number], pairs: list[tuple[int, int]]) -> tuple[Fraction, int] | None:
    """Pairs whose first item should be above the second."""
    if not pairs:
        return None
    return Fraction(sum(1 + _order(system[i], system[j]) for i, j in pairs), 2), len(pairs)


def _midrank(column: Sequence[Number], x: Number) -> Fraction:
    return Fraction(sum(1 + _order(x, y) for y in column) + 1, 2)


CASES = 20


@pytest.mark.parametrize("name", NAMES)
def test_pairs_are_those_of_the_definition(service: InProcess, name: str) -> None:
    source = random.Random(name if TIMES == 1 else None)
    for _ in range(CASES * TIMES):
        case = pair_case(source, name)
        status, said = service.post("/v1/tests/predictions", {**case.body, "exact_fraction": True})
        try:
            wanted = answer_of(case)
        except ZeroDivisionError:
            wanted = None
        if wanted is None:
            codes = {flaw["code"] for flaw in said["errors"]}
            assert status == 422, case
            assert codes <= {"no_comparable_pair", "constant_scores", "unknown_positive"}, (case, said)
            GENERATED["statistics of pairs without a pair"] += 1
            continue
        GENERATED[f"cases of {name}, all swaps"] += 1
        u, v, p = wanted
        if status == 422 and len(case.body["gold"]) >= 40:  # the budget of this service is small
            assert {flaw["code"] for flaw in said["errors"]} == {"plan_too_large"}, (case, said)
            GENERATED["statistics of pairs over the budget"] += 1
            continue
        assert status == 200, (case, said)
        assert said["method"]["exact"], case
        fraction = said["p_value_fraction"]
        assert (said["statistic"]["u"], said["statistic"]["v"]) == pytest.approx(
            (float(u), float(v)), abs=1e-15
        ), case
        assert said["p_value"] == pytest.approx(float(p), rel=1e-12), (case, float(p))
        assert int(fraction["numerator"]) * p.denominator == p.numerator * 2 ** int(
            fraction["log2_denominator"]
        ), case
