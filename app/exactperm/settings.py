"""Every setting of the service, each limit with its unit in its name.

Read from the environment with the prefix `EXACTPERM_` (`EXACTPERM_PORT=9000`); nothing else is consulted.
"""

from __future__ import annotations

import ipaddress
import os
from typing import Literal

from pydantic import AliasChoices, Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 2**20


def default_workers() -> int:
    """As many workers as there are processors this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_web_processes(workers: int) -> int:
    """One for every four workers, from one to sixteen: a comparison is cut for the workers of one web process only."""
    return min(16, max(1, workers // 4))


def is_loopback(host: str) -> bool:
    """Whether an address can be reached from this machine only."""
    if host == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


class Settings(BaseSettings):
    """What an operator may choose. Frozen: an application has one set of settings for its life."""

    model_config = SettingsConfigDict(
        env_prefix="EXACTPERM_", frozen=True, extra="ignore", populate_by_name=True
    )

    host: str = Field(default="127.0.0.1", description="Address to listen on; loopback by default.")
    port: int = Field(
        default=8000, ge=0, le=65535, description="TCP port to listen on; with 0 the system chooses one."
    )

    max_body_bytes: int = Field(
        default=64 * MIB,
        ge=1,
        description="Largest request body, as sent and after decompression; larger ones get 413.",
    )
    bodies_bytes: int = Field(
        default=256 * MIB,
        ge=1,
        description="Memory for the bodies and answers of all requests together; beyond it large ones get 503.",
    )
    max_items: int = Field(default=10_000_000, ge=1, description="Most items in one test; more get 413.")
    max_name_chars: int = Field(default=200, ge=1, description="Longest name of a system, in characters.")
    max_form_parts: int = Field(default=1_000, ge=1, description="Most parts of a multipart body.")
    max_gate_metrics: int = Field(default=32, ge=1, description="Most metrics in one gate; more get 422.")
    max_systems: int = Field(
        default=1_000, ge=2, description="Most systems in one data set of a comparison; more get 422."
    )
    max_comparisons: int = Field(
        default=300_000,
        ge=1,
        description="Most pairs of systems in one comparison, over all its data sets; more get 422.",
    )
    max_batch_tests: int = Field(
        default=1_000, ge=1, description="Most tests in one request of POST /v1/batch; more get 422."
    )
    batch_test_seconds: float = Field(
        default=1.0,
        gt=0,
        description="Most predicted seconds of one test of a batch; a longer one gets 422 in its place.",
    )
    batch_answer_bytes: int = Field(
        default=67_108_864,
        ge=1,
        description="Most bytes of all answers of a batch; a test whose answer does not fit gets 422 in its place.",
    )
    max_samples: int = Field(default=10_000_000, ge=1, description="Most Monte Carlo samples in one test.")

    inplace_body_bytes: int = Field(
        default=32_768, ge=0, description="Bodies up to this size are decoded in the web process."
    )
    inplace_engine_seconds: float = Field(
        default=0.005, ge=0, description="Tests predicted to take at most this long run in the web process."
    )
    inplace_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description="Share of the web process's time for tests that it runs itself; beyond it workers run them.",
    )

    workers: int = Field(
        default_factory=default_workers,
        ge=1,
        le=1024,
        description="Compute processes. With 1, a second one is started so that short tests do not wait behind a long one.",
    )
    web_processes: int = Field(
        default_factory=lambda chosen: default_web_processes(chosen.get("workers", 1)),
        ge=1,
        le=256,
        description="Web processes on the one address, which share the compute processes; each answers small tests on a core of its own.",
    )
    worker_memory_bytes: int = Field(
        default=1024 * MIB,
        ge=16 * MIB,
        description="Memory that a worker may use beyond what it holds when warm; a test that needs more gets 503.",
    )
    long_test_seconds: float = Field(
        default=0.5,
        gt=0,
        description="Tests predicted to take longer use the long queue, which may occupy all workers but one.",
    )
    queue_depth: int = Field(
        default=64,
        ge=0,
        description="Most requests in each of the two queues for workers (short, long); more get 503.",
    )
    queue_seconds: float = Field(
        default=120.0, gt=0, description="Most predicted seconds of work in each queue; more get 503."
    )
    queue_bytes: int = Field(
        default=256 * MIB, ge=1, description="Most bytes of bodies in each queue; more get 503."
    )
    worker_start_timeout_s: float = Field(
        default=60.0,
        gt=0,
        description="Seconds that a worker may take to import and warm up; a service whose workers are not ready by then does not start.",
    )
    default_timeout_s: float = Field(
        default=60.0, gt=0, description="Deadline of a request that sets none, in seconds."
    )
    max_timeout_s: float = Field(
        default=600.0,
        gt=0,
        description="Longest deadline that a request may set, in seconds; longer ones are shortened to it.",
    )
    most_over_deadline: float = Field(
        default=3.0,
        ge=1,
        description="Tests predicted to take more than this many times their deadline are refused with 422.",
    )
    retry_after_s: int = Field(
        default=1, ge=1, description="Smallest Retry-After, in seconds; larger when the queue drains slowly."
    )
    liveness_stall_s: float = Field(
        default=5.0,
        gt=0,
        description="/livez fails when work is pending and no worker has made progress for this many seconds; of several web processes, one that is stuck for that long is replaced.",
    )
    cache_bytes: int = Field(
        default=32 * MIB, ge=0, description="Memory for cached answers, in bytes; 0 turns the cache off."
    )
    cache_entries: int = Field(default=1_000, ge=0, description="Most cached answers; 0 turns the cache off.")

    engine_budget_operations: int = Field(
        default=20_000_000_000,
        ge=1,
        description="Most elementary operations that one test may be planned to take; more get 422.",
    )
    engine_budget_bytes: int = Field(
        default=512 * MIB,
        ge=1,
        description="Most bytes of arrays that one test may be planned to need; more get 422.",
    )

    keep_alive_s: int = Field(default=5, ge=1, description="Seconds that an idle connection is kept open.")
    shutdown_grace_s: int = Field(
        default=30,
        ge=0,
        description="Seconds that requests in flight have to finish once the server no longer listens.",
    )
    shutdown_delay_s: float = Field(
        default=1.0,
        ge=0,
        description="Seconds after SIGTERM during which /readyz is 503 and requests are still accepted.",
    )

    header_timeout_s: float = Field(
        default=10.0,
        gt=0,
        description="Seconds within which the headers of a request must arrive; later ones get 408.",
    )
    max_header_bytes: int = Field(
        default=65_536,
        ge=1024,
        description="Largest request line and headers, in bytes; larger ones get 431.",
    )
    body_timeout_s: float = Field(
        default=120.0, gt=0, description="Seconds within which a whole body must arrive; later ones get 408."
    )
    body_bytes_per_second: int = Field(
        default=1_000,
        ge=0,
        description="Lowest average rate of a body once EXACTPERM_HEADER_TIMEOUT_S has passed; slower ones get 408.",
    )
    max_connections: int = Field(
        default=800, ge=1, description="Most open connections; beyond it all but the health routes get 503."
    )
    max_connections_per_address: int = Field(
        default=700,
        ge=1,
        description="Most open connections from one address (for IPv6, one /64 network); behind a proxy set it to EXACTPERM_MAX_CONNECTIONS.",
    )

    api_key_digests: str = Field(
        default="",
        pattern=r"^\s*([0-9a-fA-F]{64}[\s,]*)*$",
        description="SHA-256 digests of the API keys in hexadecimal, separated by commas; without any, no key is needed.",
    )
    allow_anonymous: bool = Field(
        default=True,
        description="Whether to start without API keys on an address that other machines can reach; if so, a warning is logged.",
    )
    cors_origins: str = Field(
        default="",
        pattern=r"^\s*(https?://[^\s,/*]+/?[\s,]*)*$",
        description="Origins of web pages that may read answers, separated by commas; without any, no other origin may.",
    )

    jobs_url: str = Field(
        default="",
        pattern=r"^(sqlite:///.+|postgres(ql)?(\+psycopg)?://.+)?$",
        repr=False,
        description="Database of jobs and stored answers: sqlite:////path/jobs.sqlite, or postgresql://user@host/name; needs the extra jobs. Without it there are no jobs, and nothing is stored.",
    )
    jobs_embedded_worker: bool = Field(
        default=True,
        description="Whether the service starts a worker for jobs itself; if not, start some with `python -m exactperm worker`.",
    )
    job_chunk_seconds: float = Field(
        default=0.5,
        gt=0,
        le=600,
        description="Predicted seconds of work in one chunk of a job: what is lost when its process dies.",
    )
    job_max_chunks: int = Field(
        default=2_000, ge=1, le=100_000, description="Most chunks of one job; chunks are longer beyond it."
    )
    job_max_tests: int = Field(
        default=100_000, ge=1, description="Most tests in the list of one job; more get 422."
    )
    job_max_seconds: float = Field(
        default=360_000.0, gt=0, description="Most predicted processor seconds of one job; more get 422."
    )
    job_result_bytes: int = Field(
        default=256 * MIB,
        ge=MIB,
        description="Most bytes that the results of one job may take in the database, compressed where it is a list; with more it fails.",
    )
    jobs_key_seconds: float = Field(
        default=720_000.0,
        gt=0,
        description="Most predicted seconds of unfinished jobs of one API key; more get 429.",
    )
    jobs_key_jobs: int = Field(
        default=1_000, ge=1, description="Most unfinished jobs of one API key; more get 429."
    )
    jobs_key_bytes: int = Field(
        default=4096 * MIB,
        ge=MIB,
        description="Most bytes of results and stored answers that are kept for one API key; with more, submissions and `store` get 429. Jobs that were accepted before still add theirs.",
    )
    jobs_waiting_seconds: float = Field(
        default=3_600_000.0,
        gt=0,
        description="Most predicted seconds of unfinished jobs of all keys together; more get 503.",
    )
    job_timeout_s: float = Field(
        default=86_400.0, gt=0, description="Seconds that one chunk may take before its job fails."
    )
    job_poll_s: float = Field(
        default=0.25, gt=0, description="Seconds between two looks of a worker for chunks that wait."
    )
    job_beat_s: float = Field(
        default=0.5,
        gt=0,
        description="Seconds between two heartbeats of a worker, when it also notices cancelled jobs.",
    )
    job_silent_s: float = Field(
        default=5.0,
        gt=0,
        description="Seconds without a heartbeat after which other workers take over what a worker had begun.",
    )
    job_streams: int = Field(
        default=200, ge=1, description="Most open streams of events of jobs; more get 503."
    )
    retention_s: int = Field(
        default=604_800,
        ge=1,
        description="Seconds that a finished job and its result, or a stored answer, are kept.",
    )

    access_log: bool = Field(
        default=True, description="Whether each request is logged, as one line on standard output."
    )
    log_format: Literal["json", "console"] = Field(
        default="json", description="Form of the log lines: json for programs, console for people."
    )
    log_tracebacks: bool = Field(
        default=False,
        description="Whether errors are logged with full tracebacks, which may quote requests; only with a loopback host.",
    )
    otlp_endpoint: str = Field(
        default="",
        validation_alias=AliasChoices("EXACTPERM_OTLP_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"),
        pattern=r"^(https?://\S+)?$",
        description="Where to send OpenTelemetry spans by OTLP over HTTP; needs the extra otel. Without it no spans are sent.",
    )

    @field_validator("log_tracebacks")
    @classmethod
    def _only_on_loopback(cls, wanted: bool, info: ValidationInfo) -> bool:
        if wanted and not is_loopback(info.data.get("host", "")):
            raise ValueError("tracebacks may quote requests: EXACTPERM_HOST must be a loopback address")
        return wanted
