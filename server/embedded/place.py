"""Where PostgreSQL's programs and data lie.

In the data folder, as everything else, unless we are root and the account `nobody`, which PostgreSQL then
runs as, cannot pass all folders on the way (a checkout below /root, say). No folder's rights are widened
for it: then the place is a folder below /var/lib/rankcast, and the file `postgres.place` in the data folder
remembers it, so the next run finds its database again. Removing the data folder forgets the database: a new
one of the same path starts empty.
"""

import hashlib
import shutil
from collections.abc import Callable
from pathlib import Path

from server.embedded.errors import EmbeddedError
from server.embedded.postgres import reachable, run_as

NOTE_NAME = "postgres.place"
ELSEWHERE = Path("/var/lib/rankcast")


def postgres_folder(data_dir: Path, say: Callable[[str], None], elsewhere: Path = ELSEWHERE) -> Path:
    """The folder for PostgreSQL of this data folder; OSError or EmbeddedError where none can be had."""
    note = data_dir / NOTE_NAME
    if not note.exists():
        if (data_dir / "postgres").exists() or reachable(data_dir, run_as()):
            return data_dir / "postgres"
        return _new_place(data_dir, note, elsewhere)
    place = Path(note.read_text().strip())
    if not place.is_absolute():
        raise EmbeddedError(f"{note} names no folder: remove it to start with an empty database")
    if not place.exists():
        say(f"PostgreSQL's folder {place} is gone: starting with an empty database")
    return place


def _new_place(data_dir: Path, note: Path, elsewhere: Path) -> Path:
    if not elsewhere.exists():
        elsewhere.mkdir(parents=True)
        elsewhere.chmod(0o755)  # our own new folder: whatever the umask, PostgreSQL has to pass it
    place = elsewhere / f"{data_dir.parent.name}-{hashlib.sha256(str(data_dir).encode()).hexdigest()[:12]}"
    if place.exists():
        shutil.rmtree(place)  # of a data folder that was removed
    note.write_text(f"{place}\n")
    return place
