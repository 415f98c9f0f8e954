"""Requests as values: a test can be sent, planned, drawn, or put before a gate.

>>> test = scores([0.85, 0.90, 0.78], [0.80, 0.85, 0.75], alternative="greater")
>>> test.kind, test.body["alternative"]
('scores', 'greater')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypedDict, Unpack

from .data import WHOLE, as_multiples, beside, by_index, is_cells, plain, refuse_paths, table, with_nulls
from .errors import InvalidData
from .folders import Several, several
from .frames import Frame, frame_of, unit_of

Kind = Literal["effects", "scores", "counts", "predictions", "preferences", "files"]
Solve = Literal["power", "n", "effect", "floor", "false_alarm"]
Policy = Literal["no_regression", "non_inferior", "improve", "equivalent", "at_least", "not_below"]
FileLike = str | PathLike[str] | bytes | tuple[str, bytes] | BinaryIO
Statistic = str | Mapping[str, Any]
Names = tuple[str, str] | Mapping[str, str]

TARGETS = ("at_least", "not_below")
# Options with a value for each item, and the options that name such a column of a table.
COLUMN_OF = {
    "ids": "id",
    "clusters": "cluster",
    "weights": "weight",
    "groups": "group",
    "event": "event",
    "slices": "slice",
}
IN_A_BODY_ONLY = (*COLUMN_OF, "labels", "covariates", "correction")
CHOSEN_BY = {
    "ids": "id_column",
    "clusters": "clusters",
    "groups": "groups",
    "event": "event_column",
    "slices": "slices",
}
ROLES = ("u", "v", "file", "gold", "ref", "ref2", "ref3", "ref4", "qrels", "documents")


class CommonOptions(TypedDict, total=False):
    """The options of tests and comparisons: how to test, data about the items, and the columns of a table.

    `weights` (for scores) are the items' weights, in order or by id. `groups` and `event` are for statistics of pairs:
    only pairs within a group count; `event` marks the times of a concordance that are events.
    """

    statistic: Statistic
    alternative: Literal["two-sided", "greater", "less"]
    alpha: float
    confidence_level: float
    method: str
    exchange: Literal["items", "runs", "both"]
    samples: int
    seed: int
    precision: float
    timeout_s: float
    decimals: int
    ids: Any
    clusters: Any
    weights: Any
    groups: Any
    event: Any
    format: str
    id_column: str
    score_column: str
    system_column: str
    gold_column: str
    event_column: str
    metric: str
    q: float
    beta: float
    average: str
    positive: Any
    labels: Any
    interpolation: str
    zero_method: str
    repeats: str
    k: int
    unit: Any
    variant: str
    scheme: str


class Options(CommonOptions, total=False):
    """The options of every test; their meaning and defaults are in the OpenAPI document of the server."""

    test: Literal["permutation", "bootstrap"]
    significance: Literal["p", "mid_p"]
    slices: Any
    power: float
    sequential: Mapping[str, Any]
    on_missing: Literal["error", "drop", "bounds"]
    missing_range: Sequence[float]
    pmf: Literal["none", "summary", "full"]
    exact_fraction: bool
    names: Names
    system_u: str
    system_v: str
    label_column: str
    covariates: Mapping[str, Mapping[str, Any]] | str
    correction: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class TestRequest:
    """One test: columns and options for a JSON body or an array; or files and fields of a form."""

    __test__ = False

    kind: Kind
    columns: Mapping[str, Any] = field(repr=False)
    options: Mapping[str, Any]
    files: tuple[tuple[str, tuple[str, bytes]], ...] = field(default=(), repr=False)

    @property
    def body(self) -> dict[str, Any]:
        """As JSON."""
        if self.kind == "files":
            raise InvalidData(
                "Files and tables have no JSON form; give columns: scores(new['score'], old['score']), or {id: score}."
            )
        columns = {name: value for name, value in self.columns.items() if value is not None}
        if self.kind in {"scores", "predictions"} and self.options.get("on_missing", "error") != "error":
            columns = {name: with_nulls(value) for name, value in columns.items()}
        if self.kind in {"scores", "counts"} and self.columns.get("v", self) is None:
            columns.update(_apart(self.kind, columns.pop("u", None)))
        return {**{name: plain(value, f"/{name}") for name, value in columns.items()}, **self.options}


def _apart(kind: str, whole: Any) -> dict[str, Any]:
    """The columns of one array; or counts of items by outcome, unchanged."""
    if kind == "scores" and is_cells(whole):
        return dict(whole)
    array = table(kind, whole, None)
    assert array is not None
    if kind == "scores":
        return {"u": array[:, 0], "v": array[:, 1]}
    return {
        "u": {"tp": array[:, 0], "incorrect": array[:, 1]},
        "v": {"tp": array[:, 2], "incorrect": array[:, 3]},
    }


@dataclass(frozen=True, slots=True)
class GateRequest:
    """One or several metrics, and the terms of the gate."""

    metrics: tuple[Metric, ...]
    terms: Mapping[str, Any]


class Terms(TypedDict, total=False):
    """The terms for one metric; `margin` is in the units of the statistic.

    The policies at_least and not_below have a `threshold` and no baseline; and for scores that are not right or wrong their `range`.
    `against` has several baselines by name, each a column in place of the test's `v`, or each a file. `fail_if_any_slice`: any
    of the test's `slices` that became worse fails the gate.
    """

    policy: Policy
    margin: float
    higher_is_better: bool
    threshold: float
    range: Sequence[float]
    fail_if_any_slice: bool
    against: Mapping[str, Any] | Sequence[FileLike]


class GateTerms(Terms, total=False):
    """The terms of a gate. `metrics`, for files, are names of metrics, or form fields that differ by metric."""

    alpha: float
    on_inconclusive: Literal["pass", "fail"]
    metrics: Sequence[str | Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Metric:
    """One of several metrics of a gate; terms that are left out are the gate's."""

    name: str | None
    test: TestRequest
    terms: Mapping[str, Any] = field(default_factory=dict)


