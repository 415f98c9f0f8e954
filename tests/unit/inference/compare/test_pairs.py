"""All pairs at once: by brute force, and as single tests."""

import math
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import product
from typing import Any

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.integer_systems import BinarySystems
from exactperm.inference.compare.pair_tests import PairTests
from exactperm.inference.compare.pairs import BinomialPairs, GeneralPairs, IntegerPairs, plan_pairs
from exactperm.inference.compare.systems import Comparison, common_items, pair_data
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.paired import Pairing, Repeated, StatisticSpec, Systems, SystemsKind

# Systems for tests, and the p-values of their pairs from all 2**n exchanges, in fractions.


Rows = list[Fraction]
# t of two systems' item scores.
OfPair = Callable[[Rows, Rows], Fraction]


def systems_of(
    columns: Sequence[Any], clusters: Sequence[int] | None = None, missing: float = 0.0, seed: int = 0
) -> Systems:
    """Systems s0, s1, ... with scores; of each but the last one a share of items is missing."""
    pairing = Pairing()
    if clusters is not None:
        pairing = Pairing(np.array(clusters, dtype=np.int64), len(set(clusters)))
    named, present = {}, {}
    for at, column in enumerate(columns):
        name, values = f"s{at}", np.array(column)
        values = values.astype(np.int64 if values.dtype.kind in "biu" else np.float64)
        own = np.flatnonzero(np.random.default_rng((seed, at)).random(len(values)) >= missing)
        if missing and at + 1 < len(columns) and len(own):
            present[name], values = own.astype(np.int64), values[own]
        named[name] = values
    return Systems("scores", named, pairing=pairing, present=present)


def pairs_of(systems: Systems) -> Any:
    """Every pair in both orders."""
    k = len(systems.names)
    return np.array([(u, v) for u in range(k) for v in range(k) if u != v], dtype=np.int64)


def every_pair(
    systems: Systems, statistic: str | StatisticSpec = "mean_difference", **options: Any
) -> PairTests:
    """The tests of every pair, by the way that is planned."""
    spec = StatisticSpec(statistic) if isinstance(statistic, str) else statistic
    return plan_pairs(systems, spec, Options(**options), pairs_of(systems), Budget()).solve()


def mean_difference(u: Rows, v: Rows) -> Fraction:
    return sum(u, Fraction(0)) / len(u) - sum(v, Fraction(0)) / len(v)


def sum_difference(u: Rows, v: Rows) -> Fraction:
    return sum(u, Fraction(0)) - sum(v, Fraction(0))


def sign(u: Rows, v: Rows) -> Fraction:
    return Fraction(sum((a > b) - (a < b) for a, b in zip(u, v, strict=True)))


def signed_rank(u: Rows, v: Rows) -> Fraction:
    """W+ - W- with midranks, zeros left out."""
    differences = [a - b for a, b in zip(u, v, strict=True) if a != b]
    sizes = sorted(map(abs, differences))
    total = Fraction(0)
    for d in differences:
        first, last = sizes.index(abs(d)) + 1, len(sizes) - sizes[::-1].index(abs(d))
        total += Fraction(first + last, 2) * (1 if d > 0 else -1)
    return total


STATISTICS: dict[str, OfPair] = {
    "mean_difference": mean_difference,
    "sum_difference": sum_difference,
    "sign": sign,
    "signed_rank": signed_rank,
}


