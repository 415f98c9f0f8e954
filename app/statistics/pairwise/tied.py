"""What to know about the ties, and the scales, of a statistic of pairs."""

from __future__ import annotations

import numpy as np

from ..paired import DataWarning, Predictions, StatisticSpec

_FEWEST = 20  # items: the quarters of fewer say little


def pair_warnings(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """That raw scores of two scales are exchanged, and that a rho has ties."""
    return [*_scales(data, spec), *_ties(data, spec)]


def _scales(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """Raw scores whose middle halves do not meet mean different things: BLEU from 0 to 100, and COMET from 0 to 1."""
    usual = "raw" if spec.name == "pairwise_accuracy" else "ranks"
    if (spec.parameters.get("scale") or usual) != "raw" or len(data.gold) < _FEWEST:
        return []
    (low_u, high_u), (low_v, high_v) = (
        np.quantile(np.asarray(column), (0.25, 0.75), method="inverted_cdf") for column in (data.u, data.v)
    )
    if low_u <= high_v and low_v <= high_u:
        return []
    detail = (
        "The middle half of U's scores and that of V's have no value in common, so the numbers of the two do not mean the same, "
        "and exchanging them as they are tests nothing that one asks: set scale to ranks or standardized."
    )
    return [DataWarning("/statistic/scale", "scales_differ", detail)]


def _ties(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
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
