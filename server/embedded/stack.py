"""What `rankcast serve` stands on: the services that are named, and embedded ones for those that are not.

Owns: which services are outside ones, the folder and its lock, the API key, and the run file's life.
Never does: start the server's roles or handle signals. Neighbours: `cli.py` enters `running_stack` around the
server; `fleet.py` holds the child processes; `runfile.py` tells the command line where everything is.

A production image has none of the embedded services' packages, so `fleet` is imported only when it is needed.
"""

import asyncio
import os
import secrets
import socket
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import SecretStr

from server.embedded import runfile
from server.embedded.errors import EmbeddedError
from server.settings import Settings

if TYPE_CHECKING:
    from server.embedded.fleet import Fleet

Say = Callable[[str], None]
KEY_NAME = "api-key"
OUTSIDE = "name outside services by REDIS_URL, DATABASE_URL and KAFKA_BOOTSTRAP_SERVERS"


@dataclass(frozen=True, slots=True)
class Services:
    """Where everything is: `settings` with all three addresses, and the API key where one is known.

    `embedded` and `data_dir` are None where all three services are outside ones.
    """

    settings: Settings
    embedded: "Fleet | None" = None
    data_dir: Path | None = None

    @property
    def redis_url(self) -> str:
        """redis:// URL, with its password."""
        return self.settings.redis_url or ""

    @property
    def database_url(self) -> str:
        """postgresql:// URL, with its password."""
        return self.settings.database_url or ""

    @property
    def kafka_bootstrap(self) -> str:
        """host:port, several with commas between them."""
        return self.settings.kafka_bootstrap or ""

    @property
    def api_key(self) -> str | None:
        """The key that writes need; None: there is none, and nobody may write."""
        return self.settings.api_key.get_secret_value() if self.settings.api_key else None

    def serving(self, http_url: str) -> None:
        """Write down where the server listens, once it does: the command line reads it."""
        if self.embedded is not None:
            self.embedded.serving(http_url)

    async def failed(self) -> str:
        """Return when an embedded service has ended by itself: one line that says which and why."""
        if self.embedded is None:
            await asyncio.Event().wait()
            raise AssertionError("nobody sets this event")
        return await self.embedded.failed()


@asynccontextmanager
async def running_stack(settings: Settings, say: Say) -> AsyncIterator[Services]:
    """Start what the settings do not name, hand out the addresses, and stop it in order at the end.

    `say` gets a line for each step. Raises EmbeddedError, one line, when something cannot be had; what was
    started until then is stopped. Cancelling stops everything, too: let SIGTERM do that from the start.
    """
    if settings.redis_url and settings.database_url and settings.kafka_bootstrap:
        yield Services(settings)
        return
    data_dir = _made(settings.data_dir)
    with runfile.held_lock(data_dir):
        fleet = _fleet(settings.model_copy(update={"api_key": _api_key(settings, data_dir)}), data_dir, say)
        await fleet.clear_leftovers()
        try:
            yield Services(await fleet.start(), fleet, data_dir)
        finally:
            await fleet.stop()


def require_free_port(host: str, port: int) -> None:
    """Raise EmbeddedError when the server could not listen there: better said before anything is started."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
    except OSError as error:
        raise EmbeddedError(
            f"the server cannot listen on {host}:{port} ({error.strerror}): "
            "RANKCAST_PORT names another port, RANKCAST_HOST another address"
        ) from error


def _made(data_dir: Path) -> Path:
    """The data folder as an absolute path, made if need be, once something could be written into it."""
    try:
        data_dir = data_dir.absolute()
        data_dir.mkdir(parents=True, exist_ok=True)
        (data_dir / runfile.LOCK_NAME).touch()
    except OSError as error:
        raise _unusable(data_dir, error) from error
    return data_dir


def _unusable(data_dir: Path, error: OSError) -> EmbeddedError:
    return EmbeddedError(
        f"the data folder {data_dir} cannot be used ({error.strerror}): RANKCAST_DATA_DIR names another"
    )


def _api_key(settings: Settings, data_dir: Path) -> SecretStr:
    """The key that the settings name, else the one that was made in this folder once."""
    if settings.api_key is not None:
        return settings.api_key
    path = data_dir / KEY_NAME
    try:
        if not path.exists() or not path.read_text().strip():
            with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
                file.write(secrets.token_urlsafe(24) + "\n")
        return SecretStr(path.read_text().strip())
    except OSError as error:
        raise _unusable(data_dir, error) from error


def _fleet(settings: Settings, data_dir: Path, say: Say) -> "Fleet":
    try:
        from server.embedded.fleet import Fleet  # noqa: PLC0415 - see the module's docstring
    except ModuleNotFoundError as error:
        raise EmbeddedError(
            f"the package {error.name} of the embedded services is not installed: {OUTSIDE}"
        ) from error
    return Fleet(settings, data_dir, say)
