"""What one API key, and all of them together, may have in the database: work that waits, and bytes that are kept."""

from __future__ import annotations

import sqlalchemy as sa

from .database import now
from .model import ACTIVE, NoRoom, NoShare, Shares
from .tables import JOBS, RESULTS


def require_share(connection: sa.Connection, owner: str, shares: Shares) -> None:
    """Raise NoShare, which takes the new row of a job back; and NoRoom."""
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
    """Raise NoRoom where what is kept for a key takes more than `most` bytes; a stored answer that was just added is taken back."""
    at = now(connection)
    of_jobs = sa.select(sa.func.sum(JOBS.c.kept)).where(JOBS.c.owner == owner, JOBS.c.expires > at)
    # Results of jobs are counted there: their rows here do not expire by themselves.
    answers = sa.select(sa.func.sum(RESULTS.c.size)).where(RESULTS.c.owner == owner, RESULTS.c.expires > at)
    if sum(int(connection.execute(one).scalar() or 0) for one in (of_jobs, answers)) > most:
        raise NoRoom
