"""The settings of the service.

They are read from environment variables with the prefix `EXACTPERM_` (`EXACTPERM_PORT=9000`) and nowhere else. The
name of a limit ends in its unit.
"""

from __future__ import annotations

import ipaddress
import os
from typing import ClassVar, Literal

from pydantic import AliasChoices, Field, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict

MIB = 2**20


def default_workers() -> int:
    """One worker for each processor that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def default_web_processes(workers: int) -> int:
    """One web process for every four workers, at most 16: a comparison uses the workers of one web process only."""
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
    """The settings that an operator may choose. Frozen for the life of an application."""

    model_config = SettingsConfigDict(
        env_prefix="EXACTPERM_", frozen=True, extra="forbid", populate_by_name=True
    )

    # Fixed: nobody has needed another value, and a setting bounds each of them as well.
    max_name_chars: ClassVar[int] = 200  # characters of a system's name: more does not fit into a table
    max_form_parts: ClassVar[int] = (
        1_000  # of a multipart body: each part costs time, and a form has fewer than 200 fields
    )
    max_gate_metrics: ClassVar[int] = 32
    max_systems: ClassVar[int] = 1_000  # of one data set; `max_comparisons` bounds their pairs
    max_comparisons: ClassVar[int] = 300_000  # pairs of systems, over all data sets of a comparison
    max_batch_tests: ClassVar[int] = 1_000
    batch_test_seconds: ClassVar[float] = 1.0  # predicted, of one test: a batch is computed by one worker
    inplace_body_bytes: ClassVar[int] = (
        32_768  # decoded in the web process: larger ones would keep others from their turn
    )
    inplace_engine_seconds: ClassVar[float] = 0.005  # predicted: what a health probe may wait for
    long_test_seconds: ClassVar[float] = (
        0.5  # predicted: longer tests use the long queue, and never all workers
    )
    retry_after_s: ClassVar[int] = 1  # the smallest Retry-After; larger when the queue drains slowly
    max_header_bytes: ClassVar[int] = 65_536  # of a request line and headers: twice what proxies let through
    body_bytes_per_second: ClassVar[int] = 1_000  # of a body, on average, once `header_timeout_s` has passed
    job_max_chunks: ClassVar[int] = 2_000  # of one job; chunks are longer beyond it
    job_max_tests: ClassVar[int] = 100_000  # in the list of one job
    job_poll_s: ClassVar[float] = 0.25  # between two looks of a worker for chunks that wait
    job_beat_s: ClassVar[float] = 0.5  # between two heartbeats, which also notice cancelled jobs
    job_silent_s: ClassVar[float] = 5.0  # without a heartbeat, after which other workers take over
    job_timeout_s: ClassVar[float] = 86_400.0  # of one chunk: it was planned to take `job_chunk_seconds`

    host: str = Field(default="127.0.0.1", description="Address to listen on; loopback by default.")
    port: int = Field(
        default=8000, ge=0, le=65535, description="TCP port to listen on; with 0 the system chooses one."
    )

    max_body_bytes: int = Field(
        default=64 * MIB,
        ge=1,
        description="Largest request body, as sent and after decompression, and largest answer of a batch; larger ones get 413. Bodies and answers of all requests together, and bodies in each of the two queues, may have four times as many, at most 256 MiB or one body; beyond it large ones get 503.",
    )
    max_items: int = Field(
        default=10_000_000,
        ge=1,
        description="Most items in one test, more get 413; and most Monte Carlo samples, more get 422.",
    )

    inplace_share: float = Field(
        default=0.5,
        ge=0,
        le=1,
        description=(
            "Share of its time that the web process spends on small tests; workers run the others, "
            "and all of them with 0."
        ),
    )

    workers: int = Field(
        default_factory=default_workers,
        ge=1,
        le=1024,
        description=(
            "Compute processes. With 1, a second one runs short tests, so that they do not wait "
            "behind a long one."
        ),
    )
    web_processes: int = Field(
        default_factory=lambda chosen: default_web_processes(chosen.get("workers", 1)),
        ge=1,
        le=256,
        description=(
            "Web processes that share the address and the compute processes; each answers small "
            "tests on its core."
        ),
    )
    worker_memory_bytes: int = Field(
        default=1024 * MIB,
        ge=16 * MIB,
        description=(
            "Memory that a worker may use beyond its size when warm; a test that needs more gets "
            "503. A test whose planned arrays exceed half of it (and 512 MiB) gets 422."
        ),
    )
    queue_depth: int = Field(
        default=64,
        ge=0,
        description="Most requests in each of the two queues for workers (short, long); more get 503.",
    )
    worker_start_timeout_s: float = Field(
        default=60.0,
        gt=0,
        description=(
            "Seconds that a worker may take to import and warm up; if the workers take longer, the "
            "service does not start."
        ),
    )
    default_timeout_s: float = Field(
        default=60.0,
        gt=0,
        description=(
            "Deadline in seconds of a request that sets none. Each queue holds predicted work of "
            "twice that; beyond it requests get 503."
        ),
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
    liveness_stall_s: float = Field(
        default=5.0,
        gt=0,
        description=(
            "/livez fails when work is pending and no worker has made progress for this many "
            "seconds. With several web processes, one that is stuck for that long is replaced."
        ),
    )
    cache_bytes: int = Field(
        default=32 * MIB, ge=0, description="Memory for cached answers, in bytes; 0 turns the cache off."
    )

    engine_budget_operations: int = Field(
        default=20_000_000_000,
        ge=1,
        description="Most elementary operations in the plan of a test; more get 422.",
    )

    keep_alive_s: int = Field(default=5, ge=1, description="Seconds that an idle connection is kept open.")
    shutdown_grace_s: int = Field(
        default=30,
        ge=0,
        description="Seconds for requests in flight to finish once the server no longer listens.",
    )
    shutdown_delay_s: float = Field(
        default=1.0,
        ge=0,
        description="Seconds after SIGTERM during which /readyz is 503 and requests are still accepted.",
    )

    header_timeout_s: float = Field(
        default=10.0,
        gt=0,
        description="Seconds within which the headers of a request must arrive, and its body in twelve times as many; later ones get 408.",
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
        description=(
            "SHA-256 digests of the API keys in hexadecimal, separated by commas; if empty, no key is needed."
        ),
    )
    allow_anonymous: bool = Field(
        default=True,
        description=(
            "Whether to start without API keys on an address that other machines can reach; logs a warning."
        ),
    )
    cors_origins: str = Field(
        default="",
        pattern=r"^\s*(https?://[^\s,/*]+/?[\s,]*)*$",
        description="Other origins whose web pages may read answers, separated by commas; none by default.",
    )

    jobs_url: str = Field(
        default="",
        pattern=r"^(sqlite:///.+|postgres(ql)?(\+psycopg)?://.+)?$",
        repr=False,
        description=(
            "Database of jobs and stored answers: sqlite:////path/jobs.sqlite, or "
            "postgresql://user@host/name; needs the extra jobs. If unset, there are no jobs and "
            "nothing is stored."
        ),
    )
    jobs_embedded_worker: bool = Field(
        default=True,
        description="Whether the service starts a worker for jobs itself; if not, start some with `python -m exactperm worker`.",
    )
    job_chunk_seconds: float = Field(
        default=0.5,
        gt=0,
        le=600,
        description=(
            "Predicted seconds of work in one chunk of a job, the most that is lost when a process dies."
        ),
    )
    job_max_seconds: float = Field(
        default=360_000.0,
        gt=0,
        description=(
            "Most predicted processor seconds of one job; more get 422. The unfinished jobs of one "
            "API key may take twice that (more get 429), those of all keys ten times (503)."
        ),
    )
    jobs_key_jobs: int = Field(
        default=1_000, ge=1, description="Most unfinished jobs of one API key; more get 429."
    )
    jobs_key_bytes: int = Field(
        default=4096 * MIB,
        ge=MIB,
        description=(
            "Most bytes of results and stored answers for one API key; one job may have a "
            "sixteenth. Beyond it submissions and `store` get 429, but jobs accepted before still "
            "add their results."
        ),
    )
    retention_s: int = Field(
        default=604_800,
        ge=1,
        description="Seconds for which a finished job and its result, or a stored answer, are kept.",
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
        description=(
            "Where to send OpenTelemetry spans (OTLP over HTTP); needs the extra otel. If unset, "
            "no spans are sent."
        ),
    )

    # Derived from other settings.

    @property
    def max_samples(self) -> int:
        """Most Monte Carlo samples in one test: as many as items, and at least the 20,000 that are drawn by default."""
        return max(20_000, self.max_items)

    @property
    def bodies_bytes(self) -> int:
        """Most bytes of bodies and answers of all requests together: of four of the largest, or 256 MiB, or the largest."""
        return max(self.max_body_bytes, min(4 * self.max_body_bytes, 256 * MIB))

    @property
    def body_timeout_s(self) -> float:
        """Seconds within which a whole body must arrive."""
        return 12.0 * self.header_timeout_s

    @property
    def batch_answer_bytes(self) -> int:
        """Most bytes of all answers of a batch: the limit of its body."""
        return self.max_body_bytes

    @property
    def engine_budget_bytes(self) -> int:
        """Most bytes of arrays in the plan of a test; the rest of a worker's memory is for its data.

        Never less than the default, because plans are upper bounds and most tests need far less.
        """
        return max(512 * MIB, self.worker_memory_bytes // 2)

    @property
    def queue_bytes(self) -> int:
        """Most bytes of bodies in each queue of a web process, which has room for the largest body."""
        return max(-(-self.bodies_bytes // self.web_processes), min(self.bodies_bytes, self.max_body_bytes))

    @property
    def queue_seconds(self) -> float:
        """Most predicted seconds of work in each queue of a web process: longer waits would miss the usual deadline."""
        return 2.0 * self.default_timeout_s / self.web_processes

    @property
    def cache_entries(self) -> int:
        """Most cached answers; one with its null distribution takes some 32 KiB."""
        return self.cache_bytes // 2**15

    @property
    def jobs_key_seconds(self) -> float:
        """Most predicted seconds of the unfinished jobs of one API key: two of the longest."""
        return 2.0 * self.job_max_seconds

    @property
    def jobs_waiting_seconds(self) -> float:
        """Most predicted seconds of the unfinished jobs of all keys: five keys' worth."""
        return 5.0 * self.jobs_key_seconds

    @property
    def job_result_bytes(self) -> int:
        """Most bytes of one job's results in the database: a sixteenth of the limit of a key."""
        return min(self.jobs_key_bytes, max(MIB, self.jobs_key_bytes // 16))

    @property
    def job_streams(self) -> int:
        """Most open event streams of jobs in a web process: a quarter of all connections."""
        return max(1, self.max_connections // (4 * self.web_processes))

    @field_validator("log_tracebacks")
    @classmethod
    def _only_on_loopback(cls, wanted: bool, info: ValidationInfo) -> bool:
        if wanted and not is_loopback(info.data.get("host", "")):
            raise ValueError("tracebacks may quote requests: EXACTPERM_HOST must be a loopback address")
        return wanted


# Removed settings, and what to use instead.
REMOVED = {
    **dict.fromkeys((
        "max_name_chars", "max_form_parts", "max_gate_metrics", "max_systems", "max_comparisons",
        "max_batch_tests", "batch_test_seconds", "long_test_seconds", "retry_after_s", "max_header_bytes",
        "body_bytes_per_second", "job_max_chunks", "job_max_tests", "job_timeout_s", "job_poll_s",
        "job_beat_s", "job_silent_s",
    ), "it is fixed now"),
    "max_samples": "it is EXACTPERM_MAX_ITEMS now",
    "bodies_bytes": "it is four times EXACTPERM_MAX_BODY_BYTES now, at most 256 MiB or one body",
    "batch_answer_bytes": "it is EXACTPERM_MAX_BODY_BYTES now",
    "inplace_body_bytes": "EXACTPERM_INPLACE_SHARE bounds what the web process computes itself",
    "inplace_engine_seconds": "EXACTPERM_INPLACE_SHARE bounds what the web process computes itself",
    "queue_seconds": "it is twice EXACTPERM_DEFAULT_TIMEOUT_S now",
    "queue_bytes": "it is four times EXACTPERM_MAX_BODY_BYTES now, at most 256 MiB or one body",
    "body_timeout_s": "it is twelve times EXACTPERM_HEADER_TIMEOUT_S now",
    "cache_entries": "EXACTPERM_CACHE_BYTES bounds the cache",
    "engine_budget_bytes": "it is half of EXACTPERM_WORKER_MEMORY_BYTES now, and at least 512 MiB",
    "job_result_bytes": "it is a sixteenth of EXACTPERM_JOBS_KEY_BYTES now",
    "jobs_key_seconds": "it is twice EXACTPERM_JOB_MAX_SECONDS now",
    "jobs_waiting_seconds": "it is ten times EXACTPERM_JOB_MAX_SECONDS now",
    "job_streams": "it is a quarter of EXACTPERM_MAX_CONNECTIONS now",
}  # fmt: skip
