"""Slices: the law of the smallest p-value by all swaps of all items together, in fractions; larger ones against counting."""

import itertools
import os
import random
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exactperm
from exactperm.answers.test import SlicesRecord, TestRecord
from exactperm.client import InvalidTest, effects, predictions, scores
from exactperm.engine.plan import Budget
from exactperm.inference import slices as module
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.columns import first_seen, slices_of
from exactperm.statistics.paired import Pairing, Scores, StatisticSpec

TIMES = int(os.environ.get("FUZZ_TIMES", "1"))
Labels = Sequence[Sequence[str]]


def sliced(
    u: Sequence[int],
    labels: Labels,
    alternative: Any = "less",
    codes: Sequence[int] | None = None,
    **given: Any,
) -> TestRecord:
    slices = slices_of(list(map(list, labels)))
    pairing = Pairing(slices=slices)
    if codes is not None:
        numbered = first_seen(np.array(codes))
        pairing = Pairing(numbered, int(numbered.max()) + 1, slices=slices)
    column = np.array(u, dtype=np.int64)
    data = Scores(column, np.zeros(len(column), np.int64), pairing)
    return run_test(
        data, StatisticSpec("sum_difference"), Options(alternative=alternative, pmf="none", **given), Budget()
    )


def found(record: TestRecord) -> SlicesRecord:
    assert record.slices is not None
    return record.slices


def by_all_swaps(
    d: Sequence[int], labels: Labels, alternative: str, codes: Sequence[int]
) -> tuple[dict[str, Fraction], dict[str, Fraction], bool]:
    """The p-value of each slice and its adjusted one, from the p-values of all slices under every swap of all items together."""
    names = sorted({name for own in labels for name in own})
    units = sorted(set(codes))
    rows = [dict(zip(units, signs, strict=True)) for signs in itertools.product((1, -1), repeat=len(units))]
    under: dict[str, list[Fraction]] = {}
    for name in names:
        members = [item for item, own in enumerate(labels) if name in own]
        sums = [sum(row[codes[item]] * d[item] for item in members) for row in rows]
        extreme = {"greater": sums, "less": [-one for one in sums], "two-sided": list(map(abs, sums))}[
            alternative
        ]
        tails = {one: Fraction(sum(other >= one for other in extreme), len(rows)) for one in set(extreme)}
        under[name] = [tails[one] for one in extreme]
    observed = {name: values[0] for name, values in under.items()}
    of_unit = {
        unit: {name for item, own in enumerate(labels) for name in own if codes[item] == unit}
        for unit in units
    }
    disjoint = all(len(set(own)) <= 1 for own in labels) and all(len(own) <= 1 for own in of_unit.values())
    order, adjusted, largest = sorted(names, key=observed.__getitem__), {}, Fraction(0)
    for place, name in enumerate(order):
        x, rest = observed[name], order[place:]
        if disjoint:
            hits = sum(any(under[k][row] <= x for k in rest) for row in range(len(rows)))
            probability = Fraction(hits, len(rows))
        else:
            hits = sum(under[k][row] <= x for k in rest for row in range(len(rows)))
            probability = min(Fraction(hits, len(rows)), Fraction(1))
        largest = max(largest, probability)
        adjusted[name] = largest
    return observed, adjusted, disjoint


