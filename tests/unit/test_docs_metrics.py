"""What the documentation says of metrics that are ranked against people: its figures, and what its tests are called."""

from __future__ import annotations

import gzip
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.inputs.alignment import coded
from exactperm.statistics.paired import Pairing, Predictions, StatisticSpec

ROOT = Path(__file__).resolve().parents[2]
DATA = ROOT / "tests" / "data" / "mtme"
Scores = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def scores(text: str) -> Scores:
    """Of a metric's file, shape (systems, segments), NaN where there is none."""
    by_system: dict[str, list[float]] = {}
    for line in text.splitlines():
        system, score = line.split("\t")
        by_system.setdefault(system, []).append(float("nan") if score == "None" else float(score))
    return np.array(list(by_system.values()))


def test_the_shares_of_pairs_that_are_ordered_and_tied() -> None:
    gold, chrf, ter = (
        scores(gzip.decompress((DATA / f"{name}.seg.score.gz").read_bytes()).decode())
        for name in ("en-de.mqm", "chrF-refA", "TER-refA")
    )
    first, second = np.triu_indices(len(gold), 1)
    order, *orders = (np.sign(one[first] - one[second]) for one in (gold, chrf, ter))
    rated = ~np.isnan(order)
    agreed = [((own == order) & (order != 0))[rated].mean() for own in orders]
    tied = [(own == 0)[rated].mean() for own in (order, orders[1], orders[0])]
    text = (ROOT / "docs" / "comparing.md").read_text(encoding="utf-8")
    sentence = next(line for line in text.split("\n\n") if "orders more pairs as the raters do" in line)
    said = [float(number) for number in re.findall(r"([\d.]+) %", sentence)]
    assert said[:2] == [round(100 * share, 1) for share in agreed]
    assert said[2:] == [round(100 * share) for share in tied]


def _matrices(segments: int) -> list[Any]:
    """Gold, chrF and BLEU of the first segments."""
    texts = [
        (DATA / "small" / f"{name}.seg.score").read_text("utf-8")
        for name in ("en-de.mqm", "chrF-refA", "BLEU-refA")
    ]
    return [scores(text)[:, :segments] for text in texts]


@pytest.mark.parametrize(("method", "segments"), [("PERM-BOTH", 3), ("PERM-INPUTS", 10)])
def test_the_permutations_are_those_of_deutsch_dror_and_roth(method: str, segments: int) -> None:
    """PERM-BOTH exchanges each score of the matrix by itself, PERM-INPUTS all scores of an input (2021)."""
    gold, chrf, bleu = _matrices(segments)
    assert not np.isnan(gold).any()
    system, segment = np.indices(gold.shape)
    codes, n_clusters = coded(segment.ravel().tolist())
    pairing = Pairing(clusters=codes, n_clusters=n_clusters) if method == "PERM-INPUTS" else Pairing()
    groups = coded(system.ravel().tolist())[0]
    data = Predictions(gold.ravel(), chrf.ravel(), bleu.ravel(), pairing, groups)
    said = run_test(
        data, StatisticSpec("kendall", {"scale": "raw", "variant": "a"}), Options(pmf="none"), Budget()
    )
    coins = gold.size if method == "PERM-BOTH" else segments
    swapped = (np.arange(1 << coins)[:, None] >> np.arange(coins) & 1).astype(bool)
    drawn = swapped.reshape(-1, *gold.shape) if method == "PERM-BOTH" else swapped[:, None, :]
    u, v = np.where(drawn, bleu, chrf), np.where(drawn, chrf, bleu)
    i, j = np.triu_indices(segments, 1)
    wanted = np.sign(gold[:, i] - gold[:, j])
    # The difference of concordant less discordant pairs: as many in every system, so that tau's mean is this over a constant.
    moved = sum(
        sign * (np.sign(one[..., i] - one[..., j]) * wanted).sum(axis=(1, 2))
        for sign, one in ((1, u), (-1, v))
    )
    assert said.p_value == pytest.approx((np.abs(moved) >= abs(moved[0])).mean(), rel=1e-12)
