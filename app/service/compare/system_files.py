"""One file for each system, read by the reader of its format, which reads two at a time.

Each file is read next to the first one: what the reader checks between two files (the same documents, the same metric,
ids in another order) is so checked of all. The work grows with the number of files, not of pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...errors import Choice, InputError, InvalidTest, pointer_token
from ...inference.reading import Guessed, LeftOut, Note, Read
from ...inference.record import ReadingRecord
from ...inputs.alignment import ById, Given, OnMissingOnBoard, system_pointer
from ...inputs.formats import catalogue
from ...inputs.formats.catalogue import Guess
from ...inputs.formats.file_names import stem
from ...inputs.formats.reader import Finding, Kind, ReaderOptions, Reading, UploadedFile
from ...inputs.formats.source import sources
from ...inputs.formats.spreadsheet import as_text, refuse_others
from ...inputs.formats.tasks import at_most
from ...inputs.nested import NamedCounts
from ...inputs.quoting import quoted
from ...statistics.paired import Counts, Pairing, Predictions, Scores, Segments, Weights
from .given import GivenBoard

# What only tells that items are missing; which ones, the alignment of all systems says better.
MISSING = frozenset(("unmatched_ids", "missing_value"))
MOST_NOTES = 200
NAME_CHARS = 40


@dataclass(frozen=True, slots=True)
class Readings:
    """The board of all files, and how they were read; `first` is the reading of the first two."""

    kind: Kind
    first: Reading
    board: GivenBoard
    record: ReadingRecord


def read_each(
    files: Sequence[UploadedFile],
    names: Sequence[str] | None,
    others: Mapping[str, UploadedFile],
    format_: str,
    options: ReaderOptions,
    *,
    on_missing: OnMissingOnBoard,
) -> Readings:
    """Read the files of systems, with gold, references or judgements in `others`.

    Raises
    ------
    MalformedBody, InvalidTest
        As the format's reader does; or two systems have one name. Pointers are `/files/<system>/…`.
    """
    called = _named(files, names)
    files, others, sheets = _as_text(files, others, called, options)
    options = replace(options, sheet=None)
    found = None
    if format_ == catalogue.AUTO:
        found = catalogue.guess(sources({"u": files[1], "v": files[0], **others}), options)
        format_ = found.name
    if options.on_mismatch == "drop":
        detail = "`on_mismatch=drop` is of two systems: of a board, leave the items out of the files, or give `on_mismatch=keep`."
        raise InvalidTest.at("/options/on_mismatch", "unused_option", detail)
    reader = _Reader(files, called, others, format_, options)
    takes_missing = format_ in catalogue.FORMATS and "on_missing" in catalogue.FORMATS[format_].uses
    by_themselves, lacking = takes_missing and on_missing != "error", None
    try:
        readings = [reader.read(index, 0, drop=by_themselves) for index in range(1, len(files))]
    except InvalidTest as error:
        if not takes_missing or not any(flaw.code in MISSING for flaw in error.flaws):
            raise
        readings = [reader.read(index, 0, drop=True) for index in range(1, len(files))]
        by_themselves, lacking = True, error
    first = readings[0]
    own = {called[0]: side_of(first, "v"), **{called[i]: side_of(r, "u") for i, r in enumerate(readings, 1)}}
    if by_themselves:
        own = {name: side_of(reader.read(index, index, drop=True), "u") for index, name in enumerate(called)}
    if lacking is not None and len({frozenset(keys_of(side)) for side in own.values()}) == 1:
        raise lacking  # of all systems: their alignment would not find it
    given_names = _names_of(readings, called, names)
    board = _board({given_names[name]: data for name, data in own.items()}, first, on_missing)
    notes = _notes(readings, called, given_names, found, on_missing)
    first = replace(first, findings=_findings(readings, [given_names[name] for name in called]))
    return Readings(first.kind, first, board, ReadingRecord(format_, found is not None, (*sheets, *notes)))


def _findings(readings: Sequence[Reading], names: Sequence[str]) -> tuple[Finding, ...]:
    """What is not certain of each file beside the first, which is its v."""
    return tuple(
        replace(finding, detail=f"{finding.detail} (u is {quoted(name)} and v is {quoted(names[0])})")
        for name, reading in zip(names[1:], readings, strict=True)
        for finding in reading.findings
    )


def _as_text(
    files: Sequence[UploadedFile],
    others: Mapping[str, UploadedFile],
    called: Sequence[str],
    options: ReaderOptions,
) -> tuple[list[UploadedFile], dict[str, UploadedFile], tuple[str, ...]]:
    """Spreadsheets and Parquet files as CSV, once for all pairs; errors and notes name the systems."""
    every = {**dict(zip(called, files, strict=True)), **others}
    refuse_others(sources(every))
    read, notes = as_text(sources(every), options)
    made = {role: UploadedFile(one.name, one.content) for role, one in read.items()}
    return [made[name] for name in called], {role: made[role] for role in others}, notes


def _named(files: Sequence[UploadedFile], names: Sequence[str] | None) -> list[str]:
    called = list(names) if names is not None else [stem(file.name) for file in files]
    for index, name in enumerate(called):
        if not name.strip():
            detail = f"File {index + 1} has no name that could be its system's: give `names`, in the order of the files."
            raise InvalidTest.at("/options/names", "empty_name", detail)
        if name in called[:index]:
            detail = (
                f"Two files are of a system {quoted(name)}: give `names`, one for each file in their order."
            )
            raise InvalidTest.at("/options/names", "duplicate_name", detail)
    return called


@dataclass(frozen=True, slots=True)
class _Reader:
    """Reads two of the files; errors name the systems."""

    files: Sequence[UploadedFile]
    called: Sequence[str]
    others: Mapping[str, UploadedFile]
    format: str
    options: ReaderOptions

    def read(self, u: int, v: int, *, drop: bool) -> Reading:
        """The reading of files u and v."""
        files = {"u": self.files[u], "v": self.files[v], **self.others}
        options = replace(self.options, on_missing="drop") if drop else self.options
        try:
            return catalogue.read(files, self.format, options)
        except InputError as error:
            roles = {"u": self.called[u], "v": self.called[v]}
            flaws = tuple(
                replace(
                    flaw, pointer=_in_system(flaw.pointer, roles), choices=tuple(map(_of_all, flaw.choices))
                )
                for flaw in error.flaws
            )
            which = f"u is {quoted(roles['u'])}" + ("" if u == v else f" and v is {quoted(roles['v'])}")
            concerned = any(old.pointer != new.pointer for old, new in zip(error.flaws, flaws, strict=True))
            detail = f"{error.detail} ({which})" if concerned else error.detail
            raise type(error)(detail, flaws=flaws) from None


def _in_system(pointer: str, roles: Mapping[str, str]) -> str:
    tokens = pointer.split("/")
    if tokens[:2] == ["", "files"] and len(tokens) > 2 and tokens[2] in roles:
        tokens[2] = pointer_token(roles[tokens[2]])
    return "/".join(tokens)


def _of_all(choice: Choice) -> Choice:
    """A way to mend two files as one that mends all: what one lacks is left out of all, and not of a pair."""
    complete = {"on_missing": "complete"} if choice.fields.get("on_missing") == "drop" else {}
    return Choice(choice.title, {**choice.fields, **complete})


def _names_of(
    readings: Sequence[Reading], called: Sequence[str], names: Sequence[str] | None
) -> dict[str, str]:
    """The systems' names: as given, else those that all files have in them, else those of the files."""
    inside = [None if reading.names is None else reading.names for reading in readings]
    if names is None and all(pair is not None for pair in inside):
        own = [inside[0][1], *(pair[0] for pair in inside if pair is not None)] if inside[0] else []
        if len(set(own)) == len(called):
            return dict(zip(called, own, strict=True))
    return {name: name for name in called}


