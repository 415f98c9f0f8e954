"""Adjusted p-values against the definitions in fractions, statsmodels and R."""

import json
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from itertools import combinations, product
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats
from statsmodels.stats.multitest import multipletests

from exactperm.answers.board import Adjust, Combine
from exactperm.errors import PlanTooLarge
from exactperm.inference.compare.adjustment import ADJUSTERS, Adjusted, adjust_boards
from exactperm.inference.compare.pair_tests import PairTests
from tests.refusals import refused, refused_alone
from tests.unit.inference.compare import definitions

from .compare_shorthands import all_pairs, attained, log10, of_counts, of_fractions, random_scores
from .test_overall_boards import compared, overall_of, systems_of

ALPHA = Fraction(1, 20)
BY_RANK: tuple[Adjust, ...] = ("bonferroni", "holm", "hochberg", "bh", "by", "none")
STATSMODELS = {
    "bonferroni": "bonferroni", "holm": "holm", "hochberg": "simes-hochberg", "bh": "fdr_bh", "by": "fdr_by",
}  # fmt: skip
STATSMODELS_ADJUST: Any = multipletests  # untyped
ORACLE = Path(__file__).parents[3] / "oracles" / "compare"


def adjust(tests: PairTests, how: Adjust, alpha: Fraction = ALPHA) -> Adjusted:
    (adjusted,) = adjust_boards([tests], how, alpha)
    return adjusted


def random_p(rng: np.random.Generator, m: int, bits: int = 70) -> list[Fraction]:
    """Multiples of 2**-bits, some of them equal, some of them tiny, some of them one."""
    p = [
        Fraction(max(int(value * 2**30), 1) << int(rng.integers(0, bits - 29)), 2**bits)
        for value in rng.random(m)
    ]
    for i in rng.integers(0, m, m // 4):
        p[i] = p[int(rng.integers(0, m))]
    p[int(rng.integers(0, m))] = Fraction(1)
    return p


@pytest.mark.parametrize("how", BY_RANK)
@pytest.mark.parametrize("know", ["all", "bounds"])
def test_values_are_those_of_the_definition_and_bounds_hold(how: Adjust, know: str) -> None:
    rng = np.random.default_rng(7)
    for m in (1, 2, 3, 8, 45, 120):
        p = random_p(rng, m)
        truth = definitions.adjusted(p, how)
        found = adjust(of_fractions(p, know=know), how)
        assert np.allclose(found.p, [float(value) for value in truth], rtol=1e-14, atol=0)
        assert all(
            Fraction(low) <= value <= Fraction(high)
            for low, value, high in zip(found.low.tolist(), truth, found.high.tolist(), strict=True)
        )
        assert ((found.low <= found.p) & (found.p <= found.high)).all()
        assert (found.high <= found.low * (1 + 1e-14)).all()
        if know == "all":
            assert found.p.tolist() == [float(value) for value in truth]
            assert found.rejected.tolist() == [value <= ALPHA for value in truth]
            assert not found.open.any()


@pytest.mark.parametrize("how", BY_RANK)
def test_bounds_hold_for_p_values_that_are_doubles_themselves(how: Adjust) -> None:
    """The inputs are exact, so all roundings are those of the adjustment."""
    rng = np.random.default_rng(23)
    rounded = 0
    for m in (2, 7, 49, 150):
        for _ in range(4):
            doubles = rng.random(m) * 10.0 ** -rng.integers(0, 6, m)
            tests = of_fractions([Fraction(value) for value in doubles.tolist()], know="bounds")
            truth = definitions.adjusted([Fraction(value) for value in doubles.tolist()], how)
            found = adjust(replace(tests, p_low=doubles, p_high=doubles), how)
            for low, p, high, value in zip(
                found.low.tolist(), found.p.tolist(), found.high.tolist(), truth, strict=True
            ):
                assert Fraction(low) <= value <= Fraction(high)
                assert low <= p <= high
                rounded += Fraction(p) != value
    assert (rounded > 50) == (how != "none")


@pytest.mark.parametrize("how", BY_RANK)
def test_thousands_are_adjusted_in_doubles_and_decided_as_the_fractions_are(how: Adjust) -> None:
    p = random_p(np.random.default_rng(11), 2_500)
    truth = [min(Fraction(1), value) for value in _fast(p, how)]
    found = adjust(of_fractions(p), how)
    assert all(
        Fraction(low) <= value <= Fraction(high)
        for low, value, high in zip(found.low.tolist(), truth, found.high.tolist(), strict=True)
    )
    assert found.rejected.tolist() == [value <= ALPHA for value in truth]
    assert found.size == len(p)


def _fast(p: list[Fraction], how: str) -> list[Fraction]:
    """The definition, with running maxima and minima; agrees with it on few."""
    m, order = len(p), sorted(range(len(p)), key=p.__getitem__)
    every = sum((Fraction(1, k) for k in range(1, m + 1)), Fraction(0)) if how == "by" else Fraction(1)
    factor: Any = {
        "none": lambda k: Fraction(1), "bonferroni": lambda k: Fraction(m), "bh": lambda k: Fraction(m, k),
        "by": lambda k: Fraction(m, k), "holm": lambda k: Fraction(m - k + 1), "hochberg": lambda k: Fraction(m - k + 1),
    }[how]  # fmt: skip
    terms = [factor(k) * p[i] for k, i in enumerate(order, 1)]
    if how == "holm":
        for k in range(1, m):
            terms[k] = max(terms[k], terms[k - 1])
    elif how in {"hochberg", "bh", "by"}:
        for k in reversed(range(m - 1)):
            terms[k] = min(terms[k], terms[k + 1])
    found = [Fraction(1)] * m
    for term, i in zip(terms, order, strict=True):
        found[i] = every * term
    return found


@pytest.mark.parametrize("how", BY_RANK)
def test_the_quick_definition_is_the_definition(how: Adjust) -> None:
    p = random_p(np.random.default_rng(2), 40)
    assert [min(Fraction(1), value) for value in _fast(p, how)] == definitions.adjusted(p, how)


@pytest.mark.parametrize("how", STATSMODELS)
def test_as_statsmodels_has_it(how: Adjust) -> None:
    rng = np.random.default_rng(3)
    for m in (1, 5, 66, 3_000):
        p = [Fraction(value) for value in np.round(rng.beta(0.2, 1.0, m), 3 if m < 100 else 17) + 1e-9]
        p = [min(value, Fraction(1)) for value in p]
        _, expected, *_ = STATSMODELS_ADJUST([float(value) for value in p], method=STATSMODELS[how])
        assert np.allclose(adjust(of_fractions(p), how).p, expected, rtol=1e-12, atol=0)


def recorded() -> Any:
    return json.loads(ORACLE.with_suffix(".json").read_text())


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="R is not installed")
def test_r_gives_the_recorded_numbers() -> None:
    said = subprocess.run(["Rscript", ORACLE.with_suffix(".R")], capture_output=True, text=True, check=False)
    if "there is no package" in said.stderr:
        pytest.skip("multcompView or jsonlite is not installed")
    assert json.loads(said.stdout) == recorded()


