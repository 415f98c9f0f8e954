"""Every setting of the service, each limit with its unit in its name.

Read from the environment with the prefix `EXACTPERM_` (`EXACTPERM_PORT=9000`); nothing else is consulted.
"""

from __future__ import annotations

import os
from typing import Annotated, Literal

from pydantic import AliasChoices, Field
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 2**20


def default_workers() -> int:
    """As many workers as there are processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Settings(BaseSettings):
    """What an operator may choose. Frozen: an application has one set of settings for its life."""

    model_config = SettingsConfigDict(
        env_prefix="EXACTPERM_", frozen=True, extra="ignore", populate_by_name=True
    )

    host: Annotated[str, Field(description="Address to listen on; loopback unless told otherwise.")] = (
        "127.0.0.1"
    )
    port: Annotated[
        int, Field(ge=0, le=65535, description="TCP port to listen on; 0 lets the system choose.")
    ] = 8000

    max_body_bytes: Annotated[
        int, Field(ge=1, description="Largest request body, as sent and inflated; beyond it 413.")
    ] = 64 * MIB
    bodies_bytes: Annotated[
        int,
        Field(
            ge=1,
            description="Bytes of all bodies being answered and answers being sent; beyond it larger ones get 503.",
        ),
    ] = 256 * MIB
    max_items: Annotated[int, Field(ge=1, description="Most items in one test; beyond it 413.")] = 10_000_000
    max_name_chars: Annotated[int, Field(ge=1, description="Longest name of a system, in characters.")] = 200
    max_form_parts: Annotated[int, Field(ge=1, description="Most parts of a multipart body.")] = 100
    max_gate_metrics: Annotated[int, Field(ge=1, description="Most metrics of one gate; beyond it 422.")] = 32
    max_samples: Annotated[int, Field(ge=1, description="Most Monte Carlo samples of one test.")] = 10_000_000

    inplace_body_bytes: Annotated[
        int, Field(ge=0, description="Bodies up to this size are decoded in the web process.")
    ] = 32_768
    inplace_engine_seconds: Annotated[
        float, Field(ge=0, description="Tests predicted to take at most this long run in the web process.")
    ] = 0.005
    inplace_share: Annotated[
        float,
        Field(
            ge=0,
            le=1,
            description="Share of the web process's time for what it computes itself; beyond it workers do.",
        ),
    ] = 0.5

    workers: Annotated[
        int,
        Field(
            ge=1,
            le=1024,
            default_factory=default_workers,
            description="Compute processes; one per processor. Beside a single one another serves short tests while it is at a long one.",
        ),
    ]
    worker_memory_bytes: Annotated[
        int,
        Field(
            ge=16 * MIB,
            description="Memory a worker may use on top of what it has when warm; beyond it that one ends, 503.",
        ),
    ] = 1024 * MIB
    long_test_seconds: Annotated[
        float,
        Field(gt=0, description="Tests predicted to take longer have a queue, and all processes but one."),
    ] = 0.5
    queue_depth: Annotated[
        int,
        Field(ge=0, description="Requests that may wait for a worker, short and long ones each; then 503."),
    ] = 64
    queue_seconds: Annotated[
        float, Field(gt=0, description="Predicted seconds of work that may wait in either queue; then 503.")
    ] = 120.0
    queue_bytes: Annotated[
        int, Field(ge=1, description="Bytes of bodies that may wait in either queue; then 503.")
    ] = 256 * MIB
    worker_start_timeout_s: Annotated[
        float, Field(gt=0, description="Seconds a worker may take to import and warm up.")
    ] = 60.0
    default_timeout_s: Annotated[
        float, Field(gt=0, description="Deadline of a request that does not ask for one, in seconds.")
    ] = 60.0
    max_timeout_s: Annotated[
        float, Field(gt=0, description="Longest deadline a request may ask for, in seconds; more is clamped.")
    ] = 600.0
    most_over_deadline: Annotated[
        float,
        Field(
            ge=1,
            description="Tests predicted to take more than so many times their deadline are not begun; 422.",
        ),
    ] = 3.0
    retry_after_s: Annotated[
        int,
        Field(ge=1, description="Least that Retry-After says; more when the queue drains slowly. Seconds."),
    ] = 1
    liveness_stall_s: Annotated[
        float,
        Field(gt=0, description="/livez fails when work is there and no worker moved for so many seconds."),
    ] = 5.0
    cache_bytes: Annotated[
        int, Field(ge=0, description="Answers kept for the next who asks the same, in bytes; 0 keeps none.")
    ] = 32 * MIB
    cache_entries: Annotated[int, Field(ge=0, description="Most answers kept; 0 keeps none.")] = 1_000

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
    shutdown_delay_s: Annotated[
        float,
        Field(
            ge=0, description="Seconds after SIGTERM in which /readyz is 503 and requests are still taken."
        ),
    ] = 1.0

    header_timeout_s: Annotated[
        float,
        Field(gt=0, description="Seconds in which the headers of a request must be there; then 408."),
    ] = 10.0
    max_header_bytes: Annotated[
        int, Field(ge=1024, description="Most bytes of a request's line and headers; beyond it 431.")
    ] = 65_536
    body_timeout_s: Annotated[
        float, Field(gt=0, description="Seconds in which a whole body must be there; then 408.")
    ] = 120.0
    body_bytes_per_second: Annotated[
        int,
        Field(
            ge=0,
            description="Least average rate of a body, after as long as headers may take; slower is 408.",
        ),
    ] = 1_000
    max_connections: Annotated[
        int,
        Field(ge=1, description="Most open connections; beyond it 503 for all but the health routes."),
    ] = 800
    max_connections_per_address: Annotated[
        int,
        Field(
            ge=1,
            description="Most of them from one address (IPv6: from a network of 64 bits); behind a proxy as many as above.",
        ),
    ] = 700

    api_key_digests: Annotated[
        str,
        Field(
            pattern=r"^\s*([0-9a-fA-F]{64}[\s,]*)*$",
            description="SHA-256 digests of the API keys, in hexadecimal, with commas between; none: no key needed.",
        ),
    ] = ""
    allow_anonymous: Annotated[
        bool,
        Field(
            description="Whether it starts without API keys on an address that others reach; it warns in the log if so."
        ),
    ] = True
    cors_origins: Annotated[
        str,
        Field(
            pattern=r"^\s*(https?://[^\s,/*]+/?[\s,]*)*$",
            description="Origins of web pages that may read answers, with commas between; none: no other origin.",
        ),
    ] = ""

    access_log: Annotated[bool, Field(description="One line per request on standard output.")] = True
    log_format: Annotated[
        Literal["json", "console"], Field(description="How log lines look: for programs, or for people.")
    ] = "json"
    otlp_endpoint: Annotated[
        str,
        Field(
            validation_alias=AliasChoices("EXACTPERM_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
            pattern=r"^(https?://\S+)?$",
            description="Where to send OpenTelemetry spans by OTLP over HTTP; needs the extra otel. None: no spans.",
        ),
    ] = ""
