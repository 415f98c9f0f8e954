"""The arguments of `power` as a request: a design in options, or files of a pilot."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import click

from ..client.requests import PowerRequest, files as files_of
from ..inputs.formats.number_text import is_tiny
from .arguments import Form, form_of
from .power_options import NUMBERS

_FLOATS = ("power", "effect", "alpha")


def power_request(given: Mapping[str, Any]) -> tuple[PowerRequest, Form]:
    """The request, and the form that it was made from; raises UsageError."""
    members: dict[str, Any] = {"solve": given["solve"]}
    members |= {name: _number(given[name], f"--{name}") for name in _FLOATS if given[name] is not None}
    if given["n"] is not None:
        numbers = [_whole(text, "-n") for text in given["n"].split(",")]
        members["n"] = numbers if len(numbers) > 1 else numbers[0]
    if given["comparisons"] is not None:
        members["comparisons"] = _whole(given["comparisons"], "--comparisons")
    if given["alternative"] is not None:
        members["alternative"] = given["alternative"]
    design = {name: _number(given[name], f"--{name}") for name in (*NUMBERS, "sd") if given[name] is not None}
    if given["paths"] and design:
        raise click.UsageError("Give the files of a pilot, or numbers such as --p10 and --p01, not both.")
    if not given["paths"]:
        if not design:
            raise click.UsageError(
                "Say what is known: --p10 and --p01; --u, --v and --discordance; --sd; or the files of a pilot."
            )
        kind = "sd" if set(design) == {"sd"} else "binary"
        return PowerRequest({"design": {"kind": kind, **design}, **members}), Form({}, {}, {})
    form = form_of(given)
    return PowerRequest(members, files_of(**form.files, **form.fields)), form


def _number(text: str, option: str) -> float | str:
    """A number; `observed` goes on, to be refused with its reason."""
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
