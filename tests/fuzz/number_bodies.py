"""Valid bodies that together have a number in every place where a request's schema takes one."""

import json
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

import jsonschema_rs

from exactperm.api.openapi_export import exported
from exactperm.service.schema.compare import OF_A_KIND

BY_ID = {"q1": 0, "q2": 1, "q3": 1, "q4": 0, "q5": 1, "q6": 1}
U, V = [0.5, 0.25, 0.75, 1, 0.5, 0], [0.25, 0.25, 0.5, 0.5, 0.75, 0.25]
LABELS = {"gold": [1, 0, 1, 1, 0, 1], "u": [1, 0, 1, 1, 0, 1], "v": [0, 0, 1, 0, 1, 1]}
RANKS = {"gold": [1.5, 0.25, 3.5, 2], "u": [0.5, 0.25, 2.5, 3.5], "v": [1.5, 0.75, 0.5, 2.5]}
TEXTS = {"gold": ["the cat sat", "a dog barks"], "u": ["the cat sat", "a dog"], "v": ["a cat", "dog barks"]}
COUNTS = {"tp": [5, 3, 4, 2], "fp": [1, 0, 2, 1], "fn": [0, 1, 1, 0]}
LESS = {"tp": [4, 3, 2, 2], "fp": [2, 1, 1, 3], "fn": [1, 1, 3, 0]}
ASKED = {"alpha": 0.05, "timeout_s": 50}
SAMPLED = {"method": "monte_carlo", "samples": 300, "seed": 7}
CODES, IDS = [1, 1, 2, 2, 3, 3], [1, 2, 3, 4, 5, 6]


def keyed(column: list[Any]) -> dict[str, Any]:
    return dict(zip(BY_ID, column, strict=False))


