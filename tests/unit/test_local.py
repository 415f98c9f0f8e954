"""`from exactperm import test, gate`: tests in this process, against counting all swaps."""

from __future__ import annotations

import doctest
import subprocess
import sys
import threading
import time
from fractions import Fraction
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd  # type: ignore[import-untyped]
import pytest

import exactperm
import exactperm.local.run
from exactperm import counts, gate, metric, predictions, scores, test as run
from exactperm.client import Client, DeadlineExceeded, InvalidData, InvalidTest, PlanTooLarge
from exactperm.local.transport import InProcess
from exactperm.settings import Settings

ROOT = Path(__file__).parents[2]
U, V = [3, 1, 4, 1, 5, 9, 2, 6], [2, 7, 1, 1, 2, 8, 1, 2]
PATIENCE_S = 30.0


def counted(u: list[int], v: list[int]) -> Fraction:
    """The two-sided p-value of the difference of means, by all swaps."""
    differences = [a - b for a, b in zip(u, v, strict=True)]
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in product((1, -1), repeat=len(u))
    ]
    return Fraction(sum(one >= abs(sum(differences)) for one in sums), len(sums))


class Column:
    """A Series of polars, as far as we use one: it has values and no index."""

    def __init__(self, values: list[Any]) -> None:
        self._values = values

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(self._values, dtype=dtype)


class Frame:
    """A DataFrame of polars, as far as we use one."""

    def __init__(self, columns: dict[str, list[Any]]) -> None:
        self._columns = columns

    @property
    def columns(self) -> list[str]:
        return list(self._columns)

    def __getitem__(self, names: Any) -> Any:
        if isinstance(names, str):
            return Column(self._columns[names])
        return Frame({name: self._columns[name] for name in names})

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        return np.array(list(self._columns.values()), dtype=dtype).T


def by_id(values: list[int]) -> dict[str, int]:
    return {f"i{n}": value for n, value in enumerate(values)}


LABELS = [f"i{n}" for n in range(len(U))]
BACKWARDS = {name: by_id(V)[name] for name in reversed(LABELS)}


@pytest.mark.parametrize(
    ("u", "v"),
    [
        (U, V),
        (np.array(U), np.array(V)),
        (np.column_stack([U, V]), None),
        (by_id(U), BACKWARDS),
        (pd.Series(U), pd.Series(V)),
        (pd.Series(by_id(U)), pd.Series(BACKWARDS)),
        (pd.DataFrame({"v": V, "u": U}), None),
        (pd.DataFrame({"v": V, "u": U}, index=LABELS), None),
        (Column(U), Column(V)),
        (Frame({"v": V, "u": U}), None),
        (scores(U, V), None),
    ],
    ids=[
        "lists", "arrays", "one array", "by id", "series", "series by index", "frame", "indexed frame", "polars series",
        "polars frame", "request",
    ],
)  # fmt: skip
def test_the_p_value_is_that_of_counting_all_swaps(u: Any, v: Any) -> None:
    result = run(u, v)
    assert result.p_value == counted(U, V)
    assert result.method.exact
    assert (result.statistic.u, result.statistic.v) == (sum(U) / 8, sum(V) / 8)


def test_the_answer_is_the_one_of_a_client() -> None:
    with Client("http://here", transport=InProcess(Settings())) as client:
        there = client.scores(U, V, confidence_level=0.9)
    here = run(U, V, confidence_level=0.9)
    assert here.id == there.id
    assert {**here.raw, "runtime": None} == {**there.raw, "runtime": None}


def test_predictions_and_counts() -> None:
    gold, good, bad = ["a", "b", "a", "b"], ["a", "b", "a", "b"], ["b", "a", "b", "a"]
    assert run(good, bad, gold=gold).p_value == 2 / 2**4
    assert run(predictions(gold, good, bad)).p_value == 2 / 2**4
    frame = Frame({"incorrect_v": [1, 0], "tp_u": [1, 2], "tp_v": [0, 1], "incorrect_u": [3, 4]})
    f1 = run(counts(frame, statistic="f1")).statistic
    assert (f1.u, f1.v) == pytest.approx((6 / 13, 2 / 3))


