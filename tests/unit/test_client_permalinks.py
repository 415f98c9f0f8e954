"""Answers that a server keeps, by the Python client: what it asks, what it is told, and what it gets back."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterator
from typing import Any

import httpx
import numpy as np
import pytest

from exactperm.client import (
    AsyncClient,
    Client,
    InvalidData,
    NotFound,
    ProblemError,
    UnreadableAnswer,
    compare,
    files,
    gate,
    power,
    scores,
)
from exactperm.main import create_app
from exactperm.settings import Settings
from tests.warm_start import lifespan

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
    """One session of a server that keeps answers: each kind with and without `store`, and what its permalink gives."""
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
    """A client of a server that answers everything with one answer and these headers; `asked` are the URLs."""
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
        with pytest.raises(UnreadableAnswer, match="does not say where it is kept"):
            client.keep(scores(U, V))
    else:
        assert client.keep(scores(U, V)) == place
        assert client.stored(place).p_value == 0.0625  # type: ignore[union-attr]
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
        (f"https://elsewhere/v1/results/{NAME}", "no permalink of this client's server"),
        (f"http://test/v1/results/{NAME}", "no permalink of this client's server"),
        (f"https://test.evil/v1/results/{NAME}", "no permalink of this client's server"),
        ("https://test/v1/results/../jobs", "no permalink"),
        (f"https://test/v1/results/{NAME}?x=1", "no permalink"),
        ("j_0123456789abcdef0123456789abcdef", "no permalink"),
        ("http://[::1", "no permalink"),
        ("", "no permalink"),
    ],
)
def test_only_what_is_a_permalink_of_this_server_is_asked(
    answered: Callable[..., Client], permalink: str, said: str
) -> None:
    asked: list[str] = []
    with pytest.raises(InvalidData, match=said):
        answered("https://test", asked).stored(permalink)
    assert asked == []