def metric(name: str, test: TestRequest, **terms: Unpack[Terms]) -> Metric:
    """A named test with its terms."""
    return Metric(name, test, dict(terms))


@dataclass(frozen=True, slots=True)
class PowerRequest:
    """A question about power: the members of its body, or the form fields for a pilot in files."""

    members: Mapping[str, Any]
    pilot: TestRequest | None = field(default=None, repr=False)

    @property
    def options(self) -> Mapping[str, Any]:
        """The members beside the design."""
        return self.members

    @property
    def body(self) -> dict[str, Any]:
        """As JSON."""
        if self.pilot is None:
            return dict(self.members)
        design = {"kind": "pilot", "request_kind": self.pilot.kind, "request": self.pilot.body}
        return {"design": design, **self.members}


def effects(stay: Any, swap: Any = None, **options: Unpack[Options]) -> TestRequest:
    """Each item's contribution as observed and with the systems exchanged (default: the negative).

    A textual `statistic` is an expression in the sums x1, x2, …
    """
    statistic = options.get("statistic")
    if isinstance(statistic, str):
        options["statistic"] = {"expression": statistic}
    return _request("effects", {"stay": stay, "swap": swap}, options)


def scores(u: Any, v: Any = None, **options: Unpack[Options]) -> TestRequest:
    """One number per item and system: two vectors, lists or {id: number}; one N x 2 array; or tables.

    Or the numbers of items that only U and only V get right: {"b": 30, "c": 22}, perhaps with a (both) and d (none).

    Columns of a pandas data frame are paired by their index. A table has both systems, or one each, and is read like
    its CSV; options such as `id_column`, `metric` or `system_u` name its columns.
    """
    return _request("scores", {"u": u, "v": v}, options)


def counts(u: Any, v: Any = None, **options: Unpack[Options]) -> TestRequest:
    """Named counts: {name: [one per item]}, [{name: count}] or {id: {name: count}}; or one N x 4 array."""
    return _request("counts", {"u": u, "v": v}, options)


def predictions(gold: Any, u: Any, v: Any = None, **options: Unpack[Options]) -> TestRequest:
    """The outputs of both systems and the gold standard: a label per item, a list of labels, or a text."""
    return _request("predictions", {"gold": gold, "u": u, "v": v}, options)


def preferences(
    battles: Any, u: str | None = None, v: str | None = None, **options: Unpack[Options]
) -> TestRequest:
    """Which of two models is preferred, by battles: [{"id": …, "model_a": …, "model_b": …, "winner": …}, …].

    Or a file or a table with these columns, read as the format votes. `u` and `v` name the models, and are needed where there are
    more than two.
    """
    if not isinstance(battles, list | tuple) or not all(isinstance(battle, Mapping) for battle in battles):
        return files(file=battles, format="votes", system_u=u, system_v=v, **options)
    return TestRequest("preferences", {"battles": battles, "u": u, "v": v}, _options(options))


