"""Options as query parameters, for bodies that cannot hold them, or as fields of a form.

Unknown and repeated parameters are refused: an option that silently does nothing is worse than an error.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass
from typing import Any

from pydantic_core import from_json

from ..errors import Flaw, InvalidTest, PointerMap, marked
from ..inputs.alignment import COLUMNS
from ..inputs.number_text import is_tiny
from ..statistics.catalogue import ENTRIES
from .kinds import TestKind
from .schema.fields import LEAST_TIMEOUT_S, STATISTIC_MODELS
from .validation import no_such

TEXT = ("alternative", "method", "test", "exchange", "on_missing", "pmf", "significance")
LITERAL = (
    "samples", "seed", "precision", "alpha", "confidence_level", "power", "sequential", "exact_fraction", "timeout_s", "store",
)  # fmt: skip
# Options of any request whose values are words; all others are JSON literals.
WORDS = frozenset(
    (*TEXT, "name", "policy", "on_inconclusive", "slices", "solve", "kind", "compare", "baseline", "adjust", "family", "aggregate", "combine",
     "pairs", "frontier")
)  # fmt: skip
NAMES = {"name_u": "u", "name_v": "v"}
ELSEWHERE = ("format", "theme", "timeout_s")
OF_A_BOARD = ("picture", "table")  # of the answer to a comparison
OF_THE_ANSWER = ("format", "theme", *OF_A_BOARD)  # not members of a request
_TYPES = {parameter.name: parameter.type for entry in ENTRIES for parameter in entry.parameters}

Query = tuple[tuple[str, str], ...]


def parameters_of(kind: TestKind) -> tuple[str, ...]:
    """The parameters that the statistics of a kind take."""
    return tuple(name for name in STATISTIC_MODELS[kind].model_fields if name != "name")


def known_of(kind: TestKind) -> tuple[str, ...]:
    """Every query parameter of a test whose body cannot hold options."""
    of_data = ("decimals", "missing_range") if kind == "scores" else ()
    return ("statistic", *parameters_of(kind), *of_data, *TEXT, *LITERAL, *NAMES, "format", "theme")


def options_of_query(
    query: Query, known: tuple[str, ...] | None = None, *, kind: TestKind = "scores"
) -> dict[str, Any]:
    """The query as members of a JSON body, with the parameters of `kind`, or those in `known`; raises InvalidTest at `/?name`."""
    if not query:
        return {}
    known = known_of(kind) if known is None else known
    return options_of(query, known, lambda name: f"/?{name[:40]}")


def options_of(
    pairs: Iterable[tuple[str, str]], known: tuple[str, ...], pointer: Callable[[str], str]
) -> dict[str, Any]:
    """Names and texts as members of a request; raises InvalidTest for unknown and repeated ones."""
    options: dict[str, Any] = {}
    seen: set[str] = set()
    flaws: list[Flaw] = []
    for name, text in pairs:
        if name not in known:
            flaws.append(Flaw(pointer(name), "unknown_parameter", no_such(name, known)))
        elif name in seen:
            flaws.append(Flaw(pointer(name), "duplicate_parameter", f"{marked(name)} is given twice."))
        elif name not in OF_THE_ANSWER:
            _put(options, name, text)
        seen.add(name)
    if flaws:
        raise InvalidTest(flaws[0].detail, flaws=tuple(flaws))
    return options


def once(
    pairs: Iterable[tuple[str, str]], names: Collection[str], pointer: Callable[[str], str]
) -> tuple[dict[str, str], list[tuple[str, str]]]:
    """The texts of these names, and all others unchanged; raises InvalidTest for repeated names."""
    texts: dict[str, str] = {}
    others: list[tuple[str, str]] = []
    for name, text in pairs:
        if name not in names:
            others.append((name, text))
        elif name in texts:
            raise InvalidTest.at(pointer(name), "duplicate_parameter", f"{marked(name)} is given twice.")
        else:
            texts[name] = text
    return texts, others


def _put(options: dict[str, Any], name: str, text: str) -> None:
    if name == "statistic":
        options.setdefault("statistic", {})["name"] = text
    elif name in NAMES:
        options.setdefault("names", {})[NAMES[name]] = text
    elif name == "missing_range":
        options[name] = [literal(part.strip()) for part in text.split(",")]
    elif name in LITERAL or name == "decimals":
        options[name] = literal(text)
    elif name in TEXT:
        options[name] = text
    else:
        options.setdefault("statistic", {})[name] = parameter(name, text)


def parameter(name: str, text: str) -> Any:
    """A statistic's parameter; `labels` is a JSON list, or labels separated by commas."""
    type_ = _TYPES.get(name)
    if type_ in {"number", "integer", "boolean"}:
        return literal(text)
    if type_ == "labels":
        return listed_in(text)
    return text


