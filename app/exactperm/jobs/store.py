"""The tables of jobs, next to those of the job engine in the same database, and every statement on them."""

from __future__ import annotations

import json
import secrets
import time
import zlib
from collections.abc import Callable, Collection, Iterator, Sequence
from typing import Any, NamedTuple

import sqlalchemy as sa

from .database import is_sqlite, now
from .model import (
    ACTIVE,
    ID_BYTES,
    JobPlan,
    JobRow,
    KeyReused,
    NoRoom,
    NoShare,
    Shares,
    State,
    StoreAway,
    Stored,
    Work,
)

METADATA = sa.MetaData()
_Float = sa.Double

JOBS = sa.Table(
    "ep_jobs",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("kind", sa.String, nullable=False),
    sa.Column("state", sa.String, nullable=False),
    sa.Column("request_sha", sa.String, nullable=False),
    sa.Column("algorithm", sa.String, nullable=False),
    sa.Column("head", sa.Text, nullable=False),
    sa.Column("cut", sa.LargeBinary, nullable=False),
    sa.Column("tests", sa.Integer, nullable=False),
    sa.Column("chunks", sa.Integer, nullable=False),
    sa.Column("seconds", _Float, nullable=False),
    sa.Column("created", _Float, nullable=False),
    sa.Column("ended", _Float),
    sa.Column("expires", _Float),
    sa.Column("problem", sa.Text),
    sa.Column("kept", sa.BigInteger),  # bytes of the results, once it has succeeded
    sa.Index("ep_jobs_by_owner", "owner", "created"),
    sa.Index("ep_jobs_by_state", "state", "owner"),
)
# The compressed body of a request, or of a list's chunk.
INPUTS = sa.Table(
    "ep_inputs",
    METADATA,
    sa.Column("job", sa.String, primary_key=True),
    sa.Column("piece", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
)
# Idempotency keys.
KEYS = sa.Table(
    "ep_keys",
    METADATA,
    sa.Column("owner", sa.String, primary_key=True),
    sa.Column("key", sa.String, primary_key=True),
    sa.Column("request_sha", sa.String, nullable=False),
    sa.Column("job", sa.String, nullable=False),
)
# The primary key guarantees that no chunk counts twice.
PARTS = sa.Table(
    "ep_parts",
    METADATA,
    sa.Column("job", sa.String, primary_key=True),
    sa.Column("chunk", sa.Integer, primary_key=True),
    sa.Column("content", sa.LargeBinary, nullable=False),
    sa.Column("tests", sa.Integer, nullable=False),
    sa.Column("host", sa.String, nullable=False),
    sa.Column("at", _Float, nullable=False),
)
RESULTS = sa.Table(
    "ep_results",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("owner", sa.String, nullable=False),
    sa.Column("status", sa.Integer, nullable=False),
    sa.Column("headers", sa.Text, nullable=False),
    sa.Column("before", sa.LargeBinary, nullable=False),
    sa.Column("own", sa.LargeBinary, nullable=False),
    sa.Column("after", sa.LargeBinary, nullable=False),
    sa.Column("size", sa.BigInteger, nullable=False),
    sa.Column("expires", _Float),
    sa.Index("ep_results_by_owner", "owner", "expires", "size"),
)
HOSTS = sa.Table(
    "ep_hosts",
    METADATA,
    sa.Column("id", sa.String, primary_key=True),
    sa.Column("processes", sa.Integer, nullable=False),
    sa.Column("algorithm", sa.String, nullable=False),
    sa.Column("seen", _Float, nullable=False),
)
OF_A_JOB = (INPUTS, PARTS)


def require_share(connection: sa.Connection, owner: str, shares: Shares) -> None:
    """Raise NoShare or NoRoom, which roll back the new row of a job."""
    waiting = sa.select(JOBS.c.owner, sa.func.count(), sa.func.sum(JOBS.c.seconds))
    rows = connection.execute(waiting.where(JOBS.c.state.in_(ACTIVE)).group_by(JOBS.c.owner)).all()
    own_jobs, own_seconds = next(
        ((count, seconds) for name, count, seconds in rows if name == owner), (0, 0.0)
    )
    if own_jobs > shares.key_jobs or own_seconds > shares.key_seconds:
        raise NoShare(own_seconds, own=True)
    if (everything := sum(seconds for _, _, seconds in rows)) > shares.all_seconds:
        raise NoShare(everything, own=False)
    require_room(connection, owner, shares.key_bytes)


def require_room(connection: sa.Connection, owner: str, most: int) -> None:
    """Raise NoRoom if a key has more than `most` stored bytes; rolls back a stored answer."""
    at = now(connection)
    of_jobs = sa.select(sa.func.sum(JOBS.c.kept)).where(JOBS.c.owner == owner, JOBS.c.expires > at)
    # Results of jobs are counted with the jobs: these rows do not expire by themselves.
    answers = sa.select(sa.func.sum(RESULTS.c.size)).where(RESULTS.c.owner == owner, RESULTS.c.expires > at)
    if sum(int(connection.execute(query).scalar() or 0) for query in (of_jobs, answers)) > most:
        raise NoRoom


Enqueue = Callable[[sa.Connection, str, int], None]
COLUMNS = (
    JOBS.c.id, JOBS.c.kind, JOBS.c.state, JOBS.c.tests, JOBS.c.chunks, JOBS.c.seconds, JOBS.c.algorithm,
    JOBS.c.created, JOBS.c.ended, JOBS.c.expires, JOBS.c.problem,
)  # fmt: skip
AT_A_TIME = 1_000  # jobs per purge, which delays a heartbeat
HAS_STORED_DATA = sa.or_(
    sa.exists().where(RESULTS.c.id == JOBS.c.id),
    *(sa.exists().where(table.c.job == JOBS.c.id) for table in OF_A_JOB),
)


def new_id(prefix: str) -> str:
    """Return an id that cannot be guessed."""
    return f"{prefix}_{secrets.token_hex(ID_BYTES)}"


def insert(connection: sa.Connection, table: sa.Table) -> Any:
    """Return an insertion with `on conflict`, in the dialect of the database."""
    from sqlalchemy.dialects import postgresql, sqlite

    return (sqlite if connection.dialect.name == "sqlite" else postgresql).insert(table)


class Measured(NamedTuple):
    """The number of chunks with results, and the bytes of the largest result and of all."""

    chunks: int
    largest: int
    size: int


class Store:
    """Jobs, their inputs and results. All methods block, and raise the driver's errors when the database is away."""

    def __init__(self, engine: sa.Engine, retention_s: float) -> None:
        self.engine = engine
        self._retention_s = retention_s

    def create_tables(self) -> None:
        """Create missing tables; two processes may do so at once."""
        with self.engine.begin() as connection:
            # The SQLite driver begins no transaction before `create table`: both would find no tables, and one would
            # fail.
            alone = "begin immediate" if is_sqlite(self.engine) else "select pg_advisory_xact_lock(7239184)"
            connection.execute(sa.text(alone))
            METADATA.create_all(connection)

    # -- for the API ------------------------------------------------------------------------------

    def submit(
        self, owner: str, key: str | None, sha: str, plan: JobPlan, algorithm: str, shares: Shares,
        enqueue: Enqueue,
    ) -> tuple[str, bool]:  # fmt: skip
        """Return the id of a new job, or of the job that this idempotency key already has (True).

        The row, its input and its place in the queue are one transaction.

        Raises
        ------
            KeyReused: the key came with another request. NoShare: too much work is queued. NoRoom: this owner has too
            many stored bytes. StoreAway: the key's job was deleted meanwhile.
        """
        job = new_id("j")
        with self.engine.begin() as connection:
            at = now(connection)
            if key is not None:
                old = KEYS.c.job.in_(sa.select(JOBS.c.id).where(JOBS.c.expires <= at))
                connection.execute(KEYS.delete().where(KEYS.c.owner == owner, KEYS.c.key == key, old))
                values = {"owner": owner, "key": key, "request_sha": sha, "job": job}
                claim = insert(connection, KEYS).values(values).on_conflict_do_nothing()
                if connection.execute(claim.returning(KEYS.c.job)).first() is None:
                    known = _of_key(connection, owner, key, sha, at)
                    if known is None:  # it was deleted in between
                        raise StoreAway("the idempotency key was just released")
                    return known, True
            row = {
                "id": job, "owner": owner, "kind": plan.kind, "state": "queued", "request_sha": sha,
                "algorithm": algorithm, "head": json.dumps(plan.head), "tests": plan.tests,
                "cut": zlib.compress(json.dumps(plan.chunks).encode(), 1), "chunks": len(plan.chunks),
                "seconds": plan.seconds, "created": at,
            }  # fmt: skip
            connection.execute(JOBS.insert().values(row))
            require_share(connection, owner, shares)
            pieces = [{"job": job, "piece": at, "content": content} for at, content in enumerate(plan.pieces)]
            connection.execute(INPUTS.insert(), pieces)
            enqueue(connection, job, len(plan.chunks))
        return job, False

    def replayed(self, owner: str, key: str, sha: str) -> str | None:
        """Return the job of this idempotency key; None for a new or expired key; raises KeyReused."""
        with self.engine.connect() as connection:
            return _of_key(connection, owner, key, sha, now(connection))

    def job(self, job: str, owner: str) -> JobRow | None:
        """Return a job of this owner; None for other owners' jobs."""
        with self.engine.connect() as connection:
            rows = connection.execute(sa.select(*COLUMNS).where(JOBS.c.id == job, JOBS.c.owner == owner))
            return next(_rows(connection, rows.all()), None)

    def jobs(
        self, owner: str, states: Collection[State], after: JobRow | None, most: int
    ) -> tuple[JobRow, ...]:
        """Return the newest jobs of an owner, older than `after`, in these `states` or in any."""
        query = sa.select(*COLUMNS).where(JOBS.c.owner == owner)
        if states:
            query = query.where(JOBS.c.state.in_(states))
        if after is not None:
            older, same = JOBS.c.created < after.created, JOBS.c.created == after.created
            query = query.where(sa.or_(older, sa.and_(same, JOBS.c.id > after.id)))
        with self.engine.connect() as connection:
            query = query.where(sa.or_(JOBS.c.expires.is_(None), JOBS.c.expires > now(connection)))
            rows = connection.execute(query.order_by(JOBS.c.created.desc(), JOBS.c.id).limit(most)).all()
            return tuple(_rows(connection, rows))

    def cancel(self, job: str, owner: str) -> bool:
        """Cancel an active job; return whether it was active."""
        with self.engine.begin() as connection:
            return self._end(connection, job, "cancelled", None, JOBS.c.owner == owner)

    def delete(self, job: str, owner: str) -> bool:
        """Delete a job and all its data; return whether it existed."""
        with self.engine.begin() as connection:
            gone = JOBS.delete().where(JOBS.c.id == job, JOBS.c.owner == owner).returning(JOBS.c.id)
            if connection.execute(gone).first() is None:
                return False
            _forget(connection, [job])
            connection.execute(KEYS.delete().where(KEYS.c.owner == owner, KEYS.c.job == job))
        return True

    def parts(self, job: str, start: int, most: int) -> list[bytes]:
        """Return the results of `most` chunks from `start` on, in order."""
        query = sa.select(PARTS.c.content).where(
            PARTS.c.job == job, PARTS.c.chunk >= start, PARTS.c.chunk < start + most
        )
        with self.engine.connect() as connection:
            return list(connection.execute(query.order_by(PARTS.c.chunk)).scalars())

    def measured(self, job: str) -> Measured:
        """Return the number of chunks of a job with results, and their bytes."""
        with self.engine.connect() as connection:
            return _measured(connection, job)

    def keep(self, owner: str, answer: Stored, most: int) -> str:
        """Store an answer for the retention time; return its id. Raises NoRoom beyond `most` stored bytes of this
        owner.
        """
        name = new_id("r")
        with self.engine.begin() as connection:
            expires = now(connection) + self._retention_s
            connection.execute(RESULTS.insert().values(_result(name, owner, answer, expires)))
            require_room(connection, owner, most)
        return name

    def kept(self, name: str, owner: str) -> Stored | None:
        """Return a stored answer, of a job or of a test; None if this owner has none."""
        with self.engine.connect() as connection:
            row = connection.execute(
                sa.select(RESULTS).where(RESULTS.c.id == name, RESULTS.c.owner == owner)
            ).first()
            if row is None or (row.expires is not None and row.expires <= now(connection)):
                return None
        headers = tuple((str(name), str(value)) for name, value in json.loads(row.headers))
        return Stored(row.status, headers, row.before, row.own, row.after)

    def counts(self) -> tuple[dict[str, int], float]:
        """Return the number of jobs by state, and the predicted seconds of unfinished ones."""
        with self.engine.connect() as connection:
            by_state = sa.select(JOBS.c.state, sa.func.count(), sa.func.sum(JOBS.c.seconds))
            rows = connection.execute(by_state.group_by(JOBS.c.state)).all()
        waiting = sum(float(seconds) for state, _, seconds in rows if state in ACTIVE)
        return {state: int(count) for state, count, _ in rows}, waiting

    # -- for workers --------------------------------------------------------------------------------

    def work(self, job: str) -> Work | None:
        """Return the data of a job for a worker."""
        query = sa.select(JOBS.c.state, JOBS.c.kind, JOBS.c.head, JOBS.c.cut).where(JOBS.c.id == job)
        with self.engine.connect() as connection:
            row = connection.execute(query).first()
        if row is None:
            return None
        return Work(row.state, row.kind, json.loads(row.head), tuple(json.loads(zlib.decompress(row.cut))))

    def input(self, job: str, piece: int) -> bytes | None:
        """Return a compressed piece of a request's body; None if the job was deleted."""
        query = sa.select(INPUTS.c.content).where(INPUTS.c.job == job, INPUTS.c.piece == piece)
        with self.engine.connect() as connection:
            return connection.execute(query).scalar()

    def begin(self, job: str) -> None:
        """Mark a job as running."""
        with self.engine.begin() as connection:
            connection.execute(
                JOBS.update().where(JOBS.c.id == job, JOBS.c.state == "queued").values(state="running")
            )

    def put_part(self, job: str, chunk: int, content: bytes, tests: int, host: str) -> bool:
        """Store the result of a chunk, once, while the job is active; return whether it was stored."""
        with self.engine.begin() as connection:
            if not self._locked(connection, job):
                return False
            values = {
                "job": job, "chunk": chunk, "content": content, "tests": tests, "host": host,
                "at": now(connection),
            }  # fmt: skip
            put = insert(connection, PARTS).values(values).on_conflict_do_nothing()
            return connection.execute(put.returning(PARTS.c.chunk)).first() is not None

    def succeed(self, job: str, answer: Stored | None) -> bool:
        """End a job, with its answer unless its parts are the answer; return whether this call ended it."""
        with self.engine.begin() as connection:
            if not self._end(connection, job, "succeeded", None):
                return False
            kept = _measured(connection, job).size if answer is None else answer.size
            connection.execute(JOBS.update().where(JOBS.c.id == job).values(kept=kept))
            if answer is not None:
                owner = connection.execute(sa.select(JOBS.c.owner).where(JOBS.c.id == job)).scalar_one()
                connection.execute(insert(connection, RESULTS).values(_result(job, owner, answer, None)))
                connection.execute(PARTS.delete().where(PARTS.c.job == job))
            connection.execute(INPUTS.delete().where(INPUTS.c.job == job))
        return True

    def fail(self, job: str, problem: str) -> bool:
        """End a job without a result, with a problem document; return whether this call ended it."""
        with self.engine.begin() as connection:
            return self._end(connection, job, "failed", problem)

    def purge(self) -> list[tuple[str, int]]:
        """Delete expired data; return ids and chunk counts of the deleted jobs, whose rows stay equally long again."""
        with self.engine.begin() as connection:
            at = now(connection)
            old = JOBS.c.expires <= at
            # Rows of deleted jobs stay, and must not delay later ones.
            full = sa.select(JOBS.c.id).where(old, HAS_STORED_DATA).limit(AT_A_TIME)
            _forget(connection, list(connection.execute(full).scalars()))
            connection.execute(KEYS.delete().where(KEYS.c.job.in_(sa.select(JOBS.c.id).where(old))))
            connection.execute(RESULTS.delete().where(RESULTS.c.expires <= at))
            longer = JOBS.c.expires <= at - self._retention_s
            empty = JOBS.delete().where(longer, sa.not_(HAS_STORED_DATA))
            rows = connection.execute(empty.returning(JOBS.c.id, JOBS.c.chunks))
            return [(row.id, row.chunks) for row in rows]

    def _end(
        self, connection: sa.Connection, job: str, state: State, problem: str | None, *also: Any
    ) -> bool:
        at = now(connection)
        ended = JOBS.update().where(JOBS.c.id == job, JOBS.c.state.in_(ACTIVE), *also)
        values = {"state": state, "problem": problem, "ended": at, "expires": at + self._retention_s}
        if connection.execute(ended.values(values).returning(JOBS.c.id)).first() is None:
            return False
        if state != "succeeded":
            _forget(connection, [job])
        return True

    def _locked(self, connection: sa.Connection, job: str) -> bool:
        """Return whether a job is active, and lock it until the transaction ends."""
        lock = JOBS.update().where(JOBS.c.id == job, JOBS.c.state.in_(ACTIVE)).values(state=JOBS.c.state)
        if is_sqlite(self.engine):  # SQLite has one writer; elsewhere chunks share the row
            return connection.execute(lock.returning(JOBS.c.id)).first() is not None
        shared = sa.select(JOBS.c.state).where(JOBS.c.id == job).with_for_update(read=True)
        return connection.execute(shared).scalar() in ACTIVE


def _of_key(connection: sa.Connection, owner: str, key: str, sha: str, at: float) -> str | None:
    """Return the job of a key, unless it has expired; raises KeyReused."""
    query = sa.select(KEYS.c.request_sha, KEYS.c.job).join(JOBS, JOBS.c.id == KEYS.c.job)
    kept = sa.or_(JOBS.c.expires.is_(None), JOBS.c.expires > at)
    row = connection.execute(query.where(KEYS.c.owner == owner, KEYS.c.key == key, kept)).first()
    if row is not None and row.request_sha != sha:
        raise KeyReused
    return None if row is None else str(row.job)


def _measured(connection: sa.Connection, job: str) -> Measured:
    size = sa.func.length(PARTS.c.content)
    query = sa.select(sa.func.count(), sa.func.max(size), sa.func.sum(size)).where(PARTS.c.job == job)
    return Measured(*(int(number or 0) for number in connection.execute(query).one()))


def _rows(connection: sa.Connection, rows: Sequence[Any]) -> Iterator[JobRow]:
    active = [row.id for row in rows if row.state in ACTIVE]
    done: dict[str, int] = {}
    if active:
        counted = sa.select(PARTS.c.job, sa.func.sum(PARTS.c.tests)).where(PARTS.c.job.in_(active))
        done = {job: int(tests) for job, tests in connection.execute(counted.group_by(PARTS.c.job))}
    at = now(connection)
    for row in rows:
        finished = row.tests if row.state == "succeeded" else done.get(row.id, 0)
        yield JobRow(
            row.id, row.kind, row.state, row.tests, finished, row.chunks, row.seconds, row.algorithm,
            row.created, row.ended, row.expires, row.problem,
            expired=row.expires is not None and row.expires <= at,
        )  # fmt: skip


def _forget(connection: sa.Connection, jobs: Sequence[str]) -> None:
    for table in OF_A_JOB:
        connection.execute(table.delete().where(table.c.job.in_(jobs)))
    connection.execute(RESULTS.delete().where(RESULTS.c.id.in_(jobs)))


def _result(name: str, owner: str, answer: Stored, expires: float | None) -> dict[str, Any]:
    return {
        "id": name, "owner": owner, "status": answer.status, "headers": json.dumps(answer.headers),
        "before": answer.before, "own": answer.own, "after": answer.after, "size": answer.size, "expires": expires,
    }  # fmt: skip


GONE = 0.0  # the value of `seen` after a host has ended


class Heartbeat:
    """One host's heartbeat.

    To a host that was away (its database was lost, or its process stopped) all others seem silent. So it judges others
    only after `silent_s` of beats at most half of that apart.
    """

    def __init__(
        self,
        engine: sa.Engine,
        host: str,
        processes: int,
        algorithm: str,
        silent_s: float,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._engine = engine
        self._values = {"id": host, "processes": processes, "algorithm": algorithm}
        self._silent_s = silent_s
        self._clock = clock
        self._last = -float("inf")
        self._since = 0.0

    def beat(self, computing: Collection[str]) -> tuple[list[str], set[str]]:
        """Record a heartbeat; return the hosts to take over from, and those jobs of `computing` that have ended."""
        with self._engine.begin() as connection:
            at = now(connection)
            values = {**self._values, "seen": at}
            beat = insert(connection, HOSTS).values(values)
            connection.execute(beat.on_conflict_do_update(index_elements=["id"], set_={"seen": at}))
            silent = sa.select(HOSTS.c.id).where(HOSTS.c.seen < at - self._silent_s)
            silent_hosts = list(connection.execute(silent).scalars())
            alive: set[str] = set()
            if computing:
                query = sa.select(JOBS.c.id).where(JOBS.c.id.in_(list(computing)), JOBS.c.state.in_(ACTIVE))
                alive = set(connection.execute(query).scalars())
        began = self._clock()
        if began - self._last > self._silent_s / 2:
            self._since = began
        self._last = began
        trusted = began - self._since >= self._silent_s
        return (silent_hosts if trusted else []), set(computing) - alive

    def forget(self, host: str) -> None:
        """Remove a host that has no chunks left."""
        with self._engine.begin() as connection:
            connection.execute(HOSTS.delete().where(HOSTS.c.id == host))

    def leave(self) -> None:
        """Record the end of this host, so that others need not wait for its silence."""
        with self._engine.begin() as connection:
            connection.execute(HOSTS.update().where(HOSTS.c.id == self._values["id"]).values(seen=GONE))


def live_hosts(engine: sa.Engine, silent_s: float) -> int:
    """Return the number of hosts with a heartbeat."""
    with engine.connect() as connection:
        query = sa.select(sa.func.count()).select_from(HOSTS)
        return int(connection.execute(query.where(HOSTS.c.seen >= now(connection) - silent_s)).scalar_one())
