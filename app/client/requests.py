"""Requests as values: one test can be sent, planned, drawn or decided by a gate.

>>> test = scores([0.85, 0.90, 0.78], [0.80, 0.85, 0.75], alternative="greater")
>>> test.kind, test.body["alternative"]
('scores', 'greater')
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from pathlib import Path
from typing import Any, BinaryIO, Literal, TypedDict, Unpack

from .data import plain, table
from .errors import InvalidData
from .folders import Several, several
from .indexed import by_index

Kind = Literal["effects", "scores", "counts", "predictions", "files"]
Policy = Literal["no_regression", "non_inferior", "improve", "equivalent"]
FileLike = str | PathLike[str] | bytes | tuple[str, bytes] | BinaryIO
Statistic = str | Mapping[str, Any]
Names = tuple[str, str] | Mapping[str, str]

IN_A_BODY_ONLY = ("ids", "clusters", "labels", "weights", "groups", "event")
ROLES = ("u", "v", "file", "gold", "ref", "ref2", "ref3", "ref4", "qrels", "documents")


class Options(TypedDict, total=False):
    """The options of every test; their meaning and defaults are in the OpenAPI document of the server.

    `weights` is of scores alone: what each item counts for, in the order of the items, or by id. `groups` and `event` are
    of statistics of pairs: only pairs of one group count, and which times of a concordance are those of events.
    """

    statistic: Statistic
    alternative: Literal["two-sided", "greater", "less"]
    method: str
    test: Literal["permutation", "bootstrap"]
    samples: int
    seed: int
    precision: float
    alpha: float
    significance: Literal["p", "mid_p"]
    confidence_level: float
    power: float
    sequential: Mapping[str, Any]
    ids: Any
    clusters: Any
    weights: Any
    groups: Any
    event: Any
    on_missing: Literal["error", "drop", "bounds"]
    missing_range: Sequence[float]
    pmf: Literal["none", "summary", "full"]
    exact_fraction: bool
    names: Names
    timeout_s: float
    decimals: int


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
            raise InvalidData("Files have no JSON form; give scores, counts or predictions instead.")
        given = {name: value for name, value in self.columns.items() if value is not None}
        if self.kind in {"scores", "counts"} and self.columns["v"] is None:
            given.update(_apart(self.kind, self.columns["u"]))
        return {**{name: plain(value, f"/{name}") for name, value in given.items()}, **self.options}


def _apart(kind: str, whole: Any) -> dict[str, Any]:
    """The columns of one array."""
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

    `against` has several baselines by name, each a column as `v` of the test, which then has none; or each a file.
    """

    policy: Policy
    margin: float
    higher_is_better: bool
    against: Mapping[str, Any] | Sequence[FileLike]


class GateTerms(Terms, total=False):
    """The terms of a gate. `metrics`, for files, are the fields of the form that differ by metric."""

    alpha: float
    on_inconclusive: Literal["pass", "fail"]
    fail_status: int
    metrics: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Metric:
    """One of several metrics of a gate; terms that are left out are the gate's."""

    name: str | None
    test: TestRequest
    terms: Mapping[str, Any] = field(default_factory=dict)


def metric(name: str, test: TestRequest, **terms: Unpack[Terms]) -> Metric:
    """A test under a name, with terms of its own."""
    return Metric(name, test, dict(terms))


def effects(stay: Any, swap: Any = None, **options: Unpack[Options]) -> TestRequest:
    """The contribution of each item as observed, and with the systems exchanged (its negative when left out).

    A `statistic` that is a text is an expression over the sums x1, x2, …
    """
    statistic = options.get("statistic")
    if isinstance(statistic, str):
        options["statistic"] = {"expression": statistic}
    return _request("effects", {"stay": stay, "swap": swap}, options)


def scores(u: Any, v: Any = None, **options: Unpack[Options]) -> TestRequest:
    """One number per item and system: two vectors, lists or {id: number}; or one N x 2 array.

    Columns of a pandas data frame are paired by their index.
    """
    return _request("scores", {"u": u, "v": v}, options)


def counts(u: Any, v: Any = None, **options: Unpack[Options]) -> TestRequest:
    """Named counts: {name: [one per item]}, [{name: count}] or {id: {name: count}}; or one N x 4 array."""
    return _request("counts", {"u": u, "v": v}, options)


