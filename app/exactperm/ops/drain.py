"""Graceful shutdown.

After SIGTERM, `/readyz` is 503 at once. For `shutdown_delay_s` requests are still accepted, because a load balancer needs
a moment to notice, and every response closes its connection. Then the server stops listening and finishes the requests
in flight; those unfinished after `shutdown_grace_s` are cancelled and answered with 503.
"""

from __future__ import annotations

CLOSE = (b"connection", b"close")


class Drain:
    """Whether the service is shutting down."""

    def __init__(self) -> None:
        self.begun = False

    def begin(self) -> None:
        """Begin; safe in a signal handler."""
        self.begun = True
