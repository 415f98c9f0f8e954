"""A printed p-value lies on its own side of alpha in every report, and a sampled one has the digits of its interval."""

from __future__ import annotations

import random
import re
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.local import run as local
from exactperm.reports.representations import BY_NAME, ReportContext
from exactperm.statistics.paired import Predictions, Scores, StatisticSpec

CONTEXT = ReportContext("x_1", "the signature")
FORMS = ["text", "markdown", "html"]
# p-values as they are said to people.
SAID = re.compile(r"(?:p=|p = |probability (?:of about )?|p-value</dt><dd>)([0-9.]+(?:e-?\d+)?)")


def said(record: Any, form: str) -> list[str]:
    render = BY_NAME[form].test
    assert render is not None
    found = [one.rstrip(".") for one in SAID.findall(render(record, CONTEXT).decode())]
    assert found, form
    return found


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("form", FORMS)
def test_a_p_value_next_to_alpha_never_looks_like_it(form: str, seed: int) -> None:
    """Alpha a hair above, at, and below the p-value."""
    draw = random.Random(seed)
    u, v = ([draw.randint(low, 9) for _ in range(14)] for low in (3, 0))
    data = Scores(np.array(u), np.array(v))
    p = run_test(data, StatisticSpec("mean_difference"), Options(), Budget()).p_value
    if p > 0.4:
        pytest.skip("alpha is at most a half")
    for off in (-1e-6, -1e-9, -1e-13, 0.0, 1e-13, 1e-9, 1e-6):
        alpha = p * (1.0 + off)
        record = run_test(data, StatisticSpec("mean_difference"), Options(alpha=alpha), Budget())
        for one in said(record, form):
            assert (float(one) < alpha, float(one) == alpha) == (p < alpha, p == alpha), (one, p, alpha)


@pytest.mark.parametrize("samples", [1_000, 20_000])
@pytest.mark.parametrize("form", FORMS)
def test_a_sampled_p_value_has_no_more_digits_than_its_interval(form: str, samples: int) -> None:
    draw = np.random.default_rng(4)
    gold = draw.integers(0, 5, 200)
    u, v = (np.where(draw.random(200) < 0.6, gold, draw.integers(0, 5, 200)).tolist() for _ in range(2))
    options = Options(method="monte_carlo", samples=samples)
    data, spec = Predictions(gold.tolist(), u, v), StatisticSpec("f1", {"average": "macro"})
    record = run_test(data, spec, options, Budget())
    low, high = record.p_value_bounds
    assert record.p_value_bounds_kind == "confidence"
    for one in said(record, form):
        place = 10.0 ** int(Decimal(one).as_tuple().exponent)
        assert (high - low) / 100.0 < place <= (high - low) / 5.0, (one, low, high)
        assert abs(float(one) - record.p_value) <= place / 2.0


def test_a_gate_of_nearly_one_says_so_in_few_digits() -> None:
    """Six digits would say 1; all of them said 0.9999999761692285."""
    answer = local.gate([0.0] * 26 + [1.0], [1.0] * 26 + [0.0], policy="improve")
    assert re.search(r"p = 0\.9{6,8}[0-8]?\d? >", answer.reason), answer.reason
    assert len(answer.reason.split("p = ")[1].split()[0]) <= 12


def test_a_gate_near_alpha_says_on_which_side() -> None:
    for off in (-1e-9, 0.0, 1e-9):
        alpha = 2.0**-6 * (1.0 + off)
        reason = local.gate([1.0] * 6, [0.0] * 6, policy="improve", alpha=alpha).reason
        shown, sign = re.findall(r"p = (\S+) (<=|>) alpha", reason)[0]
        assert float(shown) == 2.0**-6
        assert sign == ("<=" if alpha >= 2.0**-6 else ">")
