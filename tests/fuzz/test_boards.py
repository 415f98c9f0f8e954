"""Leaderboards of every kind, malformed ones among them: answered or refused, and never a fault of the service."""

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any, get_args
from urllib.parse import urlencode

import numpy as np
import pytest
from hypothesis import given, strategies as st

from exactperm.answers.board import Adjust, Aggregate, Combine, Family, ListedPairs
from exactperm.answers.test import Alternative, Method
from exactperm.service.kinds import CSV, JSON, NDJSON, NPY, TSV
from exactperm.statistics.pairwise.data import PAIRWISE
from tests.binary import npy
from tests.fuzz.asgi import GENERATED, InProcess, examples
from tests.fuzz.mutations import STEPS, Steps, mutated

NAMES = ["A", "B", "C", "a/b~", "", "ü", "<script>", "=cmd()", "A" * 300, "NaN"]
NUMBERS = st.sampled_from(
    [0, 1, 1, 0, 0.5, 0.25, 0.1, -1, 2, 3, 20, 1e-300, 1e300, -0.0, 0.1 + 0.2, 2**53, 2**70]
)
ODD: Any = st.sampled_from([None, True, "1", "x", [], {}, [1, 0.5], [[1]], float("nan"), 10**400])
LABELS = st.sampled_from(
    ["N", "V", "O", "B-PER", "I-PER", 1, True, "", ["N", "V"], ["B-PER", "O"], "the cat sat"]
)
STATISTICS = [
    None, {}, {"name": "mean_difference"}, {"name": "sum_difference"}, {"name": "sign"}, {"name": "signed_rank"}, {"name": "f1"},
    {"name": "f1", "average": "macro"}, {"name": "accuracy"}, {"name": "span_f1"}, {"name": "mcc"}, {"name": "bleu"}, {"name": "chrf"},
    {"name": "ratio", "numerator": "tp", "denominator": "incorrect"}, {"expression": "x1"}, {"name": "x"}, "sign",
]  # fmt: skip
OPTIONS: dict[str, list[Any]] = {
    "compare": ["all_pairs", "baseline", [["A", "B"]], [["B", "A"], ["A", "B"]], [["A", "Z"]], [], [[]], "x"],
    "baseline": ["A", "Z", None, 1],
    "adjust": [*get_args(Adjust), "x"],
    "family": [*get_args(Family), None],
    "aggregate": [*get_args(Aggregate), None, "x"],
    "combine": [*get_args(Combine), None],
    "on_missing": ["error", "pairwise", "complete", "drop"],
    "higher_is_better": [True, False, None],
    "alternative": list(get_args(Alternative)),
    "alpha": [0.05, 0.5, 0.999, 1e-300, 0, "x"],
    "confidence_level": [0.9, None, 1],
    "pairs": list(get_args(ListedPairs)),
    "method": list(get_args(Method)),
    "samples": [1, 50, 10**9],
    "seed": [0, -1],
    "precision": [0.1, 1e-9],
    "decimals": [0, 3, -1],
    "timeout_s": [2e-3, 5, 0],
    "ids": [["q1", "q2", "q3"], ["q1", "q1", "q2"], []],
    "clusters": [[0, 0, 1], ["a", "b", "b"], {"q0": 1}, []],
    "weights": [[1, 2, 0.5], [0, 0, 0], [-1, 1, 1], {"q0": 1, "q1": 2, "q2": 1}, ["x"], []],
    "groups": [[0, 0, 1], ["a", "b", "b"], {"q0": 1}, []],
    "event": [[1, 0, 1], [True, False, True], [2, 0, 1], {"q0": 1}],
    "unknown": [1],
}
OF_ALL = [
    name for name in OPTIONS if name not in {"ids", "clusters", "weights", "groups", "event", "unknown"}
]


def columns(values: Any) -> Any:
    """Mostly as many as there are items, by position or by id."""
    by_id = st.dictionaries(st.sampled_from([f"q{item}" for item in range(7)]), values, max_size=6)
    return st.one_of(*[st.lists(values, min_size=n, max_size=n) for n in (3, 3, 3, 6, 6, 0)], by_id)


