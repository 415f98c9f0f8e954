"""Evaluation files of one system each, or one for each system and task.

The reader of the format compares two files, so each file is read next to the first one: all are checked for the
same documents, metric and ids. Parsed files are cached while needed, so that each is parsed once.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from ...answers.reading import Guessed, LeftOut, Note, Read
from ...answers.test import ReadingRecord
from ...errors import Choice, InputError, InvalidTest, pointer_token
from ...inputs.alignment import ById, OnMissingOnBoard, PairedColumns, system_pointer
from ...inputs.formats import catalogue
from ...inputs.formats.tasks import ITEM, at_most, each_task, in_task, of_tasks, stem, totals_read
from ...inputs.formats.workbook import as_text
from ...inputs.quoting import quoted, some
from ...inputs.reader import Finding, ReaderOptions, Reading, Source, UploadedFile, sources
from ...statistics.columns import taken
from ...statistics.paired import Counts, NamedCounts, Predictions, Scores, Segments
from ..parse_files import Form, option_pointer, spec_of_reading
from ..schema.compare import CompareKind
from .board import NAMES, SYSTEMS, DecodedCompare, FormFields, beside_files, names_of_files

# Faults of missing items, which the alignment of all systems reports better.
MISSING = frozenset(("unmatched_ids", "missing_value"))
MOST_NOTES = 200
NAME_CHARS = 40
COMPLETE = "complete"
OF_TWO = re.compile(r"\b[uv]\b")
# What files need whose refusal, as two files, offers options for u and v.
ONE_EACH = {
    "choose_system": "The file of {} holds several systems ({}): send it alone (`file`) to compare those, or split it into a file for each.",
    "filter_mismatch": "Another file has other filters than that of {}: give files that share one, and choose it (`filter`).",
}

Files = Mapping[str, UploadedFile]


def each_file(form: Form, fields: FormFields, options: ReaderOptions) -> DecodedCompare:
    """One file for each system, or for each system and task; raises InputError with pointers into the form."""
    files, names = form.repeated, fields.names
    if fields.systems is not None:
        detail = (
            "`systems` chooses among the systems of one file; `names` names the systems of several files."
        )
        raise InvalidTest.at(option_pointer(SYSTEMS), "unused_option", detail)
    if len(files) < 2:
        detail = (
            f"A comparison needs at least two files, one for each system (`system`), or one file that holds several (`file`); there "
            f"{'is one' if files else 'is none'}."
        )
        raise InvalidTest.at("/files", "too_few_systems", detail)
    if names is not None and len(names) != len(files):
        detail = (
            f"`names` has {len(names):,} names for {len(files):,} files: give one for each, in their order."
        )
        raise InvalidTest.at(option_pointer(NAMES), "wrong_name_count", detail)
    on_missing = fields.members.get("on_missing", "error")
    boards: dict[str | None, PairedColumns]
    if names is not None and len(set(names)) < len(names):
        boards, first = _read_tasks(form, names, fields.format, options, on_missing)
    else:
        role = next((role for role, file in form.files.items() if file.parts), None)
        if role is not None:
            detail = (
                f"There are several files {role}: that needs a file of every system for each task, and "
                "`names` for the files."
            )
            raise InvalidTest.at(f"/files/{role}", "duplicate_file", detail)
        board, first = read_each(
            _by_name(files, names), form.files, fields.format, options, on_missing, named=names is not None
        )
        boards = {None: board}
    kind: CompareKind = "predictions" if first.kind in ("segments", "predictions") else first.kind  # type: ignore[assignment]  # no effects
    spec = spec_of_reading(first, options.statistic, fields.parameters)
    measured = first.kind == "scores" or spec == first.default_statistic
    record = ReadingRecord(first.format, first.guessed, first.facts)
    return DecodedCompare(
        fields.choices(kind), boards, beside_files, record, spec, first.metric if measured else None,
        first.higher_is_better if measured else None, fields.warnings(first.findings),
    )  # fmt: skip


def _by_name(files: Sequence[UploadedFile], names: Sequence[str] | None) -> dict[str, UploadedFile]:
    called: dict[str, UploadedFile] = {}
    for index, file in enumerate(files):
        name = stem(file.name) if names is None else names[index]
        if not name.strip():
            detail = f"File {index + 1} has no usable name: give `names`, in the order of the files."
            raise InvalidTest.at(option_pointer(NAMES), "empty_name", detail)
        if name in called:
            detail = f"Two files belong to a system {quoted(name)}: give `names`, one for each file in order."
            raise InvalidTest.at(option_pointer(NAMES), "duplicate_name", detail)
        called[name] = file
    return called


# Several files for each system


def _read_tasks(
    form: Form, names: Sequence[str], format_: str, options: ReaderOptions, on_missing: OnMissingOnBoard
) -> tuple[dict[str | None, PairedColumns], Reading]:
    """A board for each task, and how all were read; raises as its reader does, at `/files/<system>/<task>/…`."""
    by_system: dict[str, list[UploadedFile]] = {}
    for name, file in zip(names, form.repeated, strict=True):
        by_system.setdefault(name, []).append(file)
    if len(by_system) < 2:
        detail = (
            f"All files belong to the system {quoted(names[0])}: a comparison needs at least two systems."
        )
        raise InvalidTest.at(option_pointer(NAMES), "too_few_systems", detail)
    tokens = {name: pointer_token(name) for name in by_system}
    divided = {tokens[name]: (quoted(name), files) for name, files in by_system.items()}
    divided |= {role: (role, list(file.parts)) for role, file in form.files.items() if file.parts}
    if options.clusters == ITEM:
        options = replace(options, clusters=None)
    boards: dict[str | None, PairedColumns] = {}

    def read_single(task: str, of_task: Files) -> Reading:
        files = {name: of_task[token] for name, token in tokens.items()}
        others = {role: of_task.get(role, file) for role, file in form.files.items()}
        board, reading = read_each(files, others, format_, options, on_missing, named=True)
        boards[task] = board.within(in_task(task, tokens.values()))
        return reading

    readings, left = each_task(divided, read_single, drop=COMPLETE, dropped=on_missing == COMPLETE)
    facts = {task: reading.facts for task, reading in readings.items()}
    notes: list[Note] = [f"{len(facts):,} tasks were read as data sets: {some(list(facts))}.", *left]
    notes += [*totals_read(list(facts.values())), *of_tasks(facts, MOST_NOTES)]
    findings = tuple(finding for reading in readings.values() for finding in reading.findings)
    first = next(iter(readings.values()))
    return boards, replace(first, facts=tuple(at_most(notes, MOST_NOTES)), findings=findings)


# One file for each system


def read_each(
    files: Files, others: Files, format_: str, options: ReaderOptions, on_missing: OnMissingOnBoard, *, named: bool
) -> tuple[PairedColumns, Reading]:  # fmt: skip
    """The board of a file for each system, and the reading of the first two, with the notes and uncertain choices of all.

    `others` are gold, references or judgements; `named`: by names for display. Raises as the format's reader, at `/files/<system>/…`.
    """
    every = [Source(who, file.name, file.content) for who, file in (*files.items(), *others.items())]
    numbered = {str(at): source for at, source in enumerate(every)}
    as_read, sheets = as_text(numbered, options)
    parsed = [UploadedFile(one.name, one.content, memo={}) for one in as_read.values()]
    others = dict(zip(others, parsed[len(files) :], strict=True))
    files = dict(zip(files, parsed, strict=False))
    options = replace(options, sheet=None)
    v, u, *_ = files.values()
    format_, guessed = catalogue.format_of(sources({"u": u, "v": v, **others}), format_, options)
    takes_missing = "on_missing" in catalogue.FORMATS[format_].uses

    def read_two(u: str, v: str, dropping: bool) -> Reading:
        chosen = replace(options, on_missing="drop") if dropping and takes_missing else options
        try:
            return catalogue.read({"u": files[u], "v": files[v], **others}, format_, chosen)
        except InputError as error:
            raise _of_systems(error, {"u": u, "v": v}) from None

    without_unlike, dropping = options.on_mismatch == "drop", takes_missing and on_missing != "error"
    try:
        pairs, sides, unlike = _read(files, read_two, dropping, without_unlike)
    except InvalidTest as error:
        if not takes_missing or MISSING.isdisjoint(flaw.code for flaw in error.flaws):
            raise
        pairs, sides, unlike = _read(files, read_two, True, without_unlike)
        if len({frozenset(side.ids or ()) for side in sides.values()}) == 1:
            raise error from None  # over all systems: their alignment would not find it
    id_column = next((pair.id_column for pair in pairs if pair.id_column), None)
    if id_column is not None:  # a pair shows faults that one order, and a file by itself, does not
        options = replace(options, id_column=id_column)
        pairs, sides, unlike = _read(files, read_two, dropping, without_unlike)
    inside = [pairs[0].names and pairs[0].names[1], *(pair.names and pair.names[0] for pair in pairs)]
    shown = list(files) if named else names_of_files(list(files), inside)
    board = _board(dict(zip(shown, sides.values(), strict=True)), unlike, on_missing)
    notes: list[Note] = [] if guessed is None else [Guessed(guessed.looked_at, format_)]
    findings: dict[str, Finding] = {}
    for name, pair in zip(shown[1:], pairs, strict=True):
        of = {"u": name[:NAME_CHARS], "v": shown[0][:NAME_CHARS]}
        renamed = (_named_after(note, of, on_missing, first=pair is pairs[0]) for note in pair.facts)
        notes += [note for note in renamed if note is not None]
        for finding in pair.findings:
            roles = (
                f" (u is {quoted(name)} and v is {quoted(shown[0])})" if OF_TWO.search(finding.detail) else ""
            )
            findings.setdefault(finding.detail + roles, replace(finding, detail=finding.detail + roles))
    facts = (*sheets, *at_most(list(dict.fromkeys(notes)), MOST_NOTES))
    return board, replace(
        pairs[0], guessed=guessed is not None, facts=facts, findings=tuple(findings.values())
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Side:
    """One system of a reading: its values in the order of the pairing, the items' ids as text, and further columns."""

    values: Any
    ids: list[str] | None
    of_items: Mapping[str, Any]


