"""Command line arguments to requests: files in their roles, and fields of a form.

Also reads files of the paper's authors (rycolab/paired-perm-test, run.py), by `--metric acc|F1`. Their files have no
header: two columns of whole numbers (correct of each system, by item), or four (true positives and incorrect of each,
F1 = tp / (tp + incorrect / 2), 0 where there are none). Their p-value is P(|t| >= |observed t|), like our two-sided one. The
programs differ:

* theirs deletes outcomes of probability below 1e-8 (acc) or 1e-6 (F1) on the way, so that a small p-value becomes 0 and
  that of F1 loses weight from about 20 items on; ours deletes nothing;
* theirs compares differences of F1 as doubles, so that equal ones can differ in the last bit; ours counts ties exactly;
* with K samples theirs is b / K, which may be 0 and changes with every run; ours is (b + 1) / (K + 1) of samples that a
  seed fixes, with a 99 % interval around it;
* theirs fails where no item differs (acc); there p is 1.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path, PurePath
from typing import Any

import click

from ..client.compare_requests import CompareRequest, compare_files
from ..client.data import escaped
from ..client.errors import InvalidData
from ..client.folders import Several, several
from ..client.requests import PowerRequest, files as files_of
from ..inputs.formats.roles import ROLES
from ..inputs.formats.tasks import by_folders, stem
from ..inputs.number_text import is_tiny
from .options import NUMBERS
from .output import Refused

STDIN = "-"
PREFIX = "field_"
AGAINST = "against/"  # precedes the number of a baseline's file, as in pointers
REFERENCES = ("ref", "ref2", "ref3", "ref4")
# A gate's exit status follows from the HTTP status, which a form must not change.
RESERVED_FIELDS = frozenset({"fail_status"})
STATISTICS = {"acc": ("sum_difference", 2), "f1": ("f1", 4)}
COLUMNS = {2: "correct_u,correct_v", 4: "tp_u,incorrect_u,tp_v,incorrect_v"}


@dataclass(frozen=True, slots=True)
class Form:
    """Files by role (several for some roles), their paths, fields by name, and the files of several baselines."""

    files: Mapping[str, Any]
    paths: Mapping[str, str]
    fields: Mapping[str, Any]
    against: tuple[tuple[str, bytes], ...] = ()


# Tests and gates


def form_of(parameters: Mapping[str, Any]) -> Form:
    """Read the files and gather the fields; raises Refused or UsageError."""
    paths = paths_of(parameters)
    require_single_stdin(paths.values())
    files = {role: read_all(path) for role, path in paths.items() if not role.startswith(AGAINST)}
    against = tuple(read(path) for role, path in paths.items() if role.startswith(AGAINST))
    fields = fields_of(parameters)
    if parameters["names"]:
        fields["name_u"], fields["name_v"] = parameters["names"]
    if parameters.get("metrics"):
        fields["metrics"] = metrics_of(parameters["metrics"])
    fields = with_options(parameters["option"], fields, ROLES)
    if parameters.get("baseline_runs"):
        fields = _of_baseline_runs(files, fields)
    if set(files) == {"file"}:
        file = files["file"]
        if isinstance(file, Several):
            raise click.UsageError(
                "One path has several files: give two folders or patterns, U first, then V."
            )
        fields = as_the_authors(fields, file[1], paths["file"])
    return Form(files, paths, fields, against)


def paths_of(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The files by role."""
    named, against, runs = (
        list(parameters["paths"]),
        parameters.get("against", ()),
        parameters.get("baseline_runs"),
    )
    if runs:
        if against or len(named) != 1:
            raise click.UsageError(
                "With --baseline-runs, give one file, the candidate's, and no --against. Quote a pattern: --baseline-runs 'runs/*.jsonl'."
            )
        named.append(runs)
    if against and len(named) != 1:
        raise click.UsageError(
            "With --against, give one file: the candidate's. Every baseline is an --against."
        )
    if against and parameters["names"]:
        raise click.UsageError(
            "With --against, name the candidate by -O name_u=, the baselines by -O names=A,B."
        )
    if len(named) > 2:
        raise click.UsageError(
            "Give one file with both systems, or two files, folders or quoted patterns such as "
            f"'runs/a/*.jsonl' (U first, then V); {len(named)} were given. The gold standard is --gold, "
            "references are --ref."
        )
    paths = {"file": named[0]} if len(named) == 1 else {"u": named[0], "v": named[1]}
    if against:
        paths = {"u": named[0], **{f"{AGAINST}{index}": path for index, path in enumerate(against)}}
    return paths | beside(parameters)


