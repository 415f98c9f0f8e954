"""Serve the yardstick of the edge: a FastAPI application that only parses a JSON body and returns it.

Run as `python -m loadtest.echo PORT [PROCESSES]`: uvicorn with h11 and asyncio, as the service, but no middleware and no log line. `/echo`
returns the parsed value for FastAPI to encode, as most services do; `/bare` encodes it by `json.dumps` only: the minimum for a Python
service with such a body.
"""

import multiprocessing
import signal
import socket
import sys
from typing import Any

import uvicorn
from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

app = FastAPI()


@app.post("/echo")
async def echo(request: Request) -> Any:
    """Return the body."""
    return await request.json()


@app.post("/bare")
async def bare(request: Request) -> JSONResponse:
    """Return the body, without FastAPI's encoder."""
    return JSONResponse(await request.json())


@app.get("/readyz")
async def ready() -> None:
    """Answer once the server runs."""


def listening(port: int) -> socket.socket:
    """A socket of one of several processes, with an explicit protocol, without which asyncio would not set TCP_NODELAY."""
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    found.bind(("127.0.0.1", port))
    return found


def main(port: int, processes: int = 1) -> None:
    """Serve until SIGTERM, which the first process forwards to the others."""
    others = [multiprocessing.Process(target=serve, args=(port,), daemon=True) for _ in range(processes - 1)]
    for other in others:
        other.start()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit())  # uvicorn raises it again at its end
    try:
        serve(port)
    finally:
        for other in others:
            other.terminate()


def serve(port: int) -> None:
    """Run one process."""
    config = uvicorn.Config(app, http="h11", loop="asyncio", access_log=False, log_level="warning")
    uvicorn.Server(config).run(sockets=[listening(port)])


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