def side_of(reading: Reading, role: str) -> Side:
    """The side of the system in a role."""
    data = reading.data
    assert isinstance(data, Scores | Counts | Predictions | Segments)
    values = getattr(data, role)
    clusters = data.pairing.clusters
    of_items: dict[str, Any] = {"clusters": None if clusters is None else clusters.tolist()}
    if isinstance(data, Scores) and data.weights is not None:
        of_items["weights"] = [str(data.weights.unit * value) for value in data.weights.values.tolist()]
    elif isinstance(data, Segments):
        of_items["gold"] = data.references
    elif isinstance(data, Predictions):
        of_items |= {"gold": data.gold, "groups": data.groups, "event": data.event}
    ids = data.pairing.ids
    return Side(
        NamedCounts(values) if isinstance(data, Counts) else values,
        None if ids is None else list(map(str, ids)),
        of_items,
    )


def _read(
    files: Files, read_two: Callable[[str, str, bool], Reading], dropping: bool, without_unlike: bool
) -> tuple[list[Reading], dict[str, Side], set[str]]:
    """The readings of each file beside the first, the side of each system, and differing items to leave out.

    If items are missing (`dropping`) or left out, each side is its whole file, since a pair has less.
    """
    first, *rest = files
    pairs: list[Reading] = []
    sides: dict[str, Side] = {}
    unlike: set[str] = set()
    for name in rest:
        pairs.append(read_two(name, first, dropping))
        both = {} if sides else {first: side_of(pairs[-1], "v")}
        both[name] = side_of(pairs[-1], "u")
        for each, side in both.items():
            apart = dropping or without_unlike
            sides[each] = side_of(read_two(each, each, True), "u") if apart else side
        if without_unlike:
            unlike |= set(sides[first].ids or ()) & set(sides[name].ids or ()) - set(both[name].ids or ())
        (files[name].memo or {}).clear()
    return pairs, sides, unlike