class Exchanged:
    """All 2**n exchanges of the clusters of one pair: t as observed, and of every exchange."""

    def __init__(self, systems: Systems, statistic: OfPair, u: int, v: int) -> None:
        names = systems.names
        items = common_items(systems, names[u], names[v])
        n = len(systems.columns[names[u]]) if items is None else len(items)
        kept = list(range(n)) if items is None else items.tolist()
        one, other = (self._rows(systems, name, kept) for name in (names[u], names[v]))
        clusters = systems.pairing.clusters
        codes = list(range(n)) if clusters is None else [int(clusters[item]) for item in kept]
        distinct = sorted(set(codes))
        self.n, self.observed, self.all = n, statistic(one, other), []
        for exchange in product((False, True), repeat=len(distinct)):
            swap = dict(zip(distinct, exchange, strict=True))
            pairs = [(b, a) if swap[c] else (a, b) for a, b, c in zip(one, other, codes, strict=True)]
            self.all.append(statistic([a for a, _ in pairs], [b for _, b in pairs]))

    @staticmethod
    def _rows(systems: Systems, name: str, kept: list[int]) -> Rows:
        column: Any = systems.columns[name]
        own = systems.present.get(name)
        places = {int(item): at for at, item in enumerate(range(len(column)) if own is None else own)}
        return [Fraction(repr(column[places[item]].item())) for item in kept]

    def p(
        self, alternative: str, *, higher_is_better: bool = True, observed: Fraction | None = None
    ) -> Fraction:
        """The p-value of this alternative, `greater` that u is better; as if t had been `observed`."""
        turn = 1 if higher_is_better else -1
        at = turn * (self.observed if observed is None else observed)
        values = [turn * t for t in self.all]
        if alternative == "two-sided":
            extreme = sum(abs(t) >= abs(at) for t in values)
        else:
            extreme = sum(t >= at if alternative == "greater" else t <= at for t in values)
        return Fraction(extreme, len(values))

    def attainable(self, alternative: str, *, higher_is_better: bool = True) -> list[Fraction]:
        """All p-values that an outcome may have, ascending."""
        found = {self.p(alternative, higher_is_better=higher_is_better, observed=t) for t in set(self.all)}
        return sorted(found)


# The tests of a board's pairs are the exact ones: against all 2**n exchanges, in fractions.


N = 7
BINARY = [[0, 1, 1, 0, 1, 1, 1], [1, 1, 0, 0, 1, 0, 0], [0, 1, 1, 0, 1, 1, 1], [0] * N]
HALVES = [[0.2 if x else 0.7 for x in column] for column in BINARY]
GRADES = [[3, 0, 2, 5, 1, 1, 4], [0, 0, 1, 5, 2, 0, 0], [3, 0, 2, 5, 1, 1, 4]]
TENTHS = [[0.1, 0.3, 0.2, 1.5, 0.1, 0.7, 0.4], [0.2, 0.1, 0.5, 0.3, 0.1, 0.2, 0.3]]
CLUSTERS = [0, 0, 1, 2, 2, 3, 4]
SINGLES = list(range(N))


def require_exact(tests: PairTests, systems: Systems, statistic: str, options: dict[str, Any]) -> None:
    higher, alternative = options.get("higher_is_better", True), options.get("alternative", "two-sided")
    assert len(tests) == len(pairs_of(systems))
    for i, (u, v) in enumerate(pairs_of(systems).tolist()):
        known = Exchanged(systems, STATISTICS[statistic], u, v)
        p = known.p(alternative, higher_is_better=higher)
        assert (tests.u[i], tests.v[i], tests.n[i]) == (u, v, known.n)
        assert tests.difference[i] == float(known.observed)
        better = known.observed if higher else -known.observed
        assert tests.sign[i] == (better > 0) - (better < 0)
        assert Fraction(float(tests.p_low[i])) <= p <= Fraction(float(tests.p_high[i]))
        assert tests.p[i] == pytest.approx(float(p), rel=1e-12)
        assert tests.log10_low[i] <= math.log10(p) <= tests.log10_high[i]
        assert tests.log10_high[i] - tests.log10_low[i] < 1e-9
        assert tests.fraction(i) in {p, None}
        assert 10.0 ** tests.attainable[i] == pytest.approx(
            float(known.attainable(alternative, higher_is_better=higher)[0])
        )
        assert tests.exact[i]
        assert not tests.sampled[i]


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("statistic", ["mean_difference", "sum_difference", "sign"])
@pytest.mark.parametrize("columns", [BINARY, HALVES], ids=["zero or one", "two decimals"])
def test_right_or_wrong(columns: Any, statistic: str, missing: float, higher: bool, alternative: Any) -> None:
    systems, options = (
        systems_of(columns, missing=missing),
        {"higher_is_better": higher, "alternative": alternative},
    )
    plan = plan_pairs(systems, StatisticSpec(statistic), Options(**options), pairs_of(systems), Budget())
    assert isinstance(plan, BinomialPairs)
    assert isinstance(plan.systems, BinarySystems)
    tests = plan.solve()
    require_exact(tests, systems, statistic, options)
    assert all(tests.fraction(i) is not None for i in range(len(tests)))


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("higher", [True, False])
@pytest.mark.parametrize(("clusters", "missing"), [(None, 0.0), (None, 0.3), (CLUSTERS, 0.0)])
@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize("columns", [GRADES, TENTHS], ids=["grades", "tenths"])
def test_scores_on_a_lattice(
    columns: Any, statistic: str, clusters: Any, missing: float, higher: bool, alternative: Any
) -> None:
    systems = systems_of(columns, clusters, missing=missing)
    options = {"higher_is_better": higher, "alternative": alternative}
    plan = plan_pairs(systems, StatisticSpec(statistic), Options(**options), pairs_of(systems), Budget())
    assert isinstance(plan, BinomialPairs if statistic == "sign" and clusters is None else IntegerPairs)
    require_exact(plan.solve(), systems, statistic, options)


