"""A socket's session: what its commands do, and its limits.

Owns: answering commands, the subscriptions a socket holds or waits for, its rate, its token, and the time
that it may spend without a subscription.
Never does: know how frames travel (`connection` does) or make state frames (views do).
Neighbours: `connection` is a session with a transport; `hub` joins it to views.
"""

from __future__ import annotations

import time
from abc import abstractmethod
from typing import TYPE_CHECKING

from server.core import frames
from server.core.commands import Auth, Declined, Ping, Subscribe, Unsubscribe, parse_command
from server.core.pace import Allowance
from server.core.wire import Frame
from server.core.wire import Sequence as FrameSequence
from server.errors import KINDS, Close, RankcastError
from server.live.viewer import Viewer
from server.settings import variable

if TYPE_CHECKING:
    from server.live.hub import Hub

FOREVER = float("inf")


class Session(Viewer):
    """The commands of one socket; `expires_at`: its token's Unix time, 0 while one is needed and missing."""

    __slots__ = ("_allowance", "_opened_at", "_subscribed", "expires_at", "hub", "waiting")

    def __init__(self, hub: Hub, now: float, address: str, expires_at: float) -> None:
        super().__init__(now, address)
        self.hub = hub
        self.expires_at = expires_at
        self.waiting: tuple[str, ...] = ()  # topics asked for whose board is being opened
        self._opened_at = now
        self._subscribed = False
        self._allowance = Allowance(hub.settings.max_subscriptions)

    # -- commands

    def receive(self, text: str, now: float) -> None:
        """Carry out the command in a message, or say why not."""
        command = parse_command(text, self.hub.limits)
        stocked = isinstance(command, Subscribe) and self._allowance.opens()
        if not (stocked or self.allows(now)):
            return
        try:
            self._carry_out(command, now)
        except RankcastError as error:
            self.refuse(command.id, error, now)

    def allows(self, now: float) -> bool:
        """Count a command or a control frame; closes the socket (3013) where it is one too many."""
        most = self.hub.settings.max_commands_s
        if self._allowance.counts(now, most):
            return True
        name = variable("max_commands_s")
        self.end(Close.TOO_MANY_REQUESTS, f"more than {most} commands within a second ({name})")
        return False

    def _carry_out(self, command: Subscribe | Unsubscribe | Auth | Ping | Declined, now: float) -> None:
        match command:
            case Subscribe():
                self._subscribe(command, now)
            case Unsubscribe():
                self._unsubscribe(command, now)
            case Auth():
                self._authorise(command, now)
            case Ping():
                self._answer(frames.ok(command.id), now)
            case Declined():
                raise RankcastError(command.code, command.reason)

    def _answer(self, frame: Frame, now: float) -> None:
        self.hub.count_command("ok")
        self._reply(frame, now)

    def _reply(self, frame: Frame, now: float) -> None:
        self.send(frame, now)
        self.hub.tally.one("reply", len(frame.socket))

    def refuse(self, number: int | str | None, error: RankcastError, now: float) -> None:
        """Answer a command with the reason why it is not carried out."""
        self.hub.count_command(error.code)
        self._reply(frames.error(number, error.code, error.reason, KINDS[error.code].retry), now)

    # -- subscriptions

    def _subscribe(self, command: Subscribe, now: float) -> None:
        if self.expires_at <= 0:
            raise RankcastError("bad_token", "reads need a token here: send auth first")
        name = str(command.topic)
        held = {*(view.name for view in self.views), *self.waiting}
        most = self.hub.settings.max_subscriptions
        if name not in held and len(held) >= most:
            raise RankcastError(
                "too_many_subscriptions",
                f"the socket holds {len(held)} subscriptions, at most {most} are allowed "
                f"({variable('max_subscriptions')}); unsubscribe from one first",
            )
        if self.hub.is_ready(command.topic):
            self.join(command, now)
        else:
            self.waiting += (name,)
            self.hub.openings.wait(self, command)

    def join(self, command: Subscribe, now: float) -> None:
        """Answer and hand over the first frame, and be a member from there on: one step without a wait."""
        first = self.hub.join(self, command.topic, command.have)
        self._subscribed = True
        answer = frames.ok(command.id, str(command.topic), first.resumed)
        told = [frame for frame in (answer, first.frame, first.stale) if frame is not None]
        self._answer(FrameSequence(told), now)

    def _unsubscribe(self, command: Unsubscribe, now: float) -> None:
        withdrawn = self.hub.openings.withdraw(self, command.topic)
        for number in withdrawn:
            gone = RankcastError("not_subscribed", "unsubscribed before the board was there")
            self.refuse(number, gone, now)
        if not self.hub.part(self, command.topic) and not withdrawn:
            raise RankcastError("not_subscribed", f"the socket holds no topic {ascii(command.topic)[:60]}")
        self._answer(frames.ok(command.id, command.topic), now)

    # -- tokens

    def _authorise(self, command: Auth, now: float) -> None:
        tokens = self.hub.tokens
        if tokens is not None:
            try:
                self.expires_at = tokens.expiry(command.token)
            except RankcastError as error:
                self.refuse(command.id, error, now)
                expired = error.code == "token_expired"
                self.end(Close.TOKEN_EXPIRED if expired else Close.BAD_TOKEN, error.reason)
                return
        self._answer(frames.ok(command.id), now)

    # -- deadlines

    def check_session(self, now: float) -> None:
        """Close a socket whose token has expired, or that never subscribed to anything."""
        if 0 < self.expires_at <= time.time():
            self.end(Close.TOKEN_EXPIRED, "the token has expired; come back with a fresh one")
            return
        most = self.hub.settings.first_subscription_s
        if not self._subscribed and not self.waiting and now - self._opened_at >= most:
            name = variable("first_subscription_s")
            self.end(Close.NO_SUBSCRIPTION, f"no subscription within {most:g} s ({name})")

    @abstractmethod
    def send(self, frame: Frame, now: float) -> None:
        """Send the answer to a command."""
