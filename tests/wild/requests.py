"""Bytes that a web server may get: requests of every route, with everything wrong that can be."""

import json
from dataclasses import dataclass, replace
from random import Random
from urllib.parse import quote

from hypothesis import strategies as st

from tests.wild.drawn import VALUES, WILD_NUMBERS, WILD_TEXTS, drawn, mostly, nested, varied
from tests.wild.records import BEST, SUM, bodies

ROUTES = (
    "/seasons",
    "/seasons/{season}",
    "/seasons/{season}/leaderboard/top",
    "/seasons/{season}/leaderboard/players/{player}",
    "/seasons/{season}/leaderboard/players/{player}/around",
    "/seasons/{season}/leaderboard/stream",
    "/seasons/{season}/leaderboard/status",
    "/seasons/{season}/leaderboard/friends",
    "/seasons/{season}/leaderboard/audit",
    "/seasons/{season}/results",
    "/players",
    "/healthz",
    "/readyz",
    "/metrics",
    "/openapi.json",
    "/ws",
    "/",
    "/overlay",
    "/docs",
    "/static/{file}",
    "/problems/{file}",
    "/demo",
)
_METHODS = (b"HEAD", b"POST", b"PUT", b"OPTIONS", b"DELETE", b"PATCH", b"TRACE", b"PROPFIND", b"get")


@dataclass(frozen=True)
class WildRequest:
    """A request in its parts; `broken` bytes stand for all of it where HTTP's own rules do not hold."""

    method: bytes
    target: bytes
    headers: tuple[bytes, ...]
    body: bytes
    chunked: bool = False
    broken: bytes = b""

    @property
    def whole(self) -> bool:
        """Whether an answer has to come."""
        return not self.broken

    @property
    def data(self) -> bytes:
        """What is sent."""
        if self.broken:
            return self.broken
        body, size = self.body, b"Content-Length: %d" % len(self.body)
        if self.chunked:
            body = (b"%x\r\n%s\r\n" % (len(body), body) if body else b"") + b"0\r\n\r\n"
            size = b"Transfer-Encoding: chunked"
        head = (self.method + b" " + self.target + b" HTTP/1.1", *self.headers, size)
        return b"\r\n".join(head) + b"\r\n\r\n" + body


_seasons = mostly(
    st.sampled_from((str(BEST), str(SUM))),
    st.one_of(WILD_NUMBERS.map(str), WILD_TEXTS, st.sampled_from(("999", "031", "1" * 400))),
)
_players = mostly(
    st.integers(-5, 60).map(str), st.one_of(WILD_NUMBERS.map(str), WILD_TEXTS, st.just("9" * 1000))
)
_files = st.one_of(
    st.sampled_from(("rankcast.js", "style.css", "..%2f..%2fREADME.md", "unranked")), WILD_TEXTS
)
_queries: dict[str, st.SearchStrategy[str]] = {
    "limit": WILD_NUMBERS.map(str),
    "radius": WILD_NUMBERS.map(str),
    "window": st.sampled_from(("d:today", "w:current", "d:2026-10-12", "w:2026-W42", "d:2026-13-40", "x")),
    "view": st.sampled_from(("top", "around", "rankups", "bottom")),
    "have": st.sampled_from(("5f0c6e1d2a3b4c5d-7", "5f0c6e1d2a3b4c5d--7", "x-1", "-")),
    "player": _players,
    "query": st.sampled_from(("a", "Ada", "%", "_", "\\", "42", "ﬀ")),
    "season": _seasons,
}
_headers: dict[str, st.SearchStrategy[bytes]] = {
    "Host": st.sampled_from((b"a", b"", b"[", b"[::1", b"a:b", b"a/b?c#d", b"\xff", b"a" * 300)),
    "If-None-Match": st.sampled_from((b"*", b'"x"', b'W/"x", "y"', b'"', b",,,", b'"5f0c6e1d2a3b4c5d-7"')),
    "Last-Event-ID": st.sampled_from((b"5f0c6e1d2a3b4c5d-7", b"x", b"", b"\xf0\x9f\x8f\x86")),
    "Origin": st.sampled_from((b"null", b"http://a", b"", b"http://[")),
    "Content-Type": st.sampled_from(
        (b"application/json", b"text/plain; charset=nope", b"multipart/form-data", b";")
    ),
    "Accept-Encoding": st.sampled_from((b"gzip", b"br;q=x", b"*")),
    "Upgrade": st.sampled_from((b"websocket", b"h2c", b"")),
    "Expect": st.sampled_from((b"100-continue", b"200-ok")),
    "Cookie": st.binary(max_size=20).map(lambda raw: raw.translate(None, b"\r\n\x00")),
    "X-Forwarded-For": st.sampled_from((b"1.2.3.4", b"x", b",")),
    "X-Long": st.integers(1, 9_000).map(lambda size: b"x" * size),
}


