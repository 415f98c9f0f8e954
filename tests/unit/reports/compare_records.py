"""Comparisons for tests of reports and pictures: right-or-wrong scores of systems that are a little apart."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from exactperm.answers.board import CompareRecord, FrontierRecord, FrontierSystem
from exactperm.engine.plan import Budget
from exactperm.inference.compare.compare import finish_compare, prepare_compare
from exactperm.inference.compare.systems import Comparison
from exactperm.inference.options import Options
from exactperm.statistics.paired import StatisticSpec, Systems

Matrix = Any  # of scores, a row for each system

WRITTEN = (
    "GPT-5 mini", "claude-opus-4", "مرحبا שלום", "日本語モデル", "😀 emoji", "e\u0301a\u0308 o\u0302",
    "=1+1", "<b>&amp;", "Ünïcödé-9B", "a_b*c|d",
)  # fmt: skip


def short_names(size: int) -> list[str]:
    """Names as people write them, some in other scripts."""
    return [WRITTEN[k] if k < len(WRITTEN) else f"system-{k:03d}" for k in range(size)]


def long_names(size: int) -> list[str]:
    """Names that must be cut: they differ at the end, in the middle, or in another script."""
    kinds = (
        "organisation/model-with-a-very-long-name-{0}-" + "x" * 60 + "-step",
        "checkpoint-" + "W" * 50 + "-{0}",
        "مرحبا " * 20 + "{0}",
        "word " * 30 + "{0}",
    )
    return [kinds[k % len(kinds)].format(k) for k in range(size)]


def some_scores(size: int, items: int = 200, seed: int = 1, *, tied: bool = False) -> Matrix:
    """Scores of 0 and 1, shape (K, N); where `tied`, systems come in threes that are equal."""
    rng = np.random.default_rng(seed)
    easy, level = rng.random(items), 0.4 + 0.35 * np.sort(rng.random(size))
    scores = np.asarray(rng.random((size, items)) < 0.35 * easy + 0.8 * level[:, None], np.float64)
    if tied:
        scores = scores[np.arange(size) // 3 * 3]
    return scores


def compared(
    names: Sequence[str], scores: Matrix = None, datasets: Mapping[str, Matrix] | None = None, **given: Any
) -> CompareRecord:
    """The answer about systems; options that are not of its tests belong to the comparison."""
    own = {name: given.pop(name) for name in tuple(given) if name in Comparison.__slots__}
    options = Options(**{"higher_is_better": True, "confidence_level": None, **given})
    sets: dict[str | None, Matrix] = {None: scores} if datasets is None else dict(sorted(datasets.items()))
    data = {name: _systems(names, matrix) for name, matrix in sets.items()}
    spec = own.pop("spec", StatisticSpec("mean_difference"))
    return finish_compare(prepare_compare(Comparison(data, spec, options, **own), Budget()))


def with_costs(record: CompareRecord) -> CompareRecord:
    """The same board with costs, a third of its systems excluded."""
    names = sorted(system.name for system in record.main_board.systems)
    costs = [
        FrontierSystem(name, 0.5 + place % 7, place % 3 == 1, names[0] if place % 3 == 1 else None, 0.5, 1.0)
        for place, name in enumerate(names)
    ]
    return replace(record, frontier=FrontierRecord(tuple(costs), ()))


def _systems(names: Sequence[str], scores: Matrix) -> Systems:
    columns = dict(zip(names, np.asarray(scores, np.float64), strict=True))
    return Systems("scores", {name: columns[name] for name in sorted(columns)})
