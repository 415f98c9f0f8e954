"""Requests for a leaderboard as values: many systems on the same items, to send, plan or draw.

>>> board = compare({"A": [1, 1, 0], "B": [1, 0, 0], "C": [0, 0, 0]}, baseline="C")
>>> board.kind, board.body["compare"]
('scores', 'baseline')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from typing import Any, Literal, Unpack, cast

from .data import BESIDE, array_of, as_multiples, by_index, escaped, plain, with_nulls
from .errors import InvalidData
from .frames import Frame, column_of, frame_of, require_distinct
from .requests import ROLES, CommonOptions, FileLike, file_of, files_and_fields, files_of, form_fields

# The columns of one board


Columns = Mapping[str, Any]
MEMBERS = ("systems", "scores", "gold", *BESIDE)


def at_dataset(dataset: str | None) -> str:
    """The pointer of a data set; "" for the only one."""
    return "" if dataset is None else f"/datasets/{escaped(dataset)}"


def of_dataset(value: Any) -> Columns:
    """A data set's members: by name, or its systems alone."""
    named = isinstance(value, Mapping) and "systems" in value and set(value) <= set(MEMBERS)
    return cast("Columns", value) if named else {"systems": value}


def board_columns(members: Columns, kind: str | None, at: str) -> Columns:
    """The members of one data set, paired by their indexes where they have any; pointers of errors begin with `at`."""
    try:
        systems = _named(members.get("systems"), members.get("scores"))
        if systems is None:
            return {name: value for name, value in members.items() if value is not None}
        columns = {f"systems/{escaped(name)}": _counted(column, kind) for name, column in systems.items()}
        if members.get("gold") is not None:
            columns["gold"] = members["gold"]
        beside = {name: members[name] for name in BESIDE if members.get(name) is not None}
        paired, beside = by_index("counts" if kind == "counts" else "scores", columns, beside)
    except InvalidData as error:
        raise InvalidData(error.detail, pointer=at + error.pointer) from None
    by_name = {name: paired[f"systems/{escaped(name)}"] for name in systems}
    return {"systems": by_name, **({"gold": paired["gold"]} if "gold" in paired else {}), **beside}


def _named(systems: Any, scores: Any) -> dict[str, Any] | None:
    """Every system's column by name; None for names and rows, which are sent unchanged."""
    if scores is not None:
        return _of_matrix(systems, scores)
    if (frame := frame_of(systems, "/systems")) is not None:
        return frame.by_name()
    if not isinstance(systems, Mapping):
        detail = "Give {name: column}, a data frame with a column for each system, or names and a matrix."
        raise InvalidData(detail, pointer="/systems")
    require_distinct([str(name) for name in systems], "systems", "/systems")
    return {str(name): column for name, column in systems.items()}


def _of_matrix(systems: Any, scores: Any) -> dict[str, Any] | None:
    if systems is None or isinstance(systems, str | Mapping):
        raise InvalidData("Give a list of names, one for each column of scores.", pointer="/systems")
    names = [str(name) for name in systems]
    matrix = array_of(scores)
    if matrix is None:
        return None
    if matrix.ndim != 2 or matrix.shape[1] != len(names):
        detail = f"Give scores of N x {len(names)}: a row for each item, a column for each of the names."
        raise InvalidData(detail, pointer="/scores")
    require_distinct(names, "systems", "/systems")
    if (frame := frame_of(scores, "/scores")) is not None:
        return dict(zip(names, frame.columns.values(), strict=True))
    return {name: matrix[:, column] for column, name in enumerate(names)}


def _counted(column: Any, kind: str | None) -> Any:
    """The counts of one system, in a table, as columns by name."""
    frame = frame_of(column) if kind == "counts" else None
    return column if frame is None else frame.as_columns(counts=True)


# Requests


CompareKind = Literal["scores", "counts", "predictions", "files"]
SYSTEM, FILE = "system", "file"


