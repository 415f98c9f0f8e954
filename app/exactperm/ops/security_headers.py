"""Security headers of all responses. A response with its own content security policy keeps it."""

from __future__ import annotations

POLICY = b"content-security-policy"
NOTHING = b"default-src 'none'; frame-ancestors 'none'"
FIXED = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
