"""Each value of every enum of a request, in each representation: answered, or refused with a reason.

The walk follows the OpenAPI document, so that a new choice is tried by being there, if one of the bodies has its object.
"""

import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from exactperm.reports.representations import BY_NAME, OF_A_COMPARISON, OF_A_GATE, OF_A_TEST, OF_POWER
from tests.fuzz.asgi import GENERATED, JSON, TIMES, InProcess, judge_problem
from tests.fuzz.number_bodies import GATE, MODELS, TESTS, _below, _branches, bodies, node_at, validator_of
from tests.fuzz.test_extreme_numbers import PATHS, judge_numbers, no_number

SMALL = Path(__file__).parents[2] / "openapi/examples/small"
REPRESENTATIONS = {"gate": OF_A_GATE, "compare": OF_A_COMPARISON, "power": OF_POWER}
Step = str | int


def choices(pointer: str, seen: frozenset[str] = frozenset()) -> Iterator[tuple[str, Any]]:
    """(node, value) of the enums that a member may be, without going into objects."""
    node = node_at(pointer)
    if "const" in node or "enum" in node:
        yield from ((pointer, value) for value in node.get("enum", [node.get("const")]))
    for branch in _branches(pointer):
        if branch not in seen:
            yield from choices(branch, seen | {pointer})


def placed(
    value: Any, pointer: str, way: tuple[Step, ...] = ()
) -> Iterator[tuple[tuple[Step, ...], str, Any]]:
    """(way, node, choice) of all choices of the objects in a valid body, whether their members are there or not."""
    if not validator_of(pointer).is_valid(value):
        return
    for branch in _branches(pointer):
        yield from placed(value, branch, way)
    for name, child in _below(pointer):
        if isinstance(value, dict) and name is not None:
            yield from ((((*way, name)), node, choice) for node, choice in choices(child))
            if name in value:
                yield from placed(value[name], child, (*way, name))
        elif isinstance(value, dict):
            known = node_at(pointer).get("properties", {})
            for key in [key for key in value if key not in known][:1]:
                yield from placed(value[key], child, (*way, key))
        elif isinstance(value, list) and name is None and value:
            yield from placed(value[0], child, (*way, 0))


def changed(body: Any, way: tuple[Step, ...], choice: Any) -> Any:
    copied = json.loads(json.dumps(body))
    inner = copied
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = choice
    return copied


@cache
def examples_of(kind: str) -> list[Any]:
    """The small examples and the bodies with numbers; for gates also those with each kind of example."""
    small = [json.loads(path.read_bytes()) for path in sorted(SMALL.glob(f"{kind}-*.json"))]
    some = [body for own, body in bodies() if own == kind]
    if kind in TESTS:
        some.append({**TESTS[kind][0], "sequential": {"mode": "anytime"}})
    for one in TESTS if kind in {"gate", "power"} else []:
        for body in examples_of(one):
            pilot = {"kind": "pilot", "request_kind": one, "request": body}
            asked = {"design": pilot, "solve": "power", "effect": 0.01}
            some.append(asked if kind == "power" else {"kind": one, "request": body, **GATE})
    return [*small, *some]


@cache
def found(kind: str) -> list[tuple[Any, tuple[Step, ...], Any]]:
    """Each choice in the first body where the document allows it, and in the first where it is the first of its name."""
    model = f"#/components/schemas/{MODELS[kind]}"
    some: dict[tuple[str, str, str], tuple[Any, tuple[Step, ...], Any]] = {}
    for body in examples_of(kind):
        for way, node, choice in placed(body, model):
            # A choice within a statistic is one of each statistic.
            key = (node, str(choice), str(way[:-1]))
            if key not in some and validator_of(model).is_valid(changed(body, way, choice)):
                some[key] = (body, way, choice)
    return list(some.values())


def enums(pointer: str, seen: set[str]) -> set[tuple[str, str]]:
    """All choices below a node: (node, value)."""
    if pointer in seen:
        return set()
    seen.add(pointer)
    # What a list or an object of any names has in it is data.
    below = [
        *_branches(pointer),
        *(child for name, child in _below(pointer) if name or "enum" not in node_at(child)),
    ]
    own = node_at(pointer)
    values = own.get("enum", [own["const"]] if "const" in own else [])
    return {(pointer, str(value)) for value in values}.union(*(enums(child, seen) for child in below))


@pytest.mark.parametrize("kind", MODELS)
def test_each_choice_in_each_representation_is_answered_or_refused(service: InProcess, kind: str) -> None:
    """All representations in the long form; in the short one JSON or another, and few that are drawn."""
    offered = [name for name in REPRESENTATIONS.get(kind, OF_A_TEST) if name != "png"]
    quick = [name for name in offered if not BY_NAME[name].is_drawn]
    path = PATHS.get(kind, f"/v1/tests/{kind}")
    assert len(found(kind)) > 10
    for turn, (body, way, choice) in enumerate(found(kind)):
        sent = json.dumps(changed(body, way, choice)).encode()
        some = offered if turn % 40 == 0 else quick
        for shape in offered if TIMES > 1 else [some[turn // 3 % len(some)]]:
            query = b"" if shape == "json" else f"format={shape}".encode()
            status, media, answer = service.ask("POST", path, query, JSON, sent)
            assert status < 500, (path, shape, way, choice, sent[:2000], answer[:600])
            if media == "application/problem+json":
                judge_problem(answer, status)
            elif media == "application/json":
                judge_numbers(json.loads(answer, parse_constant=no_number), sent)
            GENERATED[f"choices in representations: {'answered' if status in {200, 409} else 'refused'}"] += 1


@pytest.mark.parametrize("kind", MODELS)
def test_every_choice_of_a_request_is_tried(kind: str) -> None:
    model = f"#/components/schemas/{MODELS[kind]}"
    tried = {(node, str(choice)) for body in examples_of(kind) for _, node, choice in placed(body, model)}
    assert not enums(model, set()) - tried
