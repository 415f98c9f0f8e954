"""The synchronous and the asyncio client. Each call is written once and either made or awaited."""

from __future__ import annotations

import asyncio
import random
import time
from collections.abc import Awaitable, Callable, Coroutine, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, update_wrapper
from types import TracebackType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, Self, TypedDict, TypeVar, Unpack, overload

import httpx

from . import compare_requests, requests, responses
from .calls import Call, Request, batch_call, call_of, job_call, jobs_call, plan_call, submit_call
from .compare_requests import CompareOptions, CompareRequest
from .errors import NoAnswer
from .requests import FileLike, GateRequest, GateTerms, Metric, Options, PowerRequest, Solve, TestRequest
from .responses import PLACE, Answers, Job, Result, State, Stored, reader_of, retry_after, stored_name
from .results import ComparePlan, CompareResult, GateResult, Meta, Plan, PowerResult, TestResult

# Addresses, httpx errors and retries: this part decides, the clients send and sleep. Answers are functions of requests,
# so that sending one twice only costs time.


CONNECT_TIMEOUT_S = 5.0
MAX_PORT = 65_535
TIMEOUT_S = 75.0  # a server's own default deadline is 60 s
GRACE_S = 15.0  # beyond the deadline that a request asks for
RETRIED_STATUSES = frozenset({429, 503})
# A lost or refused connection. A read timeout is not retried: the server would compute the answer again.
RETRIED_ERRORS = (
    httpx.ConnectError,
    httpx.ConnectTimeout,
    httpx.ReadError,
    httpx.WriteError,
    httpx.CloseError,
    httpx.RemoteProtocolError,
    httpx.PoolTimeout,
)
OVER = b"#deadline-exceeded"  # the same test would take just as long


@dataclass(frozen=True, slots=True)
class Retries:
    """How often and for how long to retry.

    Attributes
    ----------
    attempts
        Most times to send a request; 1 means no retry.
    budget_s
        Seconds after the first attempt by which every wait must end.
    base_s, cap_s
        The wait if the server gives none: about `base_s`, doubled each time, at most `cap_s`.
    clock, today, chance
        A monotonic clock, the time of day (for HTTP dates), and a number from 0 to 1.
    """

    attempts: int = 5
    budget_s: float = 60.0
    base_s: float = 0.25
    cap_s: float = 8.0
    clock: Callable[[], float] = time.monotonic
    today: Callable[[], float] = time.time
    chance: Callable[[], float] = random.random

    def begin(self) -> Trial:
        """Begin the attempts at one request."""
        return Trial(self, self.clock())


@dataclass(slots=True)
class Trial:
    """The attempts at one request."""

    retries: Retries
    started: float
    made: int = 0

    def after_answer(self, response: httpx.Response) -> float | None:
        """Seconds to wait before a retry; None if this response is final. Its body must have been read."""
        self.made += 1
        if response.status_code not in RETRIED_STATUSES or OVER in response.content[:4096]:
            return None
        delay = retry_after(response.headers.get("retry-after"), self.retries.today)
        return self._within_budget(self._backoff() if delay is None else delay + self._jitter())

    def after_error(self, error: httpx.RequestError) -> float | None:
        """Seconds to wait before a retry; None if that would not help."""
        self.made += 1
        return self._within_budget(self._backoff()) if isinstance(error, RETRIED_ERRORS) else None

    def _jitter(self) -> float:
        """A little more, so that clients with the same Retry-After do not return at once."""
        return self.retries.base_s * self.retries.chance()

    def _backoff(self) -> float:
        longest = min(self.retries.cap_s, self.retries.base_s * 2.0 ** (self.made - 1))
        return longest * (0.5 + 0.5 * self.retries.chance())

    def _within_budget(self, wait: float) -> float | None:
        over = self.retries.clock() - self.started + wait > self.retries.budget_s
        return None if over or self.made >= self.retries.attempts else wait


