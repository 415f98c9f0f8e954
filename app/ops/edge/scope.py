"""What the protocol below tells the application above of the connection a request came by."""

from __future__ import annotations

from dataclasses import dataclass

CONNECTION = (
    "exactperm.connection"  # the key in an ASGI scope; absent where another server runs the application
)


@dataclass(slots=True)
class Connection:
    """Set by the protocol, read by the middlewares."""

    crowded: bool = False  # it is one too many
    late: bool = False  # the body does not come in time
