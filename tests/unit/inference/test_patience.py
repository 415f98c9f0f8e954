"""Exact methods that take long give way to a bracket or to controlled samples, which say so; by name they are exact."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from sacrebleu.metrics.bleu import BLEU

from exactperm.engine.plan import Budget
from exactperm.inference.compare.general import GeneralPairs
from exactperm.inference.options import Options
from exactperm.inference.paired_test import plan_record, prepare, run_test
from exactperm.statistics.paired import Counts, Pairing, StatisticSpec
from exactperm.statistics.systems import Systems

OF_TWO_CLASSES = ("tp", "fp", "fn", "tn")
ORDERS = range(1, 5)
QUIET = Options(pmf="none")


def against_a_gold_of_its_own(seed: int, items: int) -> dict[str, Any]:
    """Counts of one system on items whose gold differs from system to system."""
    draw = np.random.default_rng(seed)
    return {name: draw.integers(0, 4, items) for name in OF_TWO_CLASSES}


def two(items: int) -> Counts:
    return Counts(against_a_gold_of_its_own(1, items), against_a_gold_of_its_own(2, items))


@pytest.mark.parametrize("statistic", ["kappa", "mcc"])
def test_a_method_of_seconds_gives_way_to_samples_that_name_it(statistic: str) -> None:
    spec, budget = StatisticSpec(statistic), Budget(patience_s=0.2)
    record = run_test(two(30), spec, QUIET, budget)
    assert record.method.monte_carlo is not None
    assert record.method.monte_carlo.control == "midpoint"
    assert record.p_value_bounds_kind == "confidence"
    assert "sampled" in {warning.code for warning in record.warnings}
    named = record.method.reason.partition(": ")[2].partition(",")[0]
    assert "exact if asked for by name" in record.method.reason
    exact = run_test(two(30), spec, replace(QUIET, method=named), budget)  # type: ignore[arg-type]
    assert exact.method.exact
    assert record.p_value_bounds[0] <= exact.p_value <= record.p_value_bounds[1]
    fraction = prepare(two(30), spec, replace(QUIET, exact_fraction=True), budget)
    assert fraction.test.plan.chosen.exact
    patient = run_test(two(30), spec, QUIET, Budget())
    assert (patient.method.exact, patient.p_value) == (True, exact.p_value)


def test_what_is_planned_by_default_never_takes_long_where_samples_do_not() -> None:
    for statistic in ("kappa", "mcc", "balanced_accuracy", "f1"):
        for items in (20, 40, 50, 60, 80):
            plan = plan_record(prepare(two(items), StatisticSpec(statistic), QUIET, Budget()))
            assert plan.seconds < 10.5, (statistic, items, plan)


def segments(draw: np.random.Generator, reference: Any, share: float) -> dict[str, Any]:
    """The counts of BLEU: few trigrams match, and hardly any 4-gram."""
    length = np.maximum(reference + draw.integers(-2, 3, len(reference)), 5)
    counts = {"sys_len": length, "ref_len": reference}
    matched = length
    for n in ORDERS:
        matched = np.minimum(matched, draw.binomial(length - n + 1, share**n))
        counts[f"correct_{n}"], counts[f"total_{n}"] = matched, length - n + 1
    return counts


def bleu(rows: Any) -> float:
    length, reference, *counts = (int(total) for total in rows.sum(axis=0))
    correct, total = counts[0::2], counts[1::2]
    found: float = BLEU.compute_bleu(correct, total, length, reference, smooth_method="exp").score
    return found


@pytest.mark.parametrize("seed", [1, 2])
def test_the_test_of_clusters_is_not_held_up_by_the_one_by_item(seed: int) -> None:
    """230 segments in 10 clusters: all swaps take milliseconds, the exact p-value by item took 13 seconds."""
    draw = np.random.default_rng(seed)
    reference = draw.integers(8, 41, 230)
    u, v = segments(draw, reference, 0.102), segments(draw, reference, 0.1)
    codes = np.arange(230) * 10 // 230
    data, spec = Counts(u, v, Pairing(codes, 10)), StatisticSpec("bleu")
    prepared = prepare(data, spec, QUIET, Budget())
    assert prepared.seconds < 2.0
    record = run_test(data, spec, QUIET, Budget())
    assert record.item_level is not None
    assert record.method.exact
    mine, yours = (np.array(list(side.values())).T for side in (u, v))
    reached, observed = 0, abs(bleu(mine) - bleu(yours))
    for coins in product([False, True], repeat=10):
        swapped = np.array(coins)[codes][:, None]
        difference = bleu(np.where(swapped, yours, mine)) - bleu(np.where(swapped, mine, yours))
        reached += abs(difference) >= observed * (1.0 - 1e-12)
    assert record.p_value == pytest.approx(reached / 2**10, rel=1e-12)


@pytest.mark.parametrize(("systems", "exact"), [(3, True), (9, False)])
def test_the_pairs_of_a_board_share_their_patience(systems: int, exact: bool) -> None:
    columns = {f"s{k}": against_a_gold_of_its_own(k, 36) for k in range(systems)}
    pairs = np.array([(u, v) for u in range(systems) for v in range(u)], dtype=np.int64)
    board = GeneralPairs(Systems("counts", columns), StatisticSpec("kappa"), Options(), pairs, Budget())
    assert board.seconds < 25.0
    planned = board.planned(0, 1)
    assert planned is not None
    assert planned.plan.chosen.exact == exact
