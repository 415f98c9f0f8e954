"""Moved to `app.answers`."""

from ..answers.reading import *  # noqa: F403