def _of_baseline_runs(files: Mapping[str, Any], fields: Mapping[str, Any]) -> dict[str, Any]:
    """The fields of a gate against several runs of its baseline, which are exchanged; raises UsageError."""
    if isinstance(files["u"], Several) or not isinstance(files["v"], Several) or len(files["v"].files) < 2:
        raise click.UsageError(
            "--baseline-runs compares one candidate's file with at least two files, each a run of the baseline. A file with several runs "
            "of its items is the second of FILES: --exchange runs."
        )
    if fields.get("exchange", "runs") != "runs":
        raise click.UsageError("--baseline-runs exchanges runs: leave --exchange out.")
    return {**fields, "exchange": "runs"}


def beside(parameters: Mapping[str, Any]) -> dict[str, str]:
    """The other files, by role."""
    if len(parameters["ref"]) > len(REFERENCES):
        raise click.UsageError(f"Give at most {len(REFERENCES)} references.")
    others = {
        role: parameters[role] for role in ("gold", "qrels", "documents") if parameters[role] is not None
    }
    return {**dict(zip(REFERENCES, parameters["ref"], strict=False)), **others}


def require_single_stdin(paths: Iterable[str]) -> None:
    """Refuse to read standard input twice."""
    if list(paths).count(STDIN) > 1:
        raise click.UsageError("Standard input can be only one of the files.")


def read(path: str) -> tuple[str, bytes]:
    """The name and the bytes of a file; raises Refused when it cannot be read."""
    if path == STDIN:
        return "stdin", sys.stdin.buffer.read()
    try:
        if Path(path).is_dir():
            raise Refused(f"{path} is a folder: one file is needed here.")
        return Path(path).name, Path(path).read_bytes()
    except OSError as error:
        raise Refused(f"{path} cannot be read: {error.strerror}.") from None


def read_all(path: str) -> tuple[str, bytes] | Several:
    """A file, or the files of a folder or a pattern; reports skipped ones. Raises Refused."""
    if path == STDIN:
        return read(path)
    try:
        files = several(path)
    except InvalidData as error:
        raise Refused(error.detail) from None
    if files is None:
        return read(path)
    if files.left_out:
        more = f" and {len(files.left_out) - 3:,} more" if len(files.left_out) > 3 else ""
        click.echo(
            (
                f"exactperm: reads {len(files.files):,} files of {path}; skips "
                f"{', '.join(files.left_out[:3])}{more}."
            ),
            err=True,
        )
    return files


def fields_of(parameters: Mapping[str, Any]) -> dict[str, Any]:
    """The fields that have options, by name."""
    fields = {
        name.removeprefix(PREFIX): value
        for name, value in parameters.items()
        if name.startswith(PREFIX) and value is not None
    }
    if parameters.get("higher_is_better") is not None:
        fields["higher_is_better"] = parameters["higher_is_better"]
    return fields


def with_options(texts: Iterable[str], others: Mapping[str, Any], roles: Collection[str]) -> dict[str, Any]:
    """The fields, with those of `--option NAME=VALUE`; raises BadParameter for repeated fields and files."""
    fields = dict(others)
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            wrong = f"{text!r} is not NAME=VALUE."
        elif name in RESERVED_FIELDS:
            wrong = f"{name} cannot be set here: the exit status says whether a gate failed."
        elif name in roles or name == "against":
            wrong = f"{name} is a file: give it as one."
        elif name in fields:
            wrong = f"{name} is given twice."
        else:
            fields[name] = value
            continue
        raise click.BadParameter(wrong, param_hint="--option")
    return fields


