from __future__ import annotations

import json

import pytest
from hypothesis import given, strategies as st

from exactperm import errors
from exactperm.answers.members import decimal
from exactperm.errors import Flaw
from exactperm.service import problems


def every_error() -> list[type[errors.ExactpermError]]:
    found, todo = [], [errors.ExactpermError]
    while todo:
        kind = todo.pop()
        found.append(kind)
        todo += kind.__subclasses__()
    return [kind for kind in found if not kind.__subclasses__()]


@pytest.mark.parametrize("kind", every_error())
def test_every_exception_has_a_problem_type_of_its_own(kind: type[errors.ExactpermError]) -> None:
    rendered = problems.of_error(kind("A sentence."), "id-1")
    said = json.loads(rendered.body)
    assert said["type"] == f"/docs/problems#{kind.code}"
    assert (said["status"], said["detail"], said["instance"]) == (rendered.status, "A sentence.", "id-1")
    assert rendered.status != 500
    assert (("retry-after", "1") in rendered.headers) == issubclass(kind, errors.CapacityError)


@given(st.lists(st.tuples(st.text(), st.text()), max_size=40), st.text())
def test_a_problem_is_never_larger_than_16_kilobytes(pairs: list[tuple[str, str]], detail: str) -> None:
    flaws = tuple(Flaw(pointer * 100, "code", text * 100) for pointer, text in pairs)
    rendered = problems.of_error(errors.InvalidTest(detail * 1000, flaws=flaws), "id-1")
    assert len(rendered.body) <= 16_000
    assert len(json.loads(rendered.body).get("errors", [])) <= 20


def test_the_worst_flaws_still_fit() -> None:
    flaws = tuple(Flaw("\U0001f600" * 10_000, "code", "\U0001f600" * 10_000) for _ in range(20))
    rendered = problems.of_error(errors.InvalidTest("\x00" * 10_000, flaws=flaws), "id-1")
    assert len(rendered.body) <= 16_000
    assert json.loads(rendered.body)["errors"]


def test_a_bug_tells_nothing_of_what_it_saw() -> None:
    rendered = problems.of_bug(ValueError("secret payload"), "id-1")
    assert rendered.status == 500
    assert b"secret" not in rendered.body


@given(st.integers(0, 10**50) | st.integers(2**9_990, 2**10_010))
def test_integers_of_any_length_are_written_in_decimal(number: int) -> None:
    text = decimal(number)
    assert text.isdigit()
    assert sum(int(digit) * pow(10, place, 2**61 - 1) for place, digit in enumerate(reversed(text))) % (
        2**61 - 1
    ) == number % (2**61 - 1)


def test_a_numerator_of_a_million_bits_is_written() -> None:
    assert len(decimal(2**1_000_000)) == 301_030