def test_as_r_has_it() -> None:
    compared = 0
    for family in recorded()["families"]:
        tests = of_fractions([Fraction(value) for value in family["p"]])
        for how, expected in family["adjusted"].items():
            assert np.allclose(adjust(tests, how).p, expected, rtol=1e-12, atol=0)
            compared += 1
    assert compared == 30


@pytest.mark.parametrize("how", BY_RANK)
@pytest.mark.parametrize("know", ["all", "bounds"])
def test_adjusted_logarithms_do_not_underflow(how: Adjust, know: str) -> None:
    exponents = [5_000, 4_000, 1_080, 1_074, 1_070, 1_022, 1_000, 20, 3, 0]
    p = [Fraction(3, 2**exponent) if exponent else Fraction(1) for exponent in exponents]
    truth = definitions.adjusted(p, how)
    found = adjust(of_fractions(p, know=know), how)
    for value, got, low, p_found, high in zip(
        truth, found.log10_p.tolist(), found.low.tolist(), found.p.tolist(), found.high.tolist(), strict=True
    ):
        assert got == pytest.approx(log10(value), rel=1e-12, abs=1e-13)
        assert Fraction(low) <= value <= Fraction(high)
        assert 0 < p_found <= 1
        assert low <= p_found <= high
        assert p_found == pytest.approx(float(value), rel=1e-10, abs=5e-324)


def test_every_adjustment_of_a_request_has_an_adjuster() -> None:
    assert set(ADJUSTERS) >= {*BY_RANK, "holm_discrete"}


def test_refused_where_there_is_no_adjuster() -> None:
    unknown: Any = "sidak"
    with refused_alone("not_available", "/adjust"):
        adjust(of_fractions([Fraction(1, 2)]), unknown)


