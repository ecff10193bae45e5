"""The one timer of all viewers: deadlines, heartbeats, and what nobody watches any more.

Owns: how often everybody is looked at, in slices that never hold the event loop for long.
Never does: know what a deadline means; viewers do.
Neighbours: `hub` runs it.
"""

from __future__ import annotations

import asyncio
import time
from typing import TYPE_CHECKING

from server.core import frames
from server.core.wire import Frame
from server.live.viewer import Viewer

if TYPE_CHECKING:
    from server.live.hub import Hub

_AT_ONCE = 500  # viewers between two looks at other work
_SHORTEST_S, _LONGEST_S = 0.02, 1.0
_PRUNE_AT = 10_000  # names that are kept without asking whether anybody still watches their players

Heads = tuple[tuple[str, tuple[str | None, int]], ...]


class Sweep:
    """Looks at every viewer again and again."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        settings = hub.settings
        self._heartbeat_s = settings.heartbeat_ms / 1000
        deadlines = (
            self._heartbeat_s,
            settings.write_deadline_s,
            settings.first_subscription_s,
            settings.ping_every_s,
            settings.pong_timeout_s,
            settings.close_timeout_s,
        )
        self._period_s = min(max(min(deadlines) / 3, _SHORTEST_S), _LONGEST_S)
        self._names_kept = 0

    async def run(self) -> None:
        """Sweep until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            begun = loop.time()
            await self._look_at_viewers()
            for board in self._hub.boards.values():
                board.drop_idle(loop.time())
            self._prune_names()
            self._hub.tally.flush()
            await asyncio.sleep(max(0.0, begun + self._period_s - loop.time()))

    async def _look_at_viewers(self) -> None:
        loop = asyncio.get_running_loop()
        now, at_ms = loop.time(), time.time_ns() // 1_000_000
        beats: dict[Heads, Frame] = {}
        viewers = list(self._hub.viewers)
        for start in range(0, len(viewers), _AT_ONCE):
            for viewer in viewers[start : start + _AT_ONCE]:
                viewer.check(now)
                if now - viewer.sent_at >= self._heartbeat_s:
                    self._beat(viewer, now, at_ms, beats)
            await asyncio.sleep(0)

    def _beat(self, viewer: Viewer, now: float, at_ms: int, beats: dict[Heads, Frame]) -> None:
        """Send a heartbeat, unless the viewer is about to get what it is owed anyway."""
        if viewer not in self._hub.viewers or not viewer.is_quiet():
            return
        heads: list[tuple[str, tuple[str | None, int]]] = []
        for view in viewer.views:
            position = view.position()
            if view.outbox.got(viewer) != view.number:
                return
            if position is not None:
                heads.append((view.name, position))
        key = tuple(heads)
        frame = beats.get(key)
        if frame is None:
            frame = beats[key] = frames.heartbeat(at_ms, dict(heads))
        viewer.send(frame, now)
        self._hub.tally.one("heartbeat", len(frame.socket))

    def _prune_names(self) -> None:
        """Forget names of players nobody watches, once the cache has grown to twice of what it was worth."""
        names = self._hub.names
        if len(names) <= 2 * self._names_kept + _PRUNE_AT:
            return
        names.prune({player for board in self._hub.boards.values() for player in board.watched_players()})
        self._names_kept = len(names)
