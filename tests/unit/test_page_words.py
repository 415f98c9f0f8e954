"""The page's plain words are about what the service has: its statistics, formats, options and their choices."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from app.api.meta import meta_of
from app.inputs.formats.catalogue import FORMATS
from app.inputs.formats.reader import CHOICES, OPTION_NAMES, WHOLE
from app.service.parse_files import ROLES
from app.settings import Settings

WORDS = (Path(__file__).parents[2] / "app" / "web" / "page" / "words.js").read_text(encoding="utf-8")
META = meta_of(Settings())


def members(constant: str) -> dict[str, str]:
    """The members of an object of words.js, with what is written for them."""
    text = re.search(rf"const {constant} = \{{(.*?)\}};", WORDS, re.DOTALL)
    assert text is not None, constant
    inside = re.sub(r"//.*", "", text[1])
    found: dict[str, str] = {}
    depth, start = 0, 0
    for place, character in enumerate(inside):
        depth += (character in "[{") - (character in "]}")
        if character == "," and depth == 0 and inside[start:place].count('"') % 2 == 0:
            _member(inside[start:place], found)
            start = place + 1
    _member(inside[start:], found)
    return found


def _member(text: str, found: dict[str, str]) -> None:
    if text.strip():
        name, _, value = text.partition(":")
        found[name.strip().strip('"')] = value.strip()


def choices(written: str) -> list[tuple[str, str]]:
    """The values of a select and how they are called."""
    listed = re.search(r"choices: \[(\[.*?\])\](?:,| \})", written)
    return re.findall(r'\["([^"]*)", "([^"]*)"\]', listed[1]) if listed else []


def test_every_statistic_has_plain_words_and_no_words_are_of_one_that_is_gone() -> None:
    known = {entry["name"] for entries in META["statistics"].values() for entry in entries}
    own = {name for format_ in FORMATS.values() for name in format_.statistics}
    written = set(members("STATISTICS"))
    assert written <= known | own
    assert known | own <= written | {name for name in own if name.endswith("_sentence")}


def test_every_format_says_the_kinds_of_its_data() -> None:
    written = members("KINDS")
    assert set(written) == set(FORMATS)
    kinds = {kind for value in written.values() for kind in re.findall(r'"(\w+)"', value)}
    assert kinds == set(members("KIND_TITLES"))


def test_every_role_of_a_file_has_a_name() -> None:
    assert set(members("ROLES")) == set(ROLES)


def test_every_option_of_the_readers_is_there_and_offers_what_the_reader_takes() -> None:
    written = members("READER_OPTIONS")
    assert set(written) == set(OPTION_NAMES) - {"statistic"}
    for name, said in written.items():
        if name == "allow_incomplete":
            assert "YES_NO" in said
        elif name in CHOICES:
            assert [value for value, _ in choices(said)] == list(CHOICES[name]), name
        assert ("numeric: true" in said) == (name in WHOLE), name


@pytest.mark.parametrize("name", [name for name in CHOICES if name != "allow_incomplete"])
def test_only_what_refuses_is_called_a_refusal(name: str) -> None:
    """reduce_epochs=none makes every epoch an item; it was called Refuse."""
    refusing = [
        value for value, label in choices(members("READER_OPTIONS")[name]) if "refuse" in label.lower()
    ]
    assert refusing == (["error"] if name == "on_missing" else [])


def test_the_engines_options_are_those_of_every_test() -> None:
    assert set(members("ENGINE_OPTIONS")) == {"test", "method", "samples", "seed", "precision", "timeout_s"}
