"""The database of jobs: the engine of either kind, its clock, and whether it can be reached."""

from __future__ import annotations

import errno
import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from .model import StoreAway

BUSY_MS = 30_000
POSTGRES = "postgresql+psycopg"
# Half a minute after the other side has gone, a connection is closed, on either side.
KEEPALIVES = {
    "keepalives": 1,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 8_000,
    "connect_timeout": 5,
    "application_name": "exactperm",
}


def engine_of(url: str, *, connections: int = 4) -> sa.Engine:
    """The engine of a URL: `sqlite:///file`, or `postgresql://…` by psycopg.

    Raises
    ------
        ValueError: there can be no such database, whenever it is asked; the message says why.
    """
    try:
        parsed = sa.make_url(url)
    except (sa.exc.ArgumentError, ValueError):
        raise ValueError("it cannot be read as a URL; write sqlite:////path/jobs.sqlite") from None
    if parsed.get_backend_name() == "sqlite":
        return _sqlite(parsed)
    parsed = parsed.set(drivername=POSTGRES)
    return sa.create_engine(
        parsed,
        pool_size=connections,
        max_overflow=2,
        pool_timeout=10,
        pool_pre_ping=True,
        pool_recycle=1_800,
        connect_args=KEEPALIVES,
    )


def _sqlite(url: sa.URL) -> sa.Engine:
    """A file with a write-ahead log, so that readers and the one writer do not wait for each other."""
    if url.database is None or url.database == ":memory:":
        raise ValueError("jobs need a file: sqlite:////path/jobs.sqlite")
    file = Path(url.database)
    try:
        file.parent.mkdir(parents=True, exist_ok=True)
        if not file.exists():
            file.touch(mode=0o600)
        if not (file.is_file() and os.access(file, os.W_OK)):
            raise PermissionError(errno.EACCES, "it is no file that can be written")
    except OSError as error:
        raise ValueError(
            f"{file}: {error.strerror}; name a file in a folder that this user can write"
        ) from None
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_MS / 1e3})

    @sa.event.listens_for(engine, "connect")
    def begin(connection: sqlite3.Connection, _: Any) -> None:
        connection.isolation_level = "IMMEDIATE"  # a reader that becomes a writer would fail at once
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous=FULL")
        # The engine of jobs asks for 'subsec', which SQLite knows from 3.42 on.
        connection.create_function("unixepoch", 1, lambda _: time.time())

    return engine


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Switch to the write-ahead log: of those who do it at once on a new file all but one are refused without a wait."""
    until = time.monotonic() + BUSY_MS / 1e3
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.01)
        else:
            return


def is_sqlite(engine: sa.Engine) -> bool:
    """Whether it is a file of this machine."""
    return bool(engine.dialect.name == "sqlite")


def now(connection: sa.Connection) -> float:
    """Seconds since 1970 by the clock of the database, the only one that all hosts share."""
    if connection.dialect.name == "sqlite":
        return time.time()
    clock = sa.text("select extract(epoch from clock_timestamp())::float8")
    return float(connection.execute(clock).scalar_one())


@contextmanager
def reachable() -> Iterator[None]:
    """Turn what a lost database raises into `StoreAway`."""
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
        raise StoreAway(type(error).__name__) from error
    except sa.exc.DBAPIError as error:
        # The least of the classes is what SQLite says of a file that is damaged, or no database.
        if error.connection_invalidated or type(error) is sa.exc.DatabaseError:
            raise StoreAway(type(error).__name__) from error
        raise
