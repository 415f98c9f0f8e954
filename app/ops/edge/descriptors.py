"""File descriptors: every connection takes one, and a server without any left hears nobody."""

from __future__ import annotations

import resource

OWN = 24  # sockets to listen on, the log, the event loop, /proc, what a library opens for a moment
EACH_WORKER = 4  # its socket and its process, and those of the one that replaces it


def for_connections(wanted: int, workers: int) -> int:
    """How many connections there can be; at least `wanted`, if the system lets the soft limit be raised so far."""
    others = OWN + EACH_WORKER * workers
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted + others:
        most = wanted + others if hard == resource.RLIM_INFINITY else min(hard, wanted + others)
        resource.setrlimit(resource.RLIMIT_NOFILE, (most, hard))
        soft = most
    return wanted if soft == resource.RLIM_INFINITY else max(0, soft - others)
