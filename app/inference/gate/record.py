"""Moved to `app.answers`."""

from ...answers.gate import *  # noqa: F403
