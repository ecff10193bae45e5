"""`run.lock` and `run.json`: who runs in a data folder, and how to reach it.

Owns: the lock that a stack holds as long as it runs (flock: the kernel drops it with the process, so there
is no stale one), and the file with process ids, start times, addresses and the API key, readable by its
owner alone. Never does: start or stop anything. Neighbours: `stack.py` writes, the command line reads.
"""

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from server.embedded.errors import EmbeddedError

LOCK_NAME = "run.lock"
FILE_NAME = "run.json"
LOCK_SECONDS = 1.0  # a command line that looks whether somebody runs holds the lock for a moment


class ServiceRecord(msgspec.Struct, frozen=True):
    """One embedded service: `started` is its start in seconds since the Unix epoch, which tells it from a
    later process of the same `pid`."""

    name: str
    pid: int
    started: float


class RunInfo(msgspec.Struct, frozen=True):
    """A stack that runs: the process that holds it, its address, and those of the services that it uses."""

    pid: int
    http_url: str
    redis_url: str
    database_url: str
    kafka_bootstrap: str
    api_key: str
    services: tuple[ServiceRecord, ...] = ()


def read(data_dir: Path) -> RunInfo | None:
    """What the run file says, whether its writer still runs or not; None where there is no usable one."""
    try:
        return msgspec.json.decode((data_dir / FILE_NAME).read_bytes(), type=RunInfo)
    except (FileNotFoundError, NotADirectoryError, msgspec.DecodeError):
        return None
    except OSError as error:
        raise EmbeddedError(f"{data_dir / FILE_NAME} cannot be read: {error.strerror}") from error


def write(data_dir: Path, info: RunInfo) -> None:
    """Replace the run file in one step; nobody but its owner ever reads it."""
    new = data_dir / f"{FILE_NAME}.new"
    new.unlink(missing_ok=True)
    with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "wb") as file:
        file.write(msgspec.json.format(msgspec.json.encode(info)) + b"\n")
    new.replace(data_dir / FILE_NAME)


def remove(data_dir: Path) -> None:
    """Remove the run file: nothing runs any more."""
    (data_dir / FILE_NAME).unlink(missing_ok=True)


def find_running(data_dir: Path) -> RunInfo | None:
    """The stack that runs in this folder now; None when none does, or while it is still starting.

    Raises EmbeddedError where the folder's files belong to somebody else and cannot be read.
    """
    try:
        with (data_dir / LOCK_NAME).open("rb") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return read(data_dir)
    except OSError:
        return None
    return None


@contextmanager
def held_lock(data_dir: Path) -> Iterator[None]:
    """Hold the folder's lock. Raises EmbeddedError, saying where the other stack is, when one holds it."""
    with (data_dir / LOCK_NAME).open("ab") as lock:
        deadline = time.monotonic() + LOCK_SECONDS
        while not _taken(lock.fileno()):
            if time.monotonic() > deadline:
                raise EmbeddedError(_who_runs(data_dir))
            time.sleep(0.02)
        yield


def _taken(lock: int) -> bool:
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _who_runs(data_dir: Path) -> str:
    remedy = "stop it first, or choose another folder by RANKCAST_DATA_DIR"
    if (info := read(data_dir)) is None:
        return f"Rankcast is already starting in {data_dir}: {remedy}"
    return f"Rankcast already runs in {data_dir} at {info.http_url} (process {info.pid}): {remedy}"
