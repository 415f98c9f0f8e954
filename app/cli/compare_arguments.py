"""Command line arguments of `compare` to a request: the systems' files, those beside them, and fields."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Any

import click

from ..client.compare_requests import CompareRequest, compare_files
from ..client.data import escaped
from ..inputs.formats.roles import ROLES
from ..service.compare.system_files import stem
from .arguments import PREFIX, REFERENCES, STDIN, Form, options_given, read


def compare_form(given: Mapping[str, Any]) -> tuple[CompareRequest, Form]:
    """Read the files; raises Refused or UsageError."""
    paths = list(given["paths"])
    beside = {role: given[role] for role in ("gold", "qrels", "documents") if given[role] is not None}
    if len(given["ref"]) > len(REFERENCES):
        raise click.UsageError(f"At most {len(REFERENCES)} references are read.")
    beside.update(zip(REFERENCES, given["ref"], strict=False))
    if [*paths, *beside.values()].count(STDIN) > 1:
        raise click.UsageError("Only one file can be standard input.")
    systems = [read(path) for path in paths]
    called = [name for name, _ in systems]
    fields = _fields(given)
    if len(paths) > 1 and "names" not in fields:
        names = _names_by_folder(paths, called)
        if names is not None:
            fields["names"] = names
    others = {role: read(path) for role, path in beside.items()}
    request = compare_files(systems if len(systems) > 1 else systems[0], **others, **fields)
    return request, Form({}, {**beside, **_by_system(paths, called, fields.get("names"))}, fields)


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
    parts = [[*PurePath(path).parts[:-1], own] for path, own in zip(paths, stems, strict=True)]
    size = next(
        (
            size
            for size in range(2, max(map(len, parts)) + 1)
            if max(Counter(tuple(own[-size:]) for own in parts).values()) == 1
        ),
        None,
    )
    if size is None:
        return None
    tails = [own[-size:] for own in parts]
    while len(tails[0]) > 1 and len({own[-1] for own in tails}) == 1 and min(map(len, tails)) > 1:
        tails = [own[:-1] for own in tails]
    return ["/".join(own) for own in tails]


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
