"""Run six attacks on a real server:

`python -m loadtest.attacks [--root DIR] [--rest 60] [--control] [--attack H1 …]`. Prints how long `/livez` was silent, and the memory that
the service used and kept. `--root` measures the server of another checkout, to compare versions with the same script. Attackers, probes and
server share the processors: `--control` also probes an idle server, which shows the machine's part of a silence. Linux: it reads /proc.

C2 one small expression of big constants, which used to run in the event loop H1   chunks of one byte without end, over one connection and
over eight H2 700 small requests at once with a cached answer H3 as H2, without reading the answers M2 compressed bodies with very many
members F6 1,500 connections with unfinished heads, until the server has refused all of them
"""

from __future__ import annotations

import argparse
import contextlib
import gzip
import json
import os
import resource
import selectors
import socket
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from loadtest.besieged import Siege, Toll, besieged, probed
from loadtest.server import PROJECT_ROOT
from loadtest.sockets import post
from loadtest.table import duration, render

FLOOD_S = 5.0
CROWD = 700
PATIENCE_S = 120.0
UNREAD_S = 15.0  # the server gives up after ten
HALF_OPEN = 1_500
HALF = b"GET /livez HTTP/1.1\r\nHo"
EFFECTS = "/v1/tests/effects"
FILES = "/v1/tests/scores"
CHUNKED = (
    b"POST /v1/tests/scores HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\n"
    b"Transfer-Encoding: chunked\r\n\r\n"
)

Address = tuple[str, int]
Attack = Callable[[Address], str]  # returns the outcome in a few words


def c2(address: Address) -> str:
    """Send one request: twelve items, an expression of sixty big factors."""
    body = {
        "stay": [[i + 1, i * 7 % 11 + 1] for i in range(12)],
        "swap": [[i * 5 % 13 + 1, i + 2] for i in range(12)],
        "statistic": {"expression": "(x1+1e300)*" * 60 + "x2"},
        "timeout_s": 1,
    }
    began = time.monotonic()
    status = asked(address, post(EFFECTS, json.dumps(body).encode()))
    return f"{status} after {duration(time.monotonic() - began)}"


def h1(connections: int) -> Attack:
    """Send chunks of one byte as fast as possible for some seconds."""

    def attack(address: Address) -> str:
        with ThreadPoolExecutor(connections) as pool:
            sent = list(pool.map(flood, [address] * connections))
        return f"{sum(sent) / 1e6:.1f} MB taken over {connections} connection(s)"

    return attack


def flood(address: Address) -> int:
    """Count the bytes that one connection sent; reconnect when the server closes it."""
    chunks = b"1\r\n \r\n" * 10_000
    sent, end = 0, time.monotonic() + FLOOD_S
    while time.monotonic() < end:
        with contextlib.suppress(OSError), socket.create_connection(address, timeout=1.0) as client:
            client.sendall(CHUNKED)
            while time.monotonic() < end:
                sent += client.send(chunks)
    return sent


def crowd(address: Address, *, reading: bool) -> str:
    """Open 700 connections, each with a small request whose answer of some megabytes is cached."""
    request = post(EFFECTS, PMF)
    asked(address, request)
    clients = []
    for _ in range(CROWD):
        client = socket.socket()
        if not reading:
            client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with contextlib.suppress(OSError):
            client.connect(address)
            client.sendall(request)
            clients.append(client)
    try:
        if not reading:
            time.sleep(UNREAD_S)
            return f"{len(clients)} answers unread"
        return read(clients)
    finally:
        for client in clients:
            client.close()


def read(clients: Sequence[socket.socket]) -> str:
    """Read all answers; count complete and refused ones."""
    selector = selectors.DefaultSelector()
    got: dict[socket.socket, int] = {}
    begins: dict[socket.socket, bytes] = {}
    for client in clients:
        client.setblocking(False)
        selector.register(client, selectors.EVENT_READ, client)
        got[client] = 0
    waiting, end = len(clients), time.monotonic() + PATIENCE_S
    while waiting and time.monotonic() < end:
        for key, _ in selector.select(1.0):
            client = key.data
            piece = b""
            with contextlib.suppress(OSError):
                piece = client.recv(1 << 20)
            begins.setdefault(client, piece[:12])
            got[client] += len(piece)
            if not piece or over(begins[client], got[client]):
                selector.unregister(client)
                waiting -= 1
    selector.close()
    good = sum(begin.endswith(b"200") for begin in begins.values())
    return f"{good} of {len(clients)} answered, {len(begins) - good} refused, {waiting} still waiting"


def over(begin: bytes, size: int) -> bool:
    """Whether an answer is complete: refusals are short, and answers are as long as the first."""
    return not begin.endswith(b"200") or size >= LENGTH[0]