def predictions(gold: Any, u: Any, v: Any = None, **options: Unpack[Options]) -> TestRequest:
    """The outputs of both systems and the gold standard: a label per item, a list of labels, or a text."""
    return _request("predictions", {"gold": gold, "u": u, "v": v}, options)


def files(**files_and_fields: FileLike | Any) -> TestRequest:
    """Evaluation files, and how to read and test them.

    `u`, `v` (or `file` for both), `gold`, `ref`, `qrels` and `documents` are files: a path, bytes, (name, bytes), or
    an open file; but for `file` also a folder, a pattern such as "runs/a/*.jsonl", or a list, with a file for each task. Every other keyword is a field of the form: `format` is that of the files (default `auto`), and
    `statistic` a name, or {"name": …} with its parameters.
    """
    given = {name: one for name, one in files_and_fields.items() if one is not None}
    read = tuple((role, one) for role in ROLES if role in given for one in files_of(role, given[role]))
    fields = {name: one for name, one in given.items() if name not in ROLES}
    return TestRequest("files", {}, form_fields(fields), read)


def gate(test: TestRequest | Sequence[Metric], **terms: Unpack[GateTerms]) -> GateRequest:
    """A test, or several metrics, before a gate: U is the candidate, V the baseline.

    With `against`, {name: column or file}, the baselines are these, and the test has none: `scores(u)`, `files(u=…)`.
    """
    metrics = (Metric(None, test),) if isinstance(test, TestRequest) else tuple(test)
    if not metrics:
        raise InvalidData("A gate needs at least one metric.", pointer="/metrics")
    if len(metrics) > 1 and any(one.test.kind == "files" for one in metrics):
        raise InvalidData(
            "Files go before a gate once: gate(files(…), metrics=[{'statistic': 'upos'}, {'statistic': 'las'}])."
        )
    if "metrics" in terms and metrics[0].test.kind != "files":
        raise InvalidData("metrics= is for files; give a sequence of metric(name, test) instead.")
    if terms.get("against") is not None and not isinstance(test, TestRequest):
        raise InvalidData(
            "Each metric has its own baselines: metric(name, test, against={…}).", pointer="/against"
        )
    return GateRequest(metrics, dict(terms))


def _request(kind: Kind, columns: Mapping[str, Any], options: Options) -> TestRequest:
    """A test of columns, paired by their indexes where they have any."""
    paired, beside = by_index(kind, columns, options)
    return TestRequest(kind, paired, _options(beside))


def _options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as members of a body; a statistic that is only a name becomes an object."""
    members: dict[str, Any] = {name: value for name, value in options.items() if value is not None}
    statistic = members.get("statistic")
    if isinstance(statistic, str):
        members["statistic"] = {"name": statistic}
    if "names" in members and not isinstance(members["names"], Mapping):
        members["names"] = dict(zip(("u", "v"), members["names"], strict=True))
    return {name: plain(value, f"/{name}") for name, value in members.items()}


def form_fields(options: Mapping[str, Any]) -> dict[str, Any]:
    """Options as fields of a form or parameters of a query, which have no objects: members by their own names."""
    flat: dict[str, Any] = {}
    for name, value in options.items():
        if value is None:
            continue
        if name == "statistic" and isinstance(value, Mapping):
            flat.update({"statistic" if key == "name" else key: one for key, one in value.items()})
        elif name == "names":
            both = value if isinstance(value, Mapping) else dict(zip(("u", "v"), value, strict=True))
            flat.update({f"name_{key}": one for key, one in both.items()})
        else:
            flat[name] = value
    return {name: plain(value, f"/options/{name}") for name, value in flat.items()}


def files_of(role: str, given: FileLike | list[FileLike] | Several) -> list[tuple[str, bytes]]:
    """The names and the bytes of one file or of several: a folder, a pattern, or a list of files."""
    if isinstance(given, Several):
        return list(given.files)
    if isinstance(given, str | PathLike) and (found := several(given)) is not None:
        return list(found.files)
    if isinstance(given, list):
        return [file_of(f"{role}{number}", one) for number, one in enumerate(given, start=1)]
    return [file_of(role, given)]


def file_of(role: str, given: FileLike) -> tuple[str, bytes]:
    """The name and the bytes of a file."""
    if isinstance(given, bytes):
        return role, given
    if isinstance(given, tuple):
        return given
    if isinstance(given, str | PathLike):
        path = Path(given)
        return path.name, path.read_bytes()
    return Path(str(getattr(given, "name", role))).name, given.read()