class CompareOptions(CommonOptions, total=False):
    """The options of a comparison; their meaning and defaults are in the OpenAPI document of the server.

    `aggregate` may be None: no overall board over several data sets.
    """

    kind: Literal["scores", "counts", "predictions"]
    compare: Literal["all_pairs", "baseline"] | Sequence[Sequence[str]]
    baseline: str
    adjust: Literal["bonferroni", "holm", "hochberg", "bh", "by", "holm_discrete", "max_t", "none"]
    family: Literal["dataset", "all"]
    aggregate: Literal["macro", "micro"] | None
    combine: Literal["fisher", "stouffer"]
    on_missing: Literal["error", "pairwise", "complete"]
    higher_is_better: bool
    pairs: Literal["auto", "all", "significant", "none"]
    range: Sequence[float]
    frontier: Mapping[str, Mapping[str, Any]] | str


@dataclass(frozen=True, slots=True)
class CompareRequest:
    """Columns of one board, or of several by data set, and options; or files and fields of a form.

    `boards` holds the members systems, gold, ids, clusters and weights by data set; a single board has the key None.
    """

    kind: CompareKind
    boards: Mapping[str | None, Columns] = field(repr=False)
    options: Mapping[str, Any]
    files: tuple[tuple[str, tuple[str, bytes]], ...] = field(default=(), repr=False)
    path: Literal["/v1/compare", "/v1/tests/systems"] = "/v1/compare"

    @property
    def body(self) -> dict[str, Any]:
        """As JSON."""
        if self.kind == "files":
            raise InvalidData(
                "Files and tables have no JSON form; give {name: column}, such as {name: table[name] for name in systems}."
            )
        gaps = self.kind != "counts" and self.options.get("on_missing", "error") != "error"
        boards = {
            name: plain(_with_nulls(members) if gaps else members, at_dataset(name))
            for name, members in self.boards.items()
        }
        columns = boards.get(None, {"datasets": boards})
        options = dict(self.options)
        if isinstance(options.get("frontier"), Mapping):
            options["frontier"] = plain(options["frontier"], "/frontier")
        kind = {"kind": self.kind} if self.path == "/v1/compare" else {}
        return {**kind, **columns, **options}


def _with_nulls(members: Columns) -> Columns:
    """The members of a board, with None for missing values."""
    systems = members["systems"]
    if not isinstance(systems, Mapping):
        return members
    return {**members, "systems": {name: with_nulls(column) for name, column in systems.items()}}


def compare(
    systems: Any = None,
    scores: Any = None,
    *,
    gold: Any = None,
    datasets: Mapping[str, Any] | None = None,
    **options: Unpack[CompareOptions],
) -> CompareRequest:
    """Many systems on the same items.

    Parameters
    ----------
    systems
        {name: column}: an array or a list of length N, {id: value} or a Series each; or a table with a column for each
        system, or {name: table}, read like their CSV. An index that is not 0, 1, …, N-1 names the items. Or a list of K
        names, with `scores`.
    scores
        Scores of shape (N, K), a row for each item, a column for each name in `systems`.
    gold
        The gold standard: the systems' data are predictions.
    datasets
        Instead of systems: {name: systems} for several data sets; or {name: {"systems": …, "gold": …, "ids": …,
        "clusters": …, "weights": …}}.
    options
        `weights` are weights of the items of scores. `baseline` alone compares every system with that one. With
        `on_missing` pairwise or complete, NaN is a missing score.

    Raises
    ------
        InvalidData: the data cannot be put into a request.
    """
    if scores is None and options.get("kind") != "counts":
        tables = _tables(systems, datasets)
        if tables is not None:
            return _of_tables(tables, gold, options)
    members = _options({name: value for name, value in options.items() if name not in {"kind", *BESIDE}})
    beside = {name: value for name in BESIDE if (value := options.get(name)) is not None}
    if datasets is None:
        one_board: Columns = {"systems": systems, "scores": scores, "gold": gold, **beside}
        boards: dict[str | None, Columns] = {None: board_columns(one_board, options.get("kind"), "")}
    else:
        if systems is not None or scores is not None or gold is not None or beside:
            detail = "With datasets, put systems, scores, gold, ids, clusters and weights into each of them."
            raise InvalidData(detail, pointer="/datasets")
        boards = {}
        for name, value in datasets.items():
            if str(name) in boards:
                raise InvalidData("Two data sets are the same when written as text.", pointer="/datasets")
            boards[str(name)] = board_columns(of_dataset(value), options.get("kind"), at_dataset(str(name)))
    has_gold = any("gold" in board for board in boards.values())
    kind: CompareKind = options.get("kind") or ("predictions" if has_gold else "scores")
    if kind == "scores":  # true and false as 1 and 0; fractions as numbers, with the unit of all
        by_board = {at: one["systems"] for at, one in boards.items() if type(one.get("systems")) is dict}
        columns = {(at, system): one for at, systems in by_board.items() for system, one in systems.items()}
        made, unit = as_multiples(columns, members.get("unit"))
        for (at, system), one in made.items():
            by_board[at][system] = one
        members |= {} if unit is None else {"unit": unit}
    return CompareRequest(kind, boards, members)


