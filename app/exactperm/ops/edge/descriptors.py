"""File descriptors: every connection needs one, and a server without free ones cannot accept any."""

from __future__ import annotations

import resource

OWN = 24  # listening sockets, the log, the event loop, /proc, files that libraries open briefly
EACH_WORKER = 4  # its socket and its process, and those of its replacement


def for_connections(wanted: int, workers: int) -> int:
    """How many connections are possible; at least `wanted` if the soft limit can be raised that far."""
    others = OWN + EACH_WORKER * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + others:
        most = wanted + others if hard == resource.RLIM_INFINITY else min(hard, wanted + others)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return wanted if soft == resource.RLIM_INFINITY else max(0, soft - others)
