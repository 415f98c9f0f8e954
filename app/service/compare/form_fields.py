"""The fields of a form with files of many systems: what is compared, how files are read, and names."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from ...errors import InvalidTest, marked, relocated
from ...inputs.formats import catalogue
from ...inputs.formats.options import OF_TWO
from ...inputs.formats.reader import OPTION_NAMES
from ...statistics.paired import StatisticSpec
from ..parse_files import option_pointer
from ..schema.compare import CompareChoices, CompareKind
from ..schema.statistics import STATISTIC_MODELS, spec_of
from ..validation import validated
from .options import OF_QUERY, SYSTEMS, in_form, options_of_board

NAMES = "names"
# Options that a comparison has itself, or passes on in its own words.
OWN = frozenset(OF_QUERY)
READER_OPTIONS = tuple(name for name in OPTION_NAMES if name not in OF_TWO and name not in OWN)
KINDS: tuple[CompareKind, ...] = ("scores", "counts", "predictions")


@dataclass(frozen=True, slots=True)
class FormFields:
    """The fields of a form: members of the comparison, options of the reader, names of the systems or columns."""

    members: dict[str, Any]
    reader: dict[str, str]
    format: str
    names: list[str] | None
    systems: list[str] | None

    @property
    def on_missing(self) -> Literal["error", "drop"]:
        """What a reader does with an item that has no value: its own two words for it."""
        return "error" if self.members.get("on_missing", "error") == "error" else "drop"


def fields_of(given: Sequence[tuple[str, str]]) -> FormFields:
    """The fields, sorted; raises InvalidTest at `/options/<name>`."""
    reader: dict[str, str] = {}
    others: list[tuple[str, str]] = []
    names: str | None = None
    format_ = catalogue.AUTO
    seen: set[str] = set()
    for name, text in given:
        if name in seen:
            raise InvalidTest.at(
                option_pointer(name), "duplicate_parameter", f"{marked(name)} is given twice."
            )
        seen.add(name)
        if name == NAMES:
            names = text
        elif name == "format":
            format_ = text.lower()
        elif name in READER_OPTIONS and name != "statistic":
            reader[name] = text
        else:
            others.append((name, text))
    with relocated(in_form):
        extra = (SYSTEMS, NAMES, "format", *READER_OPTIONS)
        members, systems = options_of_board(others, option_pointer, kinds=KINDS, extra=extra)
    if "decimals" in members:
        reader["decimals"] = dict(others)["decimals"]
    if "statistic" in members and "name" in members["statistic"]:
        reader["statistic"] = members["statistic"]["name"]
    listed = None if names is None else names_in(names)
    return FormFields(members, reader, catalogue.ALIASES.get(format_, format_), listed, systems)


def names_in(text: str) -> list[str]:
    """The field `names`: a JSON list, or names between commas; raises InvalidTest."""
    try:
        value = json.loads(text) if text.startswith("[") else [name.strip() for name in text.split(",")]
    except (ValueError, RecursionError):
        value = None
    if not isinstance(value, list) or not all(isinstance(name, str) for name in value):
        detail = 'names lists the systems in the order of their files: A,B,C, or ["A", "B, the second"].'
        raise InvalidTest.at(option_pointer(NAMES), "not_names", detail)
    return value


def choices_of(fields: FormFields, kind: CompareKind) -> CompareChoices:
    """The choices without the statistic and the rounding, which the reader has dealt with."""
    given = fields.members.get("kind", kind)
    if given != kind:
        detail = f"The files were read as {kind}: leave kind out."
        raise InvalidTest.at(option_pointer("kind"), "kind_not_here", detail)
    members = {name: value for name, value in fields.members.items() if name not in ("statistic", "decimals")}
    with relocated(in_form):
        return validated(CompareChoices, {**members, "kind": kind})


def spec_of_scores(fields: FormFields) -> StatisticSpec | None:
    """None for the default of scores: `comparison_of` finds it."""
    statistic = fields.members.get("statistic")
    if statistic is None:
        return None
    with relocated(in_form):
        return spec_of(validated(STATISTIC_MODELS["scores"], statistic, prefix="/statistic"), "scores")
