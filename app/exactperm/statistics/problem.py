"""What any statistic of any data comes down to."""

from __future__ import annotations

from .additive_problem import Additive
from .joint_problem import Joint
from .pairwise.correlation import Correlation
from .quantiles import Quantiles

Problem = Additive | Joint | Quantiles | Correlation
