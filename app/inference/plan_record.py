"""Moved to `app.answers`."""

from ..answers.plan import *  # noqa: F403