SCORES: dict[str, Any] = {"u": U, "v": V}
RUNS: dict[str, Any] = {"u": [[1, 0, 1], [1, 1, 1], [0, 1, 0]], "v": [[0, 0, 1], [1, 0, 1], [0, 0, 0]]}
TESTS: dict[str, list[dict[str, Any]]] = {
    "scores": [
        {**SCORES, **ASKED, "confidence_level": 0.9, "power": 0.8, "ids": IDS},
        {**SCORES, "clusters": CODES, "method": "bounds", "precision": 0.01},
        {**SCORES, **SAMPLED},
        {**SCORES, "weights": [1, 2, 0.5, 1, 1, 3], "decimals": 2},
        {"u": [[1, 0], [0.5], [1]], "v": [[0, 1], [0.5], [0]], "statistic": {"name": "mean_difference"}},
        {"u": keyed(U), "v": keyed(V), "clusters": keyed(CODES), "weights": keyed(IDS)},
        {"u": {"a": [1, 0], "b": [2]}, "v": {"a": [0, 1], "b": [1]}},
        {**RUNS, "statistic": {"name": "mean_difference", "repeats": "any", "k": 2}},
        {**RUNS, "statistic": "mean_difference", "repeats": "all", "k": 2, "exchange": "runs"},
        {**SCORES, "statistic": {"name": "quantile_difference", "q": 0.25}},
        {**SCORES, "statistic": "quantile_difference", "q": 0.25},
        {"u": [0.333, 1, 0.667], "v": [0, 0.667, 0.667], "statistic": {"unit": 0.333}},
        {"u": [0.333, 1, 0.667], "v": [0, 0.667, 0.667], "statistic": "mean_difference", "unit": 0.333},
        {"u": {"a": 1, "b": 0.5}, "v": {"a": 0, "c": 1}, "on_missing": "bounds", "missing_range": [0, 1]},
        {**SCORES, "sequential": {"scale": 1, "prior_log_e": 0.5, "planned_n": 9, "max_difference": 1}},
        {**SCORES, "test": "bootstrap", "confidence_level": 0.9},
        {**SCORES, "labels": {"u": [*U[:3], None, None, None], "v": [*V[:3], None, None, None]}, "correction": {"lambda": 0.5}},
        {"u": keyed(U), "v": keyed(V), "labels": {"u": keyed(U[:4]), "v": keyed(V[:4])}},
        {**SCORES, "labels": {"u": [[1, 0], [0.5], *[None] * 4], "v": [[0], [0.5, 1], *[None] * 4]}},
        {"u": keyed(U), "v": keyed(V), "labels": {"u": keyed([[1, 0], [0.5]]), "v": keyed([[0], [0.5, 1]])}},
        {**SCORES, "covariates": {"x": {"u": V, "v": U}, "y": {"u": U[::-1], "v": CODES}}},
        {"u": keyed(U), "v": keyed(V), "covariates": {"x": {"u": keyed(IDS), "v": keyed(CODES)}}},
        {**SCORES, "covariates": {"x": {"u": [[1, 2]] * 6, "v": [[2, 3.5]] * 6}}},
        {"u": keyed(U), "v": keyed(V), "covariates": {"x": {"u": keyed([[1, 2]] * 6), "v": keyed([[0, 1.5]] * 6)}}},
    ],
    "counts": [
        {"u": COUNTS, "v": LESS, **ASKED, "confidence_level": 0.9, "power": 0.8, "ids": IDS[:4]},
        {"u": COUNTS, "v": LESS, "clusters": CODES[:4], "method": "bounds", "precision": 0.01},
        {"u": COUNTS, "v": LESS, **SAMPLED, "statistic": {"name": "fbeta", "beta": 2}},
        {"u": COUNTS, "v": LESS, "statistic": "fbeta", "beta": 2},
        {"u": COUNTS, "v": LESS, "statistic": {"name": "expression", "expression": "exp(tp/9)+sqrt(fp)-log(1+fn)"}},
        {"u": [{"tp": 1, "fp": 2, "fn": 0}, {"tp": 3, "fp": 0, "fn": 1}], "v": [{"tp": 1, "fp": 1, "fn": 1}, {"tp": 2, "fp": 0, "fn": 1}]},
        {
            "u": {"a": {"tp": 1, "fp": 2, "fn": 0}, "b": {"tp": 3, "fp": 0, "fn": 1}},
            "v": {"a": {"tp": 1, "fp": 1, "fn": 1}, "b": {"tp": 2, "fp": 0, "fn": 1}},
            "clusters": {"a": 1, "b": 2},
        },
    ],
    "predictions": [
        {**LABELS, **ASKED, "confidence_level": 0.9, "power": 0.8, "ids": IDS},
        {**LABELS, "clusters": CODES, **SAMPLED, "statistic": {"name": "f1"}},
        {**LABELS, "method": "bounds", "precision": 0.01, "statistic": {"name": "f1", "average": "macro", "labels": [0, 1]}},
        {**LABELS, "statistic": {"name": "recall", "positive": 1}},
        {**LABELS, "statistic": "f1", "average": "macro", "labels": [0, 1]},
        {**LABELS, "statistic": "recall", "positive": 1},
        {name: keyed(column) for name, column in LABELS.items()} | {"clusters": keyed(CODES)},
        {name: [[value, 1] for value in column] for name, column in LABELS.items()},
        {name: keyed([[value, 1] for value in column]) for name, column in LABELS.items()},
        {**RANKS, "groups": [1, 1, 2, 2], "statistic": {"name": "pairwise_accuracy", "epsilon": 0.5}},
        {**RANKS, "statistic": "pairwise_accuracy", "epsilon": 0.5},
        {"gold": keyed([1.5, 0.25, 3.5, 2]), "u": keyed([0.5, 0.25, 2.5, 3.5]), "v": keyed([1.5, 0.75, 0.5, 2.5]), "groups": keyed([1, 1, 2, 2]), "statistic": {"name": "kendall"}},
        {**TEXTS, "statistic": {"name": "chrf", "word_order": 2, "beta": 2}},
        {**TEXTS, "statistic": "chrf", "word_order": 2, "beta": 2},
    ],
    "effects": [
        {"stay": [3, -1, 0, 2.5], **ASKED, "confidence_level": 0.9, "power": 0.8, "ids": IDS[:4]},
        {"stay": [3, -1, 0, 2], "swap": [1, 1, 0, 2], "clusters": CODES[:4], "method": "bounds", "precision": 0.01},
        {"stay": [[3, 1], [2, 2.5], [1, 0]], "swap": [[1, 1], [2, 2], [0, 1]], "statistic": {"expression": "x1/(x1+x2)"}, **SAMPLED},
        {"stay": [3, -1, 0], "ids": ["q1", "q2", "q3"], "clusters": {"q1": 1, "q2": 1, "q3": 2}},
        {"stay": [[1, 2], [3, 4]], "statistic": {"expression": "log(x1*x2)-x1"}},
    ],
}  # fmt: skip
_SLICED: dict[str, dict[str, Any]] = {
    "scores": SCORES,
    "counts": {"u": COUNTS, "v": LESS},
    "predictions": LABELS,
    "effects": {"stay": [3, -1, 0, 2.5]},
}
for _kind, _data in _SLICED.items():
    _n = len(_data["stay"]) if _kind == "effects" else 4 if _kind == "counts" else 6
    TESTS[_kind] += [{**_data, "slices": CODES[:_n]}, {**_data, "slices": [[code, 7] for code in CODES[:_n]]}]
    if _kind != "counts":
        _by_id = {name: keyed(column) for name, column in _data.items()}
        _plain, _listed = keyed(CODES[:_n]), keyed([[code, 7] for code in CODES[:_n]])
        TESTS[_kind] += (
            [{**_by_id, "slices": _plain}, {**_by_id, "slices": _listed}] if _kind != "effects" else []
        )