def metrics_of(text: str) -> Any:
    """`--metrics`: names separated by commas, a JSON list of fields, or @FILE with a list."""
    if text.startswith("@"):
        text = read(text[1:])[1].decode("utf-8", "replace")
    if text.lstrip()[:1] in {"[", "{"}:
        try:
            return json.loads(text)
        except ValueError as error:
            raise click.BadParameter(f"This is not JSON: {error}.", param_hint="--metrics") from None
    return text


def as_the_authors(fields: dict[str, Any], content: bytes, path: str) -> dict[str, Any]:
    """The fields of a test, with a statistic for the metric of rycolab/paired-perm-test; `content` is that of the one file.

    `--metric acc` is theirs only with a file like theirs, since lm-evaluation-harness has a metric of that name.

    Raises
    ------
        UsageError: there is a statistic as well, or the file does not have the columns of the metric.
    """
    metric = str(fields.get("metric", "")).lower()
    width = _width(content)
    if metric not in STATISTICS or width is None:
        return fields
    statistic, needed = STATISTICS[metric]
    if "statistic" in fields:
        raise click.UsageError(
            f"--metric {fields['metric']} and --statistic set the same option; give one of them."
        )
    if width != needed:
        raise click.UsageError(
            f"The metric {fields['metric']} needs {needed} columns, {COLUMNS[needed]}; line 1 of {path} has {width}."
        )
    return {name: value for name, value in fields.items() if name != "metric"} | {"statistic": statistic}


def _width(content: bytes) -> int | None:
    """The number of integers in the first line; None if it has anything else."""
    line = content[:10_000].decode("utf-8", "replace").lstrip("\ufeff\r\n").partition("\n")[0]
    values = [value.strip() for value in line.split("\t" if "\t" in line else ",")]
    whole = all(value.isascii() and value.isdigit() for value in values)
    return len(values) if whole and len(values) > 1 else None


# Comparisons


def compare_form(parameters: Mapping[str, Any]) -> tuple[CompareRequest, Form]:
    """The systems' files, other files, and fields; raises Refused or UsageError."""
    paths, others = list(parameters["paths"]), beside(parameters)
    require_single_stdin([*paths, *others.values()])
    systems: list[Any] = [read_all(path) for path in paths]
    fields = fields_of(parameters)
    if parameters.get("pair"):
        if "compare" in fields:
            raise click.UsageError("--pair and --compare set the same option; give one of them.")
        fields["compare"] = [list(pair) for pair in parameters["pair"]]
    fields = with_options(parameters["option"], fields, {*ROLES, "system"})
    fields_and_files: dict[str, Any] = {**{role: read_all(path) for role, path in others.items()}, **fields}
    if any(isinstance(system, Several) for system in systems):
        names = _names_of_tasks(paths, fields_and_files.pop("names", None))
        request = compare_files(dict(zip(names, systems, strict=True)), **fields_and_files)
        by_system = {escaped(name): path for name, path in zip(names, paths, strict=True)}
        return request, Form({}, {**others, **by_system}, fields)
    called = [system[0] for system in systems if isinstance(system, tuple)]
    if len(paths) > 1 and "names" not in fields:
        names_by_folder = _names_by_folder(paths, called)
        if names_by_folder is not None:
            fields["names"] = fields_and_files["names"] = names_by_folder
    request = compare_files(systems if len(systems) > 1 else systems[0], **fields_and_files)
    return request, Form({}, {**others, **_by_system(paths, called, fields.get("names"))}, fields)


def _names_of_tasks(paths: Sequence[str], names_given: Any) -> list[str]:
    """The names of systems with a file for each task; by default those of the folders or patterns."""
    names = _listed(names_given)
    if isinstance(names_given, str) and names_given.startswith("["):
        names = json.loads(names_given)
    if names is None:
        names = by_folders([[*PurePath(path).parts[:-1], stem(PurePath(path).name)] for path in paths])
    if names is None or len(names) != len(paths) or len(set(names)) < len(names):
        raise click.UsageError(f"Give the {len(paths)} systems distinct names: -O names=A,B.")
    if len(paths) < 2:
        raise click.UsageError(
            f"{paths[0]} has several files: give such a folder or pattern for each system."
        )
    return names