def _address(url: str) -> httpx.URL:
    """The server's address; `localhost:8000` is `http://localhost:8000`."""
    try:
        address = httpx.URL((url if "://" in url else f"http://{url}").rstrip("/"))
    except httpx.InvalidURL as error:
        raise NoAnswer(f"{url!r} is not a URL: {error}.") from None
    if not address.host or (address.port or 0) > MAX_PORT:
        raise NoAnswer(f"{url!r} is not a URL: it needs a host, and a port of at most {MAX_PORT}.")
    return address


class Connection:
    """The address, API key, timeout and retries of a client."""

    def __init__(self, url: str, *, api_key: str | None, timeout: float, retries: Retries | int) -> None:
        self.url = _address(url)
        self.timeout = timeout
        self.retries = Retries(attempts=retries + 1) if isinstance(retries, int) else retries
        self._headers = {"user-agent": "exactperm-client/1"}
        if api_key is not None:
            self._headers["authorization"] = f"Bearer {api_key}"

    def _options(self) -> dict[str, Any]:
        return {"headers": self._headers, "follow_redirects": False}

    def _request(self, call: Call) -> httpx.Request:
        longest = self.timeout if call.timeout_s is None else max(self.timeout, call.timeout_s + GRACE_S)
        timeout = httpx.Timeout(longest, connect=min(CONNECT_TIMEOUT_S, longest))
        url = self.url.copy_with(path=self.url.path.rstrip("/") + call.path)
        headers = {**self._headers, **({"content-type": call.content_type} if call.content else {})}
        headers |= dict(call.headers)
        return httpx.Request(
            call.method,
            url,
            params=call.query or None,
            content=call.content or None,
            headers=headers,
            extensions={"timeout": timeout.as_dict()},
        )

    def _no_answer(self, error: httpx.RequestError) -> NoAnswer:
        where = f"{self.url.scheme}://{self.url.netloc.decode()}"
        if isinstance(error, httpx.ConnectError | httpx.ConnectTimeout | httpx.UnsupportedProtocol):
            return NoAnswer(
                f"No connection to {where} ({error}). Is the server running, and is the URL right?"
            )
        if isinstance(error, httpx.TimeoutException):
            return NoAnswer(
                f"{where} took too long. Give the client a larger timeout, or ask for a cheaper method."
            )
        return NoAnswer(
            f"{where} broke off: {type(error).__name__}. Is it an HTTP server, and is it still running?"
        )


# The calls


P = ParamSpec("P")
Read = TypeVar("Read")
TextFormat = Literal["json", "text", "markdown", "csv", "html"]
BytesFormat = Literal["svg", "png", "junit"]
Theme = Literal["light", "dark"]
FIRST_WAIT_S, LONGEST_WAIT_S = 0.1, 2.0


class Chosen(TypedDict, total=False):
    """Options of a report: the theme of pictures, and the picture or CSV table of a comparison."""

    theme: Theme | None
    picture: str | None
    table: str | None


@dataclass(frozen=True, slots=True)
class TypedCall(Generic[Read]):
    """A call, and the function that reads its response."""

    call: Call
    read: Callable[[httpx.Response], Read]


class _Blocking:
    """A client that sends a call at once."""

    send: Callable[[Call], httpx.Response]

    def _answer(self, ask: Callable[[], TypedCall[Read]]) -> Read:
        typed = ask()
        return typed.read(self.send(typed.call))


class _Awaited:
    """A client that sends a call when awaited."""

    send: Callable[[Call], Coroutine[Any, Any, httpx.Response]]

    async def _answer(self, ask: Callable[[], TypedCall[Read]]) -> Read:
        typed = ask()
        return typed.read(await self.send(typed.call))


class method(Generic[P, Read]):  # noqa: N801  (used as a decorator)
    """A method of both clients: the synchronous one returns the answer, the other one an awaitable."""

    def __init__(self, ask: Callable[Concatenate[Any, P], TypedCall[Read]]) -> None:
        self._ask = ask
        update_wrapper(self, ask)  # type: ignore[arg-type]  # for its name and docstring

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: _Blocking, owner: type) -> Callable[P, Read]: ...
    @overload
    def __get__(self, client: _Awaited, owner: type) -> Callable[P, Coroutine[Any, Any, Read]]: ...
    def __get__(self, client: Any, owner: type) -> Any:
        if client is None:
            return self

        def asking(*arguments: P.args, **options: P.kwargs) -> Any:
            return client._answer(partial(self._ask, client, *arguments, **options))  # noqa: SLF001  (a part of the client)

        return update_wrapper(asking, self._ask)


