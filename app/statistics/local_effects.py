"""Local effects, the paper's own form: h of one sum (Zmigrod, Vieira & Cotterell 2022, eq. 3)."""

from __future__ import annotations

from app.errors import InvalidTest
from app.statistics.numbers import on_lattice
from app.statistics.paired import Effects, StatisticSpec
from app.statistics.problem import Additive, clustered, require_items, require_same_length

EXPRESSIONS = ("x1", "abs(x1)")


def reduce_effects(data: Effects, spec: StatisticSpec) -> Additive:
    """The test of h(sum of effects), h(x) = x or |x|."""
    expression = "".join(str(spec.parameters.get("expression", "x1")).split())
    if expression not in EXPRESSIONS:
        raise InvalidTest.at(
            "/statistic/expression",
            "unknown_expression",
            f"The expression must be one of: {', '.join(EXPRESSIONS)}.",
        )
    require_items(len(data.stay), "/stay")
    if data.swap is None:
        unit, (stay,) = on_lattice(data.stay)
        swap = None
    else:
        require_same_length(len(data.stay), len(data.swap), "/swap", ("stay", "swap"))
        unit, (stay, other) = on_lattice(data.stay, data.swap)
        swap = clustered(other, data.pairing)
    return Additive(
        name=expression,
        stay=clustered(stay, data.pairing),
        swap=swap,
        unit=unit,
        items=len(data.stay),
        clusters=data.pairing.n_clusters,
        absolute=expression != "x1",
    )