# One-sided p-values of data sets, combined: against SciPy, and conservative by enumeration.


METHODS: tuple[Combine, ...] = ("fisher", "stouffer")


def columns_of(wins: int, losses: int, ties: int = 1) -> dict[str, list[int]]:
    return {"A": [1] * wins + [0] * losses + [1] * ties, "B": [0] * wins + [1] * losses + [1] * ties}


def one_sided(wins: int, losses: int) -> float:
    return float(stats.binom.sf(wins - 1, wins + losses, 0.5))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(
    "counts", [((7, 2), (9, 4), (5, 6)), ((40, 1), (33, 2)), ((3, 1), (0, 4), (8, 1), (2, 2))]
)
def test_against_scipy(counts: tuple[tuple[int, int], ...], method: Combine) -> None:
    data = {f"d{at}": columns_of(*each) for at, each in enumerate(counts)}
    named = {"design": "pairs", "pairs": (("A", "B"),)}
    above = [one_sided(wins, losses) for wins, losses in counts]
    below = [one_sided(losses, wins) for wins, losses in counts]
    known = {
        side: float(stats.combine_pvalues(p, method=method).pvalue)
        for side, p in (("greater", above), ("less", below))
    }
    for side, p in known.items():
        (pair,) = overall_of(data, combine=method, alternative=side, **named).pairs
        assert pair.p_value == pytest.approx(p, rel=1e-9)
        assert pair.p_value_bounds[0] <= p * (1 + 1e-9)
        assert p <= pair.p_value_bounds[1] * (1 + 1e-9)
        assert (pair.method, pair.exact, pair.p_value_bounds_kind) == (method, False, "certified")
    (pair,) = overall_of(data, combine=method, **named).pairs
    assert pair.p_value == pytest.approx(min(2 * min(known.values()), 1.0), rel=1e-9)


@pytest.mark.parametrize("method", METHODS)
def test_a_combination_is_conservative(method: Combine) -> None:
    """Over all outcomes of two sign tests, p <= x has at most the probability x, on one side and on both."""
    n = (4, 5)
    found: list[tuple[float, float, float]] = []
    for wins in product(*(range(size + 1) for size in n)):
        data = {
            f"d{at}": columns_of(k, size - k, 0) for at, (k, size) in enumerate(zip(wins, n, strict=True))
        }
        mass = np.prod([stats.binom.pmf(k, size, 0.5) for k, size in zip(wins, n, strict=True)])
        above, both = (
            overall_of(data, alternative=side, design="pairs", pairs=(("A", "B"),), combine=method)
            .pairs[0]
            .p_value
            for side in ("greater", "two-sided")
        )
        found.append((float(mass), above, both))
    for column in (1, 2):
        for x in {row[column] for row in found}:
            assert sum(row[0] for row in found if row[column] <= x * (1 + 1e-9)) <= x * (1 + 1e-6)


def test_p_values_that_no_double_holds() -> None:
    data = {"x": columns_of(900, 0), "y": columns_of(800, 0)}
    for method in METHODS:
        (pair,) = overall_of(data, combine=method).pairs
        assert pair.log10_p_value < -400
        assert pair.relation == "better"
        assert 0.0 < pair.p_value < 1e-300


@pytest.mark.parametrize("higher_is_better", [True, False])
@pytest.mark.parametrize("method", METHODS)
def test_one_large_number_does_not_hide_the_others(method: Combine, higher_is_better: bool) -> None:
    """Three data sets are for B, one item of A's outweighs them all in the mean: twice the smaller combination, for B."""
    data = {"big": {"A": [1000], "B": [0]}, **{f"d{k}": {"A": [1] * 12, "B": [2] * 12} for k in range(3)}}
    record: Any = compared(
        {name: systems_of(columns) for name, columns in data.items()},
        combine=method,
        higher_is_better=higher_is_better,
    )
    (pair,) = record.overall.pairs
    smaller = float(stats.combine_pvalues([1.0, *[2.0**-12] * 3], method=method).pvalue)
    if method == "stouffer":
        smaller = 1.0  # a p-value of 1 has an infinite z
    larger = float(stats.combine_pvalues([0.5, 1.0, 1.0, 1.0], method="fisher").pvalue)
    if method == "fisher":
        assert smaller < larger
        assert pair.p_value == pytest.approx(2 * smaller, rel=1e-9)
        better = pair.u if pair.relation == "better" else pair.v
        assert pair.relation != "tied"
        assert better == ("B" if higher_is_better else "A")
        assert [warning.code for warning in record.overall.warnings] == ["combined_against_scores"]
    else:
        assert (pair.p_value, pair.relation) == (1.0, "tied")


