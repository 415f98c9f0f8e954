"""TER of long segments: predicted before sacrebleu counts them, never in the web process, and not for a plan."""

import json
import time
from random import Random
from typing import Any

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.service.kinds import Kind
from exactperm.service.messages import Body, Job, limits_of
from exactperm.service.pipeline import Later, handle, handle_in_place
from exactperm.settings import Settings
from exactperm.statistics import corpus
from exactperm.statistics.corpus import counting_seconds, edit_seconds
from exactperm.statistics.paired import Segments, StatisticSpec


class StopHereError(Exception):
    """The prediction for a worker when the queue of long tests is full."""


class Asking(Unbounded):
    """A control that records predictions, and stops a call at a long one."""

    def __init__(self, longest: float) -> None:
        self.predicted: list[float] = []
        self.longest = longest

    def plan(self, seconds: float) -> None:
        self.predicted.append(seconds)
        if seconds > self.longest:
            raise StopHereError


def shuffled(words: int) -> dict[str, Any]:
    random = Random(1)
    gold, u, v = (" ".join(f"w{random.randrange(51)}" for _ in range(words)) for _ in range(3))
    return {"gold": [gold], "u": [u], "v": [v], "statistic": {"name": "ter"}}


def job(kind: Kind) -> Job:
    now = time.monotonic()
    return Job(kind, Body("application/json"), (), "json", "x", now, now, limits_of(Settings()))


def no_counting(*_: Any) -> None:
    raise AssertionError("the segments were counted")


def test_a_long_segment_asks_for_a_long_place_before_it_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_statistics", no_counting)
    asking = Asking(longest=Settings().long_test_seconds)
    body = json.dumps(shuffled(400)).encode()
    # What is raised becomes a 500 here; counting first would have left nothing that was asked.
    handle(job("predictions"), body, asking)
    (counting,) = asking.predicted
    assert counting > 5.0


def test_a_plan_predicts_ter_without_counting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(corpus, "_statistics", no_counting)
    seconds = []
    for words in (20, 100, 400):
        body = json.dumps({"kind": "predictions", "request": shuffled(words)}).encode()
        answered = handle(job("plan"), body, Unbounded())
        assert answered.status == 200, answered.body
        seconds.append(json.loads(answered.body)["seconds"])
    assert seconds[0] < 1.0 < seconds[1] < seconds[2]


def test_texts_are_never_scored_in_place() -> None:
    test = shuffled(3)
    bodies: dict[Kind, Any] = {"predictions": test, "plan": {"kind": "predictions", "request": test}}
    for kind, body in bodies.items():
        found = handle_in_place(job(kind), json.dumps(body).encode(), 1e9, 1 << 20)
        assert isinstance(found, Later)


def test_equal_and_disjoint_segments_are_cheap_and_shuffled_ones_are_not() -> None:
    words = [f"w{index % 50}" for index in range(200)]
    other = words[:]
    Random(2).shuffle(other)
    cheap = max(edit_seconds(words, words), edit_seconds(words, [f"v{word}" for word in words]))
    assert edit_seconds(words, other) > 100 * cheap


@pytest.mark.parametrize("name", ["bleu", "chrf", "ter"])
def test_the_price_of_texts_grows_with_them(name: str) -> None:
    def price(copies: int) -> float:
        text = "the cat sat on the mat"
        return counting_seconds(
            Segments([text] * copies, [text] * copies, [[text]] * copies), StatisticSpec(name)
        )

    assert 9.0 < price(1000) / price(100) < 11.0


@pytest.mark.parametrize(
    ("options", "written"),
    [
        ({"normalized": True}, lambda word, _: f"{word},"),  # punctuation is a word of its own, spaces or not
        ({}, lambda word, random: "".join(random.choice((c, c.upper())) for c in word)),  # no case by default
    ],
)
def test_ter_is_priced_by_the_words_that_it_compares(options: dict[str, Any], written: Any) -> None:
    random = Random(3)
    plain = [[f"word{random.randrange(40)}" for _ in range(150)] for _ in range(3)]
    gold, u, v = (("" if options else " ").join(written(word, random) for word in words) for words in plain)
    data = Segments([u], [v], [[gold]])
    apart = Segments([" ".join(plain[1])], [" ".join(plain[2])], [[" ".join(plain[0])]])
    priced = counting_seconds(data, StatisticSpec("ter", options))
    assert priced > 0.5 * counting_seconds(apart, StatisticSpec("ter")) > 0.1


def test_clusters_do_not_count_twice(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    statistics = corpus._statistics

    def noted(metric: Any, system: Any, data: Segments) -> list[list[float]]:
        counted.append(len(system))
        return statistics(metric, system, data)

    monkeypatch.setattr(corpus, "_statistics", noted)
    body = {
        "gold": ["a b c d e", "f g h i", "a f e d"] * 2,
        "u": ["a b c d", "f g i", "a f d e"] * 2,
        "v": ["a c d e", "f h g i", "a e d"] * 2,
        "clusters": [0, 0, 1, 1, 2, 2],
        "statistic": {"name": "ter"},
    }
    answered = handle(job("predictions"), json.dumps(body).encode(), Unbounded())
    assert answered.status == 200, answered.body
    assert counted == [6, 6]
