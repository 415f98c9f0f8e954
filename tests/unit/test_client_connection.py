"""The client's connection: errors, retries, permalinks, applications in the same process."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterator
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from pathlib import Path
from typing import Any, TypeVar

import httpx
import numpy as np
import pytest

import exactperm.client.errors as tree
from exactperm.client import (
    AsyncClient,
    Client,
    DeadlineExceeded,
    ExactpermError,
    InvalidData,
    InvalidTest,
    MalformedBody,
    NoAnswer,
    NoResult,
    NotAcceptable,
    NotAuthorised,
    NotFound,
    PlanTooLarge,
    ProblemError,
    Retries,
    ServiceFailed,
    TooLarge,
    TooSlow,
    Unavailable,
    UnreadableAnswer,
    UnsupportedMedia,
    compare,
    files,
    gate,
    metric,
    power,
    scores,
)
from exactperm.client.responses import retry_after
from exactperm.errors import Flaw, InvalidTest as ServersInvalidTest
from exactperm.main import create_app
from exactperm.service import problems
from exactperm.settings import Settings
from tests.warm_start import lifespan

KINDS = {
    400: MalformedBody,
    401: NotAuthorised,
    403: NotAuthorised,
    404: NotFound,
    405: NotFound,
    406: NotAcceptable,
    408: TooSlow,
    409: NoResult,
    410: NoResult,
    413: TooLarge,
    415: UnsupportedMedia,
    418: ProblemError,
    422: InvalidTest,
    429: Unavailable,
    431: TooLarge,
    500: ServiceFailed,
    501: ServiceFailed,
    502: ServiceFailed,
    503: Unavailable,
    505: ServiceFailed,
}


def client(answer: Callable[[httpx.Request], httpx.Response]) -> Client:
    return Client("http://test", transport=httpx.MockTransport(answer), retries=0)


def refused(answer: httpx.Response) -> ExactpermError:
    with client(lambda _: answer) as asking, pytest.raises(ExactpermError) as caught:
        asking.scores([1], [2])
    return caught.value


@pytest.mark.parametrize("status", KINDS)
def test_every_status_has_its_exception(status: int) -> None:
    said = {"type": "/docs/problems#x", "title": "T", "status": status, "detail": "D", "instance": "r"}
    error = refused(httpx.Response(status, json=said, headers={"content-type": "application/problem+json"}))
    assert type(error) is KINDS[status]
    assert isinstance(error, ProblemError)
    assert (error.type, error.title, error.status, error.detail, error.instance) == tuple(said.values())
    assert error.raw == said


@pytest.mark.parametrize("kind", problems.all_types(), ids=lambda kind: f"{kind.status}-{kind.code}")
def test_every_problem_of_the_service_becomes_an_exception_that_says_what_to_do(kind: Any) -> None:
    rendered = problems.render(
        kind, "What happened.", "request-1", flaws=(Flaw("/u/3", "not_a_number", "This is text."),)
    )
    error = refused(httpx.Response(rendered.status, headers=list(rendered.headers), content=rendered.body))
    assert isinstance(error, ProblemError)
    assert error.errors == (tree.Flaw("/u/3", "not_a_number", "This is text."),)
    assert str(error).startswith(f"{kind.title} ({kind.status}): What happened.\n  u[3]: This is text.")
    assert str(error).count("\n") == 2
    special = {"plan-too-large": PlanTooLarge, "deadline-exceeded": DeadlineExceeded}
    assert type(error) is special.get(kind.code, KINDS[kind.status])


def test_a_long_list_of_flaws_is_cut_in_the_message_and_whole_in_the_exception() -> None:
    flaws = tuple(Flaw(f"/u/{n}", "x", "Bad.") for n in range(9))
    rendered = problems.of_error(ServersInvalidTest("Nine things.", flaws=flaws), "r")
    error = refused(httpx.Response(rendered.status, headers=list(rendered.headers), content=rendered.body))
    assert isinstance(error, InvalidTest)
    assert len(error.errors) == 9
    assert "and 4 more (.errors)" in str(error)


def test_an_error_page_of_something_else_is_not_quoted() -> None:
    page = "<html>" + "x" * 100_000
    error = refused(httpx.Response(502, html=page))
    assert isinstance(error, ServiceFailed)
    assert (error.title, error.type) == ("Bad Gateway", "about:blank")
    assert "text/html" in str(error)
    assert len(str(error)) < 300


@pytest.mark.parametrize(
    "body", [b"{", b"[]", b"\xff\xfe", b'{"errors": 3, "type": 7}', b'{"errors": [1, {}]}']
)
def test_a_damaged_problem_is_still_a_problem(body: bytes) -> None:
    error = refused(httpx.Response(422, content=body, headers={"content-type": "application/problem+json"}))
    assert isinstance(error, InvalidTest)


@pytest.mark.parametrize("body", [b"<html>", b"[]", b'"p"', b"{}", b'{"id": 3}'])
def test_an_invalid_answer_is_reported_as_unreadable(body: bytes) -> None:
    assert isinstance(refused(httpx.Response(200, content=body)), UnreadableAnswer)


@pytest.mark.parametrize("format_", ["text", "markdown", "csv", "svg", "png", "junit", "json"])
def test_a_page_in_place_of_a_report_is_called_unreadable(format_: Any) -> None:
    page = httpx.Response(200, html="<html>Welcome to the airport</html>")
    with (
        client(lambda _: page) as asking,
        pytest.raises(UnreadableAnswer, match="URL of an exactperm server"),
    ):
        asking.report(scores([1], [2]), format_)


def test_a_redirect_is_not_followed_with_the_key() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(str(request.url))
        return httpx.Response(307, headers={"location": "http://elsewhere/"})

    with client(answer) as asking, pytest.raises(ProblemError, match="Temporary Redirect"):
        asking.scores([1], [2])
    assert seen == ["http://test/v1/tests/scores"]


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (httpx.ConnectError("refused"), "Is the server running"),
        (httpx.ConnectTimeout("slow"), "Is the server running"),
        (httpx.ReadTimeout("slow"), "took too long"),
        (httpx.RemoteProtocolError("eof"), "broke off"),
        (httpx.DecodingError("gzip"), "broke off"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Exception) else "",
)
def test_errors_of_the_connection_are_wrapped_and_keep_their_cause(
    error: httpx.RequestError, said: str
) -> None:
    def answer(_: httpx.Request) -> httpx.Response:
        raise error

    with client(answer) as asking, pytest.raises(NoAnswer, match=said) as caught:
        asking.meta()
    assert caught.value.__cause__ is error


def test_a_port_without_a_listener() -> None:
    with Client("127.0.0.1:9", retries=0) as asking, pytest.raises(NoAnswer, match=r"http://127\.0\.0\.1:9"):
        asking.meta()


@pytest.mark.parametrize("url", ["http://[::1", "http://a:99999999", "http://", ""])
def test_invalid_urls_are_refused(url: str) -> None:
    with pytest.raises(NoAnswer, match="is not a URL"):
        Client(url)


def test_the_key_is_a_bearer_token_and_stands_in_no_message() -> None:
    def answer(request: httpx.Request) -> httpx.Response:
        assert request.headers["authorization"] == "Bearer s3cret"
        return httpx.Response(401)

    transport = httpx.MockTransport(answer)
    with (
        Client("http://test", api_key="s3cret", transport=transport) as asking,
        pytest.raises(NotAuthorised) as caught,
    ):
        asking.meta()
    assert "s3cret" not in str(caught.value) + repr(caught.value)


def test_a_path_before_v1_is_kept() -> None:
    seen: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.url.raw_path.decode())
        return httpx.Response(500)

    with Client("http://test/exact/", transport=httpx.MockTransport(answer), retries=0) as asking:
        for call in (asking.meta, lambda: asking.scores([1], [2], names=("a b", "ü"))):
            with pytest.raises(ServiceFailed):
                call()
    assert seen == ["/exact/v1/meta", "/exact/v1/tests/scores"]


def test_the_tree_at_the_top_is_the_tree() -> None:
    text = Path(tree.__file__).read_text(encoding="utf-8").partition('"""')[2].partition('"""')[0]
    drawn = set(re.findall(r"(?:├──|└──|^)\s*(\w+)", text[text.index("ExactpermError") :], re.MULTILINE))
    classes = {
        name for name, one in vars(tree).items() if isinstance(one, type) and issubclass(one, Exception)
    }
    assert classes == {name for name in drawn if name[0].isupper()}


def test_a_failed_gate_is_a_result() -> None:
    said = json.loads(GATE)
    answer = httpx.Response(409, json=said, headers={"x-verdict": "fail", "x-p-value": "0.01"})
    with client(lambda _: answer) as asking:
        found = asking.gate(scores([1], [2]))
    assert (found.verdict, found.passed, found.p_value) == ("fail", False, 0.01)
    assert found.raw == said


GATE = json.dumps(
    {
        "id": "g_0",
        "verdict": "fail",
        "passed": False,
        "reason": "Failed.",
        "policy": "no_regression",
        "margin": 0,
        "alpha": 0.05,
        "higher_is_better": True,
        "on_inconclusive": "pass",
        "correction": None,
        "p_value": 0.01,
        "log10_p_value": -2.0,
        "metrics": [],
        "something_new": 1,
    }
)


META = {"versions": {"service": "1", "algorithm": "1"}, "limits": {}, "tests": [], "methods": []}
TODAY = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)
Step = httpx.Response | Exception


class World:
    """Answers in their turn, and a clock that only sleeping and answering move."""

    def __init__(self, *steps: Step, seconds_each: float = 0.0) -> None:
        self.steps: Iterator[Step] = iter(steps)
        self.seconds_each = seconds_each
        self.now = 100.0
        self.waits: list[float] = []
        self.asked = 0

    def __call__(self, request: httpx.Request) -> httpx.Response:
        self.asked += 1
        self.now += self.seconds_each
        step = next(self.steps)
        if isinstance(step, Exception):
            raise step
        return step

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds

    def retries(self, *, chance: float = 0.0, **limits: Any) -> Retries:
        return Retries(
            **limits,
            clock=lambda: self.now,
            today=TODAY.timestamp,
            chance=lambda: chance,
        )

    def ask(self, *, chance: float = 0.0, **limits: float) -> None:
        transport = httpx.MockTransport(self)
        with Client(
            "http://test",
            transport=transport,
            retries=self.retries(chance=chance, **limits),
            sleep=self.sleep,
        ) as client:
            client.meta()


def busy(status: int = 503, after: str | None = None, body: bytes = b"") -> httpx.Response:
    return httpx.Response(status, content=body, headers={} if after is None else {"retry-after": after})


def ok() -> httpx.Response:
    return httpx.Response(200, json=META)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("3", 3.0),
        (" 0 ", 0.0),
        (format_datetime(TODAY - timedelta(hours=1), usegmt=True), 0.0),
        ("soon", None),
        ("-1", None),
        ("1.5", None),
        ("٣", None),
        ("", None),
        (None, None),
    ],
)
def test_retry_after_is_seconds_or_a_date_and_nothing_else(value: str | None, seconds: float | None) -> None:
    assert retry_after(value, TODAY.timestamp) == seconds


PASSED_DEADLINE = httpx.Response(
    503,
    content=b'{"type": "/docs/problems#deadline-exceeded"}',
    headers={"retry-after": "1", "content-type": "application/problem+json"},
)
LOST = (httpx.ConnectError, httpx.ConnectTimeout, httpx.ReadError, httpx.RemoteProtocolError)
# What is answered, in turn; how it is asked; the error in the end; and the waits, before each further attempt.
RETRIED: dict[str, tuple[list[Step], dict[str, float], type[Exception] | None, list[float]]] = {
    "seconds of 429": ([busy(429, "7"), ok()], {}, None, [7.0]),
    "seconds of 503": ([busy(503, "7"), ok()], {}, None, [7.0]),
    "a date": ([busy(after=format_datetime(TODAY + timedelta(seconds=30), usegmt=True)), ok()], {}, None, [30.0]),
    "Retry-After is never shortened by chance": ([busy(after="2"), ok()], {"chance": 1.0}, None, [2.25]),
    "without it, doubled up to the cap": (
        [*(busy() for _ in range(7)), ok()], {"chance": 1.0, "attempts": 8}, None, [0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 8.0],
    ),
    "chance takes up to half away": ([busy(), busy(), ok()], {"chance": 0.0}, None, [0.125, 0.25]),
    **{f"lost: {kind.__name__}": ([kind("x"), ok()], {}, None, [0.125]) for kind in LOST},
    "slow": ([httpx.ReadTimeout("x")], {}, NoAnswer, []),
    "ftp": ([httpx.UnsupportedProtocol("x")], {}, NoAnswer, []),
    **{f"fault {status}": ([busy(status, "1")], {}, ServiceFailed, []) for status in (500, 502, 504)},
    "a deadline that passed": ([PASSED_DEADLINE], {}, DeadlineExceeded, []),
    "the last refusal": ([busy(after="1") for _ in range(3)], {"attempts": 3}, Unavailable, [1.0, 1.0]),
    "the last lost connection": ([httpx.ConnectError("x") for _ in range(2)], {"attempts": 2}, NoAnswer, [0.125]),
    "no wait ends after the budget": ([busy(after="61")], {"budget_s": 60.0}, Unavailable, []),
    "time spent on answers counts": (
        [busy(after="10") for _ in range(3)], {"seconds_each": 15.0, "budget_s": 60.0}, Unavailable, [10.0, 10.0],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", RETRIED)
def test_retries_and_their_waits(name: str) -> None:
    steps, given, error, waits = RETRIED[name]
    options = dict(given)
    world = World(*steps, seconds_each=options.pop("seconds_each", 0.0))
    if error is None:
        world.ask(**options)
    else:
        with pytest.raises(error) as caught:
            world.ask(**options)
        if name == "the last refusal":
            assert "Try again in 1 s" in str(caught.value)
            assert getattr(caught.value, "retry_after_s", None) == 1.0
    assert (world.waits, world.asked) == (waits, len(waits) + 1)


def test_no_retries_means_one_attempt() -> None:
    world = World(busy(after="0"))
    transport = httpx.MockTransport(world)
    with (
        Client("http://test", transport=transport, retries=0, sleep=world.sleep) as client,
        pytest.raises(Unavailable),
    ):
        client.meta()
    assert world.asked == 1


def test_the_same_bytes_are_sent_again() -> None:
    bodies: list[bytes] = []

    def answer(request: httpx.Request) -> httpx.Response:
        bodies.append(request.content)
        return busy(after="0")

    with (
        Client(
            "http://test", transport=httpx.MockTransport(answer), retries=2, sleep=lambda _: None
        ) as client,
        pytest.raises(Unavailable),
    ):
        client.files(file=b"1,2\n")
    assert len(bodies) == 3
    assert len(set(bodies)) == 1


def test_the_asynchronous_client_waits_as_the_other_does() -> None:
    world = World(busy(after="3"), httpx.ConnectError("x"), ok())

    async def ask() -> None:
        async def sleep(seconds: float) -> None:
            world.sleep(seconds)

        transport = httpx.MockTransport(world)
        async with AsyncClient(
            "http://test", transport=transport, retries=world.retries(), sleep=sleep
        ) as client:
            await client.meta()

    asyncio.run(ask())
    assert world.waits == [3.0, 0.25]


@pytest.mark.parametrize(("asked", "allowed"), [(None, 75.0), (10.0, 75.0), (300.0, 315.0)])
def test_an_attempt_may_take_as_long_as_the_request_asks_for(asked: float | None, allowed: float) -> None:
    seen: list[dict[str, float]] = []

    def answer(request: httpx.Request) -> httpx.Response:
        seen.append(request.extensions["timeout"])
        return httpx.Response(500)

    options: dict[str, Any] = {} if asked is None else {"timeout_s": asked}
    with (
        Client("http://test", transport=httpx.MockTransport(answer), retries=0) as client,
        pytest.raises(ServiceFailed),
    ):
        client.scores([1], [2], **options)
    assert (seen[0]["read"], seen[0]["connect"]) == (allowed, 5.0)


# Answers that a server keeps, by the Python client: what it asks, what it is told, and what it gets back.


U, V = [0.85, 0.90, 0.78, 0.92, 0.88], [0.80, 0.85, 0.75, 0.88, 0.82]
NAME = "r_0123456789abcdef0123456789abcdef"
COUNTS: dict[str, Any] = {"u": {"tp": [1, 2], "incorrect": [1, 1]}, "v": {"tp": [1, 1], "incorrect": [1, 2]}}
FILE = ("scores.csv", b"u,v\n1,0\n2,1\n1,1\n")
PLANNED: dict[str, Any] = {"design": {"kind": "sd", "sd": 0.3}, "solve": "n", "effect": 0.05}
KEPT: dict[str, Callable[[AsyncClient, bool], Any]] = {
    "test": lambda client, store: client.test(scores(U, V), store=store),
    "array": lambda client, store: client.scores(np.array(U), np.array(V), store=store, alpha=0.1),
    "effects": lambda client, store: client.effects([3, -1, 0, 2], store=store),
    "counts": lambda client, store: client.counts(**COUNTS, store=store),
    "predictions": lambda client, store: client.predictions(["N", "V"], ["N", "V"], ["V", "V"], store=store),
    "files": lambda client, store: client.files(file=FILE, store=store),
    "gate": lambda client, store: client.gate(scores(U, V), store=store),
    "failed gate": lambda client, store: client.gate(scores(V, U), alpha=0.2, store=store),
    "gate of files": lambda client, store: client.gate(gate(files(file=FILE)), store=store),
    "board": lambda client, store: client.compare({"A": U, "B": V, "C": V[::-1]}, store=store),
    "power": lambda client, store: client.power(power(**PLANNED), store=store),
    "batch": lambda client, store: client.batch([scores(U, V), scores([1], [2, 3])], store=store),
}


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """One session of a server that stores answers: each kind with and without `store`, and the content of its permalink."""
    file = tmp_path_factory.mktemp("kept") / "jobs.sqlite"
    app = create_app(Settings(workers=1, jobs_url=f"sqlite:///{file}"))

    async def session() -> dict[str, Any]:
        told: dict[str, Any] = {}
        transport = httpx.ASGITransport(app)
        async with lifespan(app), AsyncClient("http://test", transport=transport, retries=0) as client:
            for kind, ask in KEPT.items():
                answer = await ask(client, True)
                told[kind] = answer, await client.stored(answer.permalink), await ask(client, False)
            told["by name"] = await client.stored(told["test"][0].permalink.rpartition("/")[2])
            page = await client.keep(scores(U, V), "html")
            told["page"] = page, await client.stored(page), await client.report(scores(U, V), "html")
            picture = await client.keep(compare({"A": U, "B": V}), "svg", picture="heatmap")
            told["picture"] = await client.stored(picture)
            with pytest.raises(NotFound):
                await client.stored(NAME)
        return told

    return asyncio.run(session())


@pytest.mark.parametrize("kind", KEPT)
def test_an_answer_is_found_again_at_its_permalink(found: dict[str, Any], kind: str) -> None:
    answer, again, plain = found[kind]
    place, _, name = answer.permalink.rpartition("/")
    assert place == "http://test/v1/results"
    assert (len(name), name[:2]) == (34, "r_")
    assert (type(again), again.permalink) == (type(answer), answer.permalink)
    assert plain.permalink is None
    if kind == "batch":
        assert (again[0].raw, again[0].permalink) == (answer[0].raw, None)
        assert isinstance(again[1], ProblemError)
        assert again[1].errors == answer[1].errors
    else:
        assert again.raw == answer.raw
        assert again == answer
        assert plain.id == answer.id


def test_a_name_alone_is_enough(found: dict[str, Any]) -> None:
    assert found["by name"].raw == found["test"][0].raw


def test_a_report_is_kept_and_comes_back_as_it_was(found: dict[str, Any]) -> None:
    place, again, report = found["page"]
    assert place.startswith("http://test/v1/results/r_")
    assert again == report
    assert "0.0625" in again
    assert b"<svg " in found["picture"]


def test_a_server_that_keeps_nothing_says_so() -> None:
    app = create_app(Settings(workers=1))

    async def session() -> ProblemError:
        async with (
            lifespan(app),
            AsyncClient("http://test", transport=httpx.ASGITransport(app), retries=0) as client,
        ):
            with pytest.raises(ProblemError, match="EXACTPERM_JOBS_URL") as refused:
                await client.scores(U, V, store=True)
        return refused.value

    assert asyncio.run(session()).status == 501


@pytest.fixture
def answered() -> Iterator[Callable[..., Client]]:
    """A client of a server with one answer and these headers for all requests; `asked` are the URLs."""
    made: list[Client] = []
    from exactperm import test

    content = json.dumps(dict(test(U, V).raw)).encode()

    def client(url: str, asked: list[str], **headers: str) -> Client:
        def answer(request: httpx.Request) -> httpx.Response:
            asked.append(str(request.url))
            all_headers = {"content-type": "application/json", **headers}
            return httpx.Response(200, content=content, headers=all_headers)

        made.append(Client(url, transport=httpx.MockTransport(answer), retries=0))
        return made[-1]

    yield client
    for one in made:
        one.close()


@pytest.mark.parametrize(
    ("url", "said", "place"),
    [
        ("http://test", f"/v1/results/{NAME}", f"http://test/v1/results/{NAME}"),
        ("test:8000", f"/v1/results/{NAME}", f"http://test:8000/v1/results/{NAME}"),
        ("https://test/exact/", f"/v1/results/{NAME}", f"https://test/exact/v1/results/{NAME}"),
        ("https://test/v1/exact", f"/v1/results/{NAME}", f"https://test/v1/exact/v1/results/{NAME}"),
        # A proxy may rewrite the header, or not.
        ("https://test/exact", f"/exact/v1/results/{NAME}", f"https://test/exact/v1/results/{NAME}"),
        ("http://test", f"http://inside:8000/v1/results/{NAME}", f"http://test/v1/results/{NAME}"),
        ("http://me:s3cret@test", f"/v1/results/{NAME}", f"http://test/v1/results/{NAME}"),
        ("http://test", "/v1/results/\x1b[2J", None),
        ("http://test", f"/v1/results/{NAME}0", None),
        ("http://test", f"/elsewhere/{NAME}", None),
        ("http://test", "", None),
    ],
)
def test_a_permalink_is_absolute_and_of_the_server_that_was_asked(
    answered: Callable[..., Client], url: str, said: str, place: str | None
) -> None:
    asked: list[str] = []
    client = answered(url, asked, **{"content-location": said})
    assert client.scores(U, V, store=True).permalink == place
    assert asked[0].endswith("/v1/tests/scores?store=1")
    if place is None:
        with pytest.raises(UnreadableAnswer, match="has no permalink"):
            client.keep(scores(U, V))
    else:
        assert client.keep(scores(U, V)) == place
        assert getattr(client.stored(place), "p_value", None) == 0.0625
        assert httpx.URL(asked[-1]).copy_with(username="", password="") == place


def test_store_is_asked_for_once(answered: Callable[..., Client]) -> None:
    asked: list[str] = []
    options: Any = {"store": True}
    answered("http://test", asked).scores(np.array(U), np.array(V), **options)
    answered("http://test", asked).test(scores(np.array(U), np.array(V), **options), store=True)
    assert [httpx.URL(one).params.get_list("store") for one in asked] == [["1"], ["true"]]


@pytest.mark.parametrize(
    ("permalink", "said"),
    [
        (f"https://elsewhere/v1/results/{NAME}", "not a permalink of this client's server"),
        (f"http://test/v1/results/{NAME}", "not a permalink of this client's server"),
        (f"https://test.evil/v1/results/{NAME}", "not a permalink of this client's server"),
        ("https://test/v1/results/../jobs", "not a permalink"),
        (f"https://test/v1/results/{NAME}?x=1", "not a permalink"),
        ("j_0123456789abcdef0123456789abcdef", "not a permalink"),
        ("http://[::1", "not a permalink"),
        ("", "not a permalink"),
    ],
)
def test_only_permalinks_of_this_server_are_requested(
    answered: Callable[..., Client], permalink: str, said: str
) -> None:
    asked: list[str] = []
    with pytest.raises(InvalidData, match=said):
        answered("https://test", asked).stored(permalink)
    assert asked == []


# The asynchronous client against the whole application in this process.


DATA = Path(__file__).parents[1] / "data"
Found = TypeVar("Found")
U_OF_CLIENT_ASGI, V_OF_CLIENT_ASGI = (
    np.array([0.85, 0.90, 0.78, 0.92, 0.88]),
    np.array([0.80, 0.85, 0.75, 0.88, 0.82]),
)


def asking(work: Callable[[AsyncClient], Awaitable[Found]], **settings: Any) -> Found:
    async def run() -> Found:
        app = create_app(Settings(workers=1, **settings))
        async with (
            lifespan(app),
            AsyncClient("http://test", transport=httpx.ASGITransport(app), retries=0) as client,
        ):
            return await work(client)

    return asyncio.run(run())


def without_runtime(raw: Any) -> dict[str, Any]:
    return {name: value for name, value in raw.items() if name != "runtime"}


@pytest.fixture(scope="module")
def found_of_client_asgi() -> dict[str, Any]:
    """One session with many questions: an application takes its time to start."""

    async def work(client: AsyncClient) -> dict[str, Any]:
        options: dict[str, Any] = {"alpha": 0.01, "names": ("new", "old"), "statistic": "sign"}
        rows = np.array([[8, 2, 6, 1], [3, 3, 5, 2], [7, 1, 7, 1]])
        u = {"tp": [8, 3, 7], "incorrect": [2, 3, 1]}
        v = {"tp": [6, 5, 7], "incorrect": [1, 2, 1]}
        many = await asyncio.gather(
            *(client.scores(U_OF_CLIENT_ASGI, V_OF_CLIENT_ASGI, seed=n) for n in range(20))
        )
        paths = {"u": DATA / "trec/eval.aplrob03a.txt", "v": str(DATA / "trec/eval.uic0301.txt")}
        with pytest.raises(InvalidTest) as refusal:
            await client.scores([1, 2, 3], [1, 2])
        return {
            "array": await client.scores(U_OF_CLIENT_ASGI, V_OF_CLIENT_ASGI, **options),
            "columns": await client.scores(np.column_stack([U_OF_CLIENT_ASGI, V_OF_CLIENT_ASGI]), **options),
            "json": await client.scores(U_OF_CLIENT_ASGI.tolist(), V_OF_CLIENT_ASGI.tolist(), **options),
            "count array": await client.counts(rows, alpha=0.1),
            "count json": await client.counts(u, v, alpha=0.1),
            "effects": await client.effects(U_OF_CLIENT_ASGI - V_OF_CLIENT_ASGI, statistic="abs(x1)"),
            "predictions": await client.predictions(
                ["N", "V"], ["N", "V"], ["V", "N"], alternative="greater"
            ),
            "files": await client.files(**paths, measure="map"),
            "gate": await client.gate(
                [
                    metric("a", scores(V_OF_CLIENT_ASGI, U_OF_CLIENT_ASGI)),
                    metric("b", scores(U_OF_CLIENT_ASGI, V_OF_CLIENT_ASGI)),
                ],
                alpha=0.2,
            ),
            "mirrored": await client.gate(
                scores(V_OF_CLIENT_ASGI, U_OF_CLIENT_ASGI), alpha=0.2, higher_is_better=False
            ),
            "plan": await client.plan(scores(U_OF_CLIENT_ASGI, V_OF_CLIENT_ASGI)),
            "meta": await client.meta(),
            "line": await client.report(scores(U_OF_CLIENT_ASGI, V_OF_CLIENT_ASGI), "text"),
            "many": many,
            "refusal": refusal.value,
        }

    return asking(work)


def test_arrays_and_json_give_the_same_answer(found_of_client_asgi: dict[str, Any]) -> None:
    expected = without_runtime(found_of_client_asgi["json"].raw)
    assert without_runtime(found_of_client_asgi["array"].raw) == expected
    assert without_runtime(found_of_client_asgi["columns"].raw) == expected
    assert without_runtime(found_of_client_asgi["count array"].raw) == without_runtime(
        found_of_client_asgi["count json"].raw
    )


def test_all_ways_to_ask_are_answered(found_of_client_asgi: dict[str, Any]) -> None:
    assert found_of_client_asgi["array"].p_value == 0.0625
    assert found_of_client_asgi["effects"].p_value == 0.0625
    assert found_of_client_asgi["predictions"].p_value == 0.25
    assert found_of_client_asgi["files"].reading.format == "trec"
    assert found_of_client_asgi["plan"].method == "enumeration"
    assert "permutation" in found_of_client_asgi["meta"].tests
    assert found_of_client_asgi["line"].startswith("p=0.0625 ")


def test_a_gate_fails_for_the_metric_that_is_worse(found_of_client_asgi: dict[str, Any]) -> None:
    result = found_of_client_asgi["gate"]
    assert (result.verdict, result.passed, result.correction) == ("fail", False, "holm")
    assert [one.verdict for one in result.metrics] == ["fail", "pass"]
    assert found_of_client_asgi["mirrored"].passed


def test_many_questions_at_once_get_their_own_answers(found_of_client_asgi: dict[str, Any]) -> None:
    assert {one.p_value for one in found_of_client_asgi["many"]} == {0.0625}


def test_a_refusal_points_at_the_flaw(found_of_client_asgi: dict[str, Any]) -> None:
    error = found_of_client_asgi["refusal"]
    assert error.errors[0].pointer == "/v"
    assert "u has 3 items and v has 2" in str(error)
    assert error.instance


@pytest.mark.slow
def test_a_body_over_the_limit_is_too_large() -> None:
    async def work(client: AsyncClient) -> None:
        with pytest.raises(TooLarge, match="limit"):
            await client.scores(np.ones(1000), np.zeros(1000))

    asking(work, max_body_bytes=1000)
