"""Headers that every answer carries, and which pages of other origins may read it.

Owns the Content-Security-Policy of pages and of data, and the CORS header of open reads. A plain ASGI
middleware: it never touches a body and leaves streams and WebSockets alone.
"""

from collections.abc import Sequence

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_PAGE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors {ancestors}"
)
PAGE_POLICY = _PAGE.format(ancestors="'self'")
EMBEDDABLE_POLICY = _PAGE.format(ancestors="*")  # the overlay lies over other people's pages
DATA_POLICY = "default-src 'none'; frame-ancestors 'none'"


class SecurityHeaders:
    """Adds the headers to every HTTP answer; a policy that a page set by itself stays."""

    def __init__(self, app: ASGIApp, origins: Sequence[str]) -> None:
        self.app = app
        self.origins = frozenset(origin.lower() for origin in origins)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        allowed = self._allowed(scope)

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.setdefault("content-security-policy", DATA_POLICY)
                headers["x-content-type-options"] = "nosniff"
                headers["referrer-policy"] = "no-referrer"
                if allowed:
                    headers["access-control-allow-origin"] = allowed
                    headers["access-control-expose-headers"] = "ETag"
                if self.origins:
                    headers.add_vary_header("Origin")
            await send(message)

        return await self.app(scope, receive, send_with_headers)

    def _allowed(self, scope: Scope) -> str | None:
        """The value of Access-Control-Allow-Origin: reads only, since writes carry a key that no page has."""
        if scope["method"] not in ("GET", "HEAD"):
            return None
        if not self.origins:
            return "*"
        origin = Headers(scope=scope).get("origin")
        return origin if origin and origin.lower() in self.origins else None
