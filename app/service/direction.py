"""Whether more is better, of gates and boards alike: as requested, else by the statistic or the metric's name; else it is asked."""

from __future__ import annotations

from ..errors import InvalidTest, choices_of
from ..inference.record import WarningRecord
from ..inputs.quoting import quoted

DIRECTIONS = choices_of("higher_is_better", {"true": "Higher is better", "false": "Lower is better"})


def settled(
    requested: bool | None, known: bool | None, what: str, of: str, pointer: str, *, plain: bool, question: str | None = None
) -> tuple[bool, tuple[WarningRecord, ...]]:  # fmt: skip
    """The direction of a metric or statistic, `what`; and a warning where the request contradicts what is known of it.

    `of` a gate or a board; `plain` are scores without a metric's name, of which higher is better, as documented; `question` is
    what a reader needs to be told.

    Raises InvalidTest: Nothing decides it, at the pointer.
    """
    if requested is None:
        if known is None and (question is not None or not plain):
            detail = question or (
                f"Whether a higher {quoted(what)} is better is not known: set `higher_is_better=true`, or "
                "`higher_is_better=false` where lower is better."
            )
            raise InvalidTest.at(pointer, "choose_direction", detail, DIRECTIONS)
        return known is not False, ()
    if known is None or known == requested:
        return requested, ()
    usual, other = ("lower", "higher") if requested else ("higher", "lower")
    detail = f"A {usual} {quoted(what)} is usually better; this {of} prefers the {other} one, as higher_is_better asks."
    return requested, (WarningRecord("direction_contradicts_name", detail),)
