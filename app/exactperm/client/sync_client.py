"""The synchronous client."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Literal, Self, Unpack, overload

import httpx

from . import calls, compare_requests, power_requests, requests
from .batch import Answers, Request, batch_call, batch_result
from .calls import Call
from .compare_requests import CompareOptions, CompareRequest
from .compare_results import ComparePlan, CompareResult
from .connection import TIMEOUT_S, Connection
from .gate_results import GateResult, Meta, Plan
from .jobs import Jobs
from .power_requests import PowerRequest, Solve
from .power_results import PowerResult
from .requests import FileLike, GateRequest, GateTerms, Metric, Options, TestRequest
from .results import TestResult
from .retries import Retries
from .stored import Stored, place_of, stored_call, stored_result

TextFormat = Literal["json", "text", "markdown", "csv", "html"]
BytesFormat = Literal["svg", "png", "junit"]
Theme = Literal["light", "dark"]


class Client(Connection):
    """A client of one server.

    With `store=True` the server keeps an answer for a while; the result's `permalink` is its URL.

    Parameters
    ----------
    url
        Where the server is; a path before `/v1` is kept.
    api_key
        Sent as a bearer token.
    timeout
        Seconds that one attempt may take; more where a request asks for a longer `timeout_s`.
    retries
        How often to retry when the server is busy (429, 503) or the connection fails; or a `Retries`.
    transport
        A transport of httpx instead of the network.
    sleep
        How to wait between attempts.

    >>> with Client("localhost:8000", transport=DOCTEST_TRANSPORT) as client:
    ...     result = client.scores([0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82])
    >>> result.p_value, result.items.wins
    (0.0625, 5)
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT_S,
        retries: Retries | int = 4,
        transport: httpx.BaseTransport | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        super().__init__(url, api_key=api_key, timeout=timeout, retries=retries)
        self._http = httpx.Client(transport=transport, **self._options())
        self._sleep = sleep
        self.jobs = Jobs(self.send, sleep)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Close its connections."""
        self._http.close()

    def send(self, call: Call) -> httpx.Response:
        """Send a call, again where that may help; raises NoAnswer. The response is not inspected."""
        trial = self.retries.begin()
        while True:
            try:
                response = self._http.send(self._request(call))
            except httpx.RequestError as error:
                wait = trial.after_error(error)
                if wait is None:
                    raise self._no_answer(error) from error
            else:
                wait = trial.after_answer(response)
                if wait is None:
                    return response
            self._sleep(wait)

    def test(self, request: TestRequest, *, store: bool = False) -> TestResult:
        """Run a test made by `scores`, `counts`, `predictions`, `effects` or `files`."""
        return calls.test_result(self.send(calls.test_call(request).kept(store)))

    def effects(
        self, stay: Any, swap: Any = None, *, store: bool = False, **options: Unpack[Options]
    ) -> TestResult:
        """Test effects: the contribution of each item as observed, and with the systems exchanged."""
        return self.test(requests.effects(stay, swap, **options), store=store)

    def scores(self, u: Any, v: Any = None, *, store: bool = False, **options: Unpack[Options]) -> TestResult:
        """Test scores: vectors, lists, {id: number}, or one N x 2 array."""
        return self.test(requests.scores(u, v, **options), store=store)

    def counts(self, u: Any, v: Any = None, *, store: bool = False, **options: Unpack[Options]) -> TestResult:
        """Test counts: {name: [one per item]}, [{name: count}], {id: {name: count}}, or one N x 4 array."""
        return self.test(requests.counts(u, v, **options), store=store)

    def predictions(
        self, gold: Any, u: Any, v: Any, *, store: bool = False, **options: Unpack[Options]
    ) -> TestResult:
        """Test the outputs of both systems against the gold standard."""
        return self.test(requests.predictions(gold, u, v, **options), store=store)

    def files(self, **files_and_fields: FileLike | Any) -> TestResult:
        """Test evaluation files; keywords are those of `requests.files`, and `store`, which is a field of the form."""
        return self.test(requests.files(**files_and_fields))

    def gate(
        self,
        test: TestRequest | GateRequest | Sequence[Metric],
        *,
        store: bool = False,
        **terms: Unpack[GateTerms],
    ) -> GateResult:
        """Decide: U is the candidate, V the baseline. A failed gate is a result, not an error."""
        request = test if isinstance(test, GateRequest) else requests.gate(test, **terms)
        return calls.gate_result(self.send(calls.gate_call(request).kept(store)))

    def compare(
        self,
        systems: Any = None,
        scores: Any = None,
        *,
        gold: Any = None,
        datasets: Mapping[str, Any] | None = None,
        store: bool = False,
        **options: Unpack[CompareOptions],
    ) -> CompareResult:
        """Compare many systems: {name: column}, a data frame, names and an N x K array, or data sets of these.

        Also what `requests.compare` and `requests.compare_files` made; see there.
        """
        request = compare_requests.given(systems, scores, gold=gold, datasets=datasets, **options)
        return calls.compare_result(self.send(calls.compare_call(request).kept(store)))

    @overload
    def plan(self, test: TestRequest) -> Plan: ...
    @overload
    def plan(self, test: CompareRequest) -> ComparePlan: ...
    def plan(self, test: TestRequest | CompareRequest) -> Plan | ComparePlan:
        """The method and the predicted cost of a test or a comparison, without running it."""
        response = self.send(calls.plan_call(test))
        if isinstance(test, CompareRequest):
            return calls.compare_plan_result(response)
        return calls.plan_result(response)

    def batch(self, requests: Sequence[Request], *, store: bool = False) -> Answers:
        """The answers to many small requests, in their order; a wrong request has its error in its place."""
        return batch_result(self.send(batch_call(requests).kept(store)))

    def power(
        self,
        design: Mapping[str, Any] | TestRequest | PowerRequest | None = None,
        solve: Solve | None = None,
        *,
        store: bool = False,
        **given: Any,
    ) -> PowerResult:
        """Which true difference a test finds, how likely, or how many items that takes; see `requests.power`."""
        request = power_requests.given(design, solve, given)
        return calls.power_result(self.send(calls.power_call(request).kept(store)))

    def meta(self) -> Meta:
        """What the server can do: its limits, methods, statistics and formats."""
        return calls.meta_result(self.send(Call("/v1/meta", "GET")))

    @overload
    def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: TextFormat,
        *,
        table: str | None = None,
    ) -> str: ...
    @overload
    def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: BytesFormat,
        *,
        theme: Theme | None = None,
        picture: str | None = None,
    ) -> bytes: ...
    @overload
    def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: str,
        *,
        theme: Theme | None = None,
        picture: str | None = None,
        table: str | None = None,
    ) -> str | bytes: ...
    def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: str,  # noqa: A002
        *,
        theme: Theme | None = None,
        picture: str | None = None,
        table: str | None = None,
    ) -> str | bytes:
        """The answer to a test, a gate or a comparison in another format: svg, png and junit as bytes, the others as text.

        Of a comparison, `picture` is leaderboard, heatmap, bars or forest, and `table` (of CSV) systems or pairs.
        Formats that a newer server has besides work, too; `meta().raw["representations"]` lists them.
        """
        return calls.report_result(
            self.send(calls.call_of(request).in_format(format, theme, picture=picture, table=table))
        )

    def keep(
        self,
        request: Request,
        format: str = "json",  # noqa: A002
        *,
        theme: Theme | None = None,
        picture: str | None = None,
        table: str | None = None,
    ) -> str:
        """The permalink of an answer, or of the report that `report` would give: the server keeps it for a while."""
        call = calls.call_of(request).in_format(format, theme, picture=picture, table=table)
        return place_of(self.send(call.kept()))

    def stored(self, permalink: str) -> Stored:
        """What the server keeps under a permalink, or its last part: a result, answers to a list, or a report."""
        return stored_result(self.send(stored_call(permalink, self.url)))
