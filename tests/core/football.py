"""The season of real results that ships with the package, for tests."""

import gzip
import json
from pathlib import Path

from server.core.season import Season

FOLDER = Path(__file__).parents[2] / "server" / "demo" / "football"
CREATED_US = 1_790_000_000_000_000
NOW_MS = CREATED_US // 1000


def season() -> Season:
    """Return the football season, created at `CREATED_US`."""
    return Season.parse(json.loads((FOLDER / "season.json").read_text()), CREATED_US)


def lines(name: str) -> list[bytes]:
    """Return the records of a file such as `messy.jsonl.gz`, an empty one too, with their bytes untouched."""
    return gzip.decompress((FOLDER / name).read_bytes()).split(b"\n")[:-1]
