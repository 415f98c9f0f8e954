"""The systems of one data set as columns by name: however they were sent, they come on the same items and are checked here.

Every carrier makes a `PairedColumns`, which knows where its values stand. `board_of` aligns it and makes `Systems` of it.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np

from ...answers.test import Exchange, ReadingRecord, WarningRecord
from ...errors import InvalidTest, PointerMap, located
from ...inputs.alignment import GOLD, Aligned, OnMissingOnBoard, PairedColumns, system_pointer
from ...inputs.formats import catalogue
from ...inputs.formats.tables import CHOOSE_RUNS
from ...inputs.names import CLUSTER, INDEX, RUN, WEIGHT, find, gold_among, is_key, is_one_of
from ...inputs.options import OF_TWO
from ...inputs.quoting import quoted, some
from ...inputs.reader import OPTION_NAMES, Finding, ReaderOptions
from ...statistics.columns import per_item_systems
from ...statistics.counts import board_totals_warning
from ...statistics.item_ids import summary_warning
from ...statistics.labels import UNSEEN, GoldLabels
from ...statistics.paired import StatisticSpec, Systems, SystemsKind
from ...statistics.pairwise.data import PAIRWISE
from ..messages import Limits
from ..parse import (
    TEXT_STATISTICS,
    events_for,
    outputs_of,
    refuse_long_name,
    refuse_too_many,
    require_taken,
    warnings_of,
    weights_for,
)
from ..parse_files import PARAMETERS, in_body, in_form, option_pointer, reader_options
from ..query import WORDS, listed_in, literal, once, option_of, option_value, options_of, parameters_of
from ..schema.compare import CompareChoices, CompareKind
from ..validation import chained, validated


@dataclass(frozen=True, slots=True)
class DecodedCompare:
    """What a request holds: choices, columns by data set, and their places.

    `pointer_map` turns pointers into a JSON request into pointers into what was sent, but for single items, which the
    boards know. `metric` and `known` are what files say of their scores and of what is better. `cost` has a
    column for each system, for a frontier; `wins` are those of preferences.
    """

    choices: CompareChoices
    boards: Mapping[str | None, PairedColumns]
    pointer_map: PointerMap = str
    reading: ReadingRecord | None = None
    spec: StatisticSpec | None = None
    metric: str | None = None
    known: bool | None = None
    warnings: tuple[WarningRecord, ...] = ()
    cost: PairedColumns | None = None
    wins: Any = None


# Names


def require_names(names: Iterable[str], what: str, pointer: Callable[[str], str], limits: Limits) -> None:
    """Refuse names that cannot be distinguished in a report; raises InvalidTest at `pointer(name)`."""
    seen: dict[str, str] = {}
    for name in names:
        shown = _shown(name)
        if not shown:
            detail = f"A {what} has an empty name: give each a name."
            raise InvalidTest.at(pointer(name), "empty_name", detail)
        refuse_long_name(name, limits, pointer(name[:40]))
        if shown in seen and seen[shown] == name:
            detail = f"Two {what}s are called {quoted(name)}: give them different names."
            raise InvalidTest.at(pointer(name), "duplicate_name", detail)
        if shown in seen:
            detail = (
                f"{quoted(name)} and {quoted(seen[shown])} look the same: they differ only in surrounding "
                f"blanks, zero-width characters or Unicode form. If they are one {what}, write the name the "
                "same way; else rename one."
            )
            raise InvalidTest.at(pointer(name), "similar_names", detail)
        seen[shown] = name


def names_of_files(called: list[str], inside: Sequence[str | None]) -> list[str]:
    """The names of systems with a file each: the names in the files if all have one, else the files' names."""
    names = [name for name in inside if name is not None]
    return names if len(set(names)) == len(called) else called


def _shown(name: str) -> str:
    return name.strip() if name.isascii() else UNSEEN.sub("", unicodedata.normalize("NFC", name)).strip()