TESTS["counts"] += [
    {**TESTS["counts"][-3], "slices": {"a": 1, "b": 2}},
    {**TESTS["counts"][-3], "slices": {"a": [1, 3], "b": [2, 3]}},
]
_IDS = ["q1", "q2", "q3"]
TESTS["effects"] += [
    {"stay": [3, -1, 0], "ids": _IDS, "slices": {"q1": 1, "q2": 1, "q3": 2}},
    {"stay": [3, -1, 0], "ids": _IDS, "slices": {"q1": [1], "q2": [1, 3], "q3": [2]}},
]
SYSTEMS = {"A": U, "B": V, "C": U[::-1]}
BOARD: dict[str, Any] = {"kind": "scores", "systems": SYSTEMS, "higher_is_better": True}
BATTLES = [
    {"id": 1, "model_a": "A", "model_b": "B", "winner": "model_a"},
    {"id": 1, "model_a": "B", "model_b": "A", "winner": "tie"},
    {"id": 2, "model_a": "B", "model_b": "A", "winner": "model_a"},
    {"id": 3, "model_a": "A", "model_b": "B", "winner": "model_b"},
]
BOARDS: list[dict[str, Any]] = [
    {"kind": "preferences", "battles": BATTLES, "compare": "all_pairs", "confidence_level": 0.9},
    {**BOARD, "confidence_level": 0.9, "range": [0, 1.5]},
    {**BOARD, **ASKED, "confidence_level": 0.9, "ids": IDS, "clusters": CODES, "decimals": 2},
    {**BOARD, **SAMPLED, "weights": [1, 2, 0.5, 1, 1, 3]},
    {**BOARD, "method": "bounds", "precision": 0.01},
    {**BOARD, "statistic": {"name": "quantile_difference", "q": 0.25}, "adjust": "bh"},
    {**BOARD, "adjust": "holm_discrete"},
    {**BOARD, "statistic": "quantile_difference", "q": 0.25},
    {"kind": "scores", "systems": {"A": [0.333, 1, 0.667], "B": [0, 0.667, 0.667]}, "statistic": "mean_difference", "unit": 0.333},
    {"kind": "scores", "systems": ["A", "B"], "scores": [[1, 0], [0.5, 0], [1, 1]]},
    {
        "kind": "scores", "systems": {name: keyed(column) for name, column in SYSTEMS.items()},
        "clusters": keyed(CODES), "weights": keyed(IDS),
    },
]  # fmt: skip
GOLD_BOARD: dict[str, Any] = {"gold": [1, 0, 1, 1], "systems": {"A": [1, 0, 1, 0], "B": [0, 0, 1, 1]}}
RANKED: dict[str, Any] = {
    "gold": [1.5, 0.25, 3.5, 2],
    "systems": {"A": [0.5, 0.25, 2.5, 3.5], "B": [1.5, 0.75, 0.5, 2.5]},
}
DATASETS: list[dict[str, Any]] = [
    {"systems": SYSTEMS, "ids": IDS, "clusters": CODES},
    {"systems": SYSTEMS, "weights": [1, 2, 0.5, 1, 1, 3]},
    {"systems": ["A", "B"], "scores": [[1, 0], [0.5, 0], [1, 1]]},
    {"systems": {n: keyed(c) for n, c in SYSTEMS.items()}, "clusters": keyed(CODES), "weights": keyed(IDS)},
]


