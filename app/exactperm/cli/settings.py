"""Settings from the environment and from options, with error messages for people."""

from __future__ import annotations

import difflib
import os
import re
from collections.abc import Mapping

import click
from pydantic import ValidationError

from ..settings import REMOVED, Settings
from .output import Refused

PREFIX = "EXACTPERM_"
LIKENESS = 0.85
OF_THE_CLIENT = ("EXACTPERM_URL", "EXACTPERM_API_KEY", "EXACTPERM_TRACEBACK")
# Variables that Kubernetes and Docker set for a service named exactperm.
OF_LINKS = re.compile(
    r"EXACTPERM_(\w+_)?(SERVICE_(HOST|PORT)|PORT_\d+_(TCP|UDP))\w*|EXACTPERM_ENV_\w+|EXACTPERM_NAME"
)
ADDRESS = re.compile(r"(tcp|udp)://")


def _look_at_names(environment: Mapping[str, str]) -> None:
    """Refuse variables of removed settings and near misses; warn of other unknown ones."""
    known = [*(PREFIX + name.upper() for name in Settings.model_fields), *OF_THE_CLIENT]
    for variable, value in environment.items():
        name = variable.upper()
        if not name.startswith(PREFIX) or name in known or OF_LINKS.fullmatch(name) or ADDRESS.match(value):
            continue
        if instead := REMOVED.get(name.removeprefix(PREFIX).lower()):
            raise Refused(f"{variable[:80]}: this setting was removed; {instead}. Remove the variable.")
        if near := difflib.get_close_matches(name, known, 1, LIKENESS):
            raise Refused(f"{variable[:80]}: there is no such setting; did you mean {near[0]}?")
        click.echo(f"exactperm: {variable[:80]} is not a setting of exactperm and has no effect.", err=True)


def settings_of(options: Mapping[str, str]) -> Settings:
    """The settings; options override the environment.

    Raises
    ------
        Refused: a value is invalid, or a variable's name is a near miss of a setting.
    """
    _look_at_names(os.environ)
    try:
        return Settings.model_validate(options) if options else Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str(first["loc"][-1])
        where = f"--{name}" if name in options else name if name.isupper() else f"EXACTPERM_{name.upper()}"
        raise Refused(f"{where}: {first['msg'].replace('Input should', 'it must')}.") from None