def listed_in(text: str) -> Any:
    """The values of a JSON list, or texts separated by commas."""
    return literal(text) if text.startswith("[") else [part.strip() for part in text.split(",")]


def option_value(name: str, text: str) -> Any:
    """An option as a member of a request; parameters of statistics are not options."""
    if name == "range" and not text.startswith("["):
        text = f"[{text}]"
    return text if name in WORDS else literal(text)


# A decimal without a digit on one side of its point, or with a plus, which JSON has not: .05, 5., +1.
_PLAIN = re.compile(r"\+?(-?)(\d*)(\.\d*)?([eE][+-]?\d+)?")


def literal(text: str) -> Any:
    """A number as JSON or people write it, or a boolean; anything else, also a number too small for a double, stays text for the model to refuse."""
    plain = _PLAIN.fullmatch(text)
    if plain and any(map(str.isdigit, (plain[2], (plain[3] or "")[1:]))):
        text = f"{plain[1]}{plain[2] or 0}{plain[3] if plain[3] not in (None, '.') else ''}{plain[4] or ''}"
    try:
        return text if is_tiny(text) else from_json(text, allow_inf_nan=False)
    except ValueError:
        return text


def timeout_of_query(query: Query) -> float | None:
    """The deadline in seconds of `?timeout_s=`, which holds before the body is read; raises InvalidTest: no number, or too small."""
    texts = [value for name, value in query if name == "timeout_s"]
    if not texts:
        return None
    seconds = literal(texts[0])
    if type(seconds) not in (int, float) or not LEAST_TIMEOUT_S < seconds < float("inf"):
        detail = f"`timeout_s` is a number of seconds, more than {LEAST_TIMEOUT_S}."
        raise InvalidTest.at("/?timeout_s", "not_a_duration", detail)
    return float(min(seconds, 1e9))


# Maps of pointers into a request to pointers into the client's body, query or form


FIELD = {"ids": "id", "clusters": "cluster", "weights": "weight", "groups": "group", "slices": "slice"}
# Options that are JSON objects in one parameter.
OBJECTS = frozenset({"sequential"})
NAME_PARAMETERS = {role: name for name, role in NAMES.items()}
DATA = COLUMNS | {"references", "labels", "covariates"}


def option_of(pointer: str) -> str | None:
    """The parameter that holds an option; None for a pointer to data."""
    first, *rest = pointer[1:].split("/")
    if not first or first in DATA:
        return None
    if first == "statistic" and rest:
        return "statistic" if rest[0] == "name" else rest[0]
    if first == "names" and rest:
        return NAME_PARAMETERS.get(rest[0], first)
    return first


@dataclass(frozen=True, slots=True)
class SourceMap:
    """Where the members of a request stand in what the client sent: an option by its name after `options`, data by the map `data`."""

    options: str
    data: PointerMap = str

    def __call__(self, pointer: str) -> str:
        """The place of what a pointer into the request names."""
        option = option_of(pointer)
        if option is None:
            return self.data(pointer)
        return self.options + (pointer[1:] if option in OBJECTS else option)


in_query = SourceMap("/?")
