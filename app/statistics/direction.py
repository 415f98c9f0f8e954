"""Which direction is better: of a statistic in the registry, and of a metric that is known by its name."""

from __future__ import annotations

import re

from .known import statistic_of
from .metric_words import (
    CAUTIOUS,
    COUNTING,
    CURRENCIES,
    DATA_SETS,
    HIGHER,
    LOWER,
    PARTS,
    PHRASES,
    SCOPES,
    TIME_UNITS,
)
from .paired import Paired, StatisticSpec, kind_of
from .statistic import Kind

# 1-wer, 100 - error rate, 1/ppl, -loss, exp(-nll); 1-shot and 1-gram are no sums.
NEGATED = re.compile(
    r"(?:^|[\s_(,*])(?:1|100)(?:\.0+)?\s*[-\u2212\u2013/](?!\s*(?:shot|gram|best|hop|way|nn)\b)"
    r"|(?:^|[\s_(,*])[-\u2212\u2013](?=\w)"
    r"|^\s*[-\u2212\u2013]",
    re.IGNORECASE,
)
# What a score is called when its meaning is not given.
GENERIC = frozenset(("score", "scores", "value", "values", "u", "v"))
PIECE = re.compile(r"r2(?!\d)|[^\W\d_]+|\d+(?:\.\d+)?|[/@]", re.IGNORECASE)
CAMEL = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[^\W\d_]+")
PERCENTILE = re.compile(r"(?<![^\W_])p\d+(?:\.\d+)?(?![^\W_])", re.IGNORECASE)
NUMBER, PER = "#", "/"
# A path to a metric begins with these (eval/loss); after any other word a stroke means "per" (tokens/second).
FOLDERS = (
    PARTS
    | DATA_SETS
    | {"all", "final", "metric", "metrics", "overall", "result", "results", "score", "scores"}
)
_KNOWN = frozenset({NUMBER, PER}).union(
    LOWER, HIGHER, CAUTIOUS, TIME_UNITS, COUNTING, SCOPES, DATA_SETS, CURRENCIES
)
_PHRASES: dict[str, list[tuple[list[str], bool]]] = {}
for _higher, _listed in PHRASES.items():
    for _phrase in sorted((text.split() for text in _listed.split(",")), key=len, reverse=True):
        _PHRASES.setdefault(_phrase[0], []).append((_phrase, _higher))


def negated(name: str) -> bool:
    """Whether a name is written as a difference, a quotient or a negative, which reverses its metric."""
    return NEGATED.search(name) is not None


def words_of(name: str) -> list[str]:
    """The words of a name in lower case, `#` for each number and `/` where there is one.

    >>> words_of("chrF2++"), words_of("wordErrorRate"), words_of("p95-latency")
    (['chrf', '#'], ['word', 'error', 'rate'], ['latency'])
    """
    words: list[str] = []
    for piece in PIECE.findall(PERCENTILE.sub(" ", name)):
        folded = "at" if piece == "@" else piece.lower()
        if folded[0].isdigit():
            words.append(NUMBER)
        elif folded in _KNOWN:
            words.append(folded)
        else:
            words += [part.lower() for part in CAMEL.findall(piece)]
    return words


def says_nothing(name: str) -> bool:
    """Whether a name consists of words that stand beside metrics alone: `total`, `n_samples`."""
    words = set(words_of(name))
    return bool(words - {NUMBER}) and words <= _KNOWN and not words & (LOWER | HIGHER | CAUTIOUS)


def of_name(name: str) -> bool | None:
    """Whether more of the metric of this name is better; None where the name does not tell.

    It tells only if every word is known, and all its metrics agree.

    >>> of_name("word_perplexity"), of_name("acc_norm"), of_name("rougeL"), of_name("attack_success_rate")
    (False, True, True, None)
    >>> of_name("1-wer"), of_name("accuracy_gap"), of_name("1-shot acc"), of_name("rouge-1")
    (None, None, True, True)
    """
    if negated(name):
        return None
    words, found = words_of(name), set[bool]()
    rest: list[str] = []
    at = 0
    while at < len(words):
        entries = _PHRASES.get(words[at], ())
        phrase, higher = next(
            (entry for entry in entries if words[at : at + len(entry[0])] == entry[0]), ((), False)
        )
        if phrase:
            found.add(higher)
        elif words[at] in LOWER or words[at] in HIGHER:
            found.add(words[at] in HIGHER)
        elif words[at] == PER and not found and not TIME_UNITS & set(rest) and not FOLDERS.issuperset(rest):
            return None
        else:
            rest.append(words[at])
        at += max(1, len(phrase))
    left = set(rest)
    if left & CAUTIOUS:
        if not left <= CAUTIOUS | COUNTING:
            return None
        found.add(True)
    if left & TIME_UNITS:
        found.add(False)
    return found.pop() if len(found) == 1 and left <= _KNOWN else None


def of_test(data: Paired, spec: StatisticSpec, metric: str | None) -> bool | None:
    """Whether a larger statistic is better for the system that has it; None where nothing tells.

    `metric` is what the items' scores measure, where that is known. The direction of a ratio follows from the name of its numerator.
    """
    return of_kind(kind_of(data), spec, metric)


def of_kind(kind: Kind, spec: StatisticSpec, metric: str | None) -> bool | None:
    """The same of any data of a kind."""
    if kind == "scores":
        return None if metric is None else of_name(metric)
    entry = statistic_of(kind, spec.name)
    if entry is not None and entry.higher_is_better is not None:
        return entry.higher_is_better
    if metric is not None and of_name(metric) is not None:
        return of_name(metric)
    if spec.name != "ratio":
        return None
    above, below = (of_name(str(spec.parameters.get(part, ""))) for part in ("numerator", "denominator"))
    return above if below is None else None
