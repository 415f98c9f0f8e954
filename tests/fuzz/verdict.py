"""What every refusal and every answer must be, whatever was sent."""

from __future__ import annotations

import json
from typing import Any

from pydantic import BaseModel

from exactperm.api.openapi.schemas import CompareAnswer, ComparePlanAnswer, GateAnswer, PlanAnswer, TestAnswer
from exactperm.errors import MAX_CHOICES, MAX_FLAWS, ExactpermError
from exactperm.service.problems import (
    MAX_DETAIL_CHARS,
    MAX_POINTER_CHARS,
    MAX_PROBLEM_BYTES,
    MAX_TITLE_CHARS,
    of_error,
)
from tests.fuzz.amount import GENERATED
from tests.fuzz.mutations import echoed

LONGEST_ECHO = 120  # an id is cut to 40 characters; a few may be named side by side with nothing between
MODELS: dict[str, type[BaseModel]] = {
    "plan": PlanAnswer,
    "plan of a comparison": ComparePlanAnswer,
    "gate": GateAnswer,
    "compare": CompareAnswer,
}
UNAVAILABLE = 503
NOT_IMPLEMENTED = 501


def judge_error(error: ExactpermError) -> None:
    """A refusal names what is wrong, is bounded, and gives the input back in no more than a few short ids."""
    assert error.detail
    assert len(error.flaws) <= MAX_FLAWS
    for text in (
        error.detail,
        *(flaw.detail for flaw in error.flaws),
        *(flaw.pointer for flaw in error.flaws),
    ):
        assert echoed(text) <= LONGEST_ECHO, text[:500]
    judge_problem(of_error(error, "x").body, None)


def judge_problem(body: bytes, status: int | None) -> None:
    """RFC 9457, within its limits."""
    assert len(body) <= MAX_PROBLEM_BYTES
    said = json.loads(body)
    assert said["type"].startswith("/docs/problems#")
    assert said["title"]
    assert said["detail"]
    assert said["instance"]
    assert status in {None, said["status"]}
    flaws = said.get("errors", [])
    assert len(flaws) <= MAX_FLAWS
    assert len(said["detail"]) <= MAX_DETAIL_CHARS
    for flaw in flaws:
        assert {"pointer", "code", "detail"} <= set(flaw) <= {"pointer", "code", "detail", "choices"}
        _judge_choices(flaw.get("choices"))
        assert len(flaw["pointer"]) <= MAX_POINTER_CHARS
        assert len(flaw["detail"]) <= MAX_DETAIL_CHARS
        assert flaw["pointer"] == "" or flaw["pointer"].startswith("/")
    assert echoed(body.decode()) <= LONGEST_ECHO, body[:500]


def _judge_choices(choices: list[dict[str, Any]] | None) -> None:
    """Ways out: a few, each with a title that fits on a button and fields of the form."""
    if choices is None:
        return
    assert 0 < len(choices) <= MAX_CHOICES
    for choice in choices:
        assert set(choice) == {"title", "fields"}
        assert 0 < len(choice["title"]) <= MAX_TITLE_CHARS
        assert choice["fields"]
        assert all(isinstance(value, str) for value in choice["fields"].values())


def judge_answer(kind: str, status: int, media: str, body: bytes, *, unavailable: bool = False) -> None:
    """An answer is what the document says it is; anything else is a problem, and none is the service's fault. Both are counted."""
    GENERATED[f"{kind}: {'answered' if status in {200, 409} else 'refused'}"] += 1
    if media == "application/problem+json":
        kept = status == NOT_IMPLEMENTED and b"#jobs-off" in body  # ?store=1, without a database
        assert 400 <= status < 500 or kept or (unavailable and status == UNAVAILABLE), body[:600]
        judge_problem(body, status)
        return
    assert status in ({200, 409} if kind == "gate" else {200})
    if media == "application/json":
        if kind == "plan" and json.loads(body)["kind"] == "compare":
            kind = "plan of a comparison"
        MODELS.get(kind, TestAnswer).model_validate_json(body)
    else:
        assert body
