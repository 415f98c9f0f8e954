"""Moved to `app.answers`."""

from ..answers.test import *  # noqa: F403