def test_p_values_are_those_of_all_swaps() -> None:
    rng, seen = random.Random(30), dict.fromkeys(("exact_minimum", "holm_discrete"), 0)
    while sum(seen.values()) < 2_000 * TIMES:
        n, kinds = rng.randint(1, 8), rng.randint(1, 4)
        d = [rng.choice((-2, -1, 0, 1, 2, 3)) for _ in range(n)]
        alternative = rng.choice(("two-sided", "greater", "less"))
        labels: Labels = [[f"s{rng.randrange(kinds)}"] if rng.random() < 0.9 else [] for _ in range(n)]
        if rng.random() < 0.4:
            labels = [[f"s{k}" for k in range(kinds) if rng.random() < 0.5] for _ in range(n)]
        codes = [rng.randrange(4) for _ in range(n)] if rng.random() < 0.3 else None
        if not any(labels):
            continue
        known = found(sliced(d, labels, alternative, codes))
        observed, adjusted, disjoint = by_all_swaps(d, labels, alternative, codes or range(n))
        assert known.method == ("exact_minimum" if disjoint else "holm_discrete")
        seen[known.method] += 1
        assert {one.slice: one.p_adjusted for one in known.items} == {
            k: float(p) for k, p in adjusted.items()
        }
        for one in known.items:
            assert one.p_value == pytest.approx(float(observed[one.slice]), rel=1e-12)
            low, high = one.p_adjusted_bounds
            assert Fraction(low) <= adjusted[one.slice] <= Fraction(high)
            assert one.significant == (adjusted[one.slice] <= Fraction(0.05))
        assert known.exact
        assert (known.p_value, known.worst) == (known.items[0].p_adjusted, known.items[0].slice)
        assert [one.p_value for one in known.items] == sorted(one.p_value for one in known.items)
    assert min(seen.values()) > 100


def test_the_contract_s_example() -> None:
    known = found(sliced([-1] * 6 + [1, -1, -1, -1], [["A"]] * 6 + [["B"]] * 4))
    first, second = known.items
    assert (known.method, known.p_value, known.worst) == ("exact_minimum", 1 / 64, "A")
    assert (first.p_value, first.p_adjusted, first.n, first.difference) == (1 / 64, 1 / 64, 6, -6.0)
    assert (second.p_value, second.p_adjusted) == (5 / 16, 5 / 16)
    assert first.significant
    assert not second.significant


@pytest.mark.parametrize("bits", [(0, 1 << 25), (0, 0)])
def test_long_laws_have_the_p_values_of_short_ones(
    monkeypatch: pytest.MonkeyPatch, bits: tuple[int, int]
) -> None:
    rng = random.Random(7)
    for _ in range(40):
        n, kinds, largest = rng.randint(1, 120), rng.randint(1, 6), rng.choice((1, 1, 3, 50))
        lean = 0.5 + rng.random() / 2
        u = [rng.randint(0, largest) * (1 if rng.random() < lean else -1) for _ in range(n)]
        labels: Labels = [[f"s{rng.randrange(kinds)}"] for _ in range(n)]
        if rng.random() < 0.4:
            labels = [[f"s{k}" for k in range(kinds + 1) if k == 0 or rng.random() < 0.5] for _ in range(n)]
        alternative = rng.choice(("two-sided", "greater", "less"))
        counted = found(sliced(u, labels, alternative))
        with monkeypatch.context() as patched:
            patched.setattr(module, "_FRACTION_BITS", bits[0])
            patched.setattr(module, "_COUNTED_BITS", bits[1])
            others = {one.slice: one for one in found(sliced(u, labels, alternative)).items}
        for one in counted.items:
            low, high = others[one.slice].p_adjusted_bounds
            assert low <= one.p_adjusted * (1 + 1e-15)
            assert one.p_adjusted <= high * (1 + 1e-15)
            # Short laws have the same p-value by chance, which a search cannot tell.
            assert high <= low * (1 + 4e-6) or not bits[1]


def test_systems_exchanged_mirror_the_sides() -> None:
    rng = random.Random(3)
    for _ in range(50):
        u = [rng.randint(-3, 3) for _ in range(20)]
        labels = [[rng.choice("abc")] for _ in u]
        up, down = sliced(u, labels, "greater"), sliced([-one for one in u], labels, "less")
        assert [(one.slice, one.p_adjusted) for one in found(up).items] == [
            (one.slice, one.p_adjusted) for one in found(down).items
        ]


def test_one_slice_and_slices_of_ties() -> None:
    alone = sliced([-1, -1, 1, -1, -1], [["x"]] * 5)
    assert found(alone).p_value == alone.p_value
    tied = found(sliced([0, 0, -1, -1, -1, -1, -1], [["t"], ["t"], *[["x"]] * 5]))
    assert [(one.slice, one.p_value, one.p_adjusted) for one in tied.items] == [
        ("x", 1 / 32, 1 / 32),
        ("t", 1.0, 1.0),
    ]
    assert found(sliced([0, 0], [["a"], ["b"]])).p_value == 1.0