@st.composite
def _target(draw: st.DrawFn) -> bytes:
    path = draw(st.sampled_from(ROUTES))
    for name, choice in (("season", _seasons), ("player", _players), ("file", _files)):
        if f"{{{name}}}" in path:
            path = path.replace(f"{{{name}}}", quote(draw(choice).encode("utf-8", "replace"), safe=""))
    if draw(st.integers(0, 12)) == 0:
        path += quote(draw(WILD_TEXTS).encode("utf-8", "replace"), safe="/%")
    pairs = draw(st.lists(st.sampled_from(sorted(_queries)), max_size=3))
    chosen = [(name, draw(mostly(_queries[name], WILD_TEXTS))) for name in pairs]
    told = "&".join(f"{name}={quote(text.encode('utf-8', 'replace'))}" for name, text in chosen)
    return (path + ("?" + told if told else "")).encode()


_names = st.dictionaries(mostly(st.integers(1, 60).map(str), WILD_TEXTS), WILD_TEXTS, max_size=4)
_bodies = st.one_of(
    bodies(BEST),
    st.lists(bodies(BEST), max_size=30).map(lambda items: b"[" + b",".join(items) + b"]"),
    _names.map(lambda names: json.dumps(names, ensure_ascii=False).encode("utf-8", "surrogatepass")),
    VALUES.map(lambda value: json.dumps(value).encode()),
    st.binary(max_size=60),
    st.sampled_from((nested(40).encode(), nested(20_000).encode(), b" " * 20_000, b"[]", b"{}")),
)
_keys = mostly(
    st.just(b"Bearer a key of the tests"),
    st.sampled_from((b"Bearer \xff", b"Basic x", b"Bearer", b"Bearer  a")),
)


@st.composite
def _requests(draw: st.DrawFn) -> WildRequest:
    kind = draw(st.integers(0, 5))
    body = draw(_bodies) if kind < 3 else b""
    if kind == 0:
        method, target = b"POST", b"/seasons/%d/results" % BEST
    elif kind == 1:
        method, target = b"PUT", b"/players"
    else:
        method, target = draw(mostly(st.just(b"GET"), st.sampled_from(_METHODS), 4)), draw(_target())
    headers = [b"Authorization: " + draw(_keys)]
    odd = draw(st.lists(st.sampled_from(sorted(_headers)), max_size=2, unique=True))
    headers += [name.encode() + b": " + draw(_headers[name]) for name in odd]
    if "Host" not in odd:
        headers.append(b"Host: rankcast")
    return WildRequest(method, target, tuple(headers), body, draw(st.integers(0, 9)) == 0)


def wild_requests(count: int) -> list[WildRequest]:
    """So many of them."""
    return drawn(_requests(), count, _varied)


def _varied(chance: Random, request: WildRequest) -> WildRequest:
    """A varied address or body within HTTP's rules, or all of the bytes without regard to them."""
    match chance.randrange(5):
        case 0:
            return replace(request, broken=varied(chance, request.data) or b"\r")
        case 1 | 2 if request.body:
            return replace(request, body=varied(chance, request.body))
        case _:
            target = quote(varied(chance, request.target), safe="/?=&%")
            return replace(request, target=target.encode())
