"""Parts of the record of a test that are read off its data, its problem and its plan."""

from __future__ import annotations

from dataclasses import replace

from ..engine.plan import Cost, Plan
from ..statistics.paired import Paired, Pairing, Scores, StatisticSpec
from ..statistics.repeats import spread_of
from .data_record import PairingRecord, RepeatsRecord, SpreadRecord
from .options import Options
from .record import ItemsRecord, StatisticRecord


def pairing_record(pairing: Pairing) -> PairingRecord | None:
    """The numbers of ids; None when items were paired by their order."""
    if pairing.matched is None:
        return None
    return PairingRecord(pairing.matched, pairing.only_u, pairing.only_v)


def repeats_record(data: Paired, spec: StatisticSpec) -> RepeatsRecord | None:
    """How repeated samples vary; None where no item has any."""
    if not isinstance(data, Scores):
        return None
    u, v = (
        None if spread is None else SpreadRecord(spread.samples, spread.variance, spread.flips)
        for spread in (spread_of(data.u), spread_of(data.v))
    )
    return None if u is None and v is None else RepeatsRecord(spec.parameters.get("repeats") or "mean", u, v)


def items_of_u(items: ItemsRecord, options: Options) -> ItemsRecord:
    """Wins are U's: with less of the statistic where lower is better."""
    if options.higher_is_better is not False:
        return items
    return replace(items, wins=items.losses, losses=items.wins)


def measured(statistic: StatisticRecord, options: Options) -> StatisticRecord:
    """The statistic with what the options say of it."""
    if options.metric is None and options.higher_is_better is None:
        return statistic
    return replace(statistic, metric=options.metric, higher_is_better=options.higher_is_better)


def reason_of(plan: Plan, by: Cost) -> str:
    """Why this method answered: as planned, or because what was planned could not."""
    if by.method == plan.chosen.method:
        return plan.reason
    if plan.chosen.method == "bounds" and by.exact:
        return f"alpha lies inside the bracket that was planned: {by.method}"
    if plan.chosen.method == "bounds" and by.method == "monte_carlo":
        return "the bracket that was planned turned out to say less than samples: monte_carlo, sampled"
    kind = "" if by.exact else ", a rigorous bracket" if by.method == "bounds" else ", sampled"
    return f"{plan.chosen.method} was planned, but could not prove its answer here: {by.method}{kind}"
