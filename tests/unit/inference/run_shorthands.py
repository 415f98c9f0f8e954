"""Run tests through inference, and check the guarantees of certified answers."""

from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from exactperm.answers.test import BinaryFraction, TestRecord
from exactperm.engine.plan import Budget
from exactperm.engine.probability import Probability
from exactperm.inference.options import Options
from exactperm.inference.paired import run_test
from exactperm.statistics.paired import Column, Effects, Pairing, Scores, StatisticSpec
from tests.unit.engine.exact_null import check

Numbers = Sequence[int] | Sequence[float]
NO_PICTURE = Options(pmf="none")


def column(values: Numbers) -> Column:
    """Convert as the inputs do: int64 if every number is an integer, else float64."""
    if all(isinstance(value, int) for value in values):
        return np.array(values, dtype=np.int64)
    return np.array(values, dtype=np.float64)


def clusters(codes: Sequence[int]) -> Pairing:
    seen = {code: index for index, code in enumerate(dict.fromkeys(codes))}
    return Pairing(np.array([seen[code] for code in codes], dtype=np.int64), len(seen))


def score(
    u: Numbers,
    v: Numbers,
    statistic: str = "mean_difference",
    *,
    codes: Sequence[int] | None = None,
    **given: Any,
) -> TestRecord:
    parameters = {"zero_method": given.pop("zero_method")} if "zero_method" in given else {}
    options = Options(**{"pmf": "none", **given})
    pairing = Pairing() if codes is None else clusters(codes)
    data = Scores(column(u), column(v), pairing)
    return run_test(data, StatisticSpec(statistic, parameters), options, Budget())


def effects(stay: Numbers, swap: Numbers | None = None, expression: str = "x1", **given: Any) -> TestRecord:
    options = Options(**{"pmf": "none", **given})
    data = Effects(column(stay), None if swap is None else column(swap))
    return run_test(data, StatisticSpec("expression", {"expression": expression}), options, Budget())


def check_record(record: TestRecord, truth: Fraction, *, within: float = 1e-12) -> None:
    """p, its logarithm, its certificate and its bounds, against the exact fraction."""
    bound = record.method.relative_error_bound
    assert bound is not None
    assert record.p_value_bounds_kind == "certified"
    low, high = record.p_value_bounds
    assert Fraction(low) <= truth <= Fraction(high)
    assert low <= record.p_value <= high
    log_p = record.log10_p_value * float(np.log(10.0))
    fraction = record.p_value_fraction
    assert fraction is None or isinstance(fraction, BinaryFraction)
    found = Probability(
        log_p, bound, None if fraction is None else (int(fraction.numerator), fraction.log2_denominator)
    )
    if truth >= Fraction(1, 2**1022):
        assert abs(Fraction(record.p_value) / truth - 1) <= min(within, bound)
        assert abs(found.log10_p - record.log10_p_value) <= 1e-12
    else:
        check(found, truth, within=within)


def same_answer(one: TestRecord, other: TestRecord) -> bool:
    """Bit for bit the same p-value, logarithm, bounds and certificate."""

    def answer(record: TestRecord) -> tuple[object, ...]:
        return (
            record.p_value,
            record.log10_p_value,
            record.p_value_bounds,
            record.p_value_fraction,
            record.method.name,
            record.method.relative_error_bound,
            record.min_attainable_p,
        )

    return answer(one) == answer(other)
