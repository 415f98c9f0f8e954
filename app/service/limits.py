"""The settings that decide what a test may ask for, as they travel with every request."""

from __future__ import annotations

from ..settings import Settings
from .messages import Limits


def limits_of(settings: Settings) -> Limits:
    """The part of the settings that the pipeline needs."""
    return Limits(
        max_body_bytes=settings.max_body_bytes,
        max_form_parts=settings.max_form_parts,
        max_gate_metrics=settings.max_gate_metrics,
        max_items=settings.max_items,
        max_samples=settings.max_samples,
        max_name_chars=settings.max_name_chars,
        max_timeout_s=settings.max_timeout_s,
        budget_operations=settings.engine_budget_operations,
        budget_bytes=settings.engine_budget_bytes,
        retry_after_s=settings.retry_after_s,
    )