def _of_systems(error: InputError, roles: Mapping[str, str]) -> InputError:
    """The refusal of files u and v, with the systems' names."""

    def pointer_map(pointer: str) -> str:
        tokens = pointer.split("/")
        if tokens[:2] == ["", "files"] and len(tokens) > 2 and tokens[2] in roles:
            tokens[2] = pointer_token(roles[tokens[2]])
        return "/".join(tokens)

    flaws = tuple(
        replace(flaw, pointer=pointer_map(flaw.pointer), choices=tuple(map(_of_all, flaw.choices)))
        for flaw in error.flaws
    )
    code = re.sub("_[uv]$", "", flaws[0].code) if flaws else ""
    if code in ONE_EACH:
        held = some([choice.title for choice in flaws[0].choices]) or "…"
        who = roles.get(error.flaws[0].pointer.split("/")[2], "")
        return InvalidTest.at(flaws[0].pointer, code, ONE_EACH[code].format(quoted(who), held))
    concerned = any(old.pointer != new.pointer for old, new in zip(error.flaws, flaws, strict=True))
    called = [f"{role} is {quoted(name)}" for role, name in roles.items()][: len(set(roles.values()))]
    return type(error)(f"{error.detail} ({' and '.join(called)})" if concerned else error.detail, flaws=flaws)


