"""Imports only point to a lower layer, and the core is pure: a walk holds the architecture's table."""

import ast
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "server"

# A room may import itself and every room of a lower layer; rooms of one layer do not know each other.
LAYERS: list[set[str]] = [
    {"core"},
    {"base"},
    {"board", "archive"},
    {"feed", "live"},
    {"keeper", "demo"},
    {"web"},
    {"commands"},
    {"cli"},
]
ROOM_OF_MODULE = {
    "__init__": "core",
    **dict.fromkeys(("settings", "errors", "metrics", "logs"), "base"),
    **dict.fromkeys(("cli", "__main__"), "cli"),
}
# The embedded services stand beside the flow: they know the base, and the command line alone knows them.
LAYER_OF = {room: layer for layer, rooms in enumerate(LAYERS) for room in rooms} | {"embedded": 2}
KNOW_EMBEDDED = {"commands", "cli", "embedded"}

IMPURE_MODULES = {
    *("asyncio", "concurrent", "multiprocessing", "queue", "sched", "subprocess", "threading", "signal"),
    *("time", "random", "secrets", "uuid"),
    *("http", "select", "selectors", "socket", "socketserver", "ssl", "urllib"),
    *("fcntl", "io", "logging", "mmap", "os", "pathlib", "shutil", "sys", "tempfile"),
}
PURE_PACKAGES = {"msgspec", "numpy", "orjson"}
PURE_MODULES = {"websockets.exceptions", "websockets.frames"}  # bytes in, frames out: no socket
CLOCK_CALLS = {"now", "utcnow", "today"}


def room_of(path: Path) -> str:
    """The room of a source file: its folder in the package, or what the table says of a single module."""
    first = path.relative_to(PACKAGE).parts[0]
    return ROOM_OF_MODULE[path.stem] if first == path.name else first


def room_of_name(name: str) -> str:
    """The room of an imported name such as `server.board.store`."""
    first = [*name.split("."), ""][1]
    return ROOM_OF_MODULE.get(first or "__init__", first)


def imported(tree: ast.AST) -> Iterator[str]:
    """Every module that a file imports, at its top or later, in full."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            module = node.module or ""
            assert node.level == 0, f"relative import of {module}: rooms are named in full"
            yield from map(_member, node.names) if module == "server" else (module,)


def _member(alias: ast.alias) -> str:
    """What `from server import …` names: a room, or something of the package itself."""
    is_room = (PACKAGE / alias.name).is_dir() or (PACKAGE / f"{alias.name}.py").exists()
    return f"server.{alias.name}" if is_room else "server"


def layer_of(room: str) -> int:
    """The room's layer; a new room is put into the table first."""
    assert room in LAYER_OF, f"server/{room} has no layer yet: give it one in {Path(__file__).name}"
    return LAYER_OF[room]


def crossings(room: str, source: str) -> list[str]:
    """The imports of `server` that a file of this room must not have."""
    found = []
    for name in imported(ast.parse(source)):
        if name.split(".")[0] != "server":
            continue
        other = room_of_name(name)
        if other == room:
            continue
        if layer_of(other) >= layer_of(room) or (other == "embedded" and room not in KNOW_EMBEDDED):
            found.append(f"{room} imports {name}")
    return found


def impurities(source: str) -> list[str]:
    """What a file of the core must not have: I/O, clocks, chance, and packages that bring them."""
    tree = ast.parse(source)
    found = []
    for name in imported(tree):
        top = name.split(".")[0]
        pure = (
            top in PURE_PACKAGES or name in PURE_MODULES or top == "server" or top in sys.stdlib_module_names
        )
        if top in IMPURE_MODULES or not pure:
            found.append(f"imports {name}")
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr in CLOCK_CALLS
        ):
            found.append(f"calls {ast.unparse(node.func)}")
        if isinstance(node, ast.AsyncFunctionDef | ast.Await):
            found.append(f"awaits in line {node.lineno}")
        if isinstance(node, ast.Name) and node.id in {"open", "print", "input"}:
            found.append(f"uses {node.id}")
    return found


SOURCES = sorted(PACKAGE.rglob("*.py"))
CORE = [path for path in SOURCES if room_of(path) == "core"]


def name_of(path: Path) -> str:
    return str(path.relative_to(PACKAGE))


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_imports_only_point_to_a_lower_layer(path: Path) -> None:
    assert crossings(room_of(path), path.read_text()) == []


@pytest.mark.parametrize("path", CORE, ids=name_of)
def test_the_core_has_no_loop_no_clock_and_no_socket(path: Path) -> None:
    assert impurities(path.read_text()) == []


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("core", "from server.settings import Settings"),
        ("board", "from server.archive.store import Archive"),
        ("live", "import server.feed.ingest"),
        ("feed", "def later():\n    from server.live import hub"),
        ("keeper", "from server import web"),
        ("web", "from server.cli import main"),
        ("web", "from server.embedded.stack import running_stack"),
        ("embedded", "from server.feed.topics import ensure_topics"),
    ],
)
def test_the_walk_finds_an_import_that_points_up_or_aside(room: str, source: str) -> None:
    assert len(crossings(room, source)) == 1


@pytest.mark.parametrize(
    ("room", "source"),
    [
        ("keeper", "from server.feed.apply import apply"),
        ("cli", "from server.embedded.stack import running_stack"),
        ("embedded", "from server.settings import Settings"),
        ("web", "import asyncio\nfrom server.live.hub import Hub"),
    ],
)
def test_the_walk_passes_what_the_table_allows(room: str, source: str) -> None:
    assert crossings(room, source) == []


@pytest.mark.parametrize(
    "source",
    [
        "import asyncio",
        "from time import monotonic",
        "import socket",
        "from redis.asyncio import Redis",
        "from datetime import datetime\ndatetime.now()",
        "async def f(): pass",
        "open('x')",
    ],
)
def test_the_walk_finds_what_is_not_pure(source: str) -> None:
    assert len(impurities(source)) == 1