def test_a_slice_that_is_too_small_is_named() -> None:
    record = sliced([-1] * 8, [["x"]] * 6 + [["tiny"]] * 2)
    (warning,) = [one for one in record.warnings if one.code == "slices_too_small"]
    assert "1 of 2 slices could not have been significant" in warning.detail
    assert '"tiny"' in warning.detail


def test_slices_that_share_a_cluster_overlap() -> None:
    labels = [["a"]] * 5 + [["b"]] * 5
    assert found(sliced([-1] * 10, labels, codes=[0, 1, 2, 3, 4, 5, 6, 7, 8, 9])).method == "exact_minimum"
    assert found(sliced([-1] * 10, labels, codes=[0, 1, 2, 3, 4, 4, 6, 7, 8, 9])).method == "holm_discrete"


def test_the_order_of_items_and_the_form_of_labels_do_not_matter() -> None:
    u, v = {"1": 1, "2": 0, "3": 0, "4": 0}, {"4": 1, "3": 1, "2": 1, "1": 1}
    labels = {"3": ["fr"], "4": "fr", "1": None, "2": "fr"}
    first = exactperm.test(u, v, slices=labels, alternative="less")
    again = exactperm.test(
        [1, 0, 0, 0], [1, 1, 1, 1], slices=[[], "fr", ["fr", "fr"], "fr"], alternative="less"
    )
    assert first.slices == again.slices
    assert first.slices is not None
    assert [(one.slice, one.n, one.p_value) for one in first.slices.items] == [("fr", 3, 1 / 8)]
    numbers = exactperm.test([0, 0, 0], [1, 1, 1], slices=[1, True, "1"], alternative="less").slices
    assert numbers is not None
    assert {one.slice: one.n for one in numbers.items} == {"1": 2, "true": 1}


def test_a_statistic_of_several_sums_counts_with_its_p_value() -> None:
    u, v, gold = list("ababababab"), list("bbabbabbaa"), list("ababababba")
    answer = exactperm.test(
        predictions(gold, u, v, statistic={"name": "f1", "positive": "a"}, slices=["x"] * 5 + ["y"] * 5)
    )
    assert answer.slices is not None
    assert answer.slices.method == "sidak"
    first, second = answer.slices.items
    assert first.p_adjusted == pytest.approx(1 - (1 - first.p_value) ** 2, rel=1e-9)
    assert second.p_adjusted >= second.p_value


def test_sampled_slices_are_adjusted_as_if_dependent() -> None:
    rng = np.random.default_rng(5)
    u, v = rng.random(200).tolist(), (rng.random(200) + 0.15).tolist()
    asked = scores(
        u, v, method="monte_carlo", samples=2000, slices=["x"] * 100 + ["y"] * 100, alternative="less"
    )
    slices = exactperm.test(asked).slices
    assert slices is not None
    first, second = slices.items
    assert (slices.method, slices.p_value_bounds_kind, slices.exact) == ("holm", "confidence", False)
    assert first.p_adjusted == pytest.approx(2 * first.p_value)
    assert second.p_adjusted == max(second.p_value, first.p_adjusted)
    assert first.p_adjusted_bounds[0] <= first.p_adjusted <= first.p_adjusted_bounds[1]


U, V = [0] * 6 + [1, 0, 0, 0] + [1] * 8, [1] * 6 + [0, 1, 1, 1] + [0] * 8
SLICES = ["A"] * 6 + ["B"] * 4 + ["C"] * 8