def _asked(request: Request, answer: type[Read], *, store: bool) -> TypedCall[Read]:
    """The call of a request, and the reader of its answer."""
    return TypedCall(call_of(request).kept(store), reader_of(answer))


class _JobCalls:
    """The jobs of this client's API key."""

    @method
    def submit(self, request: Request | Sequence[Request], *, key: str | None = None) -> TypedCall[Job]:
        """Submit a request made by `scores`, `gate`, `compare` and so on, or a list of them; the same `key` returns the
        same job.
        """
        return TypedCall(submit_call(request, key), reader_of(Job))

    @method
    def status(self, job: str) -> TypedCall[Job]:
        """The current state of a job."""
        return TypedCall(job_call(job), reader_of(Job))

    @method
    def result(self, job: str) -> TypedCall[Result | list[Any]]:
        """The result of a job that has succeeded; for a list, a list with an error for each wrong request."""
        return TypedCall(job_call(job, part="/result"), responses.result_of_job)

    @method
    def cancel(self, job: str) -> TypedCall[Job]:
        """Cancel a job; idempotent."""
        return TypedCall(job_call(job, "POST", "/cancel"), reader_of(Job))

    @method
    def list(
        self, state: State | None = None, *, limit: int | None = None, after: str | None = None
    ) -> TypedCall[Sequence[Job]]:
        """The jobs of this key, newest first, of one `state`; the next page is `after` the last job's id."""
        return TypedCall(jobs_call(state, limit, after), responses.jobs_of)

    @method
    def delete(self, job: str) -> TypedCall[None]:
        """Cancel a job and forget it, with its result."""
        return TypedCall(job_call(job, "DELETE"), responses.nothing_of)


def waits() -> Iterator[float]:
    """Seconds between two polls of a job."""
    wait = FIRST_WAIT_S
    while True:
        yield wait
        wait = min(LONGEST_WAIT_S, 1.5 * wait)


class Jobs(_JobCalls, _Blocking):
    """The jobs of this client's API key: requests that outlive the connection."""

    def __init__(self, client: Client) -> None:
        self.send = client.send
        self._sleep = client.sleep

    def wait(self, job: str, progress: Callable[[Job], None] | None = None) -> Job:
        """Wait until a job has ended; `progress` is called at every poll."""
        for seconds in waits():
            now = self.status(job)
            if progress is not None:
                progress(now)
            if now.done:
                return now
            self._sleep(seconds)
        raise AssertionError


class AsyncJobs(_JobCalls, _Awaited):
    """As `Jobs`, awaited."""

    def __init__(self, client: AsyncClient) -> None:
        self.send = client.send
        self._sleep = client.sleep

    async def wait(self, job: str, progress: Callable[[Job], None] | None = None) -> Job:
        """As `Jobs.wait`."""
        for seconds in waits():
            now = await self.status(job)
            if progress is not None:
                progress(now)
            if now.done:
                return now
            await self._sleep(seconds)
        raise AssertionError


