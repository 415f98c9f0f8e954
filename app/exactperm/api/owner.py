"""Whose jobs and answers they are: those of one API key are not shown to another."""

from __future__ import annotations

import hashlib

from starlette.requests import Request

from ..ops.keys import MAX_KEY_BYTES, SCHEME
from ..settings import Settings

ANONYMOUS = "anonymous"


def owner_of(request: Request, settings: Settings) -> str:
    """The digest of the API key, which the middleware has checked; one name for all where no keys are set."""
    if not settings.api_key_digests.strip():
        return ANONYMOUS
    key = request.headers.get("authorization", "").encode()[len(SCHEME) :].strip()[:MAX_KEY_BYTES]
    return hashlib.sha256(key).hexdigest()
