from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from exactperm.settings import Settings

UNITS = (
    "_metrics",
    "_systems",
    "_comparisons",
    "_tests",
    "_bytes",
    "_s",
    "_seconds",
    "_items",
    "_chars",
    "_samples",
    "_operations",
    "_depth",
    "_parts",
    "_connections",
    "_per_address",
    "_share",  # of one
)


def test_the_environment_decides_with_one_prefix(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EXACTPERM_PORT", "9000")
    monkeypatch.setenv("PORT", "9001")
    assert Settings().port == 9000


def test_settings_are_frozen_and_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ValidationError):
        Settings().port = 1  # type: ignore[misc]
    monkeypatch.setenv("EXACTPERM_WORKERS", "0")
    with pytest.raises(ValidationError):
        Settings()


def test_every_setting_is_described_and_every_limit_names_its_unit() -> None:
    for name, field in Settings.model_fields.items():
        assert field.description, name
        if re.match("max_|engine_|inplace_|default_", name):
            assert name.endswith(UNITS), name


def test_only_loopback_is_listened_on_unless_told_otherwise() -> None:
    assert Settings.model_fields["host"].default == "127.0.0.1"
