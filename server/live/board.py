"""One board's viewers: its views, its ticks, and what goes out on them.

Owns: the views of a board, looking at the picture on every tick, and the order of a tick: that the picture
lags, what is new, then who rose.
Never does: read Redis, know sockets, or queue frames: what a viewer is owed is a version.
Neighbours: `hub` joins viewers to views; `views`, `around` and `rankups` make frames, `fan_out` hands them
out; `mirror` has the rows.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from server.core.topics import Around, RankUps, Top, Topic
from server.core.wire import Frame
from server.live.around import AroundView, by_player, look_around
from server.live.fan_out import FanOut
from server.live.names import Names
from server.live.picture import Picture
from server.live.rankups import BEST, RankUpsView, Touched, newcomers, rankups_frame, rise_of
from server.live.staleness import Staleness
from server.live.tally import Tally
from server.live.ticker import Slices, Ticker
from server.live.views import Scene, TopView, View
from server.metrics import Metrics
from server.settings import Settings

V = TypeVar("V", bound=View)

_VIEWS_AT_ONCE = 500  # around views that are looked at together
_NEVER = float("inf")


class Board:
    """The views of one picture. All of it belongs to the event loop."""

    def __init__(self, picture: Picture, names: Names, settings: Settings, metrics: Metrics) -> None:
        self.picture = picture
        self.views: dict[str, View] = {}
        self.tally = Tally(metrics)
        self._names, self._settings, self._metrics = names, settings, metrics
        self._fan_out = FanOut(self.tally)
        self._touched = Touched()
        self._players: defaultdict[int, int] = defaultdict(int)  # around views of each player
        self._epoch = picture.epoch
        self._staleness = Staleness(picture)
        self._tickers = (
            self._ticker(self.tick_top, settings.tick_ms, "top"),
            self._ticker(self.tick_around, settings.around_tick_ms, "around"),
        )
        picture.add_listener(self.wake)
        names.add_listener(self.wake)

    def _ticker(self, tick: Callable[[Slices], Awaitable[float]], longest_ms: int, view: str) -> Ticker:
        observe = self._metrics.tick_seconds.labels(view=view).observe
        return Ticker(tick, longest_ms / 1000, observe, self._metrics.loop_held_seconds.observe)

    def wake(self) -> None:
        """Something changed: position, order, names or staleness."""
        for ticker in self._tickers:
            ticker.wake()

    async def run(self) -> None:
        """Tick until cancelled."""
        async with asyncio.TaskGroup() as group:
            for ticker in self._tickers:
                group.create_task(ticker.run())

    # -- views

    def has(self, topic: Topic) -> bool:
        """Whether the view is there already, with viewers or kept for those who come back."""
        return str(topic) in self.views

    def view(self, topic: Topic) -> View:
        """The topic's view, for somebody who joins; one without viewers is looked at anew first."""
        view = self.views.get(str(topic))
        if view is not None and len(view.outbox):
            return view
        self._gather()  # what happened until now is nothing to whoever joins
        if view is None:
            view = self.views[str(topic)] = self._make(topic)
        self._look_at(view)
        self._gather(joining=view)
        return view

    def _make(self, topic: Topic) -> View:
        match topic.view:
            case Top(limit):
                return TopView(topic, limit, self._settings.resume_positions, self._names)
            case Around() as around:
                self._players[around.player] += 1
                return AroundView(topic, around, self.picture.season.codec, self._names)
            case RankUps():
                return RankUpsView(topic)

    def _look_at(self, view: View) -> None:
        now = asyncio.get_running_loop().time()
        if isinstance(view, TopView):
            view.refresh(self._scene(now, view.limit))
        elif isinstance(view, AroundView):
            look_around(self.picture, [view], now, self._settings.resume_positions)

    def drop_idle(self, now: float) -> None:
        """Forget the views that have been without viewers for long."""
        for view in list(self.views.values()):
            if len(view.outbox) == 0 and now - view.empty_since >= self._settings.linger_s:
                del self.views[view.name]
                if isinstance(view, AroundView):
                    self._players[view.player] -= 1
                    if not self._players[view.player]:
                        del self._players[view.player]

    def watched_players(self) -> Iterable[int]:
        """The players in all rows that are shown; some more than once."""
        for view in self.views.values():
            yield from view.players()

    def stale_frame(self) -> Frame | None:
        """What somebody is told who joins while the picture lags."""
        if self._staleness.news_due():
            self.wake()
        return self._staleness.for_joiner()

    # -- ticks

    async def tick_top(self, slices: Slices) -> float:
        """Show top views and rank-ups what is new; returns the loop time at which to look again unasked."""
        again_at = await self._tell_stale(slices)
        tops, rankups = self._watched(TopView), self._watched(RankUpsView)
        if tops or rankups:
            self._gather()
            before = self._touched.take_top()
            self._renew(rankups)
            scene = self._scene(slices.begun, max([view.limit for view in tops] + [BEST] * len(rankups)))
            again_at = min([again_at, *(view.refresh(scene) for view in tops)])
            rises = newcomers(scene.rows, before)
            for view in (*tops, *rankups):
                await self._fan_out.show(view, slices)
            for view in rankups if rises else ():
                await self._fan_out.happen(view, rankups_frame(view, scene, rises), slices)
        self.tally.flush()
        return again_at

    async def _tell_stale(self, slices: Slices) -> float:
        now_ms = time.time_ns() // 1_000_000
        frame = self._staleness.news(now_ms)
        if frame is not None:
            viewers = {viewer for view in self.views.values() for viewer in view.outbox.members()}
            await self._fan_out.tell(viewers, frame, slices)
        wait_ms = self._staleness.wait_ms(now_ms)
        return slices.begun + wait_ms / 1000 if wait_ms else _NEVER

    def _renew(self, rankups: Sequence[RankUpsView]) -> None:
        """Let rank-ups tell that the board was replaced since the last tick."""
        if self.picture.epoch != self._epoch:
            self._epoch = self.picture.epoch
            for view in rankups:
                view.replaced(self.picture.reason)

    def _scene(self, now: float, limit: int) -> Scene:
        picture = self.picture
        rows = picture.rows(1, limit)
        return Scene(picture.epoch, picture.version, picture.total, picture.reason, rows, self._names, now)

    async def tick_around(self, slices: Slices) -> float:
        """Show around views what is new, and their players' rises; returns as `tick_top` does."""
        again_at = _NEVER
        for views in by_player(self._watched(AroundView), _VIEWS_AT_ONCE):
            self._gather()  # as of the very moment of the look: no rise is told twice
            before = self._touched.take_around(view.player for view in views)
            seen = look_around(self.picture, views, slices.begun, self._settings.resume_positions)
            again_at = min(again_at, seen.again_at)
            for view in seen.changed:
                await self._fan_out.show(view, slices)
            for view in views if before else ():
                rise = rise_of(view.player, before.get(view.player), seen.standings[view.player])
                if rise is not None:
                    await self._fan_out.happen(view, rankups_frame(view, seen, [rise]), slices)
        self.tally.flush()
        return again_at

    def _gather(self, *, joining: View | None = None) -> None:
        top = isinstance(joining, RankUpsView) or bool(self._watched(RankUpsView))
        self._touched.gather(self.picture, top=top, around=self._players)

    def _watched(self, kind: type[V]) -> list[V]:
        return [view for view in self.views.values() if isinstance(view, kind) and len(view.outbox)]
