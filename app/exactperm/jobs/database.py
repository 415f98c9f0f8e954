"""The job database: engines for SQLite and PostgreSQL, the clock, and availability."""

from __future__ import annotations

import errno
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from .model import StoreAway

BUSY_MS = 30_000
UNWRITABLE = frozenset({sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM})
MENDABLE = frozenset(
    {
        errno.EACCES,
        errno.EPERM,
        errno.EROFS,
        errno.ENOSPC,
        errno.EDQUOT,
        errno.EIO,
        errno.EMFILE,
        errno.ENFILE,
    }
)
WRITABLE = (
    "the file that EXACTPERM_JOBS_URL names, and its folder, must be writable for the user of this process"
)
IDENTITY = "identity"  # of the file that a connection has open
POSTGRES = "postgresql+psycopg"
# Each side closes a connection half a minute after the other side has gone.
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
    """Return the engine of a URL: `sqlite:///file`, or `postgresql://…` by psycopg.

    Raises
    ------
        ValueError: the URL can never name a database; the message says why.
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
    """Open a file with a write-ahead log, so that readers and the only writer do not wait for each other."""
    if url.database is None or url.database == ":memory:":
        raise ValueError("jobs need a file: sqlite:////path/jobs.sqlite")
    file = Path(url.database)
    _refuse_impossible(file)
    engine = sa.create_engine(url, connect_args={"timeout": BUSY_MS / 1e3})
    opened = threading.Event()

    @sa.event.listens_for(engine, "do_connect")
    def make(*_: Any) -> None:
        if opened.is_set() and not file.exists():
            raise _cannot_open(f"{file} was deleted while this process ran; put it back, or start again")
        _made(file)

    @sa.event.listens_for(engine, "checkout")
    def look(_: Any, record: sa.pool.ConnectionPoolEntry, __: Any) -> None:
        # After a file was deleted or replaced, the open one still takes rows, which are then lost.
        if record.info[IDENTITY] != _identity(file):
            raise sa.exc.DisconnectionError(f"{file} was replaced by another file")

    @sa.event.listens_for(engine, "handle_error")
    def leave(context: sa.engine.ExceptionContext) -> None:
        # A connection to a file that was read-only stays read-only, even when the file becomes writable.
        if _is_unwritable(context.original_exception):
            context.is_disconnect = True

    @sa.event.listens_for(engine, "connect")
    def begin(connection: sqlite3.Connection, record: sa.pool.ConnectionPoolEntry) -> None:
        opened.set()
        record.info[IDENTITY] = _identity(file)
        connection.isolation_level = "IMMEDIATE"  # a reader that becomes a writer would fail at once
        connection.execute(f"PRAGMA busy_timeout={BUSY_MS}")
        _write_ahead(connection)
        connection.execute("PRAGMA synchronous=FULL")
        # The engine of jobs asks for 'subsec', which SQLite knows from 3.42 on.
        connection.create_function("unixepoch", 1, lambda _: time.time())

    return engine


def _refuse_impossible(file: Path) -> None:
    """Raise ValueError if the path can never be a database; without rights or room it is only unavailable."""
    try:
        _make(file)
        wrong = None if file.is_file() else "it is not a file"
    except OSError as error:
        wrong = None if error.errno in MENDABLE else error.strerror
    if wrong is not None:
        raise ValueError(f"{file}: {wrong}; name a file in a folder that this user can write")


def _make(file: Path) -> None:
    """Make the file and its folder, for their owner only."""
    file.parent.mkdir(parents=True, exist_ok=True)
    if not file.exists():
        file.touch(mode=0o600)


def _made(file: Path) -> None:
    """Make the file and its folder, raising the error of SQLite, so that a service starts without them."""
    try:
        _make(file)
    except OSError as error:
        raise _cannot_open(f"{file} cannot be made: {error.strerror}") from None


def _cannot_open(why: str) -> sqlite3.OperationalError:
    refused = sqlite3.OperationalError(why)
    refused.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
    return refused


def _identity(file: Path) -> tuple[int, int] | None:
    """Return the device and inode of a file; None if there is none."""
    try:
        about = file.stat()
    except OSError:
        return None
    return about.st_dev, about.st_ino


def _write_ahead(connection: sqlite3.Connection) -> None:
    """Use a write-ahead log. While another process creates one for a new file, SQLite refuses at once, despite the
    time-out.
    """
    end = time.monotonic() + BUSY_MS / 1e3
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or time.monotonic() > end:
                raise
            time.sleep(0.01)
        else:
            return


def identity_of(engine: sa.Engine) -> tuple[int, int] | None:
    """Return the current file of the database; None if it is missing or not a file."""
    return _identity(Path(str(engine.url.database))) if is_sqlite(engine) else None


def is_sqlite(engine: sa.Engine) -> bool:
    """Return whether the database is a file of this machine."""
    return bool(engine.dialect.name == "sqlite")


def now(connection: sa.Connection) -> float:
    """Return the seconds since 1970 by the clock of the database, the only one that all hosts share."""
    if connection.dialect.name == "sqlite":
        return time.time()
    clock = sa.text("select extract(epoch from clock_timestamp())::float8")
    return float(connection.execute(clock).scalar_one())


@contextmanager
def reachable() -> Iterator[None]:
    """Turn the errors of a lost database into `StoreAway`."""
    try:
        yield
    except (sa.exc.OperationalError, sa.exc.InterfaceError, sa.exc.TimeoutError) as error:
        raise StoreAway(_reason(error)) from error
    except sa.exc.DBAPIError as error:
        # SQLite raises the base class for a file that is damaged, or not a database.
        if error.connection_invalidated or type(error) is sa.exc.DatabaseError:
            raise StoreAway(_reason(error)) from error
        raise


def _reason(error: sa.exc.SQLAlchemyError) -> str:
    """Return the driver's message for the log, without the statement and its data, with a hint for operators."""
    original = getattr(error, "orig", None)
    message = str(original or "").strip().partition("\n")[0] or type(error).__name__
    return f"{message}; {WRITABLE}" if _is_unwritable(original) else message


def _is_unwritable(error: BaseException | None) -> bool:
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in UNWRITABLE