@pytest.mark.parametrize("statistic", STATISTICS)
@pytest.mark.parametrize(("clusters", "missing"), [(CLUSTERS, 0.0), (CLUSTERS, 0.3), (SINGLES, 0.0)])
def test_one_by_one(statistic: str, clusters: Any, missing: float) -> None:
    systems = systems_of(TENTHS, clusters, missing=missing)
    plan = GeneralPairs(systems, StatisticSpec(statistic), Options(), pairs_of(systems), Budget())
    require_exact(plan.solve(), systems, statistic, {})


def test_clusters_of_right_or_wrong_swap_as_a_whole() -> None:
    systems = systems_of(BINARY, CLUSTERS)
    require_exact(every_pair(systems), systems, "mean_difference", {})


def test_clusters_of_single_items_equal_no_clusters() -> None:
    alone, single = systems_of(BINARY), systems_of(BINARY, SINGLES)
    assert every_pair(single).method == every_pair(alone).method == ("binomial",) * 12
    require_exact(every_pair(single), single, "mean_difference", {})


@pytest.mark.parametrize("alternative", ["two-sided", "greater", "less"])
@pytest.mark.parametrize("listed", [True, False])
def test_attainable_p_values_of_right_or_wrong(alternative: Any, listed: bool, monkeypatch: Any) -> None:
    systems = systems_of(BINARY)
    tests = every_pair(systems, alternative=alternative)
    draw = random.Random(1)
    if not listed:
        monkeypatch.setattr("exactperm.inference.compare.pair_tests._MOST_LISTED", -1)
    for i, (u, v) in enumerate(pairs_of(systems).tolist()):
        known = Exchanged(systems, STATISTICS["mean_difference"], u, v).attainable(alternative)
        assert tests.attained is not None
        assert tests.support is not None
        assert tests.support(i) == (known if listed else None)
        for x in [*known, *(Fraction(draw.random()) for _ in range(20)), Fraction(1, 1 << 40)]:
            assert tests.attained(i, x) == max((p for p in known if p <= x), default=Fraction(0))


def test_the_same_null_has_the_same_key() -> None:
    tests = every_pair(systems_of(BINARY))
    assert tests.null_key is not None
    differ = tests.wins + tests.losses
    for i in range(len(tests)):
        for j in range(len(tests)):
            assert (tests.null_key(i) == tests.null_key(j)) == (differ[i] == differ[j])