@pytest.mark.parametrize("method", METHODS)
def test_no_side_is_claimed_where_both_have_as_much(method: Combine) -> None:
    for data in (
        {"x": columns_of(60, 0, 0), "y": columns_of(0, 60, 0)},
        {"x": columns_of(60, 0, 0), "y": columns_of(0, 60, 0), "z": columns_of(7, 7)},
    ):
        for names in (list(data), list(data)[::-1]):
            ordered = {name: data[name] for name in names}
            (pair,) = overall_of(ordered, combine=method, design="pairs", pairs=(("A", "B"),)).pairs
            assert (pair.p_value, pair.relation) == (1.0, "tied")


def test_the_side_is_that_of_the_smaller_combination() -> None:
    data = {"x": columns_of(60, 0, 0), "y": columns_of(5, 50, 0)}
    (pair,) = overall_of(data, combine="fisher", design="pairs", pairs=(("A", "B"),)).pairs
    above, below = (
        float(stats.combine_pvalues(p, method="fisher").pvalue)
        for p in ([one_sided(60, 0), one_sided(5, 50)], [one_sided(0, 60), one_sided(50, 5)])
    )
    assert above < below
    assert pair.p_value == pytest.approx(2 * above, rel=1e-6)
    assert pair.relation == "better"


@pytest.mark.parametrize("method", METHODS)
def test_lower_is_better(method: Combine) -> None:
    data = {"x": columns_of(9, 2), "y": columns_of(7, 1)}
    named = {"design": "pairs", "pairs": (("A", "B"),), "combine": method}
    (more,) = overall_of(data, alternative="greater", **named).pairs
    (less,) = overall_of(data, alternative="less", higher_is_better=False, **named).pairs
    assert less.p_value == more.p_value
    (pair,) = overall_of(data, higher_is_better=False, **named).pairs
    assert pair.relation == "worse"
    assert pair.difference > 0


@pytest.mark.parametrize("statistic", ["sign", "signed_rank"])
def test_signs_and_ranks_can_be_combined(statistic: str) -> None:
    data = {"x": columns_of(7, 2), "y": columns_of(9, 4)}
    record: Any = compared(
        {name: systems_of(columns) for name, columns in data.items()}, statistic, combine="stouffer"
    )
    known = stats.combine_pvalues([one_sided(7, 2), one_sided(9, 4)], method="stouffer").pvalue
    assert record.overall.pairs[0].p_value == pytest.approx(2 * float(known), rel=1e-9)


@pytest.mark.parametrize(
    "given", [{"aggregate": "micro"}, {"adjust": "holm_discrete"}], ids=["micro", "holm_discrete"]
)
def test_refusals(given: dict[str, str]) -> None:
    with refused(None, "/combine"):
        overall_of({"x": columns_of(3, 1), "y": columns_of(2, 1)}, combine="fisher", **given)


# `holm_discrete` against its definition, by enumeration; and what it is for.


def truth(tests: PairTests) -> list[Fraction]:
    lookup = tests.attained
    assert lookup is not None
    p = [tests.fraction(i) or Fraction(0) for i in range(len(tests))]
    return definitions.holm_discrete(p, lookup)


def asked(tests: PairTests) -> PairTests:
    """The same tests, which only evaluate single values."""
    return replace(tests, support=None)