def with_gold() -> Iterator[dict[str, Any]]:
    """Boards beside gold: labels, sequences and ranks, by position and by id."""
    systems = GOLD_BOARD["systems"]
    yield {**GOLD_BOARD, "statistic": {"name": "accuracy"}}
    yield {
        "gold": [[label, 1] for label in GOLD_BOARD["gold"]],
        "systems": {name: [[label, 1] for label in column] for name, column in systems.items()},
        "statistic": {"name": "token_accuracy"},
    }
    yield {**RANKED, "groups": [1, 1, 2, 2], "statistic": {"name": "pairwise_accuracy"}}
    for board, name in ((GOLD_BOARD, "accuracy"), (RANKED, "kendall")):
        yield {
            "gold": keyed(board["gold"]),
            "systems": {system: keyed(column) for system, column in board["systems"].items()},
            "statistic": {"name": name},
            **({"groups": keyed([1, 1, 2, 2])} if name == "kendall" else {}),
        }
    yield {
        "gold": keyed([[label, 1] for label in GOLD_BOARD["gold"]]),
        "systems": {name: keyed([[label, 1] for label in column]) for name, column in systems.items()},
        "statistic": {"name": "token_accuracy"},
    }


def boards() -> Iterator[dict[str, Any]]:
    """Requests for boards of one data set, and of two."""
    yield {"kind": "scores", "systems": {"A": RUNS["u"], "B": RUNS["v"]}, "repeats": "any", "k": 2}
    yield from BOARDS
    labels: dict[str, Any] = {"kind": "predictions", **GOLD_BOARD}
    yield {**labels, "statistic": "f1", "average": "macro", "labels": [0, 1]}
    yield {**labels, "statistic": "recall", "positive": 1}
    yield {"kind": "predictions", **RANKED, "statistic": "pairwise_accuracy", "epsilon": 0.5}
    texts = {"gold": TEXTS["gold"], "systems": {"A": TEXTS["u"], "B": TEXTS["v"]}}
    yield {"kind": "predictions", **texts, "statistic": "chrf", "word_order": 2, "beta": 2}
    for data in DATASETS:
        yield {"kind": "scores", "datasets": {"one": data, "two": data}, "higher_is_better": True}
    for board in with_gold():
        yield {"kind": "predictions", **board}
        statistic = {"statistic": board["statistic"]}
        data = {name: value for name, value in board.items() if name != "statistic"}
        yield {"kind": "predictions", "datasets": {"one": data, "two": data}, **statistic}


