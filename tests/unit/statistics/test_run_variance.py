"""Components of variance of runs, and the standard error: against fractions, statsmodels' analysis of variance and R's."""

import math
import random
import shutil
import subprocess
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

import exactperm
from tests.unit.inference.test_runs import TIMES, Rows, record

CASES = 2_000 * TIMES


def mean(values: list[Fraction]) -> Fraction:
    return sum(values, Fraction(0)) / len(values)


def components(rows: Rows) -> tuple[Fraction | None, Fraction | None]:
    """Within and between by their definitions."""
    runs = [[Fraction(str(run)) for run in row] for row in rows]
    total, items = sum(map(len, runs)), len(runs)
    if total == items:
        return None, None
    within = sum((run - mean(row)) ** 2 for row in runs for run in row) / Fraction(total - items)
    if items == 1:
        return within, None
    middle = mean([run for row in runs for run in row])
    among = sum(len(row) * (mean(row) - middle) ** 2 for row in runs) / Fraction(items - 1)
    typical = (total - Fraction(sum(len(row) ** 2 for row in runs), total)) / (items - 1)
    return within, max(Fraction(0), (among - within) / typical)


def expected_error(u: Rows, v: Rows, *, fixed: bool, items: int = 1, runs: int = 1) -> float:
    variances = [components(side)[0] or Fraction(0) for side in (u, v)]
    noise = [
        mean([variance / len(row) for row in side]) for variance, side in zip(variances, (u, v), strict=True)
    ]
    means = [[mean([Fraction(str(run)) for run in row]) for row in side] for side in (u, v)]
    differences = [a - b for a, b in zip(*means, strict=True)]
    off = sum((d - mean(differences)) ** 2 for d in differences) / Fraction(len(u) - 1)
    between = Fraction(0) if fixed else max(Fraction(0), off - sum(noise))
    return math.sqrt((between + sum(noise) / runs) / (len(u) * items))


def random_rows(draw: random.Random) -> tuple[Rows, Rows]:
    items = draw.randint(1, 6)
    make: Any = draw.choice(
        [
            lambda: draw.randint(0, 1),
            lambda: draw.choice([0.1, 0.2, 0.3]),
            lambda: round(draw.gauss(0, 3), 3),
            lambda: 1e6 + round(draw.random(), 2),
        ]
    )
    sizes = [draw.randint(1, 4) for _ in range(items)]
    alike = draw.random() < 0.2
    rows = [[[make()] * n if alike else [make() for _ in range(n)] for n in sizes] for _ in range(2)]
    return rows[0], rows[1]


def test_components_and_standard_errors_are_those_of_fractions() -> None:
    draw = random.Random(41)
    for _ in range(CASES):
        u, v = random_rows(draw)
        exchange = draw.choice(["items", "runs", "both"])
        repeats = record(u, v, exchange=exchange, method="monte_carlo", samples=100).repeats
        assert repeats is not None
        for rows, spread in ((u, repeats.u), (v, repeats.v)):
            assert spread is not None
            within, between = components(rows)
            assert spread.within_item_variance == (None if within is None else float(within))
            assert spread.between_item_variance == (None if between is None else float(between))
            if within is None or between is None:
                assert spread.icc is None
            else:
                assert spread.icc == (float(between / (between + within)) if between + within else 0)
        if len(u) == 1 or max(map(len, u)) == 1:
            assert repeats.advice is None
            continue
        fixed, advice = exchange == "runs", repeats.advice
        assert advice is not None
        assert advice.standard_error == pytest.approx(expected_error(u, v, fixed=fixed), rel=1e-12)
        assert advice.twice_the_items == pytest.approx(expected_error(u, v, fixed=fixed, items=2), rel=1e-12)
        assert advice.twice_the_runs == pytest.approx(expected_error(u, v, fixed=fixed, runs=2), rel=1e-12)
        say = "items" if advice.twice_the_runs > 1.1 * advice.twice_the_items else "either"
        assert advice.say == ("runs" if fixed else say)


@pytest.mark.parametrize("digits", [1, 3, 17])
def test_nothing_depends_on_the_order_of_rows_or_runs(digits: int) -> None:
    """The mean square within items changed in its last digit."""
    draw = random.Random(42)
    for _ in range(40):
        sizes = [draw.randint(1, 5) for _ in range(9)]
        u, v = ([[round(draw.random(), digits) for _ in range(n)] for n in sizes] for _ in "uv")
        first = record(u, v, exchange="items").repeats
        order = draw.sample(range(9), 9)
        moved = [[draw.sample(side[at], len(side[at])) for at in order] for side in (u, v)]
        assert record(moved[0], moved[1], exchange="items").repeats == first


