"""Test numbers at the limits of JSON and doubles, in every place of every request: answered correctly, or refused."""

import json
import math
from collections.abc import Iterator
from functools import cache
from typing import Any

import pytest

from tests.fuzz.asgi import GENERATED, JSON, TIMES, InProcess, judge_problem
from tests.fuzz.number_bodies import MODELS, TESTS, Place, bodies, document, numeric_nodes, places, replaced

TOKENS = ["NaN", "Infinity", "-Infinity", "1e400", "-1e400", "1e-400", "1e308", "-1e308", "1e-310", "9007199254740993", "7" * 400, "-1", "0", "1e18"]  # fmt: skip
PATHS = {"gate": "/v1/gate", "compare": "/v1/compare", "power": "/v1/power"}
FORMATS = ["json", "json", "text", "markdown", "html"]


@cache
def found() -> list[tuple[str, dict[str, Any], list[Place]]]:
    """Every body with its numbers, of equal nodes the first and the last."""
    some = []
    for kind, body in bodies():
        every = list(places(body, f"#/components/schemas/{MODELS[kind]}"))
        ends = {place.node: place for place in every} | {place.node + "/": place for place in reversed(every)}
        some.append((kind, body, list(dict.fromkeys(ends.values()))))
    return some


def test_every_number_of_every_schema_is_in_one_of_the_bodies() -> None:
    wanted = set()
    for path, item in document()["paths"].items():
        content = item.get("post", {}).get("requestBody", {}).get("content", {})
        if "application/json" in content:
            way = f"#/paths/{path.replace('/', '~1')}/post/requestBody/content/application~1json/schema"
            wanted |= numeric_nodes(way)
    assert len(wanted) > 100
    assert not wanted - {place.node for _, _, every in found() for place in every}


def test_the_bodies_are_valid(service: InProcess) -> None:
    for kind, body, _ in found():
        answered = service.ask(
            "POST", PATHS.get(kind, f"/v1/tests/{kind}"), b"", JSON, json.dumps(body).encode()
        )
        assert answered.status in {200, 409}, (kind, body, answered.body[:900])


def ways(kind: str, body: bytes) -> Iterator[tuple[str, bytes]]:
    """The request itself, and in the envelopes that take such a one."""
    inside = b'{"kind":"%s","request":%s' % (kind.encode(), body)
    yield PATHS.get(kind, f"/v1/tests/{kind}"), body
    yield "/v1/batch", b'{"tests":[%s}]}' % inside
    if kind in TESTS or kind == "compare":
        yield "/v1/plan", inside + b"}"
    if kind in TESTS:
        yield "/v1/gate", inside + b',"policy":"non_inferior","higher_is_better":true}'
        pilot = b'{"design":{"kind":"pilot","request_kind":"%s","request":%s},' % (kind.encode(), body)
        yield "/v1/power", pilot + b'"solve":"effect","power":0.5}'


@pytest.mark.parametrize("kind", MODELS)
def test_no_number_is_a_fault_of_the_service_or_gives_a_p_value_that_is_none(
    service: InProcess, kind: str
) -> None:
    """All numbers in all places in the long form; in the short one a fourteenth of them, each place with one."""
    turn = 0
    for own, body, every in found():
        for place in every if own == kind else []:
            for token in TOKENS if TIMES > 1 else [TOKENS[turn % len(TOKENS)]]:
                turn += 1
                asked = list(ways(kind, replaced(body, place.way, token)))
                for path, sent in asked if TIMES > 1 else [asked[0], asked[turn % len(asked)]]:
                    shape = "json" if path in {"/v1/batch", "/v1/plan"} else FORMATS[turn % len(FORMATS)]
                    judge(service, path, shape, sent)
                    GENERATED["extreme numbers"] += 1


def judge(service: InProcess, path: str, shape: str, sent: bytes) -> None:
    query = b"" if shape == "json" else f"format={shape}".encode()
    status, media, body = service.ask("POST", path, query, JSON, sent)
    hasty = status == 503 and b"timeout_s" in sent
    assert status < 500 or hasty, (path, shape, sent[:2000], body[:600])
    assert b"problems#internal" not in body, (path, sent[:2000])  # one of a list
    if media == "application/problem+json":
        judge_problem(body, status)
    elif media == "application/json":
        judge_numbers(json.loads(body, parse_constant=no_number), sent)


def no_number(constant: str) -> Any:
    raise AssertionError(f"{constant} in an answer")


def judge_numbers(value: Any, sent: bytes, name: str = "") -> None:
    """Every p-value is a probability, and not 0; its logarithm is at most 0 and finite."""
    if isinstance(value, dict):
        for key, inner in value.items():
            judge_numbers(inner, sent, key)
    elif isinstance(value, list):
        for inner in value:
            judge_numbers(inner, sent, name)
    elif isinstance(value, float | int) and name.startswith("log10_p"):
        assert -math.inf < value <= 0, (name, value, sent)
    elif isinstance(value, float | int) and name in {"p_value", "p_value_adjusted", "p_adjusted", "p_anytime", "mid_p_value", "min_attainable_p", "p_value_above", "p_value_below", "p_value_different"}:  # fmt: skip
        assert 0 < value <= 1, (name, value, sent)
