"""One embedded service: a program that we start, wait for, watch and stop.

Owns the life of the child process: a free port, a session of its own (a terminal's Ctrl-C reaches it only
through us), a log file beside its data, readiness by really talking to it, an orderly stop and a hard kill.
It never decides what runs when: that is `stack.py` for `make run` and the fixtures for the tests. What each
program needs is in its neighbours `valkey.py`, `postgres.py` and `tansu.py`.
"""

import asyncio
import contextlib
import os
import pwd
import signal
import socket
import subprocess
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, TypedDict

import psutil

from server.embedded.errors import EmbeddedError

START_SECONDS = 30.0
STOP_SECONDS = 15.0
POLL_SECONDS = 0.02
PORT_ATTEMPTS = 3  # somebody else may take a free port before the program does
HOST = "127.0.0.1"


class _Account(TypedDict, total=False):
    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True, slots=True)
class Launch:
    """What starts a service once its port is known; `user` is the account to run as (None: our own)."""

    command: Sequence[str | Path]
    stdin: str = ""
    env: Mapping[str, str] | None = None
    user: str | None = None


def free_port() -> int:
    """A TCP port on the loopback address that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((HOST, 0))
        port: int = probe.getsockname()[1]
        return port


def account(user: str | None) -> _Account:
    """Arguments of Popen that run the program as `user`, with its groups alone; none for our own account."""
    if user is None:
        return {}
    entry = pwd.getpwnam(user)
    return {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}


def processes_of(pid: int) -> list[psutil.Process]:
    """The process and everything below it, children first; those that are gone are left out."""
    try:
        parent = psutil.Process(pid)
        return [*parent.children(recursive=True), parent]
    except psutil.NoSuchProcess:
        return []


def alive(process: psutil.Process) -> bool:
    """Whether this very process runs; a zombie does not, nor does a later process of the same id."""
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


def _signal_all(processes: Iterable[psutil.Process], number: signal.Signals) -> None:
    for process in processes:
        with contextlib.suppress(psutil.NoSuchProcess):  # it may end while we count
            process.send_signal(number)


def stop_all(processes: Iterable[psutil.Process]) -> None:
    """SIGSTOP processes and wait until no thread of theirs runs: the kernel takes its time for that."""
    family = list(processes)
    _signal_all(family, signal.SIGSTOP)
    _wait_while(_runs, family)


def _runs(process: psutil.Process) -> bool:
    """Whether a thread of a stopped process still works; without /proc: whether its first one does."""
    tasks = Path(f"/proc/{process.pid}/task")
    try:
        states = {_state(task) for task in tasks.iterdir()} if tasks.exists() else {process.status()}
    except (OSError, psutil.NoSuchProcess):  # it ends instead
        return False
    return not states <= {"T", "t", "Z", "X", psutil.STATUS_STOPPED}


def _state(task: Path) -> str:
    return (task / "stat").read_text().rpartition(") ")[2][:1]


def kill_all(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL processes and wait until they have ended."""
    family = list(processes)
    _signal_all(family, signal.SIGKILL)
    _wait_while(alive, family)


