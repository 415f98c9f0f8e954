"""What a name says of its system's role, and what it does not."""

from __future__ import annotations

import pytest

from exactperm.inputs.formats.roles import by_names, role_of, role_question, roles_of, shared_words, words


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("scoreBaseline", ["score", "baseline"]),
        ("SCORE-BASELINE", ["score", "baseline"]),
        ("score.base_line", ["score", "base", "line"]),
        ("HTTPNew2", ["http", "new", "2"]),
        ("новая модель", ["новая", "модель"]),
        ("", []),
    ],
)
def test_a_name_is_its_words_whatever_the_case_and_what_joins_them(name: str, expected: list[str]) -> None:
    assert words(name) == expected


@pytest.mark.parametrize(
    "name",
    ["candidate", "Candidate", "CANDIDATE score", "llama3-candidate-v2", "new", "New_Model", "PR", "run pr"],
)
def test_names_of_candidates(name: str) -> None:
    assert role_of(name) == "u"


@pytest.mark.parametrize(
    "name", ["baseline", "gpt4.baseline", "base", "old", "OLD system", "reference", "main", "control_score"]
)
def test_names_of_baselines(name: str) -> None:
    assert role_of(name) == "v"


@pytest.mark.parametrize(
    "name",
    [
        "", "gpt4", "bert-base", "new-york", "renewal", "baselines", "mission control", "precision",
        "no_baseline", "vs baseline", "candidate_vs_baseline", "news",
    ],
)  # fmt: skip
def test_names_that_say_nothing(name: str) -> None:
    assert role_of(name) is None


def test_words_that_both_have_say_nothing() -> None:
    assert roles_of(["llama-new", "llama-base"]) == ["u", "v"]
    assert roles_of(["baseline_a", "baseline_b"]) == [None, None]
    assert shared_words(["wer_new", "wer_old"]) == ["wer"]


def test_two_systems_are_told_by_both_names_or_by_one_that_is_clear() -> None:
    assert by_names(["old", "new"]) == ("new", "old")
    assert by_names(["new", "old"]) == ("new", "old")
    assert by_names(["baseline", "gpt4"]) == ("gpt4", "baseline")
    assert by_names(["gpt4", "candidate"]) == ("candidate", "gpt4")
    assert by_names(["base", "large"]) is None
    assert by_names(["main", "feature"]) is None
    assert by_names(["old", "base"]) is None
    assert by_names(["a", "new", "old"]) == ("new", "old")
    assert by_names(["baseline", "a", "b"]) is None
    assert by_names(["new", "old", "base"]) is None


def test_the_question_spells_out_both_ways() -> None:
    question = role_question(["a", "b"], ("0:a", "1:b"))
    assert '`system_u=0:a` and `system_v=1:b` (the candidate is "0:a")' in question.detail
    assert '`system_u=1:b` and `system_v=0:a` (it is "1:b")' in question.detail
    ways = [{"system_u": "0:a", "system_v": "1:b"}, {"system_u": "1:b", "system_v": "0:a"}]
    assert [choice.fields for choice in question.choices] == ways
