"""What the numbers of a file measure, by the names of its columns or fields."""

from __future__ import annotations

import re
from collections.abc import Sequence

from ...errors import InvalidTest
from ...statistics.direction import GENERIC, negated, of_name
from ..quoting import quoted
from .roles import BRIEF, CLEAR, DECORATION, shared_words, words as role_words

PART = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*|[^\W_]+")


def metric_of(name: str) -> str | None:
    """A column's or field's name as that of a metric; None for `score` and its like, which name none."""
    return None if name.strip().lower() in GENERIC else name.strip()


def metric_of_both(u: str, v: str, pointer: str) -> str | None:
    """What the columns or fields of two files measure; None where no metric is named, or each is called by its system.

    Raises
    ------
    InvalidTest
        More of the one and less of the other is better: these are two metrics.
    """
    if u.strip().lower() == v.strip().lower():
        return metric_of(u)
    directions = of_name(u), of_name(v)
    if None not in directions and directions[0] != directions[1]:
        detail = f"u is scored by {quoted(u)} and v by {quoted(v)}, of which one is better when higher and one when lower: "
        raise InvalidTest.at(pointer, "metric_mismatch", detail + "choose the same metric of both (metric=).")
    shared = metric_of_columns((u, v))
    named = [
        name.strip() for name, direction in zip((u, v), directions, strict=True) if direction is not None
    ]
    if shared or named:
        return shared or "/".join(named)
    others = [name.strip() for name in (u, v) if metric_of(name) is not None]
    # score and toxicity: the second file says what both hold; score and baseline: it says its role.
    return others[0] if len(others) == 1 and _telling(role_words(others[0])) else None


def metric_of_columns(names: Sequence[str]) -> str | None:
    """What two columns of one table both measure: wer, of `wer_new` and `wer_old`, or of `NewWER` and `OldWER`.

    None where no known metric is shared.
    """
    if any(map(negated, names)):
        return None
    for pattern in (PART, CAMEL):
        parts = [pattern.findall(name) for name in names]
        others = [{part.lower() for part in other} for other in parts[1:]]
        shared = "_".join(part for part in parts[0] if all(part.lower() in other for other in others))
        if shared and of_name(shared) is not None:
            return shared
    return None


def direction_question(u: str, v: str) -> str | None:
    """What two columns' names leave open, so that a gate must ask which direction is better; None where nothing is.

    They share words that are no known metric (`toxicity_new`, `toxicity_old`); or one of them is better when lower,
    and the other does not say so.
    """
    if u.strip().lower() == v.strip().lower() or metric_of_columns((u, v)) is not None:
        return None
    directions = of_name(u), of_name(v)
    shared = _telling(shared_words((u, v)))
    if False in directions and directions != (False, False):
        why = f"Of {quoted(u)} and {quoted(v)} only one says by its name that lower is better."
    elif directions == (False, False):
        why = f"{quoted(u)} and {quoted(v)} are different metrics."
    elif None in directions and shared:
        why = f"Nothing says whether a higher {quoted(' '.join(shared))} is better."
    else:
        return None
    return f"{why} Say higher_is_better=true, or higher_is_better=false where lower is better."


def _telling(words: Sequence[str]) -> list[str]:
    """The words that may be a metric's, or part of one: no roles, no decoration, no numbers."""
    nothing = {*CLEAR, *BRIEF, *DECORATION, *GENERIC}
    return [word for word in words if word not in nothing and not word.isdigit()]
