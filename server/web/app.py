"""The composition root: the app of a process, its lifespan, routes and middleware.

Owns in which order a process starts and stops: resources are opened, roles run in one TaskGroup, the state is
yielded; then all of that backwards. Never does a part's work.
Neighbours: `parts.py` joins the parts, `crew.py` runs the roles, `server.py` runs the app.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.routing import BaseRoute

from server import __version__
from server.settings import Settings
from server.web import assets, operation, parts
from server.web.crew import at_work
from server.web.life import Life
from server.web.measured import Measured, addresses
from server.web.problems import HANDLERS
from server.web.routes import (
    audit,
    docs,
    health,
    leaderboard,
    pages,
    players,
    results,
    seasons,
    socket,
    status,
    stream,
)
from server.web.routes import demo as demo_routes
from server.web.security import SecurityHeaders

ROLES = parts.ROLES

BOARD_OPERATIONS = (
    *leaderboard.OPERATIONS,
    *status.OPERATIONS,
    *audit.OPERATIONS,
    *stream.OPERATIONS,
    *results.OPERATIONS,
    *players.OPERATIONS,
    *seasons.OPERATIONS,
)


def create_app(settings: Settings, roles: frozenset[str], life: Life, *, demo: bool = False) -> Starlette:
    """The app of a process with these `roles`; its lifespan opens what they need and runs them.

    `life` joins it with the server; `demo` plays the demo's season.
    """

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[dict[str, Any]]:
        try:
            async with parts.opened(settings, roles, life, demo=demo) as opened:
                life.drain = opened.drain
                async with at_work(opened.roles, life, settings.shutdown_grace_s):
                    yield opened.state
        except Exception as error:
            life.fail(error)
            raise

    routes = _routes(roles, demo=demo)
    app = Starlette(
        routes=routes,
        lifespan=lifespan,
        exception_handlers=dict(HANDLERS),
        middleware=[
            Middleware(Measured, addresses=addresses(routes)),
            Middleware(SecurityHeaders, origins=settings.origins),
        ],
    )
    app.router.redirect_slashes = False  # an address has one form
    return app


def _routes(roles: frozenset[str], *, demo: bool) -> list[BaseRoute]:
    """Health for every process; boards and pages where the role web is, the demo's buttons where it plays."""
    if "web" not in roles:
        return [*operation.routes(docs.with_description(health.OPERATIONS, __version__))]
    buttons = demo_routes.OPERATIONS if demo else ()
    described = docs.with_description((*BOARD_OPERATIONS, *buttons, *health.OPERATIONS), __version__)
    return [
        *operation.routes(described),
        *socket.ROUTES,
        *pages.routes(assets.read_all(assets.folder())),
    ]
