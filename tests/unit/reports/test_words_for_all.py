"""A dictionary of a report that is keyed by an enum has an entry for each of its values: types alone do not say so."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator, Mapping
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest

import exactperm.reports


def keyed() -> Iterator[tuple[str, Mapping[Any, Any], tuple[Any, ...]]]:
    """(name, dictionary, keys) of all that modules of reports annotate with literals as keys."""
    for module in pkgutil.walk_packages(exactperm.reports.__path__, "exactperm.reports."):
        loaded = importlib.import_module(module.name)
        for name, hint in get_type_hints(loaded).items():
            keys = get_args(hint)[0] if isinstance(get_origin(hint), type) and get_args(hint) else None
            if get_origin(keys) is Literal and issubclass(get_origin(hint), Mapping):
                yield f"{module.name}.{name}", getattr(loaded, name), get_args(keys)


@pytest.mark.parametrize(
    ("name", "words", "keys"), list(keyed()), ids=lambda value: value if isinstance(value, str) else ""
)
def test_a_dictionary_keyed_by_an_enum_has_all_its_values(
    name: str, words: Mapping[Any, Any], keys: tuple[Any, ...]
) -> None:
    assert set(words) == set(keys), name


def test_the_dictionaries_of_verdicts_relations_and_adjustments_are_among_them() -> None:
    names = {name.rpartition(".")[2] for name, _, _ in keyed()}
    assert {
        "VERDICTS",
        "SYMBOLS",
        "ADJUSTMENTS",
        "RELATIONS",
        "TURNED",
        "_PROCEDURES",
        "_NULLS",
        "_VERBS",
        "_MARKS",
    } <= names