def without_ids(
    systems: Mapping[str, Any], others: Collection[str]
) -> tuple[dict[str, Any], list[Any] | None]:
    """The columns of systems by name, in code-point order, without a column of ids (all different, with such a name).

    `others` are the other members of the request. Raises InvalidTest: a column has the name of clusters, weights or
    gold, which the request lacks; or ids are missing.
    """
    ordered = {name: systems[name] for name in sorted(systems)}
    if len(systems) < 3 or any(isinstance(column, Mapping) for column in systems.values()):
        return ordered, None
    by_id = {
        "clusters": find(systems, CLUSTER),
        "weights": find(systems, WEIGHT),
        "gold": gold_among(systems),
    }
    for member, name in by_id.items():
        if name is not None and member not in others:
            detail = (
                f"{quoted(name)} has the name of {member}, which is not a system: give it as {member}, "
                "or rename it."
            )
            raise InvalidTest.at(system_pointer(name), "no_system", detail)
    key = next(
        (
            name
            for name, column in systems.items()
            if (is_key(name) or is_one_of(name, (*INDEX, *RUN))) and _are_ids(column)
        ),
        None,
    )
    if key is None:
        return ordered, None
    ids = ordered.pop(key)
    if any(value is None for value in ids):
        detail = (
            f"{quoted(key)} has the name of ids, and lacks some: give every item an id, or rename the column."
        )
        raise InvalidTest.at(system_pointer(key), "no_system", detail)
    return ordered, list(ids)


def _are_ids(column: Any) -> bool:
    """Whether values are distinct texts or integers; nulls are not values, and a scalar is not a column."""
    if not isinstance(column, Sequence | np.ndarray) or isinstance(column, str):
        return False
    values = column.tolist() if isinstance(column, np.ndarray) else [one for one in column if one is not None]
    return set(map(type, values)) <= {str, int} and len(set(values)) == len(values)


# Checks and alignment


@dataclass(frozen=True, slots=True)
class Board:
    """The systems of one data set, the places of their items in the client's data, and warnings."""

    systems: Systems
    pointer_map: PointerMap
    warnings: tuple[WarningRecord, ...]


def require_systems(board: PairedColumns, kind: CompareKind, limits: Limits) -> None:
    """Refuse too few or too many systems, bad names, missing or unneeded gold (at `/systems[/<name>]`, `/gold`), and too many items."""
    n = len(board.systems)
    if n < 2:
        detail = f"A comparison needs at least two systems; there {'is one' if n else 'is none'}."
        raise InvalidTest.at("/systems", "too_few_systems", detail)
    if n > limits.max_systems:
        detail = f"There are {n:,} systems; this server compares at most {limits.max_systems:,}."
        raise InvalidTest.at("/systems", "too_many_systems", detail)
    require_names(board.systems, "system", system_pointer, limits)
    if kind == "predictions" and board.gold is None:
        raise InvalidTest.at("/gold", "missing", "Predictions need gold: give the items' gold labels.")
    if kind != "predictions" and board.gold is not None:
        detail = (
            f"gold goes with predictions; {kind} are already scored. Leave gold out, or set kind to "
            "predictions."
        )
        raise InvalidTest.at("/gold", "superfluous", detail)
    for column in board.systems.values():
        refuse_too_many("A system has", len(column), limits)


def board_of(
    columns: PairedColumns, kind: CompareKind, spec: StatisticSpec, on_missing: OnMissingOnBoard, decimals: int | None,
    exchange: Exchange = "items",
) -> Board:  # fmt: skip
    """Align and check the systems of a data set; raises InvalidTest as `align` does, and for counts, texts and labels, at places as sent."""
    taken, aligned, places = columns.taken(on_missing, decimals)
    items = aligned.items
    try:
        systems_kind: SystemsKind = kind
        if kind == "counts":
            _require_same_counts(dict(zip(columns.systems, taken.values(), strict=True)))
        elif kind == "scores" and exchange == "items":
            taken = dict(per_item_systems(taken, aligned.present, spec))
        elif kind != "scores":
            systems_kind = "segments" if spec.name in TEXT_STATISTICS else kind
            taken = outputs_of(taken, spec)
        _require_used(columns, kind, spec)
        systems = Systems(
            systems_kind,
            {name: taken[system_pointer(name)] for name in columns.systems},
            taken.get(GOLD),
            aligned.pairing,
            {
                name: aligned.present[system_pointer(name)]
                for name in columns.systems
                if system_pointer(name) in aligned.present
            },
            weights_for(columns.weights, items),
            items.codes(columns.groups, "groups")[0],
            events_for(columns.event, items),
        )
        totals = board_totals_warning(systems, spec) if kind == "counts" else None
        warnings = (
            *_of_items(systems, aligned, on_missing),
            *_of_labels(systems, spec),
            *(() if totals is None else (WarningRecord(totals.code, totals.detail),)),
        )
    except InvalidTest as error:
        raise located(error, places) from None
    return Board(systems, places, warnings)


