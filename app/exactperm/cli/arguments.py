"""Command line arguments to a form: files in their roles, and fields."""

from __future__ import annotations

import json
import sys
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from ..client.errors import InvalidData
from ..client.folders import Several, several
from ..inputs.formats.roles import ROLES
from . import paired_perm_compat
from .output import Refused

STDIN = "-"
PREFIX = "field_"
AGAINST = "against/"  # before the number of a baseline's file, as in pointers
REFERENCES = ("ref", "ref2", "ref3", "ref4")
# The exit status of a gate depends on the HTTP status; a form must not change it.
KEPT = frozenset({"fail_status"})


@dataclass(frozen=True, slots=True)
class Form:
    """Files by role (of some roles several), where each came from, fields by name, and the files of several baselines."""

    files: Mapping[str, Any]
    paths: Mapping[str, str]
    fields: Mapping[str, Any]
    against: tuple[tuple[str, bytes], ...] = ()


def form_of(given: Mapping[str, Any]) -> Form:
    """Read the files and gather the fields; raises Refused or UsageError."""
    paths = paths_of(given)
    if list(paths.values()).count(STDIN) > 1:
        raise click.UsageError("Only one file can be standard input.")
    files = {role: read_all(path) for role, path in paths.items() if not role.startswith(AGAINST)}
    against = tuple(read(path) for role, path in paths.items() if role.startswith(AGAINST))
    fields = fields_of(given)
    if set(files) == {"file"}:
        fields = paired_perm_compat.translated(fields, given, _only(files)[1], paths["file"])
    elif given.get("mc") is not None or given.get("delim") is not None:
        fields = paired_perm_compat.translated(fields, given, b"", "")
    return Form(files, paths, fields, against)


def _only(files: Mapping[str, tuple[str, bytes] | Several]) -> tuple[str, bytes]:
    """The only file; raises UsageError where the only path has several."""
    file = files["file"]
    if isinstance(file, Several):
        raise click.UsageError("One path has several files: give two folders or patterns, U first, then V.")
    return file


def paths_of(given: Mapping[str, Any]) -> dict[str, str]:
    """The files by role."""
    named, against = list(given["paths"]), given.get("against", ())
    if against and len(named) != 1:
        raise click.UsageError(
            "With --against, give one file: the candidate's. Every baseline is an --against."
        )
    if against and given["names"]:
        raise click.UsageError(
            "With --against, name the candidate by -O name_u=, the baselines by -O names=A,B."
        )
    if len(named) > 2:
        raise click.UsageError(
            f"Give one file with both systems, or two files, folders or quoted patterns such as 'runs/a/*.jsonl' "
            f"(U first, then V); these are {len(named)}. "
            "The gold standard is --gold, references are --ref."
        )
    paths = {"file": named[0]} if len(named) == 1 else {"u": named[0], "v": named[1]}
    if against:
        paths = {"u": named[0], **{f"{AGAINST}{index}": path for index, path in enumerate(against)}}
    if len(given["ref"]) > len(REFERENCES):
        raise click.UsageError(f"At most {len(REFERENCES)} references are read.")
    paths.update(zip(REFERENCES, given["ref"], strict=False))
    return paths | {role: given[role] for role in ("gold", "qrels", "documents") if given[role] is not None}


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
    """A file; or the files of a folder or a pattern, of which it says what it leaves out. Raises Refused."""
    if path == STDIN:
        return read(path)
    try:
        found = several(path)
    except InvalidData as error:
        raise Refused(error.detail) from None
    if found is None:
        return read(path)
    if found.left_out:
        more = f" and {len(found.left_out) - 3:,} more" if len(found.left_out) > 3 else ""
        click.echo(
            f"exactperm: of {path} {len(found.files):,} files are read, and not {', '.join(found.left_out[:3])}{more}.",
            err=True,
        )
    return found


def fields_of(given: Mapping[str, Any]) -> dict[str, Any]:
    """The fields by name; raises UsageError for one given twice."""
    fields = {
        name.removeprefix(PREFIX): value
        for name, value in given.items()
        if name.startswith(PREFIX) and value is not None
    }
    if given["names"]:
        fields["name_u"], fields["name_v"] = given["names"]
    if given.get("higher_is_better") is not None:
        fields["higher_is_better"] = given["higher_is_better"]
    if given.get("metrics"):
        fields["metrics"] = metrics_of(given["metrics"])
    return options_given(given["option"], fields, ROLES)


def options_given(texts: Iterable[str], others: Mapping[str, Any], roles: Collection[str]) -> dict[str, Any]:
    """The fields of `--option NAME=VALUE` with the others; raises BadParameter for what is twice, or a file."""
    fields = dict(others)
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise click.BadParameter(f"{text!r} is not NAME=VALUE.", param_hint="--option")
        if name in KEPT:
            raise click.BadParameter(
                f"{name} cannot be set here: the exit status says whether a gate failed.",
                param_hint="--option",
            )
        if name in roles or name == "against":
            raise click.BadParameter(f"{name} is a file: give it as one.", param_hint="--option")
        if name in fields:
            raise click.BadParameter(f"{name} is given twice.", param_hint="--option")
        fields[name] = value
    return fields


def metrics_of(text: str) -> Any:
    """`--metrics`: names between commas, or a JSON list of fields, or @ and a file with one."""
    if text.startswith("@"):
        text = read(text[1:])[1].decode("utf-8", "replace")
    if text.lstrip()[:1] in {"[", "{"}:
        try:
            return json.loads(text)
        except ValueError as error:
            raise click.BadParameter(f"This is not JSON: {error}.", param_hint="--metrics") from None
    return text