class _Calls(Connection):
    """The methods that both clients share."""

    @method
    def test(self, request: TestRequest, *, store: bool = False) -> TypedCall[TestResult]:
        """Run a test made by `scores`, `counts`, `predictions`, `effects` or `files`."""
        return _asked(request, TestResult, store=store)

    @method
    def effects(
        self, stay: Any, swap: Any = None, *, store: bool = False, **options: Unpack[Options]
    ) -> TypedCall[TestResult]:
        """Test effects: each item's contribution as observed and with the systems exchanged."""
        return _asked(requests.effects(stay, swap, **options), TestResult, store=store)

    @method
    def scores(
        self, u: Any, v: Any = None, *, store: bool = False, **options: Unpack[Options]
    ) -> TypedCall[TestResult]:
        """Test scores: vectors, lists, {id: number}, or one N x 2 array."""
        return _asked(requests.scores(u, v, **options), TestResult, store=store)

    @method
    def counts(
        self, u: Any, v: Any = None, *, store: bool = False, **options: Unpack[Options]
    ) -> TypedCall[TestResult]:
        """Test counts: {name: [one per item]}, [{name: count}], {id: {name: count}}, or one N x 4 array."""
        return _asked(requests.counts(u, v, **options), TestResult, store=store)

    @method
    def predictions(
        self, gold: Any, u: Any, v: Any, *, store: bool = False, **options: Unpack[Options]
    ) -> TypedCall[TestResult]:
        """Test the outputs of both systems against the gold standard."""
        return _asked(requests.predictions(gold, u, v, **options), TestResult, store=store)

    @method
    def preferences(
        self,
        /,
        battles: Any,
        u: str | None = None,
        v: str | None = None,
        *,
        store: bool = False,
        **options: Any,
    ) -> TypedCall[TestResult]:
        """Test which of two models is preferred; see `requests.preferences`."""
        request = requests.preferences(battles, u, v, **options)
        return _asked(request, TestResult, store=store)

    @method
    def files(self, /, **files_and_fields: FileLike | Any) -> TypedCall[TestResult]:
        """Test evaluation files; keywords as for `requests.files`, and `store`, a field of the form."""
        return _asked(requests.files(**files_and_fields), TestResult, store=False)

    @method
    def gate(
        self,
        test: TestRequest | GateRequest | Sequence[Metric],
        *,
        store: bool = False,
        **terms: Unpack[GateTerms],
    ) -> TypedCall[GateResult]:
        """Decide: U is the candidate, V the baseline. A failed gate is a result, not an error."""
        request = test if isinstance(test, GateRequest) else requests.gate(test, **terms)
        return _asked(request, GateResult, store=store)

    @method
    def compare(
        self,
        systems: Any = None,
        scores: Any = None,
        *,
        gold: Any = None,
        datasets: Mapping[str, Any] | None = None,
        store: bool = False,
        **options: Unpack[CompareOptions],
    ) -> TypedCall[CompareResult]:
        """Compare many systems: {name: column}, a data frame, names and an N x K array, or data sets of these.

        Also takes a request of `requests.compare` or `requests.compare_files`; see there.
        """
        request = compare_requests.compare_request(systems, scores, gold=gold, datasets=datasets, **options)
        return _asked(request, CompareResult, store=store)

    @method
    def systems(
        self,
        /,
        systems: Any,
        statistic: str | Mapping[str, Any],
        scores: Any = None,
        *,
        store: bool = False,
        **options: Any,
    ) -> TypedCall[TestResult]:
        """Test several systems at once: a contrast, a trend, whether any differs; see `requests.systems`."""
        made = compare_requests.systems(systems, statistic, scores, **options)
        return _asked(made, TestResult, store=store)

    @method
    def power(
        self,
        /,
        design: Mapping[str, Any] | TestRequest | PowerRequest | None = None,
        solve: Solve | None = None,
        *,
        store: bool = False,
        **members: Any,
    ) -> TypedCall[PowerResult]:
        """Find the true difference that a test detects, its power, or the number of items; see `requests.power`."""
        return _asked(requests.power_request(design, solve, members), PowerResult, store=store)

    @method
    def batch(self, requests: Sequence[Request], *, store: bool = False) -> TypedCall[Answers]:
        """The answers to many small requests, in order; a wrong request has its error in its place."""
        return TypedCall(batch_call(requests).kept(store), responses.answers_of_list)

    @method
    def meta(self) -> TypedCall[Meta]:
        """The server's limits, methods, statistics and formats."""
        return TypedCall(Call("/v1/meta", "GET"), reader_of(Meta))

    @method
    def keep(self, request: Request, format: str = "json", **chosen: Unpack[Chosen]) -> TypedCall[str]:  # noqa: A002  (the name of the option)
        """Store an answer, or the report that `report` would give, on the server for a while; return its permalink."""
        return TypedCall(_report_call(request, format, chosen).kept(), responses.place_of_answer)

    @method
    def stored(self, permalink: str) -> TypedCall[Stored]:
        """The answer stored under a permalink, or under its last part: a result, answers to a list, or a report."""
        return TypedCall(Call(PLACE + stored_name(permalink, self.url), "GET"), responses.stored_answer)