def systems(
    systems: Any, statistic: str | Mapping[str, Any], scores: Any = None, **options: Any
) -> CompareRequest:
    """Several systems on the same items in one test.

    Parameters
    ----------
    systems, scores
        As for `compare`; or the value of `compare_files(…)`.
    statistic
        "cochran_q" or "friedman"; {"name": "page", "order": [name, …]}, {"name": "contrast", "weights": {name: weight}} or
        {"name": "interaction", "pairs": [[A1, A0], [B1, B0]]}.
    options
        alternative, alpha, method, samples, seed, significance, pmf, exact_fraction, ids, on_missing, decimals, timeout_s.

    Raises
    ------
        InvalidData: the data cannot be put into a request.
    """
    made = systems if isinstance(systems, CompareRequest) else compare(systems, scores)
    boards: Mapping[str | None, Columns] = made.boards
    if "ids" in options:
        boards = {None: {**made.boards[None], "ids": options.pop("ids")}}
    return replace(
        made,
        boards=boards,
        options={**made.options, "statistic": statistic, **options},
        path="/v1/tests/systems",
    )


def _tables(systems: Any, datasets: Mapping[str, Any] | None) -> Frame | dict[str, Frame] | None:
    """One table with all systems, or a table for each; tables of data sets become one with a column `dataset`."""
    if datasets is not None:
        return _joined(
            {str(name): frame_of(value, at_dataset(str(name))) for name, value in datasets.items()}
        )
    whole = frame_of(systems, "/systems")
    if whole is not None:
        return whole if whole.is_table else None
    if not isinstance(systems, Mapping):
        return None
    each = {str(name): frame_of(one, f"/systems/{escaped(name)}") for name, one in systems.items()}
    if not any(one and one.is_table and not one.repeats for one in each.values()):
        return None
    for name, one in each.items():
        if one is None or not one.is_table:
            detail = "Other systems are tables and this is a column: give a table or a column for each."
            raise InvalidData(detail, pointer=f"/systems/{escaped(name)}")
    return {name: one for name, one in each.items() if one is not None}


def _joined(tables: Mapping[str, Frame | None]) -> Frame | None:
    """Tables of several data sets below each other; None if one is not a table."""
    frames = {name: one for name, one in tables.items() if one is not None and one.is_table}
    if len(frames) < len(tables):
        return None
    with_index = not all(one.counts for one in frames.values())
    parts = {
        name: {**one.index, **one.columns} if with_index else one.columns for name, one in frames.items()
    }
    names = dict.fromkeys(column for part in parts.values() for column in part)
    columns: dict[str, Any] = {
        column: [
            value
            for name, part in parts.items()
            for value in (column_of(part[column]) if column in part else [None] * frames[name].n)
        ]
        for column in names
    }
    columns["dataset"] = [name for name, one in frames.items() for _ in range(one.n)]
    return Frame(columns, {}, True, False, None)