def _require_same_counts(columns: Mapping[str, Mapping[str, Any]]) -> None:
    first, wanted = next((name, set(column)) for name, column in columns.items())
    for name, column in columns.items():
        if set(column) != wanted:
            odd = min(set(column) ^ wanted)
            has, lacks = (name, first) if odd in column else (first, name)
            detail = f"All systems need the same counts: {quoted(has)} has {quoted(odd)} and {quoted(lacks)} has not."
            raise InvalidTest.at(system_pointer(name), "different_counts", detail)


def _require_used(columns: PairedColumns, kind: CompareKind, spec: StatisticSpec) -> None:
    """Refuse groups, events and weights that the data cannot use."""
    if kind == "predictions":
        require_taken(spec, columns.groups, columns.event)
    elif columns.groups is not None or columns.event is not None:
        where = "groups" if columns.groups is not None else "event"
        detail = f"{where} is for statistics of pairs of predictions: leave it out."
        raise InvalidTest.at(f"/{where}", "superfluous", detail)
    if columns.weights is not None and kind != "scores":
        detail = f"weights is for scores, not for {kind}: leave weights out."
        raise InvalidTest.at("/weights", "superfluous", detail)


def _of_items(systems: Systems, aligned: Aligned, on_missing: OnMissingOnBoard) -> tuple[WarningRecord, ...]:
    """Warnings about averages among the items, and about items left out."""
    warnings = []
    summary = summary_warning(aligned.pairing)
    if summary is not None:
        warnings.append(WarningRecord(summary.code, summary.detail))
    largest = aligned.pairing.largest
    if on_missing == "complete" and largest is not None and aligned.n < largest:
        detail = (
            f"Only the {aligned.n:,} items that all systems have were compared, of {largest:,} (on_missing: "
            "complete)."
        )
        if 2 * aligned.n < largest:
            detail += " The rest may not be representative: check that the ids are spelled the same and that no run stopped early."
        warnings.append(WarningRecord("items_left_out", detail))
    if systems.present:
        detail = (
            f"Not all systems have all {aligned.n:,} items (on_missing: pairwise): "
            f"{some(list(systems.present))}. Each pair is tested on its common items, and each score is "
            "over the system's items, so scores may cover different items."
        )
        warnings.append(WarningRecord("items_differ", detail))
    return tuple(warnings)


def _of_labels(systems: Systems, spec: StatisticSpec) -> tuple[WarningRecord, ...]:
    """Warnings about labels that may not match gold's; raises InvalidTest if they cannot."""
    if systems.kind != "predictions" or spec.name in PAIRWISE:
        return ()
    gold = GoldLabels(cast("Any", systems.gold), spec)
    return tuple(
        WarningRecord(warning.code, warning.detail)
        for name, column in systems.columns.items()
        for warning in gold.warnings(quoted(name), cast("Any", column), system_pointer(name))
    )


# Options of a comparison as query parameters or fields of a form, for data that cannot hold them


SYSTEMS, NAMES = "systems", "names"
NULL = frozenset(("null", "none"))
OF_QUERY = tuple(
    sorted(
        (name for name in CompareChoices.model_fields if name != "statistic"),
        key=lambda name: name not in WORDS,
    )
)
# Readers' options that a comparison has itself, or passes on in other words.
READER_OPTIONS = tuple(name for name in OPTION_NAMES if name not in OF_TWO and name not in OF_QUERY)
KINDS: tuple[CompareKind, ...] = ("scores", "counts", "predictions")


def options_of_board(
    fields: Iterable[tuple[str, str]],
    pointer: Callable[[str], str],
    *,
    kinds: tuple[CompareKind, ...] = ("scores",),
    extra: tuple[str, ...] = (),
) -> tuple[dict[str, Any], list[str] | None]:
    """The members of `CompareChoices`, and the names in `systems`, if any; raises InvalidTest: an unknown or repeated name, or another kind."""
    parameters = tuple(dict.fromkeys(name for kind in kinds for name in parameters_of(kind)))
    texts, others = once(fields, (*OF_QUERY, SYSTEMS), pointer)
    members = {name: _value(name, text, pointer) for name, text in texts.items()}
    rest = options_of(others, (*OF_QUERY, "statistic", *parameters, *extra), pointer)
    if members.get("kind", kinds[0]) not in kinds:
        detail = (
            f"Data of this media type holds {' or '.join(kinds)}; send {quoted(members['kind'])} as JSON."
        )
        raise InvalidTest.at(pointer("kind"), "kind_not_here", detail)
    systems = members.pop(SYSTEMS, None)
    return {**members, **rest}, systems


