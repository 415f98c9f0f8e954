"""What is never computed in the web process: whatever has a cost that its numbers decide."""

from __future__ import annotations

import json
import time
from typing import Any

import pytest

from exactperm.service.limits import limits_of
from exactperm.service.media_types import JSON
from exactperm.service.messages import Body, Job, Kind, RenderedResponse
from exactperm.service.pipeline import Later, handle_in_place
from exactperm.settings import Settings

LIMITS = limits_of(Settings(workers=1))
U, V = [1.0, 2.0, 0.5, 4.0], [0.0, 1.0, 1.5, 1.0]
COUNTS = {"tp": [1, 0, 1, 1], "fp": [0, 1, 0, 0], "fn": [0, 1, 0, 1]}
LATER: list[tuple[Kind, dict[str, Any]]] = [
    ("effects", {"stay": [[1, 2]] * 3, "swap": [[2, 1]] * 3, "statistic": {"expression": "x1/x2"}}),
    ("effects", {"stay": [1, 2], "statistic": {"expression": "x1*1e300*1e300"}}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "abs(x1)"}, "alternative": "less"}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "abs(x1)"}, "pmf": "none"}),
    ("effects", {"stay": [[5], [-3]], "statistic": {"expression": "abs(x1) * 2"}}),
    ("counts", {"u": COUNTS, "v": COUNTS, "statistic": {"name": "expression", "expression": "tp/(tp+fp)"}}),
    ("counts", {"u": COUNTS, "v": COUNTS, "statistic": {"name": "fbeta", "beta": 0.5}}),
    ("counts", {"u": {"edits": [1], "ref_len": [2]}, "v": {"edits": [1], "ref_len": [2]}, "statistic": {"name": "ter"}}),
    ("counts", {"u": {name: column * 126 for name, column in COUNTS.items()},
                "v": {name: column * 126 for name, column in COUNTS.items()}, "statistic": {"name": "f1"}}),
    ("predictions", {"gold": ["a", "b"], "u": ["a", "a"], "v": ["b", "b"], "statistic": {"name": "f1"}}),
    ("predictions", {"gold": ["a b"], "u": ["a"], "v": ["b"], "statistic": {"name": "ter"}}),
    ("predictions", {"gold": [["B-X"]], "u": [["O"]], "v": [["B-X"]], "statistic": {"name": "span_f1"}}),
    ("scores", {"u": U, "v": V, "test": "bootstrap"}),
    ("scores", {"u": U, "v": V, "pmf": "full"}),
    ("scores", {"u": U, "v": V, "exact_fraction": True}),
    ("scores", {"u": U, "v": V, "method": "bounds", "precision": 1e-9}),
    ("scores", {"u": U * 126, "v": V * 126, "confidence_level": 0.9}),
    ("gate", {"metrics": [{"name": str(k), "kind": "scores", "request": {"u": U, "v": V}, "higher_is_better": True}
                          for k in range(5)]}),
]  # fmt: skip
NOW: list[tuple[Kind, dict[str, Any]]] = [
    ("effects", {"stay": [5, -3, 2]}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "x1"}}),
    ("effects", {"stay": [5, -3, 2], "statistic": {"expression": "abs(x1)"}}),
    ("scores", {"u": U, "v": V, "confidence_level": 0.9}),
    ("counts", {"u": COUNTS, "v": COUNTS, "statistic": {"name": "f1"}}),
    (
        "predictions",
        {"gold": ["a", "b"], "u": ["a", "a"], "v": ["b", "b"], "statistic": {"name": "accuracy"}},
    ),
    (
        "gate",
        {"metrics": [{"kind": "scores", "request": {"u": U, "v": V}, "name": "m", "higher_is_better": True}]},
    ),
]


def in_place(kind: Kind, body: dict[str, Any], *, planned: bool = False) -> RenderedResponse | Later:
    now = time.monotonic()
    job = Job("plan" if planned else kind, Body(JSON), (), "json", "x", now, now, LIMITS)
    sent = {"kind": kind, "request": body} if planned else body
    return handle_in_place(job, json.dumps(sent).encode(), 10.0, 100_000)


@pytest.mark.parametrize(("kind", "body"), LATER)
def test_what_has_no_proven_small_price_is_not_even_prepared_in_place(
    kind: Kind, body: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    def never(*_: object) -> None:
        raise AssertionError("prepared")

    monkeypatch.setattr("exactperm.service.pipeline._prepared", never)
    assert in_place(kind, body) == Later()
    if kind != "gate":
        assert in_place(kind, body, planned=True) == Later()


@pytest.mark.parametrize(("kind", "body"), NOW)
def test_small_tests_of_every_kind_are_answered_in_place(kind: Kind, body: dict[str, Any]) -> None:
    found = in_place(kind, body)
    assert isinstance(found, RenderedResponse)
    assert found.status in {200, 409}, found.body