def _of_all(choice: Choice) -> Choice:
    """A choice for two files as a choice for all: missing items are left out for all systems, not for a pair."""
    complete = {"on_missing": COMPLETE} if choice.fields.get("on_missing") == "drop" else {}
    return Choice(choice.title, {**choice.fields, **complete})


def _board(sides: Mapping[str, Side], unlike: set[str], on_missing: OnMissingOnBoard) -> PairedColumns:
    first = next(iter(sides.values()))
    pointers = {system_pointer(name): f"/files/{pointer_token(name)}" for name in sides}
    pointers |= {"/weights": "/files", "/gold": "/files/gold"}

    def place(column: str, _: int | None, __: Sequence[str]) -> str:
        return pointers.get(column, column)

    if first.ids is None:
        return PairedColumns({name: sides[name].values for name in sorted(sides)}, place, **first.of_items)
    numbered = [name for name in ("clusters", "groups") if first.of_items.get(name) is not None]
    if numbered and on_missing == "pairwise" and any(side.ids != first.ids for side in sides.values()):
        detail = (
            f"{numbered[0].capitalize()} of separate files need items that all have: set "
            "`on_missing=complete`, or give one file with all systems."
        )
        raise InvalidTest.at("/options/on_missing", f"{numbered[0]}_of_separate_files", detail)
    # Clusters and groups are numbered anew in each reading, so that one file numbers its items.
    alone = dict(list(sides.items())[:1])
    of_items: dict[str, Any] = {
        name: _by_id(
            alone if name == "clusters" or ("groups" in numbered and name != "weights") else sides, name
        )
        for name in ("clusters", "weights", "gold", "groups", "event")
    }
    gold = of_items.pop("gold")

    def column(ids: Sequence[str], values: Any) -> ById:
        if not unlike:
            return ById(list(ids), values)
        left = np.array([at for at, key in enumerate(ids) if key not in unlike], dtype=np.int64)
        return ById([ids[at] for at in left.tolist()], taken(values, left))

    return PairedColumns(
        {name: column(sides[name].ids or (), sides[name].values) for name in sorted(sides)},
        place,
        None if gold is None else column(list(gold), list(gold.values())),
        **of_items,
    )


def _by_id(sides: Mapping[str, Side], what: str) -> dict[str, Any] | None:
    """Data about the items, by id, of all that any system has: with items missing, each file was read separately; raises InvalidTest."""
    lacking = [name for name, side in sides.items() if side.of_items.get(what) is None]
    if lacking and (what != "weights" or len(lacking) == len(sides)):
        return None
    if lacking:
        detail = f"The file of {quoted(lacking[0])} has no column weight, but others have one."
        raise InvalidTest.at(f"/files/{pointer_token(lacking[0])}", "no_weight", detail)
    known: dict[str, Any] = {}
    for name, side in sides.items():
        column = side.of_items[what]
        values = column.tolist() if isinstance(column, np.ndarray) else column
        for key, value in zip(side.ids or (), values, strict=True):
            if known.setdefault(key, value) != value and what in ("gold", "weights"):
                one = what.removesuffix("s")
                detail = f"The {one} of the item {quoted(key)} is {quoted(value)} in the file of {quoted(name)} and {quoted(known[key])} in another."
                raise InvalidTest.at(f"/files/{pointer_token(name)}", f"{one}_mismatch", detail)
    return known


def _named_after(note: Note, of: Mapping[str, str], on_missing: str, *, first: bool) -> Note | None:
    """A note about u or v under the system's name; None if it is not about all files, or is about v and not the `first`."""
    if isinstance(note, str | Guessed):
        return note
    if isinstance(note, LeftOut) and note.lacks == "likeness":
        return replace(note, who=f"{of['u']} and {of['v']}")
    if (isinstance(note, LeftOut) and note.lacks == "counterpart") or (note.who == "v" and not first):
        return None
    if note.who not in of:
        return note
    note = replace(note, who=of[note.who])
    if isinstance(note, LeftOut):
        return replace(note, on_missing=on_missing)
    return replace(note, source=note.file or note.source) if isinstance(note, Read) else note
