"""Subscriptions that wait: their board is read for the first time, or the names of their rows are.

Owns: who waits for which topic, and one task per topic that is being opened.
Never does: open anything itself (`hub.prepare` does), or lose a command: each is answered, in its order.
Neighbours: `session` waits here where the hub is not ready at once.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, NamedTuple

from server.core.commands import Id, Subscribe
from server.core.topics import Topic
from server.errors import RankcastError

if TYPE_CHECKING:
    from server.live.hub import Hub
    from server.live.session import Session


class Waiter(NamedTuple):
    """A session's command that waits."""

    session: Session
    command: Subscribe


class Openings:
    """What is being opened; `group` has the tasks while the hub runs."""

    def __init__(self, hub: Hub) -> None:
        self._hub = hub
        self._waiters: dict[str, list[Waiter]] = {}
        hub.metrics.opening.set_function(lambda: sum(map(len, self._waiters.values())))
        self.group: asyncio.TaskGroup | None = None

    def wait(self, session: Session, command: Subscribe) -> None:
        """Answer the command once its topic can be joined."""
        if self.group is None:
            self._done(session, command, RankcastError("not_ready", "the server is starting; try again"))
            return
        name = str(command.topic)
        waiters = self._waiters.get(name)
        if waiters is None:
            waiters = self._waiters[name] = []
            self.group.create_task(self._open(command.topic))
        waiters.append(Waiter(session, command))

    def withdraw(self, session: Session, name: str) -> list[Id]:
        """Take back what the session waits for under this topic; returns the ids of its commands."""
        waiters = self._waiters.get(name, [])
        mine = [waiter for waiter in waiters if waiter.session is session]
        for waiter in mine:
            waiters.remove(waiter)
        session.waiting = tuple(waiting for waiting in session.waiting if waiting != name)
        return [waiter.command.id for waiter in mine]

    async def _open(self, topic: Topic) -> None:
        error: RankcastError | None = None
        try:
            await self._hub.prepare(topic)
        except RankcastError as refused:
            error = refused
        for session, command in self._waiters.pop(str(topic)):
            if session in self._hub.viewers:
                self._done(session, command, error)

    def _done(self, session: Session, command: Subscribe, error: RankcastError | None) -> None:
        now = asyncio.get_running_loop().time()
        name = str(command.topic)
        session.waiting = tuple(waiting for waiting in session.waiting if waiting != name)
        if error is None:
            session.join(command, now)
        else:
            session.refuse(command.id, error, now)
