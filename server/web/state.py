"""What a request may reach: the typed state that the lifespan yields.

Owns the types alone; `app.py` fills them. Every process has a `Process`, one with the role `web` a `Web`,
too, and only there are the routes that use it.
"""

import asyncio
from dataclasses import dataclass
from typing import TypedDict

from redis.asyncio import Redis
from starlette.requests import Request as AnyRequest

from server.archive.catalog import SeasonCatalog
from server.archive.store import Archive
from server.demo.player import Demo
from server.live.hub import Hub
from server.live.mirrors import Mirrors
from server.metrics import Metrics
from server.settings import Settings
from server.web.last_audits import LastAudits
from server.web.pulse import Pulse
from server.web.ready import Readiness
from server.web.search import NameSearch
from server.web.submit import ResultWriter


@dataclass(frozen=True, slots=True)
class Process:
    """What every process has, whatever its roles."""

    settings: Settings
    metrics: Metrics
    readiness: Readiness
    stopping: asyncio.Event  # set: no new input is taken


@dataclass(frozen=True, slots=True)
class Web:
    """What the routes of boards, results and players need."""

    catalog: SeasonCatalog
    archive: Archive
    mirrors: Mirrors
    hub: Hub
    redis: Redis
    writer: ResultWriter
    pulse: Pulse
    search: NameSearch
    audits: LastAudits
    demo: Demo | None  # where this process plays it


class State(TypedDict):
    """The lifespan's state, as each request finds it."""

    process: Process
    web: Web


Request = AnyRequest[State]