SEVERAL: list[dict[str, Any]] = [
    {"systems": SYSTEMS, "statistic": {"name": "contrast", "weights": {"A": 1, "B": -0.5, "C": -0.5}}, **ASKED, "ids": IDS, "decimals": 2},
    {"systems": SYSTEMS, "statistic": {"name": "page", "order": ["A", "B", "C"]}, **SAMPLED},
    {"systems": SYSTEMS, "statistic": "contrast", "weights": {"A": 1, "B": -0.5, "C": -0.5}},
    {"systems": ["A", "B", "C"], "scores": [[1, 0, 2], [0.5, 0, 1], [1, 1, 0]], "statistic": "friedman"},
]  # fmt: skip
PREFERENCES: list[dict[str, Any]] = [
    {"battles": BATTLES, **ASKED, "confidence_level": 0.9},
    {"battles": BATTLES, "u": "A", "v": "B", **SAMPLED},
    {"battles": BATTLES, "method": "bounds", "precision": 0.01, "power": 0.8},
    {"battles": BATTLES, "sequential": {"scale": 2, "prior_log_e": 0.5, "planned_n": 9, "max_difference": 1}},
]
GATE: dict[str, Any] = {"policy": "improve", "higher_is_better": True}


def gates() -> Iterator[dict[str, Any]]:
    yield {"kind": "scores", "request": SCORES, **GATE, "margin": 0.1, "alpha": 0.05}
    yield {"kind": "scores", "request": SCORES, **GATE, "policy": "equivalent", "margin": 0.3}
    labelled = {"kind": "predictions", "request": LABELS, "name": "labels", "margin": 0.1}
    yield {**GATE, "metrics": [{"kind": "scores", "request": SCORES, "name": "one", "margin": 0.1}, labelled]}
    sequential = {"scale": 2, "prior_log_e": 0.5, "planned_n": 9, "max_difference": 1}
    yield {"kind": "scores", "request": SCORES, **GATE, "margin": 0.1, "sequential": sequential}
    target = {"policy": "at_least", "threshold": 0.4, "range": [0, 1.5]}
    yield {"kind": "scores", "request": {"u": U}, **target}
    yield {"metrics": [{"kind": "scores", "request": {"u": U}, "name": "one", **target}]}
    for kind, bodies in TESTS.items():
        yield {"kind": kind, "request": bodies[0], **GATE}


def powers() -> Iterator[dict[str, Any]]:
    asked = {"solve": "n", "effect": 0.05, "power": 0.8}
    yield {"design": {"kind": "sd", "sd": 0.3}, **asked, **ASKED, "comparisons": 3}
    yield {"design": {"kind": "sd", "sd": 0.3}, "solve": "power", "n": 50, "effect": 0.05}
    yield {"design": {"kind": "sd", "sd": 0.3}, "solve": "effect", "n": [50, 100]}
    yield {"design": {"kind": "binary", "p10": 0.08, "p01": 0.05}, "solve": "effect", "n": [100, 300]}
    yield {"design": {"kind": "binary", "p10": 0.08, "p01": 0.05}, "solve": "n", "effect": 0.01}
    yield {"design": {"kind": "binary", "u": 0.83, "v": 0.8, "discordance": 0.13}, "solve": "n"}
    yield {"design": {"kind": "binary", "u": 0.83, "v": 0.8, "correlation": 0.5}, "solve": "power", "n": 90}
    for runs in ([[1, 0, 1], [1, 1]], [1, 0, 1], {"a": [1, 0], "b": [1]}, {"a": 1, "b": 0}):
        yield {"design": {"kind": "runs", "v": runs}, "solve": "false_alarm", "floor": 0.5}
    of_runs = {"kind": "pilot", "request_kind": "scores", "request": RUNS}
    yield {"design": of_runs, "solve": "n", "effect": 0.2, "runs_per_item": 5}
    yield {"design": of_runs, "solve": "n", "effect": 0.2, "item_cost": 2.5}
    for kind in TESTS:
        pilot = {"kind": "pilot", "request_kind": kind, "request": pilot_of(kind)}
        yield {"design": pilot, "solve": "effect", "power": 0.8}
        yield {"design": pilot, "solve": "power", "effect": 0.01}
        if kind not in {"effects", "counts"}:
            yield {"design": pilot, "solve": "n", "effect": 0.15, "power": 0.5}