def test_many_long_scores_as_doubles() -> None:
    draw = np.random.default_rng(5)
    u, v = (draw.random((4_000, 3)) + draw.random((4_000, 1)) for _ in "uv")
    spread = record(u.tolist(), v.tolist(), exchange="items").repeats
    assert spread is not None
    assert spread.u is not None
    within = u.var(axis=1, ddof=1).mean()
    assert spread.u.within_item_variance == pytest.approx(within, rel=1e-12)
    assert spread.u.between_item_variance == pytest.approx(u.mean(axis=1).var(ddof=1) - within / 3, rel=1e-10)
    assert spread.advice is not None
    differences = u.mean(axis=1) - v.mean(axis=1)
    assert spread.advice.standard_error == pytest.approx(
        math.sqrt(differences.var(ddof=1) / 4_000), rel=1e-10
    )
    assert spread.advice.say == "items"


def table(rows: Rows) -> tuple[list[float], list[int]]:
    return [run for row in rows for run in row], [at for at, row in enumerate(rows) for _ in row]


def unbalanced(seed: int) -> Rows:
    draw = np.random.default_rng(seed)
    return [(draw.normal(draw.normal(0, 2), 1, draw.integers(1, 6))).round(4).tolist() for _ in range(12)]


@pytest.mark.parametrize("seed", range(4))
def test_statsmodels_agrees(seed: int) -> None:
    """Its table of the analysis of variance, and, of equal numbers, its mixed model by restricted likelihood."""
    api = pytest.importorskip("statsmodels.formula.api")
    anova = pytest.importorskip("statsmodels.stats.anova")
    frame = pytest.importorskip("pandas").DataFrame
    rows = unbalanced(seed)
    values, items = table(rows)
    fit = api.ols("score ~ C(item)", frame({"score": values, "item": items})).fit()
    squares = anova.anova_lm(fit)["mean_sq"]
    typical = (len(values) - sum(len(row) ** 2 for row in rows) / len(values)) / (len(rows) - 1)
    spread = record(rows, rows, exchange="items").repeats
    assert spread is not None
    assert spread.u is not None
    assert spread.u.within_item_variance == pytest.approx(squares["Residual"], rel=1e-9)
    assert spread.u.between_item_variance == pytest.approx(
        (squares["C(item)"] - squares["Residual"]) / typical, rel=1e-9
    )
    even = [(row * 4)[:4] if len(row) == 1 else (row + [row[0] + 1] * 4)[:4] for row in rows]
    values, items = table(even)
    mixed = api.mixedlm("score ~ 1", frame({"score": values, "item": items}), groups=items).fit()
    spread = record(even, even, exchange="items").repeats
    assert spread is not None
    assert spread.u is not None
    assert spread.u.within_item_variance == pytest.approx(mixed.scale, rel=1e-3)
    assert spread.u.between_item_variance == pytest.approx(float(np.asarray(mixed.cov_re)[0, 0]), rel=1e-3)


@pytest.mark.skipif(shutil.which("Rscript") is None, reason="there is no R")
def test_r_agrees() -> None:
    """The mean squares of `aov`."""
    rows = unbalanced(9)
    values, items = table(rows)
    code = (
        f"x <- c({','.join(map(str, values))}); i <- factor(c({','.join(map(str, items))}));"
        "m <- summary(aov(x ~ i))[[1]][['Mean Sq']]; n <- table(i); N <- sum(n);"
        "cat(format(c(m[2], (m[1] - m[2]) / ((N - sum(n^2) / N) / (length(n) - 1))), digits=15))"
    )
    out = subprocess.run(["Rscript", "-e", code], capture_output=True, text=True, check=True).stdout
    spread = record(rows, rows, exchange="items").repeats
    assert spread is not None
    assert spread.u is not None
    assert [spread.u.within_item_variance, spread.u.between_item_variance] == pytest.approx(
        list(map(float, out.split())), rel=1e-9
    )


def test_where_there_is_no_advice() -> None:
    u, v = [[1, 0], [1, 1], [0, 1]], [[0, 0], [1, 0], [1, 0]]
    first = exactperm.test(u, v).repeats
    assert first is not None
    assert first.advice is not None
    others: list[dict[str, Any]] = [
        {"statistic": "sign"},
        {"statistic": "sum_difference"},
        {"repeats": "all"},
        {"average": "runs"},
        {"weights": [1, 2, 3]},
        {"clusters": [1, 1, 2]},
        {"test": "bootstrap"},
    ]
    for options in others:
        repeats = exactperm.test(u, v, **options).repeats
        assert repeats is not None, options
        assert repeats.advice is None, options
        assert repeats.u == first.u, options
    one_sided = exactperm.test([[1], [0], [1]], v, exchange="runs").repeats
    assert one_sided is not None
    assert one_sided.u is not None
    assert (one_sided.advice, one_sided.u.icc) == (None, None)


def test_variances_beyond_all_doubles_are_left_out() -> None:
    repeats = exactperm.test([[1e299, -1e299], [1.0, 2.0]], [[0.0, 1.0], [1.0, 1.0]]).repeats
    assert repeats is not None
    assert repeats.u is not None
    assert (repeats.u.within_item_variance, repeats.advice) == (None, None)
