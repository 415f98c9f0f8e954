"""Moved to `app.answers`."""

from ...answers.power import *  # noqa: F403
