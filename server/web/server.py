"""One HTTP server in this event loop: uvicorn with our WebSocket class, and a stop in order.

Owns the listening address and the order of a stop: no new connections, `Life.drain`, then what uvicorn does
(connections closed, lifespan ended). Never handles signals: its caller calls `stop`. Never
logs addresses of requests, which may hold secrets.
"""

import asyncio
import contextlib
import socket
from collections.abc import Generator
from ipaddress import ip_address

import uvicorn
from starlette.types import ASGIApp

from server.live.handshake import RankcastProtocol
from server.settings import Settings
from server.web.life import Life
from server.web.measured import MeasuredHttp


class Server(uvicorn.Server):
    """uvicorn's server for one app and one life; `await serve()` returns after an orderly stop.

    Raises what a role died of, or what the start failed of.
    """

    def __init__(self, app: ASGIApp, settings: Settings, life: Life) -> None:
        super().__init__(_config(app, settings))
        self.life = life
        self.listening = asyncio.Event()
        self._hurry = asyncio.Event()  # there is nothing to wait for any more

    @property
    def url(self) -> str:
        """Where the server listens, once `listening` is set; "everywhere" is shown as this machine."""
        host, port, *_ = self.servers[0].sockets[0].getsockname()
        address = ip_address(host)
        if address.is_unspecified:
            address = ip_address("127.0.0.1" if address.version == 4 else "::1")
        return f"http://{address}:{port}" if address.version == 4 else f"http://[{address}]:{port}"

    def stop(self) -> None:
        """Ask for an orderly stop; asked again, nothing is waited for."""
        if self.should_exit:
            self.force_exit = True
            self._hurry.set()
        self.should_exit = True
        self.life.stopping.set()

    async def serve(self, sockets: list[socket.socket] | None = None) -> None:
        """Listen until `stop` is called or a part of the process dies."""
        watch = asyncio.create_task(self._stop_on_failure())
        try:
            await super().serve(sockets)
        except SystemExit:  # how uvicorn tells that the lifespan or the listening failed
            if self.life.failure is None:
                raise OSError(f"cannot listen on {self.config.host}:{self.config.port}") from None
        finally:
            watch.cancel()
        if self.life.failure is not None:
            raise self.life.failure

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self.listening.set()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self.life.stopping.set()
        for server in self.servers:
            server.close()
        if self.life.failure is None:
            await self._drain()
        await super().shutdown(sockets)
        if self.force_exit:
            await self.lifespan.shutdown()  # uvicorn leaves it out then, and the roles would be cut off

    async def _drain(self) -> None:
        draining = asyncio.create_task(self.life.drain())
        hurried = asyncio.create_task(self._hurry.wait())
        done, _ = await asyncio.wait((draining, hurried), return_when=asyncio.FIRST_COMPLETED)
        for task in (draining, hurried):
            task.cancel()
        if draining in done:
            draining.result()

    @contextlib.contextmanager
    def capture_signals(self) -> Generator[None]:
        """Leave signals alone: uvicorn raises them again after the stop, and the exit code is not 0 then."""
        yield

    async def _stop_on_failure(self) -> None:
        await self.life.ended.wait()
        self.should_exit = True
        self._hurry.set()


def _config(app: ASGIApp, settings: Settings) -> uvicorn.Config:
    return uvicorn.Config(
        app,
        host=settings.host,
        port=settings.port,
        ws=RankcastProtocol,
        http=MeasuredHttp,
        ws_ping_interval=None,  # heartbeats and the write deadline are the hub's
        lifespan="on",
        log_config=None,  # `logs.py` has set it up
        access_log=False,
        server_header=False,
        timeout_graceful_shutdown=5,
    )
