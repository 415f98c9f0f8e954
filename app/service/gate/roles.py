"""What a gate must know before it decides: which system is the candidate, and which direction is better.

A test can be read either way; a verdict cannot. What is not told is refused, and what was said against a name that
tells is followed with a warning.
"""

from __future__ import annotations

from ...errors import InvalidTest
from ...inference.record import Caution
from ...inputs.formats.reader import Reading
from ...inputs.formats.roles import roles_of
from ...inputs.pairing import shown
from ...statistics.catalogue import DEFAULT_EXPRESSION
from ...statistics.direction import of_name
from ...statistics.paired import Effects, Scores
from ..parse import Asked
from ..pointers import Place


def require(reading: Reading) -> None:
    """Refuse two systems of which nothing tells the candidate; raises InvalidTest with what to say."""
    if reading.role_question is not None:
        raise InvalidTest.at("/options/system_u", "choose_roles", reading.role_question)


def direction(wanted: bool | None, asked: Asked, term: Place) -> tuple[bool, tuple[Caution, ...]]:
    """Whether higher is better: as wanted, else as the metric's name or statistic tells, else the default for scores.

    Raises
    ------
        InvalidTest: nothing tells, at `higher_is_better`.
    """
    known, what = asked.options.higher_is_better, asked.options.metric or asked.spec.name
    open_ = None if asked.reading is None else asked.reading.direction_question
    if wanted is None and known is None and open_ is not None:
        raise InvalidTest.at(term("/higher_is_better"), "choose_direction", open_)
    if wanted is None and known is None and not _plain(asked):
        detail = (
            f"Nothing says whether a higher {shown(what)} is better: say higher_is_better=true, or "
            "higher_is_better=false where lower is better."
        )
        raise InvalidTest.at(term("/higher_is_better"), "choose_direction", detail)
    if wanted is None:
        return known is not False, ()
    if known is None or known == wanted:
        return wanted, ()
    usual, said = ("lower", "higher") if wanted else ("higher", "lower")
    detail = f"The {usual} {shown(what)} is usually the better one; the gate takes the {said}, as higher_is_better says."
    return wanted, (Caution("direction_contradicts_name", detail),)


def _plain(asked: Asked) -> bool:
    """Scores that nobody named, and effects themselves: these are higher where they are better, as documented."""
    if isinstance(asked.data, Effects):
        return str(asked.spec.parameters.get("expression", DEFAULT_EXPRESSION)) == DEFAULT_EXPRESSION
    named = of_name(asked.options.name_u) is False and of_name(asked.options.name_v) is False
    return isinstance(asked.data, Scores) and asked.options.metric is None and not named


def swapped(asked: Asked) -> tuple[Caution, ...]:
    """A caution where the names say that the baseline was given as the candidate, and the candidate as the baseline."""
    options, reading = asked.options, asked.reading
    read = () if reading is None else (reading.file_names, reading.score_names)
    for u, v in ((options.name_u, options.name_v), *(names for names in read if names is not None)):
        if roles_of((u, v)) == ["v", "u"]:
            detail = (
                f"By their names {shown(v)} is the candidate and {shown(u)} the baseline; the gate takes them the other "
                "way round, as they were given."
            )
            return (Caution("roles_contradict_names", detail),)
    return ()
