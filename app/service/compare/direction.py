"""Whether more is better: as requested, else by the statistic or the metric's name, as gates decide it."""

from __future__ import annotations

from collections.abc import Collection

from ...errors import InvalidTest, choices_of
from ...inference.record import WarningRecord
from ...inputs.quoting import quoted
from ...statistics.direction import of_kind, of_name
from ...statistics.paired import StatisticSpec
from ...statistics.systems import SystemsKind

DIRECTIONS = choices_of("higher_is_better", {"true": "Higher is better", "false": "Lower is better"})


def settled(
    requested: bool | None,
    kind: SystemsKind,
    spec: StatisticSpec,
    *,
    metric: str | None,
    known: bool | None,
    names: Collection[str],
    question: str | None,
) -> tuple[bool, tuple[WarningRecord, ...]]:
    """The direction, and a warning where the request contradicts what is known of the metric.

    `known` is what a file format says of its scores, and `question` what a reader needs to be told.

    Raises
    ------
    InvalidTest
        Nothing decides it, at `/higher_is_better`.
    """
    if known is None:
        known = of_kind(kind, spec, metric)
    what = metric or spec.name
    if requested is None and known is None:
        named = all(of_name(name) is False for name in names)
        plain = kind == "scores" and metric is None and not named
        if question is not None or not plain:
            detail = question or (
                f"Whether a higher {quoted(what)} is better is not known: set `higher_is_better=true`, or "
                "`higher_is_better=false` where lower is better."
            )
            raise InvalidTest.at("/higher_is_better", "choose_direction", detail, DIRECTIONS)
    if requested is None:
        return known is not False, ()
    if known is None or known == requested:
        return requested, ()
    usual, other = ("lower", "higher") if requested else ("higher", "lower")
    detail = f"A {usual} {quoted(what)} is usually better; this board prefers the {other} one, as higher_is_better asks."
    return requested, (WarningRecord("direction_contradicts_name", detail),)