@dataclass(frozen=True, slots=True)
class Side:
    """One system of a reading: its values in the order of the pairing, gold, and the items' weights."""

    values: Any
    gold: Any
    pairing: Pairing
    weights: Weights | None = None
    groups: Any = None
    event: Any = None


def side_of(reading: Reading, role: str) -> Side:
    """The side of the system in a role."""
    data = reading.data
    assert isinstance(data, Scores | Counts | Predictions | Segments)
    values = getattr(data, role)
    if isinstance(data, Counts):
        values = NamedCounts(values)
    if isinstance(data, Predictions):
        return Side(values, data.gold, data.pairing, None, data.groups, data.event)
    gold = data.references if isinstance(data, Segments) else None
    return Side(values, gold, data.pairing, data.weights if isinstance(data, Scores) else None)


def keys_of(side: Side) -> list[str]:
    """The ids of its items as text; none without ids."""
    return [str(key) for key in side.pairing.ids or ()]


def _written(side: Side) -> list[str] | None:
    """The weights of the items as text."""
    own = side.weights
    return None if own is None else [str(own.unit * value) for value in own.values.tolist()]


def _by_id(own: Mapping[str, Side], what: str) -> dict[str, Any] | None:
    """Gold, weights, groups or events by id, of the items that any system has: with items missing, each was read by itself.

    Raises
    ------
    InvalidTest
        Two files disagree about the gold or the weight of an item, or only some have weights.
    """
    columns = {
        name: _written(side) if what == "weight" else _listed(getattr(side, what))
        for name, side in own.items()
    }
    lacking = [name for name, column in columns.items() if column is None]
    if lacking and (what != "weight" or len(lacking) == len(own)):
        return None
    if lacking:
        detail = f"The file of {quoted(lacking[0])} has no column weight, and others have one."
        raise InvalidTest.at(f"/files/{pointer_token(lacking[0])}", "no_weight", detail)
    known: dict[str, Any] = {}
    for name, column in columns.items():
        for key, value in zip(keys_of(own[name]), column or (), strict=True):
            if known.setdefault(key, value) != value and what in ("gold", "weight"):
                detail = f"The {what} of the item {quoted(key)} is {quoted(value)} in the file of {quoted(name)} and {quoted(known[key])} in another."
                raise InvalidTest.at(f"/files/{pointer_token(name)}", f"{what}_mismatch", detail)
    return known


