"""A comparison in parts: they hold every pair once, and joined they are the whole, whatever the systems hand over."""

from __future__ import annotations

import json
import pickle
import random
import time
from typing import Any

import pytest
from hypothesis import given, strategies as st

from exactperm.errors import InvalidTest
from exactperm.inference.compare.compare import finish_compare
from exactperm.service.answers import Runtime, render
from exactperm.service.compare.parse import parse_compare
from exactperm.service.compare.run import (
    Slice,
    Whole,
    joined,
    prepare_comparison,
    slices_of,
    solved,
    split_of,
)
from exactperm.service.limits import limits_of
from exactperm.service.messages import Body, Job
from exactperm.settings import Settings

RUNTIME = Runtime(0.0, 0.0, 0.0)
R = random.Random(5)


def bits(items: int) -> list[int]:
    return [R.randint(0, 1) for _ in range(items)]


def numbers(items: int, digits: int = 2) -> list[float]:
    return [round(R.random(), digits) for _ in range(items)]


def counts(items: int) -> dict[str, list[int]]:
    return {name: [R.randint(0, 4) for _ in range(items)] for name in ("tp", "incorrect")}


def systems(make: Any, k: int, items: int) -> dict[str, Any]:
    return {f"s{number:02}": make(items) for number in range(k)}


LACKING = {name: {f"q{item}": score for item, score in enumerate(own) if R.random() < 0.8} for name, own in systems(bits, 9, 30).items()}  # fmt: skip
REQUESTS: dict[str, dict[str, Any]] = {
    "right or wrong": {"kind": "scores", "systems": systems(bits, 40, 200)},
    "right or wrong, holm_discrete": {"kind": "scores", "systems": systems(bits, 9, 12), "adjust": "holm_discrete"},
    "decimals": {"kind": "scores", "systems": systems(numbers, 12, 60)},
    "noise": {"kind": "scores", "systems": systems(lambda n: numbers(n, 17), 5, 14)},
    "clusters": {"kind": "scores", "systems": systems(numbers, 8, 60), "clusters": [item // 4 for item in range(60)]},
    "items that lack": {"kind": "scores", "systems": LACKING, "on_missing": "pairwise"},
    "counts": {"kind": "counts", "systems": systems(counts, 5, 12), "statistic": {"name": "f1"}},
    "labels": {"kind": "predictions", "gold": bits(20), "systems": systems(bits, 6, 20)},
    "texts": {
        "kind": "predictions",
        "gold": ["a b c d e", "f g h i j", "k l m n o"],
        "systems": {"A": ["a b c d x", "f g", "k l m n o"], "B": ["a", "f g h i j", "k"], "C": ["b a", "j i h g", "o n"]},
        "statistic": {"name": "chrf"},
    },
    "a baseline": {"kind": "scores", "systems": systems(bits, 20, 50), "compare": "baseline", "baseline": "s03"},
    "data sets": {
        "kind": "scores",
        "datasets": {"a": {"systems": systems(bits, 7, 30)}, "b": {"systems": systems(numbers, 5, 30)}, "c": {"systems": systems(bits, 2, 9)}},
        "aggregate": None,
        "family": "all",
        "adjust": "by",
    },
}  # fmt: skip


def job(**settings: Any) -> Job:
    now = time.monotonic()
    return Job(
        "compare", Body("application/json"), (), "json", "id", now, now, limits_of(Settings(**settings))
    )


@pytest.mark.parametrize("wanted", [2, 7])
@pytest.mark.parametrize("name", REQUESTS)
def test_joined_parts_are_the_whole(name: str, wanted: int) -> None:
    asked = job()
    parsed = parse_compare(asked, json.dumps(REQUESTS[name]).encode())
    prepared = prepare_comparison(asked, parsed)
    alone = render(finish_compare(prepared), RUNTIME)

    plan = pickle.dumps(prepare_comparison(asked, parsed))
    parts = slices_of([(board.tests, board.planned.seconds) for board in prepared.boards], wanted)
    results = [solved(plan, slices) for slices in parts]
    passed_on = pickle.loads(pickle.dumps(Whole(asked, plan, parts, 0.0, 0.0)))
    there, tests = joined(passed_on, results)
    assert render(finish_compare(there, tests), RUNTIME) == alone


@given(
    st.lists(st.tuples(st.integers(0, 40), st.floats(0, 10)), min_size=1, max_size=6).filter(
        lambda boards: sum(tests for tests, _ in boards) > 0
    ),
    st.integers(1, 30),
)
def test_parts_hold_every_pair_once_and_in_order(boards: list[tuple[int, float]], wanted: int) -> None:
    parts = slices_of(boards, wanted)
    seen = [(each.board, pair) for part in parts for each in part for pair in range(each.start, each.stop)]
    assert seen == [(board, pair) for board, (tests, _) in enumerate(boards) for pair in range(tests)]
    assert all(parts)
    assert len(parts) <= wanted


def test_parts_are_about_equally_long() -> None:
    parts = slices_of([(1000, 2.0), (10, 0.5), (500, 2.5)], 10)
    each = {0: 0.002, 1: 0.05, 2: 0.005}
    seconds = [sum((one.stop - one.start) * each[one.board] for one in part) for part in parts]
    assert 9 <= len(parts) <= 11
    assert max(seconds) <= 0.6


def test_a_comparison_is_split_when_it_is_long_and_there_are_workers() -> None:
    request = {"kind": "scores", "systems": systems(numbers, 12, 60), "method": "dp"}
    asked = job(workers=4, long_test_seconds=0.02)
    parsed = parse_compare(asked, json.dumps(request).encode())
    prepared = prepare_comparison(asked, parsed)
    split = split_of(asked, prepared, (len, len), 0.0, 0.0)  # type: ignore[arg-type]
    assert split is not None
    assert split.at_once == 4
    assert len(split.parts) >= 4
    assert all(part.seconds <= 0.02 for part in split.parts)
    for other in (job(workers=1, long_test_seconds=0.02), job(workers=4, long_test_seconds=60)):
        assert split_of(other, prepared, (len, len), 0.0, 0.0) is None  # type: ignore[arg-type]


def test_what_a_part_is_refused_with_is_what_the_whole_is_refused_with() -> None:
    asked = job()
    parsed = parse_compare(asked, json.dumps(REQUESTS["right or wrong"]).encode())
    plan = pickle.dumps(prepare_comparison(asked, parsed))
    refusal = InvalidTest.at("/systems/s01", "some_code", "No.")
    parts = ((Slice(0, 0, 1),), (Slice(0, 1, 780),))
    with pytest.raises(InvalidTest) as caught:
        joined(Whole(asked, plan, parts, 0.0, 0.0), [solved(plan, parts[0]), refusal])
    assert caught.value.flaws == refusal.flaws