def _listed(names: Any) -> list[str] | None:
    """Names in a list or separated by commas; None for JSON and for nothing."""
    if isinstance(names, str) and not names.startswith("["):
        return [name.strip() for name in names.split(",")]
    return names if isinstance(names, list) else None


def _names_by_folder(paths: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Names for files of the same name, by the folders that differ; None if the stems differ.

    >>> _names_by_folder(["runs/a/out.jsonl", "runs/b/out.jsonl"], ["out.jsonl", "out.jsonl"])
    ['a', 'b']
    """
    stems = [stem(name) for name in names]
    if len(set(stems)) == len(stems) or len(set(paths)) < len(paths) or STDIN in paths:
        return None
    return by_folders([[*PurePath(path).parts[:-1], stem] for path, stem in zip(paths, stems, strict=True)])


def _by_system(paths: Sequence[str], files: Sequence[str], names: Any) -> dict[str, str]:
    """The files by the names that errors give their systems."""
    if len(paths) == 1:
        return {"file": paths[0]}
    called = _listed(names)
    if called is None or len(called) != len(paths):
        called = [stem(name) for name in files]
    return {escaped(name): path for name, path in zip(called, paths, strict=True)}


# Power


def power_request(parameters: Mapping[str, Any]) -> tuple[PowerRequest, Form]:
    """The request, and the form it was made from; raises UsageError."""
    members: dict[str, Any] = {"solve": parameters["solve"]}
    for name in ("power", "effect", "alpha", "item_cost", "floor"):
        if parameters[name] is not None:
            members[name] = _number(parameters[name], f"--{name.replace('_', '-')}")
    if parameters["n"] is not None:
        numbers = [_whole(text, "-n") for text in parameters["n"].split(",")]
        members["n"] = numbers if len(numbers) > 1 else numbers[0]
    for name in ("comparisons", "runs_per_item"):
        if parameters[name] is not None:
            members[name] = _whole(parameters[name], f"--{name.replace('_', '-')}")
    if parameters["alternative"] is not None:
        members["alternative"] = parameters["alternative"]
    design = {
        name: _number(parameters[name], f"--{name}")
        for name in (*NUMBERS, "sd")
        if parameters[name] is not None
    }
    if parameters["runs"] is not None:
        if parameters["paths"] or design:
            raise click.UsageError(
                "--runs has the files of one system's runs: give nothing else of a design."
            )
        files, fields = (
            {"v": read_all(parameters["runs"])},
            with_options(parameters["option"], fields_of(parameters), ROLES),
        )
        return PowerRequest(members, files_of(**files, **fields)), Form(
            files, {"v": parameters["runs"]}, fields
        )
    if parameters["paths"] and design:
        raise click.UsageError("Give the files of a pilot, or numbers such as --p10 and --p01, not both.")
    if not parameters["paths"]:
        if not design:
            raise click.UsageError(
                "Give the known quantities: --p10 and --p01; --u, --v and --discordance; --sd; or the files of a pilot."
            )
        kind = "sd" if set(design) == {"sd"} else "binary"
        return PowerRequest({"design": {"kind": kind, **design}, **members}), Form({}, {}, {})
    form = form_of(parameters)
    return PowerRequest(members, files_of(**form.files, **form.fields)), form


def _number(text: str, option: str) -> float | str:
    """A number; `observed` passes through, to be refused with its reason."""
    if text == "observed":
        return text
    try:
        value = float(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a number.", param_hint=option) from None
    if not math.isfinite(value):
        raise click.BadParameter(f"{text!r} is not a finite number, or larger than any.", param_hint=option)
    if is_tiny(text):
        raise click.BadParameter(f"{text!r} is smaller than any double.", param_hint=option)
    return value


def _whole(text: str, option: str) -> int:
    try:
        return int(text)
    except ValueError:
        raise click.BadParameter(f"{text!r} is not a whole number.", param_hint=option) from None
