"""Leaderboards of every kind, malformed ones among them: answered or refused, and never a fault of the service."""

from __future__ import annotations

import json
import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any
from urllib.parse import urlencode

import pytest
from hypothesis import given, strategies as st

from exactperm.service.messages import CSV, JSON, NDJSON, NPY, TSV
from tests.fuzz.amount import GENERATED, examples
from tests.fuzz.asgi import InProcess
from tests.fuzz.boards import LINES, OF_ALL, OPTIONS, TABLES, arrays, boards, encoded
from tests.fuzz.mutations import STEPS, Steps, mutated

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
    """A board of three systems, and what its pairs have in common as tests."""
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
