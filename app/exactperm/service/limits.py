"""The settings that decide what a test may ask for, as they travel with every request."""

from __future__ import annotations

from dataclasses import fields

from ..settings import Settings
from .messages import Limits


def limits_of(settings: Settings) -> Limits:
    """The part of the settings that the pipeline needs; the limits have the settings' names."""
    return Limits(**{limit.name: getattr(settings, limit.name) for limit in fields(Limits)})
