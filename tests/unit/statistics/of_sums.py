"""Problems of sums, to which every statistic except quantiles is reduced."""

from exactperm.statistics.effects import Additive, Joint
from exactperm.statistics.paired import Paired, StatisticSpec
from exactperm.statistics.reducers import reduce as reduce_any


def reduce(data: Paired, spec: StatisticSpec) -> Additive | Joint:
    problem = reduce_any(data, spec)
    assert isinstance(problem, Additive | Joint)
    return problem