def m2(address: Address) -> str:
    """Send many empty members of gzip and zstd."""
    bodies = {
        "gzip": (gzip.compress(b"") + b"\0" * 60_000) * 900,
        "zstd": (b"\x50\x2a\x4d\x18" + b"\0" * 4) * 5_000_000,
    }
    found = []
    for coding, body in bodies.items():
        head = post(FILES, b"").replace(
            b"Content-Length: 0", b"Content-Encoding: %s\r\nContent-Length: %d" % (coding.encode(), len(body))
        )
        began = time.monotonic()
        status = asked(address, head + body)
        found.append(f"{coding} {status} after {duration(time.monotonic() - began)}")
    return ", ".join(found)


def f6(address: Address) -> str:
    """Open connections that begin a head and stop."""
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    with contextlib.ExitStack() as stack:
        began = time.monotonic()
        for _ in range(HALF_OPEN):
            stack.enter_context(socket.create_connection(address, timeout=PATIENCE_S)).sendall(HALF)
        taken = time.monotonic() - began
        time.sleep(UNREAD_S)
    return f"{HALF_OPEN:,} connections within {duration(taken)}"


def asked(address: Address, request: bytes) -> str:
    """Send a request and read the whole answer; return its status, or the failure."""
    try:
        with socket.create_connection(address, timeout=PATIENCE_S) as client:
            with contextlib.suppress(ConnectionError):  # refused before everything was sent
                client.sendall(request)
            received = bytearray()
            size = None
            while size is None or len(received) < size:
                piece = client.recv(1 << 20)
                if not piece:
                    break
                received += piece
                size = size or whole(received)
    except OSError as error:
        return type(error).__name__
    LENGTH[0] = len(received)
    return received[9:12].decode() or "closed"


def whole(received: bytearray) -> int | None:
    """The size of the whole answer by its Content-Length."""
    head = received.find(b"\r\n\r\n")
    start = received.lower().find(b"content-length:", 0, max(head, 0))
    if start < 0:
        return None
    return head + 4 + int(received[start + 15 : received.find(b"\r\n", start)])


# About 4 MB of sums with probabilities.
PMF = json.dumps({"stay": [(1 + i * 7919 % 997) / 1000 for i in range(400)], "pmf": "full"}).encode()
LENGTH = [0]
ATTACKS: dict[str, tuple[Attack, ...]] = {
    "C2": (c2,),
    "H1": (h1(1), h1(8)),
    "H2": (lambda address: crowd(address, reading=True),),
    "H3": (lambda address: crowd(address, reading=False),),
    "M2": (m2,),
    "F6": (f6,),
}
HEADER = (
    "attack",
    "longest silence",
    "of the control",
    "web before",
    "web peak",
    "all peak",
    "web after",
    "all after",
)


def measured(attack: Attack, root: Path, rest_s: float, *, control: bool) -> tuple[Toll, float | None, str]:
    """Run one attack on a new server; also return the silence of an idle one, if requested."""
    with contextlib.ExitStack() as stack:
        siege = stack.enter_context(besieged(root))
        idle = stack.enter_context(besieged(root)) if control else None
        with probed(idle.address) if idle else contextlib.nullcontext([None]) as silence:
            happened = within(siege, attack, rest_s)
        assert siege.toll is not None
        return siege.toll, silence[0], happened


def within(siege: Siege, attack: Attack, rest_s: float) -> str:
    """Run the attack while probing."""
    with siege.under_attack(rest_s):
        return attack(siege.address)


def main() -> int:
    """Parse the options, attack, print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--root", type=Path, default=PROJECT_ROOT, help="the checkout of the server")
    parser.add_argument("--rest", type=float, default=60.0, help="seconds until memory is looked at again")
    parser.add_argument("--control", action="store_true", help="probe an idle server at the same time")
    parser.add_argument("--attack", action="append", choices=sorted(ATTACKS), help="only this one")
    options = parser.parse_args()
    rows = []
    for name in options.attack or ATTACKS:
        for attack in ATTACKS[name]:
            toll, idle_s, happened = measured(
                attack, options.root.resolve(), options.rest, control=options.control
            )
            idle = "" if idle_s is None else duration(idle_s)
            beside = f", of the control {idle}" if idle else ""
            print(f"{name}: {happened}; /livez silent for {duration(toll.silence_s)}{beside}", flush=True)
            memory = (toll.before_mib, toll.peak_mib, toll.peak_all_mib, toll.after_mib, toll.after_all_mib)
            rows.append([name, duration(toll.silence_s), idle, *(f"{mib:,.0f} MiB" for mib in memory)])
    print(f"\n{os.cpu_count()} processors, shared by the server, its workers, the attackers and the probes;")
    print(f"web: the web process; all: its workers too; after: {options.rest:.0f} s later")
    print(render(HEADER, rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
