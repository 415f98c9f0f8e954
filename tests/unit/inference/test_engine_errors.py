"""What the engine refuses to plan, as a caller of `run_test` meets it: code, pointer, costs and advice."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest

from exactperm.engine.errors import EngineError, NothingFits
from exactperm.engine.plan import Budget, Cost
from exactperm.errors import InputError, InvalidTest, PlanTooLarge
from exactperm.inference.engine_errors import engine_errors, request_error
from exactperm.inference.options import Options
from exactperm.inference.paired_test import run_test
from exactperm.statistics.paired import Counts, Paired, Scores, StatisticSpec

DRAW = np.random.default_rng(11)
SCORES = Scores(DRAW.integers(0, 1000, 200), DRAW.integers(0, 1000, 200))
# More than 60 bits together.
FINE = Scores(DRAW.random(60), DRAW.random(60) * 1e-9)
U, V = ({name: DRAW.integers(1, 1000, 200) for name in ("tp", "fp", "fn")} for _ in "uv")
COUNTS = Counts(U, V)
MEAN, F1 = StatisticSpec("mean_difference"), StatisticSpec("f1")
SMALL = Budget(operations=100_000, bytes=1 << 26)


@pytest.mark.parametrize(
    ("data", "spec", "options", "budget", "pointer", "phrases"),
    [
        (SCORES, MEAN, {"method": "dp"}, SMALL, "/method", ("dp is planned at", "100000", "would fit.")),
        (SCORES, MEAN, {"method": "enumeration"}, Budget(), "/method", ("2**n", "200", "would fit.")),
        (SCORES, MEAN, {"samples": 10**6}, SMALL, "/samples", ("No method fits", "fewer samples")),
        (COUNTS, F1, {"samples": 10**6}, SMALL, "/samples", ("No method fits", "fewer samples")),
        (
            SCORES,
            MEAN,
            {"exact_fraction": True, "samples": 1, "method": "monte_carlo"},
            Budget(operations=5_000_000),
            "/exact_fraction",
            ("rational (", "5000000 operations", "Leave `exact_fraction` out"),
        ),
        (COUNTS, F1, {"exact_fraction": True}, Budget(), "/exact_fraction", ("enumeration or dp",)),
        (FINE, MEAN, {"exact_fraction": True}, Budget(), "/exact_fraction", ("Leave `exact_fraction` out",)),
    ],
)
def test_what_is_over_the_budget_names_the_field_the_costs_and_a_way_out(
    data: Paired, spec: StatisticSpec, options: dict[str, Any], budget: Budget, pointer: str, phrases: Any
) -> None:
    with pytest.raises(PlanTooLarge) as caught:
        run_test(data, spec, Options(**options), budget)
    (flaw,) = caught.value.flaws
    assert (flaw.pointer, flaw.code, flaw.detail) == (pointer, "plan_too_large", caught.value.detail)
    assert all(phrase in flaw.detail for phrase in phrases), flaw.detail


def test_a_method_of_other_tests_is_refused_with_those_that_apply() -> None:
    with pytest.raises(InvalidTest) as caught:
        run_test(SCORES, MEAN, Options(method="grid"), Budget())
    (flaw,) = caught.value.flaws
    assert (flaw.pointer, flaw.code) == ("/method", "method_not_applicable")
    assert "fft" in flaw.detail
    assert "enumeration" in flaw.detail


def every_kind(kind: type[EngineError] = EngineError) -> list[type[EngineError]]:
    return [kind, *(below for child in kind.__subclasses__() for below in every_kind(child))]


def test_no_error_of_the_engine_is_without_a_request_error() -> None:
    """A new one that is not mapped is a bug, not an answer."""
    cost, budget = Cost("fft", 7, 8), Budget(5, 6)
    values = {
        "method": "fft",
        "applicable": ("dp",),
        "cost": cost,
        "budget": budget,
        "fitting": ("dp",),
        "reason": "It is 2**n.",
        "methods": ("dp",),
        "costs": (cost,),
    }
    kinds = [kind for kind in every_kind() if kind is not EngineError]
    assert len(kinds) == 5
    for kind in kinds:
        names = kind.__init__.__annotations__
        error = kind(*(values[name] for name in names if name != "return"))
        mapped = request_error(error)
        assert isinstance(mapped, InputError)
        assert len(mapped.flaws) == 1
        assert pickle.loads(pickle.dumps(error)).args == error.args
    with pytest.raises(TypeError, match="EngineError"):
        request_error(EngineError())


def test_other_errors_pass() -> None:
    with pytest.raises(ArithmeticError, match="a bug"), engine_errors():
        raise ArithmeticError("a bug")
    with pytest.raises(PlanTooLarge) as caught, engine_errors():
        raise NothingFits(Cost("monte_carlo", 7, 8), Budget(5, 6))
    assert isinstance(caught.value.__cause__, NothingFits)
