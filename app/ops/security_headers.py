"""Headers that keep a browser from doing anything with a response but what it is for.

A response that has a content security policy of its own keeps it.
"""

from __future__ import annotations

POLICY = b"content-security-policy"
NOTHING = b"default-src 'none'; frame-ancestors 'none'"
FIXED = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)
