"""API keys: bearer tokens, known by their SHA-256 digests. `python -m exactperm.ops.keys` makes one.

The server has only digests, which are useless to a reader of its environment. A key is 32 random bytes, so a plain
digest is enough.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
import sys
from dataclasses import dataclass

from ..settings import Settings, is_loopback

PREFIX = "ep_"
SCHEME = b"bearer "
MAX_KEY_BYTES = 512
SEPARATORS = re.compile(r"[\s,]+")
OPEN = (
    "EXACTPERM_HOST is {host}, which other machines can reach, and there are no API keys. Make one with "
    f"`python -m {__name__}` and set EXACTPERM_API_KEY_DIGESTS"
)


@dataclass(frozen=True, slots=True)
class Keys:
    """The digests of the valid keys; if empty, the service is open."""

    digests: tuple[bytes, ...]

    @classmethod
    def of(cls, text: str) -> Keys:
        """Read a list of digests in hexadecimal, separated by commas or spaces."""
        return cls(tuple(bytes.fromhex(one) for one in SEPARATORS.split(text) if one))

    def admit(self, authorization: bytes | None) -> bool:
        """Whether the value of an Authorization header has a known key, in a time that does not depend on the key."""
        if authorization is None or authorization[: len(SCHEME)].lower() != SCHEME:
            return False
        sent = hashlib.sha256(authorization[len(SCHEME) :].strip()[:MAX_KEY_BYTES]).digest()
        known = False
        for digest in self.digests:  # compare all, whichever matches
            known |= hmac.compare_digest(sent, digest)
        return known


def new_key() -> tuple[str, str]:
    """A new key, and its digest in hexadecimal."""
    key = PREFIX + secrets.token_urlsafe(32)
    return key, hashlib.sha256(key.encode()).hexdigest()


def exposed(settings: Settings) -> str | None:
    """A sentence if other machines can use the service without a key, or None."""
    if is_loopback(settings.host) or Keys.of(settings.api_key_digests).digests:
        return None
    return OPEN.format(host=settings.host or "empty")


def main() -> None:
    """Print a new key, for the client, and its digest, for the server."""
    key, digest = new_key()
    sys.stdout.write(f"key for the client     {key}\nEXACTPERM_API_KEY_DIGESTS={digest}\n")


if __name__ == "__main__":
    main()
