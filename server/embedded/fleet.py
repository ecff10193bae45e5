"""The embedded services of one stack: started one after the other, watched, stopped in order.

Owns: which are started, the run file while they run, and ending what a killed run left behind.
Never does: decide who may run (`stack.py` holds the lock), or how a single service is started (`process.py`).
"""

import asyncio
import contextlib
import secrets
import time
from collections.abc import Callable
from pathlib import Path

import psutil

from server.embedded import runfile
from server.embedded.errors import EmbeddedError
from server.embedded.place import postgres_folder
from server.embedded.postgres import Postgres
from server.embedded.process import Service, alive, kill_all, processes_of
from server.embedded.tansu import Tansu
from server.embedded.valkey import Valkey
from server.settings import Settings

WATCH_SECONDS = 0.25
LEFTOVER_SECONDS = 10.0
SAME_START_SECONDS = (
    2.0  # the start of a process is told from the boot time, which an adjusted clock may move
)


class Fleet:
    """The services that `settings` do not name, their data in `data_dir`; `say` gets a line for each step."""

    def __init__(self, settings: Settings, data_dir: Path, say: Callable[[str], None]) -> None:
        self._settings = settings
        self._data_dir = data_dir
        self._say = say
        self._http_url = f"http://{settings.host}:{settings.port}"
        self._services: dict[
            str, Service
        ] = {}  # by the setting that they fill in, in the order of their start

    async def clear_leftovers(self) -> None:
        """End the services of a run that was killed, by its run file."""
        if (info := runfile.read(self._data_dir)) is not None:
            await asyncio.to_thread(self._end, [record for record in info.services if _same(record)])
        runfile.remove(self._data_dir)

    async def start(self) -> Settings:
        """Start everything; the settings with the addresses filled in. Raises EmbeddedError."""
        for field, make in self._wanted().items():
            await self._start(field, make)
        self._write()
        return self._filled()

    async def stop(self) -> None:
        """Stop what was started, the last one first: broker, Valkey, PostgreSQL."""
        for service in reversed(self._services.values()):
            if service.running:
                self._say(f"Stopping {service.name} …")
            await service.stop()
        runfile.remove(self._data_dir)

    async def failed(self) -> str:
        """Return when a service has ended by itself, with one line about it."""
        while True:
            for service in self._services.values():
                if not service.running:
                    how = f"ended by itself with code {service.exit_code}: {service.last_words()}"
                    return f"{service.name} {how} (its log: {service.log})"
            await asyncio.sleep(WATCH_SECONDS)

    def serving(self, http_url: str) -> None:
        """Put the server's address into the run file."""
        self._http_url = http_url
        self._write()

    def _wanted(self) -> dict[str, Callable[[], Service]]:
        settings, folder = self._settings, self._data_dir
        wanted: dict[str, Callable[[], Service]] = {}
        if not settings.database_url:
            wanted["database_url"] = lambda: Postgres(postgres_folder(folder, self._say))
        if not settings.redis_url:
            wanted["redis_url"] = lambda: Valkey(folder / "valkey", secrets.token_hex(16))
        if not settings.kafka_bootstrap:
            wanted["kafka_bootstrap"] = lambda: Tansu(folder / "kafka")
        return wanted

    async def _start(self, field: str, make: Callable[[], Service]) -> None:
        began = time.monotonic()
        try:
            service = make()
            self._services[field] = service
            service.on_spawn = self._write
            self._say(f"Starting {service.name} …")
            await service.start()
        except OSError as error:
            raise EmbeddedError(f"{field} cannot be had from an embedded service: {error}") from error
        self._say(
            f"{service.name} is ready after {time.monotonic() - began:.1f} s at 127.0.0.1:{service.port}"
        )

    def _filled(self) -> Settings:
        started = {field: service.address for field, service in self._services.items() if service.running}
        return self._settings.model_copy(update=started)

    def _write(self) -> None:
        filled = self._filled()
        runfile.write(
            self._data_dir,
            runfile.RunInfo(
                pid=psutil.Process().pid,
                http_url=self._http_url,
                redis_url=filled.redis_url or "",
                database_url=filled.database_url or "",
                kafka_bootstrap=filled.kafka_bootstrap or "",
                api_key=filled.api_key.get_secret_value() if filled.api_key else "",
                services=tuple(_record(service) for service in self._services.values() if service.running),
            ),
        )

    def _end(self, records: list[runfile.ServiceRecord]) -> None:
        """Ask the processes to stop, then kill those that are still there."""
        left = []
        for record in records:
            self._say(f"Stopping {record.name} of a run that was killed (process {record.pid}) …")
            left += processes_of(record.pid)
            with contextlib.suppress(psutil.NoSuchProcess):
                psutil.Process(record.pid).terminate()
        deadline = time.monotonic() + LEFTOVER_SECONDS
        while any(map(alive, left)) and time.monotonic() < deadline:
            time.sleep(0.05)
        kill_all([process for process in left if alive(process)])


def _record(service: Service) -> runfile.ServiceRecord:
    return runfile.ServiceRecord(service.name, service.pid, psutil.Process(service.pid).create_time())


def _same(record: runfile.ServiceRecord) -> bool:
    """Whether the record's process still runs: by id and start, so that no other one is ever ended."""
    try:
        process = psutil.Process(record.pid)
        return alive(process) and abs(process.create_time() - record.started) < SAME_START_SECONDS
    except (psutil.Error, ValueError, OverflowError):
        return False
