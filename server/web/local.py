"""Whether a request comes from a page that this machine's own browser got from this very server.

Owns the rule for calls that only a demo on somebody's own machine answers without the API key: a loopback
peer, a loopback name as Host (a name that was made to point here is none), nothing in between that says so,
and, for a change, the page's origin. Never a protection for anything worth more than a demo.
"""

from ipaddress import ip_address
from urllib.parse import urlsplit

from starlette.datastructures import Headers

from server.web.state import Request

_PROXIES = ("forwarded", "via", "x-forwarded-for", "x-forwarded-host", "x-forwarded-proto", "x-real-ip")


def is_on_this_machine(request: Request) -> bool:
    """Whether the peer and the name that it asked for are this machine's own."""
    client, headers = request.client, request.headers
    if client is None or any(name in headers for name in _PROXIES):
        return False
    return _is_loopback(client.host) and _is_loopback(urlsplit(f"//{headers.get('host', '')}").hostname or "")


def is_own_page(request: Request) -> bool:
    """Whether it was sent by a page of this server in a browser of this machine."""
    return is_on_this_machine(request) and _origin(request.headers) == request.headers.get("host")


def _origin(headers: Headers) -> str | None:
    scheme, _, rest = headers.get("origin", "").partition("://")
    return rest if scheme in ("http", "https") else None


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
