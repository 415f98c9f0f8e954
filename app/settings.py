"""Every setting of the service, each limit with its unit in its name.

Read from the environment with the prefix `EXACTPERM_` (`EXACTPERM_PORT=9000`); nothing else is consulted.
"""

from __future__ import annotations

import os
from typing import Annotated

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 2**20


def default_workers() -> int:
    """As many workers as there are processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Settings(BaseSettings):
    """What an operator may choose. Frozen: an application has one set of settings for its life."""

    model_config = SettingsConfigDict(env_prefix="EXACTPERM_", frozen=True, extra="ignore")

    host: Annotated[str, Field(description="Address to listen on; loopback unless told otherwise.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int, Field(ge=0, le=65535, description="TCP port to listen on; 0 lets the system choose.")
    ] = 8000

    max_body_bytes: Annotated[
        int, Field(ge=1, description="Largest request body, as sent and inflated; beyond it 413.")
    ] = 64 * MIB
    max_items: Annotated[int, Field(ge=1, description="Most items in one test; beyond it 413.")] = 10_000_000
    max_name_chars: Annotated[int, Field(ge=1, description="Longest name of a system, in characters.")] = 200
    max_form_parts: Annotated[int, Field(ge=1, description="Most parts of a multipart body.")] = 100
    max_gate_metrics: Annotated[int, Field(ge=1, description="Most metrics of one gate; beyond it 422.")] = 32
    max_samples: Annotated[int, Field(ge=1, description="Most Monte Carlo samples of one test.")] = 10_000_000

    inplace_body_bytes: Annotated[
        int, Field(ge=0, description="Bodies up to this size are decoded in the web process.")
    ] = 131_072
    inplace_engine_seconds: Annotated[
        float, Field(ge=0, description="Tests predicted to take at most this long run in the web process.")
    ] = 0.005

    workers: Annotated[
        int,
        Field(
            ge=1,
            le=1024,
            default_factory=default_workers,
            description="Compute processes; one per processor.",
        ),
    ]
    queue_depth: Annotated[
        int, Field(ge=0, description="Requests that may wait for a worker; beyond it 503.")
    ] = 64
    worker_start_timeout_s: Annotated[
        float, Field(gt=0, description="Seconds a worker may take to import and warm up.")
    ] = 60.0
    default_timeout_s: Annotated[
        float, Field(gt=0, description="Deadline of a request that does not ask for one, in seconds.")
    ] = 60.0
    max_timeout_s: Annotated[
        float, Field(gt=0, description="Longest deadline a request may ask for, in seconds; more is clamped.")
    ] = 600.0
    retry_after_s: Annotated[int, Field(ge=1, description="What Retry-After says on 503, in seconds.")] = 1

    engine_budget_operations: Annotated[
        int, Field(ge=1, description="Elementary operations one test may be planned to take; beyond it 422.")
    ] = 20_000_000_000
    engine_budget_bytes: Annotated[
        int, Field(ge=1, description="Bytes of arrays one test may be planned to need; beyond it 422.")
    ] = 512 * MIB

    keep_alive_s: Annotated[int, Field(ge=1, description="Seconds an idle connection is kept open.")] = 5
    shutdown_grace_s: Annotated[
        int, Field(ge=0, description="Seconds that requests in flight have to finish after SIGTERM.")
    ] = 30
    access_log: Annotated[bool, Field(description="One line per request on standard output.")] = True
