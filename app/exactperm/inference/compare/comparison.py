"""What is to be compared: systems on one or several data sets, in which pairs, and how p-values are adjusted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ...answers.board import Adjust, Aggregate, Combine, Design, Family, ListedPairs
from ...statistics.paired import StatisticSpec, Systems
from ..options import Options


@dataclass(frozen=True, slots=True)
class Comparison:
    """A validated request.

    Attributes
    ----------
    datasets
        The systems of each data set, by name in code-point order; a single board has the one name None.
    options
        Those of each test. `higher_is_better` is known: it has been settled before.
    design, baseline, pairs
        All pairs; each system against the baseline; or the given pairs (u, v) by name, in their order.
    aggregate, combine
        The overall board over data sets, None for none: by one exact test of all items; or, with `combine`, from the
        one-sided p-values of the data sets.
    listed
        Which pairs the answer lists; `auto` where they are more than an answer lists by itself.
    """

    datasets: Mapping[str | None, Systems]
    spec: StatisticSpec
    options: Options
    design: Design = "all_pairs"
    baseline: str | None = None
    pairs: tuple[tuple[str, str], ...] = ()
    adjust: Adjust = "holm"
    family: Family = "dataset"
    aggregate: Aggregate | None = "macro"
    combine: Combine | None = None
    listed: ListedPairs = "all"

    @property
    def board_count(self) -> int:
        """How many boards the answer has."""
        return len(self.datasets) + (None not in self.datasets and self.aggregate is not None)
