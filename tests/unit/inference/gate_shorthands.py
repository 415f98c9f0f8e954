"""Shorthands that run a gate through inference, and the gate's tests by the definition, in fractions."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

from exactperm.answers.gate import GateRecord, GateTerms, OnInconclusive
from exactperm.engine.plan import Budget
from exactperm.inference.gate import Metric, finish_gate, prepare_metric
from exactperm.inference.options import Options
from exactperm.statistics.paired import Paired, Pairing, Scores, StatisticSpec
from tests.enumeration import share, signed_sums
from tests.unit.inference.run_shorthands import clusters, column

TERMS = ("policy", "margin", "alpha", "higher_is_better")


def metric(
    u: Sequence[float],
    v: Sequence[float],
    statistic: str = "mean_difference",
    *,
    name: str = "score",
    codes: Sequence[int] | None = None,
    **given: Any,
) -> Metric:
    """A metric of scores; options that are not terms of the gate belong to the test."""
    pairing = Pairing() if codes is None else clusters(codes)
    return of_data(Scores(column(u), column(v), pairing), statistic, name=name, **given)


def of_data(
    data: Paired,
    statistic: str,
    *,
    name: str = "score",
    parameters: dict[str, Any] | None = None,
    **given: Any,
) -> Metric:
    terms = GateTerms(**{key: given.pop(key) for key in TERMS if key in given})
    options = Options(**{"pmf": "none", **given})
    return Metric(name, data, StatisticSpec(statistic, parameters or {}), options, terms)


def decide(*metrics: Metric, on_inconclusive: OnInconclusive = "pass") -> GateRecord:
    return finish_gate([prepare_metric(each, Budget()) for each in metrics], on_inconclusive, "1")


def by_definition(
    u: Sequence[Fraction],
    v: Sequence[Fraction],
    *,
    policy: str,
    margin: Fraction,
    higher_is_better: bool,
    codes: Sequence[int] | None = None,
) -> Fraction:
    """The p-value of the policy's test, by listing all signs of the shifted differences of the clusters.

    Lower is better by turning the scores' signs, rather than the hypothesis round.
    """
    sign = 1 if higher_is_better else -1
    boundary = margin if policy == "improve" else -margin
    sums: dict[int, Fraction] = {}
    for index, (a, b) in enumerate(zip(u, v, strict=True)):
        code = index if codes is None else codes[index]
        sums[code] = sums.get(code, Fraction(0)) + sign * (a - b) - boundary
    return share(signed_sums(sums.values()), "less" if policy == "no_regression" else "greater")
