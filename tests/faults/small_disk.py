"""A disk that can be full: a tmpfs of some megabytes, and a ballast that takes what is left of them."""

import contextlib
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

from tests.services import missing

BLOCK = b"\0" * 65_536


class SmallDisk:
    """The disk at `path`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._ballast = path / "ballast"

    def fill(self) -> None:
        """Take all space that is left, to the last page."""
        with self._ballast.open("ab", buffering=0) as ballast, contextlib.suppress(OSError):
            while ballast.write(BLOCK):
                pass

    def free(self) -> None:
        """Give the space back."""
        self._ballast.unlink()


@contextlib.contextmanager
def small_disk(folder: Path, megabytes: int) -> Iterator[SmallDisk]:
    """Mount one in `folder`; skipped with the reason where mounting is not allowed, never in CI."""
    path = folder / "disk"
    path.mkdir()
    size = f"size={megabytes}m,mode=0755"
    done = _run("mount", "-t", "tmpfs", "-o", size, "rankcast-tests", str(path))
    if done.returncode:
        missing(f"A small disk needs a mount, by root or by sudo without a password ({done.stderr.strip()})")
    try:
        yield SmallDisk(path)
    finally:
        _run("umount", "--lazy", str(path))


def _run(*command: str) -> "subprocess.CompletedProcess[str]":
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    try:
        return subprocess.run([*sudo, *command], capture_output=True, text=True, check=False)
    except OSError as error:
        return subprocess.CompletedProcess(command, 1, "", str(error))
