"""The client for asyncio; its methods are those of `Client`, awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Self, Unpack, overload

import httpx

from . import calls, compare_requests, power_requests, requests
from .batch import Answers, Request, batch_call, batch_result
from .calls import Call
from .compare_requests import CompareOptions, CompareRequest
from .compare_results import ComparePlan, CompareResult
from .connection import TIMEOUT_S, Connection
from .gate_results import GateResult, Meta, Plan
from .jobs import AsyncJobs
from .power_requests import PowerRequest, Solve
from .power_results import PowerResult
from .requests import FileLike, GateRequest, GateTerms, Metric, Options, TestRequest
from .results import TestResult
from .retries import Retries
from .stored import Stored, place_of, stored_call, stored_result
from .sync_client import BytesFormat, TextFormat, Theme


class AsyncClient(Connection):
    """The client for asyncio; see `Client` for the parameters."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT_S,
        retries: Retries | int = 4,
        transport: httpx.AsyncBaseTransport | None = None,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        super().__init__(url, api_key=api_key, timeout=timeout, retries=retries)
        self._http = httpx.AsyncClient(transport=transport, **self._options())
        self._sleep = sleep
        self.jobs = AsyncJobs(self.send, sleep)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close its connections."""
        await self._http.aclose()

    async def send(self, call: Call) -> httpx.Response:
        """As `Client.send`."""
        trial = self.retries.begin()
        while True:
            try:
                response = await self._http.send(self._request(call))
            except httpx.RequestError as error:
                wait = trial.after_error(error)
                if wait is None:
                    raise self._no_answer(error) from error
            else:
                wait = trial.after_answer(response)
                if wait is None:
                    return response
            await self._sleep(wait)

    async def test(self, request: TestRequest, *, store: bool = False) -> TestResult:
        """As `Client.test`."""
        return calls.test_result(await self.send(calls.test_call(request).kept(store)))

    async def effects(
        self, stay: Any, swap: Any = None, *, store: bool = False, **options: Unpack[Options]
    ) -> TestResult:
        """As `Client.effects`."""
        return await self.test(requests.effects(stay, swap, **options), store=store)

    async def scores(
        self, u: Any, v: Any = None, *, store: bool = False, **options: Unpack[Options]
    ) -> TestResult:
        """As `Client.scores`."""
        return await self.test(requests.scores(u, v, **options), store=store)

    async def counts(
        self, u: Any, v: Any = None, *, store: bool = False, **options: Unpack[Options]
    ) -> TestResult:
        """As `Client.counts`."""
        return await self.test(requests.counts(u, v, **options), store=store)

    async def predictions(
        self, gold: Any, u: Any, v: Any, *, store: bool = False, **options: Unpack[Options]
    ) -> TestResult:
        """As `Client.predictions`."""
        return await self.test(requests.predictions(gold, u, v, **options), store=store)

    async def files(self, **files_and_fields: FileLike | Any) -> TestResult:
        """As `Client.files`."""
        return await self.test(requests.files(**files_and_fields))

    async def gate(
        self,
        test: TestRequest | GateRequest | Sequence[Metric],
        *,
        store: bool = False,
        **terms: Unpack[GateTerms],
    ) -> GateResult:
        """As `Client.gate`."""
        request = test if isinstance(test, GateRequest) else requests.gate(test, **terms)
        return calls.gate_result(await self.send(calls.gate_call(request).kept(store)))

    async def compare(
        self,
        systems: Any = None,
        scores: Any = None,
        *,
        gold: Any = None,
        datasets: Mapping[str, Any] | None = None,
        store: bool = False,
        **options: Unpack[CompareOptions],
    ) -> CompareResult:
        """As `Client.compare`."""
        request = compare_requests.given(systems, scores, gold=gold, datasets=datasets, **options)
        return calls.compare_result(await self.send(calls.compare_call(request).kept(store)))

    @overload
    async def plan(self, test: TestRequest) -> Plan: ...
    @overload
    async def plan(self, test: CompareRequest) -> ComparePlan: ...
    async def plan(self, test: TestRequest | CompareRequest) -> Plan | ComparePlan:
        """As `Client.plan`."""
        response = await self.send(calls.plan_call(test))
        if isinstance(test, CompareRequest):
            return calls.compare_plan_result(response)
        return calls.plan_result(response)

    async def batch(self, requests: Sequence[Request], *, store: bool = False) -> Answers:
        """As `Client.batch`."""
        return batch_result(await self.send(batch_call(requests).kept(store)))

    async def power(
        self,
        design: Mapping[str, Any] | TestRequest | PowerRequest | None = None,
        solve: Solve | None = None,
        *,
        store: bool = False,
        **given: Any,
    ) -> PowerResult:
        """As `Client.power`."""
        request = power_requests.given(design, solve, given)
        return calls.power_result(await self.send(calls.power_call(request).kept(store)))

    async def meta(self) -> Meta:
        """As `Client.meta`."""
        return calls.meta_result(await self.send(Call("/v1/meta", "GET")))

    @overload
    async def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: TextFormat,
        *,
        table: str | None = None,
    ) -> str: ...
    @overload
    async def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: BytesFormat,
        *,
        theme: Theme | None = None,
        picture: str | None = None,
    ) -> bytes: ...
    @overload
    async def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: str,
        *,
        theme: Theme | None = None,
        picture: str | None = None,
        table: str | None = None,
    ) -> str | bytes: ...
    async def report(
        self,
        request: TestRequest | GateRequest | CompareRequest | PowerRequest,
        format: str,  # noqa: A002
        *,
        theme: Theme | None = None,
        picture: str | None = None,
        table: str | None = None,
    ) -> str | bytes:
        """As `Client.report`."""
        return calls.report_result(
            await self.send(calls.call_of(request).in_format(format, theme, picture=picture, table=table))
        )

    async def keep(
        self,
        request: Request,
        format: str = "json",  # noqa: A002
        *,
        theme: Theme | None = None,
        picture: str | None = None,
        table: str | None = None,
    ) -> str:
        """As `Client.keep`."""
        call = calls.call_of(request).in_format(format, theme, picture=picture, table=table)
        return place_of(await self.send(call.kept()))

    async def stored(self, permalink: str) -> Stored:
        """As `Client.stored`."""
        return stored_result(await self.send(stored_call(permalink, self.url)))
