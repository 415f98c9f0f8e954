"""What the protocol tells the application about the connection of a request."""

from __future__ import annotations

from dataclasses import dataclass

CONNECTION = (
    "exactperm.connection"  # the key in an ASGI scope; absent where another server runs the application
)


@dataclass(slots=True)
class Connection:
    """Set by the protocol, read by the middleware."""

    crowded: bool = False  # beyond the limit of connections
    late: bool = False  # the body is not arriving in time
