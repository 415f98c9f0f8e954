"""Records become the JSON answer. Every field of a record is written by its name; `answers.FORMS` has the exceptions.

The OpenAPI schemas are derived from the same records and the same exceptions (`app.api.openapi.schemas`).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from ..inference.compare.plan_record import ComparePlanRecord
from ..inference.compare.record import CompareRecord
from ..inference.gate.record import GateRecord
from ..inference.paired_test import ALGORITHM_VERSION
from ..inference.plan_record import PlanRecord
from ..inference.power.record import PowerRecord
from ..inference.record import TestRecord
from .answers import (
    FORMS,
    INLINE,
    VERSIONS,
    CompareAnswer,
    ComparePlanAnswer,
    GateAnswer,
    PlanAnswer,
    PowerAnswer,
    Runtime,
    TestAnswer,
)
from .messages import TestKind


def json_types(record: type) -> dict[str, Any]:
    """The members of a record's JSON object in their order, with their annotated types."""
    types: dict[str, Any] = {}
    for name, kind in get_type_hints(record, include_extras=True).items():
        if (record, name) in INLINE:
            types |= _inner_types(record, name, kind)
        elif (record, name) in FORMS:
            types[FORMS[record, name].name] = FORMS[record, name].type
        else:
            types[name] = kind
    return types


def as_json(value: Any) -> Any:
    """A value of a record as JSON types: records as objects, tuples as lists, mappings as objects."""
    if value is None:
        return None
    kind = type(value)
    writer = _writers.get(kind)
    if writer is None:
        if kind is tuple:
            return [as_json(item) for item in value]
        if kind is dict:
            return {name: as_json(member) for name, member in value.items()}
        if not hasattr(kind, "__dataclass_fields__"):
            return value
        writer = _writers[kind] = _writer(kind)
    members = dict(zip(writer.names, writer.members(value), strict=True))
    for name, write, of_none in writer.others:
        member = members[name]
        if member is not None or of_none:
            members[name] = write(member)
    return writer.inlined(members) if writer.inline else members


@dataclass(frozen=True, slots=True)
class _Writer:
    """How the records of a class are written; found once, because a leaderboard has hundreds of thousands of them.

    `others` are the members that are no JSON types yet, with whether None is written otherwise; `inline` those that become
    members of the object around them: each with the names that it has there, which are null when it is None, and whether
    these are all of its names.
    """

    names: tuple[str, ...]
    members: Callable[[Any], tuple[Any, ...]]
    others: tuple[tuple[str, Callable[[Any], Any], bool], ...]
    inline: dict[str, tuple[tuple[str, ...], bool]]

    def inlined(self, members: dict[str, Any]) -> dict[str, Any]:
        """The members with those of inline records in their place."""
        written: dict[str, Any] = {}
        for name, member in members.items():
            if name not in self.inline:
                written[name] = member
                continue
            names, are_all = self.inline[name]
            if not member:
                written |= dict.fromkeys(names)
            else:
                written |= member if are_all else {inner: member.get(inner) for inner in names}
        return written


_writers: dict[type, _Writer] = {}


def _writer(record: type) -> _Writer:
    names = [field.name for field in fields(record)]
    forms = {name: FORMS[record, name] for name in names if (record, name) in FORMS}
    written_as = {name: forms[name].name if name in forms else name for name in names}
    hints = get_type_hints(record)
    others = {name: _write_of(hints[name]) for name in names if not _is_plain(hints[name])}
    others |= {name: form.write for name, form in forms.items()}
    getter = attrgetter(*names)
    return _Writer(
        names=tuple(written_as.values()),
        members=getter if len(names) > 1 else lambda value: (getter(value),),
        others=tuple((written_as[name], write, name in forms) for name, write in others.items()),
        inline={name: _inline(record, name, hints[name]) for name in names if (record, name) in INLINE},
    )


def _inline(record: type, name: str, kind: Any) -> tuple[tuple[str, ...], bool]:
    """The names of an inline record's members in the object around it, and whether these are all of its names."""
    names = tuple(_inner_types(record, name, kind))
    return names, len(names) == len(json_types(_inner_of(kind)))


def _write_of(kind: Any) -> Callable[[Any], Any]:
    """What writes the values of a type."""
    if get_origin(kind) is tuple and all(_is_plain(part) for part in get_args(kind) if part is not Ellipsis):
        return list
    return as_json


