"""Brackets of smooth statistics about their midpoint, through the one entry: narrow, chosen before sampling, and true."""

from __future__ import annotations

import csv
from pathlib import Path

import numpy as np
import pytest

from exactperm.answers.test import TestRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired_test import prepare, run_test
from exactperm.statistics.paired import Counts, Predictions, StatisticSpec

PACK = Path(__file__).parents[4] / "shared" / "data" / "mt" / "ted_slk_eng"
BLEU = ("sys_len", "ref_len", *(f"correct_{n}" for n in range(1, 5)), *(f"total_{n}" for n in range(1, 5)))
MACRO = StatisticSpec("f1", {"average": "macro"})


def asked(data: Counts | Predictions, spec: StatisticSpec, **options: object) -> TestRecord:
    return run_test(data, spec, Options(**{"pmf": "none", **options}), Budget())  # type: ignore[arg-type]


def codes(record: TestRecord) -> set[str]:
    return {warning.code for warning in record.warnings}


def labels(items: int, classes: int, *, better: float = 0.0, seed: int = 0) -> Predictions:
    """Gold labels, and two systems that are right on some eight of ten."""
    generator = np.random.default_rng(seed)
    gold = generator.integers(classes, size=items)
    systems = []
    for share in (0.8 + better, 0.8):
        wrong = generator.random(items) > share
        systems.append(np.where(wrong, generator.integers(classes, size=items), gold).tolist())
    return Predictions(gold.tolist(), *systems)


def pack(items: int, swapped: float, seed: int) -> Counts:
    """The first segments of the data pack's two systems, a share of them swapped: p-values of every size."""
    systems = []
    for index in (1, 2):
        with (PACK / f"ted.sys{index}.segment-stats.tsv").open(encoding="utf-8") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t"))[:items]
        systems.append({name: np.array([int(row[name]) for row in rows]) for name in BLEU})
    at = np.random.default_rng(seed).random(items) < swapped
    u, v = systems
    return Counts(
        {name: np.where(at, v[name], u[name]) for name in BLEU},
        {name: np.where(at, u[name], v[name]) for name in BLEU},
    )


@pytest.mark.pack
@pytest.mark.parametrize(
    ("items", "swapped", "seed", "width"),
    [
        (2_445, 0.0, 1, 0.15),
        (2_445, 0.15, 1, 0.07),
        (2_445, 0.3, 1, 0.036),
        (2_445, 0.4, 1, 0.019),
        (2_000, 0.3, 2, 0.014),  # p = 0.0506
    ],
)
def test_bleu_of_the_pack_is_bracketed_and_samples_agree(
    items: int, swapped: float, seed: int, width: float
) -> None:
    data, spec = pack(items, swapped, seed), StatisticSpec("bleu")
    record = asked(data, spec)
    assert record.method.name == "bounds"
    assert not record.method.exact
    assert record.p_value_bounds_kind == "certified"
    low, high = record.p_value_bounds
    assert (high - low) / low <= width
    assert "precision_not_reached" in codes(record)
    samples = 20_000
    drawn = asked(data, spec, method="monte_carlo", samples=samples, seed=7).method.monte_carlo
    assert drawn is not None
    # Six standard errors of the plain count of samples.
    share, error = drawn.exceedances / samples, (high / samples) ** 0.5
    assert low - 6 * error - 1 / samples <= share <= high + 6 * error + 1 / samples


@pytest.mark.parametrize("spec", [MACRO, StatisticSpec("mcc")], ids=["macro F1", "MCC"])
@pytest.mark.parametrize("classes", [5, 10])
def test_classes_are_bracketed_where_no_grid_fits(spec: StatisticSpec, classes: int) -> None:
    data = labels(4_000, classes, better=0.02, seed=3)
    record = asked(data, spec)
    assert record.method.name == "bounds"
    low, high = record.p_value_bounds
    drawn = asked(data, spec, method="monte_carlo", seed=5)
    assert drawn.method.monte_carlo is not None
    assert drawn.p_value_bounds[0] <= high
    assert low <= drawn.p_value_bounds[1]


@pytest.mark.parametrize("side", ["greater", "less", "two-sided"])
@pytest.mark.parametrize("spec", [MACRO, StatisticSpec("mcc")], ids=["macro F1", "MCC"])
def test_a_bracket_that_was_asked_for_holds_the_exact_p_value(spec: StatisticSpec, side: str) -> None:
    """Three classes of which few items differ: the grid is exact."""
    data = labels(3_000, 3, seed=2)
    rows = list(zip(data.gold, data.u, data.v, strict=True))
    kept = [(g, u, v if index < 60 else u) for index, (g, u, v) in enumerate(rows)]
    gold, u, v = (list(column) for column in zip(*kept, strict=True))
    few = Predictions(gold, u, v)
    exact = asked(few, spec, alternative=side)
    assert exact.method.exact
    bracket = asked(few, spec, alternative=side, method="bounds")
    assert bracket.method.name == "bounds"
    low, high = bracket.p_value_bounds
    assert low <= exact.p_value <= high
    assert high < 1.0 or exact.p_value > 0.5


@pytest.mark.pack
def test_small_sets_are_sampled_as_before() -> None:
    """A bracket that says next to nothing takes nobody's place, but may be asked for."""
    data, spec = pack(40, 0.3, seed=4), StatisticSpec("bleu")
    assert prepare(data, spec, Options(), Budget()).test.plan.chosen.method == "monte_carlo"
    assert asked(data, spec).method.name == "monte_carlo"


def test_a_class_that_is_rarely_predicted_makes_no_false_bracket() -> None:
    """min(1, predicted) turns with single items: the divisor of macro F1 changes, and no line is near."""
    data = labels(2_000, 4, seed=6)
    u, v = list(data.u), list(data.v)
    u[0], v[1] = 9, 9
    record = asked(Predictions(data.gold, u, v), MACRO)
    drawn = asked(Predictions(data.gold, u, v), MACRO, method="monte_carlo")
    assert drawn.p_value_bounds[0] <= record.p_value_bounds[1]
    assert record.p_value_bounds[0] <= drawn.p_value_bounds[1]


def test_a_sum_that_no_swap_moves_may_have_any_slope() -> None:
    """log(a) / b with one small b for both systems: its slope is a million times that of a."""
    draw = np.random.default_rng(0)
    u, v = (np.concatenate([[100_000], draw.integers(0, 3, 40)]) for _ in range(2))
    b = np.zeros(41, dtype=np.int64)
    b[0] = 3
    spec = StatisticSpec("expression", {"expression": "log(a) / b"})
    record = asked(Counts({"a": u, "b": b}, {"a": v, "b": b}), spec, method="bounds")
    exact = asked(Counts({"a": u, "b": b}, {"a": v, "b": b}), spec)
    assert exact.method.exact
    assert record.p_value_bounds[0] <= exact.p_value <= record.p_value_bounds[1]
