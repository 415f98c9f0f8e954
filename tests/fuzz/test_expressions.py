"""Expressions: p-values against counting all assignments, and time against the plan."""

from __future__ import annotations

import json
import math
import time
from dataclasses import replace
from fractions import Fraction
from functools import partial
from random import Random, SystemRandom
from typing import Any

import pytest

from exactperm.execution.ipc import Unbounded
from exactperm.service.messages import Body, Job, RenderedResponse, limits_of
from exactperm.service.pipeline import handle, handle_in_place
from exactperm.settings import Settings
from tests.fuzz.amount import GENERATED, TIMES
from tests.fuzz.asgi import InProcess, path_of
from tests.fuzz.expressions import Case, UnsureError, costly, small, truth

SMALL, COSTLY, ITEMS = 300 * TIMES, 80 * TIMES, 12 if TIMES == 1 else 16
# A refusal says that a number is beyond what is worked with; any other would be a fault.
ALLOWED = {"undefined_statistic", "value_too_large"}
# Tests that would be long are sampled or refused: what is looked for is a wrong prediction.
LIMITS = replace(limits_of(Settings()), engine_budget_operations=400_000_000)
TIMES_THE_PLAN, BESIDES_S = 3.0, 0.2
# What `_reference` takes on an ordinary core.
REFERENCE_S = 0.01


def seeds(count: int) -> range:
    """The same ones in the short form, new ones in the long form."""
    start = 0 if TIMES == 1 else SystemRandom().randrange(10**9)
    return range(start, start + count)


def asked(service: InProcess, case: Case) -> tuple[int, dict[str, Any]]:
    body = json.dumps({**case.request, "pmf": "none"}).encode()
    answered = service.ask("POST", path_of("effects"), b"", [(b"content-type", b"application/json")], body)
    return answered.status, json.loads(answered.body)


@pytest.mark.parametrize("rational", [True, False])
def test_small_expressions_have_the_p_value_of_counting(service: InProcess, *, rational: bool) -> None:
    compared = 0
    for seed in seeds(SMALL):
        case = small(Random(seed), rational=rational)
        try:
            wanted = truth(case)
        except UnsureError:
            continue
        status, said = asked(service, case)
        if status != 200:
            codes = {flaw["code"] for flaw in said["errors"]}
            assert codes <= ALLOWED, (seed, case, said)
            assert wanted is None or "undefined_statistic" not in codes, (seed, case)
            continue
        assert wanted is not None, (seed, case)
        assert said["method"]["exact"], (seed, case)
        assert abs(Fraction(said["p_value"]) / wanted.p_value - 1) < Fraction(1, 10**11), (seed, case, wanted)
        close = partial(math.isclose, rel_tol=1e-15 if rational else 1e-12)
        assert close(said["statistic"]["observed"], wanted.observed), (seed, case, wanted)
        close = partial(math.isclose, rel_tol=1e-11)
        assert close(said["null"]["min"], wanted.least), (seed, case, wanted, said["null"])
        assert close(said["null"]["max"], wanted.greatest), (seed, case, wanted, said["null"])
        compared += 1
    GENERATED["p-values of expressions compared with counting"] += compared
    assert compared > SMALL // 2


class Planned(Unbounded):
    """Remembers what a call said it would take."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def plan(self, seconds: float) -> None:
        self.seconds = seconds


def test_no_expression_takes_much_longer_than_planned() -> None:
    """Processor time, and in units of this machine: other work beside it must not count."""
    for seed in seeds(COSTLY):
        case = costly(Random(seed), ITEMS)
        test = "bootstrap" if seed % 5 == 0 else "permutation"
        body = json.dumps({**case.request, "test": test, "samples": 1000}).encode()
        assert len(body) < 10_000
        now = time.monotonic()
        job = Job("effects", Body("application/json"), (), "json", "x", now, now, LIMITS)
        planned = Planned()
        slower = max(1.0, _reference() / REFERENCE_S)
        began = time.thread_time()
        found = handle_in_place(job, body, Settings().inplace_engine_seconds, 1 << 17)
        where = "in place"
        if not isinstance(found, RenderedResponse):
            where, began = "in a worker", time.thread_time()
            found = handle(job, body, planned)
        took = (time.thread_time() - began) / slower
        assert found.status in {200, 422}, (seed, case, found.body[:500])
        assert took <= TIMES_THE_PLAN * planned.seconds + BESIDES_S, (
            seed,
            where,
            took,
            planned.seconds,
            case,
        )
        GENERATED[f"costly expressions {where}"] += 1


def _reference() -> float:
    """Processor time of a fixed piece of work like that of the tests: arithmetic in fractions."""
    began = time.thread_time()
    total = Fraction(0)
    for index in range(1, 2500):
        total += Fraction(index % 97, 1 + index % 89)
    return time.thread_time() - began
