"""Moved to `app.answers`."""

from ...answers.board import *  # noqa: F403
