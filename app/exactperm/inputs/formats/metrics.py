"""What the numbers of files measure, by the names of columns or fields, and whether both sides measure the same."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ...errors import InvalidTest, choices_of
from ...statistics.direction import GENERIC, negated, of_name, says_nothing
from ..quoting import quoted
from .reader import Finding
from .roles import BRIEF, CLEAR, DECORATION, shared_words, words as role_words

PART = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*|[^\W_]+")
NUMBER = re.compile(r"\d+")
ROLE_WORDS = frozenset((*CLEAR, *BRIEF, "u", "v"))
# Words that make no other metric of one, and other names of a metric.
SAME = frozenset(
    (*DECORATION, *GENERIC, "is", "none", "mean", "avg", "average", "sys", "llm", "method", "variant", "version", "classifier", "team")
)  # fmt: skip
ALIKE = {"accuracy": "acc", "correct": "acc", "err": "error", "errors": "error", "ppl": "perplexity"}
NAMED = 20
GIVE = "Give `higher_is_better=true`, or `higher_is_better=false` if lower is better."
CHOOSE = "Choose a metric that both have (`metric`)."


@dataclass(frozen=True, slots=True)
class Measured:
    """What two columns measure: their metric; what a gate must ask about its direction; and whether they are two metrics."""

    metric: str | None = None
    direction_question: str | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def metric_of(name: str) -> str | None:
    """The metric that a column or field is named after; None for `score` and other generic names."""
    return None if name.strip().lower() in GENERIC else name.strip()


def metric_of_columns(names: Sequence[str]) -> str | None:
    """What the columns of systems in one table all measure: wer, of `wer_new` and `wer_old`, or of `NewWER` and `OldWER`.

    None where no known metric is shared, or where what is left of a name is no system's.
    """
    if any(map(negated, names)):
        return None
    for pattern in (PART, CAMEL):
        parts = [pattern.findall(name) for name in names]
        folded = [[part.lower() for part in own] for own in parts]
        common = set(folded[0]).intersection(*folded[1:])
        shared = "_".join(part for part in parts[0] if part.lower() in common)
        rests = [[part for part in own if part not in common] for own in folded]
        if shared and of_name(shared) is not None and _are_systems(rests):
            return shared
    return None


def _are_systems(rests: Sequence[Sequence[str]]) -> bool:
    """Whether what the names do not share names systems: each something, which is no part of a metric; roles may be left out."""
    left = [[word for word in rest if word not in ROLE_WORDS] for rest in rests]
    if not any(left):
        return True
    return all(rests) and not all(
        not rest or says_nothing(" ".join(rest)) or of_name(" ".join(rest)) is not None for rest in left
    )


def measured(
    u: str,
    v: str,
    pointer: str,
    *,
    both: Callable[[], Sequence[str]] = list,
    one_table: bool = False,
    chosen: bool = False,
) -> Measured:
    """What the scores of two sides measure, by the names of their columns or fields.

    `both` finds the columns of numbers that both sides have. In `one_table` a column may be named after its system. Columns
    that were `chosen`, each by its name, may be of two metrics.

    Raises
    ------
    InvalidTest
        In two files, higher is better for one and lower for the other: these are two metrics.
    """
    if _folded(u) == _folded(v):
        return Measured(metric_of(u))
    numbered = NUMBER.sub("", u) == NUMBER.sub("", v)  # rouge_1 and rouge_2 are two metrics
    shared = None if numbered else metric_of_columns((u, v))
    own = [_telling(name) for name in (u, v)]
    known = [of_name(name) for name in (u, v)]
    if sorted(own[0]) == sorted(own[1]) and not any(map(negated, (u, v))):
        named = next(
            (name.strip() for name, higher in zip((u, v), known, strict=True) if higher is not None), None
        )
        question = None if shared or named or not own[0] else _unknown(own[0])
        return Measured(shared or named, question)
    if shared is not None:
        return Measured(shared)
    roles = [
        not words and any(word in ROLE_WORDS - {"u", "v"} for word in role_words(name))
        for name, words in zip((u, v), own, strict=True)
    ]
    generic = [not words and not role for words, role in zip(own, roles, strict=True)]
    other = (v if generic[0] else u).strip()
    unnamed = any(generic) and not any(map(negated, (u, v)))
    if unnamed and other not in both():
        note = f"One side is called {quoted((u if generic[0] else v).strip())}: it was taken for the {quoted(other)} of the other."
        return Measured(other, notes=(note,))
    two = unnamed or None not in known or (not one_table and known != [None, None] and not any(roles))
    if two and not chosen:
        detail = f"u is scored by {quoted(u)} and v by {quoted(v)}, which are two metrics"
        if not one_table and set(known) == {True, False}:
            raise InvalidTest.at(
                pointer,
                "metric_mismatch",
                f"{detail}, one better when higher and the other when lower. {CHOOSE}",
            )
        shared_columns = both()
        choices = choices_of("metric", {name: name for name in shared_columns})
        named = f" Both have: {', '.join(map(quoted, shared_columns[:NAMED]))}." if shared_columns else ""
        finding = Finding("metric_mismatch", f"{detail}. {CHOOSE}{named}", pointer, choices)
        return Measured("/".join(name.strip() for name in (u, v)), findings=(finding,))
    if None not in known and known[0] == known[1]:
        return Measured("/".join(name.strip() for name in (u, v)))
    return Measured(None, _question(u, v, known))


def two_metrics(names: Sequence[str]) -> str | None:
    """Which two of a table's columns are named after different metrics, where all are named after metrics; None for systems."""
    if any(of_name(name) is None for name in names):
        return None
    first = sorted(_telling(names[0]))
    other = next((name for name in names if sorted(_telling(name)) != first), None)
    if other is None or metric_of_columns(names) is not None:
        return None
    return f"{quoted(names[0])} and {quoted(other)} are named after two metrics, and the columns of a table were taken for systems."


def _question(u: str, v: str, known: Sequence[bool | None]) -> str | None:
    """What a gate asks where the names do not tell which direction is better."""
    words = [word for word in shared_words((u, v)) if word in _telling(u)]
    if None not in known:
        return f"{quoted(u)} and {quoted(v)} are different metrics. {GIVE}"
    if False in known:
        return f"Only one of {quoted(u)} and {quoted(v)} tells by its name that lower is better. {GIVE}"
    return _unknown(words) if words else None


def _unknown(words: Sequence[str]) -> str:
    return f"Nothing says whether a higher {quoted(' '.join(words))} is better. {GIVE}"


def _folded(name: str) -> str:
    """A name without case and separators."""
    return "".join(PART.findall(name.lower()))


def _telling(name: str) -> list[str]:
    """The words that may name a metric: no roles and no decoration; names of one metric are one word."""
    words = " ".join(role_words(name)).replace("exact match", "em").split()
    return [ALIKE.get(word, word) for word in words if word not in ROLE_WORDS and word not in SAME]