COUNTS = st.fixed_dictionaries({"tp": st.lists(st.integers(0, 5), min_size=3, max_size=3)}, optional={"incorrect": st.lists(st.integers(0, 3), min_size=3, max_size=3)})  # fmt: skip
VALUES: dict[str, Any] = {
    "scores": columns(NUMBERS),
    "counts": COUNTS,
    "predictions": columns(LABELS),
    "odd": columns(st.one_of(NUMBERS, ODD)),
    "none": ODD,
}


FITTING: dict[str, list[Any]] = {
    "scores": [
        None,
        {"name": "mean_difference"},
        {"name": "sum_difference"},
        {"name": "sign"},
        {"name": "signed_rank"},
    ],
    "counts": [
        {"name": "f1"},
        {"name": "ratio", "numerator": "tp", "denominator": "incorrect"},
        {"name": "accuracy"},
    ],
    "predictions": [
        None,
        {"name": "accuracy"},
        {"name": "f1", "average": "macro"},
        {"name": "mcc"},
        {"name": "bleu"},
        *[{"name": name} for name in sorted(PAIRWISE)],
    ],
}
FITTING_VALUES: dict[str, list[list[Any]]] = {
    "scores": [
        [0, 1],
        [0, 0.5, 1],
        [0.1, 0.25, 0.3, 0.9],
        [1, 2, 3, 20],
        [0.1 + 0.2, 1 / 3, 1e-9],
        [1e300, -1e300, 5e-324],
    ],
    "counts": [[0]],
    "predictions": [["N", "V"], [0, 1], ["the cat sat", "a cat", "on the mat"]],
}


@st.composite
def wild(draw: Callable[..., Any]) -> dict[str, Any]:
    """A request with independent parts."""
    kind = draw(st.sampled_from(["scores", "scores", "counts", "predictions", "effects"]))
    data = draw(st.sampled_from([kind, kind, kind, kind, kind, "odd", "none"]))
    values = VALUES.get(data, VALUES["scores"])
    systems = st.dictionaries(st.sampled_from(NAMES), values, min_size=0 if data == "none" else 2, max_size=6)
    request: dict[str, Any] = {"kind": kind, "statistic": draw(st.sampled_from(STATISTICS))}
    shape = draw(st.sampled_from(["systems", "systems", "datasets", "matrix", "both"]))
    gold = draw(VALUES["predictions"]) if kind == "predictions" else None
    if shape in {"systems", "both"}:
        request |= {"systems": draw(systems), "gold": gold}
    if shape in {"datasets", "both"}:
        own = st.fixed_dictionaries({"systems": systems, "gold": st.just(gold)})
        request["datasets"] = draw(st.dictionaries(st.sampled_from(NAMES), own, max_size=3))
    if shape == "matrix":
        names = draw(st.lists(st.sampled_from(NAMES), max_size=4))
        row = st.lists(
            NUMBERS, min_size=len(names), max_size=len(names) + draw(st.sampled_from([0, 0, 0, 1]))
        )
        request |= {"systems": names, "scores": draw(st.lists(row, max_size=6))}
    names = draw(st.lists(st.sampled_from(list(OPTIONS)), max_size=3, unique=True))
    request |= {name: draw(st.sampled_from(OPTIONS[name])) for name in names}
    return {name: value for name, value in request.items() if value is not None or name in names}


def _column(draw: Callable[..., Any], kind: str, items: int, numbers: list[Any]) -> Any:
    several = st.lists(st.sampled_from(numbers), min_size=items, max_size=items)
    if kind == "counts":
        whole = st.lists(st.integers(0, 5), min_size=items, max_size=items)
        return {"tp": draw(whole), "incorrect": draw(whole)}
    return draw(several)


