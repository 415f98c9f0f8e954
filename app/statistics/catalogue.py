"""The named statistics of each kind of data, and the one way from data to a problem."""

from __future__ import annotations

from collections.abc import Mapping

from app.errors import InvalidTest
from app.statistics.labels import reduce_predictions
from app.statistics.local_effects import reduce_effects
from app.statistics.paired import Effects, Paired, Predictions, Scores, StatisticSpec
from app.statistics.problem import Additive
from app.statistics.scores import reduce_scores

STATISTICS: Mapping[str, tuple[str, ...]] = {
    "effects": ("expression",),
    "scores": ("mean_difference", "sum_difference", "sign", "signed_rank"),
    "predictions": ("accuracy", "exact_match", "token_accuracy"),
}


def reduce(data: Paired, spec: StatisticSpec) -> Additive:
    """The problem to solve for this statistic of this data; raises InvalidTest."""
    kind = {Effects: "effects", Scores: "scores", Predictions: "predictions"}[type(data)]
    if spec.name not in STATISTICS[kind]:
        raise InvalidTest.at(
            "/statistic/name",
            "unknown_statistic",
            f"The statistic must be one of: {', '.join(STATISTICS[kind])}.",
        )
    if isinstance(data, Effects):
        return reduce_effects(data, spec)
    if isinstance(data, Scores):
        return reduce_scores(data, spec)
    return reduce_predictions(data, spec)
