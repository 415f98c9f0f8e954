from __future__ import annotations

import re

import pytest
from pydantic import ValidationError

from exactperm.cli.output import Refused
from exactperm.cli.settings import settings_of
from exactperm.settings import REMOVED, Settings

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


def test_a_variable_of_a_setting_that_is_gone_is_refused_with_what_to_use_now(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("EXACTPERM_QUEUE_BYTES", "1")
    with pytest.raises(Refused) as refused:
        settings_of({})
    assert str(refused.value) == (
        "EXACTPERM_QUEUE_BYTES: there is no such setting any more; it is EXACTPERM_BODIES_BYTES now. Remove the variable."
    )


@pytest.mark.parametrize("name", REMOVED)
def test_what_is_used_instead_is_a_setting(name: str) -> None:
    assert name not in Settings.model_fields
    assert isinstance(getattr(Settings(), name), int | float)  # it is fixed, or derived
    for instead in re.findall(r"EXACTPERM_(\w+)", REMOVED[name]):
        assert instead.lower() in Settings.model_fields


def test_no_other_name_is_a_setting() -> None:
    with pytest.raises(ValidationError):
        Settings(queue_bytes=1)  # type: ignore[call-arg]
