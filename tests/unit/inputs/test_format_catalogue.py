from __future__ import annotations

from dataclasses import fields

import pytest

from exactperm.errors import MalformedBody
from exactperm.inputs.formats.catalogue import ALIASES, ALWAYS, FORMATS, read
from exactperm.inputs.formats.reader import OPTION_NAMES, ReaderOptions, UploadedFile
from tests.refusals import refused

from .reading import EXCERPTS, noted, read_files, refusal, refuses

SCORES = "id,u,v\na,1,0\nb,0,1\n"


def test_every_option_is_used_by_some_format_and_every_use_is_an_option() -> None:
    used = {name for format_ in FORMATS.values() for name in format_.uses} | ALWAYS
    assert used == set(OPTION_NAMES)


def test_every_alias_leads_to_a_format() -> None:
    assert set(ALIASES.values()) <= set(FORMATS)
    assert not set(ALIASES) & set(FORMATS)


def test_an_option_that_the_format_has_no_use_for_is_refused() -> None:
    refuses("unused_option", "/options/filter", "csv", {"file": SCORES}, filter="strict-match")


def test_a_file_that_the_format_has_no_use_for_is_refused() -> None:
    refuses(None, "/files/gold", "csv", {"file": SCORES, "gold": SCORES})
    refuses("unused_file", None, "csv", {"file": SCORES, "u": SCORES})


def test_a_file_that_is_needed_is_named() -> None:
    refuses("not_a_log", None, "inspect", {"u": "{}"})
    refuses(None, "/files/gold", "conllu", {"u": "1", "v": "1"}, metric="upos")
    refuses(None, "/files", "csv", {})


def test_an_unknown_format_is_refused_with_the_near_or_the_first() -> None:
    error = refusal("xlsx", {"file": SCORES})
    assert error.flaws[0].code == "unknown_format"
    assert error.detail.endswith(f"and {len(FORMATS) + 1 - 8} more, which docs/files.md lists.")
    near = refusal("conlu", {"file": SCORES})
    assert near.detail == 'There is no format "conlu"; did you mean `format=conllu` or `format=conll`?'


def test_what_cannot_be_told_is_not_guessed() -> None:
    refuses("unknown_format", None, "auto", {"u": "hello world\n", "v": "hello\n"})
    refuses("unknown_format", None, "auto", {"u": "{]", "v": "{]"})
    refuses("unknown_format", None, "auto", {"file": "3 1\n"})
    refuses("unknown_format", None, "auto", {"u": "\x00", "v": "\x00"})


GUESSES = {
    "conllu": {"gold": "conllu/gold.conllu", "u": "conllu/crf.conllu", "v": "conllu/perceptron.conllu"},
    "conll": {"gold": "uner/gold.iob2", "u": "uner/crf_small.pred.tsv", "v": "uner/crf_large.pred.tsv"},
    "lm-eval": {"u": "lm_eval/tuned", "v": "lm_eval/base"},
    "jsonl": {"u": "eus_trivia/gpt-4-0613.jsonl", "v": "eus_trivia/gpt-3.5-turbo-0125.jsonl"},
    "inspect": {"u": "inspect/scored.eval", "v": "inspect/scored.eval"},
    "promptfoo": {"file": "promptfoo/results.json"},
    "mqm": {"file": "mqm/newstest2020_ende.tsv"},
}


@pytest.mark.parametrize("format_", GUESSES)
def test_auto_guesses_the_format_and_says_so(format_: str) -> None:
    needs = {"conllu": {"metric": "upos"}, "mqm": {"system_u": "OPPO.1535", "system_v": "Human-A.0"}}
    files = {}
    for role, name in GUESSES[format_].items():
        path = EXCERPTS / name
        files[role] = next(path.iterdir()) if path.is_dir() else path
    reading = read_files("auto", files, **needs.get(format_, {}))
    assert reading.guessed
    assert reading.format == format_
    assert format_ in reading.notes[0]


@pytest.mark.parametrize(
    ("files", "format_"),
    [
        ({"file": SCORES}, "csv"),
        ({"file": SCORES.replace(",", "\t")}, "tsv"),
        ({"file": "1,0\n0,1\n"}, "csv"),
        ({"u": "0.5\n0.25\n", "v": "1\n0\n"}, "csv"),
        ({"file": "id,system,score\n1,a,1\n1,b,0\n"}, "csv"),
        ({"file": '[{"id": 1, "u": 1, "v": 0}]'}, "jsonl"),
        ({"file": '{"id": 1, "u": 1, "v": 0}\n'}, "jsonl"),
        ({"u": "map \t1\t0.5\n", "v": "map \t1\t0.25\n"}, "trec"),
        ({"ref": "a house\n", "u": "a house\n", "v": "the house\n"}, "mt"),
        ({"ref": "a b (x-1)\n", "u": "a (x-1)\n", "v": "b (x-1)\n"}, "asr"),
        ({"u": "Ann B-PER B-PER\n", "v": "Ann B-PER O\n"}, "conll"),
    ],
    ids=str,
)
def test_auto_tells_small_files_apart(files: dict[str, str], format_: str) -> None:
    assert read_files("auto", files).format == format_


@pytest.mark.parametrize(
    "format_", ["csv", "jsonl", "trec", "conllu", "conll", "mt", "asr", "lm-eval", "mt-stats"]
)
def test_text_that_is_not_utf8_is_malformed_and_the_line_is_named(format_: str) -> None:
    content = UploadedFile("x", b"first\nsecond\nth\xefrd\n")
    files = dict.fromkeys(("u", "v", *({"gold"} & set(FORMATS[format_].roles))), content)
    if format_ == "mt":
        files["ref"] = files.pop("gold")
    options = ReaderOptions(metric="upos") if format_ == "conllu" else ReaderOptions()
    with pytest.raises(MalformedBody) as caught:
        read(files, format_, options)
    assert caught.value.flaws[0].pointer.endswith("/line/3")
    assert caught.value.flaws[0].code == "not_utf8"


def test_a_byte_order_mark_is_left_out_and_noted() -> None:
    reading = read_files("csv", {"file": "\ufeff" + SCORES})
    assert reading.kind == "scores"
    assert noted(reading, "byte order mark")


def test_utf16_and_nul_characters_are_malformed() -> None:
    refuses(None, None, "csv", {"file": SCORES.encode("utf-16")}, "UTF-16")
    refuses(None, "/files/file/line/2", "csv", {"file": "id,u,v\na,\0,1\n"})


def test_options_of_a_form_are_parsed_and_checked() -> None:
    options = ReaderOptions.of_form(
        {"decimals": "4", "allow_incomplete": "true", "metric": "acc", "filter": ""}
    )
    assert options == ReaderOptions(decimals=4, allow_incomplete=True, metric="acc")
    assert options.given() == {"decimals", "allow_incomplete", "metric"}


@pytest.mark.parametrize(
    "form",
    [
        {"decimals": "four"},
        {"decimals": "99"},
        {"tag_column": "0"},
        {"allow_incomplete": "yes"},
        {"on_missing": "fill"},
        {"ner_mode": "loose"},
        {"items": "token"},
        {"delimiter": "x"},
        {"max_inflated_bytes": "1"},
        {"colour": "red"},
    ],
    ids=str,
)
def test_a_bad_option_is_refused_by_name(form: dict[str, str]) -> None:
    with refused(None, f"/options/{next(iter(form))}"):
        ReaderOptions.of_form(form)


def test_the_options_have_documented_names_only() -> None:
    assert {field.name for field in fields(ReaderOptions)} - set(OPTION_NAMES) == {
        "max_inflated_bytes",
        "max_items",
    }
