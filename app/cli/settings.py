"""Settings from the environment and from options; what is wrong with them is said in words."""

from __future__ import annotations

from collections.abc import Mapping

from pydantic import ValidationError

from app.cli.output import Refused
from app.settings import Settings


def settings_of(given: Mapping[str, str]) -> Settings:
    """The settings; options come before the environment.

    Raises
    ------
        Refused: one of them is not what it should be.
    """
    try:
        return Settings.model_validate(given) if given else Settings()
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        name = str(first["loc"][-1])
        where = f"--{name}" if name in given else name if name.isupper() else f"EXACTPERM_{name.upper()}"
        raise Refused(f"{where}: {first['msg'].replace('Input should', 'it must')}.") from None
