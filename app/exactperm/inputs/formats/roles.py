"""Which files a reader needs and takes; and which of two systems in one file is U, the candidate."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ...errors import MAX_CHOICE_CHARS, Choice, InvalidTest, marked
from ..delimited import MAX_COLUMNS
from ..quoting import quoted, some
from .reader import ReaderOptions, RoleQuestion, choose
from .source import Source

# What the file in each role is, in a sentence.
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
# These mean a role wherever they occur in a name (gpt4-baseline, candidate_v2).
CLEAR: Mapping[str, Role] = {"candidate": "u", "baseline": "v"}
# These are parts of other names, too (bert-base, new-york, ControlNet): they mean a role only on their own.
BRIEF: Mapping[str, Role] = {
    "new": "u", "pr": "u", "treatment": "u", "base": "v", "old": "v", "reference": "v", "main": "v", "control": "v",
}  # fmt: skip
# Words beside a role that mean nothing: score_baseline, new_model.
DECORATION = frozenset(
    ("score", "scores", "model", "system", "run", "result", "results", "output", "outputs", "eval")
)
NEGATIONS = frozenset(("no", "non", "not", "vs", "versus", "over", "minus", "delta", "diff", "difference"))
WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_]+")


@dataclass(frozen=True, slots=True)
class Systems:
    """The two systems of a file. `question` is what a gate must ask: None when names or options tell which is U."""

    u: str
    v: str
    question: RoleQuestion | None = None

    @property
    def names(self) -> tuple[str, str] | None:
        """Their names; None for u and v, which are roles."""
        return None if (self.u.lower(), self.v.lower()) == ("u", "v") else (self.u, self.v)


def role_label(role: str) -> str:
    """A role by itself: "Gold standard"."""
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
        detail = "Give both systems in one file, or each in its own (u and v); not both ways."
        raise InvalidTest.at("/files/file", "unused_file", detail)


def words(name: str) -> list[str]:
    """The words of a name in lower case: `scoreBaseline`, `SCORE-BASELINE` and `score_baseline` are the same."""
    return [word.lower() for word in WORD.findall(name)]


def shared_words(names: Sequence[str]) -> list[str]:
    """The words that all names have, in the order of the first: `wer_new` and `wer_old` share `wer`."""
    common = set(words(names[0])).intersection(*(words(name) for name in names[1:]))
    return [word for word in words(names[0]) if word in common]


def role_of(name: str, beside: Collection[str] = ()) -> Role | None:
    """The role that a name tells; words in `beside` are ignored, because the other system has them too.

    >>> role_of("score_baseline"), role_of("New model"), role_of("bert-base"), role_of("gpt4")
    ('v', 'u', None, None)
    """
    own = [word for word in words(name) if word not in beside and word not in DECORATION]
    clear = {CLEAR[word] for word in own if word in CLEAR}
    if NEGATIONS.intersection(own) or len(clear) > 1:
        return None
    if clear:
        return clear.pop()
    return BRIEF.get(own[0]) if len(own) == 1 else None


def roles_of(names: Sequence[str]) -> list[Role | None]:
    """The roles that the names tell, each compared to the others."""
    common = frozenset(shared_words(names))
    return [role_of(name, common) for name in names]


def by_names(names: Sequence[str]) -> tuple[str, str] | None:
    """(candidate, baseline) if the names tell them: one of each, or two systems and one clear name."""
    if len(names) > MAX_COLUMNS:
        return None  # a long file may have as many systems as lines; only options choose among so many
    roles = roles_of(names)
    if roles.count("u") == roles.count("v") == 1:
        return names[roles.index("u")], names[roles.index("v")]
    if len(names) != 2 or roles.count(None) != 1:
        return None
    known = 1 - roles.index(None)
    if not CLEAR.keys() & (set(words(names[known])) - set(shared_words(names))):
        return None  # base and large, main and feature: not clear enough to conclude from one name
    return (names[known], names[1 - known]) if roles[known] == "u" else (names[1 - known], names[known])


def two_systems(
    names: Sequence[str],
    options: ReaderOptions,
    source: Source,
    notes: list[str],
    labels: Mapping[str, str] = {},
) -> Systems:
    """The two systems to compare, of those in one file.

    Those given by system_u and system_v (of two systems, one is enough); else those named u and v; else by names that
    tell the candidate and the baseline, or their `labels`; else, when there are just two, in the order of the file,
    which is enough for a test, and not for a gate.

    Raises
    ------
    InvalidTest
        There is no such system, or it is the same twice, or there are several and nothing chooses.
    """
    if (options.system_u, options.system_v) != (None, None):
        return _chosen(names, options, source)
    folded = {name.lower(): name for name in reversed(names)}
    if {"u", "v"} <= set(folded):
        chosen, how = (folded["u"], folded["v"]), ""
    else:
        said = [labels.get(name, name) for name in names]
        by_role = by_names(said) if len(set(said)) == len(names) > 1 else None
        if by_role is not None:
            by_role = names[said.index(by_role[0])], names[said.index(by_role[1])]
        if by_role is None and len(names) != 2:
            raise choose(
                source.pointer, "system_u", "two systems", list(names), "Give `system_u` and `system_v`. "
            )
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
    """Which options tell a gate the candidate, both ways; `choices` are values of system_u and system_v."""
    first, second = (quoted(choice) for choice in choices)
    roles = roles_of(names)
    why = f"Nothing says which of {first} and {second} is the candidate."
    if roles[0] is not None and roles[0] == roles[1]:
        kind = "a candidate" if roles[0] == "u" else "a baseline"
        why = f"Both {first} and {second} are called {kind}."
    ways = (choices, choices[::-1])
    told = [f"{marked('system_u', u)} and {marked('system_v', v)}" for u, v in ways]
    detail = f"{why} Give either {told[0]} (the candidate is {first}), or {told[1]} (it is {second})."
    usable = all(0 < len(choice) <= MAX_CHOICE_CHARS for choice in choices)
    return RoleQuestion(
        detail,
        tuple(Choice(f"{u} is the candidate", {"system_u": u, "system_v": v}) for u, v in ways)
        if usable
        else (),
    )


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
    refuse_same(u, v)
    return Systems(u, v)


def refuse_same(u: str, v: str) -> None:
    """Refuse one system in both roles, which is never better nor worse; raises InvalidTest."""
    if u == v:
        detail = f"`system_u` and `system_v` are the same: {quoted(u)}. Give two."
        raise InvalidTest.at("/options/system_v", "same_system", detail)