def with_supports(rng: np.random.Generator, m: int, deep: int = 0) -> PairTests:
    """Tests with supports of any shape, p-values 2**-deep times smaller than ordinary ones, and shared keys."""
    shapes = []
    for _ in range(max(m // 3, 1)):
        cells = rng.integers(1, 60, int(rng.integers(2, 9)))
        heights = [Fraction(int(value), int(cells.sum())) for value in np.cumsum(np.sort(cells))]
        scale = Fraction(1, 2 ** int(rng.integers(0, deep + 1)))
        shapes.append(tuple(sorted({*(value * scale for value in heights), Fraction(1)})))
    which = rng.integers(0, len(shapes), m).tolist()
    supports = [shapes[k] for k in which]
    p = [support[int(rng.integers(len(support)))] for support in supports]
    return of_fractions(
        p,
        attainable=[support[0] for support in supports],
        attained=lambda i, x: attained(supports[i], x),
        null_key=lambda i: which[i],
        support=lambda i: supports[i],
    )


@pytest.mark.parametrize("terms", [50_000, 0])  # all in fractions; in doubles, as large families are
def test_by_enumeration(terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment._FEW_TERMS", terms)
    rng = np.random.default_rng(terms + 1)
    for round_ in range(60):
        tests = (
            all_pairs(random_scores(rng, int(rng.integers(2, 9)), int(rng.integers(3, 40))))
            if round_ % 2
            else with_supports(rng, int(rng.integers(1, 25)))
        )
        expected = truth(tests)
        for alpha in {Fraction(1, 20), *(value for value in expected[:3] if value < 1)}:
            for given in (tests, asked(tests), replace(asked(tests), null_key=None)):
                found = adjust(given, "holm_discrete", alpha)
                assert found.rejected.tolist() == [value <= alpha for value in expected]
                assert np.allclose(found.p, [float(value) for value in expected], rtol=1e-13, atol=0)
                assert np.allclose(found.log10_p, np.log10(found.p), rtol=1e-12, atol=1e-13)
                assert all(
                    Fraction(low) <= value <= Fraction(high)
                    for low, value, high in zip(
                        found.low.tolist(), expected, found.high.tolist(), strict=True
                    )
                )
                assert not (found.hopeless & found.rejected).any()
                assert not found.open.any()


@pytest.mark.parametrize("terms", [50_000, 0])
def test_holm_discrete_does_not_underflow(terms: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment._FEW_TERMS", terms)
    tests = with_supports(np.random.default_rng(4), 30, deep=3_000)
    expected = truth(tests)
    assert sum(value < Fraction(1, 2**1100) for value in expected) > 3
    for given in (tests, asked(tests)):
        found = adjust(given, "holm_discrete")
        for value, low, p, high, log10_p in zip(
            expected,
            found.low.tolist(),
            found.p.tolist(),
            found.high.tolist(),
            found.log10_p.tolist(),
            strict=True,
        ):
            assert Fraction(low) <= value <= Fraction(high)
            assert low <= p <= high
            assert 0 < p <= 1
            assert log10_p == pytest.approx(log10(value), rel=1e-12, abs=1e-12)


def test_never_larger_than_holm_and_often_smaller() -> None:
    rng = np.random.default_rng(8)
    smaller = 0
    for _ in range(30):
        tests = all_pairs(random_scores(rng, 6, 30))
        discrete, holm = adjust(tests, "holm_discrete"), adjust(tests, "holm")
        assert (discrete.p <= holm.p).all()
        smaller += int((discrete.p < holm.p).sum())
    assert smaller > 50


def test_the_familywise_error_is_at_most_alpha_for_every_outcome_of_three_systems() -> None:
    """All 2**n swaps of common signs: the three tests' nulls hold together, and are dependent."""
    rng = np.random.default_rng(3)
    alpha = Fraction(1, 4)
    for _ in range(4):
        scores = rng.integers(0, 2, (3, 7))
        signs = 1 - 2 * ((np.arange(128)[:, None] >> np.arange(7)) & 1)
        wrong = 0
        for sign in signs:
            counts: list[Any] = []
            for u, v in combinations(range(3), 2):
                difference = sign * (scores[u] - scores[v])
                counts.append(tuple(int((difference == side).sum()) for side in (1, 0, -1)))
            tests = of_counts(list(combinations(range(3), 2)), counts)
            wrong += bool(adjust(tests, "holm_discrete", alpha).rejected.any())
        assert Fraction(wrong, 128) <= alpha


def test_refused_where_a_null_is_not_known_exactly() -> None:
    tests = of_counts([(0, 1), (0, 2)], [(5, 0, 1), (7, 0, 0)])
    for unknown in (
        replace(tests, attained=None),
        replace(tests, fraction=lambda i: None if i else Fraction(1, 8)),
    ):
        with refused_alone("null_not_exact", "/adjust"):
            adjust(unknown, "holm_discrete")


def test_refused_where_it_would_look_up_too_much(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("exactperm.inference.compare.adjustment._MOST_CALLS", 3)
    tests = of_counts([(0, 1), (0, 2)], [(5, 0, 1), (7, 0, 0)])
    adjust(tests, "holm_discrete")
    with refused_alone(None, "/adjust", error=PlanTooLarge):
        adjust(asked(tests), "holm_discrete")