def pilot_of(kind: str) -> dict[str, Any]:
    """A test whose power is known: of one sum, without what belongs to an answer."""
    ratio = {"name": "ratio", "numerator": "tp", "denominator": "total"}
    total = {"total": [9, 4, 7, 6]}
    pilots: dict[str, dict[str, Any]] = {
        "effects": {"stay": [3, -1, 0.5, 2]},
        "counts": {"u": {"tp": COUNTS["tp"], **total}, "v": {"tp": LESS["tp"], **total}, "statistic": ratio},
        "scores": SCORES,
        "predictions": LABELS,
    }
    return pilots[kind]


MODELS: dict[str, str] = {kind: model.__name__ for kind, model in OF_A_KIND.items()}


def bodies() -> Iterator[tuple[str, dict[str, Any]]]:
    """The kind of each request, and its body."""
    for kind, some in TESTS.items():
        yield from ((kind, body) for body in some)
    yield from (("gate", body) for body in gates())
    yield from (("compare", body) for body in boards())
    yield from (("power", body) for body in powers())
    yield from (("systems", body) for body in SEVERAL)
    yield from (("preferences", body) for body in PREFERENCES)


class Place(NamedTuple):
    """A number in a body: the way to it, and the node of the document that describes it."""

    way: tuple[str | int, ...]
    node: str


@cache
def document() -> Any:
    return json.loads(exported())


def node_at(pointer: str) -> Any:
    node = document()
    for token in pointer[2:].split("/"):
        name = token.replace("~1", "/").replace("~0", "~")
        node = node[int(name)] if isinstance(node, list) else node[name]
    return node


@cache
def validator_of(pointer: str) -> Any:
    return jsonschema_rs.validator_for({"components": document()["components"], "$ref": pointer})


def _branches(pointer: str) -> list[str]:
    node = node_at(pointer)
    some = [
        f"{pointer}/{word}/{at}"
        for word in ("anyOf", "oneOf", "allOf")
        for at in range(len(node.get(word, [])))
    ]
    return [*some, node["$ref"]] if "$ref" in node else some


def _is_numeric(pointer: str) -> bool:
    types = node_at(pointer).get("type", [])
    return bool({"number", "integer"} & set([types] if isinstance(types, str) else types))


def _below(pointer: str) -> Iterator[tuple[str | None, str]]:
    """(name, node) of the members that a node describes by name; None for those of any name, and for items."""
    node = node_at(pointer)
    for name in node.get("properties", {}):
        yield name, f"{pointer}/properties/{name.replace('~', '~0').replace('/', '~1')}"
    for word in ("items", "additionalProperties"):
        if isinstance(node.get(word), dict):
            yield None, f"{pointer}/{word}"


def numeric_nodes(pointer: str, seen: set[str] | None = None) -> set[str]:
    """All nodes below one that take a number."""
    seen = set() if seen is None else seen
    if pointer in seen:
        return set()
    seen.add(pointer)
    found = {pointer} if _is_numeric(pointer) else set()
    below = [*_branches(pointer), *(child for _, child in _below(pointer))]
    return found.union(*(numeric_nodes(child, seen) for child in below))


def places(value: Any, pointer: str, way: tuple[str | int, ...] = ()) -> Iterator[Place]:
    """The numbers of a valid value, with the nodes that describe them."""
    if not validator_of(pointer).is_valid(value):
        return
    if type(value) in {int, float} and _is_numeric(pointer):
        yield Place(way, pointer)
    for branch in _branches(pointer):
        yield from places(value, branch, way)
    for name, child in _below(pointer):
        if isinstance(value, dict):
            own = node_at(pointer).get("properties", {})
            names = [name] if name is not None else [key for key in value if key not in own]
            for key in (key for key in names if key in value):
                yield from places(value[key], child, (*way, key))
        elif isinstance(value, list) and name is None:
            for at, item in enumerate(value):
                yield from places(item, child, (*way, at))


def replaced(body: Any, way: tuple[str | int, ...], token: str) -> bytes:
    """The body as JSON with another number in one place, written as it is."""
    marked = json.loads(json.dumps(body))
    inner = marked
    for step in way[:-1]:
        inner = inner[step]
    inner[way[-1]] = "@number@"
    return json.dumps(marked).replace('"@number@"', token).encode()
