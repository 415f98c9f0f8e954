"""Determine the sides of a test: the files of a reader, the system U, the metric of each side, and whether the sides match."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import MAX_CHOICE_CHARS, Choice, InvalidTest, choices_of, marked
from ...statistics.names import GENERIC, negated, of_name, says_nothing
from ..columns import MAX_COLUMNS
from ..names import CONTEXT, DATASET, SURELY_GOLD, folded
from ..quoting import quoted, some
from ..reader import Finding, ReaderOptions, RoleQuestion, Source, choose

# The name of the file in each role, for messages.
ROLES: Mapping[str, str] = {
    "u": "U, the candidate",
    "v": "V, the baseline",
    "file": "both systems in one file",
    "gold": "the gold standard",
    "documents": "the documents of the items",
    "qrels": "the relevance judgements",
    "ref": "the references",
    "ref2": "the second references",
    "ref3": "the third references",
    "ref4": "the fourth references",
}

Role = Literal["u", "v"]
# Words that name a role anywhere in a name (gpt4-baseline, candidate_v2).
CLEAR: Mapping[str, Role] = {"candidate": "u", "baseline": "v"}
# Words that also occur in other names (bert-base, new-york, ControlNet): they name a role only on their own.
BRIEF: Mapping[str, Role] = {
    "new": "u", "pr": "u", "treatment": "u", "base": "v", "old": "v", "reference": "v", "main": "v", "control": "v",
}  # fmt: skip
# Words beside a role that are ignored: score_baseline, new_model.
DECORATION = frozenset((
    "score", "scores", "model", "system", "run", "result", "results", "output", "outputs", "eval",
))  # fmt: skip
NEGATIONS = frozenset(("no", "non", "not", "vs", "versus", "over", "minus", "delta", "diff", "difference"))
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Systems:
    """The two systems of a file. `question` is the question that a gate must ask: None if names or options identify U."""

    u: str
    v: str
    question: RoleQuestion | None = None

    @property
    def names(self) -> tuple[str, str] | None:
        """The names; None for u and v, which are roles."""
        return None if (self.u.lower(), self.v.lower()) == ("u", "v") else (self.u, self.v)


def role_label(role: str) -> str:
    """The title of a role: "Gold standard"."""
    title = ROLES[role].removeprefix("the ")
    return title[0].upper() + title[1:]


def needed(files: Mapping[str, Source], role: str, format_: str) -> Source:
    """The file in this role; raises InvalidTest if it is missing."""
    if role not in files:
        detail = f"The format {format_} needs a file {role}: {ROLES[role]}."
        raise InvalidTest.at(f"/files/{role}", "missing_file", detail)
    return files[role]


def both(files: Mapping[str, Source], format_: str) -> tuple[Source, Source]:
    """The files of the two systems, which may be one file in the role `file`."""
    if "file" in files:
        return files["file"], files["file"]
    return needed(files, "u", format_), needed(files, "v", format_)


def only(files: Mapping[str, Source], allowed: Collection[str], format_: str) -> None:
    """Refuse a file that the format does not take, and a system given twice."""
    for role in files:
        if role not in allowed:
            detail = f"The format {format_} does not take a file {role[:40]}; it takes: {', '.join(allowed)}."
            raise InvalidTest.at(f"/files/{role[:40]}", "unused_file", detail)
    if "file" in files and ("u" in files or "v" in files):
        detail = "Give both systems in one file, or each in a separate one (u and v), but not both."
        raise InvalidTest.at("/files/file", "unused_file", detail)
    if "file" in files and "gold" in files:
        detail = "With gold, give u and v in separate files."
        raise InvalidTest.at("/files/file", "unused_file", detail)


def words(name: str) -> list[str]:
    """The words of a name in lower case: `scoreBaseline`, `SCORE-BASELINE` and `score_baseline` are the same."""
    return [word.lower() for word in WORD.findall(name)]


def shared_words(names: Sequence[str]) -> list[str]:
    """The words that all names share, in the order of the first: `wer_new` and `wer_old` share `wer`."""
    common = set(words(names[0])).intersection(*(words(name) for name in names[1:]))
    return [word for word in words(names[0]) if word in common]


def role_of(name: str, beside: Collection[str] = ()) -> Role | None:
    """The role in a name; words in `beside` are ignored, because the other system's name also has them.

    >>> role_of("score_baseline"), role_of("New model"), role_of("bert-base"), role_of("gpt4")
    ('v', 'u', None, None)
    """
    telling = [word for word in words(name) if word not in beside and word not in DECORATION]
    clear = {CLEAR[word] for word in telling if word in CLEAR}
    if NEGATIONS.intersection(telling) or len(clear) > 1:
        return None
    if clear:
        return clear.pop()
    return BRIEF.get(telling[0]) if len(telling) == 1 else None


def roles_of(names: Sequence[str]) -> list[Role | None]:
    """The roles in names, each compared with the others."""
    common = frozenset(shared_words(names))
    return [role_of(name, common) for name in names]


def by_names(names: Sequence[str]) -> tuple[str, str] | None:
    """(candidate, baseline) by the names: one of each, or two systems with one clear name."""
    if len(names) > MAX_COLUMNS:
        return None  # a long file may have as many systems as lines; then only options choose
    roles = roles_of(names)
    if roles.count("u") == roles.count("v") == 1:
        return names[roles.index("u")], names[roles.index("v")]
    if len(names) != 2 or roles.count(None) != 1:
        return None
    known = 1 - roles.index(None)
    if not CLEAR.keys() & (set(words(names[known])) - set(shared_words(names))):
        return None  # base and large, main and feature: one such name is not enough
    return (names[known], names[1 - known]) if roles[known] == "u" else (names[1 - known], names[known])


def two_systems(
    names: Sequence[str], options: ReaderOptions, source: Source, notes: list[str], labels: Mapping[str, str] = {}
) -> Systems:  # fmt: skip
    """Choose the two systems to compare in one file.

    These are system_u and system_v (of two systems, one is enough); else those named u and v; else the candidate and the baseline by
    their names or `labels`; else, if there are only two, in the order of the file, which suffices for a test, but not for a gate.
    Raises InvalidTest if a system is unknown, named twice, or not determined.
    """
    if (options.system_u, options.system_v) != (None, None):
        return _chosen(names, options, source)
    folded = {name.lower(): name for name in reversed(names)}
    if {"u", "v"} <= set(folded):
        chosen, how = (folded["u"], folded["v"]), ""
    else:
        shown = [labels.get(name, name) for name in names]
        by_role = by_names(shown) if len(set(shown)) == len(names) > 1 else None
        if by_role is not None:
            by_role = names[shown.index(by_role[0])], names[shown.index(by_role[1])]
        if by_role is None and len(names) != 2:
            why = "Give `system_u` and `system_v`. "
            raise choose(source.pointer, "system_u", "two systems", list(names), why)
        chosen = by_role or (names[0], names[1])
        how = "by their names" if by_role else "in the order of the file"
    if how:
        notes.append(f"u is {chosen[0][:80]} and v is {chosen[1][:80]}, {how}.")
    rest = [name for name in names if name not in chosen]
    if rest:
        notes.append(f"{len(rest)} other columns or systems were skipped: {some(rest)}.")
    asks = how == "in the order of the file"
    return Systems(
        *chosen, role_question([labels.get(name, name) for name in names], chosen) if asks else None
    )


def role_question(names: Sequence[str], choices: tuple[str, str]) -> RoleQuestion:
    """The question which system is the candidate, with the options of both answers; `choices` are values of system_u and system_v."""
    first, second = (quoted(choice) for choice in choices)
    roles = roles_of(names)
    why = f"Nothing says which of {first} and {second} is the candidate."
    if roles[0] is not None and roles[0] == roles[1]:
        kind = "a candidate" if roles[0] == "u" else "a baseline"
        why = f"Both {first} and {second} are called {kind}."
    ways = (choices, choices[::-1])
    settings = [f"{marked('system_u', u)} and {marked('system_v', v)}" for u, v in ways]
    detail = f"{why} Give either {settings[0]} (the candidate is {first}), or {settings[1]} (it is {second})."
    offered = [Choice(f"{u} is the candidate", {"system_u": u, "system_v": v}) for u, v in ways]
    usable = all(0 < len(choice) <= MAX_CHOICE_CHARS for choice in choices)
    return RoleQuestion(detail, tuple(offered) if usable else ())


def _chosen(names: Sequence[str], options: ReaderOptions, source: Source) -> Systems:
    folded = {name.lower(): name for name in reversed(names)}
    matches: list[str | None] = []
    for role, name in zip("uv", (options.system_u, options.system_v), strict=True):
        match = None if name is None else name if name in names else folded.get(name.lower())
        if match is None and (name is not None or len(names) != 2):
            left = [other for other in names if other not in matches]
            raise choose(source.pointer, f"system_{role}", f"system {role}", left or list(names))
        matches.append(match)
    u, v = (
        name if name is not None else next(other for other in names if other not in matches)
        for name in matches
    )
    if u == v:
        detail = f"`system_u` and `system_v` are the same: {quoted(u)}. Give two."
        raise InvalidTest.at("/options/system_v", "same_system", detail)
    return Systems(u, v)


# Metrics, by the names of columns or fields

PART = re.compile(r"[^\W_]+")
CAMEL = re.compile(r"[A-Z]+\d*(?![a-z])|[A-Z]?[a-z]+\d*|[^\W_]+")
NUMBER = re.compile(r"\d+")
ROLE_WORDS = frozenset((*CLEAR, *BRIEF, "u", "v"))
# Words that do not change a metric, and synonyms of metrics.
SAME = frozenset(
    (*DECORATION, *GENERIC, "is", "none", "mean", "avg", "average", "sys", "llm", "method", "variant", "version", "classifier", "team")
)  # fmt: skip
ALIKE = {"accuracy": "acc", "correct": "acc", "err": "error", "errors": "error", "ppl": "perplexity"}
NAMED = 20
GIVE = "Give `higher_is_better=true`, or `higher_is_better=false` if lower is better."
CHOOSE = "Choose a metric that both have (`metric`)."


@dataclass(frozen=True, slots=True)
class Measured:
    """The metric of two columns, the question that a gate must ask about its direction, and whether they are two metrics."""

    metric: str | None = None
    direction_question: str | None = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


def metric_of(name: str) -> str | None:
    """The metric that a column or field is named after; None for `score` and other generic names."""
    return None if name.strip().lower() in GENERIC else name.strip()


def metric_of_columns(names: Sequence[str]) -> str | None:
    """The common metric of columns of systems: wer, for `wer_new` and `wer_old`, or for `NewWER` and `OldWER`."""
    if any(map(negated, names)):
        return None
    for pattern in (PART, CAMEL):
        parts = [pattern.findall(name) for name in names]
        folded = [[part.lower() for part in name_parts] for name_parts in parts]
        common = set(folded[0]).intersection(*folded[1:])
        shared = "_".join(part for part in parts[0] if part.lower() in common)
        rests = [[part for part in name_parts if part not in common] for name_parts in folded]
        if shared and of_name(shared) is not None and _are_systems(rests):
            return shared
    return None


def _are_systems(rests: Sequence[Sequence[str]]) -> bool:
    """Whether the words that names do not share name systems: not empty and not part of a metric; roles are optional."""
    left = [[word for word in rest if word not in ROLE_WORDS] for rest in rests]
    if not any(left):
        return True
    return all(rests) and not all(
        not rest or says_nothing(" ".join(rest)) or of_name(" ".join(rest)) is not None for rest in left
    )


def measured(
    u: str, v: str, pointer: str, *, both: Callable[[], Sequence[str]] = list, one_table: bool = False, chosen: bool = False
) -> Measured:  # fmt: skip
    """The metric of the scores of two sides, by the names of their columns or fields.

    `both` finds the columns of numbers that both sides have. In `one_table` a column may be named after its system. Columns that were
    each `chosen` by name may be of two metrics. Raises InvalidTest if only one of two files is better when lower.
    """
    if _folded(u) == _folded(v):
        return Measured(metric_of(u))
    numbered = NUMBER.sub("", u) == NUMBER.sub("", v)  # rouge_1 and rouge_2 are two metrics
    shared = None if numbered else metric_of_columns((u, v))
    telling_words = [_telling(name) for name in (u, v)]
    known = [of_name(name) for name in (u, v)]
    if sorted(telling_words[0]) == sorted(telling_words[1]) and not any(map(negated, (u, v))):
        known_names = (name.strip() for name, higher in zip((u, v), known, strict=True) if higher is not None)
        named = next(known_names, None)
        question = None if shared or named or not telling_words[0] else _unknown(telling_words[0])
        return Measured(shared or named, question)
    if shared is not None:
        return Measured(shared)
    roles = [
        not telling and any(word in ROLE_WORDS - {"u", "v"} for word in words(name))
        for name, telling in zip((u, v), telling_words, strict=True)
    ]
    generic = [not words and not role for words, role in zip(telling_words, roles, strict=True)]
    other = (v if generic[0] else u).strip()
    unnamed = any(generic) and not any(map(negated, (u, v)))
    if unnamed and other not in both():
        note = f"One side is called {quoted((u if generic[0] else v).strip())}: it was taken for the {quoted(other)} of the other."
        return Measured(other, notes=(note,))
    two = unnamed or None not in known or (not one_table and known != [None, None] and not any(roles))
    if two and not chosen:
        detail = f"u is scored by {quoted(u)} and v by {quoted(v)}, which are two metrics"
        if not one_table and set(known) == {True, False}:
            detail += f", one better when higher and the other when lower. {CHOOSE}"
            raise InvalidTest.at(pointer, "metric_mismatch", detail)
        shared_columns = both()
        choices = choices_of("metric", {name: name for name in shared_columns})
        named = f" Both have: {', '.join(map(quoted, shared_columns[:NAMED]))}." if shared_columns else ""
        finding = Finding("metric_mismatch", f"{detail}. {CHOOSE}{named}", pointer, choices)
        return Measured("/".join(name.strip() for name in (u, v)), findings=(finding,))
    if None not in known and known[0] == known[1]:
        return Measured("/".join(name.strip() for name in (u, v)))
    return Measured(None, _question(u, v, known))


def two_metrics(names: Sequence[str]) -> str | None:
    """A sentence: two columns of a table are named after different metrics, if all are named after metrics; None for systems."""
    if any(of_name(name) is None for name in names):
        return None
    first = sorted(_telling(names[0]))
    other = next((name for name in names if sorted(_telling(name)) != first), None)
    if other is None or metric_of_columns(names) is not None:
        return None
    return f"{quoted(names[0])} and {quoted(other)} are named after two metrics, and the columns of a table were taken for systems."


def _question(u: str, v: str, known: Sequence[bool | None]) -> str | None:
    """The question of a gate if the names do not show which direction is better."""
    words = [word for word in shared_words((u, v)) if word in _telling(u)]
    if None not in known:
        return f"{quoted(u)} and {quoted(v)} are different metrics. {GIVE}"
    if False in known:
        return f"Only one of {quoted(u)} and {quoted(v)} has a name for which lower is better. {GIVE}"
    return _unknown(words) if words else None


def _unknown(words: Sequence[str]) -> str:
    return f"Nothing says whether a higher {quoted(' '.join(words))} is better. {GIVE}"


def _folded(name: str) -> str:
    """A name without case and separators."""
    return "".join(PART.findall(name.lower()))


def _telling(name: str) -> list[str]:
    """The words that may name a metric, without roles and decoration; synonyms become one word."""
    left = " ".join(words(name)).replace("exact match", "em").split()
    return [ALIKE.get(word, word) for word in left if word not in ROLE_WORDS and word not in SAME]


# Compare the items of both sides under the same keys

UNSURE = frozenset(("label", "labels"))  # gold, or an output
_DATA_SETS = frozenset(map(folded, DATASET)) - {"category"}
_CONTEXT = frozenset(map(folded, (*CONTEXT, *SURELY_GOLD))) - {"human"} | _DATA_SETS
Context = Mapping[str, Sequence[Any]]
NAMED_APART = 3


def is_context(name: str) -> bool:
    """Whether a column of this name describes an item, so that both sides must agree.

    >>> is_context("Question"), is_context("doc_hash"), is_context("answer"), is_context("latency")
    (True, True, False, False)
    """
    return folded(name) in _CONTEXT or folded(name).endswith("hash")


def differing(u: Context, v: Context, pairs: Sequence[tuple[int, int]]) -> list[tuple[int, str]]:
    """The pairs of rows that differ in a shared column, with its name; blank values are not compared."""
    differences: dict[int, str] = {}
    for name in sorted(u, key=lambda name: name in UNSURE):
        constant = (
            folded(name) not in _DATA_SETS and name in v and _is_constant(u[name]) and _is_constant(v[name])
        )
        if name not in v or constant:
            continue  # a constant source or prompt names the system
        mine, other = u[name], v[name]
        for position, (first, second) in enumerate(pairs):
            here, there = mine[first], other[second]
            if here == there or here in (None, "") or there in (None, ""):
                continue
            if str(here).strip() != str(there).strip():
                differences.setdefault(position, name)
    return sorted(differences.items())


def _is_constant(values: Sequence[Any]) -> bool:
    return all(value == values[0] for value in values)


def described(examples: Sequence[tuple[str, str, Any, Any]], who: tuple[str, str]) -> str:
    """Describe the first differences, each a key, a column and both values."""
    return "; ".join(
        f"{quoted(key)} has the {name} {quoted(str(here))} in {who[0]} and {quoted(str(there))} in {who[1]}"
        for key, name, here, there in examples[:NAMED_APART]
    )