def _is_plain(kind: Any) -> bool:
    """Whether every value of a type is a JSON value as it is: numbers, texts, booleans, null."""
    if get_origin(kind) in {Union, UnionType}:
        return all(map(_is_plain, get_args(kind)))
    return kind in {float, int, str, bool, type(None)} or get_origin(kind) is Literal


def _inner_types(record: type, name: str, kind: Any) -> dict[str, Any]:
    """The members that an inline record becomes. They may be null if it may be None.

    Where the object around it has a member of the same name, that one is written.
    """
    optional, inner = get_origin(kind) in {Union, UnionType}, _inner_of(kind)
    own = {field.name for field in fields(record)} - {name}
    types = {member: of for member, of in json_types(inner).items() if member not in own}
    return {member: _or_null(of) for member, of in types.items()} if optional else types


def _inner_of(kind: Any) -> Any:
    """The class of a record that may be None."""
    if get_origin(kind) not in {Union, UnionType}:
        return kind
    return next(part for part in get_args(kind) if part is not type(None))


def _or_null(kind: Any) -> Any:
    """The type, or null; what is said of it stays outside, as bounds cannot be hashed."""
    if get_origin(kind) is not Annotated:
        return kind | None
    own, *notes = get_args(kind)
    return Annotated[own | None, *notes]


def versions() -> dict[str, str]:
    """The version of the program, and of the algorithms."""
    return dict(as_json(VERSIONS))


def answer_id(record: TestRecord | GateRecord | CompareRecord | PowerRecord) -> str:
    """Equal for equal requests under the same algorithm version."""
    return str(FORMS[type(record), "digest"].write(record.digest))


def signature(record: TestRecord | GateRecord | CompareRecord | PowerRecord) -> str:
    """What was done, in one line for a paper's appendix."""
    if isinstance(record, CompareRecord):
        return _signed(_compared(record), record.digest)
    if isinstance(record, PowerRecord):
        return _signed(["power", record.solve, record.alternative, record.method.name], record.digest)
    if isinstance(record, GateRecord):
        parts = ["gate", record.verdict, f"metrics:{len(record.metrics)}"]
    else:
        parts = [
            record.test,
            record.statistic.name,
            record.alternative,
            record.method.name,
            f"n:{record.items.n}",
        ]
    return _signed(parts, record.digest)


def _compared(record: CompareRecord) -> list[str]:
    """What was compared: how adjusted, by which statistic, how many data sets (if there are any), systems and tests."""
    boards = record.boards.values()
    systems = {system.name for board in boards for system in board.systems}
    sets = [] if record.datasets is None else [f"datasets:{len(record.datasets)}"]
    return [
        "compare", record.main_board.family.adjust, record.statistic, *sets, f"systems:{len(systems)}",
        f"pairs:{n_pairs(record)}",
    ]  # fmt: skip


def n_pairs(record: CompareRecord) -> int:
    """How many tests there were, listed or not."""
    return sum(board.family.size for board in record.boards.values())


def _signed(parts: list[str], digest: str) -> str:
    return "|".join(["exactperm", f"alg:{ALGORITHM_VERSION}", *parts, f"sha:{digest[:8]}"])


def render_test(record: TestRecord, runtime: Runtime) -> dict[str, Any]:
    """The JSON answer to a test."""
    return dict(as_json(TestAnswer(record, runtime, VERSIONS, signature(record))))


def render_gate(record: GateRecord, runtime: Runtime) -> dict[str, Any]:
    """The JSON answer of a gate."""
    return dict(as_json(GateAnswer(record, runtime, VERSIONS, signature(record))))


def render_compare(record: CompareRecord, runtime: Runtime) -> dict[str, Any]:
    """The JSON answer to a comparison; warnings about its one board are among those of the answer."""
    if record.board is not None:
        record = replace(record, warnings=(*record.warnings, *record.board.warnings))
    return dict(as_json(CompareAnswer(record.as_listed(), runtime, VERSIONS, signature(record))))


def render_power(record: PowerRecord, runtime: Runtime) -> dict[str, Any]:
    """The JSON answer to a question about power."""
    return dict(as_json(PowerAnswer(record, runtime, VERSIONS, signature(record))))


def render_compare_plan(plan: ComparePlanRecord) -> dict[str, Any]:
    """The JSON plan of a comparison."""
    return dict(as_json(ComparePlanAnswer("compare", plan, VERSIONS)))


def render_plan(kind: TestKind, plan: PlanRecord) -> dict[str, Any]:
    """The JSON plan of a test."""
    return dict(as_json(PlanAnswer(kind, plan, VERSIONS)))