def _listed(column: Any) -> list[Any] | None:
    """A column as a list, if there is one."""
    return None if column is None else column.tolist() if isinstance(column, np.ndarray) else list(column)


def _board(own: Mapping[str, Side], first: Reading, on_missing: OnMissingOnBoard) -> GivenBoard:
    sides = list(own.values())
    ids = sides[0].pairing.ids
    whole = {system_pointer(name): f"/files/{pointer_token(name)}" for name in own} | {"/weights": "/files"}
    clustered, grouped = sides[0].pairing.clusters is not None, sides[0].groups is not None
    if (
        on_missing == "pairwise"
        and (clustered or grouped)
        and any(keys_of(side) != keys_of(sides[0]) for side in sides)
    ):
        what = "Clusters" if clustered else "Groups"
        detail = (
            f"{what} of separate files are known for the items that all have: set `on_missing=complete`, or give one file with "
            "all systems."
        )
        raise InvalidTest.at("/options/on_missing", f"{what.lower()}_of_separate_files", detail)

    def place(column: str, index: int, rest: Sequence[str]) -> str:
        return whole.get(column, "/files/gold" if column == "/gold" else column)

    if ids is None:
        columns: dict[str, Given] = {name: own[name].values for name in sorted(own)}
        codes = sides[0].pairing.clusters
        clusters: Any = None if codes is None else codes.tolist()
        return GivenBoard(
            columns, sides[0].gold, None, clusters, place, whole, weights=_written(sides[0]),
            groups=_listed(sides[0].groups), event=_listed(sides[0].event),
        )  # fmt: skip
    keyed: dict[str, Given] = {name: ById(keys_of(own[name]), own[name].values) for name in sorted(own)}
    # Groups are numbered in each reading anew, so that those of one file are those of its items.
    known = dict(list(own.items())[:1]) if grouped else own
    gold = _by_id(known, "gold")
    by_id = None
    if clustered:
        codes = sides[0].pairing.clusters
        assert codes is not None
        by_id = dict(zip(keys_of(sides[0]), codes.tolist(), strict=True))
    return GivenBoard(
        keyed, None if gold is None else ById(list(gold), list(gold.values())), None, by_id, place, whole,
        weights=_by_id(own, "weight"), groups=_by_id(known, "groups"),
        event=_by_id(known, "event"),
    )  # fmt: skip


def _notes(
    readings: Sequence[Reading],
    called: Sequence[str],
    names: Mapping[str, str],
    found: Guess | None,
    on_missing: str,
) -> tuple[Note, ...]:
    """The notes of all readings, each once; those of u and v under the systems' names."""
    notes: list[Note] = [] if found is None else [Guessed(found.looked_at, readings[0].format)]
    for index, reading in enumerate(readings, 1):
        of = {"v": names[called[0]][:NAME_CHARS]} if index == 1 else {}
        of["u"] = names[called[index]][:NAME_CHARS]
        notes += [
            named for note in reading.facts if (named := _named_after(note, of, on_missing)) is not None
        ]
    return tuple(at_most(list(dict.fromkeys(notes)), MOST_NOTES))


def _named_after(note: Note, of: Mapping[str, str], on_missing: str) -> Note | None:
    """A note about u or v under the system's name; None where it is not asked for, or says nothing about all files."""
    if isinstance(note, LeftOut) and note.lacks == "counterpart":
        return None
    if isinstance(note, str | Guessed) or note.who not in ("u", "v"):
        return note
    if note.who not in of:
        return None
    if isinstance(note, LeftOut):
        return replace(note, who=of[note.who], on_missing=on_missing)
    if isinstance(note, Read):
        return replace(note, who=of[note.who], source=note.file or note.source)
    return replace(note, who=of[note.who])
