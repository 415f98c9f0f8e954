"""Floating-point dust: the warning names the p-value of what the scores were before the arithmetic."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Column, Repeated, Scores, StatisticSpec


def run(u: Column | Repeated, v: Column | Repeated, unit: str | None = None, **asked: object) -> TestRecord:
    spec = StatisticSpec("mean_difference", {} if unit is None else {"unit": unit})
    return run_test(Scores(u, v), spec, Options(**asked), Budget())  # type: ignore[arg-type]


def dust(record: TestRecord) -> str | None:
    return next((one.detail for one in record.warnings if one.code == "float_dust"), None)


def named(detail: str | None) -> float:
    assert detail is not None
    found = re.search(r"p would be ([0-9.e-]+)\.$", detail)
    assert found, detail
    return float(found[1])


@pytest.mark.slow
@pytest.mark.parametrize("n", [6, 20, 200, 2000])
@pytest.mark.parametrize("size", [3, 7, 30])
def test_means_of_ratings_are_recognised_as_fractions(n: int, size: int) -> None:
    rng = np.random.default_rng(n * size)
    u, v = rng.integers(0, 4 * size, n) / size, rng.integers(0, 4 * size, n) / size
    u[0], v[0] = 1 / size, 2 / size  # so that it is no coarser
    detail = dust(run(u, v))
    assert detail is not None
    assert f'"unit": "1/{size}"' in detail
    meant = run(u, v, f"1/{size}")
    assert named(detail) == pytest.approx(meant.p_value, rel=1e-5)
    assert dust(meant) is None


def test_sums_of_decimals_are_recognised_as_decimals() -> None:
    detail = dust(run(np.array([0.1 + 0.2, 0.4, 0.1]), np.array([0.2, 0.3, 0.2])))
    assert detail is not None
    assert detail.startswith("1 of 6 scores")
    assert '"decimals": 12' in detail
    assert named(detail) == 1.0


def test_single_precision_is_recognised() -> None:
    rng = np.random.default_rng(1)
    first, second = (rng.integers(0, 10, 12) / 10 for _ in "uv")
    u, v = (side.astype(np.float32).astype(np.float64) for side in (first, second))
    detail = dust(run(u, v))
    assert detail is not None
    assert "float32" in detail
    assert '"decimals": 1' in detail
    assert named(detail) == pytest.approx(run(first, second).p_value, rel=1e-5)


def test_thirds_that_were_printed_are_recognised() -> None:
    rng = random.Random(2)
    u, v = (np.array([round(rng.randint(0, 12) / 3, 6) for _ in range(30)]) for _ in "uv")
    detail = dust(run(u, v))
    assert detail is not None
    assert "printed with 6 decimals" in detail
    assert named(detail) == pytest.approx(run(u, v, "1/3").p_value, rel=1e-5)


def test_samples_have_dust_as_single_scores_do() -> None:
    values = np.array([0.1 + 0.2, 0.3, 0.7, 0.1, 0.2, 0.4])
    u = Repeated(values, np.array([2, 2, 2]))
    v = Repeated(np.array([0.25, 0.5, 0.125, 0.5, 0.25, 0.75]), u.lengths)
    detail = dust(run(u, v))
    assert detail is not None
    assert '"decimals": 12' in detail


@pytest.mark.parametrize("decimals", [1, 4, 6])
def test_decimals_and_integers_have_none(decimals: int) -> None:
    rng = np.random.default_rng(decimals)
    u, v = np.round(rng.random(100), decimals), np.round(rng.random(100), decimals)
    assert dust(run(u, v)) is None
    assert dust(run(np.arange(5), np.arange(5)[::-1].copy())) is None


def test_real_valued_scores_are_counted_and_nothing_is_made_up() -> None:
    rng = np.random.default_rng(3)
    detail = dust(run(rng.normal(size=30), rng.normal(size=30)))
    assert detail is not None
    assert "p would be" not in detail
    assert "16 or 17 significant digits" in detail
