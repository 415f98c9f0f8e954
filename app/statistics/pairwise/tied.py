"""What to know about the ties of a statistic of pairs."""

from __future__ import annotations

import numpy as np

from ..paired import DataWarning, Predictions, StatisticSpec


def pair_warnings(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """That a rho of tied scores has the normaliser of no ties; a column of scores, or gold, ties where values repeat."""
    if spec.name != "spearman":
        return []
    group = np.zeros(len(data.gold), dtype=np.int64) if data.groups is None else data.groups
    for name, column in (("gold", data.gold), ("u", data.u), ("v", data.v)):
        _, code = np.unique(np.asarray(column), return_inverse=True)
        if len(np.unique(group * len(code) + code.reshape(-1))) < len(code):
            detail = (
                f"Values of {name} tie. The statistic is the sum of products of mid-ranks over (n^3 - n) / 12, as without "
                "ties, so that it is linear in the swaps; Spearman's rho as SciPy has it divides by the ranks' own "
                "standard deviations, and is larger in size."
            )
            return [DataWarning(f"/{name}", "spearman_ties", detail, undecidable=False)]
    return []