def test_no_common_items_decide_nothing() -> None:
    halves = {"a": np.array([0, 2, 3], dtype=np.int64), "b": np.array([1, 4, 5], dtype=np.int64)}
    for values in ([1, 0, 1], [3, 0, 7], [0.1, 0.25, 1 / 3]):
        systems = Systems("scores", {name: np.array(values) for name in halves}, present=halves)
        tests = every_pair(systems)
        assert tests.n.tolist() == [0, 0]
        assert tests.p.tolist() == tests.p_low.tolist() == [1.0, 1.0]
        assert tests.attainable.tolist() == [0.0, 0.0]
        assert [tests.fraction(i) for i in range(2)] == [1, 1]


@pytest.mark.parametrize("alternative", ["two-sided", "less"])
@pytest.mark.parametrize("clusters", [None, CLUSTERS])
@pytest.mark.parametrize("statistic", ["mean_difference", "signed_rank"])
def test_attainable_p_values_on_a_lattice(statistic: str, clusters: Any, alternative: Any) -> None:
    systems, pairs = systems_of(GRADES, clusters), pairs_of(systems_of(GRADES))
    options = Options(alternative=alternative)
    plan = plan_pairs(systems, StatisticSpec(statistic), options, pairs, Budget(), with_nulls=True)
    tests = plan.solve()
    assert tests.support is not None
    assert tests.attained is not None
    for i, (u, v) in enumerate(pairs.tolist()):
        known = Exchanged(systems, STATISTICS[statistic], u, v)
        values = known.attainable(alternative)
        assert list(tests.support(i) or ()) == values
        assert tests.fraction(i) == known.p(alternative)
        for x in [*values, Fraction(1, 3), Fraction(1, 1 << 40)]:
            assert tests.attained(i, x) == max((p for p in values if p <= x), default=Fraction(0))


def counted(effects: list[int]) -> Fraction:
    """The two-sided p-value of a sum of signed integers, by a product of 1 + x**w with x = 2**64 in one whole number."""
    sizes, product_ = [abs(effect) for effect in effects if effect], 1
    for size in sizes:
        product_ += product_ << (64 * size)
    ways = np.frombuffer(product_.to_bytes(8 * (sum(sizes) + 1), "little"), dtype="<u8")
    reached = np.abs(2 * np.arange(len(ways)) - sum(sizes)) >= abs(sum(effects))
    return Fraction(int(ways[reached].astype(object).sum()), 2 ** len(sizes))


@pytest.mark.parametrize("digits", [1, 2])
def test_clusters_of_decimals_are_planned_like_single_tests_and_are_exact(digits: int) -> None:
    """Of a few dozen units nearly all frequencies of the transform count: it was taken for short, and was not."""
    rng = np.random.default_rng(digits)
    items, units, scale = 240, 48, 10**digits
    hard = rng.normal(70, 15, items)
    whole = [np.rint(scale * (hard + rng.normal(0.4 * k, 8, items))).astype(np.int64) for k in range(4)]
    clusters = (np.arange(items) % units).tolist()
    systems = systems_of([column / scale for column in whole], clusters)
    planned = plan_pairs(systems, StatisticSpec("mean_difference"), Options(), pairs_of(systems), Budget())
    assert planned.seconds < 1.0  # predicted, of twelve pairs
    tests = planned.solve()
    for u, v, p, low, high in zip(tests.u, tests.v, tests.p, tests.p_low, tests.p_high, strict=True):
        summed = np.zeros(units, dtype=np.int64)
        np.add.at(summed, clusters, whole[u] - whole[v])
        true = counted(summed.tolist())
        assert low <= true <= high
        assert float(true) == pytest.approx(p, rel=1e-9)


# A pair of a board has the answer that a test of the two systems alone has, for every kind of data.


RNG = np.random.default_rng(20)
ITEMS = 60
LABELS = ("x", "y", "z")
GOLD = [LABELS[i] for i in RNG.integers(0, 3, ITEMS)]
WORDS = [
    "the", "a", "cat", "dog", "bird", "sat", "on", "mat", "barks", "at", "night", "in", "old", "house", "and",
    "sings",
]  # fmt: skip
REFERENCES = [[str(word) for word in RNG.choice(WORDS, 8)] for _ in range(ITEMS)]


