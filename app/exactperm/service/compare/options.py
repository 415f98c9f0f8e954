"""Options of a comparison as query parameters or fields of a form, for data that cannot hold them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

from ...answers.test import WarningRecord
from ...errors import InvalidTest, relocated
from ...inputs.formats import catalogue
from ...inputs.formats.options import OF_TWO
from ...inputs.formats.reader import OPTION_NAMES, Finding
from ...inputs.formats.tables import CHOOSE_RUNS
from ...inputs.quoting import quoted
from ..parse import warnings_of
from ..parse_files import PARAMETERS, option_pointer
from ..query import ELSEWHERE, OF_A_BOARD, literal, once, options_of, parameters_of
from ..schema.compare import CompareChoices, CompareKind
from ..validation import validated

TEXTS = (
    "kind", "compare", "baseline", "adjust", "family", "aggregate", "combine", "on_missing", "alternative", "pairs", "method",
)  # fmt: skip
SYSTEMS, NAMES = "systems", "names"
NULL = frozenset(("null", "none"))
OF_QUERY = (*TEXTS, *(name for name in CompareChoices.model_fields if name not in (*TEXTS, "statistic")))
# A comparison has some of their options itself, or passes them on in its own words.
READER_OPTIONS = tuple(name for name in OPTION_NAMES if name not in OF_TWO and name not in OF_QUERY)
KINDS: tuple[CompareKind, ...] = ("scores", "counts", "predictions")


def options_of_board(
    given: Iterable[tuple[str, str]],
    pointer: Callable[[str], str],
    *,
    kinds: tuple[CompareKind, ...] = ("scores",),
    extra: tuple[str, ...] = (),
) -> tuple[dict[str, Any], list[str] | None]:
    """The members of `CompareChoices`, and the names in `systems` if it is there.

    Raises InvalidTest: a name is unknown or given twice, or the kind is not one of `kinds`.
    """
    parameters = tuple(dict.fromkeys(name for kind in kinds for name in parameters_of(kind)))
    texts, others = once(given, (*OF_QUERY, SYSTEMS), pointer)
    own = {name: _value(name, text) for name, text in texts.items()}
    rest = options_of(others, (*OF_QUERY, "statistic", *parameters, *extra), pointer)
    for name in (*ELSEWHERE, *OF_A_BOARD):
        if name != "timeout_s":
            rest.pop(name, None)
    if own.get("kind", kinds[0]) not in kinds:
        detail = f"Data of this media type holds {' or '.join(kinds)}; send {quoted(own['kind'])} as JSON."
        raise InvalidTest.at(pointer("kind"), "kind_not_here", detail)
    systems = own.pop(SYSTEMS, None)
    return {**own, **rest}, systems


def _value(name: str, text: str) -> Any:
    if name == SYSTEMS:
        names = listed(name, text, "/systems")
        for index, system in enumerate(names):
            if system in names[:index]:
                raise InvalidTest.at("/systems", "duplicate_name", f"systems has {quoted(system)} twice.")
        return names
    if name == "compare" and text.startswith("["):
        return _json(text)
    if name in ("aggregate", "combine") and text in NULL:
        return None
    return text if name in TEXTS else literal(text)


def listed(name: str, text: str, pointer: str) -> list[str]:
    """A JSON list of names, or names between commas; raises InvalidTest."""
    value = _json(text) if text.startswith("[") else [part.strip() for part in text.split(",")]
    if type(value) is not list or not all(type(part) is str for part in value):
        order = " in the order of their files" if name == NAMES else ""
        detail = f'{name} is a list of names{order}: A,B,C, or ["A", "B, the second"].'
        raise InvalidTest.at(pointer, "not_names", detail)
    return value


def _json(text: str) -> Any:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


@dataclass(frozen=True, slots=True)
class FormFields:
    """The fields of a form: members of the comparison, options of the reader, names of the files' systems, or those chosen."""

    members: dict[str, Any]
    reader: dict[str, str]
    format: str
    names: list[str] | None
    systems: list[str] | None

    @property
    def on_missing(self) -> Literal["error", "drop"]:
        """What a reader does with an item that has no value: its own two words for it."""
        return "error" if self.members.get("on_missing", "error") == "error" else "drop"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the statistic."""
        statistic = self.members.get("statistic", {})
        return {name: statistic[name] for name in PARAMETERS if name in statistic}

    def warnings(self, findings: Iterable[Finding]) -> tuple[WarningRecord, ...]:
        """What was done without certainty, but for what the parameter `repeats` says of several rows of an item."""
        known = {CHOOSE_RUNS} if "repeats" in self.parameters else set[str]()
        return warnings_of(finding for finding in findings if finding.code not in known)

    def choices(self, kind: CompareKind) -> CompareChoices:
        """The choices without the rounding, which the reader has dealt with; raises InvalidTest."""
        if self.members.get("kind", kind) != kind:
            detail = f"The files were read as {kind}: leave kind out."
            raise InvalidTest.at(option_pointer("kind"), "kind_not_here", detail)
        members = {name: value for name, value in self.members.items() if name != "decimals"}
        with relocated(in_form):
            return validated(CompareChoices, {**members, "kind": kind})


def fields_of(given: Sequence[tuple[str, str]]) -> FormFields:
    """The fields, sorted; raises InvalidTest at `/options/<name>`."""
    texts, _ = once(given, dict(given), option_pointer)
    names, format_ = texts.pop(NAMES, None), texts.pop("format", catalogue.AUTO).lower()
    reader = {name: text for name, text in texts.items() if name in READER_OPTIONS and name != "statistic"}
    others = [(name, text) for name, text in texts.items() if name not in reader]
    with relocated(in_form):
        extra = (SYSTEMS, NAMES, "format", *READER_OPTIONS)
        members, systems = options_of_board(others, option_pointer, kinds=KINDS, extra=extra)
    if "decimals" in members:
        reader["decimals"] = texts["decimals"]
    if "name" in members.get("statistic", {}):
        reader["statistic"] = members["statistic"]["name"]
    files = None if names is None else listed(NAMES, names, option_pointer(NAMES))
    return FormFields(members, reader, catalogue.ALIASES.get(format_, format_), files, systems)


def _option(prefix: str, systems: str, pointer: str) -> str:
    if pointer == "/systems" or pointer.startswith("/datasets"):
        return systems
    first, *rest = pointer[1:].split("/")
    if first == "statistic":
        return prefix + (rest[0] if rest and rest[0] != "name" else "statistic")
    return prefix + first if first in CompareChoices.model_fields else pointer


# Maps of pointers to options, and of `/systems`, of whatever data set, to where they are: options too, or the data. Others stay.
in_query, beside_body = partial(_option, "/?", "/?systems"), partial(_option, "/?", "")
in_form, beside_files = (
    partial(_option, "/options/", "/options/systems"),
    partial(_option, "/options/", "/files"),
)
