"""The files of `static/`: read once, told apart by a hash of their bytes.

Owns where the files lie (beside the package in a checkout, inside it when installed), their media types and
tags. Never renders anything: pages are files like the others. A file may be kept by a browser and has to be
asked for again, so that a page and its scripts are always of one release.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

MEDIA_TYPES = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".png": "image/png",
    ".json": "application/json",
    ".ts": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Asset:
    """One file: its bytes, media type and tag."""

    body: bytes
    media_type: str
    tag: str


def folder() -> Path:
    """Where the static files are. Raises FileNotFoundError where the installation lacks them."""
    package = Path(__file__).resolve().parent.parent
    for place in (package / "static", package.parent / "static"):
        if (place / "index.html").is_file():
            return place
    raise FileNotFoundError(f"static/index.html is neither in {package} nor beside it")


def read_all(place: Path) -> Mapping[str, Asset]:
    """Every file of a known media type below `place`, by its path with slashes."""
    files = sorted(path for path in place.rglob("*") if path.is_file() and path.suffix in MEDIA_TYPES)
    return {path.relative_to(place).as_posix(): _read(path) for path in files}


def tag_of(body: bytes) -> str:
    """The entity tag of these bytes: the same in every process and release that has the same."""
    return hashlib.sha256(body).hexdigest()[:16]


def _read(path: Path) -> Asset:
    body = path.read_bytes()
    return Asset(body, MEDIA_TYPES[path.suffix], tag_of(body))