def files(**files_and_fields: FileLike | Any) -> TestRequest:
    """A test of evaluation files.

    `u`, `v` (or `file` for both), `gold`, `ref`, `qrels` and `documents` are files: a path, bytes, (name, bytes), or an
    open file; except for `file` also a folder, a pattern such as "runs/a/*.jsonl", or a list, with a file for each
    task. Every other keyword is a field of the form: `format` is the files' format (default `auto`), and `statistic` a
    name, or {"name": …} with its parameters.
    """
    present = {name: one for name, one in files_and_fields.items() if one is not None}
    read = tuple((role, one) for role in ROLES if role in present for one in files_of(role, present[role]))
    fields = {name: one for name, one in present.items() if name not in ROLES}
    return TestRequest("files", {}, form_fields(fields), read)


def gate(test: TestRequest | Sequence[Metric], **terms: Unpack[GateTerms]) -> GateRequest:
    """A gate of a test or of several metrics:

    U is the candidate, V the baseline. With `against`, {name: column or file}, these are the baselines, and the
    test has only a candidate: `scores(u)`, `files(u=…)`.
    """
    metrics = (Metric(None, test),) if isinstance(test, TestRequest) else tuple(test)
    if not metrics:
        raise InvalidData("A gate needs at least one metric.", pointer="/metrics")
    if len(metrics) > 1 and any(one.test.kind == "files" for one in metrics):
        raise InvalidData(
            "Files and tables go before a gate once: gate(files(…), metrics=[{'statistic': 'upos'}, {'statistic': 'las'}])."
        )
    if "metrics" in terms and metrics[0].test.kind != "files":
        raise InvalidData("metrics= is for files; give a sequence of metric(name, test) instead.")
    metrics = tuple(_alone(one, terms) for one in metrics)
    if isinstance(test, TestRequest) and test.kind == "files":
        metrics, terms = (Metric(None, _candidate(test, terms)),), _with_files(terms)
    if terms.get("against") is not None and not isinstance(test, TestRequest):
        raise InvalidData(
            "Each metric has its own baselines: metric(name, test, against={…}).", pointer="/against"
        )
    return GateRequest(metrics, dict(terms))


def power(
    design: Mapping[str, Any] | TestRequest | None = None,
    solve: Solve | None = None,
    *,
    n: int | Sequence[int] | None = None,
    power: float | None = None,
    effect: float | None = None,
    alpha: float | None = None,
    alternative: str | None = None,
    comparisons: int | None = None,
    floor: float | None = None,
    runs_per_item: int | None = None,
    item_cost: float | None = None,
    timeout_s: float | None = None,
    **of_design: float,
) -> PowerRequest:
    """Find the true difference that a test detects, its power, or the number of items: the one in `solve`.

    Parameters
    ----------
    design
        {"kind": "binary", "p10": 0.08, "p01": 0.05}: items are right or wrong; or u, v and discordance or correlation.
        {"kind": "sd", "sd": 0.3}: a normal approximation. Or a pilot: a test made by `scores(…)`, `counts(…)` and so
        on. {"kind": "runs", "v": [[1, 0, 1], …]}: the right and wrong runs of each item of one system.
    solve
        "power", "n" or "effect"; of runs "floor" or "false_alarm".
    n, power, effect
        The known ones: numbers of items; the wanted power (0.8); the true difference in the statistic's units.
    alpha, alternative, comparisons
        As in the test; the comparisons share alpha.
    floor
        With false_alarm: the accuracy that is an alarm when a new run is below it.
    runs_per_item, item_cost
        Of a pilot with runs: the planned runs of each item; or what a new item costs, in runs of it, to find the best
        number of runs.
    of_design
        The numbers of a design in its place, as on the command line: p10 and p01; u, v and discordance or correlation;
        or sd.
    """
    if solve is None:
        raise TypeError(
            'Name the number to solve for: solve="power", "n" or "effect"; of runs "floor" or "false_alarm".'
        )
    if of_design:
        if design is not None:
            raise TypeError("Numbers were given beside the design: include them in it, or leave it out.")
        design = {"kind": "sd" if "sd" in of_design else "binary", **of_design}
    fields: dict[str, Any] = {
        "solve": solve,
        "n": list(n) if isinstance(n, Sequence) else n,
        "power": power,
        "effect": effect,
        "alpha": alpha,
        "alternative": alternative,
        "comparisons": comparisons,
        "floor": floor,
        "runs_per_item": runs_per_item,
        "item_cost": item_cost,
        "timeout_s": timeout_s,
    }
    members = {name: value for name, value in fields.items() if value is not None}
    if isinstance(design, TestRequest):
        return PowerRequest(members, design)
    if not isinstance(design, Mapping):
        raise InvalidData(
            "A design is an object such as {'kind': 'binary', 'p10': 0.08, 'p01': 0.05}, or a test."
        )
    return PowerRequest({"design": dict(design), **members})


