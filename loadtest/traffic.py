"""Generate the traffic of chaos and soak: good requests with known answers, bad ones with known refusals, and clients that leave."""

from __future__ import annotations

import asyncio
import json
import random
from collections import Counter
from dataclasses import dataclass, field
from urllib.parse import urlsplit

import httpx

SMALL = {"u": [0.85, 0.90, 0.78, 0.92, 0.88], "v": [0.80, 0.85, 0.75, 0.88, 0.82]}
SMALL_P = 0.0625
TOO_LARGE_FOR_THE_LOOP = [1, -1, 2, 3] * 20_000  # beyond Settings.inplace_body_bytes: only a worker reads it
FORM = {
    "u": b'{"id":"a","score":1}\n{"id":"b","score":1}\n',
    "v": b'{"id":"b","score":0}\n{"id":"a","score":0}\n',
}
BAD: tuple[tuple[str, bytes, str, int], ...] = (
    ("/v1/tests/scores", b"{", "application/json", 400),
    ("/v1/tests/scores", b'{"u":[1,NaN],"v":[1,2]}', "application/json", 422),
    ("/v1/tests/scores", b'{"u":[1],"v":[1,2]}', "application/json", 422),
    ("/v1/tests/scores", b"\xff\xfe", "text/csv", 400),
    ("/v1/tests/scores", b"x", "image/png", 415),
    ("/v1/tests/files", b"--x", "multipart/form-data; boundary=x", 400),
    ("/nope", b"", "application/json", 404),
)
PATIENCE_S = 90.0


# A request whose worker dies is retried once; a second death is reported to its client.
WORKER_LOST = "worker-lost"


def problem_type_of(body: bytes) -> str:
    """The end of the problem's type, such as `overloaded`; `?` if there is none."""
    try:
        return str(json.loads(body)["type"]).rpartition("#")[2]
    except (ValueError, KeyError, TypeError):
        return "?"


@dataclass(slots=True)
class Tally:
    """The requests sent and their outcomes; `wrong` lists wrong answers."""

    sent: Counter[str] = field(default_factory=Counter)
    statuses: Counter[str] = field(default_factory=Counter)
    refusals: Counter[str] = field(default_factory=Counter)  # 5xx by request, status and problem type
    wrong: list[str] = field(default_factory=list)

    def note(self, what: str, response: httpx.Response, allowed: set[int], refusal: str = "") -> None:
        """Count one answer with an `allowed` status, or a 503 that is a `refusal` of that problem type."""
        status = response.status_code
        self.sent[what] += 1
        self.statuses[str(status)] += 1
        if status >= 500:
            kind = problem_type_of(response.content)
            self.refusals[f"{what} {status} {kind}"] += 1
            if status == 503 and kind == refusal:
                return
        if status not in allowed:
            self.wrong.append(f"{what}: {status} {response.text[:200]}")


class Traffic:
    """Clients of one server."""

    def __init__(self, url: str, seed: int) -> None:
        self.tally = Tally()
        self._random = random.Random(seed)
        self._url = url
        self._client = httpx.AsyncClient(base_url=url, timeout=PATIENCE_S)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    async def one(self) -> None:
        """Send one request of the mix; 503 is allowed if two workers in turn died under a request."""
        kinds = (self.in_place, self.in_a_worker, self.files, self.bad, self.leaving)
        await self._random.choices(kinds, weights=(25, 35, 10, 20, 10))[0]()

    async def in_place(self) -> None:
        """Send a small test with a known p-value."""
        response = await self._client.post("/v1/tests/scores", json=SMALL)
        self.tally.note("small", response, {200})
        if response.status_code == 200 and response.json()["p_value"] != SMALL_P:
            self.tally.wrong.append(f"small: {response.text[:200]}")

    async def in_a_worker(self) -> None:
        """Send a test for a worker, with a different first item, so that it is not cached."""
        stay = [self._random.randint(-99, 99), *TOO_LARGE_FOR_THE_LOOP]
        response = await self._client.post(
            "/v1/tests/effects", json={"stay": stay, "seed": self._random.randrange(2**31)}
        )
        self.tally.note("worker", response, {200}, WORKER_LOST)

    async def files(self) -> None:
        """Send two files as multipart."""
        parts = {role: (f"{role}.jsonl", content) for role, content in FORM.items()}
        seed = {"seed": str(self._random.randrange(2**31))}
        response = await self._client.post("/v1/tests/files", files=parts, data=seed)
        self.tally.note("files", response, {200}, WORKER_LOST)

    async def bad(self) -> None:
        """Send an invalid request."""
        path, body, media, status = self._random.choice(BAD)
        response = await self._client.post(path, content=body, headers={"content-type": media})
        self.tally.note("bad", response, {status}, WORKER_LOST if path.endswith("files") else "")

    async def leaving(self) -> None:
        """Disconnect in the head, in the body, or while a worker computes."""
        where = urlsplit(self._url)
        _, writer = await asyncio.open_connection(where.hostname, where.port)
        body = json.dumps({"stay": [self._random.randint(-99, 99), *TOO_LARGE_FOR_THE_LOOP]}).encode()
        head = f"POST /v1/tests/effects HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\n\r\n"
        message = head.encode() + body
        cut = self._random.choice((10, len(head), len(message) // 2, len(message)))
        writer.write(message[:cut])
        await writer.drain()
        if cut == len(message):
            await asyncio.sleep(self._random.random() * 0.05)
        writer.transport.abort()
        self.tally.sent["left"] += 1
