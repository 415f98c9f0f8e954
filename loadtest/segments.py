"""Read segment statistics of two real systems, and mix them for a p-value near a target."""

import csv
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from exactperm.statistics.corpus import BLEU_NAMES

Rows = NDArray[np.int64]  # shape (segments, counts)
_SWAPS = 5_000


def segments_of(pack: Path) -> list[Rows]:
    """The BLEU counts of the first two systems in a folder of `*.segment-stats.tsv`."""
    systems = []
    for path in sorted(pack.glob("*.segment-stats.tsv"))[:2]:
        with path.open(encoding="utf-8", newline="") as lines:
            rows = [[int(row[name]) for name in BLEU_NAMES] for row in csv.DictReader(lines, delimiter="\t")]
        systems.append(np.array(rows, dtype=np.int64))
    return systems


def mixed(systems: Sequence[Rows], share: float, draw: np.random.Generator) -> tuple[Rows, Rows]:
    """Exchange segments so that about this share of all exchanges differs by as much.

    Among many random exchanges, take the one whose difference has this rank: p is near `share` for any two systems.
    """
    u, v = systems
    kept = draw.random((_SWAPS, len(u))) < 0.5
    moved = kept.astype(np.float64) @ (u - v)
    apart = np.abs(_bleu(v.sum(axis=0) + moved) - _bleu(u.sum(axis=0) - moved))
    chosen = kept[np.argsort(-apart)[max(round(share * _SWAPS), 1) - 1]][:, None]
    return np.where(chosen, u, v), np.where(chosen, v, u)


def _bleu(sums: NDArray[np.float64]) -> NDArray[np.float64]:
    system, reference, *counts = np.maximum(sums, 0.5).T
    correct, total = np.log(counts[:4]), np.log(counts[4:])
    score: NDArray[np.float64] = np.exp(
        np.minimum(1.0 - reference / system, 0.0) + (correct - total).mean(axis=0)
    )
    return score
