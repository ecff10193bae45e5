"""One board's viewers: its views, its ticks, and what goes out on them.

Owns: the views of a board, looking at the picture on every tick, handing frames to all who are owed them in
slices that never hold the event loop for long, rank-ups after the frames of their tick, and `stale`/`fresh`.
Never does: read Redis, know sockets, or queue frames: what a viewer is owed is a version.
Neighbours: `hub` joins viewers to views; `views`, `around` and `rankups` make frames; `mirror` has the rows.
"""

import asyncio
import time
from collections import defaultdict
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import TypeVar

from server.core import frames
from server.core.topics import Around, RankUps, Top, Topic
from server.core.wire import Frame
from server.live.around import AroundView, Seen, look_around
from server.live.names import Names
from server.live.picture import Picture
from server.live.rankups import BEST, Before, RankUpsView, Touched, newcomers, push_events, rise_of
from server.live.tally import Tally
from server.live.ticker import Slices, Ticker
from server.live.views import Scene, TopView, View
from server.metrics import Metrics
from server.settings import Settings

V = TypeVar("V", bound=View)

_WRITES_AT_ONCE = 100  # between two looks at the clock
_VIEWS_AT_ONCE = 500  # around views that are looked at together
_STALE_AFTER_MS = 250  # a picture that lags for less is not worth a frame to everybody
_NEVER = float("inf")


class Board:
    """The views of one picture. All of it belongs to the event loop."""

    def __init__(self, picture: Picture, names: Names, settings: Settings, metrics: Metrics) -> None:
        self.picture = picture
        self.views: dict[str, View] = {}
        self.tally = Tally(metrics)
        self._names, self._settings, self._metrics = names, settings, metrics
        self._touched = Touched()
        self._players: defaultdict[int, int] = defaultdict(int)  # around views of each player
        self._epoch = picture.epoch
        self._told: tuple[str, int] | None = None  # the staleness that viewers know of
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
        """The topic's view; one without viewers is looked at anew first."""
        view = self.views.get(str(topic))
        if view is None:
            view = self.views[str(topic)] = self._make(topic)
        if len(view.outbox) == 0:
            self._look_at(view)
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
        if not isinstance(view, TopView):
            self._gather(rankups=isinstance(view, RankUpsView))

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

    # -- staleness

    def _tell_stale(self) -> float:
        """Tell viewers that the picture lags, or no longer; returns the loop time at which to look again."""
        stale, loop = self.picture.stale, asyncio.get_running_loop()
        if stale is None and self._told is not None:
            self._tell_all(frames.fresh(self.picture.board), loop.time())
        elif stale is not None and (self._told is None or self._told[0] != stale[0]):
            young_ms = stale[1] + _STALE_AFTER_MS - time.time_ns() // 1_000_000
            shows_something = self.picture.epoch is not None
            if shows_something and self._told is None and 0 < young_ms <= _STALE_AFTER_MS:
                return loop.time() + young_ms / 1000
            self._tell_all(frames.stale(self.picture.board, *stale), loop.time())
        self._told = stale
        return _NEVER

    def _tell_all(self, frame: Frame, now: float) -> None:
        for viewer in {viewer for view in self.views.values() for viewer in view.outbox.members()}:
            viewer.send(frame, now)
            self.tally.one("news", len(frame.socket))

    def stale_frame(self) -> Frame | None:
        """What somebody about to join is told of a picture that lags, as the others are."""
        if self._tell_stale() < _NEVER:
            self.wake()
        return None if self._told is None else frames.stale(self.picture.board, *self._told)

    # -- ticks

    async def tick_top(self, slices: Slices) -> float:
        """Show top views and rank-ups what is new; returns the loop time at which to look again unasked."""
        again_at = self._tell_stale()
        self._gather()
        tops, rankups = self._watched(TopView), self._watched(RankUpsView)
        before = self._touched.take_top()
        if self.picture.epoch != self._epoch:
            self._epoch = self.picture.epoch
            for view in rankups:
                view.replaced(self.picture.reason)
        if tops or rankups:
            scene = self._scene(slices.begun, max([view.limit for view in tops] + [BEST] * len(rankups)))
            again_at = min([again_at, *(view.refresh(scene) for view in tops)])
            for shown in (*tops, *rankups):
                await self._fan_out(shown, slices)
            self._tell_newcomers(rankups, scene, before)
        self.tally.flush()
        return again_at

    def _scene(self, now: float, limit: int) -> Scene:
        picture = self.picture
        rows = picture.rows(1, limit)
        return Scene(picture.epoch, picture.version, picture.total, picture.reason, rows, self._names, now)

    def _tell_newcomers(self, views: Sequence[RankUpsView], scene: Scene, before: Before) -> None:
        rises = newcomers(scene.rows, before)
        for view in views:
            self.tally.add(view.kind, push_events(view, scene.epoch, scene.version, rises, scene.now))

    async def tick_around(self, slices: Slices) -> float:
        """Show around views what is new, and their players' rises; returns as `tick_top` does."""
        self._gather()
        before = self._touched.take_around()
        again_at = _NEVER
        for views in self._groups(self._watched(AroundView)):
            seen = look_around(self.picture, views, slices.begun, self._settings.resume_positions)
            again_at = min(again_at, seen.again_at)
            for view in seen.changed:
                await self._fan_out(view, slices)
            self._tell_risers(views, seen, before)
        self.tally.flush()
        return again_at

    def _groups(self, views: Sequence[AroundView]) -> Iterable[Sequence[AroundView]]:
        by_radius: defaultdict[int, list[AroundView]] = defaultdict(list)
        for view in views:
            by_radius[view.radius].append(view)
        for group in by_radius.values():
            for start in range(0, len(group), _VIEWS_AT_ONCE):
                yield group[start : start + _VIEWS_AT_ONCE]

    def _tell_risers(self, views: Sequence[AroundView], seen: Seen, before: Before) -> None:
        if not before:
            return
        for view, standing in zip(views, seen.standings, strict=True):
            rise = rise_of(view.player, before.get(view.player), standing)
            if rise is not None:
                self.tally.add("rankups", push_events(view, seen.epoch, seen.version, [rise], seen.now))

    def _gather(self, *, rankups: bool = False) -> None:
        rankups = rankups or bool(self._watched(RankUpsView))
        self._touched.gather(self.picture, top=rankups, around=self._players)

    def _watched(self, kind: type[V]) -> list[V]:
        return [view for view in self.views.values() if isinstance(view, kind) and len(view.outbox)]

    async def _fan_out(self, view: View, slices: Slices) -> None:
        """Hand everybody what they are owed; who leaves or joins between slices is met as they are then."""
        members = view.outbox.members()
        for start in range(0, len(members), _WRITES_AT_ONCE):
            self.tally.add(view.kind, view.push_to(members[start : start + _WRITES_AT_ONCE], slices.begun))
            if slices.over:
                await slices.rest()