def _some(kind: str) -> Any:
    """One system's column."""
    if kind == "right":
        return RNG.integers(0, 2, ITEMS)
    if kind == "grades":
        return RNG.integers(0, 21, ITEMS)
    if kind == "decimals":
        return np.round(RNG.random(ITEMS), 3)
    if kind == "reals":
        return RNG.random(ITEMS)
    if kind == "repeated":
        return Repeated(RNG.integers(0, 2, 3 * ITEMS), np.full(ITEMS, 3, dtype=np.int64))
    if kind == "counts":
        return {
            "tp": RNG.integers(0, 4, ITEMS),
            "fp": RNG.integers(0, 3, ITEMS),
            "fn": RNG.integers(0, 3, ITEMS),
        }
    if kind == "errors":
        return {"errors": RNG.integers(0, 4, ITEMS), "words": np.arange(ITEMS) % 7 + 3}
    if kind == "labels":
        return [gold if RNG.random() < 0.6 else LABELS[int(RNG.integers(0, 3))] for gold in GOLD]
    kept = RNG.random((ITEMS, 8)) < 0.9
    return [
        " ".join(
            word if keep else WORDS[(at + i) % len(WORDS)]
            for i, (word, keep) in enumerate(zip(words, of, strict=True))
        )
        for at, (words, of) in enumerate(zip(REFERENCES, kept.tolist(), strict=True))
    ]


