"""Whatever is prepared may go to another process: it pickles, and what comes out of the pickle gives the same answer."""

from __future__ import annotations

import json
import pickle
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_args

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.inference.options import Method
from exactperm.reports.representations import BY_NAME
from exactperm.service import pipeline
from exactperm.service.limits import limits_of
from exactperm.service.messages import Body, Job, Kind, RenderedResponse
from exactperm.settings import Settings

SMALL = Path(__file__).resolve().parents[3] / "openapi" / "examples" / "small"
EXAMPLES = sorted(path.stem for path in SMALL.glob("*.json"))
# Representations show the record, which is alike for all statistics of a kind of data: the first of each is shown in all.
SHOWN = {name.partition("-")[0]: name for name in reversed(EXAMPLES)}.values()
ROOTS = {"expression-of-a-root": ("counts", {"name": "expression", "expression": "sqrt(tp*fp)/(1+fn)"})}
GATE = {"policy": "improve", "higher_is_better": True}


def request_of(name: str) -> tuple[str, dict[str, Any]]:
    """The kind and the body of an example; a formula with a root takes the counts of another."""
    if name not in ROOTS:
        return name.partition("-")[0], json.loads((SMALL / f"{name}.json").read_bytes())
    kind, statistic = ROOTS[name]
    return kind, {**request_of("counts-mcc")[1], "statistic": statistic}


def asked(name: str) -> Iterator[tuple[Kind, dict[str, Any]]]:
    """The example as each kind of request, by each method."""
    kind, request = request_of(name)
    named: Any = kind
    for method in get_args(Method):
        few = {"samples": 500, "seed": 1} if method == "monte_carlo" else {}
        one = {**request, "method": method, **few}
        yield named, {**one, "confidence_level": 0.9, "power": 0.8}
        yield "gate", {"kind": kind, "request": one, **GATE}
    yield "gate", {"kind": kind, "request": request, **GATE, "margin": 0.01}
    yield "gate", {"kind": kind, "request": request, **GATE, "sequential": {"scale": 100}}
    yield "power", {"design": {"kind": "pilot", "request_kind": kind, "request": request}, "solve": "effect"}
    if "swap" in request or "stay" in request:
        return
    board = {
        key: value for key, value in request.items() if key in {"gold", "statistic", "clusters", "groups"}
    }
    systems = {"a": request["u"], "b": request["v"], "c": turned(request["u"])}
    board["higher_is_better"] = True
    for more in ({}, {"adjust": "max_t", "confidence_level": 0.9}, {"adjust": "holm_discrete"}):
        yield "compare", {"kind": kind, "systems": systems, **board, **more}


def reported(name: str) -> Iterator[tuple[Kind, dict[str, Any], str]]:
    """The same, of some examples the first request of each kind in every representation but pictures."""
    seen = set() if name in SHOWN or name in ROOTS else {"gate", "power", "compare", name.partition("-")[0]}
    for kind, request in asked(name):
        answers = kind if kind in {"gate", "power", "compare"} else "test"
        if kind not in seen:
            for each in BY_NAME.values():
                if getattr(each, answers) is not None and not each.is_drawn:
                    yield kind, request, each.name
        seen.add(kind)
        yield kind, request, "json"


def turned(column: Any) -> Any:
    """The same numbers, last item first."""
    if isinstance(column, dict):
        return {name: values[::-1] for name, values in column.items()}
    return column[::-1]


def answered(kind: Kind, body: bytes, representation: str) -> RenderedResponse:
    now = time.monotonic()
    asked = Job(kind, Body("application/json"), (), representation, "x", now, now, limits_of(Settings()))
    return pipeline.handle(pickle.loads(pickle.dumps(asked)), body, Unbounded())


@pytest.mark.parametrize("name", [*EXAMPLES, *ROOTS])
def test_what_is_prepared_gives_the_same_answer_after_a_pickle(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    prepare = pipeline._prepared

    def through_a_pickle(job: Job, parsed: pipeline.Parsed) -> Any:
        prepared = prepare(job, parsed)
        # Whoever splits a request has looked at its price: what this leaves behind has to pickle as well.
        assert prepared.seconds >= 0.0
        assert prepared.longest_seconds >= 0.0
        return pickle.loads(pickle.dumps(prepared))

    kinds = set()
    for kind, request, representation in reported(name):
        body = json.dumps(request).encode()
        expected = answered(kind, body, representation)
        kinds |= {kind} if expected.status in {200, 409} else set()
        with monkeypatch.context() as patched:
            patched.setattr(pipeline, "_prepared", through_a_pickle)
            found = answered(kind, body, representation)
        assert found.status == expected.status < 500, (kind, request, found.body)
        assert (found.before, found.after) == (expected.before, expected.after)
    assert len(kinds) >= 2, kinds