def _wait_while(is_so: Callable[[psutil.Process], bool], family: Sequence[psutil.Process]) -> None:
    deadline = time.monotonic() + STOP_SECONDS
    while any(map(is_so, family)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


class Service(ABC):
    """A program with its data in `folder` and, from the first start on, a port of its own.

    `start` may be called again after `stop` or `kill`: port and data stay, so that clients find it again.
    """

    name: ClassVar[str]
    stop_signal: ClassVar[signal.Signals] = signal.SIGTERM
    start_seconds: ClassVar[float] = START_SECONDS  # for a start to answer

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.port = 0
        self.on_spawn: Callable[[], None] = lambda: None  # there is a new process, which may not answer yet
        self._process: subprocess.Popen[bytes] | None = None

    @property
    @abstractmethod
    def address(self) -> str:
        """What clients connect to; with a password where the service has one."""

    @abstractmethod
    def _launch(self) -> Launch:
        """The program and its arguments for `self.port`."""

    @abstractmethod
    async def _answers(self) -> bool:
        """Whether the service does its work now; an exception counts as no."""

    async def _prepare(self) -> None:
        """What has to be there before the first start."""
        self.folder.mkdir(parents=True, exist_ok=True)

    @property
    def log(self) -> Path:
        return self.folder / f"{self.name.lower()}.log"

    @property
    def pid(self) -> int:
        """The process id. Raises EmbeddedError when the service was never started."""
        if self._process is None:
            raise EmbeddedError(f"{self.name} was not started")
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def exit_code(self) -> int | None:
        """How the process ended; None while it runs or before its start."""
        return None if self._process is None else self._process.poll()

    async def start(self) -> None:
        """Start the program and return when it answers. Raises EmbeddedError with the end of its log."""
        await self._prepare()
        attempts = 1 if self.port else PORT_ATTEMPTS
        for attempt in range(1, attempts + 1):
            self.port = self.port if attempts == 1 else free_port()
            try:
                await self._start_once()
                return
            except EmbeddedError:
                if attempt == attempts or "in use" not in self.last_words(20):
                    raise

    async def stop(self, within: float = STOP_SECONDS) -> None:
        """Ask the program to stop and wait; after `within` seconds it is killed."""
        if self._process is None:
            return
        if self._process.poll() is None:
            self._process.send_signal(self.stop_signal)
            self.resume()  # one that is paused cannot stop
        if not await self._ended(within):
            self.kill()

    def kill(self) -> None:
        """SIGKILL, as a crash would: nothing is flushed, nothing is said."""
        if self._process is not None:
            family = processes_of(self._process.pid)
            self._process.kill()  # the parent first, so that it starts no new child meanwhile
            self._process.wait()
            kill_all(family)

    async def restart(self) -> None:
        """Stop in order and start again on the same port with the same data."""
        await self.stop()
        await self.start()

    def pause(self) -> None:
        """Freeze the program (SIGSTOP): its connections stay open and nothing answers."""
        stop_all(processes_of(self.pid))

    def resume(self) -> None:
        """Let a frozen program go on; nothing for one that runs."""
        _signal_all(processes_of(self.pid), signal.SIGCONT)

    def last_words(self, lines: int = 3) -> str:
        """The end of the program's log, in one line."""
        try:
            text = self.log.read_text(errors="replace")
        except OSError:
            return "no log"
        return " | ".join(line.strip() for line in text.splitlines()[-lines:]) or "an empty log"

    async def _start_once(self) -> None:
        launch = self._launch()
        read_end, write_end = os.pipe()  # never through a file: the text may hold a password
        os.write(write_end, launch.stdin.encode())
        os.close(write_end)
        try:
            self._process = self._spawn(launch, read_end)
        except OSError as error:
            raise EmbeddedError(f"{self.name} cannot be started: {error}") from error
        finally:
            os.close(read_end)
        self.on_spawn()
        await self._ready()

    def _spawn(self, launch: Launch, stdin: int) -> subprocess.Popen[bytes]:
        with self.log.open("wb" if self._process is None else "ab") as log:
            return subprocess.Popen(
                [str(part) for part in launch.command],
                stdin=stdin,
                stdout=log,
                stderr=log,
                cwd=self.folder,
                env=dict(launch.env) if launch.env is not None else None,
                start_new_session=True,
                **account(launch.user),
            )

    async def _ready(self) -> None:
        deadline = time.monotonic() + self.start_seconds
        while not await self._answers_at_all():
            if not self.running:
                raise EmbeddedError(
                    f"{self.name} ended with code {self.exit_code} while starting: {self.last_words()}"
                )
            if time.monotonic() > deadline:
                self.kill()
                raise EmbeddedError(
                    f"{self.name} did not answer within {self.start_seconds:.0f} s: {self.last_words()}"
                )
            await asyncio.sleep(POLL_SECONDS)

    async def _answers_at_all(self) -> bool:
        try:
            return await self._answers()
        except Exception:  # whatever a client raises while the server is not up yet: it is not up yet
            return False

    async def _ended(self, within: float) -> bool:
        deadline = time.monotonic() + within
        while self.running and time.monotonic() < deadline:  # noqa: ASYNC110 - a child's end sets no event
            await asyncio.sleep(POLL_SECONDS)
        return not self.running