def _beside(draw: Callable[..., Any], kind: str, items: int) -> dict[str, list[Any]]:
    """Columns beside the systems' that such data may have, each in one case of three or so."""
    values: dict[str, Any] = {"clusters": st.integers(0, 3)}
    if kind == "scores":
        values["weights"] = st.sampled_from([1, 2, 0.5, 0.25, 10])
    if kind == "predictions":
        values |= {"groups": st.integers(0, 2), "event": st.integers(0, 1)}
    return {
        name: draw(st.lists(own, min_size=items, max_size=items))
        for name, own in values.items()
        if draw(st.integers(0, 2)) == 0
    }


@st.composite
def sound(draw: Callable[..., Any]) -> dict[str, Any]:
    """A request that mostly fits together; at most one option that may not."""
    kind = draw(st.sampled_from(list(FITTING)))
    values = draw(st.sampled_from(FITTING_VALUES[kind]))
    names = draw(
        st.lists(
            st.sampled_from([name for name in NAMES if 0 < len(name) < 99]),
            min_size=2,
            max_size=6,
            unique=True,
        )
    )

    def board() -> dict[str, Any]:
        items = draw(st.integers(1, 9))
        own: dict[str, Any] = {"systems": {name: _column(draw, kind, items, values) for name in names}}
        if kind == "predictions":
            own["gold"] = _column(draw, kind, items, values)
        beside = _beside(draw, kind, items)
        form = draw(st.sampled_from(["by position", "with ids", "by id"]))
        ids = [f"q{item}" for item in range(items)]
        if form == "with ids":
            own["ids"] = draw(st.permutations(ids))
        if form != "by id" or kind == "counts":
            return own | beside
        by_id = {name: dict(zip(ids, column, strict=True)) for name, column in own["systems"].items()}
        if draw(st.booleans()) and items > 2:  # some items are missing
            by_id[names[0]].pop(ids[draw(st.integers(0, items - 1))])
        keyed = {name: dict(zip(ids, column, strict=True)) for name, column in beside.items()}
        gold = {"gold": dict(zip(ids, own["gold"], strict=True))} if "gold" in own else {}
        return {"systems": by_id, **gold, **keyed}

    statistic = draw(st.sampled_from(FITTING[kind]))
    request: dict[str, Any] = {"kind": kind, **({} if statistic is None else {"statistic": statistic})}
    if draw(st.integers(0, 3)):
        request |= board()
    else:
        request["datasets"] = {name: board() for name in ("d1", "d/2")[: draw(st.integers(1, 2))]}
        request["aggregate"] = draw(st.sampled_from([None, None, "macro", "micro"]))
    request["on_missing"] = draw(st.sampled_from(["error", "pairwise", "complete"]))
    request["compare"] = draw(st.sampled_from(["all_pairs", "all_pairs", "baseline", [names[:2]]]))
    if request["compare"] == "baseline":
        request["baseline"] = names[0]
    request["adjust"] = draw(st.sampled_from(get_args(Adjust)))
    name = draw(st.sampled_from([*OPTIONS, *[None] * 10]))
    return request if name is None else {**request, name: draw(st.sampled_from(OPTIONS[name]))}


def boards() -> Any:
    """One request, as a JSON value."""
    return st.one_of(sound(), sound(), wild())


def encoded(request: Any) -> bytes:
    return json.dumps(request).encode()


def arrays() -> list[bytes]:
    """Arrays of several systems, and invalid ones."""
    given = [
        np.eye(4),
        np.zeros((3, 2)),
        np.ones((2, 5), dtype=np.int64),
        np.ones(3),
        np.full((3, 3), np.nan),
    ]
    return [npy(array) for array in given]


