"""No bracket runs where others wait for it: its price is likely and not proven, however small it is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import Prepared, prepare
from exactperm.inference.rounded_test import RoundedTest
from exactperm.statistics.paired import Scores, StatisticSpec

SPEC = StatisticSpec("mean_difference", {})


def _prepared(scores: list[float], options: Options) -> Prepared:
    data = Scores(u=np.array(scores), v=np.zeros(len(scores)))
    return prepare(data, SPEC, options, Budget())


def _reals(items: int) -> list[float]:
    return [float(x) for x in np.random.default_rng(items).normal(0.3, 1.0, items)]


def test_a_bracket_of_the_p_value() -> None:
    assert _prepared(_reals(300), Options(method="bounds")).longest_seconds == math.inf


def test_a_bracket_of_scores_that_no_64_bits_hold() -> None:
    prepared = _prepared([*_reals(60), 1e200, 1e-200], Options())
    assert isinstance(prepared.test, RoundedTest)
    assert prepared.test.plan.chosen.method == "bounds"
    assert prepared.longest_seconds == math.inf


def test_brackets_of_the_ends_of_an_interval_alone() -> None:
    scores = np.rint(np.array(_reals(300)) * 1e4).tolist()
    options = Options(method="fft", pmf="none")
    assert _prepared(scores, options).longest_seconds < 1.0
    assert _prepared(scores, replace(options, confidence_level=0.95)).longest_seconds == math.inf


@pytest.mark.parametrize("method", ["auto", "dp"])
def test_an_exact_test_without_any_has_a_price_to_go_by(method: str) -> None:
    prepared = _prepared([1.0, 2.0, -1.0, 3.0], Options(method=method, confidence_level=0.5))  # type: ignore[arg-type]
    assert prepared.longest_seconds == prepared.seconds < 0.01
