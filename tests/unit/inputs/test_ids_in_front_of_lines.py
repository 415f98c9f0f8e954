"""Lines of text with ids in front, as Kaldi, fast_align and spreadsheets write them: paired by id, and never by line."""

from __future__ import annotations

import random

import pytest

from .reading import noted, read_files, refusal

TEXTS = [
    "the quick brown fox jumps over the dog",
    "she sells sea shells by the shore",
    "peter piper picked a peck of peppers",
    "how much wood would a woodchuck chuck",
]
WORSE = [text.replace("the", "a") for text in TEXTS]


def lines(texts: list[str], mark: str, seed: int | None = None, prefix: str = "utt-") -> str:
    rows = [f"{prefix}{number}{mark}{text}\n" for number, text in enumerate(texts)]
    if seed is not None:
        random.Random(seed).shuffle(rows)
    return "".join(rows)


@pytest.mark.parametrize("mark", ["\t", " ||| ", ";"])
def test_lines_are_paired_by_ids_in_front_which_are_no_part_of_the_texts(mark: str) -> None:
    files = {"u": lines(TEXTS, mark, 1), "v": lines(WORSE, mark, 2), "ref": lines(TEXTS, mark, 3)}
    reading = read_files("auto", files)
    data = reading.data
    assert reading.format == "mt"
    assert [[text] for text in data.u] == data.references
    assert sorted(data.u) == sorted(TEXTS)
    assert [text.replace("the", "a") for text in data.u] == list(data.v)
    assert noted(reading, "paired by the ids in front of their lines")


def test_ids_before_a_blank_are_of_transcripts_or_of_translations() -> None:
    files = {"u": lines(TEXTS, " ", 1), "v": lines(WORSE, " ", 2), "ref": lines(TEXTS, " ")}
    asked = refusal("auto", files)
    assert [flaw.code for flaw in asked.flaws] == ["choose_format"]
    assert [choice.fields for choice in asked.flaws[0].choices] == [{"format": "asr"}, {"format": "mt"}]
    transcripts = read_files("asr", files)
    assert transcripts.data.u["errors"].tolist() == [0, 0, 0, 0]
    by_id = dict(zip(transcripts.data.pairing.ids, transcripts.data.v["errors"].tolist(), strict=True))
    assert by_id == {"utt-0": 2, "utt-1": 1, "utt-2": 0, "utt-3": 0}
    assert sorted(read_files("mt", files).data.u) == sorted(TEXTS)


def test_files_with_other_ids_are_not_paired() -> None:
    many = [f"a sentence of words {number}" for number in range(20)]
    files = {"u": lines(many, "\t"), "v": lines(many[:-1], "\t"), "ref": lines(many, "\t", 1)}
    error = refusal("mt", files)
    assert {flaw.code for flaw in error.flaws} == {"unmatched_ids"}
    assert not any(flaw.choices for flaw in error.flaws)


@pytest.mark.parametrize(
    "texts",
    [
        TEXTS,  # words without digits
        ["1 a", "2 b"],  # too few lines to tell
        ["3 dogs bark", "3 cats sleep", "4 birds sing"],  # not unique
        ["", "1 a", "2 b", "3 c"],  # an empty segment
    ],
)
def test_words_are_texts(texts: list[str]) -> None:
    files = dict.fromkeys(("u", "v", "ref"), "".join(f"{text}\n" for text in texts))
    assert list(read_files("mt", files).data.u) == texts
    assert read_files("mt", files).data.pairing.ids is None
