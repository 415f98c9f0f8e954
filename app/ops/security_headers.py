"""Headers that keep a browser from doing anything with a response but what it is for."""

from __future__ import annotations

from starlette.types import ASGIApp, Message, Receive, Scope, Send

POLICY = b"content-security-policy"
NOTHING = b"default-src 'none'; frame-ancestors 'none'"
FIXED = (
    (b"x-content-type-options", b"nosniff"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


class SecurityHeadersMiddleware:
    """Adds them to every response; a response that has a policy of its own keeps it."""

    def __init__(self, app: ASGIApp) -> None:
        self.app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve one connection."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = list(message.get("headers", ()))
                if not any(name == POLICY for name, _ in headers):
                    headers.append((POLICY, NOTHING))
                message["headers"] = [*headers, *FIXED]
            await send(message)

        await self.app(scope, receive, send_with_headers)
