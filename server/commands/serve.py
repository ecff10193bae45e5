"""`rankcast serve`: the services that nobody named, the roles, and a stop in order at any signal to end.

Owns the signals and what is printed. Never opens a resource of a role: `web/app.py` does.
"""

import asyncio
import contextlib
import gc
import signal
from collections.abc import Callable, Iterator

import structlog

from server.commands.located import CommandError, Say
from server.embedded.stack import Services, require_free_port, running_stack
from server.errors import StartError
from server.settings import Settings, variable
from server.web.app import ROLES, create_app
from server.web.life import Life
from server.web.server import Server

log = structlog.get_logger(__name__)


def parse_roles(text: str) -> frozenset[str]:
    """The roles of "web,ingest"; CommandError names one that does not exist."""
    roles = [part.strip() for part in text.split(",") if part.strip()]
    for role in roles:
        if role not in ROLES:
            raise CommandError(f"there is no role {role!r}: take some of {','.join(ROLES)}", 2)
    if not roles:
        raise CommandError(f"no role is named: take some of {','.join(ROLES)}", 2)
    return frozenset(roles)


async def serve(settings: Settings, roles: frozenset[str], say: Say) -> None:
    """Run until a signal asks for the end; CommandError or EmbeddedError when the process has to go down."""
    require_free_port(settings.host, settings.port)
    ending = _Ending()
    with ending.at_signals():
        try:
            async with running_stack(settings, say) as services:
                await _serve_on(services, settings, roles, ending, say)
        except asyncio.CancelledError:
            if not ending.asked:
                raise


async def _serve_on(
    services: Services, named: Settings, roles: frozenset[str], ending: "_Ending", say: Say
) -> None:
    life = Life()
    settings = for_own_broker(services.settings, named)
    app = create_app(settings, roles, life, demo=plays_demo(named, roles))
    server = Server(app, settings, life)
    _keep_imports_out_of_collections()

    def stop() -> None:
        if not life.stopping.is_set():
            say("Finishing what Kafka has acknowledged; Ctrl-C again does not wait for it …")
        server.stop()

    ending.then(stop)
    tasks = [
        asyncio.create_task(_announce(server, services, roles, say)),
        asyncio.create_task(_watch(services, life)),
    ]
    try:
        await server.serve()
    except StartError as error:
        raise CommandError(str(error)) from error
    except OSError as error:
        raise CommandError(f"{error}: {variable('port')} names another port") from error
    finally:
        for task in tasks:
            task.cancel()


def plays_demo(named: Settings, roles: frozenset[str]) -> bool:
    """The demo fills a broker of ours; on somebody's own Kafka it plays only when asked for by name."""
    if "web" not in roles or not named.demo:
        return False
    return named.kafka_bootstrap is None or "demo" in named.model_fields_set


def for_own_broker(settings: Settings, named: Settings) -> Settings:
    """A broker that we started, as it wants to be read.

    It has no reader but us: joining a group would only cost its seconds. And where Kafka answers a read that
    waits as soon as there is a record, it looks only twice in the time for which it may hold one.
    """
    if named.kafka_bootstrap is not None:
        return settings
    wanted = {"consumer_groups": False, "fetch_wait_ms": 20}
    return settings.model_copy(
        update={name: value for name, value in wanted.items() if name not in named.model_fields_set}
    )


def _keep_imports_out_of_collections() -> None:
    """Modules stay for ever, yet looking through them again and again would hold the event loop for 50 ms."""
    gc.collect()
    gc.freeze()


async def _announce(server: Server, services: Services, roles: frozenset[str], say: Say) -> None:
    await server.listening.wait()
    services.serving(server.url)
    for line in _addresses(server.url, services, roles):
        say(line)


def _addresses(url: str, services: Services, roles: frozenset[str]) -> list[str]:
    if "web" not in roles:
        return [f"Roles {','.join(sorted(roles))}; health at {url}/healthz, {url}/readyz, {url}/metrics"]
    key = services.api_key
    return [
        "",
        f"  Live board   {url}/",
        f"  Overlay      {url}/overlay",
        f"  API          {url}/docs",
        f"  API key      {key}" if key else f"  API key      none: nobody may write ({variable('api_key')})",
        "",
        "Ctrl-C stops everything.",
    ]


async def _watch(services: Services, life: Life) -> None:
    """An embedded service that ends by itself takes the process down."""
    life.fail(StartError(await services.failed()))


class _Ending:
    """What a signal does: cancel the start at first; once the server is there, stop it in order."""

    def __init__(self) -> None:
        self.asked = False
        self._act: Callable[[], object] | None = None

    def then(self, act: Callable[[], object]) -> None:
        """From now on a signal calls `act`; at once when one came already."""
        self._act = act
        if self.asked:
            act()

    @contextlib.contextmanager
    def at_signals(self) -> Iterator[None]:
        """Take SIGINT and SIGTERM while the block runs."""
        loop = asyncio.get_running_loop()
        task = asyncio.current_task()
        assert task is not None
        self._act = lambda: self._cancel_once(task)
        numbers = [signal.SIGINT, signal.SIGTERM]
        if signal.getsignal(signal.SIGHUP) != signal.SIG_IGN:  # else under nohup
            numbers.append(signal.SIGHUP)
        for number in numbers:
            loop.add_signal_handler(number, self._signal)
        try:
            yield
        finally:
            for number in numbers:
                loop.remove_signal_handler(number)

    def _cancel_once(self, task: "asyncio.Task[object]") -> None:
        self._act = None  # a second signal would interrupt the stop itself
        task.cancel()

    def _signal(self) -> None:
        self.asked = True
        if self._act is not None:
            self._act()
