"""What to know about the scales of a statistic of pairs, and about scores that all tie."""

from __future__ import annotations

import numpy as np

from ..paired import DataWarning, Predictions, StatisticSpec
from .reduce import measure_of

_FEWEST = 20  # items: the quarters of fewer say little


def pair_warnings(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """That raw scores of two scales are exchanged, and that a system without an order has no correlation."""
    return [*_scales(data, spec), *_constant(data, spec)]


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


def _constant(data: Predictions, spec: StatisticSpec) -> list[DataWarning]:
    """That all scores of a system tie: Spearman's rho and Kendall's tau-b and tau-c are 0 / 0, which counts as 0."""
    if measure_of(spec) is None or len(data.gold) < 2:
        return []
    for name, column in (("u", data.u), ("v", data.v)):
        scores = np.asarray(column)
        if (scores == scores[0]).all():
            detail = f"All scores of {name} tie, so that they have no correlation with anything; it counts as 0 here."
            return [DataWarning(f"/{name}", "constant_scores", detail)]
    return []
