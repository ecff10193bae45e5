"""Pages and their files: what they may load, how long they are kept, and how every refusal looks."""

import re
from collections.abc import AsyncIterator
from html.parser import HTMLParser

import httpx
import pytest
import pytest_asyncio

from server.errors import KINDS
from server.settings import Settings
from server.web import assets
from server.web.app import create_app
from server.web.life import Life

PAGES = ["/", "/overlay", "/docs"]
FILES = [f"/static/{name}" for name in assets.read_all(assets.folder())]


async def _client(settings: Settings) -> httpx.AsyncClient:
    app = create_app(settings, frozenset({"web"}), Life())
    transport = httpx.ASGITransport(app=app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url="http://test")


@pytest_asyncio.fixture
async def http() -> AsyncIterator[httpx.AsyncClient]:
    """A client of an app whose resources were never opened: pages need none."""
    async with await _client(Settings()) as client:
        yield client


class _Page(HTMLParser):
    """What a page loads, and what it has inside that the policy forbids."""

    def __init__(self) -> None:
        super().__init__()
        self.loads: list[str] = []
        self.forbidden: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        names = dict(attrs)
        if tag in ("script", "img", "iframe"):
            self.loads += [source] if (source := names.get("src")) else []
            self.forbidden += [tag] if tag == "script" and "src" not in names else []
        if tag == "link":
            self.loads.append(names.get("href") or "")
        self.forbidden += [name for name in names if name.startswith("on") or name == "style"]
        self.forbidden += [tag] if tag == "style" else []


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_loads_only_files_of_this_server_that_are_there(
    http: httpx.AsyncClient, path: str
) -> None:
    page = _Page()
    page.feed((await http.get(path)).text)

    assert page.loads
    assert [name for name in page.loads if name not in FILES] == []
    assert page.forbidden == []


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith(".js")])
async def test_a_module_imports_only_files_of_this_server_that_are_there(
    http: httpx.AsyncClient, path: str
) -> None:
    text = (await http.get(path)).text
    imported = re.findall(r"""^(?:import|export)\b[^;'"]*['"]([^'"]+)['"];""", text, re.MULTILINE)
    addresses = [str(httpx.URL(f"http://test{path}").join(name).path) for name in imported]

    assert [name for name in addresses if name not in FILES] == []
    assert re.findall(r"https?://(?!127\.0\.0\.1|localhost)[a-z.]+\.(?:com|org|net|io)", text) == []


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_has_a_policy_without_inline_script_or_style(http: httpx.AsyncClient, path: str) -> None:
    policy = (await http.get(path)).headers["content-security-policy"]

    assert "default-src 'none'" in policy
    assert "script-src 'self';" in policy
    assert "style-src 'self';" in policy
    assert "unsafe" not in policy


async def test_the_overlay_alone_may_lie_in_pages_of_others(http: httpx.AsyncClient) -> None:
    ancestors = {
        path: (await http.get(path)).headers["content-security-policy"].split("frame-ancestors ")[1]
        for path in PAGES
    }

    assert ancestors == {"/": "'self'", "/overlay": "*", "/docs": "'self'"}


@pytest.mark.parametrize("path", [*PAGES, *FILES])
async def test_what_a_browser_keeps_is_asked_for_again_and_answered_304(
    http: httpx.AsyncClient, path: str
) -> None:
    """E9"""
    first = await http.get(path)
    again = await http.get(path, headers={"if-none-match": first.headers["etag"]})

    assert first.status_code == 200
    assert first.headers["cache-control"] == "no-cache"
    assert (again.status_code, again.content) == (304, b"")


@pytest.mark.parametrize("path", [*PAGES, FILES[0], "/openapi.json", "/healthz", "/nowhere"])
async def test_every_answer_carries_the_security_headers(http: httpx.AsyncClient, path: str) -> None:
    headers = (await http.get(path)).headers

    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    assert "default-src 'none'" in headers["content-security-policy"]
    assert "server" not in headers


async def test_open_reads_may_be_used_by_every_page(http: httpx.AsyncClient) -> None:
    answer = await http.get("/static/rankcast.js", headers={"origin": "https://game.example"})

    assert answer.headers["access-control-allow-origin"] == "*"


@pytest.mark.parametrize(
    ("origin", "allowed"),
    [
        ("https://game.example", "https://game.example"),
        ("https://GAME.example", "https://GAME.example"),
        ("https://evil.example", None),
        ("https://game.example.evil.com", None),
        ("https://game.example:8443", None),
        ("null", None),
    ],
)
async def test_where_origins_are_named_only_their_pages_may_read(origin: str, allowed: str | None) -> None:
    """D7"""
    async with await _client(Settings(origins=["https://game.example"])) as http:
        answer = await http.get("/static/rankcast.js", headers={"origin": origin})

    assert answer.headers.get("access-control-allow-origin") == allowed
    assert "Origin" in answer.headers["vary"]


@pytest.mark.parametrize(
    ("method", "path", "status", "code"),
    [
        ("GET", "/nowhere", 404, "not_found"),
        ("GET", "/static/nothing.js", 404, "not_found"),
        ("GET", "/static/../pyproject.toml", 404, "not_found"),
        ("GET", "/static/..%2f..%2fpyproject.toml", 404, "not_found"),
        ("GET", "/static/%00", 404, "not_found"),
        ("GET", "/problems/nothing", 404, "not_found"),
        ("GET", "/healthz/", 404, "not_found"),
        ("DELETE", "/healthz", 405, "method_not_allowed"),
        ("POST", "/", 405, "method_not_allowed"),
        ("POST", "/players", 405, "method_not_allowed"),
        ("GET", "/ws", 400, "bad_request"),
    ],
)
async def test_every_refusal_is_a_problem_with_its_code_word(
    http: httpx.AsyncClient, method: str, path: str, status: int, code: str
) -> None:
    answer = await http.request(method, path)

    body = answer.json()
    assert (answer.status_code, answer.headers["content-type"]) == (status, "application/problem+json")
    assert body["type"].endswith(code)
    assert (body["code"], body["status"], body["title"]) == (code, status, KINDS[code].title)
    assert body["detail"]


async def test_a_refused_method_is_told_of_those_that_are_taken(http: httpx.AsyncClient) -> None:
    answer = await http.delete("/players")

    assert set(answer.headers["allow"].split(", ")) == {"GET", "HEAD", "PUT"}


async def test_a_fault_of_ours_is_a_problem_that_tells_nothing_of_the_inside(http: httpx.AsyncClient) -> None:
    answer = await http.get("/seasons")  # its resources were never opened

    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert "Error" not in answer.json()["detail"]


@pytest.mark.parametrize("code", sorted(KINDS))
async def test_the_type_of_a_refusal_leads_to_its_explanation(http: httpx.AsyncClient, code: str) -> None:
    answer = await http.get(f"/problems/{code}")

    assert (answer.status_code, answer.headers["location"]) == (303, f"/docs#{code}")
