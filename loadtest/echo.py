"""The yardstick of the edge: a FastAPI application that parses a JSON body and returns it, and does nothing else.

Run as `python -m loadtest.echo PORT`: uvicorn with h11 and asyncio, as the service, but no middleware and no log line.
`/echo` returns the parsed value and leaves it to FastAPI to write it, as most services do; `/bare` writes it
itself, with nothing but `json.dumps`: the least that any Python service does with such a body.
"""

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


if __name__ == "__main__":
    uvicorn.run(
        app,
        host="127.0.0.1",
        port=int(sys.argv[1]),
        http="h11",
        loop="asyncio",
        access_log=False,
        log_level="warning",
    )
