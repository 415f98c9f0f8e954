"""`exactperm.test`, `exactperm.gate` and `exactperm.compare`: the client's methods, computed in this process by the
service's pipeline.

Results and errors are the frozen records of `exactperm.client` and its exceptions (`InvalidTest`, `PlanTooLarge`,
`DeadlineExceeded`, …). Limits are the settings EXACTPERM_….
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Literal, TypeVar, Unpack

import httpx

from ..client import compare_requests, requests
from ..client.calls import Call, Request, call_of
from ..client.compare_requests import CompareOptions
from ..client.errors import ProblemError
from ..client.requests import (
    GateRequest,
    GateTerms,
    Metric,
    Options,
    PowerRequest,
    Solve,
    Terms,
    TestRequest,
)
from ..client.responses import checked, reader_of
from ..client.results import CompareResult, GateResult, PowerResult, TestResult

if TYPE_CHECKING:
    from ..settings import Settings

URL = "http://in-process"
PREFIX = "EXACTPERM_"
TERMS = frozenset(GateTerms.__optional_keys__)
Result = TypeVar("Result")


class GateOptions(Options, Terms, total=False):
    """The terms of a gate, and the options of its test; see `GateTerms`."""

    on_inconclusive: Literal["pass", "fail"]
    metrics: Sequence[str | Mapping[str, Any]]


def test(u: Any, v: Any = None, *, gold: Any = None, **options: Unpack[Options]) -> TestResult:
    """Test whether two systems differ on the same items.

    Parameters
    ----------
    u, v
        One score per item and system: arrays or lists of length N, {id: score}, or Series of pandas or polars; or `u`
        alone, an array of shape (N, 2). Ids, and indexes that are not 0, 1, …, N-1, pair the items; everything else is
        paired by order. Or tables (pandas, polars, Arrow, DuckDB, structured arrays, records), one with both systems or
        one for each, read like their CSV: `id_column`, `metric`, `system_u`, … name their columns. With `gold` they are
        predictions. For counts, effects and files, give the values of `counts(…)`, `effects(…)` and `files(…)`.
    gold
        The gold standard: a label per item, or a list of labels, or a text.
    options
        As for `Client.scores`: statistic, alternative, method, alpha, confidence_level, clusters, weights (numbers,
        fractions, or texts such as "1/3"), …; and the parameters of the statistic, such as q or average. `timeout_s` is
        a deadline in seconds; there is none by default. `slices` has the label of each item, and adds a test of each slice.

    Raises
    ------
        InvalidData: the data cannot be put into a request. ProblemError: InvalidTest, PlanTooLarge, TooLarge or
        DeadlineExceeded, as with a server.

    >>> test([0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82]).p_value
    0.0625
    """
    return _answer(TestResult, _request(u, v, gold, options))


test.__test__ = False  # type: ignore[attr-defined]  # pytest reads it


def gate(
    candidate: Any, baseline: Any = None, *, gold: Any = None, **options: Unpack[GateOptions]
) -> GateResult:
    """Decide whether a candidate may replace the baseline. A failed gate is a result, not an error.

    Parameters
    ----------
    candidate, baseline, gold
        As u, v and gold of `test`; or a test made by `scores(…)`, `counts(…)` and so on, or a sequence of `metric(name,
        test)`.
    options
        policy, margin (in the statistic's units), higher_is_better, on_inconclusive and alpha; and those of `test`.
        `fail_if_any_slice`: one of `slices` that became worse fails the gate.
        `against` replaces `baseline` by several, by name; the candidate must fail none of them.

    Raises
    ------
        InvalidData: the data cannot be put into a request.
        ProblemError: as for `test`.

    >>> gate([0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82], policy="improve").verdict
    'pass'
    """
    return _answer(GateResult, gate_request(candidate, baseline, gold, options))


def gate_request(candidate: Any, baseline: Any, gold: Any, options: GateOptions) -> GateRequest:
    """The request of `gate`; the same arguments and errors."""
    if isinstance(candidate, GateRequest):
        _refuse_more(baseline, gold, options)
        return candidate
    terms: Any = {name: value for name, value in options.items() if name in TERMS}
    if not _is_made(candidate):
        others: Any = {name: value for name, value in options.items() if name not in TERMS}
        candidate = _request(candidate, baseline, gold, others)
    else:
        _refuse_more(baseline, gold, options.keys() - TERMS)
    return requests.gate(candidate, **terms)


def compare(
    systems: Any = None,
    scores: Any = None,
    *,
    gold: Any = None,
    datasets: Mapping[str, Any] | None = None,
    **options: Unpack[CompareOptions],
) -> CompareResult:
    """Compare many systems on the same items: exact tests of their pairs, adjusted p-values, rank ranges and groups.

    Parameters
    ----------
    systems
        {name: column}: an array or a list of length N, {id: score}, or a Series of pandas or polars each; or a table
        with a column for each system, or {name: table}, read as their CSV. Ids, and indexes that are not 0, 1, …, N-1,
        pair the items. Or a list of K names, with `scores`. For files, give the value of `compare_files(…)`.
    scores
        Scores of shape (N, K): a row for each item, a column for each of the names.
    gold
        The gold standard; the systems' data are then predictions.
    datasets
        Instead of systems: {name: systems} for several data sets; or {name: {"systems": …, "gold": …, "ids": …,
        "clusters": …, "weights": …}}.
    options
        statistic, baseline, compare (pairs of names), adjust, family, aggregate, on_missing, higher_is_better,
        alternative, alpha, confidence_level, clusters, weights, …; see `CompareOptions`. `timeout_s` is a deadline in
        seconds; there is none by default. With on_missing="pairwise" or "complete", NaN is a missing score.

    Raises
    ------
        InvalidData: the data cannot be put into a request.
        ProblemError: as for `test`.

    >>> board = compare({"A": [1, 1, 1, 1, 1, 1, 1, 1], "B": [1, 0, 0, 0, 0, 0, 0, 0], "C": [0, 0, 0, 0, 0, 0, 0, 0]})
    >>> board.groups.best_set, [(pair.u, pair.v, pair.p_adjusted) for pair in board.pairs][:2]
    (('A',), [('A', 'B', 0.03125), ('A', 'C', 0.0234375)])
    """
    request = compare_requests.compare_request(systems, scores, gold=gold, datasets=datasets, **options)
    return _answer(CompareResult, request)


def systems(
    systems: Any, statistic: str | Mapping[str, Any], scores: Any = None, **options: Any
) -> TestResult:
    """Test several systems at once; parameters and errors as for `exactperm.client.systems`.

    >>> answer = systems({"A": [1, 1, 1, 0, 1], "B": [1, 0, 1, 0, 1], "C": [0, 0, 1, 0, 0]}, "cochran_q")
    >>> answer.statistic.observed, answer.p_value_fraction.value
    (4.666666666666667, Fraction(2, 9))
    """
    return _answer(TestResult, compare_requests.systems(systems, statistic, scores, **options))


def preferences(
    battles: Any, u: str | None = None, v: str | None = None, **options: Unpack[Options]
) -> TestResult:
    """Test which of two models is preferred; parameters and errors as for `exactperm.client.preferences`.

    >>> battles = [{"id": n, "model_a": "new", "model_b": "old", "winner": "model_a"} for n in range(6)]
    >>> answer = preferences(battles, "new", "old")
    >>> answer.statistic.observed, answer.p_value, answer.position_bias.first
    (1.0, 0.03125, 6)
    """
    return _answer(TestResult, requests.preferences(battles, u, v, **options))


def power(
    design: Mapping[str, Any] | TestRequest | PowerRequest | None = None,
    solve: Solve | None = None,
    **members: Any,
) -> PowerResult:
    """Find the true difference that a test detects, its power, or the number of items.

    Parameters
    ----------
    design
        {"kind": "binary", "p10": 0.08, "p01": 0.05}, {"kind": "sd", "sd": 0.3}, or a test made by `scores(…)`,
        `counts(…)` and so on.
    solve
        The number to solve for: "power", "n" or "effect"; of {"kind": "runs", "v": …} "floor" or "false_alarm".
    given
        n, power, effect, alpha, alternative, comparisons, floor, timeout_s: see `exactperm.client.power`. The numbers of a
        design may replace it: power(p10=0.08, p01=0.05, solve="n").

    >>> power({"kind": "binary", "p10": 0.08, "p01": 0.05}, "n").solution.n
    1185
    """
    return _answer(PowerResult, requests.power_request(design, solve, members))


def _is_made(value: Any) -> bool:
    """Whether it is a request or a sequence of metrics, not data."""
    if isinstance(value, TestRequest):
        return True
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(one, Metric) for one in value)


def _request(u: Any, v: Any, gold: Any, options: Options) -> TestRequest:
    if isinstance(u, TestRequest):
        _refuse_more(v, gold, options)
        return u
    return requests.scores(u, v, **options) if gold is None else requests.predictions(gold, u, v, **options)


def _refuse_more(v: Any, gold: Any, options: Any) -> None:
    if v is not None or gold is not None or options:
        raise TypeError(
            "A test or comparison that was made has its data and options already: give them to scores(…), counts(…), … instead."
        )


def _answer(kind: type[Result], request: Request) -> Result:
    from .transport import InProcess

    call = http_request(call_of(request))
    variables = ((name, value) for name, value in os.environ.items() if name.upper().startswith(PREFIX))
    try:
        response = checked(InProcess(_settings(tuple(variables))).handle_request(call), here=True)
    except ProblemError as error:
        raise error.with_traceback(None) from None
    return reader_of(kind)(response)


@lru_cache(maxsize=8)
def _settings(variables: tuple[tuple[str, str], ...]) -> Settings:
    """The settings in these variables, cached: reading them takes as long as a small test."""
    from ..settings import Settings

    return Settings()


def http_request(call: Call) -> httpx.Request:
    """A call as the request that `InProcess` answers."""
    return httpx.Request(
        call.method,
        URL + call.path,
        params=call.query or None,
        content=call.content,
        headers={"content-type": call.content_type},
    )
