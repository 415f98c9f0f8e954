"""Determine whether each statistic is exact, bracketed or sampled, by the planner, on artificial data of usual sizes.

`docs/methods.md` has the table. A statistic follows from the `data` of its entry in the registry; a new kind of data needs a row in
`CASES`. Tests are planned as by `POST /v1/plan`, with the default budget; a plan to sample is run, as only the answer shows whether the
samples are controlled.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from exactperm.engine.plan import Budget
from exactperm.inference.options import Options
from exactperm.inference.paired import prepare, run_test
from exactperm.service.kinds import TestKind
from exactperm.service.schema.fields import STATISTIC_MODELS, entries
from exactperm.settings import Settings
from exactperm.statistics.catalogue import DATA_OF_KIND, Data, Statistic
from exactperm.statistics.paired import Counts, Effects, Paired, Predictions, Scores, StatisticSpec

SIZES = (100, 1_000, 10_000)
BUDGET = Budget(Settings().engine_budget_operations, Settings().engine_budget_bytes)
_PLANNED = Options(pmf="none")
_ORDERS = range(1, 5)


Columns = dict[str, np.ndarray[Any, Any]]
Case = tuple[str, Callable[[int], Paired]]


def _generator(n: int) -> np.random.Generator:
    return np.random.default_rng(n)


def _right_or_wrong(n: int) -> Paired:
    draw = _generator(n).random((2, n))
    return Scores((draw[0] < 0.8).astype(float), (draw[1] < 0.75).astype(float))


def _decimals(n: int) -> Paired:
    u, v = np.round(_generator(n).normal([[0.6], [0.58]], 0.2, (2, n)), 2)
    return Scores(u, v)


def _doubles(n: int) -> Paired:
    u, v = _generator(n).normal([[0.6], [0.58]], 0.2, (2, n))
    return Scores(u, v)


def _effects(n: int) -> Paired:
    return Effects(_generator(n).integers(-5, 7, n))


def _said(generator: np.random.Generator, gold: np.ndarray[Any, Any], share: float) -> list[int]:
    guessed = generator.permutation(gold)
    said: list[int] = np.where(generator.random(len(gold)) < share, gold, guessed).tolist()
    return said


def _labels(classes: int) -> Callable[[int], Paired]:
    def made(n: int) -> Paired:
        generator = _generator(n)
        share = 1.0 / np.arange(1, classes + 1)
        gold = generator.choice(classes, n, p=share / share.sum())
        return Predictions(gold.tolist(), _said(generator, gold, 0.8), _said(generator, gold, 0.75))

    return made


def _tags(n: int) -> Paired:
    """Sentences of a dozen words with entities of one word."""
    generator = _generator(n)
    names = np.array(["O", "B-PER", "B-LOC", "B-ORG"])
    gold = generator.choice(4, (n, 12), p=(0.85, 0.05, 0.05, 0.05))
    u, v = (np.where(generator.random(gold.shape) < share, gold, 0) for share in (0.9, 0.88))
    return Predictions(names[gold].tolist(), names[u].tolist(), names[v].tolist())


def _ranked(classes: int, places: int | None) -> Callable[[int], Paired]:
    """Scores of two systems, with gold of two classes, or of people on a scale of so many steps."""

    def made(n: int) -> Paired:
        generator = _generator(n)
        gold: Any = generator.integers(0, classes, n)
        u, v = gold / classes + generator.normal(0.0, [[0.6], [0.62]], (2, n))
        return Predictions(gold, *((u, v) if places is None else (np.round(u, places), np.round(v, places))))

    return made


def _counts(columns: Callable[[np.random.Generator, int, float], Columns]) -> Callable[[int], Paired]:
    def made(n: int) -> Paired:
        generator = _generator(n)
        return Counts(columns(generator, n, 0.4), columns(generator, n, 0.38))

    return made


def _confused(generator: np.random.Generator, n: int, quality: float) -> Columns:
    """A dozen parts of each item; gold differs between the systems, as with spans."""
    tp, fp, fn, tn = generator.multinomial(12, (quality, 0.1, 0.5 - quality, 0.4), n).T
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "incorrect": fp + fn,
        "correct": tp + tn,
        "errors": fp + fn,
        "words": tp + fn,
    }


def _confused_of_one_gold(generator: np.random.Generator, n: int, quality: float) -> Columns:
    positive = np.random.default_rng(n).integers(0, 8, n)
    tp, fp = generator.binomial(positive, 2 * quality), generator.binomial(12 - positive, 0.5 - quality)
    fn, tn = positive - tp, 12 - positive - fp
    return {
        "tp": tp,
        "fp": fp,
        "fn": fn,
        "tn": tn,
        "correct": tp + tn,
        "incorrect": fp + fn,
        "errors": fp + fn,
        "words": tp + fn,
    }


def _segments(generator: np.random.Generator, n: int, quality: float) -> Columns:
    length = np.random.default_rng(n).integers(8, 40, n)
    said = np.maximum(length + generator.integers(-3, 4, n), 5)
    columns = {"ref_len": length, "sys_len": said, "edits": generator.binomial(length, 1 - quality)}
    for order in _ORDERS:
        total = said - order + 1
        matched = generator.binomial(np.minimum(total, length - order + 1), quality**order)
        columns |= {f"total_{order}": total, f"correct_{order}": matched}
        columns |= {f"hyp_{order}": total, f"ref_{order}": length - order + 1, f"match_{order}": matched}
    return columns


_LABELS: tuple[Case, ...] = (("labels of two classes", _labels(2)), ("labels of ten classes", _labels(10)))
_NUMBERS: tuple[Case, ...] = (("scores of two decimals", _decimals), ("real scores", _doubles))
CASES: Mapping[tuple[TestKind, Data], tuple[Case, ...]] = {
    ("effects", "effects"): (("effects, integers", _effects),),
    ("scores", "outcomes"): (("right or wrong", _right_or_wrong),),
    ("scores", "scores"): _NUMBERS,
    ("scores", "times"): (),  # numbers like others
    ("counts", "counts"): (
        ("counts against the same gold", _counts(_confused_of_one_gold)),
        ("counts against a gold of each system", _counts(_confused)),
    ),
    ("counts", "segments"): (("counts of segments", _counts(_segments)),),
    ("predictions", "labels"): _LABELS,
    ("predictions", "tags"): (("sentences of tags", _tags),),
    ("predictions", "rankings"): (
        ("scores of two decimals, gold of two classes", _ranked(2, 2)),
        ("scores without ties, gold of two classes", _ranked(2, None)),
        ("scores without ties, gold scores", _ranked(100, None)),
    ),
    (
        "predictions",
        "texts",
    ): (),  # compared as labels; what sacrebleu counts of them is in the row of segments
}
# Parameters that a statistic must be given, or that make another score of it.
_GIVEN: Mapping[str, dict[str, Any]] = {
    "numerator": {"numerator": "errors"},
    "denominator": {"denominator": "words"},
    "expression": {"expression": "tp / (tp + fp + fn)"},
    "positive": {"positive": 1},
    "q": {"q": 0.95},
}


@dataclass(frozen=True)
class Row:
    """A statistic of some data, and its certainty at each of SIZES, computed on demand."""

    kind: TestKind
    statistic: str
    data: str
    made: Callable[[int], Paired]
    spec: StatisticSpec

    @cached_property
    def outcomes(self) -> tuple[str, ...]:
        """Each "exact", "bracketed", "exact if asked", "controlled" or "sampled"."""
        return tuple(outcome(self.made(n), self.spec) for n in SIZES)


def rows() -> Iterator[Row]:
    """Every statistic with each data that it is for."""
    for kind in STATISTIC_MODELS:
        for entry in entries(kind):
            if entry.kind != kind:
                continue  # segments of texts: planned as the counts they become
            for data in entry.data or DATA_OF_KIND[entry.kind]:
                for title, made in CASES[kind, data]:
                    for label, spec in _specs(entry, title):
                        yield Row(kind, label, title, made, spec)


def outcome(data: Paired, spec: StatisticSpec) -> str:
    """The certainty of one test by the planner, or by the answer if sampled."""
    plan = prepare(data, spec, _PLANNED, BUDGET).test.plan
    if plan.chosen.method == "bounds":
        asked = any(cost.exact and cost.fits(BUDGET) for cost in plan.others)
        return "exact if asked" if asked else "bracketed"
    if plan.chosen.method != "monte_carlo":
        return "exact"
    said = run_test(data, spec, _PLANNED, BUDGET).method.monte_carlo
    assert said is not None
    return "sampled" if said.control is None else "controlled"


def _specs(entry: Statistic, title: str) -> Iterator[tuple[str, StatisticSpec]]:
    """The statistic with each average; one of a positive class has two classes."""
    names = {parameter.name for parameter in entry.parameters}
    given = (
        {} if entry.kind == "effects" else {k: v for name in names for k, v in _GIVEN.get(name, {}).items()}
    )
    averages = next(
        (each.choices for each in entry.parameters if each.name == "average" and entry.kind != "scores"), ()
    )
    of_two = "positive" in names
    if not averages and (not of_two or "two classes" in title):
        yield entry.name, StatisticSpec(entry.name, given)
    if "interpolation" in names:  # a value of the data
        yield (
            f"{entry.name} inverted_cdf",
            StatisticSpec(entry.name, {**given, "interpolation": "inverted_cdf"}),
        )
    for average in averages:
        if average != "binary":
            yield f"{entry.name} {average}", StatisticSpec(entry.name, {"average": average})
        elif "two classes" in title:
            yield entry.name, StatisticSpec(entry.name, {**given, "average": average})