def power_request(
    design: Mapping[str, Any] | TestRequest | PowerRequest | None,
    solve: Solve | None,
    others: Mapping[str, Any],
) -> PowerRequest:
    """A finished request, or one made from its parts; raises TypeError for a mixture."""
    if isinstance(design, PowerRequest):
        if solve is not None or others:
            raise TypeError("A finished question has its numbers already: give them to power(…) instead.")
        return design
    return power(design, solve, **others)


def _candidate(test: TestRequest, terms: GateTerms) -> TestRequest:
    """A test whose one table is the candidate, if the baselines are tables."""
    if not _are_tables(terms.get("against")):
        return test
    return replace(test, files=tuple(("u" if role == "file" else role, file) for role, file in test.files))


def _alone(one: Metric, terms: GateTerms) -> Metric:
    """A metric against a threshold: its one column is U, and no table of two systems."""
    if one.terms.get("policy", terms.get("policy")) not in TARGETS:
        return one
    columns = {name: column for name, column in one.test.columns.items() if column is not None}
    return replace(one, test=replace(one.test, columns=columns))


def _with_files(terms: GateTerms) -> GateTerms:
    """The terms with tables among the baselines as files."""
    against = terms.get("against")
    if not isinstance(against, Mapping) or not _are_tables(against):
        return terms
    frames = {str(name): frame_of(one, f"/against/{name}") for name, one in against.items()}
    with_index = not all(frame is None or frame.counts for frame in frames.values())
    made = {
        name: against[name] if one is None else one.file(name, with_index=with_index)
        for name, one in frames.items()
    }
    return {**terms, "against": made}


def _are_tables(against: Any) -> bool:
    return isinstance(against, Mapping) and any(frame_of(one) is not None for one in against.values())


def _request(kind: Kind, columns: Mapping[str, Any], options: Options) -> TestRequest:
    """A test of tables, as files; or of columns, paired by their indexes if any."""
    for name, column in columns.items():
        if name != "gold":
            refuse_paths(column, f"/{name}")
    tables = {name: frame_of(column, f"/{name}") for name, column in columns.items()}
    alone = tables.get("u") if columns.get("v") is None else None
    if alone is not None and (of_both := _of_both(kind, alone)) is not None:
        columns = {**columns, **of_both}
    elif _has_table(kind, tables):
        return _of_tables(columns, tables, options)
    else:
        columns = {
            name: column if (one := tables[name]) is None else one.as_columns(counts=kind == "counts")
            for name, column in columns.items()
        }
    unit = None
    if kind == "scores":
        columns, unit = as_multiples(columns, options.get("unit"))
    paired, beside = by_index(kind, columns, options if unit is None else {**options, "unit": unit})
    return TestRequest(kind, paired, _options(beside))


def _of_both(kind: Kind, table: Frame) -> dict[str, Any] | None:
    """The columns of both systems in one table with the usual names and only numbers; else None."""
    names = WHOLE.get(kind, ())
    if set(table.columns) != set(names) or not table.is_numeric:
        return None
    if kind == "scores":
        return dict(table.columns)
    sides = {
        role: {name.removesuffix(f"_{role}"): table.columns[name] for name in names if name.endswith(role)}
        for role in "uv"
    }
    return dict(sides)


def _has_table(kind: Kind, tables: Mapping[str, Frame | None]) -> bool:
    """Whether it is a table of several columns that are not runs of one metric or counts of one system."""
    named = [one for one in tables.values() if one is not None and one.is_table]
    if kind == "effects" or not named or (kind == "counts" and tables["v"] is not None):
        return False
    return tables["v"] is None or not all(one.repeats for one in named)


def _of_tables(
    columns: Mapping[str, Any], tables: Mapping[str, Frame | None], options: Options
) -> TestRequest:
    """A test of tables as their files."""
    for name in ("u", "v"):
        if columns[name] is not None and tables[name] is None:
            detail = "One system is a table and this is a column: give two tables, or two columns."
            raise InvalidData(detail, pointer=f"/{name}")
    frames = {name: one for name, one in tables.items() if one is not None}
    if columns["v"] is None:
        frames["file"] = frames.pop("u")
    else:
        frames |= {name: frames[name].folded() for name in ("u", "v")}
    return files(**files_and_fields(frames, columns.get("gold"), options))


