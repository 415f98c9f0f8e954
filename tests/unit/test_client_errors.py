from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import httpx
import pytest

import exactperm.client.errors as tree
from exactperm.client import (
    Client,
    DeadlineExceeded,
    ExactpermError,
    InvalidTest,
    MalformedBody,
    NoAnswer,
    NoResult,
    NotAcceptable,
    NotAuthorised,
    NotFound,
    PlanTooLarge,
    ProblemError,
    ServiceFailed,
    TooLarge,
    TooSlow,
    Unavailable,
    UnreadableAnswer,
    UnsupportedMedia,
    scores,
)
from exactperm.errors import Flaw, InvalidTest as ServersInvalidTest
from exactperm.service import problems

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
def test_an_answer_that_is_none_is_said_to_be_unreadable(body: bytes) -> None:
    assert isinstance(refused(httpx.Response(200, content=body)), UnreadableAnswer)


@pytest.mark.parametrize("format_", ["text", "markdown", "csv", "svg", "png", "junit", "json"])
def test_a_page_in_place_of_a_report_is_said_to_be_unreadable(format_: Any) -> None:
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


def test_nobody_listens() -> None:
    with Client("127.0.0.1:9", retries=0) as asking, pytest.raises(NoAnswer, match=r"http://127\.0\.0\.1:9"):
        asking.meta()


@pytest.mark.parametrize("url", ["http://[::1", "http://a:99999999", "http://", ""])
def test_what_is_no_url_is_refused(url: str) -> None:
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
