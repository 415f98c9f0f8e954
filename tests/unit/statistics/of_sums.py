"""Problems of sums: what every statistic but the quantiles is reduced to."""

from __future__ import annotations

from exactperm.statistics.additive_problem import Additive
from exactperm.statistics.joint_problem import Joint
from exactperm.statistics.paired import Paired, StatisticSpec
from exactperm.statistics.reducers import reduce as reduce_any


def reduce(data: Paired, spec: StatisticSpec) -> Additive | Joint:
    problem = reduce_any(data, spec)
    assert isinstance(problem, Additive | Joint)
    return problem
