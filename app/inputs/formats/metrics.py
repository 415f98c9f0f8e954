"""What the numbers of a file measure, by the names of columns or fields."""

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
    """The metric that a column or field is named after; None for `score` and other generic names."""
    return None if name.strip().lower() in GENERIC else name.strip()


def metric_of_both(u: str, v: str, pointer: str) -> str | None:
    """What the columns or fields of two files measure; None if no metric is named, or each is named after its system.

    Raises
    ------
    InvalidTest
        Higher is better for one and lower for the other: these are two metrics.
    """
    if u.strip().lower() == v.strip().lower():
        return metric_of(u)
    directions = of_name(u), of_name(v)
    if None not in directions and directions[0] != directions[1]:
        detail = f"u is scored by {quoted(u)} and v by {quoted(v)}, of which one is better when higher and the other when lower: "
        raise InvalidTest.at(
            pointer, "metric_mismatch", detail + "choose the same metric of both (`metric`)."
        )
    shared = metric_of_columns((u, v))
    named = [
        name.strip() for name, direction in zip((u, v), directions, strict=True) if direction is not None
    ]
    if shared or named:
        return shared or "/".join(named)
    others = [name.strip() for name in (u, v) if metric_of(name) is not None]
    # score and toxicity: the second file names the metric of both; score and baseline: it names a role.
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
    """What a gate must ask when two columns' names do not tell which direction is better; None when they do.

    They share words that are not a known metric (`toxicity_new`, `toxicity_old`); or only one of them is known to be
    better when lower.
    """
    if u.strip().lower() == v.strip().lower() or metric_of_columns((u, v)) is not None:
        return None
    directions = of_name(u), of_name(v)
    shared = _telling(shared_words((u, v)))
    if False in directions and directions != (False, False):
        why = f"Only one of {quoted(u)} and {quoted(v)} tells by its name that lower is better."
    elif directions == (False, False):
        why = f"{quoted(u)} and {quoted(v)} are different metrics."
    elif None in directions and shared:
        why = f"Nothing says whether a higher {quoted(' '.join(shared))} is better."
    else:
        return None
    return f"{why} Give `higher_is_better=true`, or `higher_is_better=false` if lower is better."


def _telling(words: Sequence[str]) -> list[str]:
    """The words that may name a metric: no roles, no decoration, no numbers."""
    nothing = {*CLEAR, *BRIEF, *DECORATION, *GENERIC}
    return [word for word in words if word not in nothing and not word.isdigit()]
