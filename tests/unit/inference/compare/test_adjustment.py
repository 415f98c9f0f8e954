"""Adjusted p-values against the definitions in fractions, statsmodels and R."""

from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from statsmodels.stats.multitest import multipletests

from exactperm.answers.board import Adjust
from exactperm.inference.compare.adjusted import Adjusted
from exactperm.inference.compare.adjustment import ADJUSTERS, adjust_boards
from exactperm.inference.compare.pair_tests import PairTests
from tests.refusals import refused_alone
from tests.unit.inference.compare import definitions
from tests.unit.inference.compare.compare_shorthands import log10, of_fractions

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
    """Nothing is hidden by the width of what comes in: all roundings are the adjustment's own."""
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
def test_r_says_what_was_recorded() -> None:
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
def test_nothing_underflows(how: Adjust, know: str) -> None:
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