def _value(name: str, text: str, pointer: Callable[[str], str]) -> Any:
    if name == SYSTEMS:
        names = listed(name, text, pointer(name))
        for index, system in enumerate(names):
            if system in names[:index]:
                raise InvalidTest.at(pointer(name), "duplicate_name", f"systems has {quoted(system)} twice.")
        return names
    if name == "compare" and text.startswith("["):
        return literal(text)
    if name in ("aggregate", "combine") and text in NULL:
        return None
    return option_value(name, text)


def listed(name: str, text: str, pointer: str) -> list[str]:
    """A JSON list of names, or names separated by commas; raises InvalidTest."""
    value = listed_in(text)
    if type(value) is not list or not all(type(part) is str for part in value):
        order = " in the order of their files" if name == NAMES else ""
        detail = f'{name} is a list of names{order}: A,B,C, or ["A", "B, the second"].'
        raise InvalidTest.at(pointer, "not_names", detail)
    return value


@dataclass(frozen=True, slots=True)
class FormFields:
    """The fields of a form: members of the comparison, options of the reader, names of the files' systems, or those chosen."""

    members: dict[str, Any]
    reader: dict[str, str]
    format: str
    names: list[str] | None
    systems: list[str] | None

    def reader_options(self, limits: Limits) -> ReaderOptions:
        """The options of the readers; raises InvalidTest."""
        return reader_options(self.reader, limits, self.members.get("exchange", "items"))

    @property
    def on_missing(self) -> Literal["error", "drop"]:
        """The reader's option for items without a value."""
        return "error" if self.members.get("on_missing", "error") == "error" else "drop"

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the statistic."""
        statistic = self.members.get("statistic", {})
        return {name: statistic[name] for name in PARAMETERS if name in statistic}

    def warnings(self, findings: Iterable[Finding]) -> tuple[WarningRecord, ...]:
        """The reader's uncertain choices, except that about several rows of an item, which `repeats` settles."""
        known = {CHOOSE_RUNS} if "repeats" in self.parameters else set[str]()
        return warnings_of(finding for finding in findings if finding.code not in known)

    def choices(self, kind: CompareKind) -> CompareChoices:
        """The choices without rounding, which the reader did; raises InvalidTest."""
        if self.members.get("kind", kind) != kind:
            detail = f"The files were read as {kind}: leave kind out."
            raise InvalidTest.at(option_pointer("kind"), "kind_not_here", detail)
        members = {name: value for name, value in self.members.items() if name != "decimals"}
        return validated(CompareChoices, {**members, "kind": kind}, in_form)


def fields_of(fields: Sequence[tuple[str, str]]) -> FormFields:
    """The fields, sorted; raises InvalidTest at `/options/<name>`."""
    texts, _ = once(fields, dict(fields), option_pointer)
    names, format_ = texts.pop(NAMES, None), texts.pop("format", catalogue.AUTO).lower()
    reader = {name: text for name, text in texts.items() if name in READER_OPTIONS and name != "statistic"}
    others = [(name, text) for name, text in texts.items() if name not in reader]
    extra = (SYSTEMS, NAMES, "format", *READER_OPTIONS)
    members, systems = options_of_board(others, option_pointer, kinds=KINDS, extra=extra)
    if "decimals" in members:
        reader["decimals"] = texts["decimals"]
    if "name" in members.get("statistic", {}):
        reader["statistic"] = members["statistic"]["name"]
    files = None if names is None else listed(NAMES, names, option_pointer(NAMES))
    return FormFields(members, reader, catalogue.ALIASES.get(format_, format_), files, systems)


def beside_files(pointer: str) -> str:
    """The map for a comparison of files: options are fields of the form, `/systems` of any data set are files; places stay."""
    if pointer == "/systems" or pointer.startswith("/datasets"):
        return "/files"
    known = pointer.startswith("/statistic") or option_of(pointer) in CompareChoices.model_fields
    return in_form(pointer) if known else pointer


beside_body = chained(beside_files, in_body)  # whose options are in the query