TABLES = (
    b"id,A,B,C\nq1,1,0,1\nq2,0.5,1,0\nq3,1,1,0\n",
    b"id,A,B,cluster\nq1,1,0,x\nq2,0,1,x\nq3,1,1,y\n",
    b"id,system,score\nq1,A,1\nq1,B,0\nq2,A,1\nq2,B,1\n",
    b"id,system,score,dataset,cluster\nq1,A,1,d,1\nq1,B,0,d,1\nq1,A,1,e,1\nq1,B,0.5,e,1\n",
    b"id,A,B,C,weight\nq1,1,0,1,2\nq2,0.5,1,0,0.5\nq3,1,1,0,1\n",
    b"label,A,B,C,group\n1,0.9,0.5,0.1,x\n0,0.4,0.6,0.3,x\n1,0.2,0.7,0.8,y\n0,0.1,0.2,0.9,y\n",
    b"A,B\n1,0\n0,1\n",
    b"1,0,1\n0,1,1\n",
)
LINES = (
    b'{"id":"q1","system":"A","score":1}\n{"id":"q1","system":"B","score":0}\n',
    b'{"id":"q1","system":"A","score":1,"dataset":"d"}\n{"id":"q1","system":"B","score":0,"dataset":"d"}\n',
)


AS_JSON = [(b"content-type", JSON.encode())]
QUERIES = st.lists(st.sampled_from(OF_ALL), max_size=2, unique=True).flatmap(
    lambda names: st.tuples(*[st.tuples(st.just(name), st.sampled_from(OPTIONS[name])) for name in names])
)

# By what the p-value of a rank, counted from 1, is multiplied in a family of m.
FACTORS: dict[str, Callable[[int, int], Fraction]] = {
    "none": lambda m, rank: Fraction(1),
    "bonferroni": lambda m, rank: Fraction(m),
    "holm": lambda m, rank: Fraction(m - rank + 1),
    "hochberg": lambda m, rank: Fraction(m - rank + 1),
    "bh": Fraction,
    "by": lambda m, rank: Fraction(m, rank) * sum((Fraction(1, k) for k in range(1, m + 1)), Fraction(0)),
}

# What says that a table has gold, and which column is what.
BESIDE = [
    [],
    [],
    [("gold_column", "label")],
    [("statistic", "auc")],
    [("statistic", "kendall"), ("groups", "group")],
]


@examples(120)
@given(boards())
def test_a_board_is_answered_or_refused(service: InProcess, request_: dict[str, Any]) -> None:
    service.judge("compare", b"", AS_JSON, encoded(request_))


@examples(40)
@given(boards())
def test_its_plan_is_answered_or_refused(service: InProcess, request_: dict[str, Any]) -> None:
    service.judge("plan", b"", AS_JSON, encoded({"kind": "compare", "request": request_}))


@examples(40)
@given(boards(), STEPS)
def test_damaged_bytes_are_answered_or_refused(
    service: InProcess, request_: dict[str, Any], steps: Steps
) -> None:
    service.judge("compare", b"", AS_JSON, mutated(encoded(request_), steps))


