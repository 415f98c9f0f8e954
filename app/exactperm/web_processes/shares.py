"""What each of several web processes gets of the service's workers and limits."""

from __future__ import annotations

from typing import Any

from ..settings import Settings

DIVIDED = (
    "max_connections_per_address",
    "queue_depth",
    "queue_bytes",
    "cache_bytes",
    "cache_entries",
    "job_streams",
)


def share_of(settings: Settings, number: int, processes: int) -> Settings:
    """The settings of web process `number` of `processes`; open connections and held bytes are counted together instead.

    Shares are rounded up, and a queue has room for the largest body.
    """
    least, more = divmod(settings.workers, processes)
    own: dict[str, Any] = {name: -(-getattr(settings, name) // processes) for name in DIVIDED}
    own["queue_bytes"] = max(own["queue_bytes"], min(settings.queue_bytes, settings.max_body_bytes))
    own["queue_seconds"] = settings.queue_seconds / processes
    own["workers"] = max(1, least + (number < more))
    return settings.model_copy(update=own)