def files_and_fields(frames: Mapping[str, Frame], gold: Any, options: Mapping[str, Any]) -> dict[str, Any]:
    """Tables by role as files, and options as fields; gold and values beside one table become its columns.

    Raises
    ------
        InvalidData: values beside several tables cannot be columns.
    """
    fields, whole = dict(options), dict(frames)
    for name in ("labels", "covariates"):
        if isinstance(fields.get(name), Mapping):
            option = {"labels": "label_column"}.get(name, name)
            raise InvalidData(f"With a table, name its columns: {option}='…'.", pointer=f"/{name}")
    columns = {name: fields.pop(name) for name in COLUMN_OF if fields.get(name) is not None}
    if isinstance(gold, str):
        fields["gold_column"] = gold
    elif gold is not None and len(frames) == 1 and frame_of(gold) is None:
        columns["gold"] = gold
    elif gold is not None:
        whole["gold"] = frame_of(gold) or Frame.of_column("gold", gold)
    for name, value in columns.items():
        column = COLUMN_OF.get(name, name)
        if isinstance(value, str) and name in CHOSEN_BY:
            fields[CHOSEN_BY[name]] = value
        elif isinstance(value, str):
            whole = {role: one.renamed(value, column, f"/{name}") for role, one in whole.items()}
        elif len(frames) > 1:
            detail = f"With several tables, name a column that all have: {name}='…'."
            raise InvalidData(detail, pointer=f"/{name}")
        else:
            role = next(iter(frames))
            whole[role] = whole[role].with_column(column, value, f"/{name}")
            fields |= {"slices": column} if name == "slices" else {}
    unit = unit_of(whole.values())
    if unit is not None:
        fields.setdefault("unit", unit)
    with_index = not all(one.counts for one in whole.values())
    return {**{name: one.file(name, with_index=with_index) for name, one in whole.items()}, **fields}


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as members of a body."""
    members: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    if "names" in members:
        members["names"] = _both_names(members["names"])
    if isinstance(members.get("labels"), Mapping):
        members["labels"] = {side: beside(column) for side, column in members["labels"].items()}
    if isinstance(members.get("covariates"), Mapping):
        members["covariates"] = {
            name: {side: beside(column) for side, column in both.items()}
            for name, both in members["covariates"].items()
        }
    return {name: plain(value, f"/{name}") for name, value in members.items()}


def _both_names(names: Any) -> Mapping[str, Any]:
    """The names of the two systems by role."""
    if isinstance(names, Mapping):
        return names
    if isinstance(names, str) or len(names) != 2:
        raise InvalidData("Give the names of both systems: names=('new', 'old').", pointer="/names")
    return {"u": names[0], "v": names[1]}


def form_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as form fields or query parameters, which have no objects: members by their names."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name == "statistic" and isinstance(value, Mapping):
            flat.update({"statistic" if key == "name" else key: one for key, one in value.items()})
        elif name == "names":
            flat.update({f"name_{key}": one for key, one in _both_names(value).items()})
        elif name == "correction" and isinstance(value, Mapping):
            flat[name] = value.get("lambda")
        else:
            flat[name] = value
    return {name: plain(value, f"/options/{name}") for name, value in flat.items()}


def files_of(role: str, file: FileLike | list[FileLike] | Several) -> list[tuple[str, bytes]]:
    """The names and the bytes of one file or of several: a folder, a pattern, or a list of files."""
    if isinstance(file, Several):
        return list(file.files)
    if isinstance(file, str | PathLike) and (listed := several(file)) is not None:
        return list(listed.files)
    if isinstance(file, list) and not (file and isinstance(file[0], Mapping)):
        return [file_of(f"{role}{number}", one) for number, one in enumerate(file, start=1)]
    return [file_of(role, file)]


def file_of(role: str, file: FileLike) -> tuple[str, bytes]:
    """The name and the bytes of a file, or of a table as one."""
    if (table := frame_of(file, f"/{role}")) is not None:
        return table.file(role, with_index=not table.counts)
    if isinstance(file, bytes):
        return role, file
    if isinstance(file, tuple):
        return file
    if isinstance(file, str | PathLike):
        path = Path(file)
        return path.name, path.read_bytes()
    return Path(str(getattr(file, "name", role))).name, file.read()