def test_the_examples_in_docstrings_are_true() -> None:
    examples = doctest.testmod(exactperm.local.run)
    assert (examples.failed, examples.attempted) == (0, 5)


def test_a_gate_is_a_result_whatever_it_says() -> None:
    up, down = [1, 2, 3, 4, 5, 6], [0, 1, 2, 3, 4, 5]
    passed, failed = gate(up, down, policy="improve"), gate(down, up)
    assert (passed.verdict, passed.p_value) == ("pass", 2.0**-6)
    assert (failed.verdict, failed.p_value) == ("fail", 2.0**-6)
    both = gate([metric("a", scores(up, down)), metric("b", scores(up, down))], policy="improve")
    assert (both.verdict, both.p_value) == ("pass", 2 * 2.0**-6)
    strict = gate(scores(up, down), policy="improve", alpha=0.01)
    assert (strict.verdict, strict.alpha) == ("fail", 0.01)


def test_errors_are_the_exceptions_of_the_client() -> None:
    with pytest.raises(InvalidTest) as refused:
        run([1, 2], [1])
    assert (refused.value.errors[0].pointer, refused.value.errors[0].code) == ("/v", "length_mismatch")
    with pytest.raises(PlanTooLarge):
        run(list(range(2000)), [0] * 2000, method="enumeration")
    with pytest.raises(InvalidData):
        run([1.0, float("nan")], [1.0, 2.0])
    with pytest.raises(TypeError, match="options already"):
        run(scores(U, V), alpha=0.1)
    with pytest.raises(TypeError, match="options already"):
        gate(scores(U, V), V)


@pytest.mark.parametrize("module", ["jinja2", "resvg_py"])
def test_a_report_without_its_libraries_is_refused(monkeypatch: pytest.MonkeyPatch, module: str) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with Client("http://here", transport=InProcess(Settings())) as client:
        with pytest.raises(InvalidTest, match=r"pip install \"exactperm\[pictures\]\"") as refused:
            client.report(scores(U, V), "html")
        assert client.report(scores(U, V), "markdown")
        assert client.report(scores(U, V), "svg").startswith(b"<?xml")  # it is drawn without any extra
    assert (refused.value.errors[0].pointer, refused.value.errors[0].code) == ("/?format", "not_installed")


def test_a_deadline_holds_and_what_was_computing_ends() -> None:
    random = np.random.default_rng(0)
    u, v = random.normal(size=2000), random.normal(size=2000)
    with pytest.raises(DeadlineExceeded):
        run(u, v, method="monte_carlo", samples=3_000_000, timeout_s=0.2)
    end = time.monotonic() + PATIENCE_S
    while any(thread.name == "exactperm-compute" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.02)


@pytest.mark.slow
def test_importing_loads_nothing_but_what_is_used() -> None:
    code = (
        "import sys, exactperm\n"
        "assert not {'numpy', 'httpx', 'pydantic'} & set(sys.modules)\n"
        "exactperm.test([1, 2, 4], [0, 0, 1])\n"
        "assert 'scipy' in sys.modules\n"
        "print(sorted({'fastapi', 'starlette', 'uvicorn', 'structlog', 'resvg_py', 'jinja2'} & set(sys.modules)))\n"
    )
    result = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=4 * PATIENCE_S,
    )
    assert result.stdout == "[]\n"


def test_the_package_lists_what_it_offers() -> None:
    assert set(exactperm.__all__) <= set(dir(exactperm))
    assert all(getattr(exactperm, name) is not None for name in exactperm.__all__)
    with pytest.raises(AttributeError):
        exactperm.nothing  # noqa: B018