def _of_tables(tables: Frame | Mapping[str, Frame], gold: Any, options: CompareOptions) -> CompareRequest:
    """A comparison of tables as their files."""
    several = {FILE: tables} if isinstance(tables, Frame) else dict(tables)
    fields = files_and_fields(several, gold, options)
    made = {name: fields.pop(name) for name in several}
    return compare_files(made[FILE] if isinstance(tables, Frame) else made, **fields)


def compare_request(
    systems: Any,
    scores: Any = None,
    *,
    gold: Any = None,
    datasets: Mapping[str, Any] | None = None,
    **options: Unpack[CompareOptions],
) -> CompareRequest:
    """A finished request unchanged; else as `compare`."""
    if not isinstance(systems, CompareRequest):
        return compare(systems, scores, gold=gold, datasets=datasets, **options)
    if scores is not None or gold is not None or datasets is not None or options:
        raise TypeError(
            "A finished test or comparison has its data and options already: give them to compare(…) instead."
        )
    return systems


def compare_files(
    files: Mapping[str, FileLike] | Sequence[FileLike] | FileLike, /, **files_and_fields: Any
) -> CompareRequest:
    """Evaluation files of many systems: one file with all systems, or one each.

    `files` is {name: file}, a list of files whose names are the systems', or the one file: a path, bytes, (name,
    bytes), or an open file. In {name: …} also a folder, a pattern or a list of files, one for each task: tasks are then data sets. `gold`, `ref`, `qrels` and `documents` are files as well; every other keyword is a field
    of the form, `format` (default `auto`), `statistic` and the options of `compare` among them.
    """
    fields = dict(files_and_fields)
    if isinstance(files, Mapping):
        if "names" in fields:
            raise InvalidData("The files have names already: leave names out.", pointer="/names")
        by_system = {str(name): files_of(str(name), one) for name, one in files.items()}
        fields["names"] = [name for name, several in by_system.items() for _ in several]
        parts = [(SYSTEM, one) for several in by_system.values() for one in several]
    elif _is_file(files) or frame_of(files) is not None:
        parts = [(FILE, file_of(FILE, cast("FileLike", files)))]
    else:
        several = cast("Sequence[FileLike]", files)
        parts = [(SYSTEM, file_of(f"system{number}", one)) for number, one in enumerate(several, start=1)]
    others = [role for role in ROLES if role not in {"u", "v", FILE} and fields.get(role) is not None]
    parts += [(role, one) for role in others for one in files_of(role, fields[role])]
    options = _options({name: one for name, one in fields.items() if name not in ROLES})
    return CompareRequest("files", {}, options, tuple(parts))


def compare_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as fields of a form or parameters of a query: a statistic's members by their own names, None as null."""
    named = {name: options[name] for name in ("names", "systems") if name in options}
    others = {name: value for name, value in options.items() if name not in named}
    fields = {**form_fields(others), **{name: plain(value, f"/{name}") for name, value in named.items()}}
    return fields | ({"aggregate": "null"} if "aggregate" in options and options["aggregate"] is None else {})


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as members of a body; a baseline implies `compare`."""
    members = {name: value for name, value in options.items() if value is not None or name == "aggregate"}
    if "baseline" in members:
        members.setdefault("compare", "baseline")
    return {name: plain(value, f"/{name}") for name, value in members.items()}


def _is_file(value: Any) -> bool:
    if isinstance(value, tuple):
        return len(value) == 2 and isinstance(value[0], str) and isinstance(value[1], bytes)
    return isinstance(value, str | PathLike | bytes) or hasattr(value, "read")