def test_a_gate_reports_slices_and_fails_by_them_where_asked() -> None:
    reported = exactperm.gate(U, V, slices=SLICES)
    assert (reported.verdict, reported.correction) == ("pass", None)
    (metric,) = reported.metrics
    assert metric.slices is not None
    assert metric.slices.decision is None
    assert metric.test.slices is None
    smallest = 1 - (1 - 1 / 64) * (1 - 1 / 256)
    assert metric.slices.p_value == pytest.approx(smallest, rel=1e-14)
    decided = exactperm.gate(U, V, slices=SLICES, fail_if_any_slice=True)
    assert (decided.verdict, decided.correction) == ("fail", "holm")
    assert decided.p_value == pytest.approx(2 * smallest, rel=1e-14)
    slices = decided.metrics[0].slices
    assert slices is not None
    decision = slices.decision
    assert decision is not None
    assert decision.significant
    assert 'the slice "A" is significantly worse' in decided.reason
    assert reported.id != decided.id


def test_a_gate_by_slices_tests_their_margin() -> None:
    gate = exactperm.gate(
        [one / 2 for one in U], [one / 2 for one in V], slices=SLICES, fail_if_any_slice=True, margin=0.5
    )
    assert gate.verdict == "pass"
    slices = gate.metrics[0].slices
    assert slices is not None
    assert slices.p_value == 1.0


def test_a_gate_does_not_pass_where_no_slice_could_have_failed() -> None:
    gate = exactperm.gate(U, V, slices=list(map(str, range(18))), fail_if_any_slice=True)
    assert gate.verdict == "inconclusive"
    assert "too few items differ" in gate.reason


@pytest.mark.parametrize(
    ("given", "pointer", "code"),
    [
        ({"fail_if_any_slice": True}, "/request/slices", "slices_missing"),
        (
            {"fail_if_any_slice": True, "slices": SLICES, "policy": "improve"},
            "/policy",
            "fail_if_any_needs_no_regression",
        ),
        ({"slices": ["a"]}, "/request/slices", "length_mismatch"),
        ({"slices": [None] * 18}, "/request/slices", "no_slices"),
        ({"slices": [*SLICES[:17], 1.5]}, "/request/slices/17", "not_a_slice"),
        ({"slices": SLICES, "significance": "mid_p"}, "/request/slices", "not_available"),
        ({"slices": SLICES, "test": "bootstrap"}, "/request/slices", "not_available"),
        ({"slices": SLICES, "sequential": {}}, "/request/slices", "not_available"),
    ],
)
def test_invalid_slices_are_refused(given: dict[str, Any], pointer: str, code: str) -> None:
    with pytest.raises(InvalidTest) as refused:
        exactperm.gate(U, V, **given)
    assert [(error.pointer, error.code) for error in refused.value.errors] == [(pointer, code)]


def test_too_many_slices_are_refused() -> None:
    with pytest.raises(InvalidTest, match="201 slices; at most 200"):
        exactperm.test([0] * 201, [1] * 201, slices=list(range(201)))


def test_a_slice_without_a_test_is_named() -> None:
    asked = predictions(
        [1, 0, 1, 1], [0.9, 0.2, 0.4, 0.3], [0.1, 0.2, 0.7, 0.6], statistic="auc", slices=["x", "x", "y", "y"]
    )
    with pytest.raises(InvalidTest, match='The slice "y" cannot be tested'):
        exactperm.test(asked)


def test_effects_have_slices() -> None:
    slices = exactperm.test(
        effects([-1] * 6 + [2, -1], slices=["a"] * 6 + ["b"] * 2, alternative="less")
    ).slices
    assert slices is not None
    assert (slices.worst, slices.p_value) == ("a", 1 / 64)


def test_small_p_values_of_many_long_laws_have_bounds() -> None:
    rng = np.random.default_rng(1)
    n, slices = 20_000, 20
    u = (rng.integers(0, 1_001, n) - rng.integers(0, 1_001, n) - 150).tolist()
    known = found(sliced(u, [[f"s{at % slices}"] for at in range(n)]))
    first = known.items[0]
    assert first.p_value < 1e-20
    low, high = known.p_value_bounds
    assert (known.method, known.exact) == ("exact_minimum", False)
    assert known.p_value == pytest.approx(high, rel=1e-12)
    assert low <= first.p_value * (1 + 1e-9)
    assert first.p_value < high <= slices * first.p_value * (1 + 1e-6)
