"""The only module that knows the job engine, DBOS, in a SQLite file or in PostgreSQL.

The web process has a `Queue`, which only writes rows; a worker host has a `Runner`, whose threads claim them. A chunk
is one workflow without steps; its result is a row of our tables. The rest of the engine is unused, so that another
engine could replace it.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

import sqlalchemy as sa
from dbos import DBOS, DBOSClient, DBOSPortableJSONSerializer
from dbos._serialization import DefaultSerializer

log = logging.getLogger(__name__)

NAME = "exactperm"
PLANS, CHUNKS = "plans", "chunks"
# If a job has more chunks, a workflow enqueues the rest, so that submission stays fast.
AT_ONCE = 64
PER_TRANSACTION = 200
MOST_LISTED = 1_000


def _refused(cls: DefaultSerializer, serialized_data: str) -> NoReturn:
    """Refuse to unpickle: rows are read by the serializer that they name, and pickle would run code."""
    raise ValueError("the database of jobs holds a pickle, which is never read")


# No setting turns pickle off. tests/process/test_jobs.py writes such a row.
DefaultSerializer.deserialize = _refused  # type: ignore[method-assign]  # see above


class Queue:
    """Enqueues and dequeues chunks. It starts no thread and runs no workflow."""

    def __init__(self, engine: sa.Engine, algorithm: str) -> None:
        _quiet()
        self._algorithm = algorithm
        self._client = DBOSClient(
            system_database_engine=engine,
            serializer=DBOSPortableJSONSerializer(),
            application_name=NAME,
            lazy=True,
            retry_connection_errors=False,
        )

    def create_tables(self) -> None:
        """Create or migrate the engine's tables."""
        self._client._sys_db.run_migrations()  # noqa: SLF001  (its client has no public call for it)

    def submit(self, connection: sa.Connection, job: str, owner: str, chunks: int) -> None:
        """Enqueue a job's chunks in the caller's transaction; for many chunks, the workflow that enqueues them."""
        if chunks > AT_ONCE:
            options = self._options("plan", PLANS, job)
            self._client.enqueue_in_transaction(connection, options, job, owner, chunks)
        else:
            self.enqueue(connection, job, owner, range(chunks))

    def enqueue(self, connection: sa.Connection, job: str, owner: str, chunks: Sequence[int]) -> None:
        """Enqueue some chunks; existing ones stay unchanged, because their ids are fixed."""
        for chunk in chunks:
            options = self._options("chunk", CHUNKS, name_of(job, chunk))
            options["queue_partition_key"] = owner
            self._client.enqueue_in_transaction(connection, options, job, chunk)

    def cancel(self, job: str, chunks: int) -> None:
        """Remove a job's waiting chunks from the queue."""
        names = [job, *(name_of(job, chunk) for chunk in range(chunks))]
        for start in range(0, len(names), PER_TRANSACTION):
            self._client.cancel_workflows(names[start : start + PER_TRANSACTION])

    def forget(self, job: str, chunks: int) -> None:
        """Delete the engine's rows of a job."""
        names = [job, *(name_of(job, chunk) for chunk in range(chunks))]
        for start in range(0, len(names), PER_TRANSACTION):
            self._client.delete_workflows(names[start : start + PER_TRANSACTION])

    def _options(self, workflow: str, queue: str, name: str) -> Any:
        return {
            "workflow_name": workflow,
            "queue_name": queue,
            "workflow_id": name,
            "app_version": self._algorithm,
        }


class Runner:
    """Claims chunks and runs them in threads, until the process ends; one in a process.

    `executor_id` must never have been used before. A worker of another algorithm never claims a chunk of this one.
    """

    def __init__(self, engine: sa.Engine, executor_id: str, algorithm: str) -> None:
        _quiet()
        DBOS(
            config={
                "name": NAME,
                "system_database_engine": engine,
                "executor_id": executor_id,
                "application_version": algorithm,
                "serializer": DBOSPortableJSONSerializer(),
                "log_level": "CRITICAL",
                "use_listen_notify": False,
            }
        )

    def launch(
        self,
        plan: Callable[[str, str, int], int],
        chunk: Callable[[str, int], int],
        at_once: int,
        poll_s: float,
    ) -> None:
        """Begin to claim; at most `at_once` chunks run at a time, shared between owners."""

        @DBOS.workflow(name="plan")
        def run_plan(job: str, owner: str, chunks: int) -> int:
            return plan(job, owner, chunks)

        @DBOS.workflow(name="chunk")
        def run_chunk(job: str, number: int) -> int:
            return chunk(job, number)

        DBOS.listen_queues([PLANS, CHUNKS])
        DBOS.launch()
        self._queues = (at_once, poll_s)
        self.register_queues()

    def register_queues(self) -> None:
        """Write the rows of the queues, which a replaced file lacks."""
        at_once, poll_s = self._queues
        DBOS.register_queue(
            PLANS, worker_concurrency=1, polling_interval_sec=poll_s, on_conflict="always_update"
        )
        DBOS.register_queue(
            CHUNKS,
            worker_concurrency=at_once,
            partition_worker_concurrency=at_once,
            polling_interval_sec=poll_s,
            on_conflict="always_update",
        )

    def take_over(self, executor_id: str) -> int:
        """Requeue the chunks of a host that has ended; return their number."""
        begun = DBOS.list_workflows(
            status="PENDING", executor_id=executor_id, load_input=False, load_output=False, limit=MOST_LISTED
        )
        for queue in {workflow.queue_name for workflow in begun}:
            names = [workflow.workflow_id for workflow in begun if workflow.queue_name == queue]
            DBOS.resume_workflows(names, queue_name=queue)
        return len(begun)

    def broken(self) -> list[str]:
        """Return the jobs of workflows that ended with an uncaught error, such as unreadable rows."""
        failed = DBOS.list_workflows(status="ERROR", load_input=False, load_output=False, limit=MOST_LISTED)
        return sorted({workflow.workflow_id.partition(":")[0] for workflow in failed})


def name_of(job: str, chunk: int) -> str:
    """Return the id of a chunk's workflow."""
    return f"{job}:{chunk}"


def _quiet() -> None:
    """Silence the engine's log, whose lines quote rows."""
    logging.getLogger("dbos").setLevel(logging.CRITICAL)