def _report_call(request: Request, format_: str, chosen: Chosen) -> Call:
    return call_of(request).in_format(format_, **chosen)


def _plan_reader(request: TestRequest | CompareRequest) -> Callable[[httpx.Response], Any]:
    return reader_of(ComparePlan if isinstance(request, CompareRequest) else Plan)


class Client(_Calls, _Blocking):
    """A client of one server.

    With `store=True` the server keeps an answer for a while; the result's `permalink` is its URL.

    Parameters
    ----------
    url
        The server's address; may have a path before `/v1`.
    api_key
        Sent as a bearer token.
    timeout
        Seconds for one attempt; more if a request has a longer `timeout_s`.
    retries
        How often to retry when the server is busy (429, 503) or the connection fails; or a `Retries`.
    transport
        An httpx transport in place of the network.
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
        self.sleep = sleep
        self.jobs = Jobs(self)

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
        """Send a call, with retries; raises NoAnswer. The response is not inspected."""
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
            self.sleep(wait)

    @overload
    def plan(self, test: TestRequest) -> Plan: ...
    @overload
    def plan(self, test: CompareRequest) -> ComparePlan: ...
    def plan(self, test: TestRequest | CompareRequest) -> Plan | ComparePlan:
        """The method and the predicted cost of a test or a comparison, without running it."""
        planned: Plan | ComparePlan = _plan_reader(test)(self.send(plan_call(test)))
        return planned

    @overload
    def report(self, request: Request, format: TextFormat, **chosen: Unpack[Chosen]) -> str: ...
    @overload
    def report(self, request: Request, format: BytesFormat, **chosen: Unpack[Chosen]) -> bytes: ...
    @overload
    def report(self, request: Request, format: str, **chosen: Unpack[Chosen]) -> str | bytes: ...
    def report(self, request: Request, format: str, **chosen: Unpack[Chosen]) -> str | bytes:  # noqa: A002  (the name of the option)
        """The answer to a test, a gate or a comparison in another format: svg, png and junit as bytes, the others as text.

        Of a comparison, `picture` is leaderboard, heatmap, bars or forest, and `table` (of CSV) systems or pairs.
        Further formats of a newer server also work; `meta().raw["representations"]` lists them.
        """
        return responses.report_of(self.send(_report_call(request, format, chosen)))


class AsyncClient(_Calls, _Awaited):
    """The client for asyncio: its methods are those of `Client`, awaited; see there for the parameters."""

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
        self.sleep = sleep
        self.jobs = AsyncJobs(self)

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
            await self.sleep(wait)

    @overload
    async def plan(self, test: TestRequest) -> Plan: ...
    @overload
    async def plan(self, test: CompareRequest) -> ComparePlan: ...
    async def plan(self, test: TestRequest | CompareRequest) -> Plan | ComparePlan:
        """As `Client.plan`."""
        planned: Plan | ComparePlan = _plan_reader(test)(await self.send(plan_call(test)))
        return planned

    @overload
    async def report(self, request: Request, format: TextFormat, **chosen: Unpack[Chosen]) -> str: ...
    @overload
    async def report(self, request: Request, format: BytesFormat, **chosen: Unpack[Chosen]) -> bytes: ...
    @overload
    async def report(self, request: Request, format: str, **chosen: Unpack[Chosen]) -> str | bytes: ...
    async def report(self, request: Request, format: str, **chosen: Unpack[Chosen]) -> str | bytes:  # noqa: A002  (the name of the option)
        """As `Client.report`."""
        return responses.report_of(await self.send(_report_call(request, format, chosen)))