def _systems(kind: SystemsKind, of: str, clusters: bool = False, missing: bool = False) -> Systems:
    pairing = Pairing(np.arange(ITEMS, dtype=np.int64) // 4, ITEMS // 4) if clusters else Pairing()
    columns = {name: _some(of) for name in ("a", "b", "c")}
    present = {}
    if missing:
        present = {"b": np.flatnonzero(RNG.random(ITEMS) < 0.8)}
        column = columns["b"]
        if isinstance(column, Repeated):
            kept = np.repeat(np.isin(np.arange(ITEMS), present["b"]), 3)
            columns["b"] = Repeated(column.values[kept], column.lengths[present["b"]])
        elif isinstance(column, dict):
            columns["b"] = {name: values[present["b"]] for name, values in column.items()}
        elif isinstance(column, list):
            columns["b"] = [column[i] for i in present["b"].tolist()]
        else:
            columns["b"] = column[present["b"]]
    gold: Any = {"labels": GOLD, "texts": [(" ".join(words),) for words in REFERENCES]}.get(of)
    return Systems(kind, columns, gold, pairing, present)


CASES = [
    ("scores", "right", StatisticSpec("mean_difference")),
    ("scores", "right", StatisticSpec("signed_rank")),
    ("scores", "grades", StatisticSpec("mean_difference")),
    ("scores", "grades", StatisticSpec("sign")),
    ("scores", "decimals", StatisticSpec("sum_difference")),
    ("scores", "decimals", StatisticSpec("mean_difference", {"unit": "0.001"})),
    ("scores", "decimals", StatisticSpec("signed_rank", {"zero_method": "pratt"})),
    ("scores", "decimals", StatisticSpec("median_difference")),
    ("scores", "repeated", StatisticSpec("quantile_difference", {"q": 0.9, "interpolation": "linear"})),
    ("scores", "reals", StatisticSpec("mean_difference")),
    ("scores", "repeated", StatisticSpec("mean_difference")),
    ("counts", "counts", StatisticSpec("f1")),
    ("counts", "errors", StatisticSpec("ratio", {"numerator": "errors", "denominator": "words"})),
    ("predictions", "labels", StatisticSpec("accuracy")),
    ("predictions", "labels", StatisticSpec("exact_match")),
    ("predictions", "labels", StatisticSpec("f1", {"average": "macro"})),
    ("segments", "texts", StatisticSpec("bleu")),
    ("segments", "texts", StatisticSpec("ter")),
]


@pytest.mark.parametrize("layout", [{}, {"missing": True}, {"clusters": True}], ids=str)
@pytest.mark.parametrize(("kind", "of", "spec"), CASES, ids=str)
def test_a_pair_has_the_answer_of_a_single_test(
    kind: SystemsKind, of: str, spec: StatisticSpec, layout: Any
) -> None:
    systems = _systems(kind, of, **layout)
    lower = spec.name in {"ratio", "ter"}
    options = Options(pmf="none", higher_is_better=not lower, samples=2_000)
    comparison = Comparison({None: systems}, spec, replace(options, confidence_level=0.9), adjust="none")
    board: Any = finish_compare(prepare_compare(comparison, Budget())).boards[None]
    assert len(board.pairs) == 3
    for pair in board.pairs:
        data = pair_data(systems, pair.u, pair.v)
        assert data is not None
        alone = run_test(data, spec, replace(options, confidence_level=0.9), Budget())
        assert pair.n == alone.items.n
        assert (pair.wins, pair.ties, pair.losses) == (alone.items.wins, alone.items.ties, alone.items.losses)
        assert pair.difference == pytest.approx(alone.statistic.observed, rel=1e-12, abs=1e-15)
        assert pair.p_value == pytest.approx(alone.p_value, rel=1e-9)
        assert pair.log10_p_value == pytest.approx(alone.log10_p_value, rel=1e-9, abs=1e-12)
        assert pair.p_value_bounds_kind == alone.p_value_bounds_kind
        assert pair.exact == alone.method.exact
        assert pair.min_attainable_p == pytest.approx(alone.min_attainable_p)
        assert pair.confidence_interval == alone.confidence_interval
        if not layout.get("missing"):
            scores = {system.name: system.score for system in board.systems}
            own = (alone.statistic.u, alone.statistic.v)
            if spec.name not in {"sign", "signed_rank"} and None not in own:
                assert [scores[pair.u], scores[pair.v]] == pytest.approx(own)
        better = pair.difference <= 0 if lower else pair.difference >= 0
        assert better or layout.get("missing") or spec.name in {"sign", "signed_rank"}


@pytest.mark.parametrize("alternative", ["two-sided", "greater"])
@pytest.mark.parametrize("statistic", ["mean_difference", "signed_rank", "sign"])
@pytest.mark.parametrize("kind", ["grades", "hundredths", "right"])
def test_hundreds_of_items_keep_the_exact_fraction_in_bounds(
    kind: str, statistic: str, alternative: Any
) -> None:
    better = np.linspace(0.0, 5.0, 5)[:, None]
    grades = np.clip(np.rint(np.random.default_rng(3).normal(7.0 + better, 4.0, (5, 300))), 0, 20)
    rows = {
        "grades": grades.astype(np.int64),
        "hundredths": np.round(grades * 0.03, 2),
        "right": (grades > 9).astype(np.int64),
    }[kind]
    systems = Systems("scores", {f"s{at}": row for at, row in enumerate(rows)})
    spec, options = StatisticSpec(statistic), Options(higher_is_better=True, alternative=alternative)
    every = np.array([(u, v) for u in range(5) for v in range(5) if u != v], dtype=np.int64)
    tests = plan_pairs(systems, spec, options, every, Budget()).solve()
    known = GeneralPairs(systems, spec, replace(options, method="rational"), every, Budget()).solve()
    assert known.p.min() < 1e-10
    for at in range(len(every)):
        p: Any = known.fraction(at)
        assert Fraction(float(tests.p_low[at])) <= p <= Fraction(float(tests.p_high[at]))
        assert tests.fraction(at) in {p, None}
    np.testing.assert_allclose(tests.p, known.p, rtol=1e-9)
    np.testing.assert_allclose(tests.log10_p, known.log10_p, rtol=1e-9, atol=1e-10)
    assert (tests.log10_low <= known.log10_p).all()
    assert (known.log10_p <= tests.log10_high).all()
