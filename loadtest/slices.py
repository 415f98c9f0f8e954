"""`python -m loadtest.slices`: false alarms over slices without a difference, and the power to find a worse slice.

The first table has designs of slices without a difference: the share of data sets in which any slice is significant at 0.05,
one-sided, and the same by Bonferroni's method. The second has eight slices of 4 to 24 items that differ, in one
of which the candidate loses an item with probability 0.8: the share in which that slice is found.
"""

import argparse
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from exactperm.answers.test import SliceRecord
from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.columns import slices_of
from exactperm.statistics.paired import Pairing, Scores, StatisticSpec
from loadtest.table import Table

SETS = 2_000
ALPHA = 0.05
LOSES = 0.8
Labels = list[list[str]]
Sample = tuple[NDArray[np.int64], Labels]


def main() -> None:
    """Draw the data sets and print both tables."""
    parser = argparse.ArgumentParser(prog="python -m loadtest.slices", description=__doc__)
    parser.add_argument("--sets", type=int, default=SETS)
    parser.add_argument("--seed", type=int, default=1)
    asked = parser.parse_args()
    rng = np.random.default_rng(asked.seed)
    rows = [
        [name, *map(_share, _counts(draw, asked.sets, rng, lambda found, _: bool(found)), [asked.sets] * 3)]
        for name, draw in DESIGNS.items()
    ]
    print(Table("Data sets without a difference and with a significant slice", _HEADER, rows).text())
    counts = _counts(_one_worse, asked.sets, rng, lambda found, worse: worse in found)
    shares = [_share(count, asked.sets) for count in counts]
    print(
        Table(
            "Power to find the slice that is worse", _HEADER, [["4 to 24 items that differ", *shares]]
        ).text()
    )


_HEADER = ["slices", "exact", "Bonferroni, Holm", "Sidak"]


def _share(count: int, sets: int) -> str:
    return f"{count / sets:.3f}"


def _counts(
    draw: Callable[[np.random.Generator], Sample],
    sets: int,
    rng: np.random.Generator,
    hit: Callable[[set[str], str], bool],
) -> tuple[int, int, int]:
    """In how many sets there is a hit, by the adjusted p-values, by Holm's and by Sidak's, both stepping down."""
    counts = [0, 0, 0]
    for _ in range(sets):
        effects, labels = draw(rng)
        data = Scores(effects, np.zeros_like(effects), Pairing(slices=slices_of(labels)))
        options = Options(alternative="less", pmf="none")
        record = run_test(data, StatisticSpec("sum_difference"), options, Budget())
        assert record.slices is not None
        items = record.slices.items
        exact = {one.slice for one in items if one.significant}
        m = len(items)
        holm = _first(items, [(m - at) * one.p_value for at, one in enumerate(items)])
        sidak = _first(items, [1 - (1 - one.p_value) ** (m - at) for at, one in enumerate(items)])
        for at, found in enumerate((exact, holm, sidak)):
            counts[at] += hit(found, labels[0][0] if labels[0] else "")
    return counts[0], counts[1], counts[2]


def _first(items: tuple[SliceRecord, ...], terms: list[float]) -> set[str]:
    """The slices before the first term above alpha."""
    found = set()
    for one, term in zip(items, terms, strict=True):
        if term > ALPHA:
            break
        found.add(one.slice)
    return found


def _right_or_wrong(rng: np.random.Generator, sizes: NDArray[np.int64], losing: float = 0.5) -> Sample:
    """Items that differ, of slices of these sizes; in the first one the candidate loses with this probability."""
    loses = np.repeat(np.where(np.arange(len(sizes)) == 0, losing, 0.5), sizes)
    signs = np.where(rng.random(len(loses)) < loses, -1, 1).astype(np.int64)
    return signs, [[f"s{slice_}"] for slice_ in np.repeat(np.arange(len(sizes)), sizes).tolist()]


def _one_worse(rng: np.random.Generator) -> Sample:
    return _right_or_wrong(rng, rng.integers(4, 25, 8), LOSES)


def _scores(rng: np.random.Generator) -> Sample:
    effects = rng.integers(0, 11, 200) - rng.integers(0, 11, 200)
    return effects.astype(np.int64), [[f"s{slice_}"] for slice_ in rng.integers(0, 10, 200).tolist()]


def _overlapping(rng: np.random.Generator) -> Sample:
    effects = rng.integers(0, 2, 150) - rng.integers(0, 2, 150)
    labels = [[f"s{at}" for at in range(6) if rng.random() < 0.4] for _ in range(150)]
    labels[0] = ["s0"]
    return effects.astype(np.int64), labels


DESIGNS: dict[str, Callable[[np.random.Generator], Sample]] = {
    "8 of 4 to 24 items that differ": lambda rng: _right_or_wrong(rng, rng.integers(4, 25, 8)),
    "30 of 12": lambda rng: _right_or_wrong(rng, np.full(30, 12)),
    "10 of scores 0 to 10": _scores,
    "6 that overlap": _overlapping,
}

if __name__ == "__main__":
    main()
