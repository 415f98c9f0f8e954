"""Command line arguments of `compare` to a request: the systems' files, those beside them, and fields."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import click

from ..client.compare_requests import CompareRequest, compare_files
from ..client.data import escaped
from ..client.folders import Several
from ..inputs.formats.roles import ROLES
from ..inputs.formats.tasks import by_folders, stem
from .arguments import PREFIX, REFERENCES, STDIN, Form, options_given, read_all


def compare_form(given: Mapping[str, Any]) -> tuple[CompareRequest, Form]:
    """Read the files; raises Refused or UsageError."""
    paths = list(given["paths"])
    beside = {role: given[role] for role in ("gold", "qrels", "documents") if given[role] is not None}
    if len(given["ref"]) > len(REFERENCES):
        raise click.UsageError(f"At most {len(REFERENCES)} references are read.")
    beside.update(zip(REFERENCES, given["ref"], strict=False))
    if [*paths, *beside.values()].count(STDIN) > 1:
        raise click.UsageError("Only one file can be standard input.")
    systems = [read_all(path) for path in paths]
    fields = _fields(given)
    others = {role: read_all(path) for role, path in beside.items()}
    if any(isinstance(system, Several) for system in systems):
        return _of_tasks(paths, systems, others, fields, beside)
    called = [system[0] for system in systems if isinstance(system, tuple)]
    if len(paths) > 1 and "names" not in fields:
        names = _names_by_folder(paths, called)
        if names is not None:
            fields["names"] = names
    request = compare_files(systems if len(systems) > 1 else systems[0], **others, **fields)  # type: ignore[arg-type]
    return request, Form({}, {**beside, **_by_system(paths, called, fields.get("names"))}, fields)


def _of_tasks(
    paths: Sequence[str],
    systems: Sequence[tuple[str, bytes] | Several],
    others: Mapping[str, Any],
    fields: dict[str, Any],
    beside: Mapping[str, str],
) -> tuple[CompareRequest, Form]:
    """Systems with a file for each task: folders, or patterns, named after themselves unless `names` has their names."""
    names = fields.pop("names", None)
    if isinstance(names, str):
        names = (
            [name.strip() for name in names.split(",")] if not names.startswith("[") else json.loads(names)
        )
    if names is None:
        tails = [[*PurePath(path).parts[:-1], stem(PurePath(path).name)] for path in paths]
        names = by_folders(tails)
    if names is None or len(names) != len(paths) or len(set(names)) < len(names):
        raise click.UsageError(f"Name the {len(paths)} systems, each by a name of its own: -O names=A,B.")
    if len(paths) < 2:
        raise click.UsageError(
            f"{paths[0]} has several files: give such a folder or pattern for each system."
        )
    request = compare_files(dict(zip(names, systems, strict=True)), **others, **fields)  # type: ignore[arg-type]
    by_system = {escaped(name): path for name, path in zip(names, paths, strict=True)}
    return request, Form({}, {**beside, **by_system}, fields)


def _fields(given: Mapping[str, Any]) -> dict[str, Any]:
    fields = {
        name.removeprefix(PREFIX): value
        for name, value in given.items()
        if name.startswith(PREFIX) and value is not None
    }
    if given["pair"]:
        if "compare" in fields:
            raise click.UsageError("--pair and --compare say the same thing; give one of them.")
        fields["compare"] = [list(pair) for pair in given["pair"]]
    if given["higher_is_better"] is not None:
        fields["higher_is_better"] = given["higher_is_better"]
    return options_given(given["option"], fields, {*ROLES, "system"})


def _names_by_folder(paths: Sequence[str], names: Sequence[str]) -> list[str] | None:
    """Names for files that are called the same, by the folders that tell them apart; None where stems do already.

    >>> _names_by_folder(["runs/a/out.jsonl", "runs/b/out.jsonl"], ["out.jsonl", "out.jsonl"])
    ['a', 'b']
    """
    stems = [stem(name) for name in names]
    if len(set(stems)) == len(stems) or len(set(paths)) < len(paths) or STDIN in paths:
        return None
    return by_folders([[*PurePath(path).parts[:-1], own] for path, own in zip(paths, stems, strict=True)])


def _by_system(paths: Sequence[str], files: Sequence[str], names: Any) -> dict[str, str]:
    """The files by the names that errors give their systems."""
    if len(paths) == 1:
        return {"file": paths[0]}
    called = names if isinstance(names, list) else None
    if isinstance(names, str) and not names.startswith("["):
        called = [name.strip() for name in names.split(",")]
    if called is None or len(called) != len(paths):
        called = [stem(name) for name in files]
    return {escaped(name): path for name, path in zip(called, paths, strict=True)}