@st.composite
def comparable(draw: Callable[..., Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """A board of three systems, and the common options of its pairs as tests."""
    kind = draw(st.sampled_from(["scores", "counts", "predictions"]))
    items = draw(st.integers(1, 6))

    def column(values: Any) -> Any:
        return draw(st.lists(values, min_size=items, max_size=items))

    beside: dict[str, Any] = {}
    if kind == "scores":
        values = draw(st.sampled_from([[0, 1], [0, 0.1, 0.25, 1.5], [-3, 1, 2, 20], [1e9, 0.3, 7]]))
        own = [column(st.sampled_from(values)) for _ in range(3)]
        names = ["mean_difference", "sum_difference", "sign", "signed_rank", "median_difference"]
        if draw(st.integers(0, 3)) == 0:
            names, beside = names[:2], {"weights": column(st.sampled_from([1, 2, 0.5]))}
    elif kind == "counts":
        own = [{name: column(st.integers(0, 4)) for name in ("tp", "fp", "fn", "tn")} for _ in range(3)]
        names = ["f1", "mcc", "g_mean", "kappa", "accuracy", "balanced_accuracy", "jaccard", "root"]
    else:
        own = [column(st.integers(0, 1)) for _ in range(3)]
        beside = {"gold": column(st.integers(0, 1))}
        names = ["accuracy", "f1", "mcc", "g_mean", "kappa", "balanced_accuracy"]
    if draw(st.booleans()) and "weights" not in beside:
        beside["clusters"] = column(st.integers(0, 3))
    name = draw(st.sampled_from(names))
    statistic = {"name": name}
    if name == "root":
        statistic = {"name": "expression", "expression": "sqrt(tp * tn) / (1 + fp + fn)"}
    common = {**beside, "statistic": statistic}
    systems = dict(zip("ABC", own, strict=True))
    asked = {
        "adjust": draw(st.sampled_from(list(FACTORS))),
        "alpha": draw(st.sampled_from([0.05, 0.25, 0.5])),
    }
    board = {"kind": kind, "systems": systems, "higher_is_better": True, **asked, **common}
    return board, common


def adjusted(p_values: list[Fraction], adjust: str) -> list[Fraction]:
    """By the definitions: the largest of those before and itself of Holm, the least of itself and those after of others."""
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    scaled = [
        min(FACTORS[adjust](len(order), rank) * p_values[at], Fraction(1)) for rank, at in enumerate(order, 1)
    ]
    if adjust == "none":
        return p_values

    def choose(at: int) -> Fraction:
        return max(scaled[: at + 1]) if adjust == "holm" else min(scaled[at:])

    return [choose(order.index(at)) for at in range(len(p_values))]


@examples(100)
@given(comparable())
def test_pairs_of_a_board_have_the_p_values_of_single_tests(
    service: InProcess, asked: tuple[dict[str, Any], dict[str, Any]]
) -> None:
    board, common = asked
    answered = service.ask("POST", "/v1/compare", b"", AS_JSON, encoded(board))
    assert answered.status in {200, 422}, answered.body
    if answered.status == 422:
        return
    pairs = json.loads(answered.body)["pairs"]
    singles = []
    for pair in pairs:
        u, v = (board["systems"][pair[side]] for side in "uv")
        body = encoded({"u": u, "v": v, "pmf": "none", **common})
        single = service.ask("POST", f"/v1/tests/{board['kind']}", b"", AS_JSON, body)
        assert single.status == 200, single.body
        said = json.loads(single.body)
        assert math.isclose(pair["p_value"], said["p_value"], rel_tol=1e-9), (board, pair, said)
        assert math.isclose(pair["difference"], said["statistic"]["observed"], rel_tol=1e-9, abs_tol=1e-12)
        GENERATED["pairs of boards against single tests"] += 1
        singles.append(Fraction(said["p_value"]))  # k / 2^n of few items is a double
    for pair, p in zip(pairs, adjusted(singles, board["adjust"]), strict=True):
        assert math.isclose(pair["p_adjusted"], p, rel_tol=1e-9), (board, pair, p)
        differs = pair["difference"] != 0 and p <= board["alpha"]
        found = {"better": pair["difference"] > 0, "worse": pair["difference"] < 0}
        assert found.get(pair["relation"], not differs), (board, pair, p)
        assert (pair["relation"] in found) == differs, (board, pair, p)
    GENERATED["boards against single tests"] += 1


@pytest.mark.parametrize("media", [CSV, TSV, NDJSON, NPY])
def test_tables_lines_and_arrays_are_answered_or_refused(service: InProcess, media: str) -> None:
    tables = [table.replace(b",", b"\t") for table in TABLES] if media == TSV else list(TABLES)
    seeds = {NDJSON: list(LINES), NPY: arrays()}.get(media, tables)

    @examples(40)
    @given(
        st.sampled_from(seeds),
        STEPS,
        QUERIES,
        st.sampled_from([None, "A,B", "A,B,C,D", '["A","A"]']),
        st.sampled_from(BESIDE),
    )
    def check(
        seed: bytes,
        steps: Steps,
        query: list[tuple[str, Any]],
        systems: str | None,
        beside: list[tuple[str, str]],
    ) -> None:
        asked = [*query, *([("systems", systems)] if systems is not None else []), *beside]
        service.judge(
            "compare", urlencode(asked).encode(), [(b"content-type", media.encode())], mutated(seed, steps)
        )

    check()
