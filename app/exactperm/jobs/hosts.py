"""Heartbeats of worker hosts, and who takes over from one that is silent. All times are of the database's clock."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection

import sqlalchemy as sa

from .database import now
from .model import ACTIVE
from .store import insert
from .tables import HOSTS, JOBS

GONE = 0.0  # `seen` of a host that has ended in peace


class Heart:
    """One host's heartbeat.

    A host that was itself away (its database was lost, its process stopped) sees all others as silent. So it judges only after
    `silent_s` of beats that were never more than half of that apart.
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
        """Say that this host lives; the hosts that it may take over from, and those jobs of `computing` that have ended."""
        with self._engine.begin() as connection:
            at = now(connection)
            values = {**self._values, "seen": at}
            own = insert(connection, HOSTS).values(values)
            connection.execute(own.on_conflict_do_update(index_elements=["id"], set_={"seen": at}))
            silent = sa.select(HOSTS.c.id).where(HOSTS.c.seen < at - self._silent_s)
            silent_hosts = list(connection.execute(silent).scalars())
            alive: set[str] = set()
            if computing:
                wanted = sa.select(JOBS.c.id).where(JOBS.c.id.in_(list(computing)), JOBS.c.state.in_(ACTIVE))
                alive = set(connection.execute(wanted).scalars())
        began = self._clock()
        if began - self._last > self._silent_s / 2:
            self._since = began
        self._last = began
        trusted = began - self._since >= self._silent_s
        return (silent_hosts if trusted else []), set(computing) - alive

    def forget(self, host: str) -> None:
        """A host has nothing left that could be taken over."""
        with self._engine.begin() as connection:
            connection.execute(HOSTS.delete().where(HOSTS.c.id == host))

    def leave(self) -> None:
        """Say that this host ends: others need not wait until it is silent."""
        with self._engine.begin() as connection:
            connection.execute(HOSTS.update().where(HOSTS.c.id == self._values["id"]).values(seen=GONE))


def live_hosts(engine: sa.Engine, silent_s: float) -> int:
    """How many hosts have a heartbeat."""
    with engine.connect() as connection:
        wanted = sa.select(sa.func.count()).select_from(HOSTS)
        return int(connection.execute(wanted.where(HOSTS.c.seen >= now(connection) - silent_s)).scalar_one())
