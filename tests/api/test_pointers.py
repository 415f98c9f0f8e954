"""Pointers of refusals (RFC 6901) lead to a member of the JSON that was sent, or to where one is missing."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

SCORES: dict[str, Any] = {"u": [1, 0, 1, 1], "v": [0, 0, 1, 0]}
BY_ID: dict[str, Any] = {"u": {"a/b": 1, "c~d": 0, "0": 1}, "v": {"a/b": 0, "c~d": 1, "0": 0}}
COUNTS: dict[str, Any] = {
    "u": [{"tp": 1, "predicted": 2, "gold": 2}] * 2,
    "v": [{"tp": 0, "predicted": 1, "gold": 2}] * 2,
    "statistic": {"name": "f1"},
}
LABELS: dict[str, Any] = {"gold": ["a", "b"], "u": ["a", "a"], "v": ["b", "b"]}
OPTIONS: dict[str, Any] = {
    "alternative": "less", "alpha": 0.1, "method": "auto", "names": {"u": "x", "v": "y"}, "clusters": ["p", "p", "q", "q"],
    "statistic": {"name": "mean_difference"}, "on_missing": "error", "weights": [1, 2, 1, "1/2"], "timeout_s": 9,
}  # fmt: skip
BOARD: dict[str, Any] = {"kind": "scores", "systems": {"A/1": [1, 0, 1], "B~": [0, 0, 1], "C": [1, 1, 1]}}
SENT: dict[str, tuple[str, dict[str, Any]]] = {
    "scores": ("/v1/tests/scores", {**SCORES, **OPTIONS}),
    "scores by id": ("/v1/tests/scores", BY_ID),
    "counts": ("/v1/tests/counts", COUNTS),
    "predictions": ("/v1/tests/predictions", LABELS),
    "effects": ("/v1/tests/effects", {"stay": [1, 2, 3], "swap": [0, 1, 4]}),
    "plan": ("/v1/plan", {"kind": "scores", "request": {**SCORES, **OPTIONS}}),
    "gate": ("/v1/gate", {"kind": "scores", "request": SCORES, "policy": "improve", "margin": 0.1}),
    "gate of metrics": ("/v1/gate", {"metrics": [{"kind": "scores", "request": BY_ID, "name": "x/y"}], "alpha": 0.05}),
    "gate against several": ("/v1/gate", {"kind": "scores", "request": {"u": [1, 0]}, "against": {"m/n": [1, 1], "o": [0, 0]}}),
    "board": ("/v1/compare", {**BOARD, "compare": [["A/1", "B~"]], "adjust": "holm", "on_missing": "error"}),
    "board of a matrix": ("/v1/compare", {"kind": "scores", "systems": ["a", "b"], "scores": [[1, 0], [1, 1]]}),
    "data sets": ("/v1/compare", {"kind": "scores", "datasets": {"d/e": {"systems": {"a": [1, 0], "b": [1, 1]}}}}),
    "power": ("/v1/power", {"design": {"kind": "binary", "p10": 0.1, "p01": 0.05}, "solve": "n"}),
}  # fmt: skip
JUNK: st.SearchStrategy[Any] = st.sampled_from(
    [
        "",
        "x",
        "NaN",
        "1/0",
        None,
        True,
        -1,
        1e308,
        0.5,
        [],
        {},
        [[]],
        [{}],
        {"u": 1},
        ["a", "a"],
        [1],
        "intersect",
    ]
).map(copy.deepcopy)


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    """The path of every value inside, the whole first."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [path, *(found for key, one in inside for found in places(one, (*path, key)))]


def resolved(pointer: str, document: Any) -> tuple[bool, bool]:
    """Whether a pointer resolves, and whether its parent does; raises ValueError for what is no RFC 6901 pointer."""
    if pointer and not pointer.startswith("/"):
        raise ValueError(pointer)
    parts = pointer.split("/")[1:]
    value = document
    for at, part in enumerate(parts):
        if "~" in part.replace("~0", "").replace("~1", ""):
            raise ValueError(pointer)
        key = part.replace("~1", "/").replace("~0", "~")
        if isinstance(value, dict) and key in value:
            value = value[key]
        elif isinstance(value, list) and key.isdecimal() and int(key) < len(value):
            value = value[int(key)]
        else:
            return False, at == len(parts) - 1
    return True, True


@pytest.mark.parametrize(("path", "body"), SENT.values(), ids=SENT)
def test_what_is_sent_whole_is_answered(service: Any, path: str, body: dict[str, Any]) -> None:
    assert service.post(path, body).status_code in {200, 409}, service.post(path, body).text


@pytest.mark.parametrize(("path", "body"), SENT.values(), ids=SENT)
@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_every_pointer_of_a_refusal_resolves_in_the_body_that_was_sent(
    service: Any, path: str, body: dict[str, Any], data: st.DataObject
) -> None:
    sent: Any = copy.deepcopy(body)
    for _ in range(data.draw(st.integers(1, 2))):
        where = data.draw(st.sampled_from(places(sent)[1:]))
        inside = sent
        for key in where[:-1]:
            inside = inside[key]
        how = data.draw(st.sampled_from(["set", "drop", "add"]))
        if how == "drop":
            del inside[where[-1]]
        elif how == "add" and isinstance(inside, dict):
            inside[data.draw(st.sampled_from(["zz/z", "~", "alternativ", "y_true"]))] = data.draw(JUNK)
        else:
            inside[where[-1]] = data.draw(JUNK)
        if len(places(sent)) == 1:
            break
    response = service.post(path, sent)
    assert response.status_code in {200, 409, 422, 400}, response.text
    for flaw in response.json().get("errors", []) if response.status_code == 422 else []:
        assert any(resolved(flaw["pointer"], json.loads(json.dumps(sent)))), (flaw, sent)
