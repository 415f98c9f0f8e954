"""Settings with other values of fixed and derived limits, for tests only."""

from typing import Any

from exactperm.settings import Settings


def settings_with(**values: Any) -> Settings:
    """Settings, with those that are not environment variables overridden in a subclass."""
    chosen = type("Chosen", (Settings,), {"__module__": __name__})
    for name in values.keys() - Settings.model_fields.keys():
        assert hasattr(Settings, name), name
        setattr(chosen, name, values.pop(name))
    settings: Settings = chosen(**values)
    return settings
