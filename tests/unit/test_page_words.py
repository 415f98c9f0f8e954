"""The words of the page are those of the service: every statistic, role, option and choice has them in `/v1/meta`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import get_args, get_type_hints

import pytest

from exactperm.api.meta import meta_of
from exactperm.inputs.formats.catalogue import FORMATS, KINDS
from exactperm.inputs.formats.options import CHOICES, INTEGERS, READER_OPTIONS
from exactperm.inputs.formats.reader import DELIMITERS, OPTION_NAMES, ReaderOptions
from exactperm.settings import Settings

WORDS = (Path(__file__).parents[2] / "app" / "exactperm" / "web" / "page" / "words.js").read_text(
    encoding="utf-8"
)
META = meta_of(Settings())
OPTIONS = {option.name: option for option in READER_OPTIONS}
STATISTICS = [entry for entries in META["statistics"].values() for entry in entries]


def test_every_statistic_has_a_title_and_a_hint() -> None:
    described = {entry["name"] for entry in [*META["metrics"], *STATISTICS]}
    assert {name for format_ in FORMATS.values() for name in format_.statistics} <= described
    for entry in [*META["metrics"], *STATISTICS]:
        assert "_" not in entry["title"]
        assert not entry["title"][0].islower() or entry["title"].startswith(("chrF", "nDCG"))
        assert entry["hint"].endswith(".")


def test_every_statistic_says_what_one_has_and_what_one_asks() -> None:
    """The page and the documentation group them so; a group without statistics would be a promise not kept."""
    data, questions = ([one["name"] for one in META[group]] for group in ("data", "questions"))
    for entry in STATISTICS:
        assert entry["data"], entry["name"]
        assert set(entry["data"]) <= set(data)
        assert entry["question"] in questions, entry["name"]
    assert set(data) - {of for entry in STATISTICS for of in entry["data"]} <= {"rankings"}


@pytest.mark.parametrize("name", sorted({name for entry in STATISTICS for name in entry["known_as"]}))
def test_a_name_elsewhere_is_one_there(name: str) -> None:
    module, _, attribute = name.rpartition(".")
    assert hasattr(pytest.importorskip(module), attribute)


def test_the_page_types_none_of_these_names_again() -> None:
    names = {entry["name"] for entry in [*META["metrics"], *STATISTICS]} | set(FORMATS) | set(OPTION_NAMES)
    names.remove("precision")  # an option of the engine as well
    assert {name for name in names if re.search(rf'"{name}"|\b{re.escape(name)}:', WORDS)} == set()


def test_every_format_says_the_kinds_of_its_data() -> None:
    kinds = {kind["name"] for kind in META["formats"]["kinds"]}
    assert kinds == set(KINDS) == {kind for format_ in FORMATS.values() for kind in format_.kinds}
    for format_ in FORMATS.values():
        assert format_.kinds or format_.statistics


def test_every_role_of_a_file_has_a_name() -> None:
    titles = {role["name"]: role["title"] for role in META["formats"]["roles"]}
    assert set(titles) == {role for format_ in FORMATS.values() for role in format_.roles}
    assert list(titles) == META["formats"]["files"]
    assert titles["gold"] == "Gold standard"
    assert len(set(titles.values())) == len(titles)


def test_every_option_of_the_readers_is_there_and_offers_what_the_reader_takes() -> None:
    assert set(OPTIONS) == set(OPTION_NAMES) - {"statistic"}
    blank, hints = ReaderOptions(), get_type_hints(ReaderOptions)
    for name, option in OPTIONS.items():
        default = getattr(blank, name)
        assert option.default == (
            "" if default is None else str(default).lower() if option.type == "boolean" else default
        )
        assert (int in get_args(hints[name])) == (name in INTEGERS), name
        assert (hints[name] is bool) == (option.type == "boolean"), name
        if name in CHOICES and option.type == "text":
            assert get_args(hints[name]) == tuple(option.choices), name
    assert set(OPTIONS["delimiter"].choices) < set(DELIMITERS)


def test_every_option_of_a_format_is_described() -> None:
    for format_ in FORMATS.values():
        assert format_.uses <= set(OPTION_NAMES)


@pytest.mark.parametrize("name", CHOICES)
def test_only_what_refuses_is_called_a_refusal(name: str) -> None:
    """reduce_epochs=none makes every epoch an item; it was called Refuse."""
    refusing = [value for value, title in OPTIONS[name].choices.items() if "refuse" in title.lower()]
    assert refusing == (["error"] if name == "on_missing" else [])


def test_the_engines_options_are_those_of_every_test() -> None:
    text = re.search(r"const ENGINE_OPTIONS = \{(.*?)\n\};", WORDS, re.DOTALL)
    assert text is not None
    assert re.findall(r"^  (\w+): ", text[1], re.MULTILINE) == [
        "test", "method", "samples", "seed", "precision", "significance", "timeout_s",
    ]  # fmt: skip
